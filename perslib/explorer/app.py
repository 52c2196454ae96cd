"""The explorer put together: what is open at the top, and a tab for each thing to do with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import ipywidgets as widgets

from perslib.corpus import Corpus, corpus_names, load
from perslib.errors import PerslibError
from perslib.explorer.change_panel import EditPanel
from perslib.explorer.compare_panel import compare
from perslib.explorer.controls import (
    RequestStatus,
    bar,
    button,
    columns,
    div,
    failure,
    heading,
    line,
    make_field,
    watch,
)
from perslib.explorer.explorer_state import ExplorerState
from perslib.explorer.judge_panel import JudgePanel
from perslib.explorer.rate_panel import RatePanel
from perslib.explorer.user_panel import (
    borrow,
    build_asking,
    build_now,
    make_user_panel,
    needs_no_model,
    not_built,
    system_name,
    systems,
)
from perslib.explorer.users_panel import UsersPanel
from perslib.llm import Backbone, backbone
from perslib.memory import Draft, UserMemory
from perslib.report.page.page import begin
from perslib.report.show.html import stylesheet
from perslib.report.show.words import name_of
from perslib.text import LANGUAGES, show_hidden, translate, using_language


@cache
def style() -> str:
    """Return the styles of the explorer and of what reports show, for one HTML widget."""
    own = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return f"{stylesheet()}<style>{own}</style>"


def explore(
    corpus: str | Corpus = "sample/zh", model: str | Backbone = "embedded", language: str = "zh"
) -> widgets.Widget:
    """Return the explorer of a corpus; `model` answers what is asked, `language` is that of the interface.

    As an app it opens the user that its address names: `?user=u007`.
    """
    opened = corpus if isinstance(corpus, Corpus) else load(corpus)
    made = Explorer(opened, backbone(model) if isinstance(model, str) else model, language)
    (user,) = parse_qs(os.environ.get("QUERY_STRING", "")).get("user", [""])[:1]  # Voilà sets it
    if user in made.state.scenarios:
        made.state.open(user)
    return made


class Explorer(widgets.VBox):
    """The whole interface; changing the corpus or the language builds it anew."""

    def __init__(self, corpus: Corpus, model: Backbone, language: str):
        super().__init__()
        self.add_class("pl-explorer")
        self.model = model
        self.begin_with(corpus, language)

    def begin_with(self, corpus: Corpus, language: str) -> None:
        """Show this corpus in this language: all of it, or nothing is changed."""
        begin(language=language)
        with using_language(language):  # a callback of the interface before may be under way in another
            state = ExplorerState(corpus, self.model, language)
            children = [widgets.HTML(style()), CasePanel(self, state), Tabs(state)]
        self.state, self.children = state, children


class CasePanel(widgets.VBox):
    """Corpus, user, target scenario and memory: what everything below is about."""

    def __init__(self, explorer: Explorer, state: ExplorerState):
        self.explorer, self.state = explorer, state
        names = corpus_names()
        self._named = state.corpus.name if state.corpus.name in names else None
        here = [] if self._named else [(state.corpus.name, None)]
        self.corpus = make_field(widgets.Dropdown, "Corpus", width="auto", options=[*here, *((n, n) for n in names)])
        self.language = make_field(widgets.Dropdown, "Language", width="auto", options=list(map(_language, LANGUAGES)))
        users = [u for u in state.corpus.users["user"] if u in state.scenarios]
        self.user = make_field(widgets.Dropdown, "User", width="auto", options=[(show_hidden(u), u) for u in users])
        self.scenario = make_field(widgets.Dropdown, "Target scenario", width="auto")
        self.system = make_field(widgets.Dropdown, "Memory", width="auto")
        train = set(state.corpus.split().get("train", []))
        self.others = [user for user in users if user not in train]
        self.whose = make_field(widgets.Dropdown, "Whose memory", width="auto")
        self.build = button(state, "Build", self._build, "magic", "let the model write this memory")
        self.asking, self.message, self.failed = RequestStatus(state), widgets.HTML(), widgets.HTML()
        self._show_choices()
        self._follow()
        watch(state, self.user, state.open)
        watch(state, self.scenario, lambda scenario: state.open(state.user, scenario))
        watch(state, self.system, self._choose_system)
        watch(state, self.whose, self._borrow)
        for choice in (self.corpus, self.language):
            watch(state, choice, self._begin_anew)
        state.observe(self._follow, "opened")
        state.observe(lambda c: self._tell(c["new"]), "failed")
        super().__init__(
            [
                bar(self.corpus, self.user, self.scenario, self.language),
                *(bar(self.system, self.whose, self.build, self.asking), self.message, self.failed),
            ]
        )
        self.add_class("pl-opened")

    def _show_choices(self) -> None:
        with self.state.pause_field_events():
            self.corpus.value, self.language.value = self._named, self.state.language

    def _follow(self, change: Any = None) -> None:
        state = self.state
        with state.pause_field_events():
            self.user.value = state.user
            self.scenario.options = [(name_of(s), s) for s in state.scenarios[state.user]]
            self.scenario.value = state.scenario
            self.system.options = [(system_name(n), n) for n in systems()]
            self.system.value = state.system
        self._memory()

    def _tell(self, error: Exception | None) -> None:
        self.failed.value = "" if error is None else line(failure(error), "failed")

    def _choose_system(self, name: str) -> None:
        self.state.system = name
        self._memory()

    def _begin_anew(self, _: Any) -> None:
        """Build the explorer of the corpus and language chosen; where that fails, what is still shown is chosen again."""
        name = self.corpus.value
        try:
            corpus = self.state.corpus if name in (None, self._named) else load(name)
            self.explorer.begin_with(corpus, self.language.value)
        except Exception:
            begin(language=self.state.language)
            self._show_choices()
            raise

    def _memory(self) -> None:
        """Build what can be built without a model; else wait until Build is pressed."""
        self.asking.clear()
        state, at_once = self.state, needs_no_model(self.state.system)
        others = [user for user in self.others if user != state.user] if state.system == "preferences" else []
        with state.pause_field_events():
            self.whose.options = [(translate("this user's own"), ""), *((show_hidden(user), user) for user in others)]
            self.whose.value = ""
        self.whose.layout.display = None if others else "none"
        self.build.layout.display = "none" if at_once else None
        self.message.value = "" if at_once else div("empty", not_built(state.system))
        try:
            if at_once and state.needs_fit(state.system):
                self._build()
            elif at_once:
                state.draft = Draft.of(build_now(state, state.system))
        except PerslibError as error:
            self.asking.fail(error)

    def _borrow(self, user: str) -> None:
        """Put another user's preferences in the place of this one's."""
        if user:
            self.state.draft = Draft.of(borrow(self.state, user))
        else:
            self._memory()

    def _build(self) -> None:
        state, opened, system = self.state, self.state.opened, self.state.system

        def show_memory(memory: UserMemory) -> None:
            if (state.opened, state.system) == (opened, system):
                state.draft = Draft.of(memory)
                self.message.value = ""

        build_asking(self.asking, system, show_memory)


class Tabs(widgets.Tab):
    """One panel a tab; a panel is made when its tab is first opened."""

    def __init__(self, state: ExplorerState):
        panels: list[tuple[str, Callable[[ExplorerState], widgets.Widget]]] = [
            (translate("The user"), make_user_panel),
            (translate("Judge and change"), judge_and_change),
            (translate("Compare"), compare),
            (translate("Rate it yourself"), RatePanel),
            (translate("All users"), UsersPanel),
        ]
        self.state, self.panels = state, [make for _, make in panels]
        places = [widgets.VBox() for _ in panels]
        super().__init__(places, selected_index=0, titles=[title for title, _ in panels])
        self.observe(state.report_errors(lambda c: self._turn_to(c["new"])), "selected_index")
        self._turn_to(0)

    def _turn_to(self, place: int | None) -> None:
        # Rating oneself is the one thing done without seeing how the user scored elsewhere.
        self.state.past_in_view = place is not None and self.panels[place] is not RatePanel
        if place is not None and not self.children[place].children:
            self.children[place].children = [self.panels[place](self.state)]


def judge_and_change(state: ExplorerState) -> widgets.Widget:
    """Return the reply and its verdict beside the memory that it comes from."""
    judging, change = JudgePanel(state), EditPanel(state)
    return columns([judging], [judging.message, heading("Memory (editable)"), change])


def _language(language: str) -> tuple[str, str]:
    """Return a language under its own name."""
    with using_language(language):
        return translate("English"), language
