"""Lines of published replay files: which turn each is about, and whether that is the corpus's turn.

A line names its turn by `user`, `target_task` (our scenario), `target_file` ("0.json", our session "0") and `turn_idx`
(our turn: replies of the session, from 0), or by its `sample_id` alone, `user__scenario__0.json__turn_1`. Our own lines
say user, scenario, session, turn. Gold scores and reasons that stand in a line are not read.

A replay set in a file lets others replay the same turns: JSONL or CSV, one turn a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, Target, coerce
from perslib.corpus.reading import csv_lines, json_lines, number_in
from perslib.errors import DataError, Problem
from perslib.llm.types import whole_characters
from perslib.schemas import unfit

Turn = tuple[str, str, str, int]
Record = dict[str, Any]

REMEDY = "Mend the file, or read it with skip_bad=True: these lines are left out then and listed in .attrs['left_out']."
_SAMPLE = re.compile(r"(?P<user>.+?)__(?P<scenario>.+)__(?P<session>.+)\.json__turn_(?P<turn>\d+)")
_KEYS = {
    "user": ("user",),
    "scenario": ("target_task", "scenario"),
    "session": ("target_file", "session"),
    "turn": ("turn_idx", "turn"),
}


@dataclass
class Lines:
    """One file, read line by line; what is wrong with a line is told here, or leaves the line out."""

    path: Path
    corpus: Corpus | None
    skip_bad: bool
    problems: list[Problem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    oddities: Counter[str] = field(default_factory=Counter)
    _targets: dict[tuple[str, str], dict[tuple[str, int], Target]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, Record, Turn]]:
        """Place, content and turn of each line that can be read and fits the corpus."""
        if not self.path.is_file():
            raise DataError(Problem(str(self.path), "is no file"), "Give the JSONL file itself.")
        said = self.path.read_bytes().decode("latin-1")  # bytes as they are; JSON's escapes are ASCII
        whole = whole_characters(said)
        if halves := whole.count("\\ufffd") - said.count("\\ufffd"):
            self.oddities["halves of characters, read as U+FFFD"] += halves
        for place, value, _ in json_lines(whole.encode("latin-1"), self.path.name):
            if not isinstance(value, dict):
                self.reject(value if isinstance(value, Problem) else Problem(place, "is no JSON object"))
                continue
            turn = turn_of(value, place)
            problem = turn if isinstance(turn, Problem) else self._misfit(value, turn, place)
            if problem:
                self.reject(problem)
            elif not isinstance(turn, Problem):
                yield place, value, turn

    def reject(self, problem: Problem) -> None:
        """Leave a line out for this, or, unless `skip_bad`, fail for it when all is read."""
        self.problems.append(problem)
        self.left_out.append(str(problem))

    def told(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame, with what was left out and what was odd in its `attrs`. Raises what was wrong, all at once."""
        if self.problems and not self.skip_bad:
            raise DataError(self.problems, REMEDY)
        if frame.empty:
            raise DataError(
                self.problems or Problem(self.path.name, "holds no line"), "Not one line is left to read."
            )
        frame.attrs.update(left_out=self.left_out, irregularities=dict(self.oddities))
        return frame

    def last_of_each(self, rows: list[tuple[str, Record]], keys: list[str]) -> list[Record]:
        """Rows without those that a later line repeats: published programs append, and read the last."""
        last: dict[tuple[Any, ...], tuple[str, Record]] = {}
        for place, row in rows:
            key = tuple(row.get(k) for k in keys)
            if before := last.pop(key, None):
                self.left_out.append(f"{before[0]}: stands again in {place}, and the last one counts")
                self.oddities["lines that a later line repeats, left out"] += 1
            last[key] = place, row
        return [row for _, row in last.values()]

    def _misfit(self, record: Record, turn: Turn, place: str) -> Problem | None:
        """How a line differs from the corpus that it claims to be about."""
        if self.corpus is None:
            return None
        if (block := turn[:2]) not in self._targets:  # blocks are cut once
            self._targets[block] = targets_of(self.corpus, *block)
        target = self._targets[block].get((turn[2], turn[3]))
        if target is None:
            return Problem(place, f"{sample_id(*turn)} is not in corpus {self.corpus.name!r}")
        said = record.get("source_assistant_reply")
        if isinstance(said, str) and said.strip() != target.response.strip():
            return Problem(place, f"source_assistant_reply is not the corpus's reply in {sample_id(*turn)}")
        prefix = record.get("dialogue_prefix")
        if prefix is not None and (what := _differs(prefix, target)):
            return Problem(place, f"dialogue_prefix differs from the corpus in {sample_id(*turn)}: {what}")
        return None


