"""Page 01 on what people have: few of many replies rated, conversations rated alone, one scenario a user."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from histories import Row, corpus_of
from pages import run_cells

from perslib.corpus import BLOCK, SESSION, TURN, Corpus, save
from perslib.judge import Constant, NoTextControl, evaluate, scope, select_blocks
from perslib.report.show.tables import agreement_table
from perslib.studies import shared, verification

BACKBONE = '[loop]\nbase_url = "{address}"\nmodel = "m"\nstructured = "json"\n'
USERS = [f"u{i:02}" for i in range(20)]


def made(scenarios: str = "ab", sessions: int = 3, turns: int = 2) -> Corpus:
    """Users with a level of their own who like a long reply and a second one: nothing that a control cannot learn a part of."""
    rng, rows = np.random.default_rng(3), list[Row]()
    for i, user in enumerate(USERS):
        for scenario in scenarios:
            for n, turn in ((n, turn) for n in range(sessions) for turn in range(turns)):
                long = int(rng.integers(0, 2))
                score = int(np.clip(2 + i % 2 + turn + long + rng.integers(-1, 2), 1, 5))
                rows.append((user, scenario, str(n), f"question {n}", "word " * (5 + 30 * long), score))
    return corpus_of(rows, "own")


def with_few_scores(corpus: Corpus, every: int) -> Corpus:
    """The corpus where users rated one reply in so many."""
    keeps = np.arange(len(corpus.turns)) % every == 0
    return replace(corpus, turns=corpus.turns.assign(score=corpus.turns["score"].where(keeps)))


def by_conversation(corpus: Corpus) -> Corpus:
    """The corpus where users rated conversations, most of them, and no reply."""
    mean = corpus.turns.groupby(SESSION)["score"].mean().round().reset_index(name="satisfaction")
    mean.loc[::5, "satisfaction"] = None
    sessions = corpus.sessions.drop(columns="satisfaction").merge(mean, on=SESSION)
    turns = corpus.turns.assign(score=pd.array([None] * len(corpus.turns), "Int64"), reason=None)
    return replace(corpus, sessions=sessions, turns=turns)


@pytest.fixture
def page(home, server, capsys):
    """Runs page 01 on a corpus; what it says, and its tables by name."""

    def run(corpus: Corpus, **parameters: object) -> tuple[str, dict[str, pd.DataFrame]]:
        server.reply = lambda body: json.dumps(
            {"score": 1 + len(str(body["messages"])) % 5, "reason": "", "rationale": ""}
        )
        (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
        save(corpus, home / "data" / "own")
        run_cells("01_verification", corpus="own", backbone="loop", out=str(home / "page"), **parameters)
        files = (home / "page" / "tables").glob("*.csv")
        return capsys.readouterr().out, {file.stem: pd.read_csv(file, dtype={"session": str}) for file in files}

    return run


def test_a_limit_draws_among_rated_replies_where_there_are_any():
    corpus = with_few_scores(made(), 3)
    keys = pd.concat(block.targets[TURN] for block in select_blocks(corpus, limit=60, has_score=True))
    assert len(keys) == 60 and keys.merge(corpus.turns, on=TURN)["score"].notna().all()
    assert sum(map(len, select_blocks(corpus, limit=10**6, has_score=True))) == 64, (
        "all of the test users' rated replies"
    )
    unrated = with_few_scores(made(), 10**6).of_users(USERS[1:])
    assert sum(map(len, select_blocks(unrated, limit=20, has_score=True))) == 20
    found = verification.judge_test_users([Constant(4)], corpus, limit=40)
    assert found.merge(corpus.turns, on=TURN)["score"].notna().all() and len(found) == 40


@pytest.mark.page
def test_of_many_test_users_some_are_drawn_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(scope, "MOST_TEST_USERS", 5)
    corpus = made()
    split = corpus.split()
    fewer, said = scope.sample_test_users(corpus, seed=1)
    assert fewer.split()["train"] == split["train"] and set(fewer.split()["test"]) < set(split["test"])
    assert len(fewer.split()["test"]) == 5 and "5 of 16 test users" in said[0]
    assert scope.sample_test_users(corpus, seed=1)[0].split() == fewer.split(), "the same seed, the same users"
    assert scope.sample_test_users(corpus, limit=-1) == (corpus, []), "or all of them"
    monkeypatch.setattr(scope, "LEARN_FROM", 10)
    assert "from about 10 of 48 turns of train users" in scope.sample_test_users(corpus, -1)[1][0]


def test_agreement_rests_on_thirty_rated_replies(page):
    said, tables = page(with_few_scores(made(), 3), judges="zero-shot", limit=40)
    asked = tables["agreement_with_model"].query("judge == 'zero-shot'")
    assert set(asked["turns"]) == {40} and asked["pearson"].notna().all()
    said, tables = page(with_few_scores(made(), 12), judges="zero-shot", limit=40)
    assert "from fewer than 30" in said and "Too few replies for correlations" in said
    assert tables["agreement"]["pearson"].isna().all() and tables["agreement"]["turns"].max() < 30


@pytest.mark.sample
def test_correlations_within_blocks_name_the_turns_they_rest_on():
    """Of one user in two a single reply in each scenario is rated: it says nothing within its block."""
    corpus = made()
    lone = corpus.turns["user"].isin(USERS[::2]) & corpus.turns.duplicated(BLOCK)
    corpus = replace(corpus, turns=corpus.turns.assign(score=corpus.turns["score"].mask(lone)))
    verdicts = verification.judge_test_users(verification.make_computed_judges(), corpus)
    agreed = verification.compare_judges(verdicts, corpus)
    gold = corpus.turns[corpus.turns["user"].isin(corpus.split()["test"])].dropna(subset="score")
    shared_by = gold[gold.groupby(BLOCK)["score"].transform("size") > 1]
    within = agreed["metric"] == "wb_pearson"
    assert set(agreed[within]["turns"]) == {len(shared_by)} != set(agreed[~within]["turns"]) == {len(gold)}
    assert set(agreed[within]["users"]) == {shared_by["user"].nunique()}
    table = agreement_table(agreed)
    assert table["turns: wb_pearson"].eq(len(shared_by)).all() and len(table) == agreed["judge"].nunique() * 2
    assert "Within blocks no correlation has an interval" in shared.describe_controls(agreed, verification.CONTROLS)
    whole = made()
    assert "turns: wb_pearson" not in agreement_table(
        verification.compare_judges(verification.judge_test_users(verification.make_computed_judges(), whole), whole)
    )


@pytest.mark.page
def test_conversations_alone_rated_some_of_them_not(page):
    said, tables = page(by_conversation(made()), judges="zero-shot", limit=40)
    assert "no ratings of whole sessions" not in said and "whole conversations are what users rated" in said
    assert tables["agreement_with_model"]["pearson"].notna().any() and "one_disagreement" in tables


@pytest.mark.sample
def test_without_a_correlation_within_blocks_the_others_are_told():
    """One conversation a scenario: nothing is within a block, and controls and judges correlate all the same."""
    corpus = made(scenarios="abc", sessions=1, turns=1)
    verdicts = verification.judge_test_users(verification.make_computed_judges(), corpus)
    agreed = verification.compare_judges(verdicts, corpus)
    said = shared.describe_controls(agreed, verification.CONTROLS)
    assert "controls, which read no reply, reach up to r" in said and "Within blocks" in said
    constant = agreed[agreed["judge"].isin(["constant 4", "learned"])]
    assert "no control has scores that differ; the highest r" in shared.describe_controls(
        constant, verification.CONTROLS
    )


@pytest.mark.page
def test_without_a_history_the_control_knows_turn_and_assistant(page):
    corpus = made(scenarios="a", sessions=4, turns=2)
    found = evaluate(NoTextControl(), corpus.with_history("none"))
    by_turn = found.groupby("turn")["raw"]
    assert found["raw"].notna().all() and by_turn.nunique().eq(1).all() and by_turn.first().diff().iloc[1] > 0.5
    said, tables = page(corpus, judges="zero-shot", limit=40, history="none")
    assert "(level, turn, assistant)" in said.replace("“", "").replace("”", "")
    learned = tables["agreement"].query("judge == 'level, turn, assistant'")
    assert learned["pearson"].notna().any()


def test_the_page_tells_both_rules_for_ties():
    from perslib.paths import find_bundled

    text = find_bundled("notebooks/01_verification.ipynb").read_text("utf-8")
    assert "turn numbers break ties" in text
