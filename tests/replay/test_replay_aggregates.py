"""What candidates reached, and one against another: worked numbers, weights, missing scores, and naive loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from perslib.errors import DataError, UnknownName
from perslib.replay import (
    ORIGINAL,
    compare_candidate_scores,
    list_turn_differences,
    official_interval,
    summarize_candidates,
)
from perslib.stats import holm, interval, sign_flip, to_scale

KEYS = ["user", "scenario", "session", "turn"]


def verdicts(turns: Sequence[tuple[str, str]], judge: str = "personal", **scores: Sequence[float | None]):
    """One judge's verdicts: turns as (user, scenario), a list of scores for each candidate."""
    parts = [
        pd.DataFrame(
            {
                "candidate": name,
                "judge": judge,
                "backbone": "m",
                "user": [u for u, _ in turns],
                "scenario": [s for _, s in turns],
                "session": [str(i) for i in range(len(turns))],
                "turn": 1,
                "reference_cdf": pd.array(list(values), dtype="Float64"),
            }
        )
        for name, values in scores.items()
    ]
    return pd.concat(parts, ignore_index=True)


def made(rng: np.random.Generator, users: int = 12, turns: int = 60, candidates: int = 3, missing: float = 0.1):
    """Random verdicts, some of them unscored."""
    places = [(f"u{rng.integers(users)}", str(rng.choice(["gift", "travel", "skill"]))) for _ in range(turns)]
    scores = np.clip(np.round(rng.normal(4, 1, (candidates, turns)), 1), 1, 5)
    scores[rng.random(scores.shape) < missing] = np.nan
    names = [ORIGINAL, *(f"c{i}" for i in range(1, candidates))]
    return verdicts(places, **{n: [None if np.isnan(v) else v for v in s] for n, s in zip(names, scores)})


ONE_EACH = [(f"u{i}", "gift") for i in range(5)]


def test_averages_by_hand():
    # ada: gift 5, 4 and travel 2; bo: gift 3.
    turns = [("ada", "gift"), ("ada", "gift"), ("ada", "travel"), ("bo", "gift"), ("bo", "gift")]
    row = summarize_candidates(verdicts(turns, a=[5, 4, 2, 3, None])).iloc[0]
    assert row[["turns", "unscored", "users", "tasks", "blocks"]].tolist() == [4, 1, 2, 2, 3]
    assert row["micro"] == pytest.approx(14 / 4)
    assert row["user_macro"] == pytest.approx((11 / 3 + 3) / 2)
    assert row["task_macro"] == pytest.approx((4 + 2) / 2)
    assert row["block_macro"] == pytest.approx((4.5 + 2 + 3) / 3)
    assert (row["sat"], row["dsat"]) == pytest.approx((0.5, 0.5))
    assert row[["n1", "n2", "n3", "n4", "n5"]].tolist() == [0, 1, 1, 1, 1]
    assert row[["micro_low", "user_macro_high", "sat_low"]].isna().all()  # two users


def test_scores_between_three_and_four_are_one_or_the_other():
    row = summarize_candidates(verdicts(ONE_EACH, a=[3.2, 3.5, 3.9, 4.5, 2.5])).iloc[0]
    assert (row["sat"], row["dsat"]) == pytest.approx((0.6, 0.4))  # half to even: 3, 4, 4, 4, 2
    assert row[["n1", "n2", "n3", "n4", "n5"]].tolist() == [0, 1, 1, 3, 0]


