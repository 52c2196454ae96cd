"""The memory that counts: what it concludes, what it cites, and what it says of the reply at hand."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from histories import Row, corpus_of
from scripted import first_asked

from perslib.corpus import Block, load
from perslib.errors import UnknownName
from perslib.judge import JudgeSettings, Personal, select_blocks
from perslib.llm import run_with_answers
from perslib.memory import MeasuredSystem, MemorySystem, Statement, UserMemory
from perslib.memory.features import read_evidence_turns, read_target_turn
from perslib.memory.measured import TRAITS, MeasuredMemory, Traits, _measure_turns
from perslib.prompts import read_phrases

NUMBERS = "Take tram 4 at 9:15, 12 stops, 3 euros; the shop at 27 Long Street opens at 10."
VAGUE = "Take some tram in the morning, ride for a while, and look for a shop on that street."


def history(*scores_and_texts: tuple[int, str]) -> list[Row]:
    return [("ada", "travel", str(i), "How do I get there?", text, s) for i, (s, text) in enumerate(scores_and_texts)]


def block_of(rows: list[Row], *replies: str) -> Block:
    wanted = [("ada", "gift", str(i), "A gift?", reply, 3) for i, reply in enumerate(replies)]
    return corpus_of([*rows, *wanted]).block("ada", "gift")


LIKES_NUMBERS = history(*[(5, NUMBERS), (2, VAGUE)] * 5)


def built(system: MemorySystem, block: Block) -> UserMemory:
    return run_with_answers(partial(system.build, block))


@pytest.fixture(scope="module")
def sample() -> list[tuple[Block, UserMemory]]:
    """Blocks of the sample with 300 replies, each with its memory."""
    return [(block, built(MeasuredSystem(), block)) for block in select_blocks(load("sample/en"), limit=300)]


def test_it_says_where_high_and_low_replies_differ_and_cites_them() -> None:
    memory = built(MeasuredSystem(), block_of(LIKES_NUMBERS, "Socks."))
    (numbers,) = [s for s in memory.statements if s.text.startswith("exact numbers")]
    assert re.fullmatch(r"exact numbers: about 7 where the score is 5 or more, about 0 below", numbers.text)
    assert set(numbers.turns) <= set(memory.turns) and len(numbers.turns) == 4
    assert memory.counts == (0, 5, 0, 0, 5)
    assert memory.state == "measured" and memory.error is None


def test_a_reply_is_placed_among_those_it_resembles() -> None:
    block = block_of(LIKES_NUMBERS, "Buy 3 books at 12 euros, shelf 4, before 9:30 on 5 May.", VAGUE)
    memory = built(MeasuredSystem(), block)
    precise, vague = (memory.describe_target(t) or "" for t in block)
    assert float(precise.split()[-1]) > 3.5 > float(vague.split()[-1])
    assert "exact numbers: 6" in precise and "exact numbers: 0" in vague


def test_the_score_is_ridge_regression_on_the_users_own_turns() -> None:
    block = block_of(
        history((5, NUMBERS), (4, NUMBERS + VAGUE), (2, VAGUE), (3, "No."), (1, "Sorry?"), (4, NUMBERS)), "Ok."
    )
    said, y = read_evidence_turns(block.evidence), np.array([5.0, 4, 2, 3, 1, 4])
    x = _measure_turns(said)
    spread = np.maximum(x.std(0), 0.05)
    z = (x - x.mean(0)) / spread
    w = np.linalg.solve(z.T @ z + 2 * 6 * np.eye(len(TRAITS)), z.T @ (y - y.mean()))
    (target,) = block
    new = _measure_turns([read_target_turn(target)])[0]
    expected = y.mean() + np.clip((new - x.mean(0)) / spread, -3, 3) @ w
    assert Traits(said, y).score(new) == pytest.approx(expected)


def test_an_unrated_reply_still_comes_before_the_next() -> None:
    rows: list[Row] = [
        ("ada", "travel", str(session), "How do I get there?", text, score)
        for session, rated in enumerate((5, 2, 4, 3, 5))
        for text, score in ((VAGUE, None), (VAGUE + NUMBERS, rated))
    ]
    memory = built(MeasuredSystem(), block_of(rows, "Socks."))
    assert isinstance(memory, MeasuredMemory) and memory.traits is not None
    names = list(TRAITS)
    assert len(memory.traits.values) == 5
    assert (memory.traits.values[:, names.index("first")] == 0).all()
    assert (memory.traits.values[:, names.index("repeats_reply")] > 0.3).all()
    assert (memory.traits.values[:, names.index("growth")] > 0).all()


def test_a_history_too_short_or_too_even_is_no_ground_for_conclusions() -> None:
    for rows in (LIKES_NUMBERS[:4], history(*[(4, NUMBERS), (4, VAGUE)] * 5)):
        block = block_of(rows, NUMBERS)
        memory = built(MeasuredSystem(), block)
        assert memory.statements == () and memory.describe_target(next(iter(block))) is None
        assert sum(memory.counts) == len(rows)


@pytest.mark.sample
def test_the_traits_of_a_reply_are_those_of_the_statements(sample: list[tuple[Block, UserMemory]]) -> None:
    """On every block of the sample: the same traits in the same order, and no direction but the correlation's."""
    blocks = 0
    for block, memory in sample:
        assert isinstance(memory, MeasuredMemory)
        named = [s.text.partition(":")[0] for s in memory.statements]
        about = memory.describe_target(next(iter(block)))
        if memory.traits is None or about is None:
            assert not named
            continue
        said = [part.rpartition(": ")[0] for part in about.partition("; going by")[0].split(", ")]
        assert said == named == [read_phrases("traits", "en")[name] for name, _ in memory.traits.statements]
        for name, i in memory.traits.statements:
            high, low, _ = memory.traits.contrast(i, name)
            assert (high - low) * memory.traits.correlations[i] > 0
        blocks += 1
    assert blocks > 10


