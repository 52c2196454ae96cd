"""Preferences of a user: planted ones come back, statements say what they do, and edits move scores by what they say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of
from made import shortened
from scipy.stats import spearmanr

from perslib.corpus import TURN, Block, Corpus, load
from perslib.errors import PerslibError
from perslib.judge import FromStatements, LearnedJudge, Preferences, evaluate, make_judge
from perslib.judge.learned.changes import CHANGEABLE, find_changes
from perslib.judge.learned.mixed import Parts
from perslib.judge.learned.preferences import Columns, weigh_columns
from perslib.llm import run_with_answers
from perslib.memory import (
    Draft,
    FixedSystem,
    PreferenceMemory,
    Statement,
    make_memory,
    parse_preference,
    read_draft,
    save_draft,
)
from perslib.memory.features import NAMES, measure_reply, measure_traits, read_block_turns
from perslib.memory.preferences import LEVEL, TYPED_POINTS
from perslib.worlds import world


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return shortened(load("sample/en"), sessions=2)


def plant(sample: Corpus, seed: int) -> tuple[Corpus, pd.DataFrame]:
    """Users who differ in their level and in what length and a table are worth to them, and by how much."""
    rng, users = np.random.default_rng(seed), sorted(sample.users["user"])
    tastes = pd.DataFrame(rng.normal(0, 0.5, (len(users), 3)), users, ["level", "length", "table"])
    traits = pd.DataFrame([measure_reply(text) for text in sample.turns["response"]])[["length", "table"]]
    z = ((traits - traits.mean()) / traits.std()).assign(level=1.0)
    own = (tastes.loc[sample.turns["user"]].to_numpy() * z[tastes.columns].to_numpy()).sum(axis=1)
    scores = np.rint(3.4 + own + 0.5 * rng.normal(size=len(own))).clip(1, 5).astype(int)
    return replace(sample, turns=sample.turns.assign(score=pd.array(scores, "Int64"))), tastes


@pytest.fixture(scope="module")
def planted(sample: Corpus) -> tuple[Corpus, pd.DataFrame]:
    return plant(sample, seed=5)


@pytest.fixture(scope="module")
def judge(planted) -> FromStatements:
    corpus, _ = planted
    learned = FromStatements()
    run_with_answers(partial(learned.fit, corpus.of_users(sorted(corpus.users["user"])[:12])))
    return learned


@pytest.fixture
def memory(judge, planted) -> PreferenceMemory:
    corpus, _ = planted
    return built(judge, corpus, sorted(corpus.users["user"])[14])


def built(judge: LearnedJudge, corpus: Corpus, user: str) -> PreferenceMemory:
    return run_with_answers(partial(Preferences(judge=judge).build, corpus.block(user, corpus.scenarios[0])))


def block_of(corpus: Corpus, memory: PreferenceMemory) -> Block:
    return corpus.block(memory.user, memory.scenario)


def apart(judge: FromStatements, block: Block, memory: PreferenceMemory) -> Parts:
    """The first stage's prediction from this memory, in parts."""
    judge.memory = FixedSystem(memory)
    try:
        return run_with_answers(partial(judge.take_apart, judge.read_case(block)))
    finally:
        judge.memory = None


def scores(judge: FromStatements, block: Block, memory: PreferenceMemory) -> np.ndarray:
    return apart(judge, block, memory).prediction


def agreement(judge: LearnedJudge, corpus: Corpus, tastes: pd.DataFrame, users: list[str], rated: int) -> list[float]:
    """Rank correlation of planted and explained level, taste for length and for tables, from so many rated turns."""
    columns, found = Columns(judge.population), {}
    for user in users:
        block = corpus.block(user, corpus.scenarios[0])
        kept = block.evidence["score"].where(np.arange(len(block.evidence)) < rated)
        case = judge.read_case(replace(block, evidence=block.evidence.assign(score=kept)))
        weights, _, level = weigh_columns(judge.population, columns, case.history, case.tied_history, case.scores)
        effects = columns.covariance @ weights.sum(axis=1)
        found[user] = [level.weight, effects[NAMES.index("length")], effects[NAMES.index("table")]]
    explained = pd.DataFrame(found, tastes.columns).T
    return [float(spearmanr(tastes.loc[users, name], explained[name])[0]) for name in tastes]


