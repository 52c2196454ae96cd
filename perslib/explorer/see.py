"""See: who the user is, how the user scored, past turns to search, and memories side by side with their evidence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets as widgets

from perslib.explorer.looking import Looking
from perslib.explorer.parts import Asking, bar, button, columns, div, draw, heading, make_field, watch
from perslib.explorer.past import by_scenario_html, over_time_html, past_html
from perslib.llm import compute
from perslib.memory import UserMemory, memory, saved_names
from perslib.memory.named import EDITED, FREE
from perslib.report.show import profile_html
from perslib.report.words import name_of
from perslib.text import translate


def see(looking: Looking) -> widgets.Widget:
    """The panel to look at a user with."""
    profile, course, levels, past, one, other = (widgets.HTML() for _ in range(6))
    search = make_field(widgets.Text, "Search", "words in request, reply or reason", "100%")
    second = make_field(widgets.Dropdown, "Side by side")
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

    def show_other(memory: UserMemory) -> None:
        other.value = memory_html(looking, memory)

    def show_second(change: Any = None) -> None:
        asking.clear()
        name = second.value
        other.layout.display = None if name else "none"
        build.layout.display = None if name and not is_free(name) else "none"
        if name and is_free(name):
            show_other(build_now(looking, name))
        else:
            other.value = div("empty", not_built(name)) if name else ""

    def choose_second(change: Any = None) -> None:
        names = [n for n in systems() if n != looking.system]
        kept = second.value
        second.options = [(translate("nothing"), ""), *((system_name(n), n) for n in names)]
        second.value = kept if kept in names else ""

    build = button(looking, "Build", lambda: build_asking(asking, second.value, show_other), "magic")
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
        [*(heading("Memory"), bar(second, build, asking), two), *(heading("Past replies, by score"), search, past)],
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


def build_asking(asking: Asking, name: str, done: Callable[[UserMemory], None]) -> None:
    """Let a model write the memory of this name."""
    system, block = asking.looking.memory_system(name), asking.looking.block
    asking.start(partial(system.build, block), done, translate("The model writes the memory …"))


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
    about = {"name": system_name(name), "edited": edited, "missing": missing_memory(memory)}
    return draw("memory", memory=memory, evidence=looking.evidence, **about)
