"""Logs as they really are: odd records are survived and named, broken ones counted with the reason."""

from __future__ import annotations

import json
from datetime import datetime

import pandas as pd
import pytest

from perslib.errors import DataError
from perslib.systems.uxbench.loaders.log_records import (
    PICTURE,
    UnreadableRecord,
    extract_reply_text,
    parse_seconds,
    session,
    truth,
)
from perslib.systems.uxbench.loaders.logs import Reject, read_log_sessions
from perslib.systems.uxbench.signals import mine_log
from perslib.systems.uxbench.signals.mining import REJECTED, TABLE

NOON = 1_767_268_800.0  # 2026-01-01 12:00:00


@pytest.mark.parametrize(
    "value, expected",
    [
        ("2026-01-01 12:00:00", NOON),
        ("2026-01-01T12:00:00", NOON),
        ("2026-01-01T12:00:00Z", NOON),
        ("2026-01-01T20:00:00+08:00", NOON),
        ("2026-01-01 12:00:00.250", NOON + 0.25),
        ("2026/01/01 12:00:00", NOON),
        (int(NOON), NOON),
        (int(NOON * 1000), NOON),
        (str(int(NOON)), NOON),
        (datetime(2026, 1, 1, 12), NOON),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (-5, None),
        ("9999-12-31T23:59:59-23:59", None),
    ],
)
def test_times_in_every_form(value, expected):
    assert parse_seconds(value) == expected


@pytest.mark.parametrize("value", [1, "1", True, "true", "True", " TRUE ", 1.0])
def test_flags_that_are_set(value):
    assert truth(value)


@pytest.mark.parametrize("value", [0, "0", False, "false", None, "", [], "no"])
def test_flags_that_are_not(value):
    assert not truth(value)


@pytest.mark.parametrize(
    "payload, text",
    [
        ({"traceID": "t", "content": [{"type": "text", "msg": "甲"}, {"type": "text", "content": "乙"}]}, "甲\n乙"),
        ({"content": [{"type": "deepSearch", "contents": [{"msg": "丙"}]}, {"type": "image"}]}, "丙"),
        ({"content": [{"type": "image", "prompt": "a cat"}]}, PICTURE),
        ({"content": [{"type": "searchGuid", "prompt": "cats"}], "marks": [{"content": "丁"}]}, "丁"),
        ({"content": [], "marks": [], "text": "戊"}, "戊"),
        ({"content": "已"}, "已"),
    ],
)  # fmt: skip
def test_a_payload_is_what_its_reader_saw(payload, text):
    assert extract_reply_text(json.dumps(payload, ensure_ascii=False)) == text


def test_markers_go_and_other_objects_stay():
    assert extract_reply_text("看这里[](@ref=3)，还有[](@doc=a b)。") == "看这里，还有。"
    assert extract_reply_text('{"a": 1}') == '{"a": 1}'
    assert extract_reply_text('{"content": broken}') == '{"content": broken}'


def record(*said, **more):
    return {"cid": "a", "history": [{"role": r, "message": t} for r, t in said], **more}


def test_messages_are_put_in_the_order_of_their_indices():
    messages = [
        {"role": "assistant", "message": "b", "turn_index": 1},
        {"role": "user", "message": "a", "turn_index": 0},
    ]
    found = session({"cid": "a", "history": messages})
    assert [(m.idx, m.text) for m in found.messages] == [(0, "a"), (1, "b")]
    assert found.notes == ("messages out of order",)


def test_duplicated_indices_keep_the_order_as_written():
    messages = [{"role": "user", "message": t, "turn_index": 0} for t in "ab"]
    found = session({"cid": "a", "history": messages})
    assert [m.text for m in found.messages] == ["a", "b"]
    assert found.notes == ("turn_index missing or duplicated",)


def test_what_is_odd_is_named_and_survived():
    found = session(
        {
            "history": [
                {"role": "tool", "content": "x"},
                "noise",
                {"role": "User", "message": {"a": 1}, "create_time": "soon"},
            ]
        },
        name="log:3",
    )
    assert found.cid == "log:3"
    assert [(m.role, m.text) for m in found.messages] == [("tool", "x"), ("user", '{"a": 1}')]
    assert set(found.notes) >= {
        "no cid",
        "message that is not an object",
        "unknown role",
        "unreadable time",
        "text that is not a string",
    }


