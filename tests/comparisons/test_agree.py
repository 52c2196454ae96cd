"""Judges against people on labels of one's own: recognised, compared with honest controls, and answered in a sentence."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import perslib
from perslib.cli import main
from perslib.comparisons.agree import agree
from perslib.comparisons.history import map_apart
from perslib.comparisons.words import COMMONEST, PEOPLE, USER_MEAN, find_below
from perslib.corpus import TURN
from perslib.errors import DataError, NotEnough


def make_labels(users=24, items=40, each=25, seed=0, noise=0.6):
    """Users of different levels rate items of different quality; one judge sees the quality, one nothing, one each user's own label."""
    rng = np.random.default_rng(seed)
    level, quality = rng.normal(0, 0.6, users), rng.normal(0, 0.8, items)
    rows = []
    for u in range(users):
        for i in rng.choice(items, each, replace=False):
            true = 3.4 + level[u] + quality[i]
            label = int(np.clip(round(true + rng.normal(0, noise)), 1, 5))
            about = {
                "item_id": f"i{i}",
                "annotator": f"u{u}",
                "human_rating": label,
                "created": f"2026-01-{1 + i % 28:02}",
            }
            judges = {"quality_judge": 3.4 + quality[i], "blind_judge": rng.uniform(1, 5), "personal_judge": true}
            rows.append({**about, **{name: round(float(np.clip(score, 1, 5)), 2) for name, score in judges.items()}})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def found():
    return agree(make_labels(), judges=["quality_judge", "blind_judge", "personal_judge"])


def row(found, judge):
    return found.table.set_index("judge").loc[judge]


def test_judges_are_told_apart_from_controls_and_each_other(found):
    assert found.table["judge"].tolist() == [
        "personal_judge",
        "quality_judge",
        "blind_judge",
        PEOPLE,
        USER_MEAN,
        COMMONEST,
    ]
    assert row(found, "personal_judge")["gain_low"] > 0 > row(found, "blind_judge")["gain_high"]
    assert abs(row(found, "blind_judge")["wc_pearson"]) < 0.1 < row(found, "quality_judge")["wc_pearson_low"]
    assert row(found, "personal_judge")["gain_p"] < row(found, "personal_judge")["gain_p_holm"] < 0.1 and np.isnan(
        row(found, USER_MEAN)["gain"]
    )
    assert found.answer.startswith("personal_judge is usable") and "a gain of" in found.answer


def test_for_whom_and_whether_it_may_stand_in(found):
    assert row(found, "personal_judge")["worse"] < 0.05 and row(found, "blind_judge")["worse"] > 0.9
    assert row(found, "quality_judge")["spread"] > 0.3 > row(found, "personal_judge")["spread"]
    assert row(found, "personal_judge")["stands_in"] > 0.8 > 0.2 > row(found, "blind_judge")["stands_in"]
    assert any("Krippendorff's α" in note and "agrees with the others' mean" in note for note in found.notes)


def test_the_users_mean_knows_nothing_of_the_item(found):
    """Each label is compared with the mean of the same user's others."""
    of_mean = found.verdicts[found.verdicts["judge"] == USER_MEAN]
    user = of_mean[of_mean["user"] == "u3"]
    for place in range(3):
        others = user["gold"].drop(user.index[place])
        assert user["raw"].iloc[place] == pytest.approx(others.mean())


def test_two_tables_are_joined_on_what_names_the_item():
    labels = make_labels()
    scores = labels.drop_duplicates("item_id")[["item_id", "quality_judge"]].rename(columns={"quality_judge": "score"})
    both = agree(scores.assign(judge="mine"), labels[["item_id", "annotator", "human_rating"]])
    alone = agree(labels, judges=["quality_judge"])
    assert both.table["pearson"].iloc[0] == pytest.approx(alone.table["pearson"].iloc[0])
    with pytest.raises(DataError, match="no column that both tables have names the item"):
        agree(scores[["score"]], labels[["annotator", "human_rating"]])


def test_judges_a_row_each_and_annotators_a_column_each():
    labels = make_labels(users=3, items=60, each=60)
    wide = labels.pivot(index="item_id", columns="annotator", values="human_rating").add_prefix("rater_")
    wide.columns = [f"rater_{k}" for k in range(3)]
    scores = labels.drop_duplicates("item_id").melt("item_id", ["quality_judge", "blind_judge"], "judge", "score")
    found = agree(scores, wide.reset_index())
    assert {"quality_judge", "blind_judge", PEOPLE} <= set(found.table["judge"]) and found.table["users"].max() == 3
    assert any("an annotator a column" in note for note in found.notes) and any(
        "from ten users on" in note for note in found.notes
    )


