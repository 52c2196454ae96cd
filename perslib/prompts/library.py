"""Prompts by name: loading, rendering into requests, and the settings that all questions of a run share."""

from __future__ import annotations

import hashlib
import numbers
import os
import tomllib
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FunctionLoader, Template

from perslib.errors import DataError, Problem, PromptError, UnknownName
from perslib.llm.request import Message, Request
from perslib.paths import find_bundled, workspace
from perslib.prompts.fencing import make_visible
from perslib.prompts.file import ENVIRONMENT, Sources, read_prompt_file, suggest_names


class PromptWarning(UserWarning):
    """The warning that a prompt is taken from another language than the requested one."""


@dataclass(frozen=True)
class Prompt:
    """A prompt file that has passed its checks; `render` makes a request from it."""

    name: str
    language: str
    version: int
    description: str
    temperature: float | None
    max_tokens: int | None
    schema: dict[str, Any] | None
    """JSON schema of the answer; None if the answer is plain text."""
    placeholders: Mapping[str, str]
    """The meaning of each placeholder."""
    trusted: frozenset[str]
    """Placeholders that neither users nor models write; all others must stand inside fences."""
    digest: str
    """sha256 over the file and all files that it includes."""
    path: Path
    _messages: tuple[tuple[str, str], ...] = field(repr=False, compare=False)
    _environment: Environment = field(repr=False, compare=False)

    @cached_property
    def _templates(self) -> list[tuple[str, Template]]:
        """The messages' roles and templates, compiled when the prompt is first used: most are only listed."""
        return [(role, self._environment.from_string(body)) for role, body in self._messages]

    @property
    def label(self) -> str:
        """Return the name of this prompt in records: `en/judge_personal@1:ab12cd34`."""
        return f"{self.language}/{self.name}@{self.version}:{self.digest[:8]}"

    def render(self, /, **fields: Any) -> Request:
        """Return the request with every placeholder filled in.

        Raise PromptError if a placeholder is missing or unknown, or if a value is not data that a template may print.
        """
        placeholders = self.placeholders
        faults = [
            f"no placeholder is called {n!r}{suggest_names(n, placeholders)}" for n in fields if n not in placeholders
        ]
        faults += [f"placeholder {n!r} is missing ({placeholders[n]})" for n in placeholders if n not in fields]
        if faults:
            accepted = ", ".join(placeholders) or "none"
            raise PromptError(f"{self.path}: {'; '.join(faults)}. The placeholders of this prompt: {accepted}.")
        values = {name: self._make_visible(value, name) for name, value in fields.items()}
        try:
            messages = [{"role": role, "content": body.render(values).strip()} for role, body in self._templates]
        except Exception as error:  # a template can fail in any way that Python can
            raise PromptError(f"{_locate_error(error, self.path)}: {error}") from error
        return Request(messages, self.schema, self.temperature, self.max_tokens, prompt=self.label, shown=values)

    def _make_visible(self, value: Any, place: str) -> Any:
        """Return a copy of the value with all text in it made visible."""
        if isinstance(value, str):
            return make_visible(value)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, numbers.Real):
            return value
        if isinstance(value, Mapping):
            return {self._make_visible(key, place): self._make_visible(value[key], f"{place}.{key}") for key in value}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self._make_visible(item, f"{place}[{i}]") for i, item in enumerate(value)]
        raise PromptError(
            f"{self.path}: {place} has the type {type(value).__name__}; "
            "a prompt accepts texts, numbers, None, and lists and mappings of them"
        )


def prompt(name: str, language: str = "en", folder: str | Path | None = None) -> Prompt:
    """Load a prompt by name from `folder`, then $PERSLIB_PROMPTS, then the workspace, then the bundled prompts.

    A prompt that a language does not have is taken from English, with a warning. Raise UnknownName if English does not
    have it either, and PromptError if the file or a folder is not valid.
    """
    folders = _list_folders(folder)
    key: tuple[str | Path, ...] = (name, language, *folders)
    if key in _loaded:
        loaded, files = _loaded[key]
        if all(_read_stamp(file) == stamp for file, stamp in files.items()):
            return loaded
    names, written_in = _list_prompt_names(folders, language), language
    if name not in names:
        if name not in _list_prompt_names(folders, "en"):
            raise UnknownName(f"prompt in {language!r}", name, names)
        written_in = "en"
        warnings.warn(
            f"The prompt {name!r} does not exist in the language {language!r}: the English one is used. "
            f"Add {language}/{name}.md next to en/{name}.md.",
            PromptWarning,
            stacklevel=2,
        )
    sources = Sources([one_folder / written_in for one_folder in folders])
    path, head, messages = read_prompt_file(f"{name}.md", sources)
    loaded = Prompt(
        name=name,
        language=written_in,
        digest=_compute_digest(sources),
        path=path,
        _messages=tuple(messages),
        _environment=ENVIRONMENT.overlay(loader=FunctionLoader(sources.load)),
        **head,
    )
    # A new file in any of the folders may take precedence over one that was read.
    watched = [(language, f"{name}.md"), *((written_in, text) for text in sources.read_files)]
    paths = [one_folder / folder_name / text for one_folder in folders for folder_name, text in watched]
    _loaded[key] = loaded, {path: _read_stamp(path) for path in paths}
    return loaded


#: Checking and compiling a prompt can take longer than a model's answer, so it is done once.
#: The keys are name, language and folders; each prompt is stored with the state of its files.
_loaded: dict[tuple[str | Path, ...], tuple[Prompt, dict[Path, tuple[int, int] | None]]] = {}


