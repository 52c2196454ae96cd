"""Figures: each draws what its frame says, in the frame's order, and stays an ordinary Figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from perslib import report
from perslib.report.show import plots
from perslib.report.show.plot_parts import WIDTH
from perslib.report.show.style import CATEGORIES, FAINT

JUDGES = ["personal", "user mean", "costs $5 and $6"]


@pytest.fixture(autouse=True)
def page():
    report.begin(language="en")
    yield
    report.begin(language="en")
    plt.close("all")


def agreed() -> pd.DataFrame:
    """Two metrics, two kinds of scores, three judges; every number is another one."""
    rows = [(j, m, s) for j in JUDGES for m in ("pearson", "qwk") for s in ("raw", "calibrated")]
    frame = pd.DataFrame(rows, columns=["judge", "metric", "score"])
    frame["value"] = np.arange(12) / 20
    return frame.assign(value_low=frame["value"] - 0.1, value_high=frame["value"] + 0.2, published=0.3)


def marks(ax) -> list[np.ndarray]:
    """Places of the marks, one array a call of scatter."""
    return [np.asarray(c.get_offsets()) for c in ax.collections if isinstance(c, PathCollection)]


def bars(ax) -> np.ndarray:
    """Ends of all drawn intervals: x0, y0, x1, y1."""
    lines = [segment for c in ax.collections if isinstance(c, LineCollection) for segment in c.get_segments()]
    return np.array([line.ravel() for line in lines if np.size(line) == 4 and np.isfinite(line).all()])


def labels(ax, axis: str = "y") -> list[str]:
    return [text.get_text() for text in getattr(ax, f"get_{axis}ticklabels")()]


def legend(fig: Figure) -> list[str]:
    return [text.get_text() for found in fig.legends for text in found.get_texts()]


def test_intervals_stand_where_the_frame_says():
    own = agreed().query("metric == 'qwk' and score == 'raw'")
    fig = plots.intervals(own, muted=["user mean"], xlabel="Agreement")
    (ax,), (at,) = fig.axes, marks(fig.axes[0])
    assert isinstance(fig, Figure) and ax.get_xlabel() == "Agreement" and legend(fig) == []
    assert at.tolist() == [[v, i] for i, v in enumerate(own["value"])]
    expected = own[["value_low", "value_high"]].to_numpy()
    assert bars(ax)[:, [0, 2]] == pytest.approx(expected)
    assert labels(ax) == ["personal", "user mean", r"costs \$5 and \$6"] and ax.get_ylim()[0] > ax.get_ylim()[1]
    colors = [to_hex(c) for c in ax.collections[-1].get_facecolor()]
    assert colors == [CATEGORIES[0], FAINT, CATEGORIES[0]]


def test_intervals_in_panels_with_marks_an_order_and_published_numbers():
    order = ["user mean", "personal", "absent"]
    fig = plots.intervals(agreed(), panels="metric", marks="score", published="published", order=order)
    assert [ax.get_title("left") for ax in fig.axes] == ["Pearson r", "QWK"]
    assert labels(fig.axes[0]) == ["user mean", "personal"]
    raw, calibrated, published = marks(fig.axes[1])
    values = agreed().query("metric == 'qwk' and judge == 'user mean'")["value"].tolist()
    assert [raw[1, 0], calibrated[1, 0]] == values and raw[1, 1] < 0 < calibrated[1, 1] < 0.5
    assert set(published[:, 0]) <= {0.3} and legend(fig) == ["as given", "calibrated", "as published"]


def test_several_estimates_share_a_row():
    frame = agreed().query("metric == 'qwk' and score == 'raw'").assign(other=0.9)
    fig = plots.intervals(frame, ["value", "other"], connected=True, line=None)
    one, other = marks(fig.axes[0])
    assert one[:, 1].tolist() == other[:, 1].tolist() == [0, 1, 2] and set(other[:, 0]) == {0.9}


def test_shares_add_up_and_carry_their_numbers():
    frame = pd.DataFrame({"judge": JUDGES, "good": [0.5, 0.2, 1.0], "bad": [0.46, 0.8, 0.0], "none": [0.04, 0, 0]})
    fig = plots.shares(frame, "judge", {"good": "Good $", "bad": "Bad", "none": "None"}, dark=["good"])
    (ax,) = fig.axes
    widths = np.array([patch.get_width() for patch in ax.patches]).reshape(3, 3).T
    assert widths == pytest.approx(frame[["good", "bad", "none"]].to_numpy())
    assert [t.get_text() for t in ax.texts] == ["50%", "20%", "100%", "46%", "80%"]  # 4 % has no room
    assert {t.get_color() for t in ax.texts[:3]} == {"white"} and legend(fig) == [r"Good \$", "Bad", "None"]


def curve() -> pd.DataFrame:
    rows = [(n, j, s) for j in JUDGES[:2] for n in (4, 1, 2) for s in (0, 1)]
    frame = pd.DataFrame(rows, columns=["n", "judge", "seed"])
    frame["value"] = frame["n"] / 10 + frame["seed"] / 100
    return frame.assign(value_low=frame["value"] - 0.05, value_high=frame["value"] + 0.05)


def test_curves_run_along_x_with_their_bands():
    fig = plots.curves(curve().query("seed == 0"), "n", lines="judge", log=True, percent=True, level=0.5)
    (ax,) = fig.axes
    first = ax.lines[0]
    assert first.get_xdata().tolist() == [1, 2, 4] and first.get_ydata().tolist() == [0.1, 0.2, 0.4]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.05, 0.45))
    assert ax.get_xscale() == "log" and labels(ax, "x") == ["1", "2", "4"] and legend(fig) == JUDGES[:2]
    assert ax.lines[-1].get_ydata() == [0.5, 0.5] and ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()


def test_units_are_thin_lines_behind_their_mean():
    ax = plots.curves(curve().query("judge == 'personal'"), "n", units="seed").axes[0]
    *thin, mean = ax.lines
    assert len(thin) == 2 and mean.get_ydata() == pytest.approx([0.105, 0.205, 0.405])


def test_several_curves_have_panels():
    fig = plots.curves(curve().assign(other=1.0), "n", ["value", "other"], bars=True)
    assert [ax.get_title("left") for ax in fig.axes] == ["This corpus", "other"]
    assert len(bars(fig.axes[0])) == 12


def test_points_stand_at_both_numbers():
    frame = pd.DataFrame({"judge": JUDGES, "a": [0.1, 0.2, 0.3], "b": [3.0, 2.0, 1.0], "n": [1, 1, 8]})
    frame = frame.assign(a_low=0.0, a_high=0.5)
    look = {"marks": "judge", "labels": "judge", "sizes": "n", "muted": ["user mean"], "palette": "Set2"}
    fig = plots.points(frame, "a", "b", **look, diagonal=True, upright=0.2)
    (ax,) = fig.axes
    assert [tuple(place[0]) for place in marks(ax)] == [(0.1, 3.0), (0.2, 2.0), (0.3, 1.0)]
    assert (bars(ax)[:, [0, 2]] == [0.0, 0.5]).all() and len(bars(ax)) == 3
    sizes = [c.get_sizes()[0] for c in ax.collections if isinstance(c, PathCollection)]
    assert sizes == pytest.approx([21, 21, 84])
    faces = [to_hex(c.get_facecolor()[0]) for c in ax.collections if isinstance(c, PathCollection)]
    assert faces[1] == FAINT and faces[0] == "#66c2a5"
    assert [t.get_text() for t in ax.texts] == legend(fig) == [*JUDGES[:2], r"costs \$5 and \$6"]


def test_heatmap_says_its_numbers():
    matrix = pd.DataFrame([[0.1, -0.2], [0.3, 0.4]], index=JUDGES[:2], columns=["travel", "x"])
    fig = plots.heatmap(matrix, center=0.0, framed=matrix > 0.35, texts="+.1f", ylabel="Judge")
    (ax,) = fig.axes
    assert [t.get_text() for t in ax.texts] == ["+0.1", "−0.2", "+0.3", "+0.4"]
    assert labels(ax, "x") == ["travel", "x"] and labels(ax) == JUDGES[:2] and ax.get_ylabel() == "Judge"
    assert [patch.get_xy() for patch in ax.patches] == [(1, 1)]
    two = plots.heatmap(matrix, panels={"one": matrix, "two": -matrix}, texts=matrix.astype(str))
    assert [ax.get_title("left") for ax in two.axes] == ["one", "two"]


EMPTY = {
    "intervals": lambda f: plots.intervals(f, panels="metric", marks="score", published="published"),
    "shares": lambda f: plots.shares(f, "judge", ["value", "published"]),
    "curves": lambda f: plots.curves(f, "value", "published", lines="judge", log=True, units="score"),
    "points": lambda f: plots.points(f, "value", "published", marks="judge", labels="score", sizes="value"),
    "heatmap": lambda f: plots.heatmap(f.set_index("judge")[["value"]]),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_frame_without_rows_is_no_special_case(tmp_path, name, capsys):
    frame = agreed().iloc[:0]
    report.begin(tmp_path)
    saved = report.save_figure(EMPTY[name](frame), "none", frame, "A caption.", "Nothing here.")
    assert saved == () and "Nothing here." in capsys.readouterr().out and not list(tmp_path.iterdir())


DRAWN = {
    "intervals": lambda **k: plots.intervals(agreed(), panels="metric", marks="score", xlabel="说明", **k),
    "shares": lambda **k: plots.shares(pd.DataFrame({"judge": JUDGES, "a": 0.5, "b": 0.5}), "judge", ["a", "b"], **k),
    "curves": lambda **k: plots.curves(curve(), "n", lines="judge", units="seed", **k),
    "points": lambda **k: plots.points(agreed().head(3), "value", "published", marks="score", labels="judge", **k),
    "heatmap": lambda **k: plots.heatmap(pd.DataFrame(np.eye(3), index=JUDGES), **k),
}  # fmt: skip


@pytest.mark.page
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", DRAWN)
def test_files_are_the_same_each_time_and_type_is_smaller_in_a_column(tmp_path, name, language):
    report.begin(tmp_path, language)
    whole = DRAWN[name]()
    one, other = ([file.read_bytes() for file in report.save_figure(fig, "f")] for fig in (whole, DRAWN[name]()))
    assert one == other
    column, text = DRAWN[name](width="column"), DRAWN[name](width=5.0)
    assert (column.get_figwidth(), text.get_figwidth(), whole.get_figwidth()) == (3.5, 5.0, 7.6)
    sizes = [[t.get_fontsize() for t in fig.findobj(plt.Text) if t.get_text()] for fig in (column, text)]
    assert min(sizes[0]) > 5.5 and max(sizes[0]) < max(sizes[1]) <= 12
    column.draw_without_rendering()  # a glyph that no font has, or a label without room, is a warning


@pytest.mark.parametrize("name", DRAWN)
def test_all_figures_of_a_run_have_the_width_that_was_asked_for(tmp_path, name, monkeypatch):
    report.begin(tmp_path)
    monkeypatch.setenv(WIDTH, "column")
    assert DRAWN[name](width=5.0).get_figwidth() == 3.5


def test_the_entries_of_a_legend_stand_as_fits(tmp_path):
    long = agreed().assign(score=[f"a kind with a rather long name {i}" for i in range(12)])
    for width, columns in (("text", 2), ("column", 1)):
        fig = plots.curves(long, "value", "published", lines="score", width=width)
        fig.draw_without_rendering()
        assert fig.legends[0]._ncols == columns
        box = fig.legends[0].get_window_extent()
        assert box.width < fig.get_figwidth() * fig.dpi
