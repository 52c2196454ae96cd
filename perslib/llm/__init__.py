"""Language models, from the bundled one to any OpenAI-compatible endpoint.

    from perslib.llm import backbone, Request
    model = backbone("embedded")
    model.ask("Say hi").text

`backbones.toml` lists the endpoints; every call is cached, counted and limited; a request with a schema comes
back as data or as *unscored* with the reason.
"""

from perslib.llm.answerers.limits import RetryPolicy
from perslib.llm.backbone import Backbone, backbone, dry_run, find_model
from perslib.llm.cache.store import Cache
from perslib.llm.embeddings import Embedder, embedder
from perslib.llm.entries import BackboneEntry, Prices, entries
from perslib.llm.event_loop import compute, run_with_answers
from perslib.llm.ledger import Ledger, Spending
from perslib.llm.request import Answer, Answerer, Ask, Method, QueuedRequest, Request
from perslib.llm.structured.parsing import parse
from perslib.llm.token_probabilities import digit_distribution

__all__ = [
    "Answer", "Answerer", "Ask", "Backbone", "BackboneEntry", "Cache", "Embedder", "Ledger", "Method", "Prices",
    "QueuedRequest", "Request", "RetryPolicy", "Spending", "backbone", "compute", "digit_distribution", "dry_run",
    "embedder", "entries", "find_model", "parse", "run_with_answers",
]  # fmt: skip