def _read_stamp(file: Path) -> tuple[int, int] | None:
    """Return modification time and size of a file, or None if there is no file."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def prompts(folder: str | Path | None = None) -> pd.DataFrame:
    """Return all available prompts, one per row: name, language, version, digest, path, description."""
    folders = _list_folders(folder)
    columns = ["name", "language", "version", "digest", "path", "description"]
    loaded = [
        prompt(name, lang, folder) for lang in _list_languages(folders) for name in _list_prompt_names(folders, lang)
    ]
    frame = pd.DataFrame([[getattr(one, column) for column in columns] for one in loaded], columns=columns)
    return frame.astype({"path": "str"})


def list_languages(folder: str | Path | None = None) -> list[str]:
    """List the languages that have prompts, in `folder` or where prompts are looked for otherwise."""
    return _list_languages(_list_folders(folder))


def _list_folders(folder: str | Path | None) -> list[Path]:
    """Return the folders to search, the user's first; raise PromptError if one that the user named does not exist."""
    named = {"folder=": folder, "$PERSLIB_PROMPTS": os.environ.get("PERSLIB_PROMPTS") or None}
    folders = []
    for source, value in named.items():
        if value is not None:
            folders.append(Path(value).expanduser().resolve())
            if not folders[-1].is_dir():
                raise PromptError(f"The folder of prompts {folders[-1]} does not exist (given by {source})")
    # Those that are there: so a prompt is not checked anew for each workspace without prompts of its own.
    usual = [one for one in (workspace() / "prompts", find_bundled("prompts")) if one.is_dir()]
    return list(dict.fromkeys([*folders, *usual]))


def _list_languages(shelves: Sequence[Path]) -> list[str]:
    return sorted({file.parent.name for shelf in shelves for file in shelf.glob("*/[!_]*.md")})


def _list_prompt_names(shelves: Sequence[Path], language: str) -> list[str]:
    languages = _list_languages(shelves)
    if language not in languages:
        raise UnknownName("prompt language", language, languages)
    return sorted({file.stem for shelf in shelves for file in (shelf / language).glob("[!_]*.md")})


def _compute_digest(sources: Sources) -> str:
    r"""Return sha256 over names and texts; line ends are \n and paths are left out, so that all systems agree."""
    content = "".join(f"{name}\0{text}\0" for name, (_, text) in sorted(sources.read_files.items()))
    return hashlib.sha256(content.encode()).hexdigest()


def _locate_error(error: Exception, path: Path) -> str:
    """Return file and line of the template that failed; Jinja adds them to the traceback."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == "<template>":
            return f"{path}:{frame.lineno}"
        if frame.filename.endswith(".md"):
            return f"{frame.filename}:{frame.lineno}"
    return str(path)


@cache
def read_phrases(group: str, language: str) -> Mapping[str, Any]:
    """Return the phrases of one group from `prompts/<language>/phrases.toml`.

    Phrases that a language does not have are taken from English.
    """
    return _load_phrases("en")[group] | _load_phrases(language).get(group, {})


@cache
def _load_phrases(language: str) -> dict[str, dict[str, Any]]:
    file = find_bundled("prompts", language, "phrases.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


@dataclass(frozen=True)
class PromptSettings:
    """The settings that all questions of a run share; None leaves a setting to the prompt or to the endpoint."""

    language: str = "en"
    """Language of the prompts."""
    temperature: float | None = field(default=None, kw_only=True)
    seed: int | None = field(default=42, kw_only=True)
    effort: str | None = field(default=None, kw_only=True)
    """`reasoning_effort` of endpoints that have one ("low", "high"); sent unchanged."""
    max_tokens: int | None = field(default=None, kw_only=True)
    """Replaces the prompt's value; reasoning models need room for their thoughts (20,000 as published)."""
    window: int | None = field(default=None, kw_only=True)
    """Maximum number of messages of history; None shows all."""
    characters: int = field(default=12_000, kw_only=True)
    """Maximum number of characters of history, counted from its end; the earliest message is cut."""
    extra: tuple[tuple[str, Any], ...] = field(default=(), kw_only=True)
    """Further fields of the request body."""
    prompts: str | Path | None = field(default=None, kw_only=True)
    """A folder with the user's prompts."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 0:
            raise DataError(Problem("window", f"is {self.window}, expected 0 or more, or None for all"))
        if self.characters < 0:
            raise DataError(Problem("characters", f"is {self.characters}, expected 0 or more"))

    def find_prompt(self, name: str) -> Prompt:
        """Return the prompt of this name, in this language and from this folder."""
        return prompt(name, self.language, self.prompts)

    def make_request(self, name: str, **fields: Any) -> Request:
        """Fill in a prompt, apply these settings, and return the request."""
        return self.apply(self.find_prompt(name).render(**fields))

    def apply(self, request: Request) -> Request:
        """Return the request with these settings."""
        effort = {"reasoning_effort": self.effort} if self.effort is not None else {}
        return replace(
            request,
            temperature=request.temperature if self.temperature is None else self.temperature,
            max_tokens=request.max_tokens if self.max_tokens is None else self.max_tokens,
            seed=self.seed,
            extra={**request.extra, **dict(self.extra), **effort},
        )

    def cut_history(self, messages: Sequence[Message]) -> list[Message]:
        """Return the last `window` messages and `characters` of a history; the first message may be cut."""
        recent = messages if self.window is None else messages[max(0, len(messages) - self.window) :]
        return keep_last_characters(recent, self.characters)


def keep_last_characters(conversation: Sequence[Message], limit: int) -> list[Message]:
    """Return the last characters of a conversation; the first message may be cut."""
    shortened: list[Message] = []
    for message in reversed(conversation):
        if limit <= 0:
            break
        text = str(message["content"])
        shortened.append({"role": message["role"], "content": text if len(text) <= limit else "…" + text[-limit:]})
        limit -= len(text)
    return shortened[::-1]
