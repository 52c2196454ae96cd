"""The PersTurnBench release: hand-made files always, the public conversations where they are at hand."""

from __future__ import annotations

import gzip
import json
import tarfile

import pytest
import real
from made import GIFT, RECIPE, SKILL, TRAVEL, message, session, simple_session, write_release

from perslib.corpus import import_release, load, read_release
from perslib.corpus.corpus import group_shuffle_split
from perslib.corpus.loaders import persturnbench
from perslib.errors import DataError

ARCHIVE = "persturnbench/persturnbench_42users.tar.gz"


@pytest.fixture
def release(tmp_path):
    return write_release(
        tmp_path,
        {
            ("User_2", TRAVEL, "0"): simple_session("5"),
            ("User_10", GIFT, "10"): simple_session("3"),
            ("User_10", GIFT, "2"): simple_session(2),
            ("User_10", TRAVEL, "0"): simple_session("1"),
            ("User_2", SKILL, "0"): session(
                message("user", "一"), message("user", "二"), message("assistant", "答", "3"), message("user", "三")
            ),
            ("User_2", RECIPE, "3"): session(message("user", "没有人回答")),
        },
    )


def test_order_is_users_as_text_scenarios_fixed_files_numeric(release):
    corpus = load(release)
    assert list(zip(corpus.sessions["user"], corpus.sessions["scenario"], corpus.sessions["session"])) == [
        ("User_10", TRAVEL, "0"),
        ("User_10", GIFT, "2"),
        ("User_10", GIFT, "10"),
        ("User_2", TRAVEL, "0"),
        ("User_2", RECIPE, "3"),
        ("User_2", SKILL, "0"),
    ]


def test_irregular_shapes_are_survived_and_counted(release):
    corpus = load(release)
    assert corpus.meta["irregularities"] == {
        "scores of 3 or lower without a published reason, stored as 其它": 1,
        "sessions that end with a user message": 1,
        "sessions without any assistant message": 1,
        "user messages followed by another user message": 1,
    }
    skill = corpus.turns[corpus.turns["scenario"] == SKILL].iloc[0]
    assert (skill["request"], skill["earlier"], skill["reason"]) == ("二", ("一",), "其它")
    assert [m["content"] for m in corpus.messages("User_2", SKILL, "0")] == ["一", "二", "答", "三"]
    assert [m["content"] for m in corpus.messages("User_2", RECIPE, "3")] == ["没有人回答"]
    assert corpus.statistics().set_index("statistic")["value"]["user turns"] == 8


def test_optional_keys_may_be_missing_or_present(tmp_path):
    bare = {"history": [message("user", "问"), message("assistant", "答", "4") | {"hallucination": "否"}]}
    full = simple_session("5", questionnaire={"a": 1}, strategy_V3="x", profile={"age": 20, "complete_tid": [1]})
    corpus = load(write_release(tmp_path, {("User_0", TRAVEL, "0"): bare, ("User_1", TRAVEL, "0"): full}))
    assert list(corpus.sessions["task"]) == ["", "a task"]
    assert list(corpus.sessions["assistant"]) == ["unknown", "m"]
    assert list(corpus.users["profile"]) == [{}, {"age": 20}]
    assert corpus.turns["hallucination"].iloc[0] == "否"


def test_reasons_obey_the_legality_rule(tmp_path):
    sessions = {
        ("User_0", TRAVEL, str(i)): session(message("user", "问"), message("assistant", "答", score, reason))
        for i, (score, reason) in enumerate([("5", "满意"), ("4", "不可用"), ("3", "其他"), ("2", "不可用")])
    }
    corpus = load(write_release(tmp_path, sessions))
    assert [r if isinstance(r, str) else None for r in corpus.turns["reason"]] == [None, None, "其它", "不可用"]
    counted = corpus.meta["irregularities"]
    assert counted["reasons given with a score of 4 or 5, left out"] == 1
    assert counted["scores of 3 or lower without a published reason, stored as 其它"] == 1


