"""What was learned is read back by who learns from the same again, and by nobody else."""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from pathlib import Path

import pytest
from histories import corpus_of
from hypothesis import given
from hypothesis import strategies as st

from perslib.corpus import Corpus
from perslib.errors import DataError
from perslib.judge import LearnedJudge, Supervised, UserMean
from perslib.judge import taught as kept
from perslib.llm.event_loop import compute
from perslib.model_files import pack, unpack


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
    assert len(list(folder.iterdir())) == 1 and oct(folder.stat().st_mode)[-3:] == "700"
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
    assert len(list(folder.iterdir())) == 3
    monkeypatch.setattr(kept, "digest_code", lambda: "newer")
    learned(Supervised(), train)
    assert len(list(folder.iterdir())) == 4
    learned(UserMean(), train)
    assert len(list(folder.iterdir())) == 4, "a mean has nothing to learn"


def test_the_code_of_others_is_not_kept(folder, train):
    class Own(Supervised):
        pass

    learned(Own(), train)
    assert not folder.exists()


@pytest.mark.parametrize(
    "harm",
    [
        lambda card, weights: weights.write_bytes(weights.read_bytes()[:100]),
        lambda card, weights: card.write_text(card.read_text().replace('"about": "', '"about": "0')),
        lambda card, weights: card.write_text("[]"),
        lambda card, weights: card.write_text(
            card.read_text().replace('"learned": {', '"learned": {"object": "Popen", "state": {}, ')
        ),
        lambda card, weights: card.unlink(),
    ],
)
def test_what_is_cut_off_or_of_other_content_is_learned_anew(folder, train, harm):
    learned(Supervised(), train)
    (one,) = folder.iterdir()
    whole = one.joinpath("weights.npz").stat().st_size
    harm(one / "card.json", one / "weights.npz")
    assert learned(Supervised(), train)._weights is not None
    assert [kept.name for kept in folder.iterdir()] == [one.name]
    assert one.joinpath("weights.npz").stat().st_size == whole, "it was written whole again"


def test_nothing_is_kept_where_it_cannot_be_or_is_not_wanted(folder, train, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "file" / "no folder"))
    assert learned(Supervised(), train)._weights is not None
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    for off in ("off", "OFF", "0", "no"):
        monkeypatch.setenv(kept.VARIABLE, off)
        assert kept.taught_folder() is None and learned(Supervised(), train)._weights is not None
    for nowhere in ("cache", "./x"):
        monkeypatch.setenv(kept.VARIABLE, nowhere)
        with pytest.raises(DataError, match=r"\$PERSLIB_TAUGHT: is .*expected a path from the root on, or off"):
            learned(Supervised(), train)
    assert sorted(tmp_path.iterdir()) == before


def test_the_folder_is_where_the_standard_of_caches_says(monkeypatch):
    monkeypatch.setenv(kept.VARIABLE, "~/x")
    assert kept.taught_folder() == Path.home() / "x"
    monkeypatch.delenv(kept.VARIABLE)
    for named, expected in {
        "/somewhere": Path("/somewhere"),
        "cache": Path.home() / ".cache",
        "": Path.home() / ".cache",
    }.items():
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert kept.taught_folder() == expected / "perslib/taught", "a relative one is ignored"


def test_what_was_not_used_for_longest_goes_first(folder, train, monkeypatch):
    learned(Supervised(), train)
    (old,) = folder.iterdir()
    monkeypatch.setattr(kept, "MOST", sum(file.stat().st_size for file in old.iterdir()) + 10)
    learned(Supervised(), train.of_users(["u0", "u1", "u2"]))
    assert old not in set(folder.iterdir()) and len(list(folder.iterdir())) == 1


def test_of_many_train_users_so_many_teach_as_have_so_many_turns(train, monkeypatch):
    assert kept.sample_teachers(train) is train
    few = kept.sample_teachers(train, 20)
    assert len(few.turns) == 16 and few.users["user"].tolist() == kept.sample_teachers(train, 20).users["user"].tolist()
    assert set(few.turns["user"]) < set(train.turns["user"])
    assert len(kept.sample_teachers(train, 1).users) == 1, "somebody has to"


def test_a_corpus_has_the_same_digest_however_it_came_about(train):
    again = dataclasses.replace(train, turns=train.turns.sample(frac=1, random_state=0).sort_index())
    assert kept.digest_corpus(train) == kept.digest_corpus(again)
    assert kept.digest_corpus(train) != kept.digest_corpus(train.of_users(["u0", "u1"]))


def test_what_is_packed_is_unpacked_as_it_was_and_nothing_else_is_made():
    numbers = st.floats() | st.integers() | st.booleans() | st.none() | st.text()
    values = st.recursive(numbers, lambda v: st.lists(v) | st.tuples(v, v) | st.dictionaries(st.text(), v))

    @given(values)
    def same(value):
        packed = json.loads(json.dumps(pack(value, {}, ())))
        assert repr(unpack(packed, {}, ())) == repr(value)

    same()
    for value in (object(), {1, 2}, print):
        with pytest.raises(TypeError):
            pack(value, {}, (dict,))
    for packed in ({"object": "Popen", "state": {}}, {"call": "print"}):
        with pytest.raises(ValueError):
            unpack(packed, {}, (Corpus,))
