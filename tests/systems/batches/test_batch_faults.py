"""What goes wrong with batches over HTTP and on disk: no answer is lost, no batch is stuck, none is paid twice."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from batched import SECRET, ask, collected
from click.testing import CliRunner
from endpoint import HASTY, html, raw, reset, status

from perslib.cli import main
from perslib.errors import BackboneError, DataError, UnknownName
from perslib.llm import Backbone, Cache
from perslib.systems import batches

ACCENT = json.dumps({"score": 4, "kind": "good", "why": "très clair"}, ensure_ascii=False)


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr("perslib.llm.answerers.endpoint.RetryPolicy", lambda: HASTY)
    monkeypatch.setattr(sys.modules[Backbone.__module__], "RetryPolicy", lambda: HASTY)


@pytest.fixture
def made(entry, home):
    return collected(lambda: ask(entry), home)[0][0]


def left(entry, home):
    """How many questions the next batch asks; nothing may be asked at once."""
    made, _ = collected(lambda: ask(entry), home)
    return sum(one.state["questions"] for one in made)


# -- lines and files ------------------------------------------------------------------------------------------


def changed(**fields):
    """The first line with other fields."""

    def change(lines):
        return [json.dumps({**json.loads(lines[0]), **fields}), *lines[1:]]

    return change


def in_response(**fields):
    def change(lines):
        first = json.loads(lines[0])
        first["response"] = {**first["response"], **fields}
        return [json.dumps(first), *lines[1:]]

    return change


def doubled(lines):
    """The first question has a line of no use before its good one."""
    return [changed(response="ok")(lines)[0], *lines]


LINES = {
    "cut": (lambda lines: [*lines[:-1], lines[-1][: len(lines[-1]) // 2]], 11),
    "a mark before": (lambda lines: ["\ufeff" + lines[0], *lines[1:]], 12),
    "other ends": (lambda lines: [line + "\r" for line in lines], 12),
    "garbage": (lambda lines: ["garbage", *lines], 12),
    "a list": (lambda lines: ["[1, 2]", *lines], 12),
    "a text": (lambda lines: ['"custom_id"', *lines], 12),
    "null": (lambda lines: ["null", *lines], 12),
    "too deep": (lambda lines: ["[" * 100_000, *lines], 12),
    "a deep line": (changed(response={"body": json.loads("[" * 900 + "]" * 900)}), 11),
    "no id": (changed(custom_id=None), 11),
    "an id that is a list": (changed(custom_id=[1]), 11),
    "a foreign id": (changed(custom_id="nobody"), 11),
    "response is a text": (changed(response="ok"), 11),
    "response is a list": (changed(response=["ok"]), 11),
    "response is a number": (changed(response=7), 11),
    "no response": (changed(response=None), 11),
    "status as text": (in_response(status_code="200"), 12),
    "status that is none": (in_response(status_code="good"), 11),
    "status is a list": (in_response(status_code=[200]), 11),
    "no status": (in_response(status_code=None), 12),
    "body is a text": (in_response(body="ok"), 11),
    "body is a list": (in_response(body=[1]), 11),
    "body without choices": (in_response(body={"id": "x"}), 11),
    "two lines, one good": (doubled, 12),
    "an error that is a list": (changed(response=None, error=["no"]), 11),
}


@pytest.mark.parametrize("name", LINES)
def test_one_bad_line_costs_its_own_answer_and_no_other(server, entry, made, home, name):
    change, answers = LINES[name]
    server.mangle = lambda text: "\n".join(change(text.splitlines())).encode()
    taken = batches.fetch(made)
    assert (taken.answers, len(taken.reasons)) == (answers, 12 - answers)
    assert taken.describe()
    server.mangle = str.encode
    assert left(entry, home) == 12 - answers
    for again in collected(lambda: ask(entry), home)[0]:
        assert batches.fetch(again).answers == 12 - answers
    assert [a.data["score"] for a in ask(entry)] == [4] * 12
    assert server.bodies == []


@pytest.mark.parametrize(
    ("encode", "answers"),
    [
        (lambda text: text.encode("utf-16"), 12),
        (lambda text: text.encode("utf-16-be"), 12),
        (lambda text: text.encode("utf-8-sig"), 12),
        (lambda text: text.encode("latin-1"), 12),
        (lambda text: b"\0" + text.encode(), 12),
        (lambda text: gzip.compress(text.encode()), 12),
        (lambda text: gzip.compress(text.encode()[:900]) + gzip.compress(text.encode()[900:]), 12),
        (lambda text: gzip.compress(text.encode(), 0)[:-100], 11),
        (lambda text: text.encode().replace("è".encode(), b"\xe8", 1), 11),
    ],
    ids=[
        "utf-16",
        "utf-16 without mark",
        "utf-8 with mark",
        "latin-1",
        "NUL",
        "gzip",
        "two gzips",
        "cut gzip",
        "one line",
    ],
)
def test_other_codings_of_a_file(server, entry, made, encode, answers):
    server.reply = lambda body: ACCENT
    server.mangle = encode
    taken = batches.fetch(made)
    assert taken.answers == answers
    assert {a.data["why"] for a in ask(entry, None) if a.cached} == {"très clair"}


@pytest.mark.parametrize(
    "says",
    [{"output_file_id": name} for name in (5, [], {}, "../batches", "gone", "a b?c#d", "x" * 5000, "x" * 100_000)]
    + [{"output_file_id": None}, {"output_file_id": ""}, {"error_file_id": "gone"}],
    ids=lambda says: str(says)[:40],
)
def test_a_file_that_is_not_to_be_had_closes_the_batch(server, entry, made, home, says):
    server.says = says
    taken = batches.fetch(made)
    kept = 12 if "error_file_id" in says else 0
    assert (taken.answers, taken.reasons) == (kept, ["no result came"] * (12 - kept))
    assert bool(taken.problems) == (next(iter(says.values())) not in (None, ""))
    server.says = {}
    for again in collected(lambda: ask(entry), home)[0]:
        assert again.name == f"{made.name}-2"
        assert batches.fetch(again).answers == 12
    assert all(a.cached for a in ask(entry))


@pytest.mark.parametrize(
    "says",
    [{"request_counts": odd} for odd in ("x", [], 5, None, {"completed": "5", "failed": -3}, {"completed": 10**30})]
    + [{"errors": odd} for odd in ("x", [5], {"data": {}}, {"data": "x"}, {"data": [None]})],
    ids=str,
)
def test_odd_counts_and_errors(server, made, says):
    server.says = says
    assert batches.fetch(made).answers == 12


@pytest.mark.parametrize(
    "errors", ["no model", {"data": "no model"}, ["no model"], {"data": [{"message": "no model"}]}]
)
def test_a_failed_batch_has_the_words_of_the_endpoint(server, entry, made, home, errors):
    server.ends, server.says = "failed", {"errors": errors}
    with pytest.raises(BackboneError, match=r"failed the batch batch-0: no model"):
        batches.fetch(made)
    server.ends, server.says = "completed", {}
    assert batches.fetch(collected(lambda: ask(entry), home)[0][0]).answers == 12


def test_a_key_that_is_refused_leaves_the_batch_open(server, entry, made):
    server.troubles["content"] = [status(401, "no such key")]
    with pytest.raises(BackboneError, match="check the key"):
        batches.fetch(made)
    server.troubles.clear()
    assert batches.fetch(batches.list_batches()[0][0]).answers == 12
    assert len(server.batches) == 1


# -- paid once ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [status(500), status(408), html(502), reset(), raw("[]"), raw("null"), raw("{"), raw("{}"), raw('{"id": 5}')],
    ids=["500", "408", "502", "reset", "list", "null", "cut", "no id", "odd id"],
)
@pytest.mark.parametrize("label", [True, False])
def test_a_batch_whose_making_was_not_answered_is_found(server, made, fault, label, monkeypatch):
    if not label:  # an endpoint that keeps no metadata: the file tells
        monkeypatch.setattr("perslib.systems.batches.submission.LABEL", "")
    server.page = 1
    server.troubles["made"] = [fault]
    assert batches.fetch(made).answers == 12
    assert len(server.batches) == 1


def test_a_batch_that_was_not_made_is_made_after_a_look(server, made):
    server.troubles["make"] = [status(500), reset(), status(429, retry_after="0"), status(503)]
    with pytest.raises(BackboneError, match="gave up after 4 tries"):
        batches.send_batch(made)
    server.troubles.clear()
    assert batches.fetch(made).answers == 12
    assert len(server.batches) == 1


def test_metadata_that_an_endpoint_refuses_is_left_out(server, made):
    server.troubles["make"] = [status(400, "Unknown parameter: 'metadata'."), _pass]
    assert batches.fetch(made).answers == 12
    assert [one["metadata"] for one in server.batches.values()] == [None]


async def _pass(request, body):
    return None


def test_where_nothing_is_listed_a_doubtful_batch_is_not_made_twice(server, entry, made, home):
    server.troubles = {"list": [status(404)], "made": [status(500)]}
    for _ in range(2):
        with pytest.raises(BackboneError, match=rf"perslib batch forget {made.name}"):
            batches.fetch(made)
    assert len(server.batches) == 1
    server.troubles.pop("made")
    shown = perslib("batch", "forget", made.name)
    assert "is paid" in shown
    assert batches.fetch(collected(lambda: ask(entry), home)[0][0]).answers == 12
    assert len(server.batches) == 2


def test_a_batch_that_another_folder_of_this_name_has_made_is_taken(server, entry, made, home):
    """Its batch.json was lost."""
    batches.send_batch(made)
    (made.folder / "batch.json").unlink()
    again = collected(lambda: ask(entry), home)[0][0]
    assert batches.fetch(again).answers == 12
    assert len(server.batches) == 1


FETCH = """
from perslib.systems import batches
from perslib.systems.batches import submission
submission.FIRST_LOOK = 0.01
for one in batches.list_batches()[0]:
    print(batches.fetch(one).answers)