BAD = {
    "score": (session(message("user", "问"), message("assistant", "答", "7")), 'satisfaction is "7", expected 1–5'),
    "no score": (
        session(message("user", "问"), message("assistant", "答")),
        "history[1].satisfaction is missing, expected 1–5 on every",
    ),
    "role": (session({"role": "system", "content": "x"}), 'history[0].role is "system", expected user or assistant'),
    "content": (session({"role": "user"}), "history[0].content is missing, expected a text"),
    "history": ({"history": "text"}, 'history is "text", expected a list of messages'),
    "profile": (simple_session("4", profile="x"), 'profile is "x", expected an object'),
    "truncated": ('{"history": [{"role": "user"', "ends too early"),
    "utf-8": (b'{"history": \xff}', "is not UTF-8"),
    "a list": ([1, 2], "is [1, 2], expected an object with"),
    "no json": ("{'history': []}", "is not JSON"),
    "empty": ("", "ends too early"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_the_fault(tmp_path, name):
    content, expected = BAD[name]
    root = write_release(tmp_path, {("User_0", GIFT, "0"): content, ("User_1", GIFT, "0"): simple_session()})
    with pytest.raises(DataError) as error:
        load(root)
    assert expected in str(error.value)
    assert f"User_0/{GIFT}/0.json" in str(error.value)
    assert "--skip-bad" in str(error.value)
    reading = read_release(root, "persturnbench", skip_bad=True)
    assert list(reading.corpus.users["user"]) == ["User_1"]
    assert len(reading.rejected) == 1 and expected in reading.rejected[0].reason


def test_many_problems_are_listed_at_once_but_not_all(tmp_path):
    root = write_release(tmp_path, {(f"User_{i}", GIFT, "0"): {"history": 1} for i in range(25)})
    with pytest.raises(DataError) as error:
        load(root)
    assert len(error.value.problems) == 25
    assert str(error.value).count("expected a list of messages") == 20 and "… and 5 more" in str(error.value)


def test_two_files_for_one_session_are_refused(tmp_path):
    root = write_release(tmp_path, {("User_0", GIFT, "0"): simple_session(), ("User_0", GIFT, "00"): simple_session()})
    with pytest.raises(DataError, match=f"^User_0/{GIFT}/00?.json: is a second file for the same session"):
        load(root)


def test_another_data_set_is_recognised_as_such(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError, match="Is this the PersTurnBench release"):
        read_release(tmp_path, "persturnbench")
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(b"no archive at all")
    with pytest.raises(DataError, match="cannot be read as a tar archive"):
        read_release(broken, "persturnbench")


def test_shipped_split_is_read_leniently(release):
    (release / "splits.json").write_text('{"meta": 1, "users": {"train_users": ["User_2"], "test_users": ["User_10"]}}')
    corpus = load(release)
    assert corpus.split() == {"train": ["User_2"], "test": ["User_10"]}
    assert corpus.meta["split_origin"] == "splits.json, unlike the recomputed one"
    (release / "splits.json").write_text('{"something": "else"}')
    corpus = load(release)
    not_used = "splits.json does not divide these users into train and test, split recomputed"
    assert corpus.meta["irregularities"][not_used] == 1
    assert corpus.meta["split_origin"].startswith("recomputed")
    assert set(corpus.split()) == {"train", "test"}


@pytest.fixture
def ten(tmp_path):
    """A release of ten users with a block each."""
    sessions = {(f"User_{i}", s, "0"): simple_session() for i in range(10) for s in (TRAVEL, GIFT)}
    return write_release(tmp_path / "ten", sessions)


TEN = [f"User_{i}" for i in range(10)]


def test_a_subset_of_the_test_users_does_not_become_the_test_split(ten):
    shipped = {"test_subset_2": TEN[2:4], "test": TEN[2:], "train": TEN[:2]}
    (ten / "splits.json").write_text(json.dumps(shipped))
    assert load(ten).split() == {"test": TEN[2:], "train": TEN[:2]}


@pytest.mark.parametrize(
    "shipped",
    [
        {"train": TEN[:3], "test": TEN[2:]},
        {"train": TEN[:2], "test": TEN[3:]},
        {"train": TEN[:2], "test": [*TEN[2:], TEN[2]]},
        {"train": [], "test": TEN},
        {"test_subset_2": TEN[2:4], "train": TEN[:2]},
    ],
    ids=["overlap", "gap", "twice", "no train user", "subset alone"],
)
def test_a_shipped_split_that_is_no_partition_is_recomputed(ten, shipped):
    (ten / "splits.json").write_text(json.dumps(shipped))
    corpus = load(ten)
    assert corpus.split() == group_shuffle_split(TEN)
    assert corpus.meta["split_origin"] == "recomputed (seed 42, users with a block)"
    assert any("does not divide" in note for note in corpus.meta["irregularities"])


@pytest.mark.parametrize("said", ["half \ud83d", {"deep": ["\udc00"]}], ids=["content", "profile"])
def test_half_a_character_is_named_with_file_and_field(tmp_path, said):
    bad = simple_session(profile=said) if isinstance(said, dict) else session(message("user", said))
    root = write_release(tmp_path, {("User_0", GIFT, "0"): json.dumps(bad), ("User_1", GIFT, "0"): simple_session()})
    field = "profile.deep[0]" if isinstance(said, dict) else "history[0].content"
    expected = f"User_0/{GIFT}/0.json: {field} holds half a character (a lone surrogate)"
    with pytest.raises(DataError) as error:
        load(root)
    assert expected in str(error.value)
    done = import_release("persturnbench", root, out=tmp_path / "out", skip_bad=True)
    assert list(done.corpus.users["user"]) == ["User_1"]
    rejected = json.loads((tmp_path / "out" / "rejected.jsonl").read_text("utf-8"))
    assert rejected["record"] == json.loads(json.dumps(bad)), "what was rejected is all there"


def test_a_file_that_was_cut_off_is_said_to_be(tmp_path):
    whole = json.dumps(simple_session(), ensure_ascii=False).encode()
    start = whole.index("问".encode())
    root = write_release(tmp_path, {("User_0", GIFT, "0"): whole[: start + 2]})
    with pytest.raises(DataError, match=rf"/0.json:1: ends within a character, at byte {start}; the file may be"):
        load(root)


def test_every_user_message_followed_by_another_is_counted(tmp_path):
    history = [message("user", "一"), message("user", "二"), message("assistant", "答", "4")]
    after = [message("user", "三"), message("user", "四"), message("user", "五")]
    sessions = {
        ("User_0", GIFT, "0"): session(*history, *after),
        ("User_0", TRAVEL, "0"): session(message("user", "一"), message("user", "二")),
    }
    noted = load(write_release(tmp_path, sessions)).meta["irregularities"]
    assert noted["user messages followed by another user message"] == 4


def test_folder_data_folder_and_archive_are_one(release, tmp_path_factory):
    archive = tmp_path_factory.mktemp("archive") / "release.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(release / "data", "persturnbench_data_release/data")
    assert load(release).digest == load(release / "data").digest == load(archive).digest


@pytest.mark.parametrize(
    ("size", "times", "said"),
    [(10 << 30, 1, "has 10,737,418,240 bytes"), (16 << 20, 17, "17 files have 285,212,672")],
    ids=["one member", "their sum"],
)
def test_a_sparse_archive_does_not_take_all_memory(tmp_path, size, times, said):
    """A member's size is what it says, not what lies in the archive: a sparse one unpacks from nothing."""
    members = b""
    for i in range(times):
        member = tarfile.TarInfo(f"data/User_0/{GIFT}/{i}.json")
        member.size = 10
        member.pax_headers = {"GNU.sparse.size": str(size), "GNU.sparse.map": "0,10"}
        members += member.tobuf(tarfile.PAX_FORMAT) + b"0123456789".ljust(512, b"\0")
    archive = tmp_path / "bomb.tar.gz"
    archive.write_bytes(gzip.compress(members + bytes(1024)))
    with pytest.raises(DataError, match="cannot be read as a tar archive") as error:
        read_release(archive, "persturnbench", skip_bad=True)
    assert said in str(error.value) and archive.stat().st_size < 3_000


def test_an_archive_that_unpacks_to_too_much_is_not_read(tmp_path, monkeypatch):
    """Further fields of a member stand in a header of their own, of the size that it gives itself."""
    header = tarfile.TarInfo("fields")
    header.type, header.size = tarfile.XHDTYPE, 4 << 30
    archive = tmp_path / "bomb.tar.gz"
    archive.write_bytes(gzip.compress(header.tobuf(tarfile.PAX_FORMAT) + bytes(1 << 16)))
    monkeypatch.setattr(persturnbench, "_ALL", 1 << 16)
    with pytest.raises(DataError, match=r"cannot be read as a tar archive .unpacked, it has more than 65,536 bytes"):
        read_release(archive, "persturnbench")


def test_plain_archives_are_read_and_damaged_ones_named(release, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    for mode in ("w", "w:gz"):
        with tarfile.open(folder / "release.tar", mode) as tar:
            tar.add(release / "data", "data")
        assert load(folder / "release.tar").digest == load(release).digest
    damaged = bytearray((folder / "release.tar").read_bytes())
    damaged[100:200] = bytes(100)
    (folder / "release.tar").write_bytes(damaged)
    with pytest.raises(DataError, match="cannot be read as a tar archive"):
        load(folder / "release.tar")


@real.needs(ARCHIVE)
def test_the_public_conversations_give_the_published_counts():
    corpus = load(real.ROOT / ARCHIVE)
    for part, blocks, turns in (("train", 85, 1413), ("test", 80, 1594)):
        found = list(corpus.blocks(part))
        assert (len(found), sum(map(len, found))) == (blocks, turns)
    assert len(corpus.split()["train"]) == 22
    assert corpus.turns["score"].notna().all()
    low = corpus.turns["score"] <= 3
    assert (low == corpus.turns["reason"].notna()).all()
