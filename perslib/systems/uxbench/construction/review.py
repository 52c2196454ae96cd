"""People look at cases: a sheet goes out as CSV, comes back with verdicts, and says how far people agree.

    export_review(made.cases, "review.csv")                     one row a case; reviewers fill in the last columns
    reviews = import_review(["anna.csv", "ben.csv"], made.cases)
    review_agreement(reviews); kept, rejected = apply_reviews(made.cases, reviews)

Any spreadsheet program opens it: it is UTF-8 with the mark by which Excel knows that, so Chinese stays Chinese. What
Excel saves again as "CSV UTF-8" is read, with commas, semicolons or tabs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.errors import DataError, Problem
from perslib.paths import read_toml, write_csv
from perslib.stats import cohen, raters_agreement
from perslib.systems.uxbench.construction.rules import Rejection
from perslib.systems.uxbench.construction.taxonomy import DIMENSIONS

VERDICTS = ("keep", "reject", "unsure")
SHOWN = ("case", "side", "history", "query", "reply", "after", "signal", "scenario", "dimension", "explanation")
FILLED = ("verdict", "corrected_dimension", "reviewer", "notes")
CELL = 32_000
"""Characters; a cell of a spreadsheet holds 32,767."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def export_review(cases: pd.DataFrame, file: str | Path, *, seed: int | None = 42) -> Path:
    """Write the sheet, in random order (None: as they stand) so that nobody reads side by side what is alike."""
    file = Path(file)
    _is_csv(file)
    rows = cases if seed is None else cases.sample(frac=1, random_state=seed)
    sheet = rows.assign(history=[_talk(h) for h in rows["history"]])[list(SHOWN)]
    sheet = sheet.map(_cell).assign(**dict.fromkeys(FILLED, ""))
    file.parent.mkdir(parents=True, exist_ok=True)
    return write_csv(sheet, file, encoding="utf-8-sig")


def _talk(history: Sequence[dict[str, Any]]) -> str:
    return "\n".join(f"[{m['role']}] {m['content']}" for m in history)


def _cell(value: Any) -> str:
    """Return a text that fits a cell; of a long one the end stays."""
    text = _UNPRINTABLE.sub("\ufffd", str(value))
    return text if len(text) <= CELL else "…" + text[-CELL:]


