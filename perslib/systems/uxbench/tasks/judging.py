"""UX Judge: was the user satisfied with this reply? (UXBench, section 4.1.)

Binary, or with neutral as a third verdict; asked outright, after weighing in writing, after labelled examples, or after
picturing the user. What cannot be read as a verdict is a verdict all the same: `said` is missing and `error` says why.

`PairJudge` is shown two replies and says which of them would satisfy the user more (UXBench, Table 10). Both are judges as
any other (`perslib.judge`): they judge a corpus, and any judge judges cases (`judge_each_case`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from perslib.corpus import Block, Target
from perslib.corpus.schema import BAD, GOOD, NEUTRAL
from perslib.errors import DataError, NotEnough, Problem, UnknownName
from perslib.judge import Judge, JudgeInputs, Verdict, judge
from perslib.judge.asking.labels import NAMES, SCORES, read_label, read_object
from perslib.judge.asking.scores import make_cost_verdict
from perslib.judge.asking.settings import TOP_LOGPROBS
from perslib.judge.evaluate import judge_blocks
from perslib.llm import Answer, Ask, Backbone, Request
from perslib.prompts import Prompt, PromptSettings
from perslib.stats import SEED, compare_paired, floats
from perslib.systems.uxbench.statistics.detection import check_labels
from perslib.systems.uxbench.tasks.cases import Case, name_turns

Strategy = Literal["zero-shot", "chain of thought", "few-shot", "user modelling"]
PROMPTS: dict[str, str] = {
    "zero-shot": "ux_judge",
    "chain of thought": "ux_judge_cot",
    "few-shot": "ux_judge",
    "user modelling": "ux_judge_user",
}
SHOTS = 4
COLUMNS = ["judge", "backbone", "case", "user", "scenario", "dimension", "gold", "said", "p_good", "mode", "rationale", "error"]  # fmt: skip
ABOUT = ["case", "user", "scenario", "dimension", "gold"]
SCALE = Judge.values
P = [f"p{score}" for score in range(1, 6)]


class UXJudge(Judge):
    """Asks for good or bad (with three `classes` also neutral), which are scores of 5, 1 and 3: it judges any block.

    Parameters
    ----------
    form : settings of its questions.
    strategy : one of `PROMPTS`.
    classes : 2, or 3 to allow neutral.
    examples : labelled cases for few-shot; they must not be among those to judge (`shots` draws them).
    name : how tables call it.
    """

    inputs = JudgeInputs(reply=True, model=True)

    def __init__(
        self,
        form: PromptSettings | None = None,
        strategy: Strategy = "zero-shot",
        classes: Literal[2, 3] = 2,
        examples: Sequence[Case] = (),
        name: str = "",
    ):
        if strategy not in PROMPTS:
            raise UnknownName("prompting strategy", strategy, PROMPTS)
        if classes not in (2, 3):
            raise DataError(Problem("classes", f"is {classes}, expected 2 or 3"))
        if (strategy == "few-shot") != bool(examples):
            raise DataError(
                Problem("examples", f"there are {len(examples)} for a {strategy} judge"),
                "few-shot takes labelled cases that are not judged (`shots` draws them), the others take none.",
            )
        self.form, self.strategy, self.examples = form or PromptSettings(), strategy, tuple(examples)
        self.values = (SCORES[BAD], SCORES[GOOD]) if classes == 2 else tuple(sorted(SCORES.values()))
        third = "" if classes == 2 else ", three classes"
        self.name = name or f"UX judge ({strategy}{third})"

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one question a reply, all at once."""
        prompt = self.form.find_prompt(PROMPTS[self.strategy])
        requests = [self._request(prompt, target) for target in block]
        return [
            replace(read_label(answer, self.values), prompt=prompt.label) for answer in await ask(requests, "judge")
        ]

    def _request(self, prompt: Prompt, target: Target) -> Request:
        """Return the question about one reply, its schema without the third verdict where there are two."""
        fields: dict[str, Any] = {**self._fields(Case.of(target)), "three": len(self.values) == 3}
        if prompt.name == "ux_judge":
            fields["examples"] = [{**self._fields(one), "verdict": NAMES[one.gold or GOOD]} for one in self.examples]
        request = self.form.apply(prompt.render(**fields))
        schema = dict(request.schema or {})
        if len(self.values) == 2:
            two = {**schema["properties"]["verdict"], "enum": [NAMES[GOOD], NAMES[BAD]]}
            schema["properties"] = {**schema["properties"], "verdict": two}
        return replace(request, schema=schema, top_logprobs=TOP_LOGPROBS)

    def _fields(self, case: Case) -> dict[str, Any]:
        return {"conversation": self.form.cut_history(case.history), "query": case.query, "reply": case.reply}


