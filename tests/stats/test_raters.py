"""People as raters: a file that only grows, and ratings that stand beside judges' verdicts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import TURN, load
from perslib.errors import DataError, UnknownName
from perslib.explorer.ratings import Rating, rater, read_ratings, save_rating
from perslib.stats import agreement, agreement_between, measure, reason_agreement

GOLD = [5, 4, 3, 4, 2, 5, 5, 4, 5, 3, 2, 4]
SCORE = [4, 4, 3, 5, 3, 5, 4, 4, 5, 4, 3, 4]
USER = list("AAAAABBBBCCC")
ONE = Rating("Ann", "u", "travel", "0", 1, score=3, reason="unusable", note='she said "no"\nand left')


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ratings" / "zh.jsonl"


def verdicts(judge: str, scores: list[float], **further) -> pd.DataFrame:
    keys = {"user": USER, "scenario": "travel", "session": "0", "turn": range(12)}
    return pd.DataFrame({"judge": judge, **keys, "raw": np.array(scores, float), **further})


def test_a_rating_comes_back_as_a_verdict(path):
    written = save_rating(path, ONE)
    assert pd.Timestamp(written.at).tz is not None
    (row,) = read_ratings(path).to_dict("records")
    told = {c: row[c] for c in (*TURN, "judge", "raw", "reason", "note", "satisfied", "gold_shown")}
    assert told == {
        **dict(zip(TURN, ("u", "travel", "0", 1))),
        "judge": "rater: Ann",
        "raw": 3.0,
        "reason": "unusable",
        "note": ONE.note,
        "satisfied": False,
        "gold_shown": False,
    }
    assert len(path.read_text("utf-8").splitlines()) == 1, "a line break in a note does not end the line"


def test_a_file_that_is_not_there_has_no_ratings(path):
    found = read_ratings(path)
    assert found.empty and {"judge", "raw", "note"} <= set(found)
    assert found.attrs == {"not_blind": 0, "replaced": 0, "torn": []}


def test_the_last_rating_counts_and_earlier_ones_stay(path):
    save_rating(path, ONE)
    save_rating(path, replace(ONE, rater="Bo"))
    save_rating(path, replace(ONE, score=4, reason=None))
    found = read_ratings(path).set_index("judge")
    assert found["raw"].to_dict() == {"rater: Ann": 4.0, "rater: Bo": 3.0}
    assert pd.isna(found.loc["rater: Ann", "reason"])
    assert found.attrs["replaced"] == 1
    assert len(path.read_text("utf-8").splitlines()) == 3


def test_ratings_that_had_seen_other_opinions_are_left_out_and_counted(path):
    save_rating(path, ONE)
    save_rating(path, replace(ONE, score=5, reason=None, gold_shown=True))
    save_rating(path, replace(ONE, turn=2, verdict_shown=True))
    blind, every = read_ratings(path), read_ratings(path, blind=False)
    assert blind["raw"].tolist() == [3.0], "the blind rating is heard though a later one replaced it"
    assert blind.attrs["not_blind"] == 2
    assert every.sort_values("turn")["raw"].tolist() == [5.0, 3.0]
    assert every.attrs["not_blind"] == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": 6}, "expected 1–5"),
        ({"score": True}, "expected 1–5"),
        ({"score": 3.5}, "expected 1–5"),
        ({"reason": None}, "expected one of: insufficient detail"),
        ({"reason": "满意"}, "expected one of"),
        ({"score": 4}, "the user is satisfied: expected none"),
        ({"rater": " "}, "rater is empty, expected a text"),
        ({"turn": -1}, "turn is -1"),
        ({"gold_shown": 1}, "expected true or false"),
    ],
)
def test_what_the_published_scheme_does_not_allow_is_refused_and_not_written(path, change, said):
    with pytest.raises(DataError, match=said):
        save_rating(path, replace(ONE, **change))
    assert not path.exists()


def test_reasons_of_both_languages_are_published_ones(path):
    save_rating(path, replace(ONE, reason="不够多样"))
    assert read_ratings(path)["reason"].tolist() == ["不够多样"]


@pytest.mark.parametrize("cut", [5, 40, 90, 150, -3])
def test_a_line_cut_by_a_crash_is_reported_and_what_follows_is_read(path, cut):
    save_rating(path, replace(ONE, note="太短了 {see}"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole.strip()[:cut])
    assert read_ratings(path).attrs["torn"] == ["zh.jsonl:2"]
    save_rating(path, replace(ONE, turn=7))
    found = read_ratings(path)
    assert found["turn"].tolist() == [1, 7] and found.attrs["torn"] == ["zh.jsonl:2"]


def test_only_the_line_break_lost_is_nothing_lost(path):
    save_rating(path, ONE)
    path.write_bytes(path.read_bytes().rstrip())
    save_rating(path, replace(ONE, turn=2))
    assert read_ratings(path)["turn"].tolist() == [1, 2]
    assert not read_ratings(path).attrs["torn"]


def test_bad_lines_are_all_named_with_their_place(path):
    save_rating(path, ONE)
    line = json.loads(path.read_text("utf-8"))
    bad = [json.dumps(line | {"score": 9}), "[1]", "hello", json.dumps({k: line[k] for k in line if k != "session"})]
    path.write_text("\n".join([json.dumps(line), *bad]), "utf-8")
    with pytest.raises(DataError) as caught:
        read_ratings(path)
    assert [p.place for p in caught.value.problems] == [f"zh.jsonl:{n}" for n in (2, 3, 4, 5)]
    text = str(caught.value)
    assert "score is 9" in text and "expected an object" in text and "session is missing" in text
    assert "Mend or delete" in text


@pytest.mark.parametrize(("field", "value"), [("note", "\ud83d"), ("rater", "A\ud83d"), ("turn", 10**400)])
def test_what_no_table_can_hold_is_neither_written_nor_read(path, field, value):
    with pytest.raises(DataError, match=rf"rating: {field} (holds half a character|is a whole number of 401)"):
        save_rating(path, replace(ONE, **{field: value}))
    line = json.loads(json.dumps(asdict(ONE)))
    path.parent.mkdir()
    path.write_text(f"{json.dumps(line | {field: value})}\n{'[' * 100_000}\n", "utf-8")
    with pytest.raises(DataError) as caught:
        read_ratings(path)
    first, second = map(str, caught.value.problems)
    assert first.startswith(f"zh.jsonl:1: {field} ") and second == "zh.jsonl:2: is nested deeper than 100 levels"


def test_two_notebooks_can_rate_at_once(path):
    def many(name: str) -> None:
        for turn in range(50):
            save_rating(path, replace(ONE, rater=name, turn=turn))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(many, ("Ann", "Bo")))
    assert read_ratings(path)["judge"].value_counts().to_dict() == {"rater: Ann": 50, "rater: Bo": 50}


def test_a_rater_is_one_more_row_of_an_agreement_table(path):
    corpus = load("sample/en")
    rated = corpus.turns[corpus.turns["score"].notna()].groupby("user").head(3)
    for row in rated.itertuples():
        low = row.score <= 3
        reason = row.reason if low else None
        save_rating(path, Rating("Ann", row.user, row.scenario, row.session, row.turn, int(row.score), reason))
    found = read_ratings(path)
    table = agreement(found, corpus, metrics=["mae", "accuracy"]).set_index("metric")
    assert table["judge"].unique().tolist() == ["rater: Ann"]
    assert table["value"].to_dict() == {"mae": 0.0, "accuracy": 1.0}
    assert table["turns"].tolist() == [len(rated)] * 2
    reasons = reason_agreement(found, corpus)
    assert reasons.set_index("metric").loc["accuracy_all", "value"] == 1.0


def test_two_raters_against_each_other_worked_numbers():
    frame = pd.concat([verdicts(rater("Ann"), GOLD), verdicts("judge", SCORE)])
    found = agreement_between(frame, "judge", "rater: Ann", metrics=["pearson", "mae", "qwk", "false_sat"])
    values = found.set_index("metric")["value"]
    assert values["pearson"] == pytest.approx(0.7730206825)
    assert values["mae"] == 0.5 and values["qwk"] == pytest.approx(0.7) and values["false_sat"] == 0.25
    assert (found["turns"] == 12).all() and (found["users"] == 3).all()
    assert found[["value_low", "value_high"]].isna().all(axis=None), "three users say nothing of others"


def test_between_takes_the_replies_that_both_scored_and_counts_the_others():
    ann = verdicts(rater("Ann"), GOLD).iloc[:8]
    judge = verdicts("judge", [*SCORE[:11], np.nan]).iloc[2:]
    found = agreement_between(pd.concat([ann, judge]), "judge", "rater: Ann", metrics=["mae"]).iloc[0]
    assert found["value"] == pytest.approx(np.abs(np.subtract(GOLD, SCORE))[2:8].mean())
    assert found[["turns", "only_a", "only_b"]].tolist() == [6, 3, 2]


def test_between_has_intervals_over_users_from_ten_on():
    users = [f"u{i}" for i in range(12)]
    frame = pd.concat([verdicts("rater: Ann", GOLD, backbone=None), verdicts("judge", SCORE, backbone="m")])
    frame["user"] = users * 2
    row = agreement_between(frame, ("judge", "m"), "rater: Ann", metrics=["pearson"]).iloc[0]
    assert row["value_low"] < row["value"] < row["value_high"]
    assert row["a"] == "judge (m)" and row["b"] == "rater: Ann"
    again = agreement_between(frame, ("judge", "m"), "rater: Ann", metrics=["pearson"]).iloc[0]
    assert row["value_low"] == again["value_low"], "the same seed draws the same users"


def test_the_second_is_rounded_to_the_scale_as_a_label_is():
    real = np.array(GOLD) + 0.3
    frame = pd.concat([verdicts("a", SCORE), verdicts("b", list(real))])
    mae = agreement_between(frame, "a", "b", metrics=["mae"])["value"].item()
    assert mae == measure(GOLD, SCORE, metrics=["mae"])["mae"]


def test_replies_of_candidates_do_not_meet_recorded_ones():
    frame = pd.concat([verdicts("a", SCORE, candidate="x"), verdicts("b", GOLD, candidate=None)])
    assert agreement_between(frame, "a", "b", metrics=["mae"]).iloc[0]["turns"] == 0


def test_between_names_what_it_cannot_do():
    frame = pd.concat([verdicts("a", SCORE), verdicts("b", GOLD)])
    with pytest.raises(UnknownName, match="'c'"):
        agreement_between(frame, "a", "c")
    with pytest.raises(DataError, match="no score column 'cdf'"):
        agreement_between(frame, "a", "b", score="cdf")
    with pytest.raises(DataError, match="a has two verdicts on A/travel/0/0"):
        agreement_between(pd.concat([frame, frame.head(1)]), "a", "b")
