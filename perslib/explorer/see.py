"""See: who the user is, how the user scored, past turns to search, and memories side by side with their evidence."""

from __future__ import annotations

from functools import partial
from typing import Any

import ipywidgets as widgets

from perslib.explorer.looking import Looking
from perslib.explorer.parts import WHOLE, Asking, bar, button, columns, div, heading, note, watch
from perslib.explorer.past import by_scenario_html, cited_turns, nowhere, over_time_html, past_html
from perslib.llm import compute
from perslib.memory import Draft, Statement, UserMemory, memory, saved_names
from perslib.memory.named import EDITED, FREE
from perslib.report.show import escape, fold_html, profile_html, score_chip
from perslib.report.words import name_of
from perslib.text import translate


def see(looking: Looking) -> widgets.Widget:
    """The panel to look at a user with."""
    profile, course, levels, past, one, other = (widgets.HTML() for _ in range(6))
    search = widgets.Text(
        placeholder=translate("words in request, reply or reason"),
        description=translate("Search"),
        layout=widgets.Layout(width="100%"),
    )
    second = widgets.Dropdown(description=translate("Side by side"), style=WHOLE)
    asking = Asking(looking)

    def show_user(change: Any = None) -> None:
        profile.value = profile_html(looking.corpus.profile(looking.user), looking.user)
        course.value, levels.value = over_time_html(looking), by_scenario_html(looking)
        show_past()
        show_second()

    def show_past(change: Any = None) -> None:
        past.value = past_html(looking, search.value)

    def show_memory(change: Any = None) -> None:
        one.value = memory_html(looking, looking.draft.memory if looking.draft else None)

    def show_second(change: Any = None) -> None:
        asking.clear()
        name = second.value
        wants_model = bool(name) and not is_free(name)
        build.layout.display = None if wants_model else "none"
        other.layout.display = None if name else "none"
        if wants_model:
            other.value = div("empty", not_built(name))
        else:
            other.value = memory_html(looking, build_now(looking, name)) if name else ""

    def build_second() -> None:
        system, block = looking.memory_system(second.value), looking.block

        def done(memory: UserMemory) -> None:
            other.value = memory_html(looking, memory)

        asking.start(partial(system.build, block), done, translate("The model writes the memory …"))

    def choose_second(change: Any = None) -> None:
        names = [n for n in systems() if n != looking.system]
        kept = second.value
        second.options = [(translate("nothing"), ""), *((system_name(n), n) for n in names)]
        second.value = kept if kept in names else ""

    build = button(looking, "Build", build_second, "magic")
    choose_second()
    watch(looking, search, show_past)
    watch(looking, second, show_second)
    looking.observe(show_user, ["opened", "gold_shown"])
    looking.observe(show_memory, "draft")
    looking.observe(choose_second, "system")
    show_user()
    show_memory()
    two = widgets.HBox([one, other]).add_class("pl-two")
    return columns(
        [heading("Profile"), profile, heading("Scores"), course, levels],
        [
            *(heading("Memory"), bar(second, build, asking), two),
            *(heading("Past replies, by score"), search, past),
        ],
    )


# -- memories ------------------------------------------------------------------------------------------------


def systems() -> list[str]:
    """The memory systems one can choose, those edited by hand last."""
    return [*dict.fromkeys(["measured", *memory]), *(f"{EDITED} {name}" for name in saved_names())]


def system_name(name: str) -> str:
    """How a memory system is called."""
    if name.startswith(EDITED):
        return translate("edited: {name}", name=name.removeprefix(EDITED).strip())
    return name_of(f"memory: {name}").removeprefix("memory: ")


def is_free(name: str) -> bool:
    """Whether a memory is there at once, without a model."""
    return name in FREE or name.startswith(EDITED)


def build_now(looking: Looking, name: str) -> UserMemory:
    """The memory of this name, which asks no model."""
    return compute(partial(looking.memory_system(name).build, looking.block))


def build_free(looking: Looking) -> bool:
    """Build the memory that is looked at, if that asks no model; whether it did."""
    if is_free(looking.system):
        looking.draft = Draft.of(build_now(looking, looking.system))
    return is_free(looking.system)


def not_built(name: str) -> str:
    """What to do for a memory that a model has to write."""
    return translate("The {memory} is written by the model: press Build.", memory=system_name(name))


def missing_memory(memory: UserMemory | None) -> str:
    """Why there is no statement to show."""
    if memory is None:
        return translate("The memory is not built yet: press Build at the top.")
    if memory.error:
        return translate(
            "The model did not write a memory that could be parsed ({why}). Use a larger model; the measured "
            "memory needs none.",
            why=memory.error,
        )
    return translate("No statements: too few rated replies, or no differences between them.")


def memory_html(looking: Looking, memory: UserMemory | None) -> str:
    """A memory statement by statement; each opens the turns it was drawn from."""
    if memory is None:
        return div("empty", missing_memory(memory))
    name, _, edited = memory.system.partition(", ")
    mark = note(translate("edited by hand")) if edited else ""
    parts = [f'<div class="pl-memory-head">{escape(system_name(name))}{mark}</div>', counts_html(memory)]
    if memory.error or not memory.statements:
        parts.append(div("nowhere" if memory.error else "empty", missing_memory(memory)))
    parts += [_statement_html(looking, s) for s in memory.statements]
    return f'<div class="pl-memory">{"".join(parts)}</div>'


def _statement_html(looking: Looking, statement: Statement) -> str:
    """A statement with what it rests on, to be opened."""
    text = f"<b>{escape(statement.id)}</b> {escape(statement.text)}"
    about = statement_about(statement)
    head = f'<div class="pl-statement-text" dir="auto">{text}</div>' + (div("small", about) if about else "")
    return f'<div class="pl-statement">{head}{evidence_html(looking, statement)}</div>'


def statement_about(statement: Statement) -> str:
    """What a statement is about: its field, and the kind of task that it holds for."""
    field = "" if statement.field == "measured" else name_of(statement.field)
    return " · ".join(filter(None, (field, statement.task)))


def evidence_html(looking: Looking, statement: Statement) -> str:
    """The turns that a statement was drawn from, folded; and what it cites and is nowhere."""
    missing = "".join(map(nowhere, statement.unfounded))
    if not statement.turns:
        return missing or div("small", translate("not supported by any turn"))
    head = translate("Based on {n} turns", n=len(statement.turns))
    return fold_html(head, cited_turns(looking, statement.turns), "pl-drawn") + missing


def counts_html(memory: UserMemory) -> str:
    """How often each score was given, and the mean."""
    counts = " ".join(f"<span>{score_chip(s)} ×{n}</span>" for s, n in enumerate(memory.counts, 1))
    shown = "–" if memory.average != memory.average else f"{memory.average:.2f}"
    mean = translate("mean {score}", score=shown)
    return f'<div class="pl-caption pl-counts">{counts} <span>{mean}</span></div>'
