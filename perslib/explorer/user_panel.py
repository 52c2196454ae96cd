"""See: who the user is, how the user scored, past turns to search, and memories side by side with their evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.explorer.controls import RequestStatus, bar, button, columns, div, heading, make_field, render_macro, watch
from perslib.explorer.open_case import ExplorerState
from perslib.explorer.past_turns import by_scenario_html, over_time_html, past_html
from perslib.llm import compute
from perslib.memory import UserMemory, memory, saved_names
from perslib.memory.registry import EDITED, FREE
from perslib.report.show.html import profile_html
from perslib.report.show.words import name_of
from perslib.text import translate


def make_user_panel(looking: ExplorerState) -> widgets.Widget:
    """Return the panel to look at a user with."""
    profile, course, levels, past = (widgets.HTML() for _ in range(4))
    search = make_field(widgets.Text, "Search", "words in request, reply or reason", "100%")

    def show_past(change: Any = None) -> None:
        past.value = past_html(looking, search.value)

    def show_user(change: Any = None) -> None:
        profile.value = profile_html(looking.corpus.profile(looking.user), looking.user)
        course.value, levels.value = over_time_html(looking), by_scenario_html(looking)
        show_past()

    watch(looking, search, show_past)
    looking.observe(show_user, ["opened", "gold_shown"])
    show_user()
    return columns(
        [heading("Profile"), profile, heading("Scores"), course, levels],
        [heading("Memory"), *side_by_side(looking), heading("Past replies, by score"), search, past],
    )


def side_by_side(looking: ExplorerState) -> list[widgets.Widget]:
    """Return the memory that is open, as it grows with the sessions read, beside a second one that is chosen here."""
    one, other = widgets.HTML(), widgets.HTML()
    memories: dict[str, UserMemory | None] = {"one": None, "other": None}
    sessions = make_field(widgets.IntSlider, "Sessions read", width="22em", min=0, continuous_update=False)
    second = make_field(widgets.Dropdown, "Side by side")
    asking = RequestStatus(looking)

    def show(**built: UserMemory | None) -> None:
        memories.update(built)
        one.value = memory_html(looking, memories["one"], memories["other"])
        if memories["other"]:
            other.value = memory_html(looking, memories["other"], memories["one"])

    def show_draft(change: Any = None) -> None:
        sessions.layout.display = None if needs_no_model(looking.system) else "none"
        with looking.pause_field_events():
            sessions.max = sessions.value = len(list_past_sessions(looking))
        show(one=looking.draft.memory if looking.draft else None)

    def show_second(change: Any = None) -> None:
        asking.clear()
        name = second.value
        other.layout.display = None if name else "none"
        build.layout.display = None if name and not needs_no_model(name) else "none"
        other.value = div("empty", not_built(name)) if name else ""
        show(other=build_now(looking, name) if name and needs_no_model(name) else None)

    def offer_second(change: Any = None) -> None:
        names, chosen = [n for n in systems() if n != looking.system], second.value
        second.options = [(translate("nothing"), ""), *((system_name(n), n) for n in names)]
        second.value = chosen if chosen in names else ""

    build = button(looking, "Build", lambda: build_asking(asking, second.value, lambda m: show(other=m)), "magic")
    offer_second()
    watch(looking, sessions, lambda number: show(one=build_now(looking, looking.system, number)))
    watch(looking, second, show_second)
    looking.observe(show_second, ["opened", "gold_shown"])
    looking.observe(show_draft, "draft")
    looking.observe(offer_second, "system")
    show_second()
    show_draft()
    return [bar(second, build, sessions, asking), widgets.HBox([one, other]).add_class("pl-two")]


# -- memories ------------------------------------------------------------------------------------------------


def systems() -> list[str]:
    """Return the memory systems one can choose, those edited by hand last."""
    return [*dict.fromkeys(["measured", *memory]), *(f"{EDITED} {name}" for name in saved_names())]


def system_name(name: str) -> str:
    """Return how a memory system is called."""
    if name.startswith(EDITED):
        return translate("edited: {name}", name=name.removeprefix(EDITED).strip())
    return name_of(f"memory: {name}").removeprefix("memory: ")


def needs_no_model(name: str) -> bool:
    """Return whether a memory is there at once, without a model."""
    return name in FREE or name.startswith(EDITED)


def list_past_sessions(looking: ExplorerState) -> pd.DataFrame:
    """Return the sessions of the user's history, in the order of time: its memory grows with them."""
    own = looking.block.evidence[["user", "scenario", "session"]].drop_duplicates(ignore_index=True)
    dated = own.merge(looking.corpus.sessions[[*own, "started_at"]], "left", on=[*own])
    return dated.sort_values("started_at", kind="stable", ignore_index=True)[[*own]]


def build_now(looking: ExplorerState, name: str, sessions: int | None = None) -> UserMemory:
    """Return the memory of this name, which asks no model; of the first so many sessions only."""
    block = looking.block
    if sessions is not None:
        read = list_past_sessions(looking).head(sessions)
        block = replace(block, evidence=block.evidence.merge(read, on=[*read]))
    return compute(partial(looking.memory_system(name).build, block))


def build_asking(asking: RequestStatus, name: str, done: Callable[[UserMemory], None]) -> None:
    """Let a model write the memory of this name; or let it learn from other users first, where it does."""
    system, block = asking.looking.memory_system(name), asking.looking.block
    learns = asking.looking.must_learn(name)
    asking.start(
        partial(system.build, block),
        done,
        translate("What other users like is learned first …" if learns else "The model writes the memory …"),
        asks=not learns,
    )


def borrow(looking: ExplorerState, user: str) -> UserMemory:
    """Return the preferences of another user in the place of the open one's; the turns behind them are not this user's."""
    there = looking.scenarios[user]
    block = looking.corpus.block(user, looking.scenario if looking.scenario in there else there[0])
    memory = compute(partial(looking.memory_system("preferences").build, block))
    said = tuple(replace(statement, turns=()) for statement in memory.statements)
    name = f"{memory.system} ({user})"
    return replace(memory, user=looking.user, scenario=looking.scenario, statements=said, system=name)


def not_built(name: str) -> str:
    """Return what to do for a memory that a model has to write."""
    return translate("The {memory} is written by the model: press Build.", memory=system_name(name))


def missing_memory(memory: UserMemory | None) -> str:
    """Return why there is no statement to show."""
    if memory is None:
        return translate("The memory is not built yet: wait a moment, or press Build at the top.")
    if memory.error:
        return translate(
            "The model did not write a memory that could be parsed ({why}). Use a larger model; the measured "
            "memory needs none.",
            why=memory.error,
        )
    return translate("No statements: too few rated replies, or no differences between them.")


def memory_html(looking: ExplorerState, memory: UserMemory | None, beside: UserMemory | None = None) -> str:
    """Return a memory statement by statement; each opens the turns it was drawn from.

    Statements that the memory `beside` it lacks are marked.
    """
    if memory is None:
        return div("empty", missing_memory(memory))
    name, _, edited = memory.system.partition(", ")
    about: dict[str, Any] = {"name": system_name(name), "edited": edited, "missing": missing_memory(memory)}
    about["shared"] = {s.text for s in beside.statements} if beside else None
    return render_macro("memory", memory=memory, evidence=looking.evidence, **about)
