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
    "perslib.comparisons.agree": ("agree",),
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
    if name in (brought := _find_brought()):
        system, place = brought[name]
        return system.resolve(place)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _find_brought() -> dict[str, Any]:
    systems = import_module("perslib.registry").find_systems().values()
    return {name: (system, place) for system in systems for name, place in system.names.items()}


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACE, *_find_brought(), "__version__"])
