"""PAL-Bench's metrics, on examples counted by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from perslib.errors import DataError, UnknownName
from perslib.stats import fleiss
from perslib.systems.mem_pal.bench import best_bleu, bleu
from perslib.systems.mem_pal.bench.measures import (
    choose_tokenizer,
    decide_winner,
    list_bleu_names,
    plan_comparison_runs,
    score_selection,
    split_words,
    vote,
)

NEED = "用户需要在频繁出差时保持规律饮食，并减轻胃部不适。"
GUESS = "用户希望出差时也能规律饮食，减轻胃部负担。"
HABIT = "每天早上花十分钟写下最重要的三件事。"
LIKED = ("每天早上用十分钟列出三件最重要的事。", "下班后和家人散步半小时来放松心情。")
CALM = ("The user needs a calm morning routine.", "The user wants a calm morning.")


def six(scores: dict[str, float]) -> list[float]:
    return [round(value, 6) for value in scores.values()]


def test_chinese_is_cut_by_jieba_with_its_punctuation():
    assert "/".join(split_words(NEED)) == "用户/需要/在/频繁/出差/时/保持/规律/饮食/，/并/减轻/胃部不适/。"
    assert "/".join(split_words(GUESS)) == "用户/希望/出差/时/也/能/规律/饮食/，/减轻/胃部/负担/。"


def test_bleu_against_one_reference():
    assert six(bleu(GUESS, NEED)) == [0.569822, 0.363192, 0.226293, 0.100697]


def test_the_weights_of_bleu_3_sum_to_99_hundredths():
    precisions = [8 / 13, 3 / 12, 1 / 11]
    with_thirds = np.exp(1 - 14 / 13) * np.prod(precisions) ** (1 / 3)
    assert round(with_thirds, 6) == 0.223095 != round(bleu(GUESS, NEED)["bleu_3"], 6)


def test_the_better_of_two_references_counts_order_by_order():
    assert six(bleu(HABIT, LIKED[0])) == [0.818182, 0.572078, 0.334981, 0.146014]
    assert six(bleu(HABIT, LIKED[1])) == [0.090909, 0.030151, 0.022462, 0.018850]
    assert best_bleu(HABIT, LIKED) == bleu(HABIT, LIKED[0])
    assert all(np.isnan(list(best_bleu(HABIT, ()).values())))


@pytest.mark.parametrize("said", ["毫无关系", "", " "])
def test_nothing_in_common_is_zero_and_not_smoothed(said):
    assert six(bleu(said, "完全不同")) == [0, 0, 0, 0]


def test_english_counts_words_under_another_name():
    assert len(split_words(CALM[1])) == 12 and len(split_words(CALM[0])) == 14 and " " in split_words(CALM[0])
    published = bleu(*CALM)
    assert six(published) == [0.785714, 0.695353, 0.625916, 0.544518]
    ours = bleu(*CALM, tokens="words")
    assert list(ours) == ["word_bleu_1", "word_bleu_2", "word_bleu_3", "word_bleu_4"]
    # The, user, a, calm, morning and the full stop of 8; "The user", "a calm", "calm morning" of 7
    assert six(ours)[:2] == [0.75, round((6 / 8 * 3 / 7) ** 0.5, 6)] and ours["word_bleu_4"] < published["bleu_4"]
    assert (choose_tokenizer("zh"), choose_tokenizer("en")) == ("jieba", "words")
    assert split_words("don't re-read it.", "words") == ("don't", "re-read", "it", ".")
    with pytest.raises(UnknownName):
        list_bleu_names("letters")


LABELS = {f"S{i}": {2: "pos", 5: "pos", 3: "neg", 7: "neg"}.get(i, "neu") for i in range(1, 9)}


def test_selections_are_worth_what_they_hit():
    picks = [("S2", "S5"), ("S2", "S1"), ("S2", "S3"), ("S3", "S7"), ("S4", "S6")]
    worth = [score_selection(pick, LABELS) for pick in picks]
    assert worth == [2, 1, 0, -2, 0]
    every = [score_selection(pair, LABELS) for pair in combinations(LABELS, 2)]
    assert np.mean(every) == 0 and [every.count(v) for v in (2, 1, 0, -1, -2)] == [1, 8, 10, 8, 1]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ((8, 7, 8, 6, 7, 7), (7,) * 6, "win"),
        ((8, 7, 8, 6, 6, 7), (7,) * 6, "tie"),
        ((5, 6, 6, 7, 7, 6), (7, 7, 6, 7, 7, 7), "lose"),
        ((0.1, 0.2), (0.3, 0.0), "tie"),  # 0.1 + 0.2 is not 0.3 in floats
    ],
)
def test_the_higher_sum_wins(ours, theirs, expected):
    assert decide_winner(ours, theirs) == expected
    turned = {"win": "lose", "lose": "win", "tie": "tie"}
    assert decide_winner(theirs, ours) == turned[expected]


def test_means_close_to_each_other_may_count_as_a_tie():
    assert decide_winner((8, 7, 8, 6, 7, 7), (7,) * 6, tie_within=1 / 6) == "tie"
    assert decide_winner((8, 7, 8, 6, 7, 7), (7,) * 6, tie_within=0.16) == "win"


def test_half_of_the_evaluations_are_swapped():
    assert plan_comparison_runs(4) == [(False, 0), (False, 1), (True, 0), (True, 1)]
    with pytest.raises(DataError, match="even"):
        plan_comparison_runs(3)


def test_kappa_of_fleiss():
    assert np.isnan(fleiss([])) and np.isnan(fleiss([[1, 0]]))
    # Fleiss (1971) on three raters: P̄ = (1 + 1/3) / 2, P_e = (4/6)² + (2/6)²
    assert fleiss([[3, 0], [1, 2]]) == pytest.approx((2 / 3 - 5 / 9) / (4 / 9))


def test_votes():
    assert vote(["win", "win", "lose"]) == "win"
    assert vote(["win", "lose"]) == "tie" == vote([])
