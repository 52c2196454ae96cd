"""Corpora of conversations with rated replies: load, look, split, and take leak-proof blocks from them."""

from perslib.corpus.block import Block, Target
from perslib.corpus.corpus import Corpus
from perslib.corpus.import_summary import describe_import
from perslib.corpus.loaders.table import from_frame, read_rows
from perslib.corpus.scale import Scale
from perslib.corpus.schema import BLOCK, SCHEMA, SESSION, TURN, coerce, describe_frame
from perslib.corpus.several_replies import by_reply, compared_replies, reply_sessions, score_preferences
from perslib.corpus.store import corpus_names, detect, import_release, load, loader, read_release, relabel, save

__all__ = [
    "BLOCK", "SCHEMA", "SESSION", "TURN", "Block", "Corpus", "Scale", "Target", "by_reply", "coerce", "compared_replies", "corpus_names", "describe_frame",
    "describe_import", "detect", "from_frame", "import_release", "load", "loader", "read_release", "read_rows", "relabel",
    "reply_sessions", "save", "score_preferences",
]  # fmt: skip
