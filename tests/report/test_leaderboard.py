"""The leaderboard: which rows stand together, which of them count, and what strange tables do to it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from perslib.report.page.index import write_index
from perslib.report.page.leaderboard import standings, write_leaderboard
from perslib.report.run.manifest import pages_under, write_manifest

EARLY, LATE = "2026-05-01T10:00:00+00:00", "2026-05-09T10:00:00+00:00"


def row(candidate: str, mean: float | None, **further: object) -> dict[str, object]:
    """A candidate's standing as a replay page saves it."""
    known = mean is not None
    return {
        "candidate": candidate,
        "context": "recorded" if candidate == "original" else "prefix",
        "backbone": None if candidate == "original" else candidate,
        "temperature": None if candidate == "original" else 0.7,
        "judge": "personal",
        "judge_backbone": "qwen",
        "judge_prompt": "en/judge_personal@3:ab12cd34",
        "calibration": "reference_cdf",
        "corpus": "sample/en",
        "corpus_digest": "c0ffee",
        "replay_set": "stratified",
        "set_digest": "5e7",
        "turns": 120,
        "users": 24,
        "user_macro": mean,
        "user_macro_low": mean - 0.2 if known else None,
        "user_macro_high": mean + 0.2 if known else None,
        "dsat": 0.25,
        "dsat_low": 0.125,
        "dsat_high": 0.5,
        "rank_set": "1–2",
        "tied_first": True,
        "self_judged": False,
        "first_look": False,
        **further,
    }


def run(root: Path, name: str, *rows: dict[str, object], started: str = EARLY, **further: object) -> Path:
    """A run's page with these standings; gives back the table's file."""
    folder = root / "sample-en" / name
    (folder / "tables").mkdir(parents=True)
    file = folder / "tables" / "leaderboard.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    (folder / "04_replay.html").write_text("a page", "utf-8")
    tables = {"leaderboard": ["tables/leaderboard.csv", "tables/leaderboard.tex"]}
    entry = {"status": "success", "started": started, "language": "en", "tables": tables, **further}
    write_manifest(folder / "04_replay.json", entry)
    return file


def found(root: Path) -> list[list[tuple[str, float]]]:
    """Candidates and their means, group by group."""
    groups, skipped = standings(pages_under(root))
    assert not skipped, skipped
    return [list(zip(g["candidate"], g["user_macro"])) for g in groups]


def written(root: Path) -> str:
    path = write_leaderboard(root)
    assert path is not None and path == root / "leaderboard.html"
    return path.read_text("utf-8")


# -- what stands together ----------------------------------------------------------------------------------


def test_runs_are_merged_and_sorted_by_user_macro(tmp_path):
    run(tmp_path, "a", row("original", 3.5), row("one", 4.25))
    run(tmp_path, "b", row("original", 3.5), row("two", 4.5), started=LATE)
    assert found(tmp_path) == [[("two", 4.5), ("one", 4.25), ("original", 3.5)]]


@pytest.mark.parametrize(
    "column", ["corpus_digest", "set_digest", "judge", "judge_prompt", "judge_backbone", "calibration"]
)
def test_what_cannot_be_compared_stands_apart(tmp_path, column):
    run(tmp_path, "a", row("one", 4.0))
    run(tmp_path, "b", row("two", 3.0, **{column: "another"}), row("three", 3.5, **{column: "another"}))
    assert found(tmp_path) == [[("three", 3.5), ("two", 3.0)], [("one", 4.0)]]


def test_names_of_corpus_and_set_do_not_separate_what_is_the_same(tmp_path):
    run(tmp_path, "a", row("one", 4.0))
    run(tmp_path, "b", row("two", 3.0, corpus="a copy", replay_set="hard"))
    assert len(found(tmp_path)) == 1


def test_a_judge_without_a_model_is_a_group_of_its_own(tmp_path):
    learned = {"judge": "learned", "judge_backbone": None}
    run(tmp_path, "a", row("one", 4.0, **learned))
    run(tmp_path, "b", row("two", 3.0, **learned))
    assert found(tmp_path) == [[("one", 4.0), ("two", 3.0)]]


