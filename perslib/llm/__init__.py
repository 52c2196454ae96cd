"""Language models, from the bundled one to any OpenAI-compatible endpoint.

    from perslib.llm import backbone, Request
    model = backbone("embedded")
    model.ask("Say hi").text

`backbones.toml` lists the endpoints; every call is cached, counted and limited; a request with a schema comes
back as data or as *unscored* with the reason.
"""

from perslib.llm.backbone import Backbone, backbone
from perslib.llm.cache import Cache
from perslib.llm.embeddings import Embedder, embedder
from perslib.llm.estimate import Estimate
from perslib.llm.ledger import Ledger, Spending
from perslib.llm.parsing import parse
from perslib.llm.registry import Entry, Prices, entries
from perslib.llm.reply import digit_distribution
from perslib.llm.retry import Patience
from perslib.llm.steps import Ask, Steps, answered, asks_nothing, side_by_side
from perslib.llm.types import Answer, Request

__all__ = [
    "Answer",
    "Ask",
    "Backbone",
    "Cache",
    "Embedder",
    "Entry",
    "Estimate",
    "Ledger",
    "Patience",
    "Prices",
    "Request",
    "Spending",
    "Steps",
    "answered",
    "asks_nothing",
    "backbone",
    "digit_distribution",
    "embedder",
    "entries",
    "parse",
    "side_by_side",
]
