"""All users of a corpus in one table: who they are as raters, what a memory says of them, and which to open."""

from __future__ import annotations

import asyncio
import warnings
from functools import cache, partial
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import FewTrainUsers, NotEnough
from perslib.explorer.controls import RequestStatus, bar, button, div, make_field, render_macro, watch
from perslib.explorer.explorer_state import ExplorerState, Taught
from perslib.explorer.past_turns import population
from perslib.explorer.user_panel import needs_no_model
from perslib.judge import LearnedJudge, evaluate
from perslib.llm import Ask
from perslib.memory import Statement
from perslib.stats import with_gold
from perslib.text import mark, show_hidden, translate

#: What the table can be sorted by: column, and whether the largest comes first.
ORDERS = {
    "user": (mark("name"), False),
    "mean": (mark("strictest first"), False),
    "error": (mark("judged worst first"), True),
    "statements": (mark("most statements first"), True),
}

#: What a memory says of each user.
Statements = dict[str, tuple[Statement, ...]]


class UsersPanel(widgets.VBox):
    """Every user with a button that opens this user; words to search for leave those whose memory has them.

    The table is there at once. What the memories have and how the judge does are filled in when they are known.
    """

    def __init__(self, state: ExplorerState):
        self.state, self.table = state, rater_table(state.corpus)
        self._built: dict[str, Statements] = {}
        self._errors: pd.Series | None = None
        options = [(translate(label), name) for name, (label, _) in ORDERS.items()]
        self.order = make_field(widgets.Dropdown, "Sort by", options=options)
        self.search = make_field(widgets.Text, "Search", "words in the statements of all memories", "24em")
        self.message, self.rows = widgets.HTML(), widgets.VBox()
        self.reading, self.judging = RequestStatus(state), RequestStatus(state)
        watch(state, self.order, self.show)
        watch(state, self.search, self.show)
        state.observe(self.read, "system")
        super().__init__([bar(self.order, self.search), self.message, self.reading, self.judging, self.rows])
        self.read()
        judging = partial(asyncio.to_thread, judge_errors, state.corpus)
        self.judging.start(
            lambda ask: judging(), self._show_errors, translate("The judge scores all users …"), asks=False
        )

    @property
    def system(self) -> str:
        """The memory whose statements are shown: the chosen one, unless it asks a model or would learn for some users
        anew.
        """
        name, state = self.state.system, self.state
        return name if needs_no_model(name) and not isinstance(state.memory_system(name), Taught) else "measured"

    def read(self, change: Any = None) -> None:
        """Show the users, and read what the memory says of each."""
        name = self.system
        self.show()
        if name not in self._built:
            method = partial(self._statements, name)
            self.reading.start(method, partial(self._read, name), translate("The memories are read …"), asks=False)

    def _read(self, name: str, statements: Statements) -> None:
        self._built[name] = statements
        self.show()

    def _show_errors(self, errors: pd.Series) -> None:
        self._errors = errors
        self.show()

    def show(self, change: Any = None) -> None:
        """Fill the table anew with what is known."""
        state, words = self.state, self.search.value.casefold().split()
        statements, table = self._built.get(self.system), self.table
        counts = {user: len(own) for user, own in (statements or {}).items()}
        columns = {
            user: [s for s in own if words and all(word in s.text.casefold() for word in words)]
            for user, own in (statements or {}).items()
        }
        errors = table["user"].map({} if self._errors is None else self._errors).astype(float)
        table = table.assign(statements=table["user"].map(counts), error=errors)
        if words:
            table = table[table["user"].map(columns).map(bool)]
        table = table.sort_values(self.order.value, ascending=not ORDERS[self.order.value][1], kind="stable")
        unknown = {"statements": None} if statements is None else {}
        unknown |= {"error": None} if self._errors is None else {}
        self.rows.children = [
            bar(
                button(state, "", partial(state.open, row["user"]), description=show_hidden(row["user"])),
                widgets.HTML(render_macro("rater", row=row | unknown, statements=columns.get(row["user"], []))),
            )
            for row in table.to_dict("records")
        ]
        self.message.value = div(
            "caption",
            translate(
                "{n} of {users} users. Strictness: everybody's mean minus this user's. Error: mean distance of the learned "
                "judge's score from the user's.",
                n=len(table),
                users=len(self.table),
            ),
        )

    async def _statements(self, name: str, ask: Ask) -> Statements:
        """Return what this memory says of every user, from all scenarios but the first that the user has."""
        state, system = self.state, self.state.memory_system(name)
        statements: Statements = dict.fromkeys(self.table["user"], ())
        for user, own in state.scenarios.items():
            statements[user] = (await system.build(state.corpus.block(user, own[0]), ask)).statements
        return statements


def rater_table(corpus: Corpus) -> pd.DataFrame:
    """Describe users by how they rate. Columns: user, replies, mean, strictness."""
    rated = corpus.turns.dropna(subset=["score"]).astype({"score": float})
    means = rated.groupby("user", sort=False)["score"].agg(replies="size", mean="mean")
    table = corpus.users[["user"]].merge(means.reset_index(), "left", on="user")
    return table.assign(strictness=population(corpus)[0] - table["mean"])


@cache
def judge_errors(corpus: Corpus) -> pd.Series:
    """Return the learned judge's mean error by user; empty where nothing can be learned, without users who have no
    history.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewTrainUsers)  # said beside its verdicts
            judged = with_gold(evaluate(LearnedJudge(), corpus, progress=False), corpus)
    except NotEnough:
        return pd.Series(dtype=float)
    return (judged["raw"].astype(float) - judged["gold"].astype(float)).abs().groupby(judged["user"]).mean()