@pytest.mark.parametrize(
    "bad, reason",
    [
        ([], "not an object"),
        ({"cid": 1}, "no history"),
        ({"history": "not json"}, "history is a text that holds no JSON"),
        ({"history": 3}, "history is not a list"),
        ({"history": []}, "no message"),
    ],
)
def test_what_is_no_session_says_why(bad, reason):
    with pytest.raises(UnreadableRecord, match=reason):
        session(bad)


def test_an_empty_text_gives_way_to_the_other_field():
    one = session({"cid": "a", "history": [{"role": "user", "message": "", "content": "hi"}]})
    assert one.messages[0].text == "hi"


GOOD = json.dumps(
    record(("user", "公积金怎么提取"), ("assistant", "先准备材料。"), ("user", "公积金怎么提取")), ensure_ascii=False
)


def broken_log(path):
    lines = [GOOD.encode(), b"", b"[]", b'{"cid": 2}', b"\xff\xfe", b"{not json", ("[" * 100_000).encode()]
    path.write_bytes(b"\n".join([*lines, GOOD.encode(), b'{"cid": "torn", "hist']))
    return path


REASONS = {"not an object": 1, "no history": 1, "not UTF-8": 1, "not JSON": 1, "torn last line": 1}


def test_a_broken_log_is_mined_all_the_same(tmp_path):
    found = mine_log(broken_log(tmp_path / "log.jsonl"))
    assert found.sessions == 2 and found.primary == {"repeat": 2}
    rejected = dict(found.rejected)
    assert rejected.pop("nested too deeply", 0) + rejected.get("not JSON", 0) >= 1  # depends on the Python
    assert {k: rejected[k] for k in REASONS if k != "not JSON"} == {k: v for k, v in REASONS.items() if k != "not JSON"}
    assert found.notes == {"cid seen before": 1}
    assert Reject("log.jsonl:3", "not an object") in found.rejects


@pytest.mark.parametrize("size", [10, 150, 1 << 20])
def test_a_line_that_is_too_long_is_skipped_unread(tmp_path, size, monkeypatch):
    monkeypatch.setattr("perslib.systems.uxbench.loaders.logs.LONGEST", 1_000)
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([GOOD, "x" * 5_000, GOOD]) + "\n", encoding="utf-8")
    found = mine_log(path, size=size)
    assert found.sessions == 2 and found.table["record"].tolist() == [1, 3]
    (reject,) = found.rejects
    assert reject.place == "log.jsonl:2" and reject.reason.startswith("line longer than")