def test_thumbs_words_and_other_scales():
    labels = make_labels()
    thumbs = labels.assign(
        human_rating=np.where(labels["human_rating"] > 3, "👍", "👎"), quality_judge=labels["quality_judge"] * 20
    )
    found = agree(thumbs, judges=["quality_judge"])
    assert row(found, "quality_judge")["pearson_low"] > 0.2 and any("on 0-1" in note for note in found.notes)


def test_drift_is_seen():
    labels = make_labels()
    late = pd.to_datetime(labels["created"]) > "2026-01-14"
    drifting = labels.assign(personal_judge=labels["personal_judge"] - 0.8 * late)
    found = agree(drifting, judges=["personal_judge"], time="created")
    assert row(found, "personal_judge")["drift_high"] < -0.3 and "it drifts by" in found.answer


def test_what_is_not_plain_is_asked_and_too_little_is_said():
    labels = make_labels()
    with pytest.raises(
        DataError, match="no column is plainly what people said; with ratings: a_score, b_score, c_score"
    ):
        agree(pd.DataFrame({"id": range(20), "a_score": [1, 5] * 10, "b_score": [2, 4] * 10, "c_score": [3, 1] * 10}))
    with pytest.raises(DataError, match="Found: "):
        agree(labels, label="nothing")
    with pytest.raises(NotEnough, match="items have both"):
        agree(labels.head(5), judges=["quality_judge"])


def test_a_judge_that_adds_nothing_is_not_called_usable():
    assert "blind_judge is not usable" in agree(make_labels(), judges=["blind_judge"]).answer


def test_the_command_prints_writes_and_fails_below_a_bound(home, tmp_path):
    make_labels().to_json(tmp_path / "r.jsonl", orient="records", lines=True)

    def run(*options):
        return CliRunner().invoke(main, ["agree", str(tmp_path / "r.jsonl"), "--judge", "quality_judge", *options])

    done = run("--at-least", "pearson=.3", "--out", str(tmp_path / "page.html"))
    assert done.exit_code == 0, done.output
    assert "r within users" in done.output and "quality_judge" in (tmp_path / "page.html").read_text("utf-8")
    assert set(pd.read_csv(tmp_path / "page.csv")["judge"]) >= {"quality_judge", USER_MEAN}
    below = run("--at-least", "pearson=.99")
    assert below.exit_code == 1 and "below pearson = 0.99: quality_judge" in below.stderr
    assert run("--at-least", "r=1").exit_code == 2 and CliRunner().invoke(main, ["agree"]).exit_code == 2


@pytest.mark.sample
@pytest.mark.parametrize("out", ["r.html", "./more/../r.htm", "link.html", "labels.html"])
def test_no_file_that_was_read_is_written_over(home, tmp_path, out):
    """Neither by the page nor by the table beside it, by whatever path."""
    (tmp_path / "more").mkdir()
    labels = make_labels(users=4, items=10, each=8)
    judged = labels.drop(columns=["human_rating"])
    judged.to_csv(tmp_path / "r.csv", index=False)
    labels.drop(columns=["quality_judge", "blind_judge", "personal_judge"]).to_csv(tmp_path / "labels.csv", index=False)
    (tmp_path / "link.csv").symlink_to(tmp_path / "r.csv")
    before = {file: file.read_bytes() for file in tmp_path.glob("*.csv")}
    done = CliRunner().invoke(
        main, ["agree", str(tmp_path / "r.csv"), str(tmp_path / "labels.csv"), "--out", str(tmp_path / out)]
    )
    assert done.exit_code == 1 and "was read, and would be written over" in done.output, done.output
    assert {file: file.read_bytes() for file in tmp_path.glob("*.csv")} == before and not list(tmp_path.glob("*.htm*"))
    done = CliRunner().invoke(main, ["agree", str(tmp_path / "r.csv"), "--out", str(tmp_path / "r.csv")])
    assert done.exit_code == 2 and "expected a page: FILE.html" in done.output


def test_what_is_left_out_is_counted_and_too_much_of_it_is_refused(tmp_path):
    lines = make_labels().astype(object).to_dict("records")
    text = [json.dumps(line) for line in lines]
    (tmp_path / "few.jsonl").write_text("\n".join([*text, "{", "[1]"]))
    found = agree(tmp_path / "few.jsonl", judges=["quality_judge"])
    assert f"left out: 2 of {len(text) + 2} rows cannot be read, the first: few.jsonl:{len(text) + 1}" in found.notes[0]
    (tmp_path / "many.jsonl").write_text("\n".join([*text[:40], *["{"] * 200]))
    with pytest.raises(DataError, match=r"200 of 240 rows cannot be read, the first: many\.jsonl:41"):
        agree(tmp_path / "many.jsonl", judges=["quality_judge"])
    lines[3]["human_rating"] = None
    assert any(f"1 of {len(lines)} rows have no label" in note for note in agree(lines, judges=["quality_judge"]).notes)


