"""What behaviour says of replies that nobody rated: signals mined from interaction logs (UXBench, section 3).

from perslib.signals import reactions, session

for taken in reactions(session({"cid": "7", "history": [...]})):
    print(taken.idx, taken.primary, taken.signals)
"""

from perslib.corpus.uxbench_messages import Message, Session
from perslib.corpus.uxbench_records import session
from perslib.signals.length import reading_seconds, units
from perslib.signals.model import NEGATIVE, PRECEDENCE, Reaction, Signal
from perslib.signals.reaction import reactions
from perslib.signals.settings import Settings

__all__ = [
    "NEGATIVE",
    "PRECEDENCE",
    "Message",
    "Reaction",
    "Session",
    "Settings",
    "Signal",
    "reactions",
    "reading_seconds",
    "session",
    "units",
]
