"""Calibrators learned from train users: they find what simulated users were made with, and keep their promises."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from scipy.special import expit

from perslib.corpus import Corpus
from perslib.errors import DataError
from perslib.stats import (
    calibrate_verdicts,
    coverage,
    fit_conformal,
    fit_isotonic,
    fit_ordinal,
    fit_population,
    fit_tilt,
)
from perslib.stats.calibrate.short_histories import HistoryPrior

P = [f"p{s}" for s in range(1, 6)]
N = [f"n{s}" for s in range(1, 6)]


def corpus_of(counts):
    """Users whose scores come in these counts, all in one session."""
    scores = [(f"u{i}", s + 1) for i, row in enumerate(counts) for s in range(5) for _ in range(row[s])]
    turns = pd.DataFrame(scores, columns=["user", "score"]).assign(scenario="t", session="0", response="r")
    turns["turn"] = turns.groupby("user").cumcount()
    users = pd.DataFrame({"user": turns["user"].unique()})
    sessions = users.assign(scenario="t", session="0")
    return Corpus("made", "en", users, sessions, turns)


def people(users, turns, seed=0, thresholds=(-4.0, -2.5, -0.5, 1.5), slopes=(0.8, 1.5)):
    """Verdicts with gold of a proportional-odds world, and the users' histories."""
    rng = np.random.default_rng(seed)
    names = [f"u{seed}_{i}" for i in range(users)]
    counts = np.array([rng.multinomial(12, shares) for shares in rng.dirichlet([1, 1, 2, 4, 4], users)])
    table = pd.DataFrame({"user": names, "scenario": "t", **dict(zip(N, counts.T + 0.5))})
    level = table[N].to_numpy() @ np.arange(1, 6) / table[N].sum(axis=1).to_numpy()
    frame = pd.DataFrame({"user": np.repeat(names, turns), "scenario": "t", "judge": "j"})
    raw = rng.integers(1, 6, len(frame)).astype(float)
    index = slopes[0] * raw + slopes[1] * np.repeat(level - 4, turns) - slopes[0] * 3
    frame["gold"] = 1 + (rng.logistic(size=len(frame))[:, None] + index[:, None] > thresholds).sum(axis=1)
    return frame.assign(raw=pd.array(raw, dtype="Float64"), turn=0), table


# -- shrinkage -----------------------------------------------------------------------------------------


def test_shrinkage_runs_from_the_population_to_the_users_own():
    population = HistoryPrior((0.1, 0.1, 0.2, 0.3, 0.3), 10.0)
    table = pd.DataFrame({"user": ["new", "old"], "scenario": "t", **{n: [0, 10**9] for n in N}})
    shrunk = population.shrink(table)[N].to_numpy()
    shares = shrunk / shrunk.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares[0], population.shares)
    np.testing.assert_allclose(shares[1], [0.2] * 5, atol=1e-7)
    assert table[N].to_numpy().tolist() == [[0] * 5, [10**9] * 5]


def test_strength_is_found_again():
    rng = np.random.default_rng(1)
    shares = np.array([0.05, 0.05, 0.1, 0.4, 0.4])
    for strength in (3.0, 30.0):
        counts = [rng.multinomial(60, rng.dirichlet(strength * shares)) for _ in range(150)]
        found = fit_population(corpus_of(counts))
        assert found.strength == pytest.approx(strength, rel=0.25)
        np.testing.assert_allclose(found.shares, shares, atol=0.04)
    assert fit_population(corpus_of([[1, 1, 2, 3, 3]] * 40)).strength > 1000  # all alike


def test_a_shrunk_history_calibrates_a_user_without_any():
    table = pd.DataFrame({"user": ["u"], "scenario": ["t"], **{n: [0] for n in N}})
    verdicts = pd.DataFrame({"user": "u", "scenario": "t", "judge": "j", "raw": [1.0, 2.0, 3.0, 4.0], "turn": 0})
    shrunk = HistoryPrior((0.0, 0.0, 0.25, 0.25, 0.5), 3.0).shrink(table)
    done = calibrate_verdicts(verdicts, shrunk, ["cdf"], min_history=0)
    assert done["cdf"].tolist() == [3, 4, 5, 5]
    assert done["cdf_fallback"].isna().all()


# -- ordinal -------------------------------------------------------------------------------------------


def test_proportional_odds_finds_the_coefficients():
    train, table = people(400, 15)
    fitted = fit_ordinal(train, table)
    np.testing.assert_allclose(fitted.slopes, [0.8, 1.5], rtol=0.12)
    zero = 0.8 * 3 + 1.5 * 4  # where the made index has its origin
    np.testing.assert_allclose(fitted.thresholds - zero, [-4, -2.5, -0.5, 1.5], atol=0.5)
    p = fitted.distribution(train, table)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    # Maximum likelihood with free thresholds: predicted and given shares agree.
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(train["gold"], minlength=6)[1:] / len(train), atol=0.01)