def test_turns_weigh_by_the_inverse_of_their_probability():
    turns = [("ada", "gift"), ("ada", "gift"), ("ada", "travel"), ("bo", "gift")]
    frame = verdicts(turns, a=[5, 2, 4, 3])
    drawn = frame[KEYS].assign(inclusion=[1.0, 0.5, 0.25, 0.5])
    row = summarize_candidates(frame, inclusion=drawn.sample(frac=1, random_state=1)).iloc[0]  # weights 1, 2, 4, 2
    assert row["micro"] == pytest.approx((5 + 4 + 16 + 6) / 9)
    assert row["user_macro"] == pytest.approx((25 / 7 + 3) / 2)
    assert row["block_macro"] == pytest.approx((9 / 3 + 4 + 3) / 3)
    assert row["task_macro"] == pytest.approx((15 / 5 + 4) / 2)
    assert row["sat"] == pytest.approx(5 / 9) and row["sat"] + row["dsat"] == pytest.approx(1)
    assert row[["n2", "n3", "n4", "n5"]].tolist() == [1, 1, 1, 1]
    # Where nothing was left to chance every turn counts alike.
    alike = summarize_candidates(frame, inclusion=drawn.assign(inclusion=pd.array([pd.NA] * 4, dtype="Float64")))
    pd.testing.assert_frame_equal(alike, summarize_candidates(frame))
    pair = verdicts(turns, a=[5, 2, 4, 3], b=[4, 2, 5, 3])
    assert compare_candidate_scores(pair, "b", inclusion=drawn).loc[
        0, ["win", "tie", "lose"]
    ].tolist() == pytest.approx([1 / 9, 4 / 9, 4 / 9])


def test_a_replay_set_that_does_not_fit_is_refused():
    frame = verdicts([("ada", "gift"), ("bo", "gift")], a=[5, 4])
    drawn = frame[KEYS].assign(inclusion=[1.0, 0.5])
    with pytest.raises(DataError, match=r"bo / gift / 1 / 1[\s\S]*not in the replay set"):
        summarize_candidates(frame, inclusion=drawn.iloc[:1])
    with pytest.raises(DataError, match="1 of 2 turns have no inclusion"):
        summarize_candidates(frame, inclusion=drawn.assign(inclusion=[1.0, 0.0]))
    with pytest.raises(DataError, match="twice in the replay set"):
        summarize_candidates(frame, inclusion=pd.concat([drawn, drawn]))
    with pytest.raises(UnknownName, match="inclusion"):
        summarize_candidates(frame, inclusion=drawn[KEYS])


def test_keys_that_a_file_reader_took_for_numbers_are_the_same_keys():
    frame = verdicts([("1", "gift"), ("1", "gift"), ("2", "gift")], a=[5, 2, 4])
    drawn = frame[KEYS].assign(inclusion=[1.0, 0.5, 0.25])
    expected = summarize_candidates(frame, inclusion=drawn)
    for other in (
        drawn.astype({"session": int, "user": int, "turn": float}),
        drawn.astype({"session": float, "turn": str}),
    ):
        pd.testing.assert_frame_equal(summarize_candidates(frame, inclusion=other), expected)
        numbers = frame.astype(other[KEYS].dtypes.to_dict())
        pd.testing.assert_frame_equal(summarize_candidates(numbers, inclusion=drawn), expected)
    for wrong in (1.5, None, "first"):
        turns = drawn.astype({"turn": object})
        turns.loc[1, "turn"] = wrong
        with pytest.raises(DataError, match="replay set: column 'turn' holds more than whole numbers"):
            summarize_candidates(frame, inclusion=turns)


@pytest.mark.parametrize("seed", [1, 2])
def test_intervals_are_those_of_the_naive_loop(seed):
    """Values without a user are the averages of the turns of all others."""
    frame = made(np.random.default_rng(seed), **({"users": 24, "turns": 200} if seed == 2 else {}))
    of = frame[frame["candidate"] == "c1"].dropna(subset="reference_cdf")
    values = []
    for left_out in [None, *sorted(of["user"].unique())]:
        kept = of[of["user"] != left_out]
        score = kept["reference_cdf"].astype(float)
        means = [
            score.groupby([kept[c] for c in by]).mean().mean() for by in (["user"], ["scenario"], ["user", "scenario"])
        ]
        values.append([score.mean(), *means, (to_scale(score) >= 4).mean(), (to_scale(score) <= 3).mean()])
    row = summarize_candidates(frame).set_index("candidate").loc["c1"]
    names = ["micro", "user_macro", "task_macro", "block_macro", "sat", "dsat"]
    for name, drawn in zip(names, np.array(values).T):
        low, high, _ = interval(drawn, "share" if name in ("sat", "dsat") else "plain")
        bounds = [float(low), float(high)] if seed == 2 or "sat" not in name else [math.nan] * 2
        assert row[[f"{name}_low", f"{name}_high"]].tolist() == pytest.approx(bounds, nan_ok=True), name


