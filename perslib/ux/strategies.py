"""With what a reply to a complaint opens: six strategies (UXBench, Table 4), labelled by rules and by a model.

The opening is the reply's first two sentences, 120 units (Chinese characters or words) at most. `primary` is the strategy
that comes first in it, `all` are all that occur; what has none is `other`. Neither labelling is the truth: how far they
agree is part of the result (`labeller_agreement`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from perslib.llm import Backbone
from perslib.paths import read_toml
from perslib.prompts import PromptSettings
from perslib.stats import LEVEL, RESAMPLES, SEED, Resamples, resample_cohen
from perslib.ux.asking import label_by_model

STRATEGIES = ("apology", "agreement", "error_diagnosis", "humor", "direct_fix", "clarification")
OTHER = "other"
SENTENCES, UNITS = 2, 120
_UNIT = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_]+)?")
_END = re.compile(r"(?<=[\u3002\uff01\uff1f!?])|(?<=\.)\s+(?=[A-Z\"'(\d])|\n+")


@dataclass(frozen=True)
class Labelled:
    """What a reply opens with; `error` says why a labeller could not tell."""

    primary: str | None
    all: tuple[str, ...] = ()
    error: str | None = None


@cache
def _cues() -> dict[str, tuple[re.Pattern[str], re.Pattern[str] | None]]:
    """Strategy → its cues of both languages, and what blocks them."""
    said = read_toml(__file__, "strategies.toml")
    found = {}
    for name in STRATEGIES:
        cues, blocked = (said[name][f"{p}en"] + said[name][f"{p}zh"] for p in ("", "blocked_"))
        flags = re.IGNORECASE
        found[name] = (
            re.compile("|".join(cues), flags),
            re.compile("|".join(blocked), flags) if blocked else None,
        )
    return found


def opening(reply: str) -> str:
    """The first two sentences, cut after 120 units."""
    parts = [part for part in _END.split(reply.strip()) if part and part.strip()]
    text = " ".join(part.strip() for part in parts[:SENTENCES])
    units = list(_UNIT.finditer(text))
    return text if len(units) <= UNITS else text[: units[UNITS - 1].end()]


def label_by_rules(reply: str) -> Labelled:
    """Strategies by the cues of `strategies.toml`, Chinese and English alike, in the order in which they occur."""
    text = opening(reply)
    if not text:
        return Labelled(None, error="the reply is empty")
    places = {}
    for name, (cues, blocked) in _cues().items():
        shown = blocked.sub(lambda match: " " * len(match[0]), text) if blocked else text
        if match := cues.search(shown):
            places[name] = match.start()
    ordered = tuple(sorted(places, key=lambda name: (places[name], STRATEGIES.index(name))))
    return Labelled(ordered[0] if ordered else OTHER, ordered)


def strategies_of(
    replies: pd.DataFrame,
    complaints: Mapping[str, str] | None = None,
    form: PromptSettings | None = None,
    backbone: Backbone | None = None,
    *,
    progress: bool = True,
) -> pd.DataFrame:
    """The replies with columns strategy (primary) and strategies (all) by rules; with a backbone also labelled and
    label_error by the model. `complaints` says what each case complained of.
    """
    written = replies["reply"].fillna("").astype(str)
    by_rules = [label_by_rules(text) for text in written]
    out = replies.assign(
        strategy=pd.array([r.primary for r in by_rules], dtype="str"),
        strategies=pd.Series([r.all for r in by_rules], index=replies.index, dtype=object),
    )
    if backbone is None:
        return out
    form = form or PromptSettings()
    said = complaints or {}
    questions = [
        form.request("ux_strategy", complaint=said.get(case, ""), reply=shown) if shown else None
        for case, shown in zip(replies["case"], map(opening, written))
    ]
    found = label_by_model(questions, {"primary": [*STRATEGIES, OTHER]}, backbone, progress=progress)
    found = found.set_index(replies.index)
    return out.assign(labelled=found["primary"], label_error=found["label_error"])


def labeller_agreement(
    labelled: pd.DataFrame,
    *,
    one: str = "strategy",
    other: str = "labelled",
    names: Sequence[str] = STRATEGIES,
    resamples: int = 1000,
    seed: int = SEED,
) -> pd.DataFrame:
    """Cohen's κ of two labellings, of all labels and of each of the `names` against the rest; cases resampled.

    Columns: label ("all" first), kappa, kappa_low, kappa_high, equal (share of equal labels), one and other (how many each calls
    so), replies (that both labelled), unlabelled.
    """
    known = labelled.dropna(subset=[one, other])
    cases = Resamples(known["case"], resamples, seed)
    rows = []
    for name in ("all", *names):
        a, b = (known[c] if name == "all" else known[c] == name for c in (one, other))
        if name != "all" and not (a.any() or b.any()):
            continue
        kappas = resample_cohen(a.to_numpy(object), b.to_numpy(object), cases)
        one_calls, other_calls = (len(own) if name == "all" else int(own.sum()) for own in (a, b))
        found = {"label": name, **cases.estimate(kappas, "kappa"), "equal": (a == b).mean()}
        found |= {"one": one_calls, "other": other_calls, "replies": len(known)}
        rows.append(found | {"unlabelled": len(labelled) - len(known)})
    return pd.DataFrame(rows)


def strategy_shares(
    labelled: pd.DataFrame,
    column: str = "strategy",
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """How often each strategy is the primary one, in percent of all replies, with intervals over resampled cases.

    Columns: strategy (those of Table 4 and other), replies, percent, percent_low, percent_high.
    """
    known = labelled.dropna(subset=[column])
    cases, rows = Resamples(known["case"], resamples, seed, level), []
    for name in (*STRATEGIES, OTHER):
        chosen = (known[column] == name).to_numpy(float)
        percent = cases.estimate(cases.mean(100 * chosen), "percent")
        rows.append({"strategy": name, "replies": int(chosen.sum()), **percent})
    return pd.DataFrame(rows)
