"""Quantiles from few labels and many judgments: by hand, on a scale with ties, and what intervals cover."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from perslib import inference
from perslib.errors import DataError
from perslib.inference import classical_quantile, ppi_quantile


def test_the_formula_by_hand():
    # λ = 1: up to 3, F̂ = 1/5 − (2/5 − 1/4) = .05; up to 4, F̂ = 3/5 − (4/5 − 3/4) = .55.
    gold, judged, others = [5, 4, 3, 4, 5], [4, 3, 3, 4, 5], [4, 3, 4, 5]
    assert ppi_quantile(gold, judged, others, 0.5, lam=1).value == 4
    assert ppi_quantile(gold, judged, others, 0.55, lam=1).value == 4
    assert ppi_quantile(gold, judged, others, 0.56, lam=1).value == 5
    assert ppi_quantile(gold, judged, others, 0.05, lam=1).value == 3
    estimate = ppi_quantile(gold, judged, others)
    assert (estimate.n, estimate.N, estimate.clusters) == (5, 4, 5)


def test_of_independent_labels_it_is_wilsons_interval_with_t():
    """θ stays in while |p − q| ≤ t √(q (1 − q) / (n − 1)): for 25 labels 1 … 25, q = ½ and t = 2.064, .2107."""
    alone = classical_quantile(np.arange(1.0, 26), q=0.5)
    # 7/25 = .28 is too few and 8/25 enough; 17/25 = .68 is not too many before 18, 18/25 = .72 is.
    assert (alone.value, alone.low, alone.high) == (13, 8, 18)
    narrower = classical_quantile(np.arange(1.0, 26), q=0.5, level=0.8)
    assert 8 < narrower.low < narrower.value < narrower.high < 18


def test_ends_that_nothing_bounds_are_infinite():
    gold = np.arange(1.0, 13)
    top = classical_quantile(gold, q=0.95)
    assert top.value == 12 and math.isinf(top.high) and top.low < 12
    bottom = classical_quantile(gold, q=0.05)
    assert bottom.value == 1 and bottom.low == -math.inf and bottom.high > 1


def test_a_scale_with_ties_and_nothing_but_ties():
    user = np.repeat(np.arange(30), 4)
    gold = np.tile([4, 4, 4, 5], 30)
    assert classical_quantile(gold, q=0.5, cluster=user)[:3] == (4, 4, 4)
    same = classical_quantile(np.full(120, 4), q=0.5, cluster=user)
    assert same[:3] == (4, 4, 4)
    powered = ppi_quantile(
        np.full(120, 4), np.full(120, 3), [3] * 40, cluster=user, cluster_unlabelled=user[:40]
    )
    assert powered[:3] == (4, 4, 4) and powered.lam == 0


def test_a_judge_of_noise_a_constant_and_none_leave_the_classical_interval():
    rng = np.random.default_rng(1)
    gold, user = rng.normal(size=60), np.repeat(np.arange(20), 3)
    alone = classical_quantile(gold, q=0.3, cluster=user)
    of = {"cluster": user, "cluster_unlabelled": np.repeat(np.arange(20, 40), 3)}
    # Scores that lie beyond all of people's say nothing about any θ between.
    assert ppi_quantile(gold, np.full(60, 9.0), np.full(60, 9.0), 0.3, **of)[:3] == alone[:3]
    assert ppi_quantile(gold, [math.nan] * 60, [math.nan] * 60, 0.3, **of).value == alone.value
    assert ppi_quantile(gold, rng.normal(size=60), rng.normal(size=60), 0.3, lam=0, **of)[:3] == alone[:3]


def test_many_values_are_counted_in_parts(monkeypatch):
    rng = np.random.default_rng(2)
    gold, judged, others = rng.normal(size=40), rng.normal(size=40), rng.normal(size=90)
    whole = ppi_quantile(gold, judged, others, 0.4)
    monkeypatch.setattr("perslib.inference.quantiles._AT_A_TIME", 130 * 7)
    assert ppi_quantile(gold, judged, others, 0.4) == pytest.approx(whole)


def drawn(rng: np.random.Generator, whole: bool, users: int = 60, labelled: int = 20, turns: int = 5):
    """A judge on people's scale that sees through some noise, of users who differ; all turns of a few are labelled."""
    user = np.repeat(np.arange(users), turns)
    gold = 3.3 + rng.normal(0, 0.5, users)[user] + rng.normal(0, 0.9, len(user))
    judged = 3.3 + 0.8 * (gold - 3.3) + rng.normal(0, 0.4, len(user))
    return (np.clip(np.rint(gold), 1, 5) if whole else gold), judged, user, user < labelled


