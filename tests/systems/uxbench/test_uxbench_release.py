"""UXBench's splits and raw logs as a corpus: made files in their format, with what is odd in real ones."""

from __future__ import annotations

import dataclasses
import importlib.util
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from perslib.corpus import import_release, load
from perslib.errors import DataError
from perslib.systems.uxbench.bench import judge_cases, lessons_of
from perslib.systems.uxbench.loaders import describe_cases
from perslib.systems.uxbench.loaders.uxbench import split_of
from perslib.systems.uxbench.signals import signals_of

REPLY = "先准备证明，再去窗口。"


def write(path, records):
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return path


def said(*texts, key="message"):
    return [{"role": ("user", "assistant")[i % 2], key: t, "turn_index": i} for i, t in enumerate(texts)]


def bad(**more):
    return {
        "cid": "s1",
        "selected_history": said("你好", "你好，请讲。"),
        "source_query": {"turn_index": 2, "message": "公积金怎么提取"},
        "agent_response_full": REPLY,
        "ground_truth": -1,
        "scenario": "办事",
        "failure_dimension": "incomplete",
        "judge_scores": {"clarity": 4},
        "signal_confidence": "high",
        **more,
    }


def cases_of(reading):
    return reading.extras["cases"].to_dict("records")


def read(path, **options):
    return import_release("uxbench", path, out=path.parent / "out", **options)


def test_a_judged_reply_is_the_last_turn_and_a_case(tmp_path):
    done = read(write(tmp_path / "uxbench_task1_judge_bad_1k.jsonl", [bad(), bad(agent_response_full="另一条")]))
    corpus = done.corpus
    one, other = cases_of(corpus)
    assert (one["query"], one["reply"], one["gold"], one["dimension"]) == ("公积金怎么提取", REPLY, -1, "incomplete")
    assert list(one["history"]) == [
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "你好，请讲。"},
    ]
    assert one["case"] != other["case"] and (one["user"], other["user"]) == ("s1", "s1#2")
    assert one["turn"] == 1 and json.loads(one["judge_scores"]) == {"clarity": 4}
    assert corpus.turns["feedback"].isna().all(), "what annotators decided is no click"
    assert corpus.turns["leads"].tolist() == [True, False] * 2 and corpus.scenarios == ["办事"]
    assert [c.gold for c in judge_cases(corpus, balanced=False)] == [-1, -1] == [c.gold for c in lessons_of(corpus)]
    assert {c.source for c in lessons_of(corpus)} == {"gold bad"}
    assert not signals_of(corpus)[["dislike", "like"]].any(axis=None)
    assert corpus.turns["score"].isna().all() and corpus.language == "zh"
    assert done.irregularities == {"cid seen before, numbered": 1}
    again = load(done.folder)
    assert cases_of(again)[0]["history"][0]["content"] == "你好" and again.digest


def test_the_file_says_good_or_bad_where_the_record_does_not(tmp_path):
    record = {k: v for k, v in bad(source_query="怎么提取").items() if k != "ground_truth"}
    good = read(write(tmp_path / "uxbench_task1_judge_good_1k.jsonl", [record])).corpus
    assert [c.gold for c in judge_cases(good, balanced=False)] == [cases_of(good)[0]["gold"]] == [1]
    record["ground_truth"] = "-1"
    worse = read(write(tmp_path / "uxbench_task1_judge_good_1k.jsonl", [record])).corpus
    assert cases_of(worse)[0]["gold"] == -1


@pytest.mark.parametrize(
    "messages, history, notes",
    [
        (said("a", "b", "q", key="content"), None, {}),
        (said("a", "b", key="content"), None, {"messages that do not end with the query, which was added": 1}),
        (None, said("a", "b"), {}),
        (None, json.dumps(said("a", "b")), {}),
        (None, str(said("a", "b", key="content")), {}),
    ],
)
def test_the_query_is_asked_once_and_last(tmp_path, messages, history, notes):
    record = {"cid": "x", "query": "q", "messages": messages, "history": history}
    done = read(write(tmp_path / "uxbench_task2_eval_4900.jsonl", [record]))
    (case,) = cases_of(done.corpus)
    assert case["query"] == "q" and [m["content"] for m in case["history"]] == ["a", "b"]
    assert done.corpus.sessions["trailing"].tolist() == [("q",)]
    assert done.irregularities == notes


