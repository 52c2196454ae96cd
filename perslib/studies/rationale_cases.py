"""Single rationales made readable: the case, and what the rationale cites, down to the turns behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from perslib.corpus import Corpus
from perslib.memory import resolved
from perslib.report.page import current
from perslib.report.words import name_of
from perslib.studies.rationales import Memories
from perslib.studies.verification import up_to

#: The paper's three patterns, and by what the clearest cases of each are found.
SHOWN = {"matches the core": "near", "real, not the core": "near", "off-task": "far"}
_BEGINNING = 160
#: Turns shown of those that a rationale cites or rests on.
_TURNS = 3


def cases(found: pd.DataFrame, each: int = 2) -> pd.DataFrame:
    """Up to so many cases of each pattern: the clearest first, one a user, ties by place in the corpus."""
    parts = []
    for pattern, by in SHOWN.items():
        own = found[found["pattern"] == pattern].sort_values(by, ascending=False, kind="stable")
        parts.append(own.drop_duplicates("user").head(each))
    return pd.concat(parts, ignore_index=True)


def heading(row: Mapping[str, Any]) -> str:
    """What a case is one of, and whose."""
    language = current().language
    parts = [name_of(str(row["pattern"]), language), name_of(str(row["judge"]), language)]
    return current().word("colon").join(parts) + f" ({row['user']}, {name_of(row['scenario'], language)})"


def listing(found: pd.DataFrame) -> pd.DataFrame:
    """Every rationale beside what the user said, one row a verdict."""
    language = current().language
    written = found[found["rationale"].notna()]
    shown = {
        "judge": written["judge"],
        "user": written["user"],
        "scenario": written["scenario"],
        "user_said": [_score(*v) for v in zip(written["gold"], written["gold_reason"])],
        "judge_said": [_score(*v) for v in zip(written["score"], written["reason"])],
        "pattern": [name_of(p, language) if isinstance(p, str) else "–" for p in written["pattern"]],
        "rationale": written["rationale"],
    }
    table = pd.DataFrame(shown).reset_index(drop=True)
    return table.drop(columns="judge") if table["judge"].nunique() < 2 else table


def said_before(corpus: Corpus, row: Mapping[str, Any], messages: int = 3) -> list[dict[str, Any]]:
    """The end of the conversation, the judged reply last, with the user's score and reason."""
    said = up_to(corpus, row)[-messages:]
    reason = row["gold_reason"] if isinstance(row["gold_reason"], str) else ""
    return [*said[:-1], {**said[-1], "reason": reason}]


def case_table(row: Mapping[str, Any], corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """A case line by line: what the user and the judge said, the terms from elsewhere, what is cited."""
    lines = [
        ("the user", _score(row["gold"], row["gold_reason"])),
        ("the judge", _score(row["score"], row["reason"])),
        ("rationale", row["rationale"] if isinstance(row["rationale"], str) else "–"),
    ]
    if row["terms"]:
        lines.append(("only elsewhere", ", ".join(row["terms"])))
    lines += _cited(row, corpus, memories)
    language = current().language
    return pd.DataFrame([(name_of(what, language), said) for what, said in lines], columns=["what", "said"])


def _score(score: float, reason: object) -> str:
    said = name_of(reason, current().language) if isinstance(reason, str) else ""
    return f"{score:.0f}" + (f", {said}" if said else "")


def _cited(row: Mapping[str, Any], corpus: Corpus, memories: Memories) -> Iterator[tuple[str, str]]:
    memory = memories.get((row["judge"], row["user"], row["scenario"]))
    found = resolved(row["evidence"], corpus.block(row["user"], row["scenario"]), memory)
    for statement in found.statements:
        if isinstance(statement, str):
            yield statement, current().word("cited_from_nowhere")
        else:
            yield statement.id, statement.text
    for name, turn in list(found.turns.items())[:_TURNS]:
        yield name, _turn(turn)


def _turn(turn: Mapping[Any, Any]) -> str:
    """A turn in two lines: what was asked, what came, and what the user made of it."""
    asked = beginning(turn["request"]) if isinstance(turn["request"], str) else "–"
    score = "–" if pd.isna(turn["score"]) else _score(float(turn["score"]), turn["reason"])
    return f"{asked}\n→ {beginning(turn['response'])}\n({current().word('score')} {score})"


def beginning(text: str) -> str:
    """The first words of a text, in one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _BEGINNING else flat[:_BEGINNING].rstrip() + " …"
