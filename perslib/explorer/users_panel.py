"""All users of a corpus in one table: who they are as raters, what a memory says of them, and which to open."""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import FewTrainUsers, NotEnough
from perslib.explorer.controls import bar, button, div, draw, make_field, watch
from perslib.explorer.open_case import Looking, Taught
from perslib.explorer.past_turns import population
from perslib.explorer.user_panel import is_free
from perslib.judge import LearnedJudge, evaluate
from perslib.llm import compute
from perslib.memory import Statement
from perslib.report.show.words import controls_shown
from perslib.stats import with_gold
from perslib.text import mark, translate

#: What the table can be sorted by: column, and whether the largest comes first.
ORDERS = {
    "user": (mark("name"), False),
    "mean": (mark("strictest first"), False),
    "error": (mark("judged worst first"), True),
    "statements": (mark("most statements first"), True),
}


class Users(widgets.VBox):
    """Every user with a button that opens this user; words to search for leave those whose memory has them."""

    def __init__(self, looking: Looking):
        self.looking = looking
        self._built: dict[tuple[str, str], tuple[Statement, ...]] = {}
        options = [(translate(label), name) for name, (label, _) in ORDERS.items()]
        self.order = make_field(widgets.Dropdown, "Sort by", options=options)
        self.search = make_field(widgets.Text, "Search", "words in the statements of all memories", "24em")
        self.said, self.rows = widgets.HTML(), widgets.VBox()
        watch(looking, self.order, self.show)
        watch(looking, self.search, self.show)
        looking.observe(self.show, "system")
        super().__init__([bar(self.order, self.search), self.said, self.rows])
        self.show()

    def show(self, change: Any = None) -> None:
        """Fill the table anew."""
        looking = self.looking
        at_once = is_free(looking.system) and not isinstance(looking.memory_system(looking.system), Taught)
        name = looking.system if at_once else "measured"  # one that learns would learn for some users anew
        table = rater_table(looking.corpus)
        words = self.search.value.casefold().split()
        statements = {user: self._statements(user, name) for user in table["user"]}
        found = {
            user: [s for s in own if words and all(word in s.text.casefold() for word in words)]
            for user, own in statements.items()
        }
        table = table.assign(statements=table["user"].map({user: len(own) for user, own in statements.items()}))
        if words:
            table = table[table["user"].map(found).astype(bool)]
        table = table.sort_values(self.order.value, ascending=not ORDERS[self.order.value][1], kind="stable")
        self.rows.children = [
            bar(
                button(looking, "", partial(looking.open, user), description=controls_shown(user)),
                widgets.HTML(draw("rater", row=row, statements=found[user])),
            )
            for user, row in zip(table["user"], table.to_dict("records"))
        ]
        self.said.value = div(
            "caption",
            translate(
                "{n} of {users} users. Strictness: everybody's mean minus this user's. Error: mean distance of the learned "
                "judge's score from the user's.",
                n=len(table),
                users=len(statements),
            ),
        )

    def _statements(self, user: str, name: str) -> tuple[Statement, ...]:
        """What this memory says of a user, from all scenarios but the first that the user has."""
        looking, key = self.looking, (user, name)
        if key not in self._built:
            own = looking.scenarios.get(user, [])
            blocks = [looking.corpus.block(user, scenario) for scenario in own[:1]]
            found = [compute(partial(looking.memory_system(name).build, block)).statements for block in blocks]
            self._built[key] = found[0] if found else ()
        return self._built[key]


@cache
def rater_table(corpus: Corpus) -> pd.DataFrame:
    """Users by how they rate.

    Columns: user, replies, mean, strictness, error (NaN where nothing can be learned or the user has no history).
    """
    rated = corpus.turns.dropna(subset=["score"]).astype({"score": float})
    found = rated.groupby("user", sort=False)["score"].agg(replies="size", mean="mean")
    table = corpus.users[["user"]].merge(found.reset_index(), "left", on="user")
    table["strictness"] = population(corpus)[0] - table["mean"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewTrainUsers)  # said beside its verdicts
            judged = with_gold(evaluate(LearnedJudge(), corpus, progress=False), corpus)
    except NotEnough:
        return table.assign(error=float("nan"))
    error = (judged["raw"].astype(float) - judged["gold"].astype(float)).abs().groupby(judged["user"]).mean()
    return table.assign(error=table["user"].map(error))
