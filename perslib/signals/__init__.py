"""What behaviour says of replies that nobody rated: signals mined from interaction logs (UXBench, section 3).

from perslib.signals import behavioural, mined, reactions, session

mined("log.jsonl", out="mined/").counts           # any size, block by block
for taken in reactions(session({"cid": "7", "history": [...]})):
    print(taken.idx, taken.primary, taken.signals)
weak = behavioural(corpus)                        # weak labels for ratings, for any memory and any judge
"""

from perslib.corpus.loaders.log_records import Message, Session, session
from perslib.corpus.loaders.logs import sessions
from perslib.signals.behavioural import VOTES, Votes, behavioural, fit_votes, sessions_of, signals_of, weak_labels
from perslib.signals.gate import Gate, GateSettings, masked
from perslib.signals.mining import mined
from perslib.signals.model import NEGATIVE, POSITIVE, PRECEDENCE, Reaction, Settings, Signal
from perslib.signals.private import audit, deidentified
from perslib.signals.reaction import reactions
from perslib.signals.similarity import parallel, similarity, words
from perslib.signals.table import table
from perslib.signals.wording import reading_seconds

__all__ = [
    "NEGATIVE", "POSITIVE", "PRECEDENCE", "VOTES", "Gate", "GateSettings", "Message", "Reaction", "Session",
    "Settings", "Signal", "Votes", "audit", "behavioural", "deidentified", "fit_votes", "masked", "mined", "parallel", "reactions",
    "reading_seconds", "session", "sessions", "sessions_of", "signals_of", "similarity", "table",
    "weak_labels", "words",
]  # fmt: skip
