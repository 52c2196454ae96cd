"""What a judge notices: planted judges come out as what they are, and each damage does what its name says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of

from perslib.corpus import Corpus
from perslib.judge import Computed, JudgeInputs, evaluate, make_judge, select_blocks
from perslib.judge.answering import Answering, Guarded
from perslib.llm.event_loop import compute
from perslib.studies.shared import describe_judge
from perslib.systems.uxbench import bench as ux
from perslib.systems.uxbench.studies import judge_bias as study
from perslib.systems.uxbench.tasks.damages import DAMAGES, Elsewhere


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Eighteen users in two scenarios; replies have a number, a list and the request's own word."""
    rows = []
    for user in range(18):
        for scenario, thing in (("travel", "train"), ("gift", "book")):
            for turn in range(6):
                request = f"A {thing} for {user + 3} people please, number {turn}"
                reply = f"**The {thing}** number {turn} is fine. It costs {20 + turn} coins. Take the {thing} today{'!' * user}\n- one\n- two"
                rows.append((f"u{user:02}", scenario, "0", request, reply, 3 + (user + turn) % 3))
    made = corpus_of(rows)
    return replace(made, meta={"splits": {"train": [], "test": sorted(made.users["user"])}})


class Length(Computed):
    """Reads nothing but length."""

    name, inputs = "length", JudgeInputs(reply=True)

    def scores(self, block):
        return [min(5.0, 1 + len(target.response) / 80) for target in block]


class Blind(Computed):
    """Reads nothing."""

    name, inputs = "blind", JudgeInputs()

    def scores(self, block):
        return [4.0] * len(block)


class Knowing(Computed):
    """Knows what was recorded: any other reply is worse."""

    name, inputs = "knowing", JudgeInputs(reply=True)

    def __init__(self, corpus: Corpus):
        self.told = set(corpus.turns["response"])

    def scores(self, block):
        rng = np.random.default_rng(len(block))
        right = [target.response.strip() in {reply.strip() for reply in self.told} for target in block]
        return [4 + rng.normal(0, 0.01) - (0 if is_right else 1.5) for is_right in right]


def verdicts(judge: Computed, corpus: Corpus) -> pd.Series:
    found = ux.damage_audit(judge, corpus, progress=False)
    assert list(found["damage"]) == list(DAMAGES) and (found["judge"] == judge.name).all()
    return found.set_index("damage")["verdict"]


@pytest.mark.sample
def test_planted_judges_are_what_they_are(corpus):
    by_length, blind, knowing = (verdicts(judge, corpus) for judge in (Length(), Blind(), Knowing(corpus)))
    assert set(blind) == {"does not notice"}
    assert by_length[["second half cut off", "a refusal"]].eq("notices").all()
    assert by_length[["empty words doubled", "praise added", "a wish of the request denied"]].eq("rewards").all()
    assert by_length[["sentences shuffled", "numbers changed", ux.HARMLESS]].eq("does not notice").all()
    of_others = ["another's other question", "another question of the session", "the last reply repeated"]
    damaged = [name for name in DAMAGES if name not in (ux.HARMLESS, *of_others)]
    assert knowing[damaged].eq("notices").all() and knowing[ux.HARMLESS] == "does not notice"
    noticed = study.summarize_damages([ux.damage_audit(Length(), corpus, progress=False)])
    facts = study.describe_damages(noticed, "length")
    assert facts["n"] == len(DAMAGES) - 1 and facts["noticed"] == facts["guarded"] == (by_length == "notices").sum()
    assert "praise added" in facts["rewarded"]


def test_each_damage_does_what_it_says(corpus):
    block = next(b for b in select_blocks(corpus) if b.scenario == "travel")
    where, rng, target = Elsewhere(list(select_blocks(corpus)), "en"), np.random.default_rng(0), list(block)[2]
    made = {name: damage(target, where, rng) for name, damage in DAMAGES.items()}
    assert "book" in made["another's other question"] and "train" in made["another question of the session"]
    assert target.response.startswith(made["second half cut off"]) and "66 coins" in made["numbers changed"]
    assert "people please" in made["a wish of the request denied"] and made["a wish of the request denied"].endswith(
        target.response
    )
    assert made["the last reply repeated"] == target.prefix[-2]["content"]
    assert "*" not in made["structure stripped"] and "\n" not in made["structure stripped"]
    assert sorted(made["sentences shuffled"]) == sorted(target.response) and made["another language"].isascii() is False
    first = next(iter(block))
    assert DAMAGES["the last reply repeated"](first, where, rng) is None, "there is none before the first"


def test_one_sentence_says_what_a_judge_goes_by(corpus):
    said = study.describe_noticed(Length(), corpus)
    seen, rewarded = said.split("(")[1].split("), and it rewards ")
    assert "second half cut off" in seen and "another's" not in seen
    assert rewarded.startswith("a wish of the request denied") and "empty words doubled" in rewarded
    assert "notices 0 (none), and it rewards none" in study.describe_noticed(Blind(), corpus)
    few = corpus.of_users(sorted(corpus.users["user"])[:5])
    assert study.describe_noticed(Length(), few) == "", "five users have no interval"
    assert study.describe_noticed(Length(), replace(corpus, meta={"splits": {"train": [], "test": []}})) == ""
    asking = make_judge("zero-shot")
    assert study.describe_noticed(asking, corpus).endswith("page 08."), "nobody is asked"
    assert describe_judge(Length(), corpus) == [said], "of length nothing is known without verdicts"
    known, length = describe_judge(Length(), corpus, evaluate(Length(), corpus, progress=False))
    assert known == said and "one of double length gets" in length and "change its score by" in length


def test_a_guard_leaves_alone_what_its_judge_has_learned(corpus, monkeypatch):
    class Learns(Length):
        times = 0

        async def fit(self, train, ask):
            Learns.times += 1

    judge = Learns()
    judge.inputs = JudgeInputs(reply=True, train=True)
    monkeypatch.setattr(Answering, "fit", lambda self, *_: self)
    for has_learned, times in ((True, 0), (False, 1)):
        compute(partial(Guarded(judge, has_learned=has_learned).fit, corpus))
        assert Learns.times == times


class Reminded(Computed):
    """Takes a reminder for an answer: a point more where a reply has a request of the user's in it; kinder with any history."""

    name, inputs = "reminded", JudgeInputs(reply=True, history=True)

    def scores(self, block):
        past = [request for request in block.evidence["request"].dropna() if request]
        return [3.0 + 0.5 * bool(past) + any(request[:20] in t.response for request in past) for t in block]


def test_a_judge_that_takes_a_reminder_for_an_answer_is_named(corpus):
    found = ux.mention_audit(Reminded(), corpus, limit=60).set_index("effect")
    assert found["users"].eq(18).all() and found["turns"].eq(60).all()
    assert found["change"].to_dict() == pytest.approx(
        {"with memory": 0.5, "own past mentioned": 1, "another's past mentioned": 0, "own more than another's": 1}
    )
    wording, facts = study.describe_mentions(found.reset_index())
    assert "rewards a reply" in wording and str(facts["memory"]).startswith("0.50")
    blind = ux.mention_audit(Blind(), corpus, limit=60)
    assert blind["change"].eq(0).all() and "rewards" not in study.describe_mentions(blind)[0]
    longer = ux.mention_audit(Length(), corpus, limit=60).set_index("effect")["change"]
    assert longer["own past mentioned"] > 0 == longer["with memory"] and abs(longer["own more than another's"]) < 0.05