def test_planted_preferences_come_back(judge, planted):
    corpus, tastes = planted
    few, many = (agreement(judge, corpus, tastes, sorted(tastes.index)[12:], rated) for rated in (8, 1000))
    assert min(many) > 0.5 and np.mean(few) < np.mean(many) > 0.75


@pytest.mark.simulation
def test_with_forty_rated_turns_planted_preferences_rank_alike():
    corpus, tastes = plant(world(36, 1, "en", candidates=0), seed=1)
    users, learned = sorted(tastes.index), LearnedJudge()
    run_with_answers(partial(learned.fit, corpus.of_users(users[:12])))
    by_length = [agreement(learned, corpus, tastes, users[12:], rated) for rated in (5, 10, 40)]
    assert min(by_length[-1]) >= 0.8
    assert [round(np.mean(found), 1) for found in by_length] == sorted(round(np.mean(found), 1) for found in by_length)


def test_users_with_opposite_preferences_order_two_replies_oppositely(judge, planted):
    corpus, tastes = planted
    test_users = sorted(corpus.users["user"])[12:]
    ranked = tastes.loc[test_users, "table"].sort_values()
    plain = "Here is the plan for the day.\n\nColumn:---\nMorning walk to the old town and lunch there."
    preferred = []
    for user in (ranked.index[0], ranked.index[-1]):
        block = corpus.block(user, corpus.scenarios[0])
        row = block.targets.iloc[[0, 0]]
        two = replace(block, targets=row.assign(response=[plain, plain.replace(":---", "|---")], turn=[0, 1]))
        without, with_table = (v.raw for v in run_with_answers(partial(judge.judge, two)))
        preferred.append(with_table > without)
    assert preferred == [False, True]


def test_statements_are_strongest_first_with_their_turns_and_intervals(memory, planted):
    corpus, _ = planted
    level, *traits = [s for s in memory.statements if s.points is not None]
    assert level.trait == LEVEL and 1 <= len(traits) <= 5
    strengths = [abs(s.points) for s in traits]
    assert strengths == sorted(strengths, reverse=True)
    known = {"/".join(map(str, key)) for key in corpus.turns[["scenario", "session", "turn"]].itertuples(index=False)}
    for statement in (level, *traits):
        assert statement.points_low < statement.points < statement.points_high
        assert set(statement.turns) <= known and len(statement.turns) == 3
        assert ("not certain" in statement.text) == (statement.points_low < 0 < statement.points_high)


def test_nothing_is_known_of_somebody_without_ratings(judge, planted):
    corpus, _ = planted
    block = corpus.block(sorted(corpus.users["user"])[14], corpus.scenarios[0])
    bare = replace(block, evidence=block.evidence.assign(score=pd.NA))
    assert run_with_answers(partial(Preferences(judge=judge).build, bare)).statements == ()
    one = replace(block, evidence=block.evidence.iloc[:1])
    last = run_with_answers(partial(Preferences(judge=judge).build, one)).statements[-1]
    assert last.field == "unknown" and last.points is None
    assert last.text.startswith("not known yet, whether these matter to this user: ")


@pytest.mark.sample
def test_statements_predict_nearly_as_well_as_all_that_is_known(planted):
    corpus, _ = planted
    corpus = corpus.of_users(sorted(corpus.users["user"])[:18])
    r = {}
    for judge in (LearnedJudge(), FromStatements(), FromStatements(most=0)):
        found = evaluate(judge, corpus, progress=False).merge(corpus.turns[[*TURN, "score"]], on=TURN)
        r[judge.name, getattr(judge, "most", 5)] = found["raw"].astype(float).corr(found["score"].astype(float))
    whole, five, none = r["learned", 5], r["from statements", 5], r["from statements", 0]
    assert five - none > 0.8 * (whole - none) > 0.02


