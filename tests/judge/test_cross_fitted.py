"""Few users without a split: each is judged by what the others taught."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from pages import run_cells

from perslib.corpus import TURN, load, save
from perslib.judge import evaluate
from perslib.judge.base import Judge, JudgeInputs, Verdict
from perslib.studies.verification import judge_test_users, make_computed_judges, measure_distributions
from perslib.studies.whole_scores import cut_whole_scores


class Spy(Judge):
    """Gives the number of users that taught it, and must not meet one of them."""

    name, inputs = "spy", JudgeInputs(train=True)

    async def fit(self, train, ask):
        self.taught = set(train.users["user"])

    async def judge(self, block, ask):
        assert block.user not in self.taught
        return [Verdict(raw=float(len(self.taught)))] * len(block)


def take(count):
    """The first users of the sample, without its split."""
    sample = load("sample/en")
    few = sample.of_users(sorted(sample.users["user"])[:count])
    return replace(few, meta={name: own for name, own in few.meta.items() if name != "splits"})


@pytest.mark.parametrize(("count", "taught"), [(4, {3}), (14, {12, 13})])
def test_each_user_is_judged_by_what_all_others_of_another_fold_taught(count, taught):
    data = take(count).cross_fitted()
    verdicts = evaluate(Spy(), data)
    assert set(verdicts["raw"]) == taught
    alone = evaluate(make_computed_judges(["user mean"])[0], data)
    assert verdicts[TURN].equals(alone[TURN]) and verdicts["user"].nunique() == count
    drawn = evaluate(Spy(), data, limit=2 * count)
    assert len(drawn) == 2 * count


def test_a_corpus_with_a_split_or_with_many_users_stays_as_it_is(monkeypatch):
    monkeypatch.setattr("perslib.corpus.corpus.CROSSED_BELOW", 44)
    sample = load("sample/en")
    assert sample.cross_fitted() is sample and sample.folds == [] and len(sample.lessons) == 1
    many = take(len(sample.users))
    assert many.cross_fitted() is many
    two = take(2)
    assert two.cross_fitted() is two


def test_thresholds_and_shares_of_a_user_come_from_others():
    data = take(3).cross_fitted()
    judges = make_computed_judges(["user mean", "learned", "learned, blinded"])
    with pytest.warns(UserWarning, match="learns from few train users"):
        verdicts = judge_test_users(judges, data)
    one = data.folds[0][0]
    other = replace(data, turns=data.turns.assign(score=data.turns["score"].where(data.turns["user"] != one, 1)))
    mine = verdicts["user"] == one
    cut, cut_other = (cut_whole_scores(verdicts, judges[-1], corpus) for corpus in (data, other))
    own = [frame.loc[frame["user"] == one, "whole"].tolist() for frame in (cut, cut_other)]
    assert mine.any() and own[0] == own[1]
    assert {"history", "population"} <= set(measure_distributions(verdicts, data)["judge"])


def test_page_01_says_it_and_judges_all_of_them(tmp_path, capsys):
    save(take(3), tmp_path / "few")
    run_cells("01_verification", corpus=str(tmp_path / "few"), out=str(tmp_path / "out"))
    shown = " ".join(capsys.readouterr().out.split())
    assert "each user is judged by what others taught" in shown and "of 3 users" in shown
    assert "learned" in set(pd.read_csv(tmp_path / "out/tables/agreement.csv")["judge"])