"""


def start(home):
    return subprocess.Popen([sys.executable, "-c", FETCH], stdout=subprocess.PIPE, text=True, env=dict(os.environ))


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("phase", ["upload", "make", "made", "retrieve", "content"])
def test_killed_at_each_phase_it_goes_on_and_pays_once(server, entry, made, home, phase):
    killed = []

    async def kill(request, body):
        killed[0].send_signal(signal.SIGKILL)
        return await reset()(request, body)

    server.troubles[phase] = [kill]
    killed.append(start(home))
    killed[0].communicate(timeout=60)
    assert killed[0].returncode == -signal.SIGKILL
    server.troubles.clear()
    assert start(home).communicate(timeout=60)[0] == "12\n"
    assert len(server.batches) == 1
    assert all(a.cached for a in ask(entry))


@pytest.mark.process
def test_two_processes_at_once_make_one(server, entry, made, home):
    server.looks = 5
    both = [start(home) for _ in range(2)]
    assert [one.communicate(timeout=60)[0] for one in both] == ["12\n", "12\n"]
    assert len(server.batches) == 1


# -- on disk --------------------------------------------------------------------------------------------------


def perslib(*words):
    done = CliRunner().invoke(main, [str(word) for word in words], prog_name="perslib")
    assert done.exit_code == 0, done.output
    return done.output


DAMAGES = ["", "{", "[]", "null", "\0" * 50, "{}", "[" * 100_000]


@pytest.mark.parametrize("content", DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_state_hides_no_other_and_can_be_forgotten(server, entry, made, home, content):
    other = collected(lambda: ask(entry, number=3), home)[0][0]
    (made.folder / "batch.json").write_text(content)
    shown = perslib("batch")
    assert f"mine: {other.state['questions']} questions" in shown
    assert f"perslib batch forget {made.name}" in shown
    assert "Traceback" not in perslib("batch", "forget", made.name)
    assert batches.list_batches()[1] == []
    assert batches.fetch(collected(lambda: ask(entry), home)[0][0]).answers == 12


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("entry", 5),
        ("entry", {}),
        ("entry", {"name": "mine", "concurrency": "many"}),
        ("entry", {"name": "mine", "prices": {"input": "x"}}),
        ("made", "today"),
        ("made", 1e300),
        ("questions", -1),
        ("tokens_in", None),
        ("id", 5),
        ("id", ""),
    ],
)
def test_a_field_of_another_kind_is_named(made, field, value):
    made.note(**{field: value})
    ((), (error,)) = batches.list_batches()
    assert field in str(error)
    assert f"perslib batch forget {made.name}" in str(error) or field == "entry"


@pytest.mark.parametrize("name", ["questions.jsonl", "how.jsonl"])
@pytest.mark.parametrize("damage", [lambda text: text[: len(text) // 2], lambda text: "x" + text, lambda text: ""])
def test_damaged_questions_are_named(server, made, name, damage):
    file = made.folder / name
    batches.send_batch(made)
    file.write_text(damage(file.read_text("utf-8")), "utf-8")
    with pytest.raises(DataError, match=re.escape(f"perslib batch forget {made.name}")):
        batches.fetch(made)


def test_an_unknown_batch_is_not_forgotten(home, made):
    with pytest.raises(UnknownName, match=made.name):
        batches.delete_batch("../..")


def test_answers_are_kept_without_the_key(server, entry, made):
    server.reply = lambda body: json.dumps({"score": 4, "kind": "good", "why": f"said {SECRET}"})
    server.mangle = lambda text: text.replace(SECRET, "".join(f"\\\\u{ord(c):04x}" for c in SECRET)).encode()
    assert batches.fetch(made).answers == 12
    (answer, *_) = ask(entry)
    assert answer.data["why"] == "said [key]"
    assert Cache(policy="only").read_request(answer.digest)
