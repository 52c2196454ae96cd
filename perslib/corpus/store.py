"""Locating, importing, saving and loading corpora."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from perslib.corpus.any_file import anything
from perslib.corpus.any_file.anything import ANY
from perslib.corpus.corpus import FRAMES, Corpus
from perslib.corpus.files.parquet import read_frame
from perslib.corpus.files.reading import ImportResult
from perslib.corpus.files.records import check_regular, naming
from perslib.corpus.loaders import persturnbench, table
from perslib.corpus.schema import storable
from perslib.errors import DataError, Problem, UnknownName
from perslib.paths import find_bundled, workspace
from perslib.registry import Registry
from perslib.text import show_hidden

loader: Registry[ImportResult] = Registry("kind of corpus")
"""What can be imported, by the name in `perslib import KIND PATH`.

`@loader("name")` registers `read(path, *, skip_bad, name)`, which returns a `ImportResult` (`read_rows` makes one of rows). A kind that
can do more is registered as a `CorpusKind`.
"""


def _describe_nothing(corpus: Corpus) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class CorpusKind:
    """What a kind of corpus can do."""

    read: Callable[..., ImportResult]
    looks_like: Callable[[Path], bool] = lambda path: False
    """Whether a path is of this kind."""
    statistics: Callable[[Corpus], Iterable[str]] | None = None
    """The lines of an import that count what there is, where they are others than usual."""
    describe_first: Callable[[Corpus], Iterable[str]] = _describe_nothing
    """Lines before these."""
    describe: Callable[[Corpus], Iterable[str]] = _describe_nothing
    """Lines after all others."""


_kinds: dict[str, CorpusKind] = {}


def register_kind(name: str, kind: CorpusKind) -> None:
    """Register a kind of corpus."""
    loader(name)(kind.read)
    _kinds[name] = kind


def find_kind(name: str) -> CorpusKind:
    """Return what the kind of this name can do."""
    read = loader[name]  # registers it, where a system brings it
    kind = _kinds.get(name)
    return kind if kind is not None and kind.read is read else CorpusKind(read)


relabel: Registry[Corpus] = Registry("source of scores")
"""What gives a corpus scores of another origin than its users' ratings, by name: `relabel["behaviour"](corpus)`."""


register_kind("persturnbench", CorpusKind(persturnbench.read, persturnbench.looks_like))
register_kind("table", CorpusKind(table.read, table.looks_like))
register_kind(ANY, CorpusKind(anything.read, anything.looks_like, describe_first=anything.describe_taken))
_CARD = "corpus.json"
_FORMAT = 1
AGAIN = "Import or save the corpus again."


def load(path_or_name: Any, language: str | None = None, **how: Any) -> Corpus:
    """Return a corpus by name or path, or of what is in memory.

    A name is looked up in the workspace's `data/`, then among perslib's own ("sample/en", "sample/zh", or "sample" with
    a language, which chooses if there are several). A path is a folder written by `save`, a downloaded release of a
    known kind, or a file of any form.

    A pandas frame, a data set of Hugging Face and a list of dictionaries are recognised as files are, and a warning says as
    what; `how` has `name`, `columns` (ours → theirs), `scale` and the other options of a table.
    """
    if not isinstance(path_or_name, str | Path):
        return anything.read_objects(path_or_name, language=language, **how)
    path = _find(str(path_or_name), language)
    return open_parquet(path) if (path / _CARD).is_file() else read_release(path).corpus


def _find(name: str, language: str | None) -> Path:
    given = Path(name).expanduser()
    named = [workspace() / "data" / name, find_bundled("data", name)]
    # Only what is written as a path goes before an imported corpus of that name.
    places = [given, *named] if name.startswith((".", "~")) or given.is_absolute() else [*named, given]
    for place in places:
        try:
            if not place.exists():
                continue
        except OSError:  # longer than any name of a file may be
            continue
        halves = sorted(f.parent.name for f in place.glob(f"*/{_CARD}")) if place.is_dir() else []
        if halves and not (place / _CARD).is_file():
            if language in halves:
                return place / str(language)
            listed = ", ".join(f"{name}/{half}" for half in halves)
            raise DataError(f"{name} comes in several languages; say which: {listed}")
        return place
    raise UnknownName("corpus", name, corpus_names())


def corpus_names() -> list[str]:
    """Return the names that `load` knows: imported corpora and perslib's own."""
    roots = {workspace() / "data", find_bundled("data")}
    return sorted({c.parent.relative_to(root).as_posix() for root in roots for c in root.glob(f"**/{_CARD}")})


def detect(path: Path) -> str:
    """Return the kind of release at a path; raise DataError if it is unknown."""
    check_regular(path)
    if (kind := _recognise(path)) is None:
        inside = {own.name: _recognise(own) for own in sorted(path.iterdir())} if path.is_dir() else {}
        known = ", ".join(f"{name} ({own})" for name, own in inside.items() if own)
        by_kind = f"Import it by kind: perslib import {{{'|'.join(sorted(loader))}}} {path}"
        remedy = f"Give the path of what it holds: {known}." if known else by_kind
        raise DataError(Problem(str(path), "is no corpus that perslib knows by its looks"), remedy)
    return kind


def _recognise(path: Path) -> str | None:
    order = sorted(loader, key=lambda kind: (kind == "table", kind == ANY))  # nearly any file could be one of them
    return next((kind for kind in order if find_kind(kind).looks_like(path)), None)


