"""perslib: a research workbench for personalized satisfaction with AI assistants."""

from importlib.metadata import version
from typing import Any

__version__ = version("perslib")


def __getattr__(name: str) -> Any:
    """`runs`, `verdicts` and `replies`, loaded when they are first used: importing perslib stays quick."""
    if name in ("runs", "verdicts", "replies"):
        from perslib.report.run import results

        return getattr(results, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
