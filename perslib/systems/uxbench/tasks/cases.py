"""Cases of the three tasks: what was said before, the request, and what is to be judged, answered or made good.

Their labels are 1 good or satisfied, −1 bad, 0 neutral (three classes only), None where none could be read.

They come from the released splits or from any rated corpus (`judge_cases`, `eval_cases`, `recovery_cases`).

A reward model learns from lessons: cases with a label, how far it is to be trusted, and where it comes from.

    lessons_of(corpus)                     # rated replies: good from 4 on
    lessons_of(behavioural(corpus))        # nobody rated: what users did after a reply (`perslib.systems.uxbench.signals`)

A lesson is a case, so that whatever takes cases takes lessons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.corpus import BLOCK, SCHEMA, SESSION, TURN, Block, Corpus, Target, coerce
from perslib.corpus.schema import BAD, GOOD
from perslib.errors import DataError, NotEnough, Problem
from perslib.llm.request import Message
from perslib.stats import SEED, histories
from perslib.stats.calibrate.verdicts import COUNTS

Floats = npt.NDArray[np.float64]


#: A reply is a good case from this score on, a bad one up to that; where there is no score its `_labels` decide.
GOOD_FROM, BAD_TO = 5, 2


@dataclass(frozen=True)
class Case:
    """One case. `history` ends before `query`, which `reply` answers; in UX Recovery `reply` failed and `complaint` came."""

    case: str
    query: str = field(repr=False)
    history: tuple[Message, ...] = field(default=(), repr=False)
    reply: str = field(default="", repr=False)
    complaint: str = field(default="", repr=False)
    gold: int | None = None
    """1 good, −1 bad: what the user thought of `reply`."""
    user: str = ""
    scenario: str = ""
    dimension: str = ""
    """Of failure or success, where it was annotated."""
    past: tuple[int, int] = (0, 0)
    """How many of the user's scored replies in other scenarios were good, and of how many; none where nothing is known."""

    def __post_init__(self) -> None:
        if self.gold not in (GOOD, BAD, None):
            raise DataError(Problem(f"case {self.case}", f"gold is {self.gold!r}, expected 1, −1 or none"))

    @classmethod
    def of(cls, target: Target) -> Case:
        """Return a reply to judge as a case."""
        before = target.prefix if target.request is None else target.prefix[:-1]
        name = "/".join(str(getattr(target, key)) for key in TURN)
        return cls(name, target.request or "", before, target.response, user=target.user, scenario=target.scenario)

    @property
    def request_messages(self) -> list[Message]:
        """The conversation up to the request."""
        return [*self.history, {"role": "user", "content": self.query}]

    @property
    def block(self) -> Block:
        """The case as a block with one target and no evidence, for any judge."""
        key = {"user": self.user, "scenario": self.scenario, "session": self.case, "turn": 1}
        shown = {"task": None, "assistant": None, "prefix": tuple(self.request_messages), "response": self.reply}
        turns, sessions = _nothing()
        return Block(self.user, self.scenario, {}, turns, sessions, pd.DataFrame([key | shown]), labelled=False)


@cache
def _nothing() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return evidence and sessions of a user of whom nothing is known."""
    turns, sessions = (coerce(pd.DataFrame(columns=[*SCHEMA[k]]), k) for k in ("turns", "sessions"))
    return turns.assign(task=None, assistant=None), sessions


def name_turns(frame: pd.DataFrame, columns: Sequence[str] = TURN) -> pd.Series:
    """Return what the case of each row's turn is called."""
    keys = frame[list(columns)].itertuples(index=False, name=None)
    return pd.Series(["/".join(map(str, key)) for key in keys], frame.index, dtype="str")


def make_cases(frame: pd.DataFrame, place: str = "cases") -> list[Case]:
    """Return a frame of cases as cases; columns that a case has no place for are left aside."""
    known = [f.name for f in fields(Case)]
    if missing := [c for c in ("case", "query") if c not in frame]:
        raise DataError(Problem(place, f"has no column {', '.join(missing)}"))
    if (twice := frame["case"].duplicated()).any():
        raise DataError(Problem(f"{place} row {int(twice.to_numpy().argmax())}", "is a second case of the same name"))
    rows = frame[[c for c in known if c in frame]].to_dict("records")
    return [Case(**{str(k): _cell(str(k), v) for k, v in row.items()}) for row in rows]


def _cell(name: str, value: Any) -> Any:
    if name == "history":
        return tuple({"role": m["role"], "content": m["content"]} for m in value)
    if name == "past":
        return tuple(map(int, value))
    missing = value is None or pd.isna(value)
    if name == "gold":
        return None if missing else int(value)
    return "" if missing else str(value)


def released_cases(corpus: Corpus, task: str) -> list[Case]:
    """Return cases of a released split that was imported (`perslib import uxbench`): `task1`, `task2` or `task3`.

    A case that comes twice is taken once.
    """
    cases = corpus.extras.get("cases", pd.DataFrame(columns=["case", "task", "query"]))
    own = cases[cases["task"].astype(str).str.startswith(task)].drop_duplicates("case")
    if own.empty:
        raise DataError(
            Problem(corpus.name, f"holds no case of {task}"), "Import a released split, or see `judge_cases`."
        )
    return make_cases(own, f"{corpus.name}: cases")