def test_of_a_candidate_run_twice_the_newest_counts(tmp_path):
    run(tmp_path, "a", row("one", 4.0), started=LATE)
    run(tmp_path, "b", row("one", 3.0), started=EARLY)
    assert found(tmp_path) == [[("one", 4.0)]]


@pytest.mark.parametrize("column, value", [("context", "tfidf"), ("temperature", 0.0), ("backbone", "other")])
def test_another_context_temperature_or_model_is_another_candidate(tmp_path, column, value):
    run(tmp_path, "a", row("one", 4.0), started=LATE)
    run(tmp_path, "b", row("one", 3.0, **{column: value}))
    assert found(tmp_path) == [[("one", 4.0), ("one", 3.0)]]


def test_the_recorded_replies_stand_once_however_they_are_described(tmp_path):
    run(tmp_path, "a", row("original", 3.5, context="recorded"), row("one", 4.0))
    run(tmp_path, "b", row("original", 3.25, context="prefix", temperature=0.0), started=LATE)
    assert found(tmp_path) == [[("one", 4.0), ("original", 3.25)]]


def test_a_first_look_never_replaces_a_whole_run(tmp_path):
    run(tmp_path, "a", row("one", 4.0), started=EARLY)
    run(tmp_path, "b", row("one", 1.5, first_look=True), row("two", 2.0, first_look=True), started=LATE)
    assert found(tmp_path) == [[("one", 4.0), ("two", 2.0)]]


def test_a_candidate_without_a_score_stands_last(tmp_path):
    run(tmp_path, "a", row("mute", None, dsat=None, turns=0), row("one", 1.5))
    assert [name for name, _ in found(tmp_path)[0]] == ["one", "mute"]
    assert "scored on 0 of 120 turns" in written(tmp_path)


def test_a_candidate_called_null_is_a_candidate(tmp_path):
    run(tmp_path, "a", row("null", 4.0), row("NA", 3.0))
    assert found(tmp_path) == [[("null", 4.0), ("NA", 3.0)]]


# -- the page ----------------------------------------------------------------------------------------------


def test_the_page_says_what_was_measured_and_where_it_comes_from(tmp_path):
    run(tmp_path, "a", row("one", 4.25), row("two", 3.75, rank_set="3", tied_first=False), row("x", 3.0))
    html = written(tmp_path)
    assert "<h2>sample/en · " in html and "120 turns of 24 users" in html
    assert "4.25 [4.05,\u00a04.45]" in html and "0.25 [0.12,\u00a00.50]" in html
    assert '<span class="first">1–2 of 3</span><small>tied for first</small>' in html
    assert "<span>3 of 3</span>" in html
    assert 'href="sample-en/a/04_replay.html#table-leaderboard"' in html and "2026-05-01" in html
    assert "†" not in html.split("<body")[1] and "measure nothing" not in html


def test_an_only_first_is_not_called_tied(tmp_path):
    run(tmp_path, "a", row("one", 4.5, rank_set="1"), row("two", 3.0, rank_set="2", tied_first=False))
    assert "<small>tied" not in written(tmp_path)


def test_intervals_are_drawn_to_scale(tmp_path):
    run(tmp_path, "a", row("one", 4.2), row("two", 3.2))
    (group,), _ = standings(pages_under(tmp_path))
    assert set(group["axis_low"]) == {3.0} and set(group["axis_high"]) == {4.5}  # half points around 3.0 to 4.4
    assert group["user_macro_place"].tolist() == [80, pytest.approx(13.33)]
    assert '<b style="left:80.0%"></b>' in written(tmp_path)


def test_doubts_are_marked_and_explained(tmp_path):
    run(tmp_path, "a", row("one", 4.0, self_judged=True, first_look=True), row("two", 3.0))
    body = written(tmp_path).split("<tbody>")[1]
    assert body.count("†") == 2 and "may prefer what it wrote itself" in body
    assert body.count("first look</span>") == 2 and "measure nothing" in body