def test_a_statement_switched_off_takes_away_what_it_added(judge, planted, memory):
    corpus, _ = planted
    block = block_of(corpus, memory)
    strongest = memory.statements[1]
    parts = apart(judge, block, memory)
    added = parts.turns[:, parts.evidence.index(strongest.id)]
    draft = Draft.of(memory)
    before, off = scores(judge, block, memory), scores(judge, block, draft.switch(strongest.id, on=False).memory)
    assert np.abs(added).max() > 0.01 and before - off == pytest.approx(added, abs=1e-9)
    for by, name in ((0.5, "made weaker"), (2.0, "made stronger"), (-1.0, "turned round")):
        edited = draft.scale(strongest.id, by)
        assert edited.made == (name, strongest.id) and edited.is_changed
        assert scores(judge, block, edited.memory) - off == pytest.approx(by * added, abs=1e-9)
        assert edited.memory.statements[1].text != strongest.text


def test_words_and_effect_agree_after_an_edit(memory):
    draft = Draft.of(memory)
    typed = draft.add("Wants short answers").memory
    assert (typed.statements[-1].trait, typed.statements[-1].points) == ("length", -TYPED_POINTS)
    assert "counts as: length in words: the less, the better" in typed.explain_effect(typed.statements[-1])
    unclear = draft.add("Likes Ferraris").memory
    assert unclear.statements[-1].points is None
    assert unclear.explain_effect(unclear.statements[-1]) == "no effect: not understood"
    other = draft.edit("M2", "Hates tables").memory.statements[1]
    assert (other.trait, other.points, other.points_low) == ("table", -TYPED_POINTS, None)
    assert all(memory.explain_effect(s) == "" for s in memory.statements)
    assert draft.edit("M2", "Hates tables").edit("M2", "").memory == memory


def test_an_edited_memory_is_saved_and_read_again(memory, planted, tmp_path, monkeypatch, judge):
    monkeypatch.chdir(tmp_path)
    corpus, _ = planted
    draft = Draft.of(memory).scale("M2", -1).add("No tables")
    save_draft(draft, "turned")
    again = read_draft("turned", block_of(corpus, memory))
    assert again.memory == draft.memory
    assert scores(judge, block_of(corpus, memory), again.memory) == pytest.approx(
        scores(judge, block_of(corpus, memory), draft.memory)
    )


@pytest.mark.parametrize(
    ("text", "trait", "sign"),
    [
        ("Wants short answers", "length", -1),
        ("Not too long, please", "length", -1),
        ("Answers are not detailed enough", "length", 1),
        ("Don't forget the prices", "prices", 1),
        ("Hates hedging", "hedges", -1),
        ("Is hard to please", LEVEL, -1),
        ("简短一些", "length", -1),
        ("不够详细", "length", 1),
        ("不要表格", "table", -1),
        ("喜欢有链接", "links", 1),
    ],
)
def test_a_typed_sentence_is_matched_to_a_trait(text, trait, sign):
    assert parse_preference(text) == (trait, sign * TYPED_POINTS)


@pytest.mark.engine
def test_other_words_are_matched_by_meaning():
    assert parse_preference("Everything in a grid with rows and columns", "en") == ("table", TYPED_POINTS)
    assert parse_preference("希望用图表展示", "zh") == ("table", TYPED_POINTS)
    assert parse_preference("Likes Ferraris", "en") is None


def test_a_judge_of_this_memory_learns_what_everybody_likes(sample):
    personal = make_judge("preferences")
    assert personal.inputs.train and personal.inputs.model
    with pytest.raises(PerslibError, match="fit"):
        run_with_answers(partial(make_memory("preferences").build, sample.block("u010", sample.scenarios[0])))
    chinese = make_judge("from statements", None)
    assert isinstance(chinese, FromStatements) and not chinese.inputs.model