def test_the_published_interval_number_for_number():
    three = official_interval({"A": 3.8, "B": 4.5, "C": 11 / 3})
    assert three == pytest.approx((3.6666666667, 4.5))
    means = {f"u{i}": m for i, m in enumerate([4.2, 4.5, 4.75, 3.9, 5.0, 4.6, 4.4])}
    assert official_interval(means) == pytest.approx((4.2428571429, 4.7142857143))
    assert official_interval(dict(reversed(means.items()))) == official_interval(means)
    assert all(map(math.isnan, official_interval({})))


def test_pairs_by_hand():
    frame = verdicts(ONE_EACH, **{ORIGINAL: [4, 4, 5, 3, 3], "new": [5, 4, 4, 3, 5]})
    row = compare_candidate_scores(frame).iloc[0]
    assert row[["candidate", "other", "n", "users"]].tolist() == ["new", ORIGINAL, 5, 5]
    assert row[["win", "tie", "lose", "mean_delta"]].tolist() == pytest.approx([0.4, 0.4, 0.2, 0.4])
    assert row["non_tie_win_rate"] == pytest.approx(0.6667, abs=1e-4)
    # Each user has one turn: users vote as turns do. All are gifts, so there is one task, and it is won.
    assert row[["user_win", "user_tie", "block_lose"]].tolist() == pytest.approx([0.4, 0.4, 0.2])
    assert row[["task_win", "task_tie", "task_mean_delta"]].tolist() == pytest.approx([1, 0, 0.4])
    # Of the 8 patterns of signs of +1, −1, +2, those with |sum| ≥ 2 are ±(1, −1, 2), ±(−1, 1, 2), ±(1, 1, 2).
    assert row["mean_delta_p"] == pytest.approx(6 / 8, abs=0.02) and row["mean_delta_p_holm"] == row["mean_delta_p"]


def test_users_scenarios_and_blocks_have_one_vote_each():
    turns = [("ada", "gift"), ("ada", "gift"), ("ada", "travel"), ("bo", "travel")]
    row = compare_candidate_scores(verdicts(turns, a=[5, 5, 1, 3], b=[4, 5, 4, 3]), "b").iloc[0]  # +1, 0, −3, 0
    assert row[["win", "tie", "lose"]].tolist() == pytest.approx([0.25, 0.5, 0.25])
    assert row[["user_win", "user_tie", "user_lose"]].tolist() == pytest.approx([0, 0.5, 0.5])
    assert row[["task_win", "task_tie", "task_lose"]].tolist() == pytest.approx([0.5, 0, 0.5])
    assert row[["block_win", "block_tie", "block_lose"]].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    means = ["mean_delta", "user_mean_delta", "task_mean_delta", "block_mean_delta"]
    assert row[means].tolist() == pytest.approx([-0.5, -1 / 3, -0.5, (0.5 - 3 + 0) / 3])


def test_the_original_replies_again_come_out_as_all_ties():
    frame = made(np.random.default_rng(5))
    null = frame[frame["candidate"] == ORIGINAL].assign(candidate="null")
    row = compare_candidate_scores(pd.concat([frame, null])).set_index("candidate").loc["null"]
    for group in ("", "user_", "task_", "block_"):
        assert row[[f"{group}win", f"{group}tie", f"{group}lose", f"{group}mean_delta"]].tolist() == [0, 1, 0, 0]
        assert row[[f"{group}mean_delta_low", f"{group}mean_delta_high"]].tolist() == [0, 0]
        assert math.isnan(row[f"{group}non_tie_win_rate"])
    assert (row["mean_delta_p"], row["mean_delta_p_holm"], row["left_out"], row["left_out_other"]) == (1, 1, 0, 0)


def test_turns_that_one_side_lacks_are_counted_and_left_out():
    turns = [*ONE_EACH, ("u0", "gift")]
    frame = verdicts(turns, a=[5, 4, None, None, 5, 4], b=[4, None, 4, None, 3, 4])
    frame = frame.drop(index=[len(turns) + 5])  # b was never asked about the sixth turn
    row = compare_candidate_scores(frame, "b").iloc[0]
    assert row[["n", "left_out", "left_out_other", "unscored"]].tolist() == [2, 2, 1, 1]
    assert row["mean_delta"] == pytest.approx(1.5)
    assert summarize_candidates(frame)["unscored"].tolist() == [2, 2]
    assert math.isnan(row["win_low"]) and math.isnan(row["mean_delta_p"])  # two users stand behind it


