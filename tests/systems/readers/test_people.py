"""Data sets of people, in the form of each repository: what is read, what is masked, and what is refused with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from real import ROOT, needs
from releases_made import RELEASES, merged, write

from perslib.corpus import detect, read_release
from perslib.errors import DataError

#: Kind → people, conversations and replies at hand, as specified; and what else is known of them.
COUNTS = {
    "ji": (257, 2142, 22_595),
    "mathconverse": (25, 77, 261),
    "simulator_arena": (51, 51, 349),
    "halie": (189, 189, 2063),
    "cragc": (211, 3315, 3315),
    "recllmsim_simulated": (100, 1856, 7103),
}


def made(folder: Path, kind: str, count: int = 3) -> Path:
    write(folder, merged(RELEASES[kind][1](n) for n in range(count)))
    return folder


@pytest.mark.parametrize("kind", ["cragc", "ji", "mathconverse", "simulator-arena", "halie", "recllmsim"])
def test_a_clone_is_recognised_without_its_name_and_read(tmp_path, kind):
    folder = made(tmp_path / "clone", kind)
    assert detect(folder) == kind
    corpus = read_release(folder).corpus
    assert len(corpus.users) == (2 if kind == "cragc" else 3)
    assert not any(name.startswith(("W", "w")) for name in corpus.users["user"]), "ids of workers are replaced"


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=needs(kind)) for kind in COUNTS])
def test_counts_are_those_of_the_release(kind):
    corpus = read_release(ROOT / kind).corpus
    assert (len(corpus.users), len(corpus.sessions), len(corpus.turns)) == COUNTS[kind]


@pytest.mark.parametrize(
    ("kind", "name"), [("ji", "pass_icebreaker.json"), ("cragc", "ratings.jsonl"), ("recllmsim", "conversations.jsonl")]
)
def test_a_packed_file_is_read_and_half_of_it_is_refused(tmp_path, kind, name):
    folder = made(tmp_path / "clone", kind)
    file, sessions = folder / name, len(read_release(folder, kind).corpus.sessions)
    packed = gzip.compress(file.read_bytes())
    file.unlink()
    (folder / f"{name}.gz").write_bytes(packed)
    assert len(read_release(folder, kind).corpus.sessions) == sessions
    (folder / f"{name}.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=rf"{name}\.gz:? cannot be unpacked"):
        read_release(folder, kind)


def test_names_are_masked_and_sittings_are_rated_by_the_mean_of_seven(tmp_path):
    reading = read_release(made(tmp_path, "ji"))
    assert (
        "Ann" not in reading.corpus.turns.to_csv()
        and reading.irregularities['names after "my name is" and the like, masked'] == 6
    )
    assert reading.corpus.sessions["satisfaction"].tolist() == pytest.approx([1, 1, 1.4, 1.4, 1.8, 1.8])


def test_votes_are_preferences_called_by_writer_and_style(tmp_path):
    corpus = read_release(made(tmp_path, "cragc", 1)).corpus
    replies = corpus.extras["candidates"].set_index(["user", "candidate"])["chosen"]
    assert replies.to_dict() == {
        ("p1", "a essay"): True,
        ("p1", "b essay"): False,
        ("p2", "a essay"): False,
        ("p2", "b essay"): True,
    }
    assert set(corpus.turns["gpt4o"]) == {"b"} and set(corpus.turns["correctness_topical"]) == {"n", "a"}


def test_marks_and_the_rating_of_the_whole_have_scales_of_their_own(tmp_path):
    corpus = read_release(made(tmp_path, "halie")).corpus
    assert str(corpus.scale) == "0–1" and corpus.turns["score"].tolist() == [5, 5, 5]
    assert corpus.sessions["satisfaction"].tolist() == [1, 2, 3]


def test_what_is_missing_is_named_with_what_to_give(tmp_path):
    with pytest.raises(DataError, match=r"holds nothing of ji\nJi: dialogue_data/pass_"):
        read_release(tmp_path, "ji")
    with pytest.raises(DataError, match=r"does not hold ratings\.jsonl\.gz and responses"):
        read_release(tmp_path, "cragc")
    folder = made(tmp_path / "half", "cragc")
    (folder / "replies.jsonl").write_text("", "utf-8")
    with pytest.raises(DataError, match=r"ratings\.jsonl:1: compares the reply r0a, which is not among the replies"):
        read_release(folder, "cragc")
    chat = RELEASES["ji"][1](1)["pass_icebreaker.json"]
    del chat[0]["data"][0]["raw scores"]["fun"]
    (tmp_path / "pass_free.json").write_text(json.dumps(chat), "utf-8")
    with pytest.raises(DataError, match=r"pass_free\.json\[0\] chat 0: raw scores\.fun is missing"):
        read_release(tmp_path / "pass_free.json", "ji")


def test_a_file_that_need_not_be_there_is_said_to_be_missing_and_refused_where_it_is_cut_off(tmp_path):
    folder = made(tmp_path, "cragc")
    optional = [file for file in folder.iterdir() if file.name.split(".")[0] not in ("ratings", "replies")]
    assert optional
    for file in optional:
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) - 5])
        with pytest.raises(DataError, match=rf"{file.name}:\d+: the JSON text ends too early\nDownload it once more"):
            read_release(folder, "cragc")
        file.unlink()
        missing = read_release(folder, "cragc").irregularities
        assert any("files that are not there" in note and file.name in note for note in missing)
        file.write_bytes(whole)