def read_release(path: Path, kind: str | None = None, *, skip_bad: bool = False, **options: Any) -> ImportResult:
    """Read a downloaded release or a table of one's own, checking every line of it."""
    if kind is not None and kind not in loader:
        raise UnknownName("kind of corpus", kind, list(loader))
    if not path.exists():
        raise DataError(Problem(str(path), "does not exist"))
    check_regular(path)
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(Problem(str(path), "is empty"))
    read = loader[kind or detect(path)]
    inspect.signature(read).bind(path, skip_bad=skip_bad, **options)  # an option that it does not take is no bad data
    with naming(str(path)):
        return read(path, skip_bad=skip_bad, **options)


def import_release(
    kind: str,
    path: Path,
    name: str | None = None,
    out: Path | None = None,
    *,
    skip_bad: bool = False,
    replace: bool = True,
    **options: Any,
) -> ImportResult:
    """Check a release and write it as Parquet to `data/<name>/`; rejected sessions go to `rejected.jsonl` there.

    With `replace` off, another corpus of this name is left as it is, and that is an error.
    """
    options |= {"name": name} if name else {}
    reading = read_release(path, kind, skip_bad=skip_bad, **options)
    folder = out or workspace() / "data" / _name(reading.corpus.name)
    if path.resolve().is_relative_to(folder.resolve()):
        raise DataError(
            Problem(str(path), f"lies in {folder}, which would be written anew"), "Give another name or --out."
        )
    if not replace and (folder / _CARD).is_file():
        held = open_parquet(folder)
        if held.digest != reading.corpus.digest:
            wrong = f"holds another corpus, of {len(held.users):,} users and {len(held.turns):,} replies"
            raise DataError(Problem(str(folder), wrong), "Give another --name, or write it anew with --replace.")
    rejected = {"rejected.jsonl": reading.rejected_lines()} if reading.rejected else {}
    _put({**_encode_files(reading.corpus), **rejected}, folder)
    if not rejected:
        (folder / "rejected.jsonl").unlink(missing_ok=True)
    reading.folder = folder
    return reading


def _name(name: str) -> str:
    """Return the name; raise DataError if it leads out of data/ or to the bundled sample."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or parts[0] == "sample" or not name.isprintable():
        plain = f"take a plain one, such as {show_hidden(Path(name).name)}-mine"
        raise DataError(f"{name!r} cannot be the name of a corpus: {plain}")
    return name


def save(corpus: Corpus, folder: str | Path) -> Path:
    """Write a corpus as Parquet files and a card; `load` gives it back unchanged."""
    return _put(_encode_files(corpus), Path(folder))


def _encode_files(corpus: Corpus) -> dict[str, bytes]:
    """Return the files of a corpus, the card with their digests first."""
    frames = {name: getattr(corpus, name) for name in FRAMES} | corpus.extras
    written = {}
    for name, frame in frames.items():
        try:
            written[f"{name}.parquet"] = storable(frame, name).to_parquet(compression="zstd", index=False)
        except (pa.ArrowException, UnicodeError, OverflowError, TypeError) as error:
            why = f"cannot be stored: {str(error)[:200]}"
            raise DataError(Problem(f"{corpus.name}: {name}", why)) from error
    card = {"format": _FORMAT, "name": corpus.name, "language": corpus.language, "digest": corpus.digest}
    card |= {"files": {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}}
    card |= {"extras": sorted(corpus.extras), "meta": corpus.meta}
    text = json.dumps(card, ensure_ascii=False, indent=1) + "\n"
    return {_CARD: text.encode("utf-8", "backslashreplace"), **written}


def _put(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write all files under temporary names in the folder, then move them to their names, the card first.

    If the disk is full, the old corpus stays. After a kill between two moves, the card does not fit the files, and
    loading says so.
    """
    written = {name: folder / f"{name}.new" for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            written[name].write_bytes(content)
    except OSError as error:
        for file in written.values():
            with contextlib.suppress(OSError):
                file.unlink()
        why = f"cannot be written: {error.strerror}"
        raise DataError(Problem(str(folder), why), "What was there before is as it was.") from error
    for name, file in written.items():
        file.replace(folder / name)
    return folder


def open_parquet(folder: Path) -> Corpus:
    """Return the corpus of a folder that `save` wrote."""
    try:
        card = json.loads((folder / _CARD).read_text(encoding="utf-8"))
        missing = {"format", "name", "language", "extras", "meta"} - card.keys()
        wrong = f"has no {', '.join(sorted(missing))}" if missing else ""
    except (ValueError, AttributeError) as error:
        wrong = f"is damaged: {error}"
    if not wrong and card["format"] != _FORMAT:
        wrong = f"format is {card['format']!r}, this version reads {_FORMAT}"
    if wrong:
        raise DataError(Problem(str(folder / _CARD), wrong), AGAIN)
    files = card.get("files", {})  # cards of earlier versions have none
    frames = {name: _read(folder / f"{name}.parquet", files) for name in FRAMES}
    extras = {name: _read(folder / f"{name}.parquet", files) for name in card["extras"]}
    pa.default_memory_pool().release_unused()  # what reading took
    return Corpus(card["name"], card["language"], **frames, extras=extras, meta=card["meta"])


def _read(file: Path, digests: Mapping[str, str]) -> pd.DataFrame:
    if not file.is_file():
        raise DataError(Problem(str(file), "is missing"), AGAIN)
    if file.name in digests:
        with file.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != digests[file.name]:
                message = f"is not the file that {_CARD} was written with: changed since, or of a save cut short"
                raise DataError(Problem(str(file), message), AGAIN)
    return read_frame(file, AGAIN)
