"""Lines of published replay files: which turn each is about, and whether that is the corpus's turn.

A line names its turn by `user`, `target_task` (our scenario), `target_file` ("0.json", our session "0") and `turn_idx`
(our turn: replies of the session, from 0), or by its `sample_id` alone, `user__scenario__0.json__turn_1`. Our own lines
say user, scenario, session, turn. Gold scores and reasons that stand in a line are not read.

A replay set in a file lets others replay the same turns: JSONL or CSV, one turn a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, Target, coerce
from perslib.corpus.reading import csv_lines, json_lines, number_in
from perslib.errors import DataError, Problem
from perslib.llm.types import whole_characters
from perslib.paths import read_toml
from perslib.schemas import unfit

Turn = tuple[str, str, str, int]
Record = dict[str, Any]

REMEDY = "Mend the file, or read it with skip_bad=True: these lines are left out then and listed in .attrs['left_out']."
STRICT_REMEDY = "Mend the file: each line names a turn by user, scenario, session and turn, and stands but once."
_SAMPLE = re.compile(r"(?P<user>.+?)__(?P<scenario>.+)__(?P<session>.+)\.json__turn_(?P<turn>\d+)")
_PUBLISHED = read_toml(__file__, "published.toml")
NAMES: dict[str, list[str]] = _PUBLISHED["names"]
#: Published context mode → ours.
CONTEXTS: dict[str, str] = _PUBLISHED["contexts"]


class Misfit(Exception):
    """What is wrong with a line."""


def field(record: Record, column: str) -> Any:
    """What a line says under whichever name it has for a column of ours; None where it says nothing."""
    return next((record[name] for name in NAMES[column] if record.get(name) is not None), None)


def read_lines(
    path: Path | str,
    make: Callable[[Record, Counter[str]], Record],
    keys: Sequence[str],
    corpus: Corpus | None = None,
    *,
    skip_bad: bool = False,
    strict: bool = False,
    columns: Sequence[str] = TURN,
) -> tuple[list[Record], list[Problem], Counter[str]]:
    """Read JSON lines, or a CSV file.

    Parameters
    ----------
    path, corpus, skip_bad : as in `perslib.replay.read_replies`.
    make : gives a line's row beside the keys of its turn, counts what is odd, and raises `Misfit`.
    keys : what names a row; of rows that agree in it the last one counts, for published programs append.
    strict : whether repeated rows and halves of characters are errors, too.
    columns : what the header of a CSV file has.

    Returns
    -------
    the rows, what was left out, and what was odd
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(Problem(str(path), "is no file"), "Give the file itself, JSON lines or a .csv.")
    raw, odd = path.read_bytes(), Counter[str]()
    said = raw.decode("latin-1")  # bytes as they are; JSON's escapes are ASCII
    whole = said if strict else whole_characters(said)
    if halves := whole.count("\\ufffd") - said.count("\\ufffd"):
        odd["halves of characters, read as U+FFFD"] += halves
    is_csv = path.suffix.lower() == ".csv"
    lines = csv_lines(raw, path.name, columns) if is_csv else json_lines(whole.encode("latin-1"), path.name)
    targets = cache(partial(targets_of, corpus)) if corpus is not None else None  # blocks are cut once
    problems: list[Problem] = []
    left_out: list[Problem] = []
    rows: dict[tuple[Any, ...], tuple[str, Record]] = {}
    for place, value, _ in lines:
        try:
            if not isinstance(value, dict):
                raise Misfit(value.message if isinstance(value, Problem) else "is no JSON object")
            turn = turn_of(value)
            if corpus is not None and targets is not None:
                _check_target(value, turn, targets(*turn[:2]).get(turn[2:]), corpus)
            row = {**dict(zip(TURN, turn)), **make(value, odd)}
        except Misfit as misfit:
            problems.append(Problem(place, str(misfit)))
            continue
        key = tuple(row.get(k) for k in keys)
        if before := rows.pop(key, None):
            (problems if strict else left_out).append(Problem(before[0], f"stands again in {place}"))
            odd["lines that a later line repeats, left out"] += 1
        rows[key] = place, row
    if problems and not skip_bad:
        raise DataError(problems, STRICT_REMEDY if strict else REMEDY)
    if not rows:
        raise DataError(problems or Problem(path.name, "holds no line"), "Not one line is left to read.")
    return [row for _, row in rows.values()], problems + left_out, odd


def _check_target(record: Record, turn: Turn, target: Target | None, corpus: Corpus) -> None:
    """Refuse a line that differs from the corpus that it claims to be about."""
    if target is None:
        raise Misfit(f"{sample_id(*turn)} is not in corpus {corpus.name!r}")
    said, prefix = record.get("source_assistant_reply"), record.get("dialogue_prefix")
    if isinstance(said, str) and said.strip() != target.response.strip():
        raise Misfit(f"source_assistant_reply is not the corpus's reply in {sample_id(*turn)}")
    if prefix is None:
        return
    differs = f"dialogue_prefix differs from the corpus in {sample_id(*turn)}"
    if not isinstance(prefix, list) or not all(isinstance(message, dict) for message in prefix):
        raise Misfit(f"{differs}: it is no list of messages")
    if len(prefix) != len(target.prefix):
        raise Misfit(f"{differs}: it has {len(prefix)} messages, expected {len(target.prefix)}")
    for number, (message, expected) in enumerate(zip(prefix, target.prefix), start=1):
        if (given := _message(message)) != (wanted := _message(expected)):
            what = "another text" if given[0] == wanted[0] else f"role {given[0]!r}, expected {wanted[0]!r}"
            raise Misfit(f"{differs}: message {number} has {what}")