@pytest.mark.parametrize("fit", [fit_ordinal, fit_isotonic])
def test_a_judge_that_goes_against_the_scores_counts_nothing(fit):
    train, table = people(40, 10)
    fitted = fit(train.assign(raw=6 - train["raw"]), table)
    low, high = (fitted.transform(train.assign(raw=raw), table)[fitted.name] for raw in (1.0, 5.0))
    np.testing.assert_allclose(low.astype(float), high.astype(float))
    assert low.nunique() > 10  # the level still counts


def test_the_gradients_are_right(monkeypatch):
    """Both likelihoods hand scipy their own gradients; finite differences must agree."""
    seen = []

    def spy(loss, start, **options):
        away = start + np.linspace(-0.3, 0.4, len(start))
        seen.append(check_grad(lambda x: loss(x)[0], lambda x: loss(x)[1], away))
        return type("Result", (), {"x": start})()

    for module in ("ordinal", "tilt"):
        monkeypatch.setattr(f"perslib.stats.calibrate.{module}.minimize", spy)
    train, table = people(10, 8)
    fit_ordinal(train, table)
    fit_tilt(train.assign(**dict(zip(P, np.random.default_rng(0).dirichlet([1] * 5, len(train)).T))), table)
    assert len(seen) == 2
    assert max(seen) < 1e-5


def test_a_score_nobody_gave_gets_next_to_nothing():
    train, table = people(40, 10)
    train = train[train["gold"] != 2]
    p = fit_ordinal(train, table).distribution(train, table)
    assert p[:, 1].max() < 1e-3
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_isotonic_gives_distributions_that_rise_with_the_score():
    train, table = people(60, 10)
    new, new_table = people(20, 5, seed=1)
    fitted = fit_isotonic(train, table)
    p = fitted.distribution(new, new_table)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (p >= 0).all()
    order = np.argsort(fitted.odds.index(new, new_table))
    assert (np.diff(p[order] @ np.arange(1, 6)) >= -1e-9).all()


def test_unscored_replies_are_neither_learned_from_nor_scored():
    train, table = people(30, 10)
    more = pd.concat([train, train.head(20).assign(raw=pd.NA, gold=1)], ignore_index=True)
    np.testing.assert_allclose(fit_ordinal(more, table).slopes, fit_ordinal(train, table).slopes)
    for fitted in (fit_ordinal(train, table), fit_isotonic(train, table)):
        done = fitted.transform(more.drop(columns="gold"), table)
        assert done[fitted.name].dtype == "Float64"
        assert done[fitted.name].isna().tolist() == [False] * len(train) + [True] * 20
        assert done[f"{fitted.name}_p5"].isna().sum() == 20


def test_a_train_frame_that_is_none():
    train, table = people(5, 4)
    with pytest.raises(DataError, match="'gold' is missing"):
        fit_ordinal(train.drop(columns="gold"), table)
    with pytest.raises(DataError, match="several judges"):
        fit_ordinal(pd.concat([train, train.assign(judge="k")]), table)
    with pytest.raises(DataError, match="Shrink the histories"):
        fit_ordinal(train, table.assign(**dict.fromkeys(N, 0)))
    with pytest.raises(DataError, match="'p1' is missing"):
        fit_tilt(train, table)


# -- distributions -------------------------------------------------------------------------------------