@pytest.mark.parametrize("tail", [(), ("wrong",), ("wrong", "不对，重新说")])
def test_a_complaint_is_made_once(tmp_path, tail):
    record = {
        "cid": "x",
        "history": said("a", "b", "q", *tail),
        "failed_response": "wrong",
        "user_complaint": "不对，重新说",
    }
    done = read(write(tmp_path / "uxbench_task3_recovery_500.jsonl", [record]))
    (case,) = cases_of(done.corpus)
    assert (case["query"], case["reply"], case["complaint"], case["gold"]) == ("q", "wrong", "不对，重新说", -1)
    assert [m["content"] for m in case["history"]] == ["a", "b"]
    assert done.corpus.turns["response"].tolist() == ["b", "wrong"]
    assert done.corpus.sessions["trailing"].tolist() == [("不对，重新说",)]
    assert bool(done.irregularities) == bool(tail)


def raw(cid="r1", **more):
    times = ["2026-01-05 10:00:00", "2026-01-05 10:00:20", "2026-01-05 10:01:40"]
    history = [{**m, "create_time": t} for m, t in zip(said("公积金怎么提取", REPLY, "谢谢"), times)]
    history[1]["is_liked"] = "1"
    return {"cid": cid, "history": history, **more}


def test_a_raw_log_becomes_turns_with_times_and_clicks(tmp_path):
    log = write(
        tmp_path / "log.jsonl",
        [raw(user_profile='{"interest_tags": "徒步, 摄影"}'), raw("r2", user="u9"), raw("r3", user="u9")],
    )
    corpus = read(log).corpus
    assert corpus.users["profile"].tolist()[0] == {"interest_tags": ["徒步", "摄影"]}
    assert corpus.sessions[["user", "session", "position"]].to_numpy().tolist() == [
        ["r1", "r1", 0],
        ["u9", "r2", 0],
        ["u9", "r3", 1],
    ]
    turn = corpus.turns.iloc[0]
    assert (turn["answered_at"] - turn["asked_at"]).total_seconds() == 20
    assert turn["feedback"] == "like" and corpus.sessions["trailing"].iloc[0] == ("谢谢",)


def test_a_regenerated_reply_has_no_request_of_its_own(tmp_path):
    history = [{"role": "user", "message": "a"}, *[{"role": "assistant", "message": t} for t in "bc"]]
    corpus = read(write(tmp_path / "log.jsonl", [{"cid": "x", "history": history}])).corpus
    assert corpus.turns["request"].isna().tolist() == [False, True]
    assert [m["content"] for m in corpus.messages("x", "all", "x")] == ["a", "b", "c"]


def test_bad_lines_are_left_out_and_counted(tmp_path):
    path = write(tmp_path / "log.jsonl", [raw(), [], {"cid": 1}])
    with path.open("ab") as file:
        file.write(b'{"cid": "torn", "history": [')
    done = read(path)
    assert [r.reason for r in done.rejected] == ["not an object", "no history", "torn last line"]
    assert done.irregularities["records that are no session, left out"] == 3
    assert len((done.folder / "rejected.jsonl").read_text().splitlines()) == 3


def test_a_time_of_hundreds_of_digits_is_no_time(tmp_path):
    path = tmp_path / "log.jsonl"
    text = json.dumps({"cid": "x", "history": [{"role": "user", "message": "a", "create_time": 0}]})
    path.write_text(text.replace(": 0", ": " + "1" * 400))
    done = read(path)
    assert done.corpus.sessions["started_at"].isna().all()
    assert done.irregularities["unreadable time"] == 1


