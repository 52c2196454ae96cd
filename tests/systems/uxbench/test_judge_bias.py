"""The page on judge bias: what its study computes, and an audit with judges whose bias is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scripted import Scripted

from perslib.corpus import TURN, Block, Corpus, load
from perslib.judge import Computed, Constant, JudgeInputs
from perslib.judge.evaluate import evaluate
from perslib.judge.scope import choose_scope
from perslib.replay.candidates import family_of
from perslib.systems.uxbench.bench import REWARD_MODEL, compare_with_best_baseline, families
from perslib.systems.uxbench.statistics import order_effects
from perslib.systems.uxbench.studies import judge_bias as study


class Long(Computed):
    """The longer the better."""

    name = "long"

    def scores(self, block: Block) -> pd.Series:
        return (1 + block.targets["response"].str.len() / 600).clip(upper=5)


@pytest.fixture(scope="module")
def audit() -> study.Audit:
    return study.audit_judges([Long(), Constant(4)], load("sample/en"), pairs=6, limit=240)


@pytest.mark.sample
def test_an_audit_names_who_goes_by_length(audit):
    assert audit.quality["judge"].tolist() == ["long", Constant(4).name, *study.BIAS_BASELINES]
    assert audit.list_biased_judges() == {"long": ["long"], "padded": ["long"], "placed": [], "own": None}
    constant = audit.quality.set_index("judge").loc[Constant(4).name]
    assert constant["balanced_accuracy"] == 0.5 and constant["d_prime"] == pytest.approx(0, abs=1e-9)
    found = compare_with_best_baseline(audit.quality)
    assert found["best"] == "length only" and found["above"] == []
    assert audit.length["users"].min() > 8 and audit.length.filter(like="_low").notna().all(axis=None)
    assert audit.position["consistent"].tolist() == [1, 1] and audit.quality["cases"].max() > 100


class Loyal(Long):
    """A judge that is a model, and gives its own family a point more."""

    name, inputs = "loyal", JudgeInputs(reply=True, model=True)

    def scores(self, block: Block) -> pd.Series:
        return 3.0 + block.targets["assistant"].str.lower().str.startswith("gpt").astype(float)


class OfGPT(Scripted):
    """A backbone of a known family."""

    name, model = "large", "openai/gpt-5.2"


def of_families() -> Corpus:
    """The sample as if its assistants, and those who answered its requests again, were known models."""
    sample = load("sample/en")
    names = {"aster-large": "GPT-5.1", "brook-mini": "Kimi K2.5", "cedar-chat": "gpt-5 mini", "delta-plus": "GLM-5"}
    sessions = sample.sessions.assign(assistant=sample.sessions["assistant"].replace(names))
    return replace(sample, sessions=sessions, extras={})


@pytest.mark.sample
def test_a_judge_that_prefers_its_own_family_is_named():
    corpus, model = of_families(), OfGPT()
    audit = study.audit_judges([Loyal(), Long()], corpus, model, limit=240)
    (row,) = audit.family.to_dict("records")
    assert (row["judge"], row["family"], row["families"]) == ("loyal", "gpt", "ember, glm, gpt, kimi")
    assert row["preference"] == pytest.approx(row["own"] - row["others"]) and row["rows"] == 240
    assert row["preference_low"] < row["preference"] < row["preference_high"]
    assert audit.list_biased_judges()["own"] == (["loyal"] if row["preference_low"] > 0 else [])
    gold = evaluate(Loyal(), corpus, model, limit=240, progress=False)
    gold = gold.drop(columns="candidate").merge(corpus.turns[[*TURN, "score"]], on=TURN)
    own = gold["raw"] == 4
    above = gold["raw"] - gold["score"].astype(float)
    assert row["preference"] == pytest.approx(above[own].mean() - above[~own].mean())
    # Without a family of its own among the replies, or with no model, there is nothing to measure, and why is said.
    other = study.audit_judges([Loyal()], corpus, Scripted(), limit=40).family.iloc[0]
    assert np.isnan(other["preference"]) and other["why"].startswith("no candidate of its own family")
    assert study.audit_judges([Long()], corpus, limit=40).family.empty


def test_candidates_that_users_rated_count_for_the_own_family():
    corpus = of_families()
    turns = corpus.turns[corpus.turns["user"].isin(corpus.split()["test"])].groupby("user").head(6)
    again = [turns[TURN].assign(candidate=c, response=turns["response"] + c, score=3) for c in ("GPT-5", "Qwen3")]
    extras = {"candidates": pd.concat(again, ignore_index=True)}
    found = study.audit_judges([Loyal()], replace(corpus, extras=extras), OfGPT(), pairs=6, limit=40).family
    assert found["rows"].tolist() == [40 + 12] and "qwen" in found["families"].iloc[0]


def test_families_of_published_models_are_those_of_their_names():
    known = {model: family for model, family in families().items() if model != REWARD_MODEL}
    assert {model: family_of(model) for model in known} == {model: own.lower() for model, own in known.items()}


def test_slopes_take_thirty_replies():
    few = study.audit_judges([Long()], load("sample/en"), limit=20)
    assert few.length["at_equal_gold"].isna().all() and few.length["padding_change"].notna().all()
    assert few.list_biased_judges()["long"] is None


def test_a_limit_of_minus_one_is_all_replies():
    assert [choose_scope(None, limit, 400).turns for limit in (-1, 0, 7)] == [None, 400, 7]


def test_a_judge_whose_choices_cannot_be_read_has_no_position_bias():
    about = {"judge": "mute", "a": "x", "b": "y", "case": "1", "choice": None}
    found = order_effects(pd.DataFrame([{**about, "first": first} for first in "ab"]))
    assert found["left_out"].tolist() == [1] and found["position_bias"].isna().all()


@pytest.mark.sample
def test_a_judge_of_pairs_is_audited_for_place_alone():
    class Pairwise(Long):
        name = "pairwise"

    found = study.audit_judges([Constant(4)], load("sample/en"), pairwise=Pairwise(), pairs=4, limit=40)
    assert set(found.position["judge"]) == {"constant 4", "pairwise"}
    assert set(found.length["judge"]) == {"constant 4"}
