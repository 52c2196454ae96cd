"""Find prompts by name, load them, render them into requests, with the settings that all questions of a run share."""

from __future__ import annotations

import hashlib
import numbers
import os
import tomllib
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import FunctionLoader, Template

from perslib.errors import DataError, Problem, PromptError, UnknownName
from perslib.llm.request import Message, Request
from perslib.paths import bundled, workspace
from perslib.prompts.fencing import visible
from perslib.prompts.file import ENVIRONMENT, Sources, near, read_prompt_file


class PromptWarning(UserWarning):
    """A prompt is taken from another language than the one asked for."""


@dataclass(frozen=True)
class Prompt:
    """A prompt file that has passed its checks; `render` makes a request of it."""

    name: str
    language: str
    version: int
    description: str
    temperature: float | None
    max_tokens: int | None
    schema: dict[str, Any] | None
    """JSON schema of the answer; None where the answer is plain text."""
    placeholders: Mapping[str, str]
    """What each placeholder stands for."""
    trusted: frozenset[str]
    """Placeholders that neither users nor models write; the others stand inside fences."""
    digest: str
    """sha256 over the file and everything it includes."""
    path: Path
    _messages: tuple[tuple[str, Template], ...] = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """How records name this prompt: `en/judge_personal@1:ab12cd34`."""
        return f"{self.language}/{self.name}@{self.version}:{self.digest[:8]}"

    def render(self, /, **fields: Any) -> Request:
        """The request with every placeholder filled in; each must be given, and nothing else."""
        known = self.placeholders
        faults = [f"no placeholder is called {n!r}{near(n, known)}" for n in fields if n not in known]
        faults += [f"placeholder {n!r} is missing ({known[n]})" for n in known if n not in fields]
        if faults:
            takes = ", ".join(known) or "nothing"
            raise PromptError(f"{self.path}: {'; '.join(faults)}. This prompt takes: {takes}.")
        values = {name: self._shown(value, name) for name, value in fields.items()}
        try:
            messages = [{"role": role, "content": body.render(values).strip()} for role, body in self._messages]
        except Exception as error:  # a template can fail in any way that Python can
            raise PromptError(f"{_place(error, self.path)}: {error}") from error
        return Request(messages, self.schema, self.temperature, self.max_tokens, prompt=self.label, shown=values)

    def _shown(self, value: Any, place: str) -> Any:
        """A copy of the value with all text in it made visible."""
        if isinstance(value, str):
            return visible(value)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, numbers.Real):
            return value
        if isinstance(value, Mapping):
            return {self._shown(key, place): self._shown(value[key], f"{place}.{key}") for key in value}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self._shown(item, f"{place}[{i}]") for i, item in enumerate(value)]
        raise PromptError(
            f"{self.path}: {place} is a {type(value).__name__}; "
            "a prompt takes texts, numbers, None, and lists and mappings of them"
        )


def prompt(name: str, language: str = "en", folder: str | Path | None = None) -> Prompt:
    """Load a prompt by name; from `folder`, else $PERSLIB_PROMPTS, else the workspace, else as bundled.

    A prompt that a language does not have is taken from English, with a warning.
    """
    shelves = _shelves(folder)
    place: tuple[str | Path, ...] = (name, language, *shelves)
    if place in _loaded:
        found, files = _loaded[place]
        if all(_stamp(file) == stamp for file, stamp in files.items()):
            return found
    known, written_in = _names(shelves, language), language
    if name not in known:
        if name not in _names(shelves, "en"):
            raise UnknownName(f"prompt in {language!r}", name, known)
        written_in = "en"
        warnings.warn(
            f"The prompt {name!r} does not exist in the language {language!r}: the English one is used. "
            f"Add {language}/{name}.md beside en/{name}.md.",
            PromptWarning,
            stacklevel=2,
        )
    sources = Sources([shelf / written_in for shelf in shelves])
    path, head, messages = read_prompt_file(f"{name}.md", sources)
    environment = ENVIRONMENT.overlay(loader=FunctionLoader(sources.load))
    found = Prompt(
        name=name,
        language=written_in,
        digest=_digest(sources),
        path=path,
        _messages=tuple((role, environment.from_string(body)) for role, body in messages),
        **head,
    )
    # A new file may come to stand before one that was read, on every shelf.
    watched = [(language, f"{name}.md"), *((written_in, text) for text in sources.read_files)]
    paths = [shelf / folder_name / text for shelf in shelves for folder_name, text in watched]
    _loaded[place] = found, {path: _stamp(path) for path in paths}
    return found


#: Checking and compiling a prompt takes longer than many a model's answer, so it is done once: by name, language and
#: folders, each prompt with the state that its files were in.
_loaded: dict[tuple[str | Path, ...], tuple[Prompt, dict[Path, tuple[int, int] | None]]] = {}


