"""The backbones by name: ours from `backbones.toml` in this folder, the user's from the working folder."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

from perslib.errors import DataError, MissingKey, Problem, UnknownName
from perslib.llm.request import plain_number
from perslib.paths import workspace
from perslib.schemas import check, read_schema

#: Stands for a backbone where a study asks no model.
NO_MODEL = "none"
OURS = Path(__file__).with_name("backbones.toml")
ENTRY = read_schema(__file__, "backbones.schema.toml", "entry")


#: The forms in which endpoints take typed questions; empty: none is named.
DecisionForm = Literal["", "decisions", "systemone"]


@dataclass(frozen=True)
class Prices:
    """Price per million tokens: input, input read from the provider's prefix cache, output."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float:
        """Return (fresh · input + cached · cached + out · output) / 10⁶; `tokens_cached` is part of `tokens_in`."""
        cached = self.input if self.cached is None else self.cached
        fresh = tokens_in - tokens_cached
        return (fresh * self.input + tokens_cached * cached + tokens_out * self.output) / 1e6


@dataclass(frozen=True)
class BackboneEntry:
    """Everything an endpoint needs; the fields are those of `backbones.toml`."""

    name: str
    kind: Literal["endpoint", "embedded", "decisions"] = "endpoint"
    """`decisions`: it answers typed questions alone."""
    base_url: str = ""
    model: str = ""
    key_env: str = ""
    auth: Literal["key", "entra"] = "key"
    prices: Prices | None = None
    prices_as_of: str = ""
    batch: float | None = None
    """Price of a question in a batch, as a share of that asked at once; None where no batches are known."""
    concurrency: int = 16
    rpm: int | None = None
    tpm: int | None = None
    structured: Literal["schema", "json", "text", "auto"] = "auto"
    logprobs: bool | None = None
    decisions: DecisionForm = ""
    """Where it takes typed questions, in the form of that name; empty: as the probe found."""
    timeout: float = 300.0
    deadline: float | None = None
    context: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    max_tokens_as: str = "max_tokens"
    reasons: bool | None = None
    effort: str = ""
    thoughts: int = 4096
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
    def display_name(self) -> str:
        """The model's name; of a model file, its file name."""
        return Path(self.model).name if self.kind == "embedded" else self.model

    @property
    def at_once(self) -> int:
        """How many of its calls run at the same time; a model in a process of its own answers one after the other."""
        return 1 if self.kind == "embedded" else self.concurrency

    @property
    def gguf(self) -> str | None:
        """The model file of an embedded entry; None for the bundled one."""
        return self.model if self.model.endswith(".gguf") or self.model.startswith("hub:") else None

    @property
    def is_asked_briefly(self) -> bool:
        """Whether studies ask it with short prompts; without a word on it, what perslib starts by itself."""
        return self.prompts == "short" or (self.prompts == "auto" and self.kind == "embedded")

    def cost(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float | None:
        """Return the cost of one call; None when the entry has no prices."""
        return None if self.prices is None else self.prices.cost(tokens_in, tokens_cached, tokens_out)

    def key(self) -> str | None:
        """Return the key, read from the environment at this moment; held by nothing. None when none is needed."""
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


def entries() -> dict[str, BackboneEntry]:
    """Return all backbones by name, ours overridden field by field by the user's `backbones.toml`."""
    theirs = workspace() / "backbones.toml"
    tables = _read(OURS)
    if theirs.is_file() and theirs.resolve() != OURS.resolve():
        for name, table in _read(theirs).items():
            tables[name] = {**tables.get(name, {}), **table}
    return {name: BackboneEntry(name=name, **table) for name, table in tables.items()}


def entry(name: str, **overrides: Any) -> BackboneEntry:
    """Return the entry called `name`, with single fields replaced."""
    known = entries()
    if name not in known:
        raise UnknownName("backbone", name, known)
    place = f"backbone({name!r})"
    problems: list[Problem] = []
    checked = _check_entry(overrides, place, problems)
    entry = replace(known[name], **checked) if not problems else known[name]
    if not entry.model:
        problems.append(Problem(place, "has no model; give one: " + f"backbone({name!r}, model=…)"))
    if entry.kind != "embedded" and not entry.base_url:
        problems.append(Problem(place, "has no base_url, the address of its endpoint"))
    if problems:
        raise DataError(problems)
    return entry


def restore_entry(record: Any, place: str) -> BackboneEntry:
    """Return the entry that `asdict` made a record of; a DataError names the fields that are none of an entry."""
    table = dict(record) if isinstance(record, Mapping) else {}
    name, prices = table.pop("name", None), table.get("prices")
    if isinstance(prices, dict):
        given = {"in": prices.get("input"), "cached": prices.get("cached"), "out": prices.get("output")}
        table["prices"] = {kind: price for kind, price in given.items() if price is not None}
    problems = [] if isinstance(name, str) and name else [Problem(place, f"has no name of a backbone: {name!r}")]
    checked = _check_entry(table, place, problems)
    if problems:
        raise DataError(problems)
    return BackboneEntry(name=str(name), **checked)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the checked tables of one file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise DataError(Problem(str(path), f"is not valid TOML: {error}")) from None
    problems: list[Problem] = []
    if NO_MODEL in document:
        problems.append(Problem(f"{path} [{NO_MODEL}]", "no model can be called so: the name stands for asking none"))
    tables = {}
    for name, table in document.items():
        if not isinstance(table, dict):
            problems.append(Problem(f"{path}", f"{name} stands outside any [backbone] table"))
            continue
        tables[name] = _check_entry(table, f"{path} [{name}]", problems)
    if problems:
        raise DataError(problems)
    return tables


def _unsendable(value: Any, place: str) -> list[Problem]:
    """Return what JSON does not have: names that are no texts, not-a-number, infinity, dates, bytes, objects."""
    if isinstance(value, Mapping):
        wrong = [Problem(place, f"has a name that is no text: {name!r}") for name in value if not isinstance(name, str)]
        return wrong or [own for name, part in value.items() for own in _unsendable(part, f"{place}.{name}")]
    if isinstance(value, list | tuple):
        return [own for number, part in enumerate(value) for own in _unsendable(part, f"{place}[{number}]")]
    try:
        json.dumps(value, default=plain_number, allow_nan=False)
    except (TypeError, ValueError):
        shown = repr(value)[:60] if isinstance(value, float | bytes | date) else f"of type {type(value).__name__}"
        return [Problem(place, f"is {shown}, which JSON does not have")]
    return []


_MAY_BE_NONE = {field.name for field in fields(BackboneEntry) if field.default is None}


def _check_entry(table: Mapping[str, Any], place: str, problems: list[Problem]) -> dict[str, Any]:
    """Return the fields of one table in the types of `BackboneEntry`; what is wrong goes to `problems`."""
    prices = table.get("prices")
    plain = {name: value for name, value in table.items() if value is not None or name not in _MAY_BE_NONE}
    if isinstance(prices, Prices):
        del plain["prices"]
    try:
        faults = check(plain, ENTRY, place) or _unsendable(table.get("extra_body"), f"{place} extra_body")
    except (RecursionError, TypeError, ValueError) as error:
        faults = [Problem(place, f"holds what no request can: {error}")]
    if faults:
        problems += faults
        return {}
    good = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    good |= {name: int(value) for name, value in good.items() if isinstance(value, float) and value.is_integer()}
    if isinstance(prices, dict):
        good["prices"] = Prices(input=prices["in"], output=prices["out"], cached=prices.get("cached"))
    return good