def test_a_log_that_is_none_says_what_to_give(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        mine_log(tmp_path / "nowhere.jsonl")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(DataError, match=r"no \.jsonl, \.csv or \.parquet log"):
        mine_log(tmp_path / "a.txt")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has the columns a"):
        mine_log(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="no readable Parquet"):
        mine_log(tmp_path / "b.parquet")


def talks(n):
    """Sessions of differing lengths with something in most of them."""
    asked = [
        "公积金怎么提取",
        "公积金怎么提取？",
        "太啰嗦了，说重点",
        "谢谢",
        "算了",
        "讲讲公积金贷款的条件",
        "never mind",
    ]
    for i in range(n):
        history = []
        for j in range(1 + i % 5):
            history.append(
                {
                    "role": "user",
                    "message": asked[(i + j) % len(asked)],
                    "turn_index": 2 * j,
                    "create_time": NOON + 60 * j,
                }
            )
            history.append(
                {
                    "role": "assistant",
                    "message": "先准备材料，再去窗口。" * (1 + i % 7),
                    "turn_index": 2 * j + 1,
                    "create_time": NOON + 60 * j + 5,
                    "is_unliked": int(i % 11 == 0),
                }
            )
        yield {"cid": f"c{i}", "history": history}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    rows = list(talks(40))
    (folder / "log.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    nested = pd.DataFrame(rows)
    nested.to_parquet(folder / "nested.parquet")
    nested.assign(history=[json.dumps(h) for h in nested["history"]]).to_parquet(folder / "text.parquet")
    flat = pd.DataFrame([{"cid": r["cid"], **m} for r in rows for m in r["history"]])
    flat.to_parquet(folder / "flat.parquet", row_group_size=7)
    return folder, mine_log(folder / "log.jsonl")


@pytest.mark.parametrize("size", [1, 300, 5_000])
def test_the_table_is_the_same_however_the_log_is_cut(logs, size):
    folder, whole = logs
    assert mine_log(folder / "log.jsonl", size=size).arrow.equals(whole.arrow)


@pytest.mark.parametrize("name", ["nested", "text", "flat"])
@pytest.mark.parametrize("rows", [1, 13, 512])
def test_parquet_gives_the_same_table(logs, name, rows):
    folder, whole = logs
    assert mine_log(folder / f"{name}.parquet", rows=rows).arrow.equals(whole.arrow)
    frame = pd.read_parquet(folder / f"{name}.parquet")
    assert mine_log(frame, rows=rows).arrow.equals(whole.arrow)


@pytest.mark.sample
def test_written_and_in_parallel_it_is_the_same(logs, tmp_path):
    folder, whole = logs
    other = mine_log(folder / "log.jsonl", tmp_path / "out", size=2_000, processes=2)
    assert other.arrow.equals(whole.arrow) and other.counts.equals(whole.counts)
    assert (tmp_path / "out" / TABLE).is_file() and (tmp_path / "out" / REJECTED).read_text() == ""


def test_counts_are_those_of_the_table(logs):
    _, whole = logs
    table, counts = whole.table, whole.counts.set_index("signal")
    assert counts["primary"].sum() == len(table) == whole.replies
    assert counts.loc["dislike", "found"] == (table["dislike"] > 0).sum() > 0
    assert counts.loc["repeat", "primary"] == (table["primary"] == "repeat").sum() > 0
    assert (
        table.loc[table["repeat"] > 0, "signals"]
        .map(lambda s: any(x["name"] == "repeat" and x["back"] is not None for x in s))
        .all()
    )


def test_sessions_come_one_by_one(logs):
    folder, _ = logs
    assert [s.cid for s in read_log_sessions(folder / "log.jsonl")] == [f"c{i}" for i in range(40)]


def test_an_empty_log_has_an_empty_table(tmp_path):
    (tmp_path / "log.jsonl").write_text("\n\n")
    found = mine_log(tmp_path / "log.jsonl")
    assert len(found.table) == 0 and found.counts["found"].sum() == 0
    assert "complain" in found.table


# -- logs as other products write them -------------------------------------------------------------------------------

ASKED = [{"type": "text", "text": "How do I sort a list?"}]
SAID = [
    {"role": "user", "content": ASKED, "timestamp": "2026-01-01T10:00:00"},
    {"role": "assistant", "content": "Use sorted().", "timestamp": "2026-01-01T10:00:05"},
    {"role": "user", "content": "that's wrong, it still gives the same error", "timestamp": "2026-01-01T10:00:30"},
    {"role": "assistant", "content": "Try list.sort().", "timestamp": "2026-01-01T10:00:40", "rating": "down"},
]


def rows_of(session_id):
    """The messages as a table has them, one a row."""
    texts = [m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in SAID]
    return [
        {"conversation_id": session_id, **m, "content": text, "rating": m.get("rating", "")}
        for m, text in zip(SAID, texts)
    ]


@pytest.mark.parametrize(
    "form", ["sessions.jsonl", "messages.jsonl", "messages.csv", "messages.tsv", "messages.parquet"]
)
def test_a_log_is_read_alike_however_it_is_written(tmp_path, form):
    file = tmp_path / form
    flat = pd.DataFrame([row for n in range(3) for row in rows_of(f"s{n}")])
    if form == "sessions.jsonl":
        file.write_text("".join(json.dumps({"id": f"s{n}", "messages": SAID}) + "\n" for n in range(3)), "utf-8")
    elif form.endswith(".parquet"):
        flat.to_parquet(file)
    elif form.endswith(".jsonl"):
        flat.to_json(file, orient="records", lines=True)
    else:
        flat.to_csv(file, index=False, sep="\t" if form.endswith(".tsv") else ",")
    found = mine_log(file)
    assert found.table["primary"].tolist() == ["complain", "dislike"] * 3
    assert not found.rejected and not found.notes
    held = list(read_log_sessions(file))
    assert [s.cid for s in held] == ["s0", "s1", "s2"] and held[0].messages[1].t - held[0].messages[0].t == 5
    assert held[0].messages[0].text == "How do I sort a list?"


def test_a_table_without_roles_says_what_a_log_needs(tmp_path):
    (tmp_path / "log.csv").write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(DataError, match="has the columns a, b"):
        mine_log(tmp_path / "log.csv")