def distributions(users, turns, seed=0):
    """Gold drawn from the judge's own distribution."""
    frame, table = people(users, turns, seed)
    rng = np.random.default_rng(seed + 100)
    p = rng.dirichlet([0.4, 0.5, 1, 2, 2], len(frame))
    frame["gold"] = 1 + (rng.random(len(frame))[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(max=4)
    return frame.assign(**dict(zip(P, p.T))), table


def test_tilt_leaves_a_true_distribution_and_tempers_an_overconfident_one():
    train, table = distributions(600, 12)
    true = fit_tilt(train, table)
    assert true.trust == pytest.approx(1, abs=0.07)
    assert true.history == pytest.approx(0, abs=0.1)
    np.testing.assert_allclose(true.offsets, 0, atol=0.15)
    sharp = train[P].astype(float) ** 2
    bold = train.assign(**sharp.div(sharp.sum(axis=1), axis=0))
    tempered = fit_tilt(bold, table)
    assert tempered.trust == pytest.approx(0.5, abs=0.06)
    np.testing.assert_allclose(tempered.distribution(bold, table), true.distribution(train, table), atol=0.08)


def test_tilt_goes_by_the_history_where_the_judge_knows_nothing():
    rng = np.random.default_rng(3)
    names = [f"u{i}" for i in range(300)]
    shares = rng.dirichlet([1, 1, 2, 4, 4], len(names))
    table = pd.DataFrame({"user": names, "scenario": "t", **dict(zip(N, 1000 * shares.T))})
    frame = pd.DataFrame({"user": np.repeat(names, 20), "scenario": "t"}).assign(**dict.fromkeys(P, 0.2))
    frame["gold"] = np.concatenate([rng.choice(5, 20, p=s) + 1 for s in shares])
    fitted = fit_tilt(frame, table)
    assert fitted.history == pytest.approx(1, abs=0.06)
    np.testing.assert_allclose(fitted.distribution(frame, table)[::20], shares, atol=0.06)
    gap = frame.assign(p1=pd.array([pd.NA, *[0.2] * (len(frame) - 1)], dtype="Float64"))
    assert fitted.transform(gap, table)["tilted"].isna().sum() == 1


# -- conformal sets ------------------------------------------------------------------------------------


def moody(users, seed):
    """Users of very different lengths, whose scores all share one mood the distribution does not know."""
    rng = np.random.default_rng(seed)
    mood, turns = rng.normal(scale=1.2, size=users), rng.integers(1, 40, users)
    index = np.repeat(mood, turns) + rng.logistic(size=turns.sum())
    thresholds = np.array([-3, -2, -0.5, 1.0])
    p = np.diff(expit(thresholds), prepend=0, append=1)
    frame = pd.DataFrame({"user": np.repeat([f"{seed}_{i}" for i in range(users)], turns)})
    return frame.assign(gold=1 + (index[:, None] > thresholds).sum(axis=1), **dict(zip(P, p)))


@pytest.mark.simulation
def test_sets_hold_the_score_of_new_users_as_often_as_promised():
    alpha, trials = 0.2, 300
    held = [
        coverage(fit_conformal(moody(15, 2 * t), alpha=alpha).transform(moody(5, 2 * t + 1)))["covered"]
        for t in range(trials)
    ]
    error = np.std(held) / np.sqrt(trials)
    assert np.mean(held) >= 1 - alpha - 3 * error
    assert error < 0.015


def test_the_threshold_weighs_users_not_turns():
    # Misfits of 4 and 5: |.25 − ½| and |.75 − ½| are equal; 1 misses by ½.
    flat = dict(zip(P, [0.0, 0.0, 0.0, 0.5, 0.5]))
    talker = pd.DataFrame({"user": "talker", "gold": [1] * 30})
    others = pd.DataFrame({"user": [f"u{i}" for i in range(8)], "gold": 4})
    both = pd.concat([talker, others], ignore_index=True).assign(**flat)
    found = fit_conformal(both, alpha=0.2)  # 8 of 10 parts of the weight lie on the others
    assert (found.threshold, found.users) == (0.25, 9)
    assert fit_conformal(both, alpha=0.19).threshold == 0.5
    sets = found.transform(both.head(1))
    assert sets[["set1", "set2", "set3", "set4", "set5"]].iloc[0].tolist() == [False, False, False, True, True]


def test_too_few_users_promise_nothing_smaller_than_everything():
    few = moody(3, 1)
    found = fit_conformal(few, alpha=0.2)
    assert found.threshold == np.inf
    report = coverage(found.transform(few))
    assert (report["covered"], report["size"]) == (1.0, 5.0) and np.isnan(report["covered_low"])


def test_sets_of_unscored_replies_are_missing_and_no_set_is_empty():
    frame = moody(30, 4).astype({"p1": "Float64"})
    frame.loc[0, "p1"] = pd.NA
    sets = fit_conformal(frame, alpha=0.9).transform(frame)[["set1", "set2", "set3", "set4", "set5"]]
    assert sets.iloc[0].isna().all()
    assert (sets.iloc[1:].sum(axis=1) >= 1).all()
    with pytest.raises(DataError, match="'gold' is missing"):
        fit_conformal(frame.drop(columns="gold"))
    with pytest.raises(DataError, match="'q1' is missing"):
        fit_conformal(frame, p="q")
    with pytest.raises(ValueError, match="alpha"):
        fit_conformal(frame, alpha=90)


def test_sets_of_several_judges_are_fitted_apart():
    one, other = (moody(30, 4).assign(judge=judge) for judge in ("a", "b"))
    assert fit_conformal(one).threshold == fit_conformal(moody(30, 4)).threshold
    with pytest.raises(DataError, match="calibration frame: verdicts of several judges"):
        fit_conformal(pd.concat([one, other], ignore_index=True))


def of_moods(rng: np.random.Generator, users: int) -> pd.DataFrame:
    """Whole scores of users with moods, and a judge's distribution that knows nothing of moods."""
    user = np.repeat(np.arange(users), 8)
    gold = np.clip(np.rint(3.3 + rng.normal(0, 0.7, users)[user] + rng.normal(0, 0.8, len(user))), 1, 5)
    p = dict(zip([f"p{s}" for s in range(1, 6)], [0.05, 0.15, 0.35, 0.3, 0.15]))
    return pd.DataFrame({"user": user, "gold": gold.astype(int)}).assign(**p)


@pytest.mark.simulation
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_conformal_sets_hold_the_scores_of_new_users(level):
    rng, held, size = np.random.default_rng(6), [], []
    for _ in range(60):
        found = coverage(fit_conformal(of_moods(rng, 40), alpha=1 - level).transform(of_moods(rng, 20)))
        held.append(found["covered"])
        size.append(found["size"])
    assert np.mean(held) >= level - 3 * np.std(held) / np.sqrt(len(held))
    assert np.mean(size) < 4.9, "not by holding everything"
