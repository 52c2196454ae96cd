"""What behaviour says of replies that nobody rated: signals mined from interaction logs (UXBench, section 3).

from perslib.systems.uxbench.signals import mined, reactions, session
from perslib.systems.uxbench.signals import behavioural

mined("log.jsonl", out="mined/").counts           # any size, block by block
for taken in reactions(session({"cid": "7", "history": [...]})):
    print(taken.idx, taken.primary, taken.signals)
weak = behavioural(corpus)                        # weak labels for ratings, for any memory and any judge
"""

from perslib.systems.uxbench.loaders.log_records import Message, Session, session
from perslib.systems.uxbench.loaders.logs import sessions
from perslib.systems.uxbench.signals.behavioural import (
    VOTES,
    Votes,
    behavioural,
    fit_votes,
    sessions_of,
    signals_of,
    weak_labels,
)
from perslib.systems.uxbench.signals.gate import Gate, GateSettings, masked
from perslib.systems.uxbench.signals.mining import mined
from perslib.systems.uxbench.signals.model import NEGATIVE, POSITIVE, PRECEDENCE, Reaction, Settings, Signal
from perslib.systems.uxbench.signals.private import audit, deidentified
from perslib.systems.uxbench.signals.reaction import reactions
from perslib.systems.uxbench.signals.similarity import parallel, similarity, words
from perslib.systems.uxbench.signals.table import table
from perslib.systems.uxbench.signals.wording import reading_seconds

__all__ = [
    "NEGATIVE", "POSITIVE", "PRECEDENCE", "VOTES", "Gate", "GateSettings", "Message", "Reaction", "Session",
    "Settings", "Signal", "Votes", "audit", "behavioural", "deidentified", "fit_votes", "masked", "mined", "parallel", "reactions",
    "reading_seconds", "session", "sessions", "sessions_of", "signals_of", "similarity", "table",
    "weak_labels", "words",
]  # fmt: skip
