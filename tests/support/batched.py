"""What tests of batches share: an endpoint, a backbone that takes batches, questions, and their batches."""

import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from perslib.llm import Backbone, Request
from perslib.llm.entries import BackboneEntry, Prices
from perslib.systems import batches
from perslib.systems.batches.answerers import write_questions_to

SCORE = {
    "type": "object",
    "properties": {"score": {"type": "integer"}, "kind": {"enum": ["good", "bad"]}, "why": {"type": "string"}},
    "required": ["score", "kind", "why"],
    "additionalProperties": False,
}
GOOD = '{"score": 4, "kind": "good", "why": "clear\\u2028and short"}'
SECRET = "sk-this-is-a-long-secret-key"


def entry_of(server):
    prices = Prices(input=1.0, output=4.0, cached=0.5)
    about = {"base_url": server.base_url, "model": "m", "key_env": "BATCH_KEY", "structured": "schema"}
    return BackboneEntry("mine", prices=prices, prices_as_of="2026-11", batch=0.5, **about)


def questions(number=12, **settings):
    settings = {"schema": SCORE, "temperature": 0.0, "max_tokens": 100, **settings}
    return [Request(f"question {n}", **settings) for n in range(number)]


@contextmanager
def rehearsing(folder):
    """Nobody is asked in here; what would be is collected."""
    file = Path(folder) / f"questions-{time.monotonic_ns()}.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in write_questions_to(file).items():
            patch.setenv(name, value)
        yield file


def collected(work, folder, leave=()):
    """Batches of what `work` would ask."""
    with rehearsing(folder) as file:
        work()
    return batches.write_batches(file, leave)


def ask(entry, asked=None, **settings):
    return Backbone(entry).ask_many(asked or questions(**settings), stage="judge", progress=False)
