"""What behaviour says of replies that nobody rated: signals mine_log from interaction logs (UXBench, section 3).

from perslib.systems.uxbench.signals import mine_log, reactions, session
from perslib.systems.uxbench.signals import behavioural

mine_log("log.jsonl", out="mined/").counts           # any size, block by block
for taken in reactions(session({"cid": "7", "history": [...]})):
    print(taken.idx, taken.primary, taken.signals)
weak = behavioural(corpus)                        # weak labels for ratings, for any memory and any judge
"""

from perslib.systems.uxbench.loaders.log_records import LogSession, Message, session
from perslib.systems.uxbench.loaders.logs import read_log_sessions
from perslib.systems.uxbench.signals.behavioural import (
    VOTES,
    Votes,
    behavioural,
    fit_votes,
    make_log_sessions,
    signals_of,
    weak_labels,
)
from perslib.systems.uxbench.signals.gate import GateSettings, SessionFilter, mask_slurs
from perslib.systems.uxbench.signals.mining import mine_log
from perslib.systems.uxbench.signals.model import NEGATIVE, POSITIVE, PRECEDENCE, Reaction, Signal, SignalSettings
from perslib.systems.uxbench.signals.personal_data import audit, deidentify
from perslib.systems.uxbench.signals.reaction import reactions
from perslib.systems.uxbench.signals.similarity import is_parallel_request, similarity, tokenize_request
from perslib.systems.uxbench.signals.table import table
from perslib.systems.uxbench.signals.wording import reading_seconds

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "PRECEDENCE",
    "VOTES",
    "GateSettings",
    "LogSession",
    "Message",
    "Reaction",
    "SessionFilter",
    "Signal",
    "SignalSettings",
    "Votes",
    "audit",
    "behavioural",
    "deidentify",
    "fit_votes",
    "is_parallel_request",
    "make_log_sessions",
    "mask_slurs",
    "mine_log",
    "reactions",
    "read_log_sessions",
    "reading_seconds",
    "session",
    "signals_of",
    "similarity",
    "table",
    "tokenize_request",
    "weak_labels",
]  # fmt: skip
