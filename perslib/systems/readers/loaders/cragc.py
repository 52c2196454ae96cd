"""CRAGC-25 (Gienapp et al., SIGIR 2025): people chose the better of two replies to a query, a panel of five on the same pairs.

A vote is a conversation of one turn with two replies, called by their writer and style ("gpt-4o bullet"). Votes on the six other
dimensions, the panel and the language model's recorded verdict on the pair are further columns. Lists stand at the left in most pairs
that mix a list with a text, so the two replies of a pair are listed by their names, not by their sides; `side` says where the preferred one stood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult
from perslib.corpus.files.records import AGAIN, Lines, json_lines, read_each, read_unpacked
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_rows_of
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema
from perslib.systems.readers.loaders.people import People

Record = dict[str, Any]
RATINGS, REPLIES = ("ratings.jsonl.gz",), ("responses.jsonl.gz", "replies.jsonl.gz")
#: What may be beside them.
QUERIES, VERDICTS, ORDER = ("queries.jsonl",), ("llm_ratings.jsonl.gz", "gpt4o.jsonl.gz"), ("votes.jsonl.gz",)
OVERALL = "quality_overall"
#: The other dimensions, in the order of the language model's questions.
DIMENSIONS = ("correctness_topical", "coherence_logical", "coherence_stylistic", "coverage_broad", "coverage_deep", "consistency_internal")  # fmt: skip
NEEDED = f"{RATINGS[0]} and {' or '.join(REPLIES)}"
FORM = Form(
    "cragc", evidence="conversations", nothing="holds no vote", remedy="CRAGC-25: data/artifacts of the repository."
)


def looks_like(path: Path) -> bool:
    """Return whether a folder, or a clone, holds ratings and replies of this release."""
    return path.is_dir() and all(_find(path, names) for names in (RATINGS, REPLIES))


def read(path: Path, *, skip_bad: bool = False, name: str = "cragc", evidence: str | None = None) -> ImportResult:
    """Read the folder or the clone; see `perslib import cragc`."""
    if not looks_like(path):
        raise DataError(
            Problem(str(path), f"does not hold {NEEDED}"), "Give the clone of the repository, or data/artifacts."
        )
    form = FORM.using(evidence=evidence)
    reading = form.begin(skip_bad)
    for names in (QUERIES, VERDICTS, ORDER):
        reading.note(f"files that are not there: {' or '.join(names)}", times=_find(path, names) is None)
    queries = {own["topic"]: own["query"] for own in _list(path, QUERIES)}
    replies: dict[str, Record] = {}
    schema = read_schema(__file__, "records.schema.toml", "cragc_reply")
    read_each(_open(path, REPLIES), reading, schema, lambda own, _: replies.update({own["response"]: own}), sessions=0)
    verdicts = {(own["response_a"], own["response_b"]): own for own in _list(path, VERDICTS) if _is_combined(own)}
    order = {(o["worker"], o["response_a"], o["response_b"]): o["item_index"] for o in _list(path, ORDER)}
    people = People(reading)
    seen: dict[str, int] = {}

    def make_rows(pair: Record, place: str) -> Iterator[Record]:
        sides = [pair["response_a"], pair["response_b"]]
        if missing := [own for own in sides if own not in replies]:
            raise DataError(Problem(place, f"compares the reply {missing[0]}, which is not among the replies"))
        query = queries.get(pair["query_id"]) or next((q for own in sides if (q := replies[own].get("query"))), None)
        names = [_name(replies[own]) for own in sides]
        names = names if len(set(names)) == 2 else [f"{own} {side}" for own, side in zip(names, "AB")]
        about = {"request": query, "topic": pair["query_id"], "panel": pair["submission_id"]}
        about |= _read_verdict(verdicts.get((sides[0], sides[1]), {}))
        for i, worker in enumerate(pair["worker"]):
            votes = {dimension: _fold(pair[f"{dimension}_vote"][i]) for dimension in (OVERALL, *DIMENSIONS)}
            user = people.number(worker)
            seen[user] = seen.get(user, 0) + 1
            common = {**about, "user": user, "session": f"{place} vote {i}", "side": votes.pop(OVERALL), **votes}
            common |= {"item": order.get((worker, *sides), seen[user])}
            for candidate, own, side in sorted(zip(names, sides, "ab")):
                chosen = {"a": side == "a", "b": side == "b"}.get(common["side"])
                yield {**common, "candidate": candidate, "response": _read_text(replies[own]), "chosen": chosen}

    ratings = read_schema(__file__, "records.schema.toml", "cragc_pair")
    read_rows_of(_open(path, RATINGS), make_rows, reading, name, form, ratings)
    reading.corpus = replace(reading.corpus, meta={**reading.corpus.meta, "recorded": {"gpt4o": "GPT-4o"}})
    return reading


def _find(path: Path, names: tuple[str, ...]) -> Path | None:
    either = (own for name in names for own in dict.fromkeys((name, name.removesuffix(".gz"))))
    return next((file for name in either for file in sorted(path.rglob(name))), None)


def _open(path: Path, names: tuple[str, ...]) -> Lines:
    file = _find(path, names)
    return json_lines(read_unpacked(file), file.name) if file else []


def _list(path: Path, names: tuple[str, ...]) -> Iterator[Record]:
    """Yield the records of a file that need not be there; where it is, each line is one."""
    for place, own, _ in _open(path, names):
        if not isinstance(own, dict):
            raise DataError(own if isinstance(own, Problem) else Problem(place, "is no record"), AGAIN)
        yield own


def _name(reply: Record) -> str:
    """Return who wrote a reply, in which style."""
    writer = reply.get("writer") or {"llm": "gpt-4o"}.get(reply.get("kind", ""), "human")
    return f"{writer} {reply['style']}"


def _read_text(reply: Record) -> str:
    return str(reply.get("text") or reply.get("raw_text") or reply.get("cleaned_text") or "")


def _fold(vote: Any) -> str:
    """Return a vote as a, b or n (both alike)."""
    return str(vote).strip().lower()


def _is_combined(verdict: Record) -> bool:
    """Return whether the language model answered on all dimensions together, as most of them were."""
    return verdict.get("inference", "combined") == "combined"


def _read_verdict(verdict: Record) -> Record:
    """Return the language model's verdict on a pair, as columns: of the whole, and why."""
    answers = verdict.get("ratings") or {}
    given = answers.get(f"Q{len(DIMENSIONS) + 1}_rating") or verdict.get(OVERALL)
    why = answers.get(f"Q{len(DIMENSIONS) + 1}_justification")
    return ({"gpt4o": _fold(given)} if given else {}) | ({"gpt4o_why": why} if why else {})
