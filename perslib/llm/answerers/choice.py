"""Who answers in this process: the one place that knows whether a notebook runs for real or with a stand-in for models."""

from __future__ import annotations

import os
import pkgutil
from collections import Counter
from collections.abc import Iterable

from perslib.llm.abilities import Abilities
from perslib.llm.answerers.dry_run import DryRun
from perslib.llm.cache.store import Cache
from perslib.llm.request import NOT_IN_CACHE, Answer, Answerer, QueuedRequest, make_error_answer

VARIABLE = "PERSLIB_ANSWERER"
"""`dry-run`, `cache` (stored answers alone), or `MODULE:CLASS:FILE`, a stand-in of a system and the file that it writes;
otherwise models are asked."""
DRY_RUN = {VARIABLE: "dry-run"}
"""What the environment of a kernel holds in which nobody is asked."""
CACHE_ALONE = {VARIABLE: "cache"}
"""What the environment of a kernel holds in which stored answers are all there is."""
SAMPLED = 5
"""Units, such as users, that a dry run asks about in place of all."""
SAMPLED_FROM = 8
"""Up to so many units a dry run asks about all."""
_asked: set[str] = set()
"""What was asked in the dry run of this process, by whichever backbone."""


def is_asked() -> bool:
    """Return whether models are asked in this process."""
    return not os.environ.get(VARIABLE)


def is_dry_run() -> bool:
    """Return whether models are replaced in this process, and nothing is written down for them."""
    return os.environ.get(VARIABLE) == "dry-run"


def sample_units(units: Iterable[str]) -> tuple[set[str], float]:
    """Return the units (one an item, such as the user of each reply) that this process asks about, and how many items stand for
    one of theirs.

    All of them, each for itself; in a dry run of many units a few, from large to small, for the price of all.
    """
    sizes = Counter(units)
    names = sorted(sizes, key=lambda name: (-sizes[name], name))
    if not is_dry_run() or len(names) <= SAMPLED_FROM:
        return set(names), 1.0
    chosen = {names[(2 * i + 1) * len(names) // (2 * SAMPLED)] for i in range(SAMPLED)}
    return chosen, sizes.total() / sum(sizes[name] for name in chosen)


def choose_answerer(abilities: Abilities, cache: Cache, own: Answerer | None) -> tuple[Answerer | None, Cache]:
    """Return who answers in place of a model, and the cache; None where the model is asked.

    Where nobody is asked nothing is written to the cache.
    """
    kind, *place = os.environ.get(VARIABLE, "").split(":", 2)
    if cache.policy == "only" or kind == "cache":
        return _CacheAlone(), cache if cache.policy == "only" else Cache(cache.path, "only")
    if own is not None or not kind:
        return own, cache
    if place:
        dry: Answerer = pkgutil.resolve_name(f"{kind}:{place[0]}")(abilities, place[1], _asked)
    else:
        dry = DryRun(abilities, asked=_asked)
    return dry, Cache(cache.path, "read" if cache.policy in ("use", "read") else "off")


class _CacheAlone:
    """Answers nothing that is not in the cache."""

    async def answer(self, question: QueuedRequest) -> Answer:
        """Return an answer that says so."""
        return make_error_answer(question.request, NOT_IN_CACHE)
