"""Progress: what is shown where, and the lines that a report runner reads."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from perslib.llm.ledger import Ledger, Spending, StageProgress
from perslib.llm.request import Answer
from perslib.report.run import progress
from perslib.report.run.estimate import describe_asked

PAID = Answer(text="ok", tokens_in=900, tokens_out=100, cost=0.01, backbone="openai")
HIT = Answer(text="ok", tokens_in=900, tokens_out=100, cost=0.01, cached=True, backbone="openai")


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in ("PERSLIB_PROGRESS", "PERSLIB_PROGRESS_FILE"):
        monkeypatch.delenv(name, raising=False)


def run(answers, total=None, **options) -> Ledger:
    ledger = Ledger()
    with StageProgress(len(answers) if total is None else total, "judge", ledger, **options) as progress:
        for answer in answers:
            ledger.record("judge", answer)
            progress.step(answer)
    return ledger


def test_a_bar_with_calls_hits_tokens_and_cost(capsys):
    run([PAID, PAID, HIT])
    shown = capsys.readouterr()
    assert "judge: 100%" in shown.err and "3/3" in shown.err
    assert "2 calls, 1 hits, 2.0k tokens, $0.02" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("how", ["off", "0"])
def test_silence(how, capsys, monkeypatch):
    if how == "0":
        monkeypatch.setenv("PERSLIB_PROGRESS", "0")
    run([PAID], enabled=how != "off")
    assert capsys.readouterr() == ("", "")


def test_plain_is_one_line_where_nothing_can_be_overwritten(capsys, monkeypatch):
    monkeypatch.setenv("PERSLIB_PROGRESS", "plain")
    run([PAID] * 5)
    assert capsys.readouterr().err == "judge 5/5: 5 calls, 5.0k tokens, $0.05\n"


def test_plain_overwrites_its_line_in_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("PERSLIB_PROGRESS", "plain")
    monkeypatch.setattr("perslib.llm.ledger._TERMINAL", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    run([PAID] * 3)
    lines = terminal.getvalue()
    assert lines.count("\r") == 4 and lines.count("\n") == 1 and lines.endswith("\n")
    assert "judge 1/3: 1 calls" in lines and "s left" in lines


def test_with_a_file_nothing_is_printed_and_every_line_is_whole(capsys, monkeypatch, tmp_path):
    file = tmp_path / "progress.jsonl"
    monkeypatch.setenv("PERSLIB_PROGRESS_FILE", str(file))
    monkeypatch.setitem(sys.modules["perslib.llm.ledger"]._EVERY, "file", 0.0)
    ledger = run([HIT, PAID, PAID, Answer(error="gave up", backbone="openai")], enabled=False)
    assert capsys.readouterr() == ("", "")
    first, *_, last = [json.loads(line) for line in file.read_text().splitlines()]
    assert (first["stage"], first["done"], first["total"], first["eta"]) == ("judge", 0, 4, None)
    assert (last["backbone"], last["done"], last["eta"]) == ("openai", 4, 0.0)
    assert (last["calls"], last["hits"], last["errors"], last["cost"]) == (3, 1, 1, pytest.approx(0.02))
    assert last["ledger"] == ledger.number


def test_threads_write_whole_lines(monkeypatch, tmp_path):
    file = tmp_path / "progress.jsonl"
    monkeypatch.setenv("PERSLIB_PROGRESS_FILE", str(file))
    monkeypatch.setitem(sys.modules["perslib.llm.ledger"]._EVERY, "file", 0.0)
    threads = [threading.Thread(target=run, args=([PAID] * 50,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 4 * (1 + 50 + 1)
    assert len({line["ledger"] for line in lines}) == 4


def test_a_report_file_that_cannot_be_written_stops_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PERSLIB_PROGRESS_FILE", str(tmp_path / "gone" / "progress.jsonl"))
    assert run([PAID]).total.calls == 1


def test_time_left_is_that_of_calls_and_not_of_hits():
    """A resumed run starts with a burst of hits; what is left must be asked for."""
    ledger = Ledger()
    with StageProgress(1000, "judge", ledger, enabled=False) as progress:
        assert progress.eta is None
        for _ in range(900):
            progress.step(HIT)
        time.sleep(0.1)
        progress.step(PAID)
        progress.step(PAID)
        assert progress.eta == pytest.approx(98 * 0.05, rel=0.5)


def test_an_unknown_total_is_shown_as_one(capsys, monkeypatch):
    monkeypatch.setenv("PERSLIB_PROGRESS", "plain")
    ledger = Ledger()
    with StageProgress(None, "memory", ledger) as progress:
        ledger.record("memory", PAID)
        progress.step(PAID)
    assert capsys.readouterr().err.startswith("memory 1/?: 1 calls")


def test_importing_it_loads_no_widgets():
    """Progress bars are loaded when the first one is shown, not by everyone who imports perslib."""
    code = "import sys, perslib.llm.ledger; print(sorted({'tqdm', 'ipywidgets'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_cached_answer_that_cannot_be_read_is_no_question_too_long():
    cached = Spending.of(Answer(mode="unscored", error="no object in the reply", cached=True))
    too_long = Spending.of(Answer(mode="unscored", error="too long: about 900 tokens", is_made_up=True))
    one = Spending(calls=1, tokens_in=10)
    assert "too long" not in describe_asked({"far": one + cached})
    assert "1 questions too long" in describe_asked({"far": one + cached + too_long})


def test_a_run_speaks_into_a_pipe_once_a_minute(tmp_path, capsys, monkeypatch):
    file, clock = tmp_path / "progress.jsonl", [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    bar = SimpleNamespace(disable=True, n=3, total=9, set_postfix_str=lambda *_, **__: None, refresh=lambda: None)
    run_progress = progress.RunProgress(file, bar, title="1/2 01_verification")
    sums = {"ledger": 1, "stage": "judge", "done": 40, "total": 100, "eta": 90.0, "calls": 40, "cost": 0.5}
    for second in range(0, 130, 5):
        clock[0] = float(second)
        if second == 70:
            file.write_text(json.dumps(sums) + "\n", "utf-8")
        run_progress()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "1/2 01_verification: cell 4 of 9, 60 s so far"
    assert (
        second.startswith("1/2 01_verification: cell 4 of 9, 2 min 0 s so far; judge 40/100, 90 s left; 40 calls")
        and "$0.5" in second
    )
    bar.disable = False
    clock[0] = 900.0
    run_progress()
    assert capsys.readouterr().err == ""
