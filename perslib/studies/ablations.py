"""Tables 3 and 6: what a judge with memory owes to its memory, its calibration, its backbone and its prompt.

Every variant differs from the base in one thing, and all of them judge the same replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import UnknownName
from perslib.judge import Judge, Manner, Personal
from perslib.llm import Backbone
from perslib.memory import Structured
from perslib.paths import read_csv
from perslib.stats import holm, paired
from perslib.studies.extent import Extent, listed
from perslib.studies.verification import SHOWN, asked_judge, judged

#: What can be varied: the memory, the evidence it is built from, the messages shown, the language of the prompts,
#: whether the judge writes, several answers instead of one, and when the memory is built anew.
FAMILIES = ("memory", "evidence", "window", "language", "written", "repeat", "update")
USUAL, FIRST_LOOK = ("memory", "window", "language", "written"), ("memory", "written")
BASE = "structured memory"
#: Calibrations of Table 3.
SCORES = ("real", "mean_shift", "cdf")
#: Answers to a question in the family `repeat`.
SAMPLES = 5
#: Tokens of evidence in the family `evidence`.
BUDGETS = (1500, 6000, 24000)
_WINDOWS = {1: "window of 1", 5: "window of 5", None: "whole conversation"}
_OTHER = {"en": ("zh", "prompts in Chinese"), "zh": ("en", "prompts in English")}

#: Table 6 of PersTurnBench.
PUBLISHED = read_csv(__file__, "published/persturnbench_table6.csv")


@dataclass(frozen=True)
class Variant:
    """A judge that differs from the base in one thing, and which."""

    family: str
    judge: Judge

    @property
    def name(self) -> str:
        """The judge's name in tables."""
        return self.judge.name


def families(vary: str, look: Extent) -> list[str]:
    """The families that a parameter names, separated by commas; empty is what suits the backbone."""
    named = listed(vary)
    for name in named:
        if name not in FAMILIES:
            raise UnknownName("thing to vary", name, FAMILIES)
    return named or list(FIRST_LOOK if look.is_short else USUAL)


def variants(
    vary: Iterable[str], manner: Manner, memory: Mapping[str, Any], languages: Sequence[str] = ()
) -> list[Variant]:
    """The base and its variants; `memory` is what the base's is built with, `languages` those the model reads."""
    made = [Variant("base", _personal(BASE, manner, memory))]
    for family in vary:
        made += [Variant(family, judge) for judge in _of_family(family, manner, memory, languages)]
    return made


def _personal(name: str, manner: Manner, memory: Mapping[str, Any], **further: Any) -> Personal:
    return Personal(Structured(manner.language, **memory), manner, name=name, **further)


def _of_family(
    family: str, manner: Manner, memory: Mapping[str, Any], languages: Sequence[str]
) -> list[Judge]:
    if family == "memory":
        without = asked_judge("no memory", manner, **memory)
        if memory["evidence"] == "full":
            return [without]  # a first look: more would take too long
        full = {"evidence": "full", "budget": BUDGETS[1]}
        further = ("measured", "scores only", "personal + measured")
        asked = [asked_judge(name, manner, **memory) for name in further]
        return [without, *asked, _personal("full evidence", manner, full)]
    if family == "evidence":
        return [_personal(f"evidence {n}", manner, {"evidence": "full", "budget": n}) for n in BUDGETS]
    if family == "window":
        others = {size: name for size, name in _WINDOWS.items() if size != manner.window}
        return [_personal(name, replace(manner, window=size), memory) for size, name in others.items()]
    if family == "language":
        other, name = _OTHER[manner.language]
        readable = not languages or other in languages
        return [_personal(name, replace(manner, language=other), memory)] if readable else []
    if family == "written":
        name = "score alone" if manner.written else "written analysis"
        return [_personal(name, replace(manner, written=not manner.written), memory)]
    if family == "repeat":
        return [_personal(f"{SAMPLES} samples", replace(manner, samples=SAMPLES), memory)]
    per_session = _personal("updated per session", manner, memory, update="per session")
    return [per_session, _personal("updated per turn", manner, memory, update="per turn")]


def on_backbones(
    made: Sequence[Variant], corpus: Corpus, models: Iterable[Backbone], turns: int | None, seed: int = 42
) -> pd.DataFrame:
    """The base and the memory's variants with each of these backbones, on the same replies: Table 6."""
    kept = [v.judge for v in made if v.family in ("base", "memory")]
    frames = [judged(kept, corpus, model, limit=turns, seed=seed) for model in models]
    return pd.concat(frames, ignore_index=True)


def changes(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    base: str = BASE,
    *,
    scores: Sequence[str] = SCORES,
    metrics: Sequence[str] = SHOWN,
    seed: int = 42,
) -> pd.DataFrame:
    """What each variant's agreement has over the base's, on the replies that both scored.

    Columns: judge, score, metric, value (positive: the variant does better), value_low, value_high, value_p_holm (corrected over the
    variants of a metric and score), turns, users.
    """
    tables = []
    for judge in dict.fromkeys(verdicts["judge"]):
        for score in scores if judge != base else ():
            found = paired(verdicts, corpus, judge, base, score=score, metrics=metrics, seed=seed)
            tables.append(
                found.assign(judge=judge, score=score).rename(
                    columns=lambda name: name.replace("difference", "value")
                )
            )
    columns = [
        "judge",
        "score",
        "metric",
        "value",
        "value_low",
        "value_high",
        "value_p_holm",
        "turns",
        "users",
    ]
    if not tables:
        return pd.DataFrame(columns=columns)
    every = pd.concat(tables, ignore_index=True)
    p = every.groupby(["score", "metric"])["value_p"]
    every["value_p_holm"] = p.transform(lambda p: holm(p.to_numpy(float)))
    return every[columns]


def moved(verdicts: pd.DataFrame, made: Sequence[Variant], base: str = BASE) -> pd.DataFrame:
    """What a variant does to the scores themselves, whoever is right.

    Columns: judge, family (what it varies), judged, unscored, mean_score, and over the replies that the base scored
    too: moved (mean |difference|), r (with the base's scores; missing where either is constant).
    """
    family = {v.name: v.family for v in made}
    wide = verdicts.pivot(index=TURN, columns="judge", values="real").astype(float)
    rows = []
    for judge in dict.fromkeys(verdicts["judge"]):
        both = wide[[judge, base]].dropna().to_numpy().T if judge != base else np.empty((2, 0))
        varies = both.shape[1] > 1 and (both.std(axis=1) > 0).all()
        rows.append(
            {
                "judge": judge,
                "family": family.get(judge, ""),
                "judged": len(wide),
                "unscored": int(wide[judge].isna().sum()),
                "mean_score": wide[judge].mean(),
                "moved": np.abs(both[0] - both[1]).mean() if both.size else np.nan,
                "r_with_base": np.corrcoef(both)[0, 1] if varies else np.nan,
            }
        )
    return pd.DataFrame(rows)