#: √(.25 + .81) is the spread of all turns; Φ⁻¹(.75) = .6745.
QUARTILE = 3.3 + 0.6744898 * math.sqrt(1.06)


@pytest.mark.parametrize(("q", "truth"), [(0.5, 3.3), (0.75, QUARTILE)])
def test_intervals_cover_as_they_say_and_a_judge_on_the_scale_narrows_them(q, truth):
    rng, trials = np.random.default_rng(3), 200
    covered = {(kind, level): 0 for kind in ("ppi", "alone") for level in (0.9, 0.95)}
    narrower = []
    for _ in range(trials):
        gold, judged, user, known = drawn(rng, whole=False)
        of = {"cluster": user[known], "cluster_unlabelled": user[~known]}
        for level in (0.9, 0.95):
            both = ppi_quantile(gold[known], judged[known], judged[~known], q, **of, level=level)
            alone = classical_quantile(gold[known], judged[known], judged[~known], q, **of, level=level)
            covered["ppi", level] += both.low <= truth <= both.high
            covered["alone", level] += alone.low <= truth <= alone.high
        narrower.append((both.high - both.low) / (alone.high - alone.low))
    for (_, level), count in covered.items():
        assert abs(count / trials - level) < 3 * math.sqrt(level * (1 - level) / trials)
    assert np.median(narrower) < 0.9


def test_on_five_scores_they_cover_at_least_as_often():
    """P(Y ≤ 3) is Φ(.2 / √1.06) = .577 and P(Y ≤ 2) Φ(−.8 / √1.06) = .219: ⅕ is at the step to 2, .6 at that to 4."""
    rng, trials = np.random.default_rng(4), 120
    covered, widths = {0.2: 0, 0.5: 0, 0.6: 0}, []
    truth = {0.2: 2, 0.5: 3, 0.6: 4}
    for _ in range(trials):
        gold, judged, user, known = drawn(rng, whole=True)
        of = {"cluster": user[known], "cluster_unlabelled": user[~known]}
        for q in covered:
            both = ppi_quantile(gold[known], np.rint(judged[known]), np.rint(judged[~known]), q, **of)
            covered[q] += both.low <= truth[q] <= both.high
            widths.append(both.high - both.low)
    for count in covered.values():
        assert count / trials > 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials)
    assert np.mean(widths) < 1, "not for want of saying anything"


def test_users_taken_for_turns_promise_too_much():
    rng, inside = np.random.default_rng(5), 0
    for _ in range(100):
        user = np.repeat(np.arange(12), 12)
        gold = rng.normal(size=12)[user] + rng.normal(0, 0.5, 144)
        found = classical_quantile(gold)
        inside += found.low <= 0 <= found.high
    assert inside / 100 < 0.8


@pytest.mark.parametrize("name", ["mean", "difference", "quantile"])
def test_twins_take_the_same_arguments(name):
    powered, alone = (getattr(inference, f"{kind}_{name}") for kind in ("ppi", "classical"))
    of = [[(p.name, p.kind) for p in inspect.signature(f).parameters.values()] for f in (powered, alone)]
    assert of[0] == of[1]
    scores = [[5, 4, 3, 4, 4, 2], [4, 3, 2, 3, 3, 3]]
    pair = scores if name != "difference" else [s for s in scores for _ in range(2)]
    others = [[4, 3, 4]] if name != "difference" else [[4, 3, 4], [4, 3, 4]]
    users = {"cluster": list("abcdef"), "cluster_unlabelled": list("xyz")}
    assert powered(*pair, *others, **users, lam=0)[:4] == pytest.approx(alone(*pair, *others, **users)[:4])


def test_what_cannot_be_is_said():
    for said, arguments, named in [
        (r"q: 1 is not between 0 and 1", ([4, 3], [4, 3], [3], 1), {}),
        (r"level: 95 is not between 0 and 1", ([4, 3], [4, 3], [3]), {"level": 95}),
        ("There is no gold score", ([], [], [3]), {}),
        ("1 of 2 gold scores are missing", ([4, math.nan], [4, 3], [3]), {}),
        ("2 gold scores, but 1 judged", ([4, 3], [4], [3]), {}),
    ]:
        with pytest.raises(DataError, match=said):
            ppi_quantile(*arguments, **named)
    one_user = ppi_quantile([4, 3, 5], [4, 3, 4], [3], cluster=["a"] * 3, cluster_unlabelled=["b"])
    assert one_user.value == 4 and math.isnan(one_user.low) and math.isnan(one_user.high)