def turn_of(record: Record, place: str) -> Turn | Problem:
    """The turn that a line is about."""
    sample = record.get("sample_id")
    parts = _SAMPLE.fullmatch(sample) if isinstance(sample, str) else None
    named: dict[str, str] = {}
    for key, spellings in _KEYS.items():
        said = next((record[s] for s in spellings if record.get(s) is not None), parts and parts[key])
        if said is None:
            return Problem(place, f"has no {' or '.join(spellings)}, and no sample_id that tells it")
        whole = isinstance(said, float) and said.is_integer()  # as data frames write a column with gaps
        named[key] = str(int(said) if whole else said)
    if problem := next(unfit(named, place), None):
        return problem
    if not re.fullmatch("[0-9]{1,9}", named["turn"]):
        return Problem(place, f"turn is {named['turn'][:40]!r}, expected a whole number from 0")
    turn = named["user"], named["scenario"], named["session"].removesuffix(".json"), int(named["turn"])
    if parts and sample != sample_id(*turn):
        return Problem(place, f"is about {sample_id(*turn)}, but its sample_id is {sample!r}")
    return turn


def targets_of(corpus: Corpus, user: str, scenario: str) -> dict[tuple[str, int], Target]:
    """Session and turn → the corpus's turn with all that was said before it; empty where there is no such block."""
    if user not in set(corpus.users["user"]) or scenario not in corpus.scenarios:
        return {}
    return {(target.session, target.turn): target for target in corpus.block(user, scenario)}


def sample_id(user: str, scenario: str, session: str, turn: int) -> str:
    """The published name of a turn."""
    return f"{user}__{scenario}__{session}.json__turn_{turn}"


def candidate_of(record: Record, place: str) -> str | Problem:
    """Whose reply it is: the model, and with it the context where that is more than prefix (`model (tfidf)`).

    Published files of one model in several contexts all name the model alone, and would be taken for one candidate. A
    name that says the context already stays (`model · tfidf`), and so does one in `candidate_name`, a key of ours.
    """
    spellings = ("candidate_name", "candidate_model", "candidate")
    name = next((record[s] for s in spellings if record.get(s) is not None), None)
    if not isinstance(name, str):
        return Problem(place, "has no candidate_model or candidate")
    if not name.strip():
        return Problem(place, "the candidate's name is empty; say whose reply it is")
    context = context_of(record)
    said = context in ("prefix", "recorded") or name.endswith((f" ({context})", f" · {context}"))
    return name if said or record.get("candidate_name") else f"{name} ({context})"


#: Published context mode → ours.
CONTEXTS = {
    "raw": "prefix",
    "task": "task",
    "profile": "profile",
    "dialogue_memory_tfidf": "tfidf",
    "dialogue_memory_diverse": "diverse",
}


def context_of(record: Record) -> str:
    """What the candidate was shown beside the prefix; "recorded" where the line does not say."""
    mode = record.get("replay_context_mode") or record.get("context")
    return CONTEXTS.get(mode, mode) if isinstance(mode, str) else "recorded"


def _differs(prefix: Any, target: Target) -> str | None:
    if not isinstance(prefix, list) or not all(isinstance(m, dict) for m in prefix):
        return "it is no list of messages"
    if len(prefix) != len(target.prefix):
        return f"it has {len(prefix)} messages, expected {len(target.prefix)}"
    for number, (message, said) in enumerate(zip(prefix, target.prefix), start=1):
        if message.get("role") != said["role"]:
            return f"message {number} is of role {message.get('role')!r}, expected {said['role']!r}"
        if str(message.get("content")).strip() != said["content"].strip():
            return f"message {number} has another text"
    return None


