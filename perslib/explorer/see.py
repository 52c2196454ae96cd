"""See: who the user is, how the user scored, past turns to search, and memories side by side with their evidence."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from perslib.explorer.asking import Asking
from perslib.explorer.looking import SYSTEMS, Looking
from perslib.explorer.past import by_scenario_html, cited_turns, over_time_html, past_html
from perslib.explorer.words import named, say
from perslib.llm import answered
from perslib.memory import Draft, Statement, UserMemory, saved_names
from perslib.memory.named import EDITED, FREE
from perslib.report.show import escape, fold_html, profile_html, score_chip
from perslib.report.words import name_of


def see(looking: Looking) -> widgets.Widget:
    """The panel to look at a user with."""
    say_ = looking.say
    profile, course, levels, past = (widgets.HTML() for _ in range(4))
    search = widgets.Text(
        placeholder=say_("search"), description=say_("search_label"), layout=widgets.Layout(width="100%")
    )
    second = widgets.Dropdown(description=say_("beside"), style={"description_width": "initial"})
    one, other = widgets.HTML(), widgets.HTML()
    build, asking = widgets.Button(description=say_("build"), icon="magic"), Asking(looking)
    memories = widgets.HBox([one, other]).add_class("pl-two")

    def show_user(change: Any = None) -> None:
        profile.value = profile_html(looking.corpus.profile(looking.user), looking.user)
        course.value, levels.value = over_time_html(looking), by_scenario_html(looking)
        show_past()
        show_second()

    def show_past(change: Any = None) -> None:
        past.value = past_html(looking, search.value)

    def show_memory(change: Any = None) -> None:
        draft = looking.draft
        one.value = memory_html(looking, None if draft is None else draft.memory)

    def show_second(change: Any = None) -> None:
        asking.clear()
        name = second.value
        build.layout.display = "none" if not name or name in FREE or name.startswith(EDITED) else None
        other.layout.display = None if name else "none"
        if not name:
            other.value = ""
        elif build.layout.display is None:
            other.value = f'<p class="pl-empty">{escape(say_("not_built", memory=system_name(name, looking.language)))}</p>'
        else:
            built = answered(looking.memory_system(name).build(looking.block))
            other.value = memory_html(looking, built)

    def build_second(_: Any) -> None:
        steps = looking.memory_system(second.value).build
        block = looking.block

        def done(memory: UserMemory) -> None:
            other.value = memory_html(looking, memory)

        asking.start(lambda: steps(block), done, say_("building"))

    def choose_second(change: Any = None) -> None:
        names = [n for n in systems() if n != looking.system]
        kept = second.value
        second.options = [(say_("nothing"), ""), *((system_name(n, looking.language), n) for n in names)]
        second.value = kept if kept in names else ""

    choose_second()
    search.observe(show_past, "value")
    second.observe(show_second, "value")
    build.on_click(build_second)
    looking.observe(show_user, ["opened", "gold_shown"])
    looking.observe(show_memory, "draft")
    looking.observe(choose_second, "system")
    show_user()
    show_memory()
    left = widgets.VBox([section("profile", looking), profile, section("scores", looking), course, levels])
    right = widgets.VBox(
        [
            section("memories", looking),
            widgets.HBox([second, build, asking]).add_class("pl-bar"),
            memories,
            section("past_turns", looking),
            search,
            past,
        ]
    )
    return widgets.HBox([left.add_class("pl-left"), right.add_class("pl-right")]).add_class("pl-columns")


def systems() -> list[str]:
    """The memory systems one can choose, those edited by hand last."""
    return [*SYSTEMS, *(f"{EDITED} {name}" for name in saved_names())]


def system_name(name: str, language: str) -> str:
    """How a memory system is called."""
    if name.startswith(EDITED):
        return say("edited_named", language, name=name.removeprefix(EDITED).strip())
    return named("system", name, language)


def memory_html(looking: Looking, memory: UserMemory | None) -> str:
    """A memory statement by statement; each opens the turns it was drawn from."""
    language = looking.language
    if memory is None:
        return f'<p class="pl-empty">{say("no_memory_yet", language)}</p>'
    name, _, mark = memory.system.partition(", ")
    marked = f' <span class="pl-note">{say("by_hand", language)}</span>' if mark else ""
    head = f'<div class="pl-memory-head">{escape(named("system", name, language))}{marked}</div>'
    lines = [statement_html(looking, s) for s in memory.statements]
    error = none = ""
    if memory.error:
        error = f'<div class="pl-nowhere">{escape(say("memory_failed", language, why=memory.error))}</div>'
    elif not lines:
        none = f'<p class="pl-empty">{say("no_statements", language)}</p>'
    return f'<div class="pl-memory">{head}{counts_html(memory, language)}{error}{none}{"".join(lines)}</div>'


def statement_html(looking: Looking, statement: Statement) -> str:
    """A statement with what it rests on, to be opened."""
    language = looking.language
    about = statement_about(statement, language)
    head = (
        f'<div class="pl-statement-text" dir="auto"><b>{escape(statement.id)}</b> {escape(statement.text)}</div>'
        + (f'<div class="pl-small">{escape(about)}</div>' if about else "")
    )
    return f'<div class="pl-statement">{head}{evidence_html(looking, statement)}</div>'


def statement_about(statement: Statement, language: str) -> str:
    """What a statement is about: its field, and the kind of task that it holds for."""
    field = "" if statement.field == "measured" else name_of(statement.field, language)
    return " · ".join(filter(None, (field, statement.task)))


def evidence_html(looking: Looking, statement: Statement) -> str:
    """The turns that a statement was drawn from, folded; and what it cites and is nowhere."""
    language = looking.language
    nowhere = "".join(
        f'<div class="pl-nowhere">{escape(name)}: {say("from_nowhere", language)}</div>'
        for name in statement.unfounded
    )
    if not statement.turns:
        return nowhere or f'<div class="pl-small">{say("rests_on_nothing", language)}</div>'
    turns = cited_turns(looking, statement.turns)
    return fold_html(say("drawn_from", language, n=len(statement.turns)), turns, "pl-drawn") + nowhere


def build_free(looking: Looking) -> bool:
    """Build the memory that is looked at, if that asks no model; whether it did."""
    if looking.system not in FREE and not looking.system.startswith(EDITED):
        return False
    looking.draft = Draft.of(answered(looking.memory_system().build(looking.block)))
    return True


def section(key: str, looking: Looking) -> widgets.HTML:
    """The heading of a part of a panel."""
    return widgets.HTML(f"<h3 class='pl-h'>{escape(say(key, looking.language))}</h3>")


def counts_html(memory: UserMemory, language: str) -> str:
    """How often each score was given, and the mean."""
    counts = " ".join(f"<span>{score_chip(s)} ×{n}</span>" for s, n in enumerate(memory.counts, 1))
    mean = "–" if memory.average != memory.average else f"{memory.average:.2f}"
    return f'<div class="pl-caption pl-counts">{counts} <span>{say("mean", language)} {mean}</span></div>'
