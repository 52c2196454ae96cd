"""Memory systems of others: their exports are read in each form, and stand among the memories of pages 05 and 09."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pal_made import Letters, Model, usual

from perslib import registry
from perslib.corpus import load
from perslib.errors import DataError
from perslib.judge import make_judge
from perslib.llm import run_with_answers
from perslib.memory import make_memory, memory
from perslib.systems.mem_pal.memory import BUILT_IN, LONG_TERM
from perslib.systems.mem_pal.memory.exported import ExportedMemory, read_notes
from perslib.systems.mem_pal.memory.long_term import MemorySession
from perslib.systems.mem_pal.studies import pal_bench as study
from perslib.systems.mem_pal.world import palset

PAGE = Path(__file__).resolve().parents[3] / "docs" / "extend.md"

MEM0 = {
    "results": [
        {"id": "1", "memory": "Likes green tea", "user_id": "ada", "created_at": "2025-03-01T08:00:00.123-08:00", "updated_at": None},
        {"id": "2", "memory": "Has a dog", "user_id": "ada", "metadata": {"topic": "pets"}},
        {"id": "3", "memory": "Plays chess", "user_id": "ben", "created_at": "2025-01-01T00:00:00Z"},
    ]
}  # fmt: skip
ZEP = {
    "ada": [
        {"fact": "ADA drinks coffee", "valid_at": "2024-01-01T00:00:00Z", "invalid_at": "2025-02-01T00:00:00Z"},
        {"fact": "ADA drinks tea", "valid_at": "2025-02-01T00:00:00Z", "invalid_at": None},
    ]
}
LETTA = [
    {"text": "Prefers trains", "agent_id": "ada", "created_at": 1_735_689_600},
    {"text": "Vegetarian", "agent_id": "ada", "created_at": "1735689600000"},
]


def written(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return path


def brief(notes):
    return [(note.user, note.text, note.at, note.until) for note in notes]


def test_each_system_is_read_in_its_own_form(tmp_path):
    assert brief(read_notes(written(tmp_path / "mem0.json", MEM0))) == [
        ("ada", "Likes green tea", "2025-03-01 16:00:00", ""),
        ("ada", "Has a dog", "", ""),
        ("ben", "Plays chess", "2025-01-01 00:00:00", ""),
    ]
    assert brief(read_notes(written(tmp_path / "zep.json", ZEP))) == [
        ("ada", "ADA drinks coffee", "2024-01-01 00:00:00", "2025-02-01 00:00:00"),
        ("ada", "ADA drinks tea", "2025-02-01 00:00:00", ""),
    ]
    for name, text in (("letta.json", json.dumps(LETTA)), ("letta.jsonl", "\n".join(map(json.dumps, LETTA)) + "\n")):
        found = brief(read_notes(written(tmp_path / name, text)))
        assert found == [("ada", t, "2025-01-01 00:00:00", "") for t in ("Prefers trains", "Vegetarian")]
    table = written(tmp_path / "own.csv", "user,time,note\nada,2025-01-02,Rides a bike\n")
    assert brief(read_notes(table)) == [("ada", "Rides a bike", "2025-01-02 00:00:00", "")]
    assert brief(read_notes(written(tmp_path / "plain.json", {"ada": ["Likes rain"]}))) == [
        ("ada", "Likes rain", "", "")
    ]


def test_a_text_is_known_from_its_last_writing_and_until_it_expired(tmp_path):
    day = "2025-0{}-01T00:00:00Z".format
    rewritten = {"memory": "Likes coffee now", "user_id": "ada", "created_at": day(1), "updated_at": day(6)}
    learned_late = {
        "fact": "Moved",
        "user_id": "ada",
        "valid_at": day(1),
        "created_at": day(4),
        "expired_at": day(8),
        "invalid_at": day(2),
    }
    true_only = {"fact": "Sings", "user_id": "ada", "valid_at": day(2)}
    notes = brief(read_notes(written(tmp_path / "all.json", [rewritten, learned_late, true_only])))
    assert [(at[:7], until[:7]) for _, _, at, until in notes] == [
        ("2025-06", ""),
        ("2025-04", "2025-08"),
        ("2025-02", ""),
    ]


def test_agents_stores_and_graphs_are_read_and_the_assistants_persona_is_not(tmp_path):
    blocks = [{"label": "persona", "value": "I am kind"}, {"label": "human", "value": "Ada is a nurse"}]
    with pytest.warns(UserWarning, match="1 texts describe the assistant"):
        agent = read_notes(written(tmp_path / "one.af", {"agents": [{"id": "ada", "memory": {"blocks": blocks}}]}))
    assert brief(agent) == [("ada", "Ada is a nurse", "", "")]
    store = [
        {"namespace": ["memories", "ada"], "key": "k", "value": {"text": "Rides"}, "updated_at": "2025-03-01T00:00:00Z"}
    ]
    assert brief(read_notes(written(tmp_path / "store.json", store))) == [("ada", "Rides", "2025-03-01 00:00:00", "")]
    graph = {"results": [], "relations": [{"source": "ada", "relationship": "owns", "target": "dog", "user_id": "ada"}]}
    assert brief(read_notes(written(tmp_path / "graph.json", graph))) == [("ada", "ada owns dog", "", "")]
    with pytest.raises(DataError, match=r"nodes\[0\]: has no user under any of"):
        read_notes(written(tmp_path / "zep.json", {"nodes": [{"summary": "A city"}]}))


def test_a_folder_holds_a_file_or_a_folder_per_user(tmp_path):
    written(tmp_path / "notes/ada/2025-03-04.md", "# Tea\n\nGreen, no sugar.\n")
    written(tmp_path / "notes/ben.txt", "Plays chess")
    written(tmp_path / "notes/cleo.json", [{"text": "Sings"}])
    assert brief(read_notes(tmp_path / "notes")) == [
        ("ada", "# Tea", "2025-03-04 00:00:00", ""),
        ("ada", "Green, no sugar.", "2025-03-04 00:00:00", ""),
        ("ben", "Plays chess", "", ""),
        ("cleo", "Sings", "", ""),
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "a.json:1: the JSON text ends too early"),
        ("a.json", "[]", "holds no text about anybody"),
        ("a.json", "[3]", r"a.json\[0\]: is 3, expected a record"),
        (
            "a.json",
            '[{"user": "ada", "page": 3}]',
            r"a.json\[0\]: has no text under any of memory.*; it has user, page",
        ),
        ("a.json", '[{"memory": "tea"}]', r"a.json\[0\]: has no user under any of user.*; it has memory"),
        ("a.json", '[{"memory": "tea", "user": "ada", "at": "soon"}]', "has a time that cannot be read: 'soon'"),
        ("a.jsonl", '{"memory": "tea", "user": "ada"}\n{', "a.jsonl:2"),
        ("a.md", "tea", "names no user"),
        ("a.csv", "user,text\nada,\n", "a.csv:2: has no text"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(tmp_path, name, text, words):
    with pytest.raises(DataError, match=words):
        read_notes(written(tmp_path / name, text))
    with pytest.raises(DataError, match="no file or folder"):
        read_notes(tmp_path / "none.json")


def test_what_is_handed_over_was_there_before_the_session(tmp_path):
    own = ExportedMemory(path=written(tmp_path / "zep.json", ZEP), embedder=Letters())
    store = own.start("ada")
    said = {at: [p.text for p in own.recall(store, MemorySession("s", at), "drinks", "reply")] for at in ("2024-06-01 00:00:00", "2025-06-01 00:00:00", "2023-01-01 00:00:00")}  # fmt: skip
    assert list(said.values()) == [["ADA drinks coffee"], ["ADA drinks tea"], []]
    assert len(own.recall(store, MemorySession("s", ""), "drinks", "reply")) == 2, "a session without a time"
    assert own.start("zoe").failed == ("exported: zep.json has nothing of user zoe, but of ada",)


@pytest.fixture
def own_memories(tmp_path, monkeypatch):
    """The modules of docs/extend.md beside exports of users of the sample and of a PAL-Set."""
    modules = {
        m[1]: m[0]
        for m in re.finditer(r"^# (my(?:memory|adapter)\.py)\n.*?(?=^```)", PAGE.read_text("utf-8"), re.M | re.S)
    }
    for name, text in modules.items():
        written(tmp_path / name, text)
    people = [*load("sample/en").users["user"], *palset(users=2, seed=42).users["user"]]
    rows = [{"memory": f"{user} likes short answers", "user_id": user} for user in people]
    written(tmp_path / "mem0.json", {"results": rows})
    for user in people:
        written(tmp_path / f"notes/{user}.md", "Lives in Leeds.")
    before = dict(memory._factories), dict(LONG_TERM)
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(registry.VARIABLE, "mymemory,myadapter")
    monkeypatch.setattr(registry, "_used", set())
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    memory._factories = before[0]
    LONG_TERM.clear()
    LONG_TERM.update(before[1])


def test_the_modules_of_the_documents_stand_on_pages_05_and_09(own_memories):
    corpus = palset(users=2, seed=42)
    chosen = study.make_memories("vanilla (with log), mem0, notes, mine", corpus, "tfidf", budget=50)
    assert [one.name for one in chosen] == ["vanilla (with log)", "mem0", "notes", "mine"]
    assert {one.budget for one in chosen} == {50}
    people = study.BenchUsers(tuple(study.list_bench_users(corpus)), corpus.language, False)
    bench = study.run_single_turn(people, chosen, Model(usual), Model(usual))
    assert set(bench.answers["method"]) == {one.name for one in chosen}
    assert (bench.answers.loc[bench.answers["method"] == "mem0", "context_tokens"] > 0).any()
    _, _, free = study.prepare_without_model("en", "vanilla (with log), mem0")
    assert [one.name for one in free] == ["vanilla (with log)"], "synthetic users are in nobody's export"

    block = next(load("sample/en").blocks("test"))
    for name in ("mem0", "notes", "mine"):
        built = run_with_answers(lambda ask, name=name: make_memory(name, "en", embedder="tfidf").build(block, ask), [])
        assert built.statements, name
    assert {"mem0", "notes", "mine"} <= set(memory) and not {"mem0", "mine"} & BUILT_IN
    assert make_judge("mem0").name == "mem0"


def test_times_of_memories_ask_as_those_of_tables_do(tmp_path):
    def read(*times: Any, **how: Any) -> list[str]:
        rows = [{"user": "ada", "memory": f"Likes tea {i}", "created_at": time} for i, time in enumerate(times)]
        return [note.at for note in read_notes(written(tmp_path / "m.json", rows), **how)]

    with pytest.raises(DataError, match="day or the month stands first"):
        read("03.04.2026", "05.04.2026")
    assert read("03.04.2026", dates="day-first") == ["2026-04-03 00:00:00"]
    assert read("03.04.2026", "25.04.2026") == ["2026-04-03 00:00:00", "2026-04-25 00:00:00"]
    assert (
        read(1735689600, 1735689600123, "1735689600123456", "2025-01-01T00:00:00.123456Z")
        == ["2025-01-01 00:00:00"] * 4
    )
    for time in ("0000-01-01", "soon"):
        with pytest.raises(DataError, match="has a time that cannot be read"):
            read(time)


def test_line_ends_long_cells_and_pictures_stop_no_export(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "ada.md").write_bytes(b"Likes tea\r\rRides a bike")
    (folder / "ben.csv").write_bytes(b"note\r" + b"x" * 200_000 + b"\r")
    (folder / "photo.png").write_bytes(b"\x89PNG\xff")
    with pytest.warns(UserWarning, match=r"1 files are no notes, and left out; the first: photo.png"):
        notes = read_notes(folder)
    assert [note.user for note in notes] == ["ada", "ada", "ben"] and len(notes[2].text) == 200_000