def test_a_trait_whose_sentence_would_contradict_its_correlation_is_not_told() -> None:
    # Prices fall with the score, but the split nearest to halves, 4 and above against 3, has them the other way.
    scores = [1, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3]
    prices = [9, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]
    rows = history(*[(s, " ".join(["It costs 7 euros."] * p)) for s, p in zip(scores, prices)])
    block = block_of(rows, "It costs 7 euros.")
    traits = Traits(read_evidence_turns(block.evidence), block.evidence["score"].to_numpy(float))
    i = list(TRAITS).index("prices")
    high, low, cut = traits.contrast(i, "prices")
    assert cut == 4 and high > low and traits.correlations[i] < -1 / np.sqrt(len(rows))
    assert "prices" not in dict(traits.statements)
    assert not any(s.text.startswith("prices") for s in built(MeasuredSystem(), block).statements)


def test_it_speaks_both_languages_and_no_other() -> None:
    block = block_of(LIKES_NUMBERS, NUMBERS)
    memory = built(MeasuredSystem("zh"), block)
    assert any(s.text.startswith("具体数字：打 5 分及以上的通常约 7") for s in memory.statements)
    assert re.search(r"此人约打 \d\.\d 分$", memory.describe_target(next(iter(block))) or "")
    with pytest.raises(UnknownName, match="language"):
        MeasuredSystem("fr")


class Says(MemorySystem):
    """A memory of one sentence."""

    name = "told"

    async def build(self, block, ask, judged=None):  # type: ignore[no-untyped-def]
        return UserMemory(block.user, block.scenario, "told", (0,) * 5, (Statement("M1", "scoring_style", "Strict."),))


def test_beside_another_memory_its_statements_follow_on() -> None:
    memory = built(MeasuredSystem(leading_system=Says()), block_of(LIKES_NUMBERS, NUMBERS))
    assert memory.system == "told + measured"
    assert [s.id for s in memory.statements] == [f"M{i}" for i in range(1, len(memory.statements) + 1)]
    assert memory.statements[0].text == "Strict." and memory.statements[1].field == "measured"
    assert sum(memory.counts) == 10  # counted from the data, whatever the other memory says


def test_the_judge_reads_it_after_the_reply() -> None:
    judge = Personal(MeasuredSystem(), JudgeSettings(with_rationale=False))
    asked = first_asked(partial(judge.judge, block_of(LIKES_NUMBERS, NUMBERS, VAGUE)))
    first, second = (request.messages[-1]["content"] for request in asked)
    assert first.index("Reply to score") < first.index("going by these traits")
    # What differs between the questions of a block comes last, so that they share a prefix.
    assert first[: first.index(NUMBERS)] == second[: second.index(VAGUE)]


def test_on_the_sample_it_follows_the_user_within_their_own_level(sample: list[tuple[Block, UserMemory]]) -> None:
    gold = load("sample/en").turns.set_index(["user", "scenario", "session", "turn"])["score"].astype(float)
    off, of = [], []
    for block, memory in sample:
        told = [memory.describe_target(t) for t in block]
        if all(text is None for text in told):  # of these users no trait is worth a sentence
            continue
        said = np.array([float(text.split()[-1]) if text else np.nan for text in told])
        true = np.array([gold[t.user, t.scenario, t.session, t.turn] for t in block])
        off.extend(said - np.nanmean(said))
        of.extend(true - true.mean())
    known = np.isfinite(off)
    assert np.corrcoef(np.array(off)[known], np.array(of)[known])[0, 1] > 0.15
