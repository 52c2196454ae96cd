"""What was learned is read back by who learns from the same again, and by nobody else."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import pytest
from histories import corpus_of

from perslib.corpus import Corpus
from perslib.judge import LearnedJudge, Supervised, UserMean
from perslib.judge import taught as kept
from perslib.llm.event_loop import compute


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "taught"))
    return tmp_path / "taught"


@pytest.fixture
def train() -> Corpus:
    rows = [
        (
            f"u{u}",
            scenario,
            "0",
            f"request {t} of {u}",
            f"A reply with {t} steps. " * (1 + (u + t) % 4),
            1 + (u + t) % 5,
        )
        for u in range(6)
        for scenario in ("travel", "gift")
        for t in range(4)
    ]
    return corpus_of(rows)


def learned(judge, corpus):
    compute(partial(judge.fit, corpus))
    return judge


@pytest.mark.filterwarnings("ignore::perslib.errors.FewTrainUsers")
@pytest.mark.parametrize("kind", [LearnedJudge, Supervised])
def test_a_judge_that_learned_from_these_users_says_the_same_without_learning(folder, train, kind, monkeypatch):
    block = train.block("u1", "gift")

    first = learned(kind(), train)
    assert len(list(folder.glob("*.pickle"))) == 1 and oct(folder.stat().st_mode)[-3:] == "700"
    monkeypatch.setattr("perslib.judge.learned.learned_judge.estimate_variances", None)
    monkeypatch.setattr("perslib.judge.learned.supervised.list_training_blocks", None)
    again = learned(kind(), train)
    scores = [[verdict.score for verdict in compute(partial(judge.judge, block))] for judge in (first, again)]
    assert scores[0] == scores[1] and len(set(scores[0])) > 1


@pytest.mark.filterwarnings("ignore::perslib.errors.FewTrainUsers")
def test_other_users_other_words_and_other_code_are_learned_anew(folder, train, monkeypatch):
    learned(Supervised(), train)
    turns = train.turns.assign(response=train.turns["response"].str.replace("steps", "stops"))
    learned(Supervised(), dataclasses.replace(train, turns=turns))
    learned(Supervised(), train.of_users(["u0", "u1", "u2"]))
    assert len(list(folder.glob("*.pickle"))) == 3
    monkeypatch.setattr(kept, "digest_code", lambda: "newer")
    learned(Supervised(), train)
    assert len(list(folder.glob("*.pickle"))) == 4
    learned(UserMean(), train)
    assert len(list(folder.glob("*.pickle"))) == 4, "a mean has nothing to learn"


def test_the_code_of_others_is_not_kept(folder, train):
    class Own(Supervised):
        pass

    learned(Own(), train)
    assert not folder.exists()


def test_what_is_cut_off_or_cannot_be_written_stops_nobody(folder, train, monkeypatch):
    learned(Supervised(), train)
    (file,) = folder.glob("*.pickle")
    file.write_bytes(file.read_bytes()[:100])
    assert learned(Supervised(), train)._weights is not None
    assert len(file.read_bytes()) > 1000, "it was written whole again"
    monkeypatch.setenv(kept.VARIABLE, str(file / "no folder"))
    assert learned(Supervised(), train)._weights is not None
    monkeypatch.setenv(kept.VARIABLE, "off")
    assert kept.taught_folder() is None and learned(Supervised(), train)._weights is not None
    monkeypatch.delenv(kept.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert kept.taught_folder() == Path("/somewhere/perslib/taught")


def test_what_was_not_used_for_longest_goes_first(folder, train, monkeypatch):
    learned(Supervised(), train)
    (old,) = folder.glob("*.pickle")
    monkeypatch.setattr(kept, "MOST", old.stat().st_size + 10)
    learned(Supervised(), train.of_users(["u0", "u1", "u2"]))
    assert old not in set(folder.glob("*.pickle")) and len(list(folder.glob("*.pickle"))) == 1


def test_a_corpus_has_the_same_digest_however_it_came_about(train):
    again = dataclasses.replace(train, turns=train.turns.sample(frac=1, random_state=0).sort_index())
    assert kept.digest_corpus(train) == kept.digest_corpus(again)
    assert kept.digest_corpus(train) != kept.digest_corpus(train.of_users(["u0", "u1"]))