def test_statements_of_another_kind_count_nothing(judge, planted, memory):
    corpus, _ = planted
    said = [
        Statement("M1", "style", "Scores generously."),
        Statement("M2", "preference", "", trait="no such", points=1.0),
    ]
    plain = replace(memory, statements=tuple(said))
    none = replace(memory, statements=())
    assert scores(judge, block_of(corpus, memory), plain) == pytest.approx(
        scores(judge, block_of(corpus, memory), none)
    )


@pytest.mark.sample
def test_a_table_of_ones_own_without_tasks_and_assistants_is_enough():
    """Every other user likes replies the longer, the others the shorter; requests are missing at times."""
    rng, rows = np.random.default_rng(0), []
    for user in range(60):
        for scenario in "abc":
            for turn in range(5):
                words, likes = int(rng.integers(1, 40)), 1 if user % 2 else -1
                score = int(np.clip(np.rint(3 + likes * (words - 20) / 12 + rng.normal(0, 0.5)), 1, 5))
                rows.append((f"u{user:02}", scenario, "0", "again" if turn else None, "word " * words, score))
    corpus = corpus_of(rows)
    corpus = replace(corpus, sessions=corpus.sessions.assign(assistant=None, task=None))
    learned = LearnedJudge()
    evaluate(learned, corpus, progress=False)
    for user in corpus.split()["test"][:6]:
        first = built(learned, corpus, user).statements[1]
        assert first.trait in ("length", "short") and abs(first.points) > 0.8
        likes_long = (first.points > 0) == (first.trait == "length")
        assert likes_long == bool(int(user[1:]) % 2)


def test_a_change_of_the_reply_moves_the_score_as_it_is_said_to(judge, planted, memory, monkeypatch):
    corpus, _ = planted
    block = block_of(corpus, memory)
    changes = run_with_answers(partial(find_changes, judge, block))
    assert set(changes["trait"]) <= set(CHANGEABLE) and len(changes)
    assert (changes.groupby(TURN).size() <= 3).all()
    verdicts = dict(
        zip(zip(block.targets["session"], block.targets["turn"]), run_with_answers(partial(judge.judge, block)))
    )
    said = dict(zip(verdicts, read_block_turns(block)[1]))
    for row in changes.head(12).itertuples():
        key = (row.session, row.turn)
        assert (
            row.score == pytest.approx(verdicts[key].raw)
            and row.before == measure_traits(said[key])[NAMES.index(row.trait)]
        )
        assert row.turns_round == ((row.score > 3.5) != (row.new_score > 3.5))
        changed = measure_traits(said[key]).copy()
        changed[NAMES.index(row.trait)] = row.after
        features = {said[key]: changed}
        with monkeypatch.context() as patch:
            patch.setattr(
                "perslib.judge.learned.learned_judge.measure_traits",
                lambda turn, own=features: own.get(turn, measure_traits(turn)),
            )
            judge._known = {}
            again = run_with_answers(partial(judge.judge, block.with_replies(*key, [said[key].reply])))[0]
        assert again.raw == pytest.approx(row.new_score, abs=1e-9), row.trait
    judge._known = {}


def test_the_smallest_change_that_turns_a_verdict_round_comes_first(judge, planted):
    corpus, _ = planted
    found = [run_with_answers(partial(find_changes, judge, block)) for block in list(corpus.blocks())[:12]]
    turned = pd.concat(found)
    assert turned["turns_round"].any() and not turned["turns_round"].all()
    by_reply = turned.groupby(TURN)["turns_round"]
    assert (by_reply.apply(lambda own: own.is_monotonic_decreasing)).all(), "those that turn it round are named first"
    away = ~turned["turns_round"]
    nearer = (turned["new_score"] - 3.5).abs() < (turned["score"] - 3.5).abs()
    assert nearer[away].all()
