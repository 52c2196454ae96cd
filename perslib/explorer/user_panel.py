"""See: who the user is, how the user scored, past turns to search, and memories side by side with their evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.explorer.controls import RequestStatus, bar, button, columns, div, heading, make_field, render_macro, watch
from perslib.explorer.explorer_state import ExplorerState
from perslib.explorer.past_turns import by_scenario_html, over_time_html, past_html
from perslib.llm import compute
from perslib.memory import UserMemory, memory, saved_names
from perslib.memory.registry import EDITED, FREE
from perslib.report.show.html import profile_html
from perslib.report.show.words import name_of
from perslib.text import translate


def make_user_panel(state: ExplorerState) -> widgets.Widget:
    """Return the panel to look at a user with."""
    profile, course, levels, past = (widgets.HTML() for _ in range(4))
    search = make_field(widgets.Text, "Search", "words in request, reply or reason", "100%")

    def show_past(change: Any = None) -> None:
        past.value = past_html(state, search.value)

    def show_user(change: Any = None) -> None:
        profile.value = profile_html(state.corpus.profile(state.user), state.user)
        course.value, levels.value = over_time_html(state), by_scenario_html(state)
        show_past()

    watch(state, search, show_past)
    state.observe(show_user, ["opened", "gold_shown"])
    show_user()
    return columns(
        [heading("Profile"), profile, heading("Scores"), course, levels],
        [heading("Memory"), *side_by_side(state), heading("Past replies, by score"), search, past],
    )


def side_by_side(state: ExplorerState) -> list[widgets.Widget]:
    """Return the memory that is open, as it grows with the sessions read, beside a second one that is chosen here."""
    one, other = widgets.HTML(), widgets.HTML()
    memories: dict[str, UserMemory | None] = {"one": None, "other": None}
    sessions = make_field(widgets.IntSlider, "Sessions read", width="22em", min=0, continuous_update=False)
    second = make_field(widgets.Dropdown, "Side by side")
    asking = RequestStatus(state)

    def show(**built: UserMemory | None) -> None:
        memories.update(built)
        one.value = memory_html(state, memories["one"], memories["other"])
        if memories["other"]:
            other.value = memory_html(state, memories["other"], memories["one"])

    def show_draft(change: Any = None) -> None:
        sessions.layout.display = None if needs_no_model(state.system) else "none"
        with state.pause_field_events():
            sessions.max = sessions.value = len(list_past_sessions(state))
        show(one=state.draft.memory if state.draft else None)

    def show_second(change: Any = None) -> None:
        asking.clear()
        name = second.value
        other.layout.display = None if name else "none"
        build.layout.display = None if name and not needs_no_model(name) else "none"
        other.value = div("empty", not_built(name)) if name else ""
        show(other=build_now(state, name) if name and needs_no_model(name) else None)

    def offer_second(change: Any = None) -> None:
        names, chosen = [n for n in systems() if n != state.system], second.value
        second.options = [(translate("nothing"), ""), *((system_name(n), n) for n in names)]
        second.value = chosen if chosen in names else ""

    build = button(state, "Build", lambda: build_asking(asking, second.value, lambda m: show(other=m)), "magic")
    offer_second()
    watch(state, sessions, lambda number: show(one=build_now(state, state.system, number)))
    watch(state, second, show_second)
    state.observe(show_second, ["opened", "gold_shown"])
    state.observe(show_draft, "draft")
    state.observe(offer_second, "system")
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


def list_past_sessions(state: ExplorerState) -> pd.DataFrame:
    """Return the sessions of the user's history, in the order of time: its memory grows with them."""
    own = state.block.evidence[["user", "scenario", "session"]].drop_duplicates(ignore_index=True)
    dated = own.merge(state.corpus.sessions[[*own, "started_at"]], "left", on=[*own])
    return dated.sort_values("started_at", kind="stable", ignore_index=True)[[*own]]


def build_now(state: ExplorerState, name: str, sessions: int | None = None) -> UserMemory:
    """Return the memory of this name, which asks no model; of the first so many sessions only."""
    block = state.block
    if sessions is not None:
        read = list_past_sessions(state).head(sessions)
        block = replace(block, evidence=block.evidence.merge(read, on=[*read]))
    return compute(partial(state.memory_system(name).build, block))


def build_asking(asking: RequestStatus, name: str, done: Callable[[UserMemory], None]) -> None:
    """Let a model write the memory of this name; or let it learn from other users first, where it does."""
    system, block = asking.state.memory_system(name), asking.state.block
    learns = asking.state.needs_fit(name)
    asking.start(
        partial(system.build, block),
        done,
        translate("What other users like is learned first …" if learns else "The model writes the memory …"),
        asks=not learns,
    )


def borrow(state: ExplorerState, user: str) -> UserMemory:
    """Return the preferences of another user in the place of the open one's; the turns behind them are not this user's."""
    there = state.scenarios[user]
    block = state.corpus.block(user, state.scenario if state.scenario in there else there[0])
    memory = compute(partial(state.memory_system("preferences").build, block))
    statements = tuple(replace(statement, turns=()) for statement in memory.statements)
    name = f"{memory.system} ({user})"
    return replace(memory, user=state.user, scenario=state.scenario, statements=statements, system=name)


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


def memory_html(state: ExplorerState, memory: UserMemory | None, compared_memory: UserMemory | None = None) -> str:
    """Return a memory statement by statement; each opens the turns it was drawn from.

    Statements that the `compared_memory` lacks are marked.
    """
    if memory is None:
        return div("empty", missing_memory(memory))
    name, _, edited = memory.system.partition(", ")
    about: dict[str, Any] = {"name": system_name(name), "edited": edited, "missing": missing_memory(memory)}
    about["shared"] = {s.text for s in compared_memory.statements} if compared_memory else None
    return render_macro("memory", memory=memory, evidence=state.evidence, **about)