def test_second_labels_of_one_person_on_one_item_are_said_and_where_they_differ_asked_about():
    labels = make_labels()
    same = pd.concat([labels, labels.head(5)])
    found = agree(same, judges=["quality_judge"])
    assert any(f"5 of {len(same)} rows hold a further label" in note for note in found.notes)
    other = labels.head(5).assign(human_rating=labels["human_rating"].head(5) % 5 + 1)
    differing = pd.concat([labels, other], ignore_index=True)
    with pytest.raises(DataError, match=r"(?s)they differ, as those of .*\(--item\).*--repeats first"):
        agree(differing, judges=["quality_judge"])
    for repeats, kept in {"first": labels.head(5), "last": other}.items():
        chosen = agree(differing, judges=["quality_judge"], repeats=repeats)
        assert any(f"the {repeats} counts" in note for note in chosen.notes)
        given = chosen.verdicts.drop_duplicates(["user", "item"]).set_index(["user", "item"])["gold"]
        assert [given[u, i] for u, i in zip(kept["annotator"], kept["item_id"])] == kept["human_rating"].tolist()


def test_the_demo_needs_nothing():
    done = CliRunner().invoke(main, ["agree", "--demo"])
    assert done.exit_code == 0 and done.output.startswith("gpt4o is not shown to be usable")
    assert "over 35 panels of people" in done.output and "other people    211" in done.output


def test_errors_count_the_other_way_round(found):
    assert "personal_judge" in find_below(found, "mae", 0.1) and find_below(found, "mae", 5) == []
    assert perslib.agree is agree and json.dumps(found.notes)


def test_two_files_in_the_plainest_form_are_joined_by_user_and_item():
    """Items are numbered within users, and the judge has a name in each row, whatever its scores are called."""
    draw = np.random.default_rng(3)
    labels = pd.DataFrame(
        [(f"u{u}", i, int(draw.integers(1, 6))) for u in range(12) for i in range(10)],
        columns=["user", "item", "score"],
    )
    for called in ("score", "verdict"):
        verdicts = labels.rename(columns={"score": called}).assign(judge="gpt")
        (judged,) = agree(verdicts, labels).table.query("judge == 'gpt'").to_dict("records")
        assert judged["items"] == 120 and judged["users"] == 12 and judged["pearson"] == pytest.approx(1)
        assert judged["mae"] == 0


@pytest.mark.parametrize("names", [("ann_1", "ann_2", "ann_3"), ("rater1", "rater2"), ("human_1", "human_2")])
def test_annotators_have_a_column_each(names):
    draw = np.random.default_rng(4)
    table = pd.DataFrame(
        {"item": range(40), **{name: draw.integers(1, 6, 40) for name in names}, "gpt_score": draw.integers(1, 6, 40)}
    )
    for how in ({}, {"label": list(names)}):
        result = agree(table, **how)
        assert f"labels: an annotator a column, {', '.join(names)}" in result.notes
        assert result.table.set_index("judge").loc["gpt_score", "users"] == len(names)


def test_a_judge_that_is_named_is_no_person():
    draw = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "item": range(60),
            "judge": ["gpt", "qwen"] * 30,
            "score": draw.integers(1, 6, 60),
            "human": draw.integers(1, 6, 60),
        }
    )
    result = agree(table, label="human")
    assert "labels: human, of one user: no column says who rated" in result.notes


def test_probabilities_are_cut_at_a_half_and_controls_are_not_measured_against_themselves():
    draw = np.random.default_rng(6)
    gold = draw.integers(0, 2, 400)
    table = pd.DataFrame(
        {"item": range(400), "user": np.arange(400) % 20, "label": gold, "gpt": np.where(gold == 1, 0.55, 0.45)}
    )
    result = agree(table, judges=["gpt"], label="label")
    judged = result.table.set_index("judge")
    assert judged.loc["gpt", "accuracy"] == judged.loc["gpt", "kappa"] == judged.loc["gpt", "auc"] == 1
    assert judged.loc[[USER_MEAN, COMMONEST], "gain"].isna().all()


def test_choices_are_read_and_the_control_is_a_habit_of_side():
    draw = np.random.default_rng(7)
    table = pd.DataFrame(
        {"item": range(200), "user": np.arange(200) % 20, "human": draw.choice(["A", "B", "tie"], 200)}
    )
    result = agree(table.assign(gpt=table["human"].str.lower()))
    assert result.table.set_index("judge").loc["gpt", "pearson"] == pytest.approx(1)
    assert any("habit of side" in note for note in result.notes)


