"""What may be passed on of people's data without their texts: ratings, choices, verdicts, and measured traits of replies.

    python -m perslib.systems.readers.numbers cragc CLONE data/people/cragc

Texts become "reply 12" and "request 3": equal texts stay equal. What reads texts says where they are (`meta["without_texts"]`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, Corpus, save
from perslib.corpus.files.reading import ImportResult
from perslib.corpus.schema import SCHEMA
from perslib.judge.learned.choices import MEASURED, measure_replies
from perslib.systems.readers.loaders import cragc, people

#: Columns of texts that are left out.
_TEXTS = {"turns": ("reason", "feedback"), "sessions": ("task",)}


@dataclass(frozen=True)
class NumbersOf:
    """A set that is kept without its texts: how it is read, which further columns stay, and where its texts are."""

    read: Callable[[Path], ImportResult]
    columns: tuple[str, ...]
    clone: str


SETS = {
    "cragc": NumbersOf(
        cragc.read,
        ("panel", "side", "item", "gpt4o", *cragc.DIMENSIONS),
        "git clone https://github.com/webis-de/sigir25-rag-crowdsourcing",
    ),
    "ji": NumbersOf(people.JI.read, people.CRITERIA, "git clone https://github.com/TianboJi/Dialogue-Eval"),
}


def keep_numbers(corpus: Corpus, columns: tuple[str, ...], source: str) -> Corpus:
    """Return the corpus with numbers in place of texts: columns of the schema, these further ones, and traits of replies.

    Traits are those of each of several replies to a request, otherwise means of a conversation.
    """
    requests, replies, names = _Numbers("request"), _Numbers("reply"), _Numbers("c")

    def strip(frame: pd.DataFrame, kind: str, further: tuple[str, ...] = ()) -> pd.DataFrame:
        stay = [c for c in frame if (c in (*SCHEMA[kind], *further, "family")) and c not in _TEXTS.get(kind, ())]
        own = frame[stay].assign(session=names.number(frame["session"]))
        own["scenario"] = [a.replace(b, c) for a, b, c in zip(frame["scenario"], frame["session"], own["session"])]
        for column, numbered in (("request", requests), ("response", replies)):
            if column in own:
                own[column] = numbered.number(frame[column])
        return own.assign(**{c: [()] * len(own) for c in ("earlier", "trailing") if c in own})

    sessions, extras = corpus.sessions, {}
    if "candidates" in corpus.extras:
        given = corpus.extras["candidates"]
        asked = given.merge(corpus.turns[[*SESSION, "turn", "request"]], on=[*SESSION, "turn"], how="left")
        measured = given.join(measure_replies(asked.set_axis(given.index)).round(4))
        extras["candidates"] = strip(measured, "candidates", tuple(MEASURED))
    else:
        means = corpus.turns[SESSION].join(measure_replies(corpus.turns)).groupby(SESSION).mean()
        sessions = sessions.merge(means.round(4).reset_index(), on=SESSION, how="left")
    users = corpus.users.assign(profile=[{}] * len(corpus.users))
    meta = {**{k: v for k, v in corpus.meta.items() if k != "scenarios"}, "without_texts": source}
    turns = strip(corpus.turns, "turns", columns)
    return Corpus(
        corpus.name,
        corpus.language,
        users,
        strip(sessions, "sessions", (*columns, *MEASURED)),
        turns,
        extras=extras,
        meta=meta,
    )


class _Numbers:
    """Numbers in place of texts, in the order in which they come."""

    def __init__(self, what: str):
        self.what, self.numbers = what, dict[str, int]()

    def number(self, texts: pd.Series) -> pd.Series:
        """Return what stands in place of each text; nothing where there is none."""
        known = [self.numbers.setdefault(t, len(self.numbers) + 1) if isinstance(t, str) else None for t in texts]
        return pd.Series([np.nan if n is None else f"{self.what} {n}" for n in known], index=texts.index, dtype=object)


def main(name: str, clone: str, out: str) -> None:
    """Read a clone and save its numbers."""
    own = SETS[name]
    source = f"{own.clone} && perslib import {name} {own.clone.rpartition('/')[2]}"
    save(keep_numbers(own.read(Path(clone)).corpus, own.columns, source), Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:4])
