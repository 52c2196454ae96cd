"""Language models, from the bundled one to any OpenAI-compatible endpoint."""

from perslib.llm.logprobs import Distribution, digit_distribution
from perslib.llm.parsing import parse
from perslib.llm.registry import Entry, Prices, entries
from perslib.llm.retry import Patience
from perslib.llm.types import Answer, Request

__all__ = [
    "Answer",
    "Distribution",
    "Entry",
    "Patience",
    "Prices",
    "Request",
    "digit_distribution",
    "entries",
    "parse",
]