def agree_on(**labels):
    """The judge `gpt`, right but for its noise, beside labels that stand for the same thing from 1 (bad) to 5."""
    (name, write), *_ = labels.items()
    good = make_labels(users=12)["human_rating"].to_numpy()
    table = pd.DataFrame({"item": range(len(good)), "user": np.arange(len(good)) % 12, "gpt": good})
    return agree(table.assign(**{name.replace("_is_", " = "): [write(value) for value in good]}))


@pytest.mark.parametrize(
    ("name", "write", "left_out"),
    [
        ("human_rating", int, 0),
        ("human_rating (1_is_best)", lambda value: 6 - value, 0),
        ("human_rating (1_is_bad, 5_is_good)", int, 0),
        ("human_rating", lambda value: -99 if value == 3 else value, None),
        ("human_rating", lambda value: "N/A" if value == 3 else value, None),
        ("human_rating", lambda value: f"{6 - value} (best)" if value == 5 else str(6 - value), 0),
    ],
)
def test_labels_are_read_as_an_import_reads_them(name, write, left_out):
    found = agree_on(**{name: write})
    assert found.table.set_index("judge").loc["gpt", "pearson"] == pytest.approx(1)
    assert any("have no label" in note for note in found.notes) == (left_out is None)


@pytest.mark.parametrize("name", ["Note", "human_dissatisfaction"])
def test_labels_whose_direction_nothing_says_are_asked_about(name):
    with pytest.raises(DataError, match=r"nothing says which end is the best\n.*--scale 5-1"):
        agree_on(**{name: lambda value: 6 - value})
    table = pd.DataFrame({"item": range(60), "user": np.arange(60) % 12, "gpt": np.arange(60) % 5 + 1})
    turned = agree(table.assign(**{name: 6 - table["gpt"]}), label=name, scale="5-1")
    assert turned.table.set_index("judge").loc["gpt", "pearson"] == pytest.approx(1)


def test_own_ratings_mend_a_judge_that_does_not_know_the_level_and_no_other():
    found = agree(make_labels(users=30, noise=0.3), judges=["quality_judge", "personal_judge"], history=True)
    traced = found.history.set_index(["judge", "ratings"])
    mended = traced.loc["quality_judge", "mended"].drop("0")
    assert mended["20"] > mended["5"] > mended["1"] > 0 and traced.loc[("quality_judge", "20"), "mended_low"] > 0
    assert traced.loc[("personal_judge", "20"), "mended"] < 0.25 * mended["20"], "what knows the level gains little"
    assert traced.loc[("quality_judge", "0"), "pearson"] < traced.loc[("quality_judge", "20"), "pearson"]
    assert any("quality_judge: with" in note for note in found.notes)


def test_own_ratings_mend_nothing_where_people_are_shuffled():
    labels = make_labels(users=30, seed=3)
    labels["annotator"] = np.random.default_rng(0).permutation(labels["annotator"].to_numpy())
    labels = labels.drop_duplicates(["item_id", "annotator"])
    found = agree(labels, judges=["quality_judge"], history=True)
    assert not (found.history["mended_low"] > 0).any()
    assert any("are not shown to bring" in note for note in found.notes)


def test_a_label_moves_the_scores_of_other_items_and_not_that_of_its_own():
    rows = [
        {"user": f"u{u}", "session": f"i{i}", "request": "q", "response": "r", "score": 1 + (u * i) % 5}
        for u in range(12)
        for i in range(9)
    ]
    before, after = (
        perslib.corpus.read_rows([rows[0] | {"score": score}, *rows[1:]], "labels").corpus for score in (1, 5)
    )
    found = []
    for corpus in (before, after):
        own = corpus.turns[[*TURN]].assign(
            judge="j", backbone=None, raw=np.arange(len(rows)) % 4 + 1.0, gold=corpus.gold.to_numpy(float)
        )
        found.append(pd.Series(map_apart(own, own["user"], corpus)["20"]))
    is_other = ~np.isclose(*found)
    assert not is_other[0] and is_other[before.turns["user"].eq("u0")].sum() == 8


def test_history_is_a_table_of_its_own_in_the_terminal_and_beside_the_page(tmp_path):
    make_labels(users=12, each=12).drop(columns=["blind_judge", "personal_judge"]).to_csv(
        tmp_path / "mine.csv", index=False
    )
    done = CliRunner().invoke(
        main, ["agree", str(tmp_path / "mine.csv"), "--history", "--out", str(tmp_path / "page.html")]
    )
    assert done.exit_code == 0, done.output
    assert "own ratings known" in done.output and "earlier" in done.output
    assert len(pd.read_csv(tmp_path / "page_history.csv")) == 7
    few = CliRunner().invoke(main, ["agree", str(tmp_path / "few.csv"), "--history"])
    assert few.exit_code