SUFFIXES = (".jsonl", ".csv")
SET_REMEDY = "Mend the file: each line names a turn of the corpus by user, scenario, session and turn, and each but once."


def read_turns(path: Path | str, corpus: Corpus) -> pd.DataFrame:
    """The replay set in a file, in the order of its lines; everything that is wrong with it is one error.

    A line has user, scenario, session and turn (in JSONL the published names do, too), and may have `inclusion`,
    the probability that the turn was drawn, above 0: then all lines have it, for it is their weight. Further fields
    are let be.
    """
    path = Path(path)
    problems: list[Problem] = []
    found: dict[Turn, tuple[str, float | None]] = {}
    known = set(corpus.turns[TURN].itertuples(index=False, name=None))
    for place, record in _records(path):
        turn = turn_of(record, place) if isinstance(record, dict) else record
        if isinstance(turn, Problem):
            problems.append(turn)
            continue
        chance = _inclusion(record.get("inclusion"), place) if isinstance(record, dict) else None
        if isinstance(chance, Problem):
            problems.append(chance)
        elif turn not in known:
            problems.append(Problem(place, f"{sample_id(*turn)} is not in corpus {corpus.name!r}"))
        elif turn in found:
            problems.append(Problem(place, f"{sample_id(*turn)} stands already at {found[turn][0]}"))
        else:
            found[turn] = place, chance
    without = [place for place, chance in found.values() if chance is None]
    if 0 < len(without) < len(found):
        problems += [Problem(place, "has no inclusion, while other lines have one") for place in without]
    if problems or not found:
        raise DataError(problems or Problem(path.name, "names no turn"), SET_REMEDY)
    rows = [{**dict(zip(TURN, turn)), "inclusion": chance} for turn, (_, chance) in found.items()]
    return coerce(pd.DataFrame(rows), "replay_turns", path.name)


def read_labels(path: Path | str) -> pd.DataFrame:
    """People's scores of candidates' replies, from CSV or JSONL lines of candidate, the keys of a turn, and score.

    Columns: candidate, user, scenario, session, turn, gold.
    """
    path = Path(path)
    found = [
        record if isinstance(record, Problem) else _label(record, place)
        for place, record in _records(path, "file of labels", ("candidate", *TURN, "score"))
    ]
    problems = [label for label in found if isinstance(label, Problem)]
    if problems or not found:
        raise DataError(problems or Problem(path.name, "holds no label"), "Mend the file of labels.")
    return pd.DataFrame(found, columns=["candidate", *TURN, "gold"])


def _label(record: Record, place: str) -> dict[str, Any] | Problem:
    """What one line says: candidate, the keys of a turn, gold."""
    turn, gold, candidate = turn_of(record, place), number_in(record.get("score")), record.get("candidate")
    if isinstance(turn, Problem):
        return turn
    if not isinstance(candidate, str) or any(unfit(candidate, place)):
        return Problem(place, f"candidate is {candidate!r}, expected a name")
    if gold is None or not 1 <= gold <= 5:
        return Problem(place, "score is not between 1 and 5")
    return {"candidate": candidate, **dict(zip(TURN, turn)), "gold": gold}


def _records(
    path: Path, kind: str = "replay set", columns: Sequence[str] = TURN
) -> Iterator[tuple[str, Record | Problem]]:
    """Place and content of each line, or what is wrong with it."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        raise DataError(
            Problem(str(path), f"is no {kind}; expected a file ending in {' or '.join(SUFFIXES)}")
        )
    raw = path.read_bytes()
    if path.suffix.lower() == ".csv":
        yield from ((place, value) for place, value, _ in csv_lines(raw, path.name, columns))
        return
    for place, value, _ in json_lines(raw, path.name):
        yield place, value if isinstance(value, dict | Problem) else Problem(place, "is no JSON object")


def _inclusion(said: Any, place: str) -> float | Problem | None:
    if said is None:
        return None
    try:
        chance = float(said)
    except (TypeError, ValueError, OverflowError):
        chance = 0.0
    if isinstance(said, bool) or not 0 < chance <= 1:
        return Problem(place, f"inclusion is {repr(said)[:40]}, expected a probability above 0, at most 1")
    return chance
