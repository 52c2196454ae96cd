"""Reading files that may be broken: every problem is collected with its place, and nothing is dropped silently.

If a column of scores is on another scale than the declared one, the whole table is at fault; `ScoreColumn` detects
this.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from perslib.corpus.corpus import EVIDENCE, Corpus
from perslib.corpus.scale import FIVE, Scale
from perslib.corpus.schema import SCHEMA, SESSION
from perslib.errors import DataError, Problem
from perslib.schemas import show

Rows: TypeAlias = list[dict[str, Any]]
#: From this share on, wrong scores are not stray cells; the second share is for a single value that recurs.
SHARE, RECURRING = 0.1, 0.01


def number_in(value: Any) -> float | None:
    """Return the number in a cell that holds a number or its text; None for anything else."""
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass
class ScoreColumn:
    """The values of one column of scores, and which of them are not on the scale."""

    given: Counter[Any] = field(default_factory=Counter)
    off: Counter[Any] = field(default_factory=Counter)
    place: str = ""
    """Place of the first value that is not on the scale."""

    def add(self, value: Any, place: str, fits: bool) -> None:
        """Count a cell."""
        number = number_in(value)
        held = show(value, 40) if number is None else number
        self.given[held] += 1
        if not fits:
            self.off[held] += 1
            self.place = self.place or place

    def fault(self, name: str, scale: Scale) -> Problem | None:
        """Return a problem with its remedy if the column is on another scale; None if only a few stray cells differ."""
        n, off = self.given.total(), self.off.total()
        numbers = sorted(v for v in self.given if isinstance(v, float))
        texts = [v for v in self.given if isinstance(v, str)]
        binary = bool(numbers) and numbers[-1] <= 1 < scale.high
        recurring = max((count for v, count in self.off.items() if isinstance(v, float)), default=0)
        many = off >= max(3, SHARE * n) or recurring >= max(3, RECURRING * n)
        if not off or not (many or binary):
            return None
        seen = []
        if numbers:
            whole = "whole numbers" if all(v.is_integer() for v in numbers) else "numbers"
            seen.append(f"{whole} from {numbers[0]:g} to {numbers[-1]:g}")
        if texts:
            seen.append(", ".join(texts[:4]) + (" …" if len(texts) > 4 else ""))
        is_flag = binary or set(texts) >= set(self.given) <= {"true", "false"}
        option = "--session-scale" if name == "satisfaction" else "--scale"
        remedy = _REMEDIES["flags" if is_flag else "words" if texts else "numbers"].format(option=option)
        message = f"{name} is on another scale than {scale}: {off} of {n} do not fit. Seen: {' and '.join(seen)}."
        return Problem(self.place, f"{message} {remedy}")


#: Kind of scores that are not on the scale → remedy.
_REMEDIES = {
    "flags": "Write 1 for yes and 0 for no with {option} thumbs, or name the column feedback and write like or dislike.",
    "words": "Write a number for each of these, and nothing if there is no rating.",
    "numbers": "State the scale of the ratings, such as {option} 0-10, and leave cells empty that mean 'not rated'.",
}
SKIP_REMEDY = (
    "Correct the file, or import with --skip-bad: good sessions are kept, the others written to rejected.jsonl."
)
AUTO = "auto"
#: JSON that is nested deeper is not a conversation.
DEEPEST = 100


@dataclass(frozen=True)
class Rejected:
    """A session (or a row without session) left out under `skip_bad`, with the reason and its content."""

    place: str
    reason: str
    record: Any


@dataclass
class ImportResult:
    """The result of reading a release: the corpus, problems, rejected records and irregularities.

    A *problem* stops the import unless `skip_bad` is set. Then the whole session of the problem is rejected, because a
    conversation with a gap is not what the user saw. A *fault* concerns the whole table, such as scores on another
    scale. The rows without the fault would not be a fair sample, so it always stops the import. An *irregularity* does
    no harm and is counted.

    A loader adds conversations, or fills `profiles` (user → profile), `sessions` and `turns` itself. It ends with
    `finish`, which makes the corpus.
    """

    skip_bad: bool = False
    problems: list[Problem] = field(default_factory=list)
    faults: list[Problem] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    irregularities: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    """Number of rejected sessions."""
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    sessions: Rows = field(default_factory=list)
    turns: Rows = field(default_factory=list)
    scale: Scale = FIVE
    """The scale of the ratings."""
    evidence: str = EVIDENCE[0]
    """See `Corpus.with_evidence`; `AUTO` takes other conversations if no user has a second scenario."""
    corpus: Corpus = field(init=False)
    folder: Path = field(init=False)
    """Folder of the imported corpus."""
    dates: str | None = None
    """One of `perslib.corpus.files.times.ORDERS`, for times that do not begin with the year."""
    session_scale: Scale | None = None
    """The scale of ratings of conversations, if it differs from that of replies."""
    _scores: defaultdict[str, ScoreColumn] = field(default_factory=lambda: defaultdict(ScoreColumn))

    def note(self, what: str, times: int = 1) -> None:
        """Count an irregularity in data that could still be read."""
        if times:
            self.irregularities[what] += times

    def unknown(self, name: str) -> None:
        """Count a field that the format does not know."""
        self.note(f"keys the format does not know, left out ({name})")

    def scale_of(self, column: str) -> Scale:
        """Return the scale of the ratings in a column."""
        return self.session_scale if column == "satisfaction" and self.session_scale else self.scale

    def score(self, value: Any, field_name: str, place: str, *, whole: bool = True) -> float | Problem:
        """Return a rating on the scale, given as 4, 4.0 or "4"; return a Problem for anything else."""
        number, scale = number_in(value), self.scale_of(field_name)
        fits = number is not None and scale.low <= number <= scale.high and (number.is_integer() or not whole)
        self._scores[field_name].add(value, place, fits)
        if number is not None and fits:
            return int(number) if whole else number
        return Problem(place, f"{field_name} is {show(value)}, expected {scale}")

    def make_rating_columns(self, number: float | None) -> dict[str, float | None]:
        """Return a rating on the scale as the columns `score` and `given` of its turn."""
        if number is None or (self.scale.is_five and number == int(number)):
            return {"score": number}
        return {"score": self.scale.score(number), "given": number}

    def reject(self, problems: list[Problem], record: Any, sessions: int = 1) -> None:
        """Reject a session for these problems, or a record that is not a session or only a part of one."""
        self.lost += sessions
        self.problems += problems
        reason = "; ".join(p.message for p in problems)
        self.rejected.append(Rejected(problems[0].place, reason, record))

    def add(
        self,
        session: dict[str, Any],
        messages: Iterable[tuple[str, str, dict[str, Any]]],
        unasked: dict[str, Any] | None = None,
    ) -> tuple[Rows, tuple[str, ...]]:
        """Add a conversation: its row of `sessions`, and its messages as `turns_of` takes them; what that gives."""
        own, trailing = turns_of(messages, unasked)
        rows = [{**{key: session[key] for key in SESSION}, **turn} for turn in own]
        self.profiles.setdefault(session["user"], {})
        self.sessions.append({**session, "trailing": trailing})
        self.turns += rows
        return rows, trailing

    def settle(self) -> None:
        """Raise the problems found in reading, unless all of them are in sessions that `skip_bad` leaves out."""
        columns = [column.fault(name, self.scale_of(name)) for name, column in self._scores.items()]
        if faults := [*(fault for fault in columns if fault), *self.faults]:
            raise DataError(faults)
        if self.problems and not self.skip_bad:
            raise DataError(self.problems, SKIP_REMEDY)
        self.note("sessions left out as bad", self.lost)

    def finish(
        self, meta: dict[str, Any], name: str, language: str, nothing: Problem, remedy: str = "", **frames: Any
    ) -> ImportResult:
        """Make the corpus, with irregularities counted in its `meta`; raise DataError if there is no session.

        Parameters
        ----------
        meta, name, language
            Facts about the corpus.
        nothing, remedy
            Message if nothing was read and there was no problem.
        frames
            `events`, `extras`, and `turns` if they differ from the rows read.
        """
        self.settle()
        if not self.sessions:
            raise DataError(self.problems or nothing, remedy)
        users = pd.DataFrame({"user": list(self.profiles), "profile": list(self.profiles.values())})
        rows = {"sessions": self.sessions, "turns": self.turns}
        made = {key: make_frame(own, list(SCHEMA[key])) for key, own in rows.items() if key not in frames}
        meta = {**meta, "irregularities": dict(sorted(self.irregularities.items()))}
        meta |= {} if self.scale.is_five else {"scale": self.scale.as_dict()}
        meta |= {"session_scale": self.session_scale.as_dict()} if self.session_scale else {}
        corpus = Corpus(name, language, users, **made, **frames, meta=meta)
        alone = not corpus.block_ids() and corpus.sessions["user"].duplicated().any()
        chosen = EVIDENCE[1 if alone else 0] if self.evidence == AUTO else self.evidence
        self.corpus = corpus.with_evidence(chosen)
        return self

    def rejected_lines(self) -> bytes:
        """Return a line of JSON per rejected session: place, reason, record."""
        lines = [json.dumps(vars(r), ensure_ascii=False, default=str) + "\n" for r in self.rejected]
        return "".join(lines).encode("utf-8", "backslashreplace")  # half a character becomes JSON's escape


def find_scale(
    declared: Scale | None, rows: Sequence[dict[str, Any]], columns: Sequence[str], usual: Scale = FIVE
) -> Scale:
    """Return the declared scale, the usual one where ratings are on it, or the one that they are plainly on."""
    for column in columns:
        cells = [row[column] for row in rows if row.get(column) is not None]
        ratings = [number for number in map(number_in, cells) if number is not None]
        if ratings:
            break
    else:
        return declared or usual
    if declared is not None:
        return declared.with_step(ratings)
    column_of = ScoreColumn()
    for cell in cells:
        number = number_in(cell)
        column_of.add(cell, "", number is not None and usual.low <= number <= usual.high)
    if column_of.fault(column, usual) is None or len(ratings) < len(cells):
        return usual
    if FIVE.low <= min(ratings) and max(ratings) <= FIVE.high:
        return FIVE.with_step(ratings)
    scale = Scale.guess(ratings)
    if scale and scale.high > 2 * FIVE.high - 1:
        _check_one_scale(column, scale, rows)
    return scale or usual


def _check_one_scale(column: str, scale: Scale, rows: Sequence[dict[str, Any]]) -> None:
    """Stop where the ratings of some users look as if they were on 1–5, those of others on a longer scale."""
    highest: dict[str, list[float]] = {}
    for row in rows:
        if (number := number_in(row.get(column))) is not None:
            highest.setdefault(str(row.get("user")), []).append(number)
    many = {user: own for user, own in highest.items() if len(own) >= 5}
    short = [user for user, own in many.items() if min(own) >= 1 and max(own) <= 5]
    if len(short) >= max(2, len(many) / 10):
        seen = f"{column}: {len(short)} of {len(many)} users gave nothing above 5 (such as {short[0]}), others up to {scale.high:g}"
        remedy = f"If all rated on one scale, say so: --scale {scale.low:g}-{scale.high:g}. Else put them on one before the import."
        raise DataError(Problem("", f"{seen}: are these two scales?"), remedy)


_YES = {"1", "true", "yes", "y", "t"}


def truth(value: Any) -> bool:
    """Return whether a flag (number, text or boolean) is set; a value without meaning is not set."""
    if isinstance(value, str):
        return value.strip().lower() in _YES
    return value in (True, 1)


class _KeyTwice(Exception):
    """An object of JSON has a key twice."""


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise _KeyTwice(next(name for name in names if names.count(name) > 1))
    return made


def parse_json(raw: bytes, place: str) -> Any | Problem:
    """Return the JSON value in `raw`, or a Problem that says what is wrong and where."""
    try:
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_refuse_twice)
    except _KeyTwice as error:
        return Problem(place, f"has the key {error.args[0]!r} twice in one object; nothing says which is meant")
    except UnicodeDecodeError as error:
        return not_utf8(raw, error, place)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        what = "the JSON text ends too early" if at_end else f"is not JSON: {error.msg} (column {error.colno})"
        return Problem(f"{place}:{error.lineno}", what)
    except RecursionError:
        return Problem(place, f"is nested deeper than {DEEPEST} levels")
    except ValueError:
        return Problem(place, "holds a whole number of thousands of digits")
    return Problem(place, f"is nested deeper than {DEEPEST} levels") if is_too_deep(value) else value


def read_literal(text: str) -> Any:
    """Return the value of a text that is JSON, or what Python prints for a value; None where it is neither."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in a text that is no literal is no fault
        return ast.literal_eval(text)
    return None


