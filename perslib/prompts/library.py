"""Find prompts by name, load them, render them into requests."""

from __future__ import annotations

import hashlib
import numbers
import os
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from perslib.errors import PromptError, UnknownName
from perslib.llm.types import Request
from perslib.paths import bundled, workspace
from perslib.prompts.fencing import visible
from perslib.prompts.file import near, read_prompt_file
from perslib.prompts.pieces import Keys, Piece, key, pieces
from perslib.prompts.template import ENVIRONMENT, Sources


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
    _messages: tuple[tuple[str, tuple[Piece, ...]], ...] = field(repr=False, compare=False)
    _last: dict[str, tuple[bytes, Any]] = field(default_factory=dict, repr=False, compare=False)
    """Each placeholder's last value, as it is shown."""

    @property
    def label(self) -> str:
        """How records name this prompt: `en/judge_personal@1:ab12cd34`."""
        return f"{self.language}/{self.name}@{self.version}:{self.digest[:8]}"

    def render(self, /, **fields: Any) -> Request:
        """The request with every placeholder filled in; each must be given, and nothing else."""
        self._compare(fields)
        keys = {name: key(value) for name, value in fields.items()}
        values = {name: self._value(name, value, keys[name]) for name, value in fields.items()}
        return Request(
            messages=[
                {"role": role, "content": self._fill(body, values, keys)} for role, body in self._messages
            ],
            schema=self.schema,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            prompt=self.label,
        )

    def _compare(self, fields: Mapping[str, Any]) -> None:
        unknown = [
            f"no placeholder is called {name!r}{near(name, self.placeholders)}"
            for name in fields
            if name not in self.placeholders
        ]
        missing = [
            f"placeholder {name!r} is missing ({meaning})"
            for name, meaning in self.placeholders.items()
            if name not in fields
        ]
        if unknown or missing:
            takes = ", ".join(self.placeholders) or "nothing"
            raise PromptError(f"{self.path}: {'; '.join(unknown + missing)}. This prompt takes: {takes}.")

    def _fill(self, body: Sequence[Piece], values: Mapping[str, Any], keys: Keys) -> str:
        try:
            return "".join(piece.render(values, keys) for piece in body).strip()
        except Exception as error:  # a template can fail in any way that Python can
            raise PromptError(f"{_place(error, self.path)}: {error}") from error

    def _value(self, name: str, value: Any, key: bytes | None) -> Any:
        """The value as it is shown; that of the last time if it is the same."""
        last = self._last.get(name)
        if key is not None and last is not None and last[0] == key:
            return last[1]
        shown = self._shown(value, name)
        if key is not None:
            self._last[name] = key, shown
        return shown

    def _shown(self, value: Any, place: str) -> Any:
        """A copy of the value with all text in it made visible."""
        if isinstance(value, str):
            return visible(value)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, numbers.Real):
            return value
        if isinstance(value, Mapping):
            shown = {key: self._shown(item, f"{place}.{key}") for key, item in value.items()}
            return {self._shown(key, place): item for key, item in shown.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self._shown(item, f"{place}[{i}]") for i, item in enumerate(value)]
        raise PromptError(
            f"{self.path}: {place} is a {type(value).__name__}; "
            "a prompt takes texts, numbers, None, and lists and mappings of them"
        )


def prompt(name: str, language: str = "en", folder: str | Path | None = None) -> Prompt:
    """Load a prompt by name; from `folder`, else $PERSLIB_PROMPTS, else the workspace, else as bundled."""
    shelves = _shelves(folder)
    place: _Place = (name, language, *shelves)
    if place in _read and (kept := _read[place]).files == _files(shelves, language, kept.files):
        return kept.prompt
    known = _names(shelves, language)
    if name not in known:
        raise UnknownName(f"prompt in {language!r}", name, known)
    sources = Sources([shelf / language for shelf in shelves])
    file = read_prompt_file(f"{name}.md", sources)
    environment = ENVIRONMENT.overlay(loader=sources.loader())
    found = Prompt(
        name=name,
        language=language,
        digest=_digest(sources.texts),
        path=file.path,
        _messages=tuple((role, pieces(environment, body)) for role, body in file.messages),
        **file.head,
    )
    _read[place] = _Read(found, _files(shelves, language, sources.texts))
    return found


class _Read(NamedTuple):
    """A prompt that was read, and the state its files were in."""

    prompt: Prompt
    files: dict[str, list[tuple[int, int] | None]]


#: Checking and compiling a prompt takes longer than many a model's answer, so it is done once.
_Place = tuple[str | Path, ...]
_read: dict[_Place, _Read] = {}


def _files(
    shelves: Sequence[Path], language: str, names: Iterable[str]
) -> dict[str, list[tuple[int, int] | None]]:
    """Time and size of each of these files on every shelf: a new one may come to stand before the one that was read."""
    return {name: [_stamp(shelf / language / name) for shelf in shelves] for name in names}


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def prompts(folder: str | Path | None = None) -> pd.DataFrame:
    """All prompts to be had, one a row: name, language, version, digest, path, description."""
    shelves = _shelves(folder)
    columns = ["name", "language", "version", "digest", "path", "description"]
    rows = []
    for language in _languages(shelves):
        for name in _names(shelves, language):
            found = prompt(name, language, folder)
            rows.append([str(v) if isinstance(v := getattr(found, c), Path) else v for c in columns])
    return pd.DataFrame(rows, columns=columns)


def _shelves(folder: str | Path | None) -> list[Path]:
    """Folders to look in, nearest to the user first. One that the user named has to exist."""
    named = {"folder=": folder, "$PERSLIB_PROMPTS": os.environ.get("PERSLIB_PROMPTS") or None}
    shelves = []
    for source, value in named.items():
        if value is not None:
            shelves.append(Path(value).expanduser().resolve())
            if not shelves[-1].is_dir():
                raise PromptError(
                    f"There is no folder {shelves[-1]} to take prompts from (given by {source})"
                )
    return list(dict.fromkeys([*shelves, workspace() / "prompts", bundled("prompts")]))


def _languages(shelves: Sequence[Path]) -> list[str]:
    return sorted({file.parent.name for shelf in shelves for file in shelf.glob("*/[!_]*.md")})


def _names(shelves: Sequence[Path], language: str) -> list[str]:
    languages = _languages(shelves)
    if language not in languages:
        raise UnknownName("prompt language", language, languages)
    return sorted({file.stem for shelf in shelves for file in (shelf / language).glob("[!_]*.md")})


def _digest(texts: Mapping[str, str]) -> str:
    """sha256 over names and texts; line ends are \\n and places left out, so that all systems agree."""
    whole = "".join(f"{name}\0{text}\0" for name, text in sorted(texts.items()))
    return hashlib.sha256(whole.encode()).hexdigest()


def _place(error: Exception, path: Path) -> str:
    """File and line of the template that failed; Jinja puts them into the traceback."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == "<template>":
            return f"{path}:{frame.lineno}"
        if frame.filename.endswith(".md"):
            return f"{frame.filename}:{frame.lineno}"
    return str(path)
