"""Batches: what is collected, what comes back however it comes, and where it is found."""

import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from batch_endpoint import failed
from batched import GOOD, SCORE, SECRET, ask, collected, questions
from click.testing import CliRunner
from endpoint import completion, status

from perslib.cli import main
from perslib.errors import BackboneError, DataError, Refused
from perslib.llm import Backbone, Cache, Request, backbone
from perslib.llm.entries import BackboneEntry
from perslib.systems import batches
from perslib.systems.batches.pages import open_batches


def test_answers_of_a_batch_are_in_the_cache_at_their_price(server, entry, home):
    (made,), waiting = collected(lambda: ask(entry), home)
    assert (len(server.bodies), waiting) == (0, 0)
    taken = batches.fetch(made)
    assert (taken.answers, taken.reasons) == (12, [])
    assert taken.ledger.total.cost == pytest.approx(12 * 0.5 * (60 * 1.0 + 40 * 0.5 + 10 * 4.0) / 1e6)

    answers = ask(entry)
    assert server.bodies == [], "nothing is asked at once"
    assert all(a.cached and a.mode == "schema" and a.data["why"] == "clear\u2028and short" for a in answers)
    (lines,) = server.lines
    assert [line["custom_id"] for line in lines] == [a.digest for a in answers]
    sent = Cache(policy="only").read_request(answers[3].digest)
    assert sent == lines[3]["body"]
    assert sent["response_format"]["json_schema"]["schema"] == SCORE
    assert collected(lambda: ask(entry), home) == ([], 0), "nothing is left to ask"


def test_a_batch_asks_what_would_have_been_asked_at_once(server, entry, home):
    ask(entry)
    at_once = server.bodies.copy()
    (made,), _ = collected(lambda: Backbone(entry, cache="refresh").ask_many(questions()), home)
    lines = (made.folder / "questions.jsonl").read_text("utf-8").splitlines()
    assert sorted((json.loads(line)["body"] for line in lines), key=str) == sorted(at_once, key=str)


def test_price_and_tokens_are_said_beside_those_of_asking_at_once(entry, home):
    (made,), _ = collected(lambda: ask(entry), home)
    at_once = entry.cost(made.state["tokens_in"], 0, made.state["tokens_out"])
    assert made.cost == pytest.approx(at_once / 2)
    assert made.describe().startswith("mine: 12 questions in a batch, about ")
    assert made.describe().endswith("prices of 2026-11")


def test_what_is_lost_or_fails_is_asked_again_and_a_refused_field_is_left_out(server, entry, home):
    def treat(number, line):
        if number in (2, 5):
            return None
        if number == 7:
            return failed(429, "slow down")
        if number == 8:
            return "expired"
        if number == 9:
            return failed(400, "Unsupported value: 'temperature' does not support 0 with this model.")
        return server.completed(line)

    server.treat = treat
    (made,), _ = collected(lambda: ask(entry), home)
    taken = batches.fetch(made)
    assert taken.answers == 7
    assert sorted(taken.reasons)[-2:] == ["no result came", "no result came"]
    assert taken.unreadable == set()

    server.treat = lambda number, line: server.completed(line)
    (again,), _ = collected(lambda: ask(entry), home)
    assert again.folder != made.folder
    asked = [json.loads(line)["body"] for line in (again.folder / "questions.jsonl").read_text("utf-8").splitlines()]
    assert [body["messages"][0]["content"] for body in asked] == [f"question {n}" for n in (2, 5, 7, 8, 9)]
    assert batches.fetch(again).answers == 5
    assert all(answer.ok for answer in ask(entry))
    assert server.bodies == []

    more = [Request("another", schema=SCORE, temperature=0.0)]
    (later,), _ = collected(lambda: ask(BackboneEntry(**{**vars(entry), "name": "other"}), more), home)
    body = json.loads((later.folder / "questions.jsonl").read_text("utf-8"))["body"]
    assert "temperature" not in body, "it was remembered"