for _name, _options in {
    "UX judge": {},
    "UX judge (three classes)": {"classes": 3},
    "UX judge (chain of thought)": {"strategy": "chain of thought"},
    "UX judge (user modelling)": {"strategy": "user modelling"},
}.items():
    judge(_name)(lambda settings, name=_name, options=_options: UXJudge(settings, name=name, **options))


def sample_shots(cases: Sequence[Case], number: int = SHOTS, seed: int = SEED) -> tuple[Case, ...]:
    """Return examples drawn by the seed, as many good as bad ones, in mixed order; from a pool that is not judged."""
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


def judge_each_case(
    judge: Judge, cases: Sequence[Case], backbone: Backbone | None = None, *, progress: bool = True
) -> pd.DataFrame:
    """Let any judge judge cases, one row a case, in their order; a case is a block with one target.

    A judge that learns from a corpus is to be fitted before. Every answer is in the cache as soon as it comes.

    Columns: `COLUMNS`, score, strategy, effort, and what each answer took. `perslib.systems.uxbench.statistics.measure_verdicts` makes metrics of it.
    """
    shown = {example.case for example in judge.examples} if isinstance(judge, UXJudge) else set()
    if overlap := shown & {c.case for c in cases}:
        raise DataError(
            Problem("examples", f"{sorted(overlap)[0]} is among the cases to judge"),
            "Draw the examples from other cases, or leave these out.",
        )
    verdicts = judge_blocks(judge, [case.block for case in cases], backbone, progress=progress)
    given = pd.DataFrame([vars(verdict) for (verdict,) in verdicts], columns=[f.name for f in fields(Verdict)])
    about = pd.DataFrame([{name: getattr(case, name) for name in ABOUT} for case in cases], columns=ABOUT)
    given = given.drop(columns="raw").assign(
        judge=judge.name,
        backbone=backbone.name if backbone else None,
        score=given["raw"],
        strategy=getattr(judge, "strategy", None),
        effort=getattr(getattr(judge, "form", None), "effort", None),
    )
    p = pd.DataFrame(given.pop("p").map(lambda p: p or (None,) * 5).tolist(), columns=P, dtype="Float64")
    frame = about.join(good_or_bad(given.join(p), judge.values))
    return frame[[*COLUMNS, *frame.columns.difference(COLUMNS, sort=False)]].astype({"gold": "Int64", "error": "str"})


def good_or_bad(scored: pd.DataFrame, values: Sequence[float] = SCALE) -> pd.DataFrame:
    """Add what scores say of good and bad: `said` and `p_good`.

    From 3.5 on a reply is good, else bad; a judge that gives 1, 3 and 5 alone calls 3 neutral. `p_good` is of good and bad
    alone where a judge gives no more than these and neutral, else where the expected score lies from 1 to 5.
    """
    score = floats(scored["score"])
    labels = np.where(np.isnan(score), np.nan, np.where(score >= 3.5, GOOD, BAD))
    if tuple(values) == SCALE:
        p_good = ((floats(scored["expected"].fillna(scored["score"])) - 1) / 4).clip(0, 1)
    else:
        good, bad = floats(scored["p5"]), floats(scored["p1"])
        both = good + bad
        p_good = np.divide(good, both, out=np.full(len(scored), np.nan), where=both > 0)
        labels = np.where(score == SCORES[NEUTRAL], NEUTRAL, labels)
    return scored.assign(said=labels, p_good=p_good).astype({"said": "Int64", "p_good": "Float64"})


