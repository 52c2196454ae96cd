"""The leaderboard: candidates of all replays under `reports/`, side by side where they may be compared.

A replay page saves its standings as the table `leaderboard`. Rows of several pages come into one group if, and only
if, corpus, replayed turns, judge, the judge's model and the calibration are the same; a mean satisfaction says
nothing beyond those. Tests between candidates stay those of the run in which they were made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.report.manifest import Page, common_language, pages_under, write_text
from perslib.report.render import shelf_css
from perslib.report.show import template, unbroken
from perslib.report.tables import interval
from perslib.report.words import controls_shown, day
from perslib.text import translate, using_language

FILE = "leaderboard.html"
TABLE = "leaderboard"
#: What must be the same in rows that are compared.
GROUP = ["corpus_digest", "set_digest", "judge", "judge_prompt", "judge_backbone", "calibration"]
#: What makes two rows of a group one candidate. Of the recorded replies there is only one.
CANDIDATE = ["candidate", "context", "backbone", "temperature"]
_TEXTS = ["candidate", "context", "backbone", "corpus", "replay_set", "rank_set", *GROUP]
_SCORES = ["user_macro", "user_macro_low", "user_macro_high"]
_FLAGS = ["tied_first", "self_judged", "first_look"]
_COUNTS = ["turns", "users"]
#: Least and greatest value of a number that may be missing.
_BOUNDS = {
    **dict.fromkeys(_SCORES, (1.0, 5.0)),
    **dict.fromkeys(["dsat", "dsat_low", "dsat_high"], (0.0, 1.0)),
    "temperature": (0.0, 100.0),
}
_TYPES: dict[Hashable, Any] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys([*_BOUNDS, *_COUNTS], float),
    **dict.fromkeys(_FLAGS, bool),
}
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Group:
    """Candidates that may be compared, the best first; all of them share what `first` says."""

    rows: pd.DataFrame

    @property
    def first(self) -> dict[Hashable, Any]:
        """The row of the best candidate."""
        return self.rows.iloc[0].to_dict()

    @property
    def axis(self) -> tuple[float, float]:
        """Whole half points around all intervals, for the drawing."""
        if self.rows[_SCORES].isna().all(axis=None):
            return 1.0, 5.0
        low, high = self.rows[_SCORES].min(axis=None), self.rows[_SCORES].max(axis=None)
        low, high = np.floor(low * 2) / 2, np.ceil(high * 2) / 2
        return float(low), float(max(high, low + 0.5))

    def place(self, score: float) -> float:
        """Where a score is on the axis, in percent."""
        low, high = self.axis
        return round(100 * (score - low) / (high - low), 2)


def write_leaderboard(root: Path) -> Path | None:
    """Write `leaderboard.html` over the tables of all runs under `root`; without any, remove the one that is there."""
    pages = pages_under(root)
    language, path = common_language(pages), root / FILE
    with using_language(language):
        groups, skipped = standings(pages)
        if not groups and not skipped:
            path.unlink(missing_ok=True)
            return None
        page = template("leaderboard.html.j2").render(
            groups=groups, skipped=skipped, language=language, is_number=np.isfinite, css=shelf_css()
        )
    return write_text(path, page)


def standings(pages: Iterable[Page]) -> tuple[list[Group], list[tuple[str, str]]]:
    """The groups of all tables, those of most candidates first, and the tables that cannot be read with the reasons."""
    tables, skipped = [], []
    for page in pages:
        for file in _files(page):
            name = controls_shown(file.relative_to(page.root).as_posix())
            try:
                tables.append(_read(file, page))
            except (OSError, ValueError, RecursionError) as error:
                why = controls_shown(str(error)).replace(str(file), file.name)
                skipped.append(
                    (
                        name,
                        translate(
                            "cannot be read: {why}; render its page again with this version of perslib",
                            why=why,
                        ),
                    )
                )
    if not any(map(len, tables)):
        return [], skipped
    rows = pd.concat([table for table in tables if len(table)], ignore_index=True)
    groups = [Group(_merged(own)) for _, own in rows.groupby(GROUP, sort=False)]
    return sorted(groups, key=lambda g: (-len(g.rows), -max(g.rows["when"]), *g.rows[GROUP].iloc[0])), skipped


def _merged(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a candidate, the best first: of its whole runs the newest, of first looks only where it has no other."""
    # Imported here, for it brings judges and models along, which no other page needs.
    from perslib.replay.replies import ORIGINAL

    rows = rows.sort_values(["first_look", "when"], ascending=[True, False], kind="stable")
    which, recorded = rows[CANDIDATE].copy(), rows["candidate"] == ORIGINAL
    which.loc[recorded, ["context", "backbone"]], which.loc[recorded, "temperature"] = "", np.nan
    once = rows[~which.duplicated()]
    return once.sort_values(["user_macro", "candidate"], ascending=[False, True], kind="stable")


def _files(page: Page) -> list[Path]:
    """The page's table of standings; a manifest that points out of its own folder is not followed."""
    tables = page.entry.get("tables", {})
    files = [page.folder / file for file in tables.get(TABLE, []) if file.endswith(".csv")]
    return [file for file in files if file.resolve().is_relative_to(page.folder.resolve())]


def _read(file: Path, page: Page) -> pd.DataFrame:
    """The table with typed columns, and beside them which run it comes from."""
    missing = {column: [""] for column in _BOUNDS}  # nothing else: a candidate may be called "null"
    rows = pd.read_csv(file, usecols=list(_TYPES), dtype=_TYPES, keep_default_na=False, na_values=missing)
    for column, (low, high) in _BOUNDS.items():
        if not rows[column].dropna().between(low - _ROUNDING, high + _ROUNDING).all():
            raise ValueError(f"{column} is not between {low:g} and {high:g}")
    if (rows[["candidate", "corpus_digest", "set_digest"]] == "").any(axis=None):
        raise ValueError("a candidate or a digest is empty")
    if (twice := rows.duplicated([*GROUP, *CANDIDATE])).any():
        name = controls_shown(rows.loc[twice, "candidate"].iloc[0])
        raise ValueError(translate("names the candidate “{name}” twice", name=name))
    started = str(page.entry.get("started", ""))
    when = pd.to_datetime(started, utc=True, errors="coerce")
    typed = rows.assign(
        of=rows.groupby(GROUP, sort=False)["candidate"].transform("size"),
        when=0.0 if pd.isna(when) else when.timestamp(),
        date=day(started),
        href=f"{page.href}#table-{TABLE}" if page.href else "",
        page=controls_shown(page.folder.name),
    )
    for name in ("user_macro", "dsat"):
        typed[f"{name}_shown"] = [unbroken(str(c)) for c in interval(name, zero=False)(typed, name)]
    return typed
