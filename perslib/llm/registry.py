"""The backbones by name: ours from `backbones.toml` in this folder, the user's from the working folder."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from perslib.errors import DataError, MissingKey, Problem, UnknownName
from perslib.paths import workspace

OURS = Path(__file__).with_name("backbones.toml")


@dataclass(frozen=True)
class Prices:
    """Price per million tokens: input, input read from the provider's prefix cache, output."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float:
        """(fresh · input + cached · cached + out · output) / 10⁶; `tokens_cached` is part of `tokens_in`."""
        cached = self.input if self.cached is None else self.cached
        fresh = tokens_in - tokens_cached
        return (fresh * self.input + tokens_cached * cached + tokens_out * self.output) / 1e6


@dataclass(frozen=True)
class Entry:
    """Everything an endpoint needs; the fields are those of `backbones.toml`."""

    name: str
    kind: Literal["endpoint", "embedded"] = "endpoint"
    base_url: str = ""
    model: str = ""
    key_env: str = ""
    prices: Prices | None = None
    prices_as_of: str = ""
    concurrency: int = 16
    rpm: int | None = None
    tpm: int | None = None
    structured: Literal["schema", "json", "text", "auto"] = "auto"
    logprobs: bool | None = None
    timeout: float = 300.0
    deadline: float | None = None
    context: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    max_tokens_as: str = "max_tokens"
    languages: tuple[str, ...] = ()
    prompts: Literal["short", "published", "auto"] = "auto"
    cache_as: str = ""
    start: str = ""
    about: str = ""

    @property
    def address(self) -> str:
        """What stands for the endpoint in the answer cache and the saved probes."""
        return self.cache_as or (self.kind if self.kind == "embedded" else self.base_url)

    @property
    def is_asked_briefly(self) -> bool:
        """Whether studies ask it with short prompts; without a word on it, what perslib starts by itself."""
        return self.prompts == "short" or (self.prompts == "auto" and self.kind == "embedded")

    def cost(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float | None:
        """Cost of one call; None when the entry has no prices."""
        return None if self.prices is None else self.prices.cost(tokens_in, tokens_cached, tokens_out)

    def key(self) -> str | None:
        """The key, read from the environment at this moment; held by nothing. None when none is needed."""
        if not self.key_env:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise MissingKey(
                f"Backbone {self.name!r} needs a key in the environment variable {self.key_env}, "
                f"which is not set: export {self.key_env}=… and try again.",
                backbone=self.name,
            )
        if not (key.isascii() and key.isprintable()):
            raise MissingKey(
                f"The environment variable {self.key_env} holds characters that no key can have; "
                "copy the key again, without quotes or line breaks.",
                backbone=self.name,
            )
        return key


def entries() -> dict[str, Entry]:
    """All backbones by name, ours overridden field by field by the user's `backbones.toml`."""
    theirs = workspace() / "backbones.toml"
    tables = _read(OURS)
    if theirs.is_file() and theirs.resolve() != OURS.resolve():
        for name, table in _read(theirs).items():
            tables[name] = {**tables.get(name, {}), **table}
    return {name: Entry(name=name, **table) for name, table in tables.items()}


def entry(name: str, **overrides: Any) -> Entry:
    """The entry called `name`, with single fields replaced."""
    known = entries()
    if name not in known:
        raise UnknownName("backbone", name, known)
    place = f"backbone({name!r})"
    problems: list[Problem] = []
    checked = _checked(overrides, place, problems)
    found = replace(known[name], **checked) if not problems else known[name]
    if not found.model:
        problems.append(Problem(place, "has no model; give one: " + f"backbone({name!r}, model=…)"))
    if found.kind == "endpoint" and not found.base_url:
        problems.append(Problem(place, "has no base_url, the address of its endpoint"))
    if problems:
        raise DataError(problems)
    return found


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The checked tables of one file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(Problem(str(path), f"is not valid TOML: {error}")) from None
    problems: list[Problem] = []
    tables = {}
    for name, table in document.items():
        if not isinstance(table, dict):
            problems.append(Problem(f"{path}", f"{name} stands outside any [backbone] table"))
            continue
        tables[name] = _checked(table, f"{path} [{name}]", problems)
    if problems:
        raise DataError(problems)
    return tables


_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "kind": (str, "endpoint or embedded"),
    "base_url": (str, "an address such as http://127.0.0.1:8000/v1"),
    "model": (str, "the model's name, in quotes"),
    "key_env": (str, "the name of an environment variable"),
    "prices": ((dict, Prices), "{ in = …, cached = …, out = … } per million tokens"),
    "prices_as_of": (str, "a date in quotes"),
    "concurrency": (int, "a whole number of at least 1"),
    "rpm": (int, "a whole number of at least 1"),
    "tpm": (int, "a whole number of at least 1"),
    "structured": (str, "schema, json, text or auto"),
    "logprobs": (bool, "true or false"),
    "timeout": ((int, float), "seconds, more than 0"),
    "deadline": ((int, float), "seconds, more than 0"),
    "context": (int, "a whole number of at least 1"),
    "extra_body": (dict, "a table"),
    "omit": ((list, tuple), "a list of request fields"),
    "max_tokens_as": (str, "max_tokens or max_completion_tokens"),
    "languages": ((list, tuple), 'a list such as ["en", "zh"]'),
    "prompts": (str, "short, published or auto"),
    "cache_as": (str, "a text"),
    "start": (str, "a command, in quotes"),
    "about": (str, "a text"),
}
_CHOICES = {
    "kind": ("endpoint", "embedded"),
    "structured": ("schema", "json", "text", "auto"),
    "prompts": ("short", "published", "auto"),
}
_KEY_LIKE = ("key", "api_key", "apikey", "token", "secret")