def import_review(files: str | Path | Sequence[str | Path], cases: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts of one or more sheets: columns case, reviewer, verdict, dimension, notes. Rows without one
    are left.

    Everything that is wrong is named with its file and row. A sheet without names is its file's name's.
    """
    paths = [files] if isinstance(files, str | Path) else list(files)
    known = cases.set_index("case")["side"].to_dict()
    problems: list[Problem] = []
    rows: list[dict[str, str]] = []
    seen: dict[tuple[str, str], str] = {}
    for path in map(Path, paths):
        sheet = _read(path)
        if missing := [c for c in ("case", "verdict") if c not in sheet]:
            problems.append(Problem(str(path), f"has no column {', '.join(missing)}"))
            continue
        for number, row in enumerate(sheet.to_dict("records"), start=2):  # row 1 has the names
            place, cells = f"{path.name} row {number}", {str(k): str(v).strip() for k, v in row.items()}
            if not cells["verdict"]:
                continue
            one = _review(cells, path.stem)
            faults = _faults(one, known)
            key = (one["case"], one["reviewer"])
            if not faults and key in seen:
                faults = [f"is a second verdict of {one['reviewer']} on {one['case']}, after {seen[key]}"]
            seen.setdefault(key, place)
            problems += [Problem(place, fault) for fault in faults]
            rows.append(one)
    if problems:
        raise DataError(problems, f"Verdicts are {', '.join(VERDICTS)}; the column `case` stays as it was exported.")
    return pd.DataFrame(rows, columns=["case", "reviewer", "verdict", "dimension", "notes"])


def _review(row: dict[str, str], usual: str) -> dict[str, str]:
    verdict = row["verdict"].casefold()
    return {
        "case": row["case"].removeprefix("'"),
        "reviewer": row.get("reviewer") or usual,
        "verdict": read_toml(__file__, "labels.toml")["verdict"].get(verdict, verdict),
        "dimension": row.get("corrected_dimension", ""),
        "notes": row.get("notes", ""),
    }


def _faults(one: dict[str, str], known: dict[str, str]) -> list[str]:
    faults = []
    if one["case"] not in known:
        faults.append(f"case {one['case']!r} is not among the exported ones")
    elif one["dimension"] and one["dimension"] not in DIMENSIONS[known[one["case"]]]:
        faults.append(f"corrected_dimension {one['dimension']!r} is none of a {known[one['case']]} case")
    if one["verdict"] not in VERDICTS:
        faults.append(f"verdict is {one['verdict']!r}, expected {', '.join(VERDICTS)}, or nothing")
    return faults


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise DataError(Problem(str(path), "there is no such file"), "Give the sheets that came back.")
    _is_csv(path)
    try:
        text = path.read_text("utf-8-sig")
        between = max(",;\t", key=text.partition("\n")[0].count)  # spreadsheet programs differ by country
        return pd.read_csv(StringIO(text), dtype=str, keep_default_na=False, sep=between)
    except UnicodeDecodeError:
        raise DataError(Problem(str(path), "is not UTF-8"), 'Save it as "CSV UTF-8".') from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(Problem(str(path), f"is no readable sheet: {error}")) from None


def _is_csv(file: Path) -> None:
    if file.suffix.lower() != ".csv":
        raise DataError(Problem(str(file), "is no .csv"), 'In Excel: Save as, "CSV UTF-8 (comma delimited)".')


# -- what came back ---------------------------------------------------------------------------------------


def review_agreement(reviews: pd.DataFrame) -> dict[str, float]:
    """Return how far reviewers agree: equal pairs, Fleiss κ, Krippendorff α, Gwet AC1
    (`perslib.stats.raters_agreement`), and Cohen's κ of every two that share cases (`kappa anna–ben`).
    """
    table = reviews.pivot(index="case", columns="reviewer", values="verdict")
    agreement = raters_agreement(table.astype(object).where(table.notna(), None)) if len(table) else {}
    for one, other in combinations(sorted(table.columns), 2):
        agreement[f"kappa {one}–{other}"] = cohen(table[one].to_list(), table[other].to_list())
    return agreement


def apply_reviews(
    cases: pd.DataFrame, reviews: pd.DataFrame, *, all_reviewed: bool = True
) -> tuple[pd.DataFrame, list[Rejection]]:
    """Return the cases that people keep, and why the others are not: more keep than all else, or the case is not in.

    A corrected dimension that most of a case's reviewers name replaces its own. `all_reviewed=False` keeps cases that
    nobody looked at.
    """
    votes = reviews.groupby("case")["verdict"].agg(list).to_dict()
    rejected = []
    for case in cases["case"]:
        given = votes.get(case, [])
        keep, against = given.count("keep"), given.count("reject")
        if not given:
            reason = "unreviewed" if all_reviewed else ""
        elif 2 * keep > len(given):
            reason = ""
        else:
            reason = "rejected" if 2 * against > len(given) else "undecided"
        if reason:
            rejected.append(Rejection("review", reason, case, ", ".join(given)))
    out = {one.place for one in rejected}
    remaining = cases[~cases["case"].isin(out)].reset_index(drop=True)
    named = reviews[reviews["dimension"] != ""].groupby("case")["dimension"].agg(list).to_dict()
    corrected = []
    for case, dimension in zip(remaining["case"], remaining["dimension"]):
        names = named.get(case, [])
        best = max(sorted(set(names)), key=names.count, default="")
        corrected.append(best if 2 * names.count(best) > len(votes.get(case, ())) else dimension)
    return remaining.assign(dimension=corrected), rejected
