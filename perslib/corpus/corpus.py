"""A corpus: users, their sessions and rated turns, and what surrounds them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus.block import Block, Cutter, Message
from perslib.corpus.scale import Scale, find_corpus_scale, gold_of
from perslib.corpus.schema import BLOCK, SESSION, coerce, duplicates, storable, tidy
from perslib.errors import DataError, Problem, UnknownName


def group_shuffle_split(users: Iterable[str], train: float = 0.2, seed: int = 42) -> dict[str, list[str]]:
    """Draw train and test users the way PersTurnBench does (section 4.1).

    The sorted users are permuted by NumPy's legacy generator; the first ⌈(1−train)·n⌉ are test users, the
    next ⌊train·n⌋ train users. The same users come out as from scikit-learn's GroupShuffleSplit.
    """
    if not 0 < train < 1:
        raise ValueError(f"train is the share of users to learn from, between 0 and 1; got {train}")
    names = sorted(set(users))
    order = np.random.RandomState(seed).permutation(len(names))
    # Rounded first, so that 0.8 × 5 is 4 users and not 4.000000001.
    n_test = math.ceil(round((1 - train) * len(names), 9))
    n_train = math.floor(round(train * len(names), 9))
    return {
        "train": sorted(names[i] for i in order[n_test : n_test + n_train]),
        "test": sorted(names[i] for i in order[:n_test]),
    }


FRAMES = ("users", "sessions", "turns", "events")
#: With fewer users, and no split of its own, a corpus is cross-fitted: in so many parts up to twenty users, else in fewer.
CROSSED_BELOW, MOST_FOLDS, FEWER_FOLDS = 50, 10, 5
#: What a user must have to be judged, by name → sessions in other scenarios.
HISTORY = {"needed": 1, "none": 0}
#: What of a user may be known when a reply is judged, by name.
EVIDENCE = ("scenarios", "conversations", "earlier")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Tidy frames of one data set; `perslib.corpus.schema` documents their columns.

    The order of rows is the order of the data: turns in the order of the conversation, sessions in the order of their
    source. `extras` are further frames of the corpus (the synthetic world stores its truth there). `meta` has facts
    about the data: source, splits, irregularities at import.
    """

    name: str
    language: str
    users: pd.DataFrame
    sessions: pd.DataFrame
    turns: pd.DataFrame
    events: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["user", "at", "kind", "content"]))
    extras: dict[str, pd.DataFrame] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in FRAMES:
            object.__setattr__(self, name, coerce(getattr(self, name), name, f"{self.name}: {name}"))
        extras = {name: tidy(frame.reset_index(drop=True)) for name, frame in self.extras.items()}
        object.__setattr__(self, "extras", extras)
        self._check_keys()

    def with_evidence(self, evidence: str) -> Corpus:
        """Return the corpus with other evidence for judges: which other sessions of a user they know.

        "scenarios" are the user's other scenarios; "conversations" are all others than the judged one; "earlier" are
        those before it. For the last two, each conversation becomes a scenario, and its original scenario is stored in
        `family`.
        """
        if evidence not in EVIDENCE:
            raise UnknownName("evidence", evidence, EVIDENCE)
        if evidence == self.evidence:
            return self
        frames = {name: getattr(self, name) for name in ("sessions", "turns", "events")} | self.extras
        meta = {k: v for k, v in self.meta.items() if k not in ("evidence", "families")}
        many = self.sessions["scenario"].nunique() > 1
        for name, own in frames.items():
            if "family" in own:
                own = own.assign(scenario=own["family"]).drop(columns="family")
            if evidence != "scenarios" and {"scenario", "session"} <= {*own}:
                alone = own["scenario"] + "/" + own["session"] if many else own["session"]
                own = own.assign(family=own["scenario"], scenario=alone)
            frames[name] = own
        if evidence != "scenarios":
            meta["evidence"] = evidence
            meta |= {"families": meta.pop("scenarios")} if "scenarios" in meta else {}
        elif "families" in self.meta:
            meta["scenarios"] = self.meta["families"]
        frames_by_name = {name: frames.pop(name) for name in ("sessions", "turns", "events")}
        return Corpus(self.name, self.language, self.users, **frames_by_name, extras=frames, meta=meta)

    @property
    def evidence(self) -> str:
        """Return which sessions of a user judges know: see `with_evidence`."""
        return str(self.meta.get("evidence", EVIDENCE[0]))

    def _check_keys(self) -> None:
        problems = []
        for name in ("users", "sessions", "turns"):
            for _, row in duplicates(getattr(self, name), name).iterrows():
                key = " / ".join(str(row[c]) for c in ("user", "scenario", "session", "turn") if c in row)
                problems.append(Problem(f"{self.name}: {name}", f"{key} occurs more than once"))
        session_keys = pd.MultiIndex.from_frame(self.sessions[SESSION])
        turn_keys = pd.MultiIndex.from_frame(self.turns[SESSION]).unique()
        for key in turn_keys.difference(session_keys):
            problems.append(Problem(f"{self.name}: turns", f"session {' / '.join(key)} is not in sessions"))
        for user in pd.Index(self.sessions["user"].unique()).difference(pd.Index(self.users["user"])):
            problems.append(Problem(f"{self.name}: sessions", f"user {user} is not in users"))
        off = self.turns[self.turns["score"].notna() & ~self.turns["score"].between(1, 5)]
        for row in off.head(20).itertuples():
            place = f"{self.name}: turns {row.user} / {row.scenario} / {row.session} / {row.turn}"
            problems.append(Problem(place, f"score is {row.score}, expected 1–5"))
        if problems:
            raise DataError(problems)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without values that were computed from them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def __repr__(self) -> str:
        n_users, n_sessions, n_turns = len(self.users), len(self.sessions), len(self.turns)
        return f"Corpus({self.name}, {self.language}: {n_users} users, {n_sessions} sessions, {n_turns} turns)"

    # -- looking things up ---------------------------------------------------------------------------

    @cached_property
    def scenarios(self) -> list[str]:
        """Return the task families in the order of the data set."""
        declared: list[str] = self.meta.get("scenarios", [])
        seen = list(self.sessions["scenario"].unique())
        return [s for s in declared if s in seen] + [s for s in seen if s not in declared]

    @cached_property
    def _cutter(self) -> Cutter:
        return Cutter(self.sessions, self.turns, self.events, self.scenarios, self.evidence == "earlier")

    @cached_property
    def _places(self) -> dict[tuple[str, ...], int]:
        return {key: i for i, key in enumerate(self.sessions[SESSION].itertuples(index=False, name=None))}

    @cached_property
    def _profiles(self) -> dict[str, dict[str, Any]]:
        return dict(zip(self.users["user"], self.users["profile"]))

    @cached_property
    def scale(self) -> Scale:
        """Return the scale of people's ratings."""
        return find_corpus_scale(self.meta)

    @property
    def gold(self) -> pd.Series:
        """Return the gold score of each turn, as precise as the rating; missing if the user did not rate the turn."""
        return gold_of(self.turns, self.scale)

    def profile(self, user: str) -> dict[str, Any]:
        """Return what the users state about themselves."""
        if user not in self._profiles:
            raise UnknownName("user", user, self._profiles)
        return self._profiles[user]

    def task(self, user: str, scenario: str, session: str) -> str:
        """Return the task that the user was given for a conversation; empty if there was none."""
        return str(self._session(user, scenario, session)["task"].fillna("").iloc[0])

    def messages(self, user: str, scenario: str, session: str) -> list[Message]:
        """Return the messages of the whole conversation."""
        trailing = self._session(user, scenario, session)["trailing"].iloc[0]
        spoken = [message for turn in self._cutter.iterate_messages(user, scenario, session) for message in turn]
        return spoken + [{"role": "user", "content": text} for text in trailing]

    def _session(self, *key: str) -> pd.DataFrame:
        """Return the row of one session."""
        if key not in self._places:
            raise UnknownName("session", "/".join(key), self._session_names(key[0]))
        return self.sessions.iloc[[self._places[key]]]

    def _session_names(self, user: str) -> list[str]:
        own = self.sessions[self.sessions["user"] == user]
        return [f"{user}/{a}/{b}" for a, b in zip(own["scenario"], own["session"])]

    # -- blocks and splits ---------------------------------------------------------------------------

    def block(self, user: str, scenario: str) -> Block:
        """Return the user's other scenarios as evidence and this scenario's replies as targets, without labels."""
        profile = self.profile(user)
        if scenario not in self.scenarios:
            raise UnknownName("scenario", scenario, self.scenarios)
        return self._cutter.block(user, scenario, profile)

    def with_history(self, history: str) -> Corpus:
        """Return the corpus with another rule for users without history.

        "needed" judges users with sessions in other scenarios only; "none" judges all. A user without another scenario
        is then judged without evidence.
        """
        if history not in HISTORY:
            raise UnknownName("history", history, HISTORY)
        if HISTORY[history] == self._least:
            return self
        return replace(self, meta={**self.meta, "min_history_sessions": HISTORY[history]})

    @property
    def _least(self) -> int:
        return int(self.meta.get("min_history_sessions", HISTORY["needed"]))

    def block_ids(
        self, users: Iterable[str] | None = None, min_history_sessions: int | None = None
    ) -> list[tuple[str, str]]:
        """Return the (user, scenario) pairs with a target session and enough sessions in other scenarios.

        The required number is `min_history_sessions`, otherwise that of `with_history`, otherwise one. Users are sorted
        by name, scenarios have the order of the data set, as in PersTurnBench.
        """
        counts = self.sessions.groupby(BLOCK).size()
        total = counts.groupby("user").sum()
        wanted = sorted(set(total.index) if users is None else set(users) & set(total.index))
        least = self._least if min_history_sessions is None else min_history_sessions
        others = total.reindex(counts.index, level="user") - counts
        if self.evidence == "earlier":  # one session a scenario
            first = self.sessions.drop_duplicates(BLOCK)
            others = first.assign(n=first.groupby("user").cumcount()).set_index(BLOCK)["n"]
        place = {scenario: i for i, scenario in enumerate(self.scenarios)}
        own = others[others >= least].reset_index().assign(place=lambda x: x["scenario"].map(place))
        own = own[own["user"].isin(wanted)].sort_values(["user", "place"], kind="stable")
        return list(zip(own["user"], own["scenario"]))

    def blocks(self, split: str | None = None, min_history_sessions: int | None = None) -> Iterator[Block]:
        """Yield the blocks of all users, or of the users of a split ("train", "test", …)."""
        for user, scenario in self.block_ids(self.users_of(split), min_history_sessions):
            yield self.block(user, scenario)

    def split(self) -> dict[str, list[str]]:
        """Return the users to learn from and the users to judge; no user is in both, but of a corpus that is `cross_fitted` all are.

        The split of the data set is used if it has one. Otherwise users that have a block are split at random
        (`group_shuffle_split`).
        """
        if shipped := self.meta.get("splits"):
            return {part: list(names) for part, names in shipped.items()}
        return group_shuffle_split({user for user, _ in self.block_ids()} or set(self.users["user"]))

    def cross_fitted(self) -> Corpus:
        """Return the corpus with every user among those to learn from and those to judge, if it has few and no split of its own.

        A judge that learns is then taught for each of `folds` by the users of all others.
        """
        users = sorted({user for user, _ in self.block_ids()})
        if self.meta.get("splits") or not 2 < len(users) < CROSSED_BELOW:
            return self
        return replace(self, meta={**self.meta, "splits": {"train": users, "test": users}, "crossed": True})

    @property
    def folds(self) -> list[list[str]]:
        """The users to judge in parts, where each part is judged by what all others taught; none where the split is one of users."""
        if not self.meta.get("crossed"):
            return []
        users = self.split()["test"]
        order, most = np.random.default_rng(0).permutation(len(users)), MOST_FOLDS if len(users) <= 20 else FEWER_FOLDS
        return [[users[i] for i in part] for part in np.array_split(order, min(len(users), most))]

    @property
    def lessons(self) -> list[tuple[list[str], list[str]]]:
        """The users to learn from and those to judge by it: one pair, or one a fold."""
        split = self.split()
        train, test = split.get("train", []), split.get("test", list(self.users["user"]))
        return [([user for user in train if user not in fold], fold) for fold in self.folds] or [(train, test)]

    def users_of(self, split: str | None) -> list[str] | None:
        """Return the users of a split, or None (all users) if no split is named."""
        parts = {} if split is None else self.split()
        if split is not None and split not in parts:
            raise UnknownName("split", split, parts)
        return parts[split] if split is not None else None

    # -- the corpus as a whole -----------------------------------------------------------------------

    def statistics(self) -> pd.DataFrame:
        """Return the rows of PersTurnBench's Table 5: a row per statistic, `value` is a number."""
        if self.evidence != EVIDENCE[0]:
            return self.with_evidence(EVIDENCE[0]).statistics()
        sessions, turns = self.sessions, self.turns
        labelled = turns["score"].dropna().astype(int)
        unanswered = turns["earlier"].map(len).sum() + sessions["trailing"].map(len).sum()
        nan, participants, conversations = float("nan"), len(self.users), len(sessions)
        value = {
            "participants": participants,
            "task families": len(self.scenarios),
            "conversations": conversations,
            "user turns": int(turns["request"].notna().sum() + unanswered),
            "assistant turns": len(turns),
            "assistant turns with satisfaction labels": len(labelled),
            "conversations per participant": conversations / participants if participants else nan,
            "assistant turns per conversation": len(turns) / conversations if conversations else nan,
            "mean satisfaction score": labelled.mean(),
            "satisfied turns (4–5)": int((labelled >= 4).sum()),
            "dissatisfied or neutral turns (1–3)": int((labelled <= 3).sum()),
        }
        counts = sessions["scenario"].value_counts()
        value |= {f"conversations: {one}": int(counts.get(one, 0)) for one in self.scenarios}
        return pd.DataFrame(list(value.items()), columns=["statistic", "value"])

    def of_users(self, users: Iterable[str]) -> Corpus:
        """Return the corpus with these users only."""
        if isinstance(users, str):
            raise TypeError(f"of_users takes a list of users; for a single one write of_users([{users!r}])")
        keep = frozenset(users)
        part = self._parts.get(keep)
        if part is None:
            for user in keep:
                self.profile(user)
            part = self._take_users(keep)
            self._parts.clear()  # one is kept: judges learn from the same users one after another
            self._parts[keep] = part
        return part

    @cached_property
    def _parts(self) -> dict[frozenset[str], Corpus]:
        return {}

    def _take_users(self, keep: frozenset[str]) -> Corpus:
        def own(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[frame["user"].isin(keep)].reset_index(drop=True) if "user" in frame else frame

        meta = dict(self.meta)
        if splits := meta.get("splits"):
            meta["splits"] = {part: [u for u in names if u in keep] for part, names in splits.items()}
        frames = {frame: own(getattr(self, frame)) for frame in FRAMES}
        extras = {k: own(v) for k, v in self.extras.items()}
        return Corpus(self.name, self.language, **frames, extras=extras, meta=meta)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the data.

        It depends neither on the order of columns nor on how the data are stored; empty columns do not count.
        """
        sha = hashlib.sha256(self.language.encode())
        frames = {name: getattr(self, name) for name in FRAMES} | self.extras
        for name, frame in sorted(frames.items()):
            stored = storable(frame, name)
            for column in sorted(stored.columns):
                missing = stored[column].isna() if stored[column].dtype != object else [False] * len(stored)
                cells = [None if gone else v for v, gone in zip(stored[column].tolist(), missing)]
                if any(cell not in (None, ()) for cell in cells):
                    text = json.dumps([name, str(column), cells], ensure_ascii=False, default=str)
                    sha.update(text.encode("utf-8", "surrogatepass"))
        return sha.hexdigest()