def _checked(table: Mapping[str, Any], place: str, problems: list[Problem]) -> dict[str, Any]:
    """The fields of one table in the types of `Entry`; what is wrong goes to `problems`."""
    good: dict[str, Any] = {}
    for name, value in table.items():
        if name not in _KINDS:
            problems.append(Problem(place, _unknown(name)))
            continue
        kind, expected = _KINDS[name]
        # TOML's true is no number, though Python's is.
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if value is None and name in ("rpm", "tpm", "context", "logprobs", "prices", "deadline"):
            good[name] = None
        elif not fits or not _in_range(name, value):
            may_be_secret = name == "key_env" or (name == "base_url" and set("@?#") & set(str(value)))
            shown = "its value" if may_be_secret else repr(value)
            problems.append(Problem(place, f"{name}: {shown} is not {expected}"))
        elif name == "prices" and isinstance(value, dict):
            good[name] = _prices(value, place, problems)
        else:
            good[name] = tuple(value) if isinstance(value, list) else value
    return good


def _in_range(name: str, value: Any) -> bool:
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name in ("concurrency", "rpm", "tpm", "context", "timeout", "deadline"):
        return value > 0
    if name == "key_env":  # a pasted key would fail here, and is not repeated in the message
        return not value or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is not None
    if name == "base_url":
        parts = urlsplit(value)
        is_plain = (
            "@" not in parts.netloc and not parts.query and not parts.fragment
        )  # a key could stand there
        return parts.scheme in ("http", "https") and bool(parts.hostname) and is_plain
    return True


def _unknown(name: str) -> str:
    if name.lower() in _KEY_LIKE:
        return f"{name}: keys do not stand in files; name the environment variable that holds it in key_env"
    near = difflib.get_close_matches(name, _KINDS, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else f" Known: {', '.join(_KINDS)}."
    return f"there is no field {name!r}.{hint}"


def _prices(table: Mapping[str, Any], place: str, problems: list[Problem]) -> Prices | None:
    given = dict(table)
    bad = [n for n, v in given.items() if n not in ("in", "cached", "out") or not _is_price(v)]
    if bad or "in" not in given or "out" not in given:
        problems.append(Problem(place, f"prices: expected {_KINDS['prices'][1]}, got {given}"))
        return None
    return Prices(input=given["in"], output=given["out"], cached=given.get("cached"))


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