def test_a_reply_that_cannot_be_read_is_asked_again_at_once(server, entry, home):
    server.reply = lambda body: "No." if "question 3" in str(body) and len(body["messages"]) == 1 else GOOD
    (made,), _ = collected(lambda: ask(entry), home)
    taken = batches.fetch(made)
    assert (taken.answers, len(taken.unreadable)) == (11, 1)
    assert collected(lambda: ask(entry), home, taken.unreadable) == ([], 0)
    assert ask(entry)[3].mode == "reask"
    assert len(server.bodies) == 2


def test_room_for_thoughts_is_learned_from_a_batch(server, entry, home):
    server.reply = lambda body: (
        completion("", finish="length", reasoning_content="hmm") if body["max_tokens"] == 1 else "4"
    )
    score = [Request("rate", max_tokens=1)]
    (made,), _ = collected(lambda: ask(entry, score), home)
    taken = batches.fetch(made)
    assert (taken.answers, taken.unreadable) == (0, set())


def test_questions_that_depend_on_answers_come_in_a_later_round(server, entry, home):
    async def judge(ask):
        (memory,) = await ask([Request("remember", schema=SCORE)], "memory")
        (score,) = await ask([Request(f"judge by {memory.data['score']}", schema=SCORE)], "judge")
        return score.data

    def work():
        said = Backbone(entry).work([judge], progress=False)[0]
        text = ask(entry, [Request("write a reply")])[0].text
        ask(entry, [Request(f"rate: {text}", schema=SCORE)])
        why = ask(entry, [Request("a reason", schema=SCORE)])[0].data
        assert why["kind"] == "good"
        ask(entry, [Request(f"shorten: {why['why']}")])
        return said

    def asked(made):
        lines = (made.folder / "questions.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line)["body"]["messages"][0]["content"] for line in lines]

    (first,), waiting = collected(work, home)
    assert asked(first) == ["remember", "write a reply", "a reason"]
    assert waiting == 3
    assert batches.fetch(first).answers == 3
    (second,), waiting = collected(work, home)
    assert asked(second) == ["judge by 4", f"rate: {GOOD}", "shorten: clear\u2028and short"]
    assert waiting == 0
    assert batches.fetch(second).answers == 3
    assert work()["score"] == 4
    assert server.bodies == []


def test_a_batch_that_was_left_is_waited_for_again(server, entry, home):
    (made,), _ = collected(lambda: ask(entry), home)
    batches.send_batch(made)
    batches.send_batch(made)
    assert len(server.batches) == 1
    (found,) = open_batches(["mine"])
    (same,), _ = collected(lambda: ask(entry), home)
    assert found.state["id"] == same.state["id"] == "batch-0"
    server.next(status(503), status(429, retry_after="0"))
    assert batches.fetch(found).answers == 12
    assert open_batches(["mine"]) == []
    assert len(server.batches) == 1


def test_large_ones_are_cut_and_models_are_apart(entry, home, monkeypatch):
    monkeypatch.setattr("perslib.systems.batches.files.MOST", 5)
    other = BackboneEntry(**{**vars(entry), "name": "other", "model": "n"})
    made, _ = collected(lambda: (ask(entry), ask(other, number=2)), home)
    assert [(one.entry.model, one.state["questions"]) for one in made] == [("m", 5), ("m", 5), ("m", 2), ("n", 2)]


def test_no_key_is_in_any_file(server, entry, home):
    (made,), _ = collected(lambda: ask(entry), home)
    batches.fetch(made)
    assert any(SECRET in headers.get("Authorization", "") for headers in server.headers)
    files = [file for file in home.rglob("*") if file.is_file()]
    assert len(files) >= 4
    assert not [file for file in files if SECRET.encode() in file.read_bytes()]


def test_a_batch_that_the_endpoint_fails_is_an_error_with_its_words(server, entry, home):
    server.ends, server.errors = "failed", [{"message": "Line 1: the model `m` does not exist."}]
    (made,), _ = collected(lambda: ask(entry), home)
    with pytest.raises(BackboneError, match=r"failed the batch batch-0: Line 1: the model `m` does not exist"):
        batches.fetch(made)
    server.ends, server.errors = "completed", []
    (made,), _ = collected(lambda: ask(entry), home)
    assert batches.fetch(made).answers == 12


def test_a_batch_that_is_gone_is_an_error_and_then_submitted_anew(server, entry, home):
    (made,), _ = collected(lambda: ask(entry), home)
    batches.send_batch(made)
    server.batches.clear()
    with pytest.raises(Refused, match="No batch found"):
        batches.fetch(made)
    assert batches.fetch(collected(lambda: ask(entry), home)[0][0]).answers == 12


def test_what_takes_no_batches_says_so(entry, home):
    plain = BackboneEntry(**{**vars(entry), "batch": None})
    (made,), _ = collected(lambda: ask(plain), home)
    with pytest.raises(BackboneError, match=r"add `batch = 0.5`.* to \[mine\] in backbones.toml"):
        batches.send_batch(made)


def test_a_dry_run_of_its_own_is_not_collected(entry, home):
    from perslib.llm import dry_run

    assert collected(lambda: dry_run(entry).ask_many(questions()), home) == ([], 0)


# -- pages ------------------------------------------------------------------------------------------------


@pytest.fixture
def study(home, server):
    """A notebook that asks in two rounds, and a backbone that takes batches."""
    (home / "backbones.toml").write_text(
        f'[mine]\nbase_url = "{server.base_url}"\nmodel = "m"\nbatch = 0.5\nstructured = "text"\n'
        "prices = { in = 1, out = 4 }\n",
        "utf-8",
    )
    cells = [
        nbformat.v4.new_markdown_cell("# Two rounds"),
        nbformat.v4.new_code_cell(
            'corpus = "sample/en"\nbackbone = "embedded"\nlanguage = ""\nout = ""', metadata={"tags": ["parameters"]}
        ),
        nbformat.v4.new_code_cell(
            "from perslib.llm import backbone as named\n"
            "model = named(backbone)\n"
            'memories = model.ask_many([f"remember {n}" for n in range(3)], progress=False)\n'
            'print([a.text for a in model.ask_many([f"judge by {m.text}" for m in memories], progress=False)])'
        ),
    ]
    path = home / "two_rounds.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    server.reply = lambda body: f"about {body['messages'][0]['content']}"
    return path


def perslib(*words):
    done = CliRunner().invoke(main, [str(word) for word in words], prog_name="perslib")
    return done.exit_code, done.output


@pytest.mark.kernel
def test_a_report_in_batches_goes_round_by_round_and_asks_nothing_at_once(study, server, home):
    code, shown = perslib("report", study, "-b", "mine", "--batch")
    assert code == 0, shown
    assert [len(lines) for lines in server.lines] == [3, 3]
    assert [body for body in server.bodies if "remember" in str(body) or "judge by" in str(body)] == []
    assert "mine: 3 questions in a batch" in shown
    assert "asked at once about $" in shown
    assert "Further questions depend on these answers" in shown
    page = (home / "reports/sample-en/mine/two_rounds.html").read_text("utf-8")
    assert "about judge by about remember 2" in page
    code, shown = perslib("batch")
    assert [line.split()[2] for line in shown.splitlines()] == ["read", "read"]


@pytest.mark.kernel
def test_the_price_of_a_batch_is_shown_and_nothing_is_sent(study, server, home):
    code, shown = perslib("report", study, "-b", "mine", "--batch", "--dry-run")
    assert code == 0, shown
    assert "mine: 3 questions in a batch" in shown
    assert (server.bodies, server.files, server.batches) == ([], {}, {})
    assert batches.list_batches() == ([], [])


@pytest.mark.kernel
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_a_report_that_was_left_goes_on_with_its_batch(study, server, home):
    words = [sys.executable, "-m", "perslib", "report", str(study), "-b", "mine", "--batch"]
    server.looks = 10**6
    left = subprocess.Popen(words, cwd=home, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 60
    while not server.batches and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    left.send_signal(signal.SIGINT)
    said, _ = left.communicate(timeout=60)
    assert left.returncode == 130
    assert "run the same command to go on" in said.decode()
    server.looks = 1
    code, shown = perslib("report", study, "-b", "mine", "--batch")
    assert code == 0, shown
    assert "submitted before" in shown
    assert [len(lines) for lines in server.lines] == [3, 3]


@pytest.mark.kernel
def test_two_reports_at_once_share_their_batches(study, server, home):
    words = [sys.executable, "-m", "perslib", "report", str(study), "-b", "mine", "--batch"]
    server.looks = 2
    both = [subprocess.Popen(words, cwd=home, stderr=subprocess.PIPE) for _ in range(2)]
    assert [one.communicate(timeout=120)[1] and one.returncode for one in both] == [0, 0]
    assert [len(lines) for lines in server.lines] == [3, 3]


@pytest.mark.kernel
def test_a_batch_whose_file_is_gone_holds_up_no_other(study, server, home, monkeypatch):
    async def answer(request, body):
        return None

    monkeypatch.setattr("perslib.systems.batches.files.MOST", 2)
    server.troubles["content"] = [status(404, "No such File object."), answer]
    code, shown = perslib("report", study, "-b", "mine", "--batch")
    assert code == 0, shown
    assert "No such File object" in shown
    assert [len(lines) for lines in server.lines] == [2, 1, 2, 1, 2], "the two that were lost are asked again"
    assert [body for body in server.bodies if "remember" in str(body) or "judge by" in str(body)] == []


@pytest.mark.kernel
def test_questions_written_for_a_model_that_runs_offline_and_read_back(study, server, home):
    """As `vllm run-batch` does it: a file in, a file out, nobody listens."""
    (home / "backbones.toml").write_text('[mine]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n', "utf-8")
    for round_, text in enumerate(("remember", "judge by")):
        code, shown = perslib("batch", "write", study, "-b", "mine", "--to", home / "questions.jsonl")
        assert code == 0, shown
        lines = [json.loads(line) for line in (home / "questions.jsonl").read_text("utf-8").splitlines()]
        assert [line["body"]["messages"][0]["content"].startswith(text) for line in lines] == [True] * 3
        results = [
            {"id": "vllm-1", "custom_id": line["custom_id"], "response": server.completed(line), "error": None}
            for line in lines
        ]
        if round_:  # other versions put the completion itself there
            results = [{**result, "response": result["response"]["body"]} for result in results]
        (home / "answers.jsonl").write_text("\n".join(map(json.dumps, results)), "utf-8")
        code, shown = perslib("batch", "read", home / "answers.jsonl")
        assert code == 0, shown
        assert "mine: 3 answers" in shown
    code, shown = perslib("batch", "write", study, "-b", "mine", "--to", home / "questions.jsonl")
    assert "Nothing is left to ask" in shown
    code, shown = perslib("report", study, "-b", "mine")
    assert code == 0, shown


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"custom_id": "nobody", "response": {}}', "answer no question that was written here"),
        ("not json", r"answers.jsonl, line 1: is no result of a batch"),
    ],
)
def test_results_that_are_none(home, content, said):
    file = home / "answers.jsonl"
    file.write_text(content, "utf-8")
    with pytest.raises(DataError, match=said):
        list(batches.store_result_files([file]))


def test_a_model_on_this_machine_is_asked_at_once(study, home):
    code, shown = perslib("report", study, "--batch", "-b", "embedded")
    assert code == 1
    assert "'embedded' is not known to take batches" in shown
    for name, words in (("embedded", "runs on this machine and is asked at once"), ("none", "none is named")):
        code, shown = perslib("batch", "write", study, "-b", name, "--to", home / "questions.jsonl")
        assert code == 1 and words in shown


def test_entries_that_take_batches_say_their_price():
    assert {name: backbone(name).entry.batch for name in ("openai", "azure", "dashscope", "anthropic")} == {
        "openai": 0.5,
        "azure": 0.5,
        "dashscope": 0.5,
        "anthropic": None,
    }
