"""Replies to cases, and how many of them a judge calls good: the second half of UX Eval and UX Recovery.

In UX Eval (`Generation`) a model answers requests whose recorded reply was disliked (UXBench, section 4.2).

UX Recovery (`Recovery`) asks for a reply after a complaint (UXBench, section 4.3).

It has five prompts, from one that says nothing of a failure to one that has the model criticise the failed reply first;
and two layouts: `briefed` tells a helper of the conversation in one message, `replay` lets the conversation itself go
on. In either the history is shown as far as the form allows; the failed reply and the complaint always are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from perslib.corpus.schema import GOOD
from perslib.errors import DataError, Problem, UnknownName
from perslib.judge import Judge
from perslib.judge.asking.labels import read_object
from perslib.llm import Answer, Ask, Backbone, Request
from perslib.llm.request import Message
from perslib.prompts import PromptSettings, prompt
from perslib.stats import Resamples, wilson
from perslib.systems.uxbench.statistics.detection import check_labels
from perslib.systems.uxbench.tasks.cases import Case
from perslib.systems.uxbench.tasks.judging import judge_each_case

#: What a judge of a recovery is shown before the complaint: all, or the failed reply alone.
JudgeContext = Literal["full", "reference"]
CONTEXTS: tuple[JudgeContext, ...] = ("full", "reference")
#: A breakdown's cell with fewer cases than this shows no share.
FEWEST_CASES = 20


@dataclass(frozen=True)
class TaskReply:
    """A reply, or why there is none; `note` is what was written beside it (thoughts, a critique, a kind of failure)."""

    text: str | None
    answer: Answer
    note: str | None = None
    error: str | None = None


class ReplyMethod(Protocol):
    """Something that replies to a case: `Generation`, `Recovery`."""

    @property
    def name(self) -> str:
        """How tables call it."""
        ...

    async def reply(self, case: Case, ask: Ask) -> TaskReply:
        """Return a reply to one case."""
        ...


def reply_to_cases(
    how: ReplyMethod, cases: Sequence[Case], backbone: Backbone, *, progress: bool = True
) -> pd.DataFrame:
    """Return replies to all cases, one row each: case, user, scenario, dimension, model, how, reply (null where `error`
    says why), note, finish, and what each answer took.
    """
    replies = backbone.map(how.reply, cases, progress=progress, totals={"reply": len(cases)})
    rows = []
    for case, reply in zip(cases, replies, strict=True):
        answer = reply.answer
        rows.append(
            {
                **{"case": case.case, "user": case.user, "scenario": case.scenario, "dimension": case.dimension},
                **{"model": backbone.name, "how": how.name, "reply": reply.text, "note": reply.note},
                **{"error": reply.error, "finish": answer.finish, "reasoning": answer.reasoning},
                **{"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out, "seconds": answer.seconds},
                "cost": answer.cost,
            }
        )
    return pd.DataFrame(rows).astype({"reply": "str", "error": "str", "note": "str"})


def judge_task_replies(
    replies: pd.DataFrame,
    cases: Sequence[Case],
    judge: Judge,
    backbone: Backbone | None = None,
    *,
    context: JudgeContext = "full",
    progress: bool = True,
) -> pd.DataFrame:
    """Return the replies with the judge's verdict: said (1, −1, 0, or missing), p_good, judge, judge_error, context.

    After a complaint the reply to it is judged, `context` says with what before it. A case without a reply has no verdict,
    which is not good.
    """
    if context not in CONTEXTS:
        raise UnknownName("context of a judge", context, CONTEXTS)
    known = {case.case: case for case in cases}
    if lost := [name for name in replies["case"] if name not in known]:
        raise DataError(Problem("replies", f"answer case {lost[0]}, which is not among the cases"))
    written = replies["reply"].notna() & (replies["reply"].fillna("").str.strip() != "")
    # Under the cases' own names: by these a judge's examples are told from what it judges.
    own = [_judged_case(known[row.case], str(row.reply), context) for row in replies[written].itertuples()]
    verdicts = judge_each_case(judge, own, backbone, progress=progress)
    out = replies.assign(said=pd.NA, p_good=pd.NA, judge_error="no reply", context=context, judge=judge.name)
    for column, name in (("said", "said"), ("p_good", "p_good"), ("judge_error", "error")):
        out.loc[written, column] = verdicts[name].to_numpy(object, na_value=None)
    return out.astype({"said": "Int64", "p_good": "Float64", "judge_error": "str"})


def _judged_case(case: Case, reply: str, context: JudgeContext) -> Case:
    """Return the case as a judge of this reply sees it."""
    if not case.complaint:
        return replace(case, reply=reply, gold=None)
    failed: Message = {"role": "assistant", "content": case.reply}
    before = (*case.request_messages, failed) if context == "full" else (failed,)
    return replace(case, history=before, query=case.complaint, reply=reply, complaint="", gold=None)


def good_share(
    scored: pd.DataFrame, by: Sequence[str] = ("model", "how"), *, unit: str = "case", fewest: int = 0
) -> pd.DataFrame:
    """Return good% of each group, of all its cases, and of those that have a verdict.

    Columns: the groups, cases, replies, verdicts, good, percent (of all cases: what is missing is not good), wilson_low,
    wilson_high, percent_low, percent_high (over units; a case whose unit is not known is its own),
    percent_of_verdicts, mean_p. Groups with fewer cases than `fewest` show their counts only.
    """
    rows = []
    groups = scored.groupby(list(by), sort=False, dropna=False) if by else [((), scored)]
    for key, own in groups:
        labels = check_labels(own["said"], 3, place="said")
        good, cases, verdicts = 1.0 * (labels == GOOD), len(own), int((~np.isnan(labels)).sum())
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        row |= {"cases": cases, "replies": own["reply"].notna().sum() if "reply" in own else cases}
        row |= {"verdicts": verdicts, "good": int(good.sum())}
        if cases >= max(1, fewest):
            low, high = wilson(good.sum(), cases)
            units = Resamples(own[unit].where(own[unit] != "", own["case"]))
            row |= units.estimate(units.mean(100 * good), "percent", "percent")
            row |= {"wilson_low": 100 * float(low), "wilson_high": 100 * float(high)}
            row["percent_of_verdicts"] = 100 * float(good.sum()) / verdicts if verdicts else np.nan
            row["mean_p"] = own["p_good"].astype("Float64").mean() if "p_good" in own else np.nan
        rows.append(row)
    shares = ("percent", "wilson_low", "wilson_high", "percent_low", "percent_high")
    columns = [*by, "cases", "replies", "verdicts", "good", *shares, "percent_of_verdicts", "mean_p"]
    return pd.DataFrame(rows, columns=columns)


#: System prompts by name; `none` sends no system message.
SYSTEMS: dict[str, str | None] = {
    "helpful": "ux_eval_helpful",
    "none": None,
    "experience": "ux_eval_experience",
    "empathy": "ux_eval_empathy",
}
TEMPERATURE, MAX_TOKENS = 0.7, 2048


@dataclass(frozen=True)
class Generation:
    """Answers the conversation as chat messages under one of the `SYSTEMS`."""

    system: str = "helpful"
    form: PromptSettings = field(default_factory=PromptSettings)

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS:
            raise UnknownName("system prompt", self.system, SYSTEMS)

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.system

    async def reply(self, case: Case, ask: Ask) -> TaskReply:
        """Return one reply."""
        (answer,) = await ask([self.request(case)], "reply")
        return plain_reply(answer)

    def request(self, case: Case) -> Request:
        """Return the system message if any, the history as far as it is shown, the request."""
        messages = [*self.form.cut_history(case.history), {"role": "user", "content": case.query}]
        name = SYSTEMS[self.system]
        if name is None:
            return self.form.apply(Request(messages, temperature=TEMPERATURE, max_tokens=MAX_TOKENS))
        request = prompt(name, self.form.language, self.form.prompts).render()
        return self.form.apply(replace(request, messages=[*request.messages, *messages]))


def plain_reply(answer: Answer) -> TaskReply:
    """Return the text of an answer as a reply; an empty one is none."""
    text = answer.text.strip()
    if answer.error is not None or not text:
        return TaskReply(None, answer, error=answer.error or "the reply is empty")
    return TaskReply(text, answer)


Variant = Literal["normal", "baseline", "chain of thought", "failure-aware", "critique"]
Layout = Literal["briefed", "replay"]
#: Prompt, and what it has the model write beside the reply.
VARIANTS: dict[str, tuple[str, str | None]] = {
    "normal": ("ux_recovery_normal", None),
    "baseline": ("ux_recovery_baseline", None),
    "chain of thought": ("ux_recovery_cot", "thoughts"),
    "failure-aware": ("ux_recovery_failure", "failure"),
    "critique": ("ux_recovery_critique", "critique"),
}
LAYOUTS: tuple[Layout, ...] = ("briefed", "replay")


@dataclass(frozen=True)
class Recovery:
    """How recovery is asked for."""

    variant: Variant = "baseline"
    layout: Layout = "briefed"
    form: PromptSettings = field(default_factory=PromptSettings)

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UnknownName("recovery prompt", self.variant, VARIANTS)
        if self.layout not in LAYOUTS:
            raise UnknownName("layout", self.layout, LAYOUTS)

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.variant if self.layout == "briefed" else f"{self.variant} ({self.layout})"

    async def reply(self, case: Case, ask: Ask) -> TaskReply:
        """Return one reply; where the model writes something beside it, that is its note."""
        (answer,) = await ask([self.request(case)], "reply")
        note = VARIANTS[self.variant][1]
        if note is None:
            return plain_reply(answer)
        data = read_object(answer, "reply")
        text = str(data.get("reply") or "").strip() if data else ""
        if not data or not text:
            return TaskReply(None, answer, error=answer.error or "no reply in the answer")
        return TaskReply(text, answer, note=str(data.get(note) or "") or None)

    def request(self, case: Case) -> Request:
        """Return the question, in its layout."""
        shown = self.form.cut_history(case.request_messages)
        request = self.form.make_request(
            VARIANTS[self.variant][0], conversation=shown, failed=case.reply, complaint=case.complaint
        )
        if self.layout == "briefed":
            return request
        system = [m for m in request.messages if m["role"] == "system"]
        failed = {"role": "assistant", "content": case.reply}
        messages = [*shown, failed, {"role": "user", "content": case.complaint}]
        return replace(request, messages=[*system, *messages])