def judge_cases(
    corpus: Corpus,
    limit: int | None = None,
    *,
    good_from: int = GOOD_FROM,
    bad_to: int = BAD_TO,
    balanced: bool = True,
    seed: int = SEED,
) -> list[Case]:
    """Return UX Judge from a corpus: replies that users clearly liked or clearly did not, as many of either where
    `balanced`.

    In between, and where score and click disagree, nothing is gold; a benchmark's replies have its own gold labels. At most
    `limit` cases, drawn by the seed.
    """
    gold = _gold(corpus, good_from, bad_to)
    rng = np.random.default_rng(seed)
    if balanced:
        sides = [rng.permutation(gold.index[gold == side]) for side in (GOOD, BAD)]
        each = min(len(side) for side in sides) if limit is None else min(limit // 2, *(len(s) for s in sides))
        gold = gold.loc[np.sort(np.concatenate([side[:each] for side in sides]))]
    return _of_turns(corpus, _draw_cases(gold, limit, rng))


def eval_cases(corpus: Corpus, limit: int | None = None) -> list[Case]:
    """Return UX Eval from a corpus: requests whose recorded reply was disliked, without that reply."""
    gold = _gold(corpus, GOOD_FROM, BAD_TO)
    bad = _of_turns(corpus, _draw_cases(gold[gold == BAD], limit, np.random.default_rng(SEED)))
    return [replace(case, reply="", gold=None) for case in bad]


def recovery_cases(corpus: Corpus, limit: int | None = None) -> list[Case]:
    """Return UX Recovery from a corpus: a disliked reply and what the user wrote next.

    Whether that is a complaint is not asked here: `perslib.systems.uxbench.signals` says so for those who want complaints only.
    """
    gold = _gold(corpus, GOOD_FROM, BAD_TO)
    turns = corpus.turns
    after = turns[[*TURN, "earlier", "request"]].assign(turn=turns["turn"] - 1)
    known = turns.loc[gold.index[gold == BAD], TURN].reset_index().merge(after.dropna(subset=["request"]), on=TURN)
    requests = {row["index"]: "\n".join([*row["earlier"], row["request"]]) for row in known.to_dict("records")}
    drawn = _draw_cases(gold.loc[sorted(requests)], limit, np.random.default_rng(SEED))
    return [replace(c, complaint=requests[i]) for i, c in zip(drawn.index, _of_turns(corpus, drawn), strict=True)]


def _gold(corpus: Corpus, good_from: int, bad_to: int) -> pd.Series:
    """Return 1 or −1 of the turns with a request that have gold, by their place in corpus.turns."""
    turns = corpus.turns.reset_index(drop=True).assign(label=_labels(corpus))
    turns = turns[turns["request"].notna()]
    score = turns["score"].astype("Float64")
    liked, disliked = (turns["label"].isin(names) for names in LABELS.values())
    good = (score >= good_from).fillna(False) & ~disliked | (score.isna() & liked)
    bad = (score <= bad_to).fillna(False) & ~liked | (score.isna() & disliked)
    gold = pd.Series(np.select([good, bad], [GOOD, BAD], 0), turns.index)
    return gold[gold != 0]


#: Gold → labels of a reply without a score: what the user clicked, or what a benchmark's annotators decided.
LABELS = {GOOD: ("like", "gold good"), BAD: ("dislike", "gold bad")}


def _labels(corpus: Corpus) -> npt.NDArray[np.object_]:
    """Return the label of each turn, one of `LABELS` or none: that of a released case, else the user's click."""
    keys, cases = corpus.turns[TURN], corpus.extras.get("cases", pd.DataFrame(columns=[*TURN, "gold"]))
    own = cases[cases["turn"].notna() & cases["gold"].notna()].drop_duplicates(TURN)
    gold = keys.merge(own[[*TURN, "gold"]].astype({"turn": keys["turn"].dtype}), "left", on=TURN)["gold"]
    named = gold.map({side: names[1] for side, names in LABELS.items()})
    return named.where(named.notna(), corpus.turns["feedback"].reset_index(drop=True)).to_numpy(object)


def _draw_cases(gold: pd.Series, limit: int | None, rng: np.random.Generator) -> pd.Series:
    if limit is None or limit >= len(gold):
        return gold
    return gold.loc[np.sort(rng.permutation(gold.index)[:limit])]


def _of_turns(corpus: Corpus, gold: pd.Series) -> list[Case]:
    """Return turns as cases, in their order; what was said before each is its history."""
    rows, past = corpus.turns.to_dict("records"), _count_past(corpus)
    sessions: dict[tuple[Any, ...], list[int]] = {}
    for place, row in enumerate(rows):
        sessions.setdefault(tuple(row[c] for c in SESSION), []).append(place)
    cases = []
    for place, label in gold.items():
        row = rows[int(str(place))]
        before = [rows[i] for i in sessions[tuple(row[c] for c in SESSION)] if rows[i]["turn"] < row["turn"]]
        history = [m for earlier in sorted(before, key=lambda r: r["turn"]) for m in _messages(earlier)]
        history += [{"role": "user", "content": text} for text in row["earlier"]]
        about = {"user": row["user"], "scenario": row["scenario"], "gold": int(label)}
        about["past"] = past[row["user"], row["scenario"]]
        cases.append(
            Case("/".join(str(row[c]) for c in TURN), row["request"], tuple(history), row["response"], **about)
        )
    return cases


def _messages(row: dict[Any, Any]) -> list[Message]:
    asked = [*row["earlier"], *([row["request"]] if isinstance(row["request"], str) else [])]
    return [*({"role": "user", "content": text} for text in asked), {"role": "assistant", "content": row["response"]}]


SATISFIED = 4
_WEAK = ("weak_weight", "weak_why")


@dataclass(frozen=True)
class WeightedCase(Case):
    """A case to learn from: `weight` scales its loss, `source` says where the label comes from."""

    weight: float = 1.0
    source: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.weight >= 0 and np.isfinite(self.weight)):
            raise DataError(Problem(f"case {self.case}", f"weight is {self.weight}, expected 0 or more"))


