"""UX Judge: was the user satisfied with this reply? (UXBench, section 4.1.)

Binary, or with neutral as a third verdict; asked outright, after weighing in writing, after labelled examples, or after
picturing the user. What cannot be read as a verdict is a verdict all the same: `said` is missing and `error` says why.

`PairJudge` is shown two replies and says which of them would satisfy the user more (UXBench, Table 10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from perslib.corpus import Target
from perslib.errors import DataError, NotEnough, Problem, UnknownName
from perslib.llm import Answer, Ask, Backbone, digit_distribution
from perslib.prompts import prompt
from perslib.stats import SEED, compare_paired, floats
from perslib.stats.detection import BAD, GOOD, labels
from perslib.ux.asking import Form, Scheme, last_json, parse_verdict
from perslib.ux.cases import NAMES, Case, name_turns

Strategy = Literal["zero-shot", "chain of thought", "few-shot", "user modelling"]
PROMPTS: dict[str, str] = {
    "zero-shot": "ux_judge",
    "chain of thought": "ux_judge_cot",
    "few-shot": "ux_judge",
    "user modelling": "ux_judge_user",
}
#: Alternatives asked for at each token, so that a probability of "good" can be read where the endpoint gives them.
TOP_LOGPROBS = 20
SHOTS = 4
COLUMNS = (
    "judge",
    "backbone",
    "case",
    "user",
    "scenario",
    "dimension",
    "gold",
    "said",
    "p_good",
    "rule",
    "reason",
    "error",
)


@dataclass(frozen=True)
class UXJudge:
    """How it is asked: `strategy` of `PROMPTS`, two or three `classes`, `examples` for few-shot, `form` for the rest."""

    form: Form = field(default_factory=Form)
    strategy: Strategy = "zero-shot"
    classes: Literal[2, 3] = 2
    examples: tuple[Case, ...] = field(default=(), repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        if self.strategy not in PROMPTS:
            raise UnknownName("prompting strategy", self.strategy, PROMPTS)
        if self.classes not in (2, 3):
            raise DataError(Problem("classes", f"is {self.classes}, expected 2 or 3"))
        if (self.strategy == "few-shot") != bool(self.examples):
            raise DataError(
                Problem("examples", f"there are {len(self.examples)} for a {self.strategy} judge"),
                "few-shot takes labelled cases that are not judged (`shots` draws them), the others take none.",
            )
        if not self.name:
            third = "" if self.classes == 2 else ", three classes"
            object.__setattr__(self, "name", f"UX judge ({self.strategy}{third})")

    @property
    def scheme(self) -> Scheme:
        """What numbers mean in its answers."""
        return "binary" if self.classes == 2 else "three"

    async def verdict(self, case: Case, ask: Ask) -> dict[str, Any]:
        """One question; what comes of it as columns of the verdicts frame."""
        shown: dict[str, Any] = {
            "conversation": self.form.shown(case.history),
            "query": case.query,
            "reply": case.reply,
            "three": self.classes == 3,
        }
        name = PROMPTS[self.strategy]
        if name == "ux_judge":
            shown["examples"] = [self._example(example) for example in self.examples]
        request = self.form.request(name, **shown)
        request = replace(
            request, schema=self._narrowed(dict(request.schema or {})), top_logprobs=TOP_LOGPROBS
        )
        (answer,) = await ask([request], "judge")
        return {**self.read(answer), "prompt": prompt(name, self.form.language, self.form.prompts).label}

    def read(self, answer: Answer) -> dict[str, Any]:
        """said, p_good, rule, reason and error of an answer, and what it took."""
        stated = answer.data.get("verdict") if isinstance(answer.data, dict) else None
        label, rule = (
            parse_verdict(str(stated), self.scheme)
            if stated is not None
            else parse_verdict(answer.text, self.scheme)
        )
        rule = rule if stated is None else answer.mode
        reason = answer.data.get("reason") if isinstance(answer.data, dict) else None
        why = None if label is not None else answer.error or f"no verdict in {answer.text[:40]!r}"
        return {
            **{"said": label, "p_good": self._p_good(answer), "rule": rule, "reason": reason, "error": why},
            **{"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out, "seconds": answer.seconds},
            **{"cost": answer.cost, "raw": answer.raw or answer.text},
        }

    def _p_good(self, answer: Answer) -> float | None:
        """P(good) of good and bad at the verdict's token; missing where the endpoint gives no probabilities."""
        options = tuple(NAMES.values()) if self.classes == 3 else (NAMES[GOOD], NAMES[BAD])
        found = digit_distribution(answer, options, key="verdict")
        if found is None or found[NAMES[GOOD]] + found[NAMES[BAD]] <= 0:
            return None
        return found[NAMES[GOOD]] / (found[NAMES[GOOD]] + found[NAMES[BAD]])

    def _example(self, case: Case) -> dict[str, Any]:
        return {
            "conversation": self.form.shown(case.history),
            "query": case.query,
            "reply": case.reply,
            "verdict": NAMES[case.gold or GOOD],
        }

    def _narrowed(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema without the third verdict where there are two."""
        if self.classes == 3:
            return schema
        two = {**schema["properties"]["verdict"], "enum": [NAMES[GOOD], NAMES[BAD]]}
        return {**schema, "properties": {**schema["properties"], "verdict": two}}


def shots(cases: Sequence[Case], number: int = SHOTS, seed: int = SEED) -> tuple[Case, ...]:
    """Examples drawn by the seed, as many good as bad ones, in mixed order; from a pool that is not judged."""
    rng = np.random.default_rng(seed)
    sides = [[c for c in cases if c.gold == side] for side in (GOOD, BAD)]
    if any(len(side) < number // 2 for side in sides):
        raise NotEnough(
            "{number} examples need {each} of each kind from cases that are not judged, but there are {good} good "
            "and {bad} bad ones. Add cases, or remove few-shot.",
            number=number,
            each=number // 2,
            good=len(sides[0]),
            bad=len(sides[1]),
        )
    drawn = [side[i] for side in sides for i in rng.permutation(len(side))[: number // 2]]
    return tuple(drawn[i] for i in rng.permutation(len(drawn)))


def judged_by(
    judge: UXJudge,
    cases: Sequence[Case],
    backbone: Backbone,
    *,
    progress: bool = True,
    cap: float | None = None,
) -> pd.DataFrame:
    """The judge's verdicts, one row a case, in their order; every answer is in the cache as soon as it comes.

    Columns: `COLUMNS`, what each answer took, raw, prompt, strategy, effort. `perslib.stats.measure_verdicts` makes metrics of it.
    """
    if overlap := {c.case for c in judge.examples} & {c.case for c in cases}:
        raise DataError(
            Problem("examples", f"{sorted(overlap)[0]} is among the cases to judge"),
            "Draw the examples from other cases, or leave these out.",
        )
    found = backbone.map(judge.verdict, cases, progress=progress, totals={"judge": len(cases)}, cap=cap)
    rows = [
        {
            **{"judge": judge.name, "backbone": backbone.name, "case": case.case, "user": case.user},
            **{"scenario": case.scenario, "dimension": case.dimension, "gold": case.gold, **row},
            **{"strategy": judge.strategy, "effort": judge.form.effort},
        }
        for case, row in zip(cases, found, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=list(dict.fromkeys([*COLUMNS, *(rows[0] if rows else ())])))
    return frame.astype(
        {"gold": "Int64", "said": "Int64", "p_good": "Float64", "error": "str", "reason": "str"}
    )


def verdicts_of_scores(scored: pd.DataFrame, cases: Sequence[Case]) -> pd.DataFrame:
    """Take scores from 1 to 5 on these cases (of `perslib.judge.evaluate`) as verdicts: good is what rounds to 4 or 5.

    Columns: judge, case, user, scenario, gold, said, p_good, score.
    """
    known = {case.case: case.gold for case in cases}
    frame = scored.assign(case=name_turns(scored))
    frame = frame[frame["case"].isin(known)].reset_index(drop=True)
    raw, score = floats(frame["raw"]), floats(frame["expected"].fillna(frame["raw"]))
    frame = frame[["judge", "case", "user", "scenario"]].assign(gold=frame["case"].map(known))
    frame = frame.assign(said=np.where(np.isnan(raw), np.nan, np.where(raw >= 3.5, GOOD, BAD)))
    frame = frame.assign(p_good=((score - 1) / 4).clip(0, 1), score=score)
    return frame.astype({"gold": "Int64", "said": "Int64", "p_good": "Float64"})


def strategy_gains(verdicts: pd.DataFrame, baseline: str = "") -> pd.DataFrame:
    """Accuracy of judges on the same cases less the baseline's (the first judge's), in points, paired.

    For prompting strategies, reasoning efforts, or anything else that the same cases were judged with.

    Columns: judge, accuracy, gain, gain_low, gain_high, gain_p (McNemar).
    """
    names = list(dict.fromkeys(verdicts["judge"]))
    if baseline and baseline not in names:
        raise UnknownName("judge", baseline, names)
    gold, said = labels(verdicts["gold"], place="gold"), labels(verdicts["said"], 3, place="said")
    right = verdicts.assign(right=np.where(np.isnan(gold), np.nan, 100.0 * (gold == said)))
    table = right.pivot(index="case", columns="judge", values="right").loc[right["case"].unique(), names]
    gains = compare_paired(table, base=baseline or names[0], tests=("mcnemar",)).set_index("a")
    own = gains[["difference", "difference_low", "difference_high", "difference_p"]].reindex(names)
    own.columns = own.columns.str.replace("difference", "gain")
    own.loc[baseline or names[0], ["gain", "gain_low", "gain_high"]] = 0.0
    return own.assign(accuracy=table.mean()).rename_axis("judge").reset_index()


Choice = Literal["first", "second", "tie"]
CHOICES: dict[str, Choice] = {
    "1": "first",
    "2": "second",
    "tie": "tie",
    "first": "first",
    "second": "second",
    "0": "tie",
}


@dataclass(frozen=True)
class Chosen:
    """The choice by place, or why there is none."""

    choice: Choice | None
    answer: Answer = field(repr=False)
    error: str | None = None


@dataclass(frozen=True)
class PairJudge:
    """Asks which of two replies is better; ties are allowed. Show every pair in both orders (`position_audit` does)."""

    form: Form = field(default_factory=Form)
    name: str = "pairwise"

    async def choice(self, target: Target, first: str, second: str, ask: Ask) -> Chosen:
        """One question about one pair, in this order."""
        said = [dict(message) for message in target.prefix]
        request = self.form.request(
            "ux_prefer", conversation=self.form.shown(said), first=first, second=second
        )
        (answer,) = await ask([request], "judge")
        choice = read_choice(answer)
        return Chosen(choice, answer, None if choice else answer.error or "no choice in the answer")


def read_choice(answer: Answer) -> Choice | None:
    """The choice in an answer: of the last object with a `better`, else of a bare 1, 2 or tie."""
    found: Any = answer.data if isinstance(answer.data, Mapping) else last_json(answer.text, "better")
    said = found.get("better") if isinstance(found, Mapping) else answer.text
    return CHOICES.get(str(said).strip().strip("\"'.\u3002").casefold())