def _stamp(file: Path) -> tuple[int, int] | None:
    """Time and size of a file; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def prompts(folder: str | Path | None = None) -> pd.DataFrame:
    """All prompts to be had, one a row: name, language, version, digest, path, description."""
    shelves = _shelves(folder)
    columns = ["name", "language", "version", "digest", "path", "description"]
    found = [prompt(name, lang, folder) for lang in _languages(shelves) for name in _names(shelves, lang)]
    frame = pd.DataFrame([[getattr(one, column) for column in columns] for one in found], columns=columns)
    return frame.astype({"path": "str"})


def _shelves(folder: str | Path | None) -> list[Path]:
    """Folders to look in, nearest to the user first. One that the user named has to exist."""
    named = {"folder=": folder, "$PERSLIB_PROMPTS": os.environ.get("PERSLIB_PROMPTS") or None}
    shelves = []
    for source, value in named.items():
        if value is not None:
            shelves.append(Path(value).expanduser().resolve())
            if not shelves[-1].is_dir():
                raise PromptError(f"There is no folder {shelves[-1]} to take prompts from (given by {source})")
    return list(dict.fromkeys([*shelves, workspace() / "prompts", bundled("prompts")]))


def _languages(shelves: Sequence[Path]) -> list[str]:
    return sorted({file.parent.name for shelf in shelves for file in shelf.glob("*/[!_]*.md")})


def _names(shelves: Sequence[Path], language: str) -> list[str]:
    languages = _languages(shelves)
    if language not in languages:
        raise UnknownName("prompt language", language, languages)
    return sorted({file.stem for shelf in shelves for file in (shelf / language).glob("[!_]*.md")})


def _digest(sources: Sources) -> str:
    """sha256 over names and texts; line ends are \\n and places left out, so that all systems agree."""
    whole = "".join(f"{name}\0{text}\0" for name, (_, text) in sorted(sources.read_files.items()))
    return hashlib.sha256(whole.encode()).hexdigest()


def _place(error: Exception, path: Path) -> str:
    """File and line of the template that failed; Jinja puts them into the traceback."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == "<template>":
            return f"{path}:{frame.lineno}"
        if frame.filename.endswith(".md"):
            return f"{frame.filename}:{frame.lineno}"
    return str(path)


@cache
def phrases(group: str, language: str) -> Mapping[str, Any]:
    """Return the phrases of one group, as `prompts/<language>/phrases.toml` has them.

    What a language does not have is taken from English.
    """
    return _read_phrases("en")[group] | _read_phrases(language).get(group, {})


@cache
def _read_phrases(language: str) -> dict[str, dict[str, Any]]:
    file = bundled("prompts", language, "phrases.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


@dataclass(frozen=True)
class PromptSettings:
    """What all questions of a run have in common; what is None is left to the prompt or to the endpoint."""

    language: str = "en"
    """Language of the prompts."""
    temperature: float | None = field(default=None, kw_only=True)
    seed: int | None = field(default=42, kw_only=True)
    effort: str | None = field(default=None, kw_only=True)
    """`reasoning_effort` of endpoints that have one ("low", "high"); sent as it is."""
    max_tokens: int | None = field(default=None, kw_only=True)
    """Instead of the prompt's; reasoning models need room for their thoughts (20,000 as published)."""
    window: int | None = field(default=None, kw_only=True)
    """So many messages of history at most; None shows all."""
    characters: int = field(default=12_000, kw_only=True)
    """So many characters of history at most, from its end: further messages are left out, the first kept is cut."""
    extra: tuple[tuple[str, Any], ...] = field(default=(), kw_only=True)
    """Further fields of the request body."""
    prompts: str | Path | None = field(default=None, kw_only=True)
    """A folder with prompts of one's own."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 0:
            raise DataError(Problem("window", f"is {self.window}, expected 0 or more, or None for all"))
        if self.characters < 0:
            raise DataError(Problem("characters", f"is {self.characters}, expected 0 or more"))

    def prompt(self, name: str) -> Prompt:
        """Find a prompt in this language and folder."""
        return prompt(name, self.language, self.prompts)

    def request(self, name: str, **fields: Any) -> Request:
        """Fill in a prompt and apply these settings."""
        return self.apply(self.prompt(name).render(**fields))

    def apply(self, request: Request) -> Request:
        """Apply these settings to a request."""
        effort = {"reasoning_effort": self.effort} if self.effort is not None else {}
        return replace(
            request,
            temperature=request.temperature if self.temperature is None else self.temperature,
            max_tokens=request.max_tokens if self.max_tokens is None else self.max_tokens,
            seed=self.seed,
            extra={**request.extra, **dict(self.extra), **effort},
        )

    def history(self, messages: Sequence[Message]) -> list[Message]:
        """Cut a history to its last `window` messages and `characters`, inside a message where need be."""
        recent = messages if self.window is None else messages[max(0, len(messages) - self.window) :]
        return last_characters(recent, self.characters)


def last_characters(conversation: Sequence[Message], most: int) -> list[Message]:
    """Cut a conversation to its last characters, inside a message where need be."""
    kept: list[Message] = []
    for message in reversed(conversation):
        if most <= 0:
            break
        text = str(message["content"])
        kept.append({"role": message["role"], "content": text if len(text) <= most else "…" + text[-most:]})
        most -= len(text)
    return kept[::-1]