@pytest.mark.parametrize("odd", [pa.array([0, 2**61], pa.timestamp("us")), pa.array([0, 2**30], pa.date32())])
def test_a_date_that_no_calendar_has_costs_its_row_and_no_other(tmp_path, odd):
    history = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    pq.write_table(pa.table({"history": [history] * 2, "timestamp": odd}), tmp_path / "log.parquet")
    done = read(tmp_path / "log.parquet")
    assert [(r.place, r.reason) for r in done.rejected] == [("log.parquet:2", "a value out of range")]
    assert len(done.corpus.sessions) == 1
    messages = {"cid": ["x", "y"], "role": ["user"] * 2, "content": ["a"] * 2, "create_time": odd}
    pq.write_table(pa.table(messages), tmp_path / "log.parquet")
    assert len(read(tmp_path / "log.parquet").corpus.sessions) == 1


def test_a_case_that_no_corpus_can_hold_is_left_out(tmp_path):
    path = tmp_path / "uxbench_task1_judge_bad_1k.jsonl"
    odd = [bad(case_id="half \ud83d"), bad(judge_average=10**400), bad(difficulty=["hard", 1]), bad()]
    deep = json.dumps(bad(user_profile="deep")).replace('"deep"', "[" * 950 + "]" * 950)
    path.write_text("".join(json.dumps(one) + "\n" for one in odd) + deep)
    done = read(path)
    assert [r.reason for r in done.rejected] == [
        "case_id holds half a character (a lone surrogate)",
        "judge_average is a whole number of 401 digits; write it as text",
        "nested too deeply",
    ]
    assert done.lost == 3
    assert cases_of(load(done.folder))[0]["difficulty"] == '["hard", 1]'


def test_nothing_readable_is_an_error(tmp_path):
    with pytest.raises(DataError, match="1 records: no history"):
        read(write(tmp_path / "log.jsonl", [{"cid": 1}]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no \\.jsonl and no \\.parquet"):
        read(tmp_path / "empty")


def test_a_split_is_known_by_its_name(tmp_path):
    assert split_of(tmp_path / "uxbench_task2_eval_4900.jsonl") == "task2_eval"
    assert split_of(tmp_path / "task3_recovery" / "test-00000.parquet") == "task3_recovery"
    assert split_of(tmp_path / "log.jsonl") is None
    write(tmp_path / "uxbench_task1_judge_bad_1k.jsonl", [bad()])
    assert load(tmp_path).meta["kind"] == "uxbench"


def test_cases_go_into_the_tasks(tmp_path):
    from perslib.systems.uxbench.tasks.cases import make_cases

    corpus = read(write(tmp_path / "uxbench_task1_judge_bad_1k.jsonl", [bad()])).corpus
    (case,) = make_cases(corpus.extras["cases"])
    assert case.gold == -1 and case.request_messages[-1]["content"] == "公积金怎么提取"


def test_a_session_of_messages_has_the_user_and_the_assistant_that_its_rows_name(tmp_path):
    rows = ["session_id,speaker,text,model,user_id"]
    rows += ["s1,human,Hello,alpha-1,u1", "s1,bot,Hi,alpha-1,u1", "s2,human,Hello,beta-2,u1", "s2,bot,Hi,,u1"]
    (tmp_path / "log.csv").write_text("\n".join(rows), encoding="utf-8")
    corpus = read(tmp_path / "log.csv").corpus
    assert corpus.sessions["assistant"].tolist() == ["alpha-1", "beta-2"] and corpus.sessions["position"].tolist() == [
        0,
        1,
    ]
    lines = write(tmp_path / "log.jsonl", [raw(model="alpha-1"), raw("r2", model={"no": "name"})])
    assert read(lines).corpus.sessions["assistant"].isna().tolist() == [False, True]
    assert load(lines).meta["kind"] == "uxbench", "a raw log is known by its first line"


def test_without_the_extra_an_import_names_what_its_tables_need(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "re2" else find_spec(name, *more)
    )
    corpus = dataclasses.replace(load("sample/en"), extras={"cases": pd.DataFrame()})
    (line,) = describe_cases(corpus)
    assert line.startswith("UXBench's published tables") and line.endswith('[uxbench]"')
    assert list(describe_cases(load("sample/en"))) == []
