"""The explorer put together: what is open at the top, and a tab for each thing to do with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from perslib.corpus import Corpus, corpus_names, load
from perslib.errors import PerslibError
from perslib.explorer.annotate import annotate
from perslib.explorer.asking import Asking
from perslib.explorer.change import Change
from perslib.explorer.compare import compare
from perslib.explorer.judging import Judging
from perslib.explorer.looking import Looking
from perslib.explorer.see import build_free, section, see, system_name, systems
from perslib.explorer.words import say
from perslib.llm import Backbone, backbone
from perslib.memory import Draft, UserMemory
from perslib.report.controls import controls_shown
from perslib.report.page import begin
from perslib.report.show import escape, stylesheet
from perslib.report.words import LANGUAGES, name_of, word


@cache
def style() -> str:
    """The styles of the explorer and of what reports show, for one HTML widget."""
    own = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return f"{stylesheet()}<style>{own}</style>"


def explore(
    corpus: str | Corpus = "sample/zh", model: str | Backbone = "embedded", language: str = "zh"
) -> widgets.Widget:
    """The explorer of a corpus; `model` answers what is asked, `language` is that of the interface."""
    opened = corpus if isinstance(corpus, Corpus) else load(corpus)
    return Explorer(opened, backbone(model) if isinstance(model, str) else model, language)


class Explorer(widgets.VBox):
    """The whole interface; changing the corpus or the language builds it anew."""

    def __init__(self, corpus: Corpus, model: Backbone, language: str):
        super().__init__()
        self.add_class("pl-explorer")
        self.model = model
        self.begin_with(corpus, language)

    def begin_with(self, corpus: Corpus, language: str) -> None:
        """Show this corpus in this language."""
        begin(language=language)
        self.looking = Looking(corpus, self.model, language)
        self.children = [widgets.HTML(style()), Opened(self), Tabs(self.looking)]


class Opened(widgets.VBox):
    """Corpus, user, target scenario and memory: what everything below is about."""

    def __init__(self, explorer: Explorer):
        self.explorer, self.looking = explorer, explorer.looking
        looking, language = self.looking, self.looking.language
        names = corpus_names()
        named = looking.corpus.name if looking.corpus.name in names else None
        here = [] if named else [(looking.corpus.name, None)]
        self.corpus = _dropdown("corpus", language, [*here, *((n, n) for n in names)], named)
        self.language = _dropdown(
            "language", language, [(word("language_name", n), n) for n in LANGUAGES], language
        )
        self.user = _dropdown("user", language, _users(looking), looking.user)
        self.scenario = _dropdown("scenario", language, [], None)
        self.system = _dropdown("memory", language, [], None)
        self.build = widgets.Button(
            description=say("build", language), tooltip=say("build_tip", language), icon="magic"
        )
        self.asking, self.said = Asking(looking), widgets.HTML()
        self._follow()
        self.user.observe(lambda c: looking.open(c["new"]), "value")
        self.scenario.observe(lambda c: self._choose_scenario(c["new"]), "value")
        self.system.observe(lambda c: self._choose_system(c["new"]), "value")
        self.corpus.observe(lambda c: self._choose_corpus(c["new"]), "value")
        self.language.observe(lambda c: explorer.begin_with(looking.corpus, c["new"]), "value")
        self.build.on_click(lambda _: self._build())
        looking.observe(self._follow, "opened")
        super().__init__(
            [
                widgets.HBox([self.corpus, self.user, self.scenario, self.language]).add_class("pl-bar"),
                widgets.HBox([self.system, self.build, self.asking]).add_class("pl-bar"),
                self.said,
            ]
        )
        self.add_class("pl-opened")

    def _follow(self, change: Any = None) -> None:
        looking = self.looking
        self.user.value = looking.user
        own = [(name_of(s, looking.language), s) for s in looking.scenarios_of(looking.user)]
        self._filling = True
        try:
            self.scenario.options, self.scenario.value = own, looking.scenario
            self.system.options = [(system_name(n, looking.language), n) for n in systems()]
            self.system.value = looking.system
        finally:
            self._filling = False
        self._memory()

    def _choose_scenario(self, scenario: str | None) -> None:
        if not self._filling and scenario is not None:
            self.looking.open(self.looking.user, scenario)

    def _choose_system(self, name: str | None) -> None:
        if not self._filling and name is not None:
            self.looking.system = name
            self._memory()

    def _choose_corpus(self, name: str | None) -> None:
        if name is None:
            return
        try:
            self.explorer.begin_with(load(name), self.looking.language)
        except PerslibError as error:
            self.asking.fail(error)

    def _memory(self) -> None:
        """Build what can be built without a model; else wait until Build is pressed."""
        self.asking.clear()
        try:
            at_once = build_free(self.looking)
        except PerslibError as error:
            self.asking.fail(error)
            return
        self.build.layout.display = "none" if at_once else None
        name = system_name(self.looking.system, self.looking.language)
        self.said.value = "" if at_once else _hint(say("not_built", self.looking.language, memory=name))

    def _build(self) -> None:
        system, block = self.looking.memory_system(), self.looking.block

        def done(memory: UserMemory) -> None:
            self.looking.draft = Draft.of(memory)
            self.said.value = ""

        self.asking.start(lambda: system.build(block), done, say("building", self.looking.language))


class Tabs(widgets.Tab):
    """One panel a tab; a panel is made when its tab is first opened."""

    def __init__(self, looking: Looking):
        panels: list[tuple[str, Callable[[Looking], widgets.Widget]]] = [
            ("tab_see", see),
            ("tab_judge", judge_and_change),
            ("tab_compare", compare),
            ("tab_annotate", annotate),
        ]
        self.looking, self.panels = looking, [make for _, make in panels]
        self.made: dict[int, widgets.Widget] = {}
        places = [widgets.VBox() for _ in panels]
        super().__init__(places, selected_index=0, titles=[say(key, looking.language) for key, _ in panels])
        self.observe(lambda c: self._turn_to(c["new"]), "selected_index")
        self._turn_to(0)

    def _turn_to(self, place: int | None) -> None:
        # Rating oneself is the one thing done without seeing how the user scored elsewhere.
        self.looking.past_in_view = place is not None and self.panels[place] is not annotate
        if place is not None and place not in self.made:
            self.made[place] = self.panels[place](self.looking)
            self.children[place].children = [self.made[place]]


def judge_and_change(looking: Looking) -> widgets.Widget:
    """The reply and its verdict beside the memory that it comes from."""
    judging, change = Judging(looking), Change(looking)
    right = widgets.VBox([judging.said, section("memory_and_edits", looking), change])
    return widgets.HBox([judging.add_class("pl-left"), right.add_class("pl-right")]).add_class("pl-columns")


def _users(looking: Looking) -> list[tuple[str, str]]:
    return [(controls_shown(u), u) for u in looking.corpus.users["user"] if u in looking._scenarios]


def _dropdown(key: str, language: str, options: list[Any], value: Any) -> widgets.Dropdown:
    return widgets.Dropdown(
        options=options,
        value=value,
        description=say(key, language),
        style={"description_width": "initial"},
        layout=widgets.Layout(width="auto", max_width="24em"),
    )


def _hint(text: str) -> str:
    return f'<p class="pl-empty">{escape(text)}</p>'
