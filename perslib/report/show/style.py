"""How figures look: one style file, colours that mean something, Chinese glyphs on any machine, and repeated parts."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perslib.errors import DataError, Problem
from perslib.report.show.words import name_of
from perslib.text import show_hidden

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE = Path(__file__).parent / "perslib.mplstyle"
CHINESE_FONT = "Noto Sans SC"
LATIN_FONT = "DejaVu Sans"  # comes with matplotlib

#: Scores 1–5. The colour turns between 3 and 4, where a turn stops being dissatisfied or neutral
#: (PersTurnBench's DSAT) and becomes satisfied; orange against blue is told apart by every kind of eye.
SCORES = {1: "#9a3a05", 2: "#e0751f", 3: "#f7c48a", 4: "#9cc3e0", 5: "#2a6ca3"}

#: For things without an order: assistants, candidates, judges. Distinct in hue and in lightness.
CATEGORIES = ["#2a6ca3", "#d9822b", "#3a8f6b", "#a45c9a", "#6b7a8f", "#b8a13a", "#7fb2d6", "#8c4a3a"]

#: The environment variable that names a style file of matplotlib's to follow ours: its fonts, and its colours (axes.prop_cycle).
STYLE_VARIABLE = "PERSLIB_FIGURE_STYLE"

_CATEGORIES = tuple(CATEGORIES)

#: How comparisons end.
OUTCOMES = {"win": SCORES[5], "tie": "#e3e7ec", "lose": SCORES[2]}

INK, FAINT, RULE, ACCENT = "#1f2733", "#6a7482", "#d5dae1", "#2a6ca3"


@cache
def chinese_font() -> str | None:
    """Register the font that the `zhplot` package carries; its family name, or None when it is not there.

    Found without importing the package, which would change matplotlib's settings behind our back.
    """
    from matplotlib import font_manager

    spec = importlib.util.find_spec("zhplot")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "fonts" / "NotoSansSC-Regular.ttf"
        if path.is_file():
            font_manager.fontManager.addfont(path)
            return font_manager.FontProperties(fname=path).get_name()
    if any(font.name == CHINESE_FONT for font in font_manager.fontManager.ttflist):
        return CHINESE_FONT
    return None


def figure_style(language: str = "en") -> None:
    """Draw every figure from here on in perslib's style, whatever a matplotlibrc says.

    Letters and quotes are those of the language's font; each has the other's glyphs where it lacks its own.
    """
    import matplotlib as mpl
    from matplotlib import style

    style.use(["default", STYLE])
    family = chinese_font()
    if family is None:
        warnings.warn(
            "No font with Chinese glyphs: figures will show boxes for Chinese text. "
            "Install the package zhplot, which carries one: pip install zhplot",
            stacklevel=2,
        )
    families = [LATIN_FONT, family] if family else [LATIN_FONT]
    mpl.rcParams["font.family"] = families[::-1] if language == "zh" else families
    named: dict[Any, Any] = read_style(own) if (own := os.environ.get(STYLE_VARIABLE)) else {}
    if "font.family" in named:
        named["font.family"] = [*named["font.family"], *mpl.rcParams["font.family"]]
    cycle = named["axes.prop_cycle"].by_key() if "axes.prop_cycle" in named else {}
    CATEGORIES[:] = cycle.get("color", _CATEGORIES)
    mpl.rcParams.update(named)


def read_style(path: str) -> dict[str, Any]:
    """Return the settings in a style file of matplotlib's; DataError names what it does not understand, which matplotlib would skip."""
    import logging

    import matplotlib as mpl

    problems: list[str] = []
    logger, listener = logging.getLogger("matplotlib"), logging.Handler()
    listener.emit = lambda record: problems.append(record.getMessage().strip().splitlines()[0])  # type: ignore[method-assign]
    logger.addHandler(listener)
    try:
        settings = mpl.rc_params_from_file(path, use_default_template=False)
    except OSError as error:
        problems.append(str(error.strerror))
    finally:
        logger.removeHandler(listener)
    if problems:
        raise DataError(
            Problem(path, "; ".join(problems)),
            "Write a line a setting, font.family: serif, and colours without #, as matplotlib's style files have them.",
        )
    return {str(name): value for name, value in settings.items()}


@cache
def _drawable() -> frozenset[int]:
    """Return the characters that one of the style's fonts has a glyph for."""
    from matplotlib import font_manager

    families = [family for family in (chinese_font(), LATIN_FONT) if family]
    files = [font_manager.findfont(font_manager.FontProperties(family=f)) for f in families]
    return frozenset(code for file in files for code in font_manager.get_font(file).get_charmap())


def escape_figure_text(text: object, longest: int = 36) -> str:
    """Return the text from data for a figure: set as it stands, shortened when very long.

    A `$` starts no formula. A character that no font has, or that acts instead of showing (a control character, a byte
    order mark, which matplotlib fails at), is a ▯.
    """
    shown = " ".join(str(text).split())
    shown = "".join(c if ord(c) in _drawable() and show_hidden(c) == c else "▯" for c in shown)
    shown = shown if len(shown) <= longest else shown[: longest - 1] + "…"
    return shown.replace("$", r"\$")


def literal_name(value: object, longest: int = 36) -> str:
    """Return a stored value by its label, for a figure to write as it stands."""
    return escape_figure_text(name_of(str(value)), longest)


# -- parts of figures ----------------------------------------------------------------------------------------


def label_rows(ax: Axes, names: Sequence[object]) -> None:
    """Label one row each by stored values, the first on top."""
    ax.set_yticks(range(len(names)), [literal_name(name) for name in names])
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
