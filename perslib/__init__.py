"""perslib: a research workbench for personalized satisfaction with AI assistants.

    from perslib import LearnedJudge, agreement, evaluate, load

    corpus = load("sample/en")
    agreement(evaluate(LearnedJudge(), corpus), corpus)

These names, and those that systems bring, are loaded when they are first used, so that importing perslib stays quick.
"""

from importlib import import_module
from typing import Any

#: Names that first examples use, and where each is.
_PLACES = {
    "perslib.corpus": ("load", "from_frame", "save"),
    "perslib.judge": (
        "Computed", "LearnedJudge", "JudgeSettings", "Personal", "JudgeInputs", "controls", "evaluate", "make_judge", "make_judges",
    ),
    "perslib.llm": ("backbone", "dry_run"),
    "perslib.memory": ("make_memory",),
    "perslib.stats": ("agreement", "calibrate_verdicts"),
    "perslib.report.show.tables": ("agreement_table",),
    "perslib.report.run.results": ("replies", "list_runs", "verdicts"),
}  # fmt: skip
_PLACE = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _PLACE:
        return getattr(import_module(_PLACE[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("perslib")
    for system in import_module("perslib.registry").find_systems().values():
        if name in system.names:
            module, _, own = system.names[name].partition(":")
            return getattr(import_module(module), own)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    brought = (name for system in import_module("perslib.registry").find_systems().values() for name in system.names)
    return sorted([*globals(), *_PLACE, *brought, "__version__"])