def lessons_of(corpus: Corpus) -> list[WeightedCase]:
    """Return every reply of a corpus that has a label, in the order of the corpus.

    Scores come first: good from 4 on, else bad. Of a corpus of weak labels (`perslib.systems.uxbench.signals.behavioural`) the
    weights are theirs, and the source is the signal that spoke loudest. Without a score one of `LABELS` decides.
    """
    cases: list[WeightedCase] = []
    weak, past = "weak_weight" in corpus.turns, _count_past(corpus)
    columns = [*TURN, "request", "earlier", "response", "score", *(_WEAK if weak else ())]
    rows = corpus.turns[columns].astype({"score": "Float64"}).assign(label=_labels(corpus)).to_dict("records")
    for (user, scenario, _), own in corpus.turns.groupby(SESSION, sort=False).indices.items():
        messages: list[Message] = []
        for row in (rows[i] for i in own):
            messages += [{"role": "user", "content": text} for text in row["earlier"]]
            gold, source, weight = _label(row, weak)
            request = row["request"]
            if gold and isinstance(request, str):
                name = "/".join(str(row[c]) for c in TURN)
                cases.append(
                    WeightedCase(
                        name, request, tuple(messages), row["response"], gold=gold, user=str(user),
                        scenario=str(scenario), weight=weight, source=source, past=past[user, scenario],
                    )
                )  # fmt: skip
            if isinstance(request, str):
                messages.append({"role": "user", "content": request})
            messages.append({"role": "assistant", "content": row["response"]})
    return cases


def _count_past(corpus: Corpus) -> dict[tuple[Any, Any], tuple[int, int]]:
    """Return by user and scenario how many of the user's scored replies elsewhere are good, and of how many."""
    given = histories(corpus)
    counts = given[COUNTS].to_numpy(int)
    keys = given[BLOCK].itertuples(index=False, name=None)
    return {key: (int(own[SATISFIED - 1 :].sum()), int(own.sum())) for key, own in zip(keys, counts)}


def _label(row: Mapping[Any, Any], weak: bool) -> tuple[int, str, float]:
    """Return the label (0 for none), source and weight of a turn."""
    if not pd.isna(row["score"]):
        gold = GOOD if row["score"] >= SATISFIED else BAD
        if not weak:
            return gold, "score", 1.0
        return gold, str(row["weak_why"]).split(",")[0], float(row["weak_weight"])
    if weak or pd.isna(row["label"]):
        return 0, "", 0.0
    return (GOOD if row["label"] in LABELS[GOOD] else BAD), str(row["label"]), 1.0


def select_labelled_cases(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with a label; an error unless there are good and bad ones."""
    known = [c for c in cases if c.gold is not None]
    good, bad = (sum(c.gold == side for c in known) for side in (GOOD, BAD))
    if not good or not bad:
        raise NotEnough(
            "A reward model is trained on good and bad replies; here there are {good} good and {bad} bad ones. "
            "Add ratings, likes and dislikes, or complaints and thanks.",
            good=good,
            bad=bad,
        )
    return known


def goods(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Return which of these labelled cases are good."""
    return np.array([c.gold == GOOD for c in cases], dtype=bool)


def case_weights(cases: Sequence[Case]) -> npt.NDArray[np.float64]:
    """Return how much each case counts: a lesson its weight, any other case 1."""
    return np.array([getattr(c, "weight", 1.0) for c in cases], dtype=float)


def owners(cases: Sequence[Case]) -> npt.NDArray[np.object_]:
    """Return whose case each is: the user's, or its own where nobody knows. What is held out is held out by owner."""
    return np.array([c.user or c.case for c in cases], dtype=object)