def read_json(file: Path, kind: type, what: str, remedy: str = "") -> Any:
    """Return the content of a JSON file; raise DataError if it is empty or not of this kind."""
    value = parse_json(file.read_bytes(), file.name)
    if isinstance(value, kind) and value:
        return value
    wrong = Problem(file.name, f"holds {show(value, 20)}, expected {what}")
    raise DataError(value if isinstance(value, Problem) else wrong, remedy)


def is_too_deep(value: Any) -> bool:
    """Return whether a JSON value is nested deeper than any record, or deeper than recursive functions can follow."""
    level = [value]
    for _ in range(DEEPEST):
        held = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)]
        level = [item for items in held for item in items]
    return bool(level)


def not_utf8(raw: bytes, error: UnicodeDecodeError, place: str) -> Problem:
    """Return a problem for bytes that are not UTF-8; if the file ends within a character, it says that it was cut off."""
    line = raw[: error.start].count(b"\n") + 1
    what = f"is not UTF-8 (byte {raw[error.start]:#04x} at {error.start}); save the file as UTF-8"
    if error.reason == "unexpected end of data":
        what = f"ends within a character, at byte {error.start}; the file may be cut off"
    return Problem(f"{place}:{line}", what)


def turns_of(
    messages: Iterable[tuple[str, str, dict[str, Any]]], unasked: dict[str, Any] | None = None
) -> tuple[Rows, tuple[str, ...]]:
    """Return the replies of a conversation as rows of `turns`, and the user's messages after the last reply.

    A message is a role, a text and further columns of the reply that it is, or that answers it. `unasked` are the
    columns of a reply without a request. Messages of roles other than user and assistant are left out.
    """
    rows: Rows = []
    waiting: list[str] = []
    about = nothing = unasked or {}
    for role, text, more in messages:
        if role == "user":
            waiting.append(text)
            about = more
        elif role == "assistant":
            asked = waiting.pop() if waiting else None
            row = {"turn": len(rows), "request": asked, "earlier": tuple(waiting), "response": text}
            rows.append(row | about | more)
            waiting, about = [], nothing
    return rows, tuple(waiting)


def make_frame(rows: Rows, columns: list[str]) -> pd.DataFrame:
    """Return rows as a frame that has these columns even if there are no rows."""
    return pd.DataFrame(rows) if rows else pd.DataFrame({c: [] for c in columns})
