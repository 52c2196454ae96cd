"""What a study is told by its parameters: how much of a corpus to put before a model, and lists in one text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from perslib.corpus import Corpus
from perslib.corpus.corpus import group_shuffle_split
from perslib.errors import DataError, NoModel, NotEnough, Problem
from perslib.judge import JudgeSettings, asks_model
from perslib.judge.taught import LEARN_FROM
from perslib.llm import Backbone
from perslib.llm.tokens import count_tokens
from perslib.text import translate

#: Tokens of replies that a small model reads at a first look, once for each judge.
LOOK_TOKENS = 1300
#: Where whole sessions are rated, one judgment in so many is of a session.
A_SESSION = 5
#: Judges that ask typed questions of a model that takes them.
TYPED = ("decide", "decide + measured")
#: From fewer judged replies no correlation or share is shown.
FEWEST_REPLIES = 30
#: Test users that page 01 judges, if it is not told to judge all: more narrow the intervals by little.
MOST_TEST_USERS = 150


@dataclass(frozen=True)
class StudyScope:
    """What a study asks of its backbone."""

    turns: int | None
    """Judgments asked of each judge; None is all."""
    window: int
    """Messages shown before the reply."""
    evidence: Literal["published", "full"]
    budget: int
    """Tokens of evidence that a memory is built from, where the evidence is full."""
    is_first_look: bool
    """Whether this shows the way and measures nothing."""

    @property
    def is_short(self) -> bool:
        """Whether the prompts are those for a small model."""
        return self.evidence == "full"

    def make_settings(self, language: str, *, written: bool = False) -> JudgeSettings:
        """Return how the judges are asked."""
        return JudgeSettings(language, written, window=self.window, use_likeliest_digit=self.is_short)

    def parts(self, corpus: Corpus) -> tuple[StudyScope, StudyScope]:
        """Return the scopes for replies and for whole sessions: where these are rated, one judgment in `A_SESSION` is
        of a session.
        """
        if self.turns is None or corpus.sessions["satisfaction"].isna().all():
            return self, self
        sessions = self.turns // A_SESSION
        return replace(self, turns=self.turns - sessions), replace(self, turns=sessions)

    @property
    def memory(self) -> dict[str, Any]:
        """The part that a memory is built with."""
        most = 400 if self.is_short else None
        return {"evidence": self.evidence, "budget": self.budget, "max_tokens": most}


def choose_scope(
    model: Backbone | None, limit: int, usual: int = 300, look: int = 3, corpus: Corpus | None = None
) -> StudyScope:
    """Return what `limit` means for a backbone: that many replies, -1 all of them, 0 what suits the backbone.

    How the backbone is asked is no matter of `limit`. Most are asked as published: a window of five messages, the
    published evidence, and `usual` replies where nothing else is said. One that is asked briefly (see `prompts` in
    backbones.toml) is shown the request alone before each reply, and a memory from little evidence; where nothing
    else is said it gets a first look of `look` replies, two where those of the `corpus` are long. That is for a small
    model on a processor that is free: a minute or two. `perslib report --dry-run` says how long it will be. Without a
    model, where none of the judges asks one, 0 is `usual`.
    """
    is_short, budget = model is not None and model.entry.is_asked_briefly, 600
    if model is not None and is_short and corpus is not None and len(corpus.turns):
        languages = model.entry.languages
        replies = "\n".join(corpus.turns["response"].head(200))
        here = max(1, count_tokens(replies, languages))
        look = max(min(look, 2), min(look, LOOK_TOKENS * min(200, len(corpus.turns)) // here))
        # Of tokens as evidence is counted, whatever the model reads.
        budget = budget * count_tokens(replies) // here
    turns = {0: look if is_short else usual, -1: None}.get(limit, limit)
    if is_short:
        return StudyScope(turns, 1, "full", budget, limit == 0)
    return StudyScope(turns, 5, "published", 6000, False)


def name_judges(named: str, model: Backbone | None, usual: str) -> str:
    """Return the names of judges in a parameter, else the usual ones with those that ask typed questions, where the model
    takes them; where it writes no texts these alone, beside judges that ask no model.
    """
    if named or model is None or not model.abilities.decisions:
        return named or usual
    names = [name for name in split_names(usual) if model.writes_texts or not asks_model(name)]
    return ", ".join([*names, *TYPED])


def require_model(model: Backbone | None) -> Backbone:
    """Return the model; raise NoModel where a study has none."""
    if model is None:
        raise NoModel("No model was asked here. `perslib report … -b NAME` asks one that `backbones.toml` names.")
    return model


def require_replies(replies: int) -> None:
    """Raise NotEnough where fewer replies were judged than a correlation needs."""
    if replies < FEWEST_REPLIES:
        raise NotEnough(
            "Fewer than {least} judged replies have a score: too few for a correlation, so agreement with people is "
            "not shown.",
            least=FEWEST_REPLIES,
        )


def split_names(text: str) -> list[str]:
    """Return what a text lists, separated by commas: `"learned, nearest"` → learned and nearest; nothing for an empty
    one.
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def whole_numbers(text: str, parameter: str, remedy: str = "") -> list[int]:
    """Return the numbers, 1 or more, that a parameter's text lists, in order, each once."""
    names = split_names(text)
    if not names or not all(part.isdecimal() and int(part) for part in names):
        raise DataError(Problem(parameter, f"is {text!r}, expected whole numbers such as 5, 10, 20"), remedy)
    return sorted({int(part) for part in names})


def sample_test_users(corpus: Corpus, limit: int = 0, seed: int = 42) -> tuple[Corpus, list[str]]:
    """Return the corpus with at most `MOST_TEST_USERS` test users, drawn at random, and sentences on what was drawn and on cross-fitting.

    A negative `limit` keeps all of them.
    """
    split, notes = corpus.split(), list[str]()
    train, test = split.get("train", []), list(split.get("test", corpus.users["user"]))
    if corpus.folds:
        notes.append(
            translate(
                "The data have no split, and {users} users are few: judges that learn are taught {folds} times, and each user is judged by what "
                "others taught. Pages that need one split learn from {train} of them and judge {test}.",
                users=len(test),
                folds=len(corpus.folds),
                **{part: len(names) for part, names in group_shuffle_split(test).items()},
            )
        )
    if limit >= 0 and len(test) > MOST_TEST_USERS:
        drawn = set(np.random.default_rng(seed).choice(test, MOST_TEST_USERS, replace=False))
        notes.append(
            translate(
                "{drawn:,} of {all:,} test users, drawn at random, are judged here; `limit` −1 judges all of them.",
                drawn=MOST_TEST_USERS,
                all=len(test),
            )
        )
        test = [user for user in test if user in drawn]
        fewer = corpus.of_users([*train, *test])
        corpus = replace(fewer, meta={**corpus.meta, "splits": {**split, "train": list(train), "test": test}})
    if (turns := int(corpus.turns["user"].isin(set(train)).sum())) > LEARN_FROM:
        notes.append(
            translate(
                "Judges that learn do so from about {taken:,} of {turns:,} turns of train users, those of users drawn at random.",
                taken=LEARN_FROM,
                turns=turns,
            )
        )
    return corpus, notes