@pytest.mark.parametrize("synthetic, judge, candidate, badges", [
    (True, "", "qwen", ["Synthetic corpus"]),
    (False, "embedded", "qwen", ["Toy model"]),
    (False, "", "embedded", ["Toy model"]),
    (False, "", "qwen", []),
])  # fmt: skip
def test_what_is_for_trying_things_has_the_badge_that_the_index_gives_it(tmp_path, synthetic, judge, candidate, badges):
    rows = [row(name, 4.0, judge_backbone=judge) for name in ("original", candidate)]
    run(tmp_path, "a", *rows, corpus={"label": "sample/en", "synthetic": synthetic})
    assert re.findall(r'class="badge"[^>]*>([^<]+)<', written(tmp_path)) == badges


def test_it_speaks_chinese_when_all_pages_do(tmp_path):
    run(tmp_path, "a", row("one", 4.0), language="zh")
    assert "排行榜" in written(tmp_path)
    run(tmp_path, "b", row("two", 4.0), language="en")
    assert "排行榜" not in written(tmp_path)


def test_the_index_links_to_it_and_takes_it_away(tmp_path):
    file = run(tmp_path, "a", row("one", 4.0))
    assert 'href="leaderboard.html"' in write_index(tmp_path).read_text("utf-8")
    assert (tmp_path / "leaderboard.html").is_file()
    write_manifest(file.parents[1] / "04_replay.json", {"status": "started"})
    assert "leaderboard.html" not in write_index(tmp_path).read_text("utf-8")
    assert not (tmp_path / "leaderboard.html").exists()


# -- strange tables ----------------------------------------------------------------------------------------

COLUMNS = ",".join(row("x", 1.0))


@pytest.mark.parametrize("text, why", [
    ("", "No columns"),
    ("candidate,mean\none,4\n", "columns expected but not found"),
    ('candidate,"\n', ""),
    ("\udcff\udcfe", "decode byte 0xff"),
    (None, "No such file"),
    ({"user_macro": "<b>high</b>"}, "&lt;b&gt;high"),
    ({"turns": None}, "to float"),
    ({"tied_first": "yes"}, ""),
])  # fmt: skip
def test_a_table_that_is_none_is_left_out_by_name_and_the_rest_stands(tmp_path, text, why):
    bad = run(tmp_path, "bad", row("bad", 3.0, **(text if isinstance(text, dict) else {})))
    if text is None:
        bad.unlink()
    elif isinstance(text, str):
        bad.write_bytes(text.encode("utf-8", "surrogateescape"))
    run(tmp_path, "good", row("good", 4.0))
    html = written(tmp_path)
    assert re.search(rf"<code>sample-en/bad/tables/leaderboard\.csv</code> cannot be read: .*{re.escape(why)}", html)
    assert str(tmp_path) not in html
    assert html.count("<tr>") == 2 and ">good" in html


def test_an_empty_table_is_no_leaderboard(tmp_path):
    run(tmp_path, "a").write_text(COLUMNS + "\n", "utf-8")
    assert write_leaderboard(tmp_path) is None


def test_tables_outside_of_the_page_s_folder_are_not_read(tmp_path):
    outside = tmp_path / "outside.csv"
    pd.DataFrame([row("spy", 4.0)]).to_csv(outside, index=False)
    folder = tmp_path / "root" / "a" / "b"
    tables = {"leaderboard": ["../../../outside.csv", str(outside)]}
    write_manifest(folder / "p.json", {"status": "success", "tables": tables})
    with pytest.warns(UserWarning, match=r"outside\.csv.*leads out of the page's folder"):
        assert write_leaderboard(tmp_path / "root") is None


def test_names_that_strangers_chose_show_as_text(tmp_path):
    evil = "<script>alert(1)</script>\u202e{{ 7 * 7 }}"
    run(tmp_path, "a", row(evil, 4.0, context=evil, judge=evil, corpus=evil, replay_set=evil, rank_set=evil))
    html = written(tmp_path)
    assert "<script" not in html and "\u202e" not in html and "49" not in html.split("<h2>")[1]
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩{{ 7 * 7 }}") == 6
