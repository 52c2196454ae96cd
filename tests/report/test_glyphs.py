"""Chinese in figures on a machine without Chinese fonts: the package's font is used, and nothing is a box."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from perslib import report
from perslib.report.show import style
from perslib.text import translate, using_language

ROOT = Path(__file__).resolve().parents[2]

#: What a person types into a fresh kernel; before it, every font but matplotlib's own is made to vanish.
SESSION = """
import json, warnings
warnings.simplefilter("error")
import matplotlib
matplotlib.use("agg")
from matplotlib import font_manager
own = matplotlib.get_data_path()
font_manager.fontManager.ttflist = [f for f in font_manager.fontManager.ttflist if f.fname.startswith(own)]
font_manager.fontManager.afmlist = []
assert not any("CJK" in f.name or "Noto" in f.name for f in font_manager.fontManager.ttflist)

import perslib
from perslib.report import begin, save_figure
begin(".")
import matplotlib.pyplot as plt
fig, axes = plt.subplots()
axes.plot([1, 2, 3], [5, -1, 3], label="满意度（≥ 4 分）")
axes.set_title("龘旅行规划：用户的评分", weight="bold")
axes.set_xlabel("轮次", style="italic")
axes.set_xticks([1, 2, 3], ["酒店", "航班", "café ρ"])
axes.annotate("“不够具体”……", (2, -1))
axes.legend(title="图例")
paths = save_figure(fig, "zh")
used = [font_manager.findfont(font_manager.FontProperties(family=f)) for f in matplotlib.rcParams["font.family"]]
print(json.dumps({"fonts": used, "files": [p.suffix for p in paths]}))
"""


@pytest.mark.process
def test_a_bare_session_draws_chinese_without_any_font_of_the_system(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SESSION], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr  # a missing glyph is a warning, and warnings are errors there
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["files"] == [".pdf", ".svg", ".png"]
    assert [Path(font).name for font in told["fonts"]] == ["DejaVuSans.ttf", "NotoSansSC-Regular.ttf"]
    assert Path(told["fonts"][1]).parts[-3:-1] == ("zhplot", "fonts")
    assert "Glyph" not in done.stderr and "not found" not in done.stderr
    assert b"NotoSansSC" in (tmp_path / "figures" / "zh.pdf").read_bytes()


@pytest.mark.sample
@pytest.mark.parametrize(("language", "own"), [("en", b"DejaVuSans"), ("zh", b"NotoSansSC")])
def test_letters_and_quotes_are_of_the_font_of_the_language(tmp_path, language, own):
    report.begin(tmp_path, language)
    fig, axes = plt.subplots()
    axes.set_title("“quoted” 5")
    pdf = report.save_figure(fig, "quotes")[0].read_bytes()
    assert set(re.findall(rb"DejaVuSans|NotoSansSC", pdf)) == {own}


@pytest.mark.parametrize("acting", ["\ufeff", "\u202e", "\u200b", "\x00", "\u00ad"])
def test_a_character_that_acts_is_a_box_in_a_figure(tmp_path, acting):
    report.begin(tmp_path)
    fig, axes = plt.subplots()
    axes.set_title(report.escape_figure_text(f"{acting}user{acting}1"))
    axes.legend([axes.plot([1, 2])[0]], [report.escape_figure_text(f"a{acting}")])
    assert axes.get_title() == "" and axes.get_title(loc="left") == "▯user▯1"
    assert report.save_figure(fig, "acting")[2].stat().st_size > 0


def test_every_label_that_a_figure_may_carry_has_its_glyphs():
    labels = tomllib.loads((ROOT / "perslib" / "report" / "show" / "labels.toml").read_text("utf-8"))
    with using_language("zh"):
        texts = [*labels.values(), *map(translate, labels.values())]
    assert len(texts) > 300
    assert {c for text in texts for c in text if ord(c) not in style._drawable()} == set()
