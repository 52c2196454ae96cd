"""Blinded judges: no text reaches them, everything else does, and what texts add is found where they mean something."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of
from scripted import Scripted

from perslib.corpus import Corpus
from perslib.errors import NotEnough
from perslib.judge import (
    Computed,
    JudgeInputs,
    JudgeSettings,
    LearnedJudge,
    asks_model,
    blind_judge,
    evaluate,
    make_judge,
)
from perslib.llm import run_with_answers
from perslib.prompts import read_phrases
from perslib.studies import verification as study


def people(reads: bool, users: int = 16, seed: int = 0) -> Corpus:
    """Users whose scores go with their level, and, where they read, with the number of stars in a reply."""
    rng, rows = np.random.default_rng(seed), []
    for user in range(users):
        level = rng.normal(3, 0.7)
        for scenario in ("travel", "gift"):
            for turn in range(12):
                stars = int(rng.integers(1, 10))
                score = level + (0.35 * (stars - 5) if reads else 0) + rng.normal(0, 0.6)
                rows.append(
                    (f"u{user:02}", scenario, "0", f"wish {turn}", "star " * stars, int(np.clip(np.rint(score), 1, 5)))
                )
    corpus = corpus_of(rows)
    names = sorted(corpus.users["user"])
    return replace(corpus, meta={"splits": {"train": [], "test": names}})


class Length(Computed):
    """The user's level, and the number of stars in the reply."""

    name, inputs = "length", JudgeInputs(reply=True, history=True)

    def scores(self, block):
        level = float(block.evidence["score"].astype(float).mean())
        return [level + 0.35 * (target.response.count("star") - 5) for target in block]


class Seen(Computed):
    """Keeps all that it is shown."""

    name, inputs = "seen", JudgeInputs(reply=True, history=True, train=True)

    async def fit(self, train, ask):
        Seen.shown = [train.turns]

    def scores(self, block):
        Seen.shown += [block.evidence, block.targets]
        return [3.0] * len(block)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_text_reaches_the_judge_and_all_else_does(language):
    corpus = people(True)
    split = sorted(corpus.users["user"])
    evaluate(blind_judge(Seen(), language), replace(corpus, meta={"splits": {"train": split[:8], "test": split[8:]}}))
    for frame in Seen.shown:
        said = frame[["response", *({"request"} & set(frame))]].stack().tolist()
        said += [text for texts in frame.get("earlier", []) for text in texts]
        said += [message["content"] for prefix in frame.get("prefix", []) for message in prefix]
        assert said and set(said) == {read_phrases("blinded", language)["unseen"]}
    assert Seen.shown[0]["score"].notna().all() and Seen.shown[1]["turn"].nunique() == 12


def test_what_texts_add_is_found_and_nothing_where_they_mean_nothing():
    found = {}
    for reads in (True, False):
        corpus = people(reads)
        verdicts = pd.concat([evaluate(judge, corpus) for judge in (Length(), blind_judge(Length()))])
        agreed = study.compare_judges(
            verdicts.assign(real=verdicts["raw"]),
            corpus,
            scores=["real"],
            metrics=["pearson"],
            controls=["length, blinded"],
        )
        found[reads] = agreed.set_index("judge").loc["length"]
    assert found[True]["gain_low"] > 0 and found[False]["gain"] < 0


def test_the_judge_itself_stays_as_it_was():
    corpus, judge = people(True), LearnedJudge()
    split = sorted(corpus.users["user"])
    corpus = replace(corpus, meta={"splits": {"train": split[:10], "test": split[10:]}})
    unread = evaluate(blind_judge(judge), corpus)
    assert unread.groupby(["user", "scenario", "turn"])["raw"].first().groupby(level=[0, 1]).nunique().max() <= 12
    with pytest.raises(Exception, match="run its fit"):
        run_with_answers(partial(judge.judge, corpus.block("u15", "gift")))
    assert (unread["judge"] == "learned, blinded").all()


def test_blinded_judges_have_names_and_may_ask():
    judge = make_judge("blinded: zero-shot", JudgeSettings("en", with_rationale=False))
    assert judge.name == "zero-shot, blinded" and not judge.inputs.reply and asks_model("blinded: zero-shot")
    model = Scripted()
    evaluate(judge, people(True, users=2), model, limit=4)  # type: ignore[arg-type]
    asked = [request.messages[-1]["content"] for _, request in model.asked]
    assert asked and all("star" not in text and "Not shown." in text for text in asked)


@pytest.mark.simulation
def test_steps_of_knowledge_add_up_to_the_last():
    corpus = people(True, users=20)
    split = sorted(corpus.users["user"])
    corpus = replace(corpus, meta={"splits": {"train": split[:8], "test": split[8:]}})
    verdicts = study.judge_test_users(study.make_computed_judges(study.KNOWLEDGE), corpus)
    steps = study.trace_knowledge(verdicts, corpus).set_index(["metric", "judge"])
    r = steps.loc["pearson"]
    assert list(r.index) == list(study.KNOWLEDGE)
    assert r["added"].iloc[1:].to_numpy() == pytest.approx(np.diff(r["value"].astype(float)))
    facts = study.describe_knowledge(steps.reset_index())
    is_sure = steps.loc[("pearson", "learned"), "added_low"] > 0
    assert (facts["texts"].side == "above") == is_sure and facts["step3"].startswith("0.")
    assert study.phrase_knowledge(facts["texts"]).startswith("**Reading" if is_sure else "Nothing shows")
    assert steps.loc[("pearson", "learned"), "added"] > 0.05
    table = study.measure_distributions(verdicts, corpus).set_index("judge")
    loss = table["log_loss"]
    assert table.loc["learned", "text_adds"] == pytest.approx(loss["learned, blinded"] - loss["learned"])
    assert table["text_adds"].drop("learned").isna().all()
    with pytest.raises(NotEnough):
        study.trace_knowledge(verdicts.head(0), corpus)
