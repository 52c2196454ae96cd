"""Replies to cases, and how many of them a judge calls good: the second half of UX Eval and UX Recovery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from perslib.errors import DataError, PerslibError, Problem, UnknownName
from perslib.inference import FEWEST_USERS, LEVEL, RESAMPLES, SEED, floats, interval, resample_users, wilson
from perslib.llm import Answer, Backbone, Steps
from perslib.llm.types import Message
from perslib.ux.cases import Case
from perslib.ux.judging import UXJudge, judged_by
from perslib.ux.labels import GOOD, labels
from perslib.ux.scored import verdict_of

#: What a judge of a recovery is shown before the complaint: all, or the failed reply alone.
JudgeContext = Literal["full", "reference"]
CONTEXTS: tuple[JudgeContext, ...] = ("full", "reference")
#: A breakdown's cell with fewer cases than this shows no share.
FEWEST_CASES = 20


@dataclass(frozen=True)
class Reply:
    """A reply, or why there is none; `note` is what was written beside it (thoughts, a critique, a kind of failure)."""

    text: str | None
    answer: Answer
    note: str | None = None
    error: str | None = None


class Replies(Protocol):
    """Something that replies to a case in steps: `Generation`, `Recovery`."""

    @property
    def name(self) -> str:
        """How tables call it."""
        ...

    def reply(self, case: Case) -> Steps[Reply]:
        """A reply to one case."""
        ...


class RewardModel(Protocol):
    """Something that gives the probability that a user likes a reply, without a language model being asked here."""

    def score(self, history: Sequence[Message], query: str, response: str) -> float:
        """P(good)."""
        ...


def answered(
    how: Replies,
    cases: Sequence[Case],
    backbone: Backbone,
    *,
    progress: bool = True,
    cap: float | None = None,
) -> pd.DataFrame:
    """Replies to all cases, one row each: case, user, scenario, dimension, model, how, reply (null where `error` says why),
    note, finish, and what each answer took.
    """
    found = backbone.map(how.reply, cases, progress=progress, totals={"reply": len(cases)}, cap=cap)
    rows = []
    for case, reply in zip(cases, found, strict=True):
        answer = reply.answer
        rows.append(
            {
                **{
                    "case": case.case,
                    "user": case.user,
                    "scenario": case.scenario,
                    "dimension": case.dimension,
                },
                **{"model": backbone.name, "how": how.name, "reply": reply.text, "note": reply.note},
                **{"error": reply.error, "finish": answer.finish, "reasoning": answer.reasoning},
                **{"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out, "seconds": answer.seconds},
                "cost": answer.cost,
            }
        )
    return pd.DataFrame(rows).astype({"reply": "str", "error": "str", "note": "str"})


def scored_replies(
    replies: pd.DataFrame,
    cases: Sequence[Case],
    judge: UXJudge | RewardModel,
    backbone: Backbone | None = None,
    *,
    threshold: float | None = None,
    context: JudgeContext = "full",
    progress: bool = True,
) -> pd.DataFrame:
    """The replies with the judge's verdict: said (1, −1, 0, or missing), p_good, judge, judge_error, context.

    A `UXJudge` asks the backbone; a reward model says good from `threshold` on, else from its own, else from ½. After a
    complaint the reply to it is judged, `context` says with what before it. A case without a reply has no verdict, which is
    not good.
    """
    if context not in CONTEXTS:
        raise UnknownName("context of a judge", context, CONTEXTS)
    known = {case.case: case for case in cases}
    if lost := [name for name in replies["case"] if name not in known]:
        raise DataError(Problem("replies", f"answer case {lost[0]}, which is not among the cases"))
    written = replies["reply"].notna() & (replies["reply"].fillna("").str.strip() != "")
    # Under the cases' own names: by these a judge's examples are told from what it judges.
    own = [_judged_case(known[row.case], str(row.reply), context) for row in replies[written].itertuples()]
    out = replies.assign(said=pd.NA, p_good=np.nan, judge_error="no reply", context=context)
    if isinstance(judge, UXJudge):
        if backbone is None:
            raise PerslibError(f"Judge {judge.name!r} asks a model; say which with backbone=backbone('…').")
        found = judged_by(judge, own, backbone, progress=progress)
        said, p, why = (found[c].to_numpy(object) for c in ("said", "p_good", "error"))
        name = judge.name
    else:
        at_once = getattr(judge, "scores", None)
        p = np.array(
            at_once(own) if at_once else [judge.score(c.history, c.query, c.reply) for c in own], dtype=object
        )
        line = getattr(judge, "threshold", 0.5) if threshold is None else threshold
        said, why = (
            verdict_of(pd.Series(p, dtype="Float64"), line).astype(object),
            np.full(len(own), None),
        )
        name = str(getattr(judge, "name", type(judge).__name__))
    out.loc[written, "said"] = said
    out.loc[written, "p_good"] = pd.Series(p, dtype="Float64").to_numpy(float, na_value=np.nan)
    out.loc[written, "judge_error"] = why
    return out.assign(judge=name).astype({"said": "Int64", "judge_error": "str"})


def _judged_case(case: Case, reply: str, context: JudgeContext) -> Case:
    """The case as a judge of this reply sees it."""
    if not case.complaint:
        return replace(case, reply=reply, gold=None)
    failed: Message = {"role": "assistant", "content": case.reply}
    before = (*case.said, failed) if context == "full" else (failed,)
    return replace(case, history=before, query=case.complaint, reply=reply, complaint="", gold=None)


def good_share(
    scored: pd.DataFrame,
    by: Sequence[str] = ("model", "how"),
    *,
    unit: str = "case",
    fewest: int = 0,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Good% of each group, of all its cases, and of those that have a verdict.

    Columns: the groups, cases, replies, verdicts, good, percent (of all cases: what is missing is not good), wilson_low,
    wilson_high, low, high (units resampled), percent_of_verdicts, mean_p. Groups with fewer cases than `fewest` show their
    counts only.
    """
    rows = []
    groups = scored.groupby(list(by), sort=False, dropna=False) if by else [((), scored)]
    for key, own in groups:
        said = labels(own["said"], 3, place="said")
        good, cases = (said == GOOD).astype(float), len(own)
        verdicts = int((~np.isnan(said)).sum())
        row: dict[str, Any] = {
            **dict(zip(by, key, strict=True)),
            **{"cases": cases, "replies": int(own["reply"].notna().sum()) if "reply" in own else cases},
            **{"verdicts": verdicts, "good": int(good.sum())},
        }
        if cases >= max(1, fewest):
            bounds = wilson(good.sum(), cases, level)
            group, units = pd.factorize(own[unit])
            weights = resample_users(len(units), resamples if len(units) >= FEWEST_USERS else 0, seed).astype(
                float
            )
            total, n = (np.bincount(group, v, len(units)) @ weights for v in (good, np.ones(cases)))
            drawn = 100 * total / n
            low, high = interval(drawn[1:], level)
            p = floats(own["p_good"]) if "p_good" in own else np.array([])
            row |= {
                "percent": float(drawn[0]),
                "wilson_low": 100 * float(bounds[0]),
                "wilson_high": 100 * float(bounds[1]),
            }
            row |= {"low": low, "high": high}
            row["percent_of_verdicts"] = 100 * float(good.sum()) / verdicts if verdicts else np.nan
            row["mean_p"] = float(np.nanmean(p)) if np.isfinite(p).any() else np.nan
        rows.append(row)
    columns = ["percent", "wilson_low", "wilson_high", "low", "high", "percent_of_verdicts", "mean_p"]
    return pd.DataFrame(rows, columns=[*by, "cases", "replies", "verdicts", "good", *columns])


def by_scenario(scored: pd.DataFrame, by: Sequence[str] = ("model",), **settings: Any) -> pd.DataFrame:
    """Good% by scenario (UXBench, section 4.4); shares of fewer than `FEWEST_CASES` cases are not shown."""
    return good_share(scored, (*by, "scenario"), **{"fewest": FEWEST_CASES, **settings})


def outcomes(scored: pd.DataFrame, contender: Sequence[str] = ("model", "how")) -> pd.DataFrame:
    """Cases × contenders, 1 where the reply was called good, 0 where not: what `rank_sets` and `paired_differences` take."""
    name = scored[list(contender)].astype(str).agg(" · ".join, axis=1)
    good = (labels(scored["said"], 3, place="said") == GOOD).astype(float)
    return pd.DataFrame({"case": scored["case"], "contender": name, "good": good}).pivot(
        index="case", columns="contender", values="good"
    )