def verdicts_of_scores(scored: pd.DataFrame, cases: Sequence[Case]) -> pd.DataFrame:
    """Take verdicts of `perslib.judge.evaluate` on these cases as good or bad (`good_or_bad`).

    Columns: judge, case, user, scenario, gold, said, p_good, score.
    """
    known = {case.case: case.gold for case in cases}
    frame = scored.assign(case=name_turns(scored), score=scored["raw"])
    frame = frame[frame["case"].isin(known)].reset_index(drop=True)
    frame = good_or_bad(frame.assign(gold=frame["case"].map(known)).astype({"gold": "Int64"}))
    return frame[["judge", "case", "user", "scenario", "gold", "said", "p_good", "score"]]


def strategy_gains(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of judges on the same cases less the first judge's, in points, paired.

    For prompting strategies, reasoning efforts, or anything else that the same cases were judged with.

    Columns: judge, accuracy, gain, gain_low, gain_high, gain_p (McNemar).
    """
    names = list(dict.fromkeys(verdicts["judge"]))
    gold, labels = check_labels(verdicts["gold"], place="gold"), check_labels(verdicts["said"], 3, place="said")
    right = verdicts.assign(right=np.where(np.isnan(gold), np.nan, 100.0 * (gold == labels)))
    table = right.pivot(index="case", columns="judge", values="right").loc[right["case"].unique(), names]
    gains = compare_paired(table, base=names[0], tests=("mcnemar",)).set_index("a")
    own = gains[["difference", "difference_low", "difference_high", "difference_p"]].reindex(names)
    own.columns = own.columns.str.replace("difference", "gain")
    own.loc[names[0], ["gain", "gain_low", "gain_high"]] = 0.0
    return own.assign(accuracy=table.mean()).rename_axis("judge").reset_index()


#: Scores of the first and the second reply by what the answer says is better.
PREFERRED = {
    "1": (5.0, 1.0),
    "first": (5.0, 1.0),
    "2": (1.0, 5.0),
    "second": (1.0, 5.0),
    "tie": (3.0, 3.0),
    "0": (3.0, 3.0),
}


class PairJudge(Judge):
    """Asks which of a block's two replies is better: 5 for that one and 1 for the other, 3 for both at a tie.

    Show every pair in both orders (`position_audit` does).
    """

    inputs = JudgeInputs(reply=True, model=True)
    values = (1, 3, 5)

    def __init__(self, form: PromptSettings | None = None, name: str = "pairwise"):
        self.form, self.name = form or PromptSettings(), name

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one question about the two replies, in this order; what it took is told of the first."""
        if len(block) != 2:
            raise DataError(Problem(block.id, f"has {len(block)} replies, expected 2 to compare"))
        first, second = block
        shown = self.form.cut_history(first.prefix)
        request = self.form.make_request("ux_prefer", conversation=shown, first=first.response, second=second.response)
        (answer,) = await ask([request], "judge")
        scores = read_preference(answer)
        if scores is None:
            unread = Verdict(mode="unscored", error=answer.error or "no choice in the answer")
            return [replace(make_cost_verdict(answer), mode=unread.mode, error=unread.error), unread]
        return [
            replace(make_cost_verdict(answer), raw=scores[0], mode=answer.mode),
            Verdict(raw=scores[1], mode=answer.mode),
        ]


def read_preference(answer: Answer) -> tuple[float, float] | None:
    """Read the scores of both replies: from the last object with a `better`, else from a bare 1, 2 or tie."""
    parsed = read_object(answer, "better")
    preferred = answer.whole_text if parsed is None else parsed.get("better")
    return PREFERRED.get(str(preferred).strip().strip("\"'.\u3002").casefold())