def test_p_flips_whole_users_and_is_corrected_over_the_candidates_of_a_judge():
    frame = made(np.random.default_rng(7), users=12, candidates=4)
    table = compare_candidate_scores(pd.concat([frame, frame.assign(judge="second")]))
    assert len(table) == 6 and table["judge"].tolist() == ["personal"] * 3 + ["second"] * 3
    for _, part in table.groupby("judge"):
        assert part["mean_delta_p_holm"].to_numpy() == pytest.approx(holm(part["mean_delta_p"]))
    delta = list_turn_differences(frame, "c2", ORIGINAL)
    assert table.loc[1, "mean_delta_p"] == sign_flip(delta.groupby("user")["difference"].sum().to_numpy())
    assert table.loc[1, "mean_delta"] == pytest.approx(delta["difference"].mean())
    assert table.loc[1, "n"] == len(delta)


def test_every_pair_stands_once_and_mirrors_its_reverse():
    frame = made(np.random.default_rng(8), candidates=4, turns=90)
    pairs = compare_candidate_scores(frame, None)
    assert len(pairs) == 6 and pairs["mean_delta_p_holm"].to_numpy() == pytest.approx(holm(pairs["mean_delta_p"]))
    there, back = pairs.set_index("other").loc["c3"].iloc[0], compare_candidate_scores(frame, "c3").iloc[0]
    assert there[["candidate", "win", "mean_delta"]].tolist() == back[["candidate", "win", "mean_delta"]].tolist()
    reverse = compare_candidate_scores(frame, ORIGINAL).set_index("candidate").loc["c3"]
    assert reverse[["win", "lose", "left_out"]].tolist() == back[["lose", "win", "left_out_other"]].tolist()
    assert reverse["user_mean_delta_low"] == pytest.approx(-back["user_mean_delta_high"])


def test_a_null_candidate_is_the_recorded_reply_and_doubles_are_refused():
    frame = verdicts(ONE_EACH, **{ORIGINAL: [4, 4, 5, 3, 3], "new": [5, 4, 4, 3, 5]})
    recorded = frame.assign(candidate=frame["candidate"].mask(frame["candidate"] == ORIGINAL))
    pd.testing.assert_frame_equal(compare_candidate_scores(recorded), compare_candidate_scores(frame))
    with pytest.raises(DataError, match=r"verdicts row 0: original on u0 / gift / 0 / 1 stands twice[\s\S]*5 in all"):
        summarize_candidates(pd.concat([frame, recorded[:5]]))
    with pytest.raises(DataError, match="several corpora"):
        summarize_candidates(frame.assign(corpus=["a", "b"] * 5))
    with pytest.raises(UnknownName, match="candidate called 'old'"):
        compare_candidate_scores(frame, "old")
    with pytest.raises(UnknownName, match="column of the verdicts"):
        summarize_candidates(frame, "expected")


def test_nobody_to_compare_with_gives_the_same_columns_and_no_row():
    alone, two = verdicts(ONE_EACH, a=[5, 4, 3, 4, 5]), verdicts(ONE_EACH, a=[5, 4, 3, 4, 5], b=[4] * 5)
    full = compare_candidate_scores(two, "b")
    for empty in (
        compare_candidate_scores(alone, "a"),
        compare_candidate_scores(alone, None),
        compare_candidate_scores(alone[:0], None),
    ):
        assert empty.empty and list(empty.columns) == list(full.columns)
        pd.testing.assert_series_equal(empty.dtypes, full.dtypes)


def test_a_candidate_without_any_score_has_counts_and_no_values():
    row = summarize_candidates(verdicts(ONE_EACH, a=[None] * 5, b=[4] * 5)).iloc[0]
    assert row[["turns", "unscored", "users", "blocks", "n3"]].tolist() == [0, 5, 0, 0, 0]
    assert row[["micro", "user_macro", "task_macro", "sat", "dsat", "user_macro_low"]].isna().all()