def _message(message: Mapping[str, Any]) -> tuple[str, str]:
    return str(message.get("role")), str(message.get("content")).strip()


def turn_of(record: Record) -> Turn:
    """The turn that a line is about."""
    sample = record.get("sample_id")
    parts = _SAMPLE.fullmatch(sample) if isinstance(sample, str) else None
    named: dict[str, str] = {}
    for key in TURN:
        if (said := field(record, key)) is None:
            if parts is None:
                raise Misfit(f"has no {' or '.join(NAMES[key])}, and no sample_id that tells it")
            said = parts[key]
        whole = isinstance(said, float) and said.is_integer()  # as data frames write a column with gaps
        named[key] = str(int(said) if whole else said)
    if problem := next(unfit(named, ""), None):
        raise Misfit(problem.message)
    if not re.fullmatch("[0-9]{1,9}", named["turn"]):
        raise Misfit(f"turn is {named['turn'][:40]!r}, expected a whole number from 0")
    turn = named["user"], named["scenario"], named["session"].removesuffix(".json"), int(named["turn"])
    if parts and sample != sample_id(*turn):
        raise Misfit(f"is about {sample_id(*turn)}, but its sample_id is {sample!r}")
    return turn


def targets_of(corpus: Corpus, user: str, scenario: str) -> dict[tuple[str, int], Target]:
    """Session and turn → the corpus's turn with all that was said before it; empty where there is no such block."""
    if user not in set(corpus.users["user"]) or scenario not in corpus.scenarios:
        return {}
    return {(target.session, target.turn): target for target in corpus.block(user, scenario)}


def sample_id(user: str, scenario: str, session: str, turn: int) -> str:
    """The published name of a turn."""
    return f"{user}__{scenario}__{session}.json__turn_{turn}"


def candidate_of(record: Record) -> str:
    """Whose reply it is: the model, and with it the context where that is more than prefix (`model (tfidf)`).

    Published files of one model in several contexts all name the model alone, and would be taken for one candidate. A
    name that says the context already stays (`model · tfidf`), and so does one in `candidate_name`, a key of ours.
    """
    name, context = field(record, "candidate"), context_of(record)
    if not isinstance(name, str):
        raise Misfit("has no candidate_model or candidate")
    if not name.strip():
        raise Misfit("the candidate's name is empty; say whose reply it is")
    said = context in ("prefix", "recorded") or name.endswith((f" ({context})", f" · {context}"))
    return name if said or record.get("candidate_name") else f"{name} ({context})"


def context_of(record: Record) -> str:
    """What the candidate was shown beside the prefix; "recorded" where the line does not say."""
    mode = field(record, "context")
    return CONTEXTS.get(mode, mode) if isinstance(mode, str) and mode else "recorded"


def read_turns(path: Path | str, corpus: Corpus) -> pd.DataFrame:
    """The replay set in a file, in the order of its lines; everything that is wrong with its lines is one error.

    A line has user, scenario, session and turn (in JSONL the published names do, too), and may have `inclusion`,
    the probability that the turn was drawn, above 0: then all lines have it, for it is their weight. Further fields
    are let be.
    """

    def make(record: Record, odd: Counter[str]) -> Record:
        said = record.get("inclusion")
        chance = number_in(said)
        if said is not None and (chance is None or not 0 < chance <= 1):
            raise Misfit(f"inclusion is {repr(said)[:40]}, expected a probability above 0, at most 1")
        return {"inclusion": chance}

    rows, _, _ = read_lines(path, make, TURN, corpus, strict=True)
    turns = coerce(pd.DataFrame(rows), "replay_turns", Path(path).name)
    without = int(turns["inclusion"].isna().sum())
    if 0 < without < len(turns):
        problem = Problem(Path(path).name, f"{without} lines have no inclusion, while others have one")
        raise DataError(problem, "Give each turn the probability with which it was drawn.")
    return turns


def read_labels(path: Path | str) -> pd.DataFrame:
    """People's scores of candidates' replies, from CSV or JSONL lines of candidate, the keys of a turn, and score.

    Columns: user, scenario, session, turn, candidate, gold.
    """

    def make(record: Record, odd: Counter[str]) -> Record:
        gold, candidate = number_in(record.get("score")), record.get("candidate")
        if not isinstance(candidate, str) or any(unfit(candidate, "")):
            raise Misfit(f"candidate is {candidate!r}, expected a name")
        if gold is None or not 1 <= gold <= 5:
            raise Misfit("score is not between 1 and 5")
        return {"candidate": candidate, "gold": gold}

    keys = ["candidate", *TURN]
    return pd.DataFrame(read_lines(path, make, keys, strict=True, columns=[*keys, "score"])[0])
