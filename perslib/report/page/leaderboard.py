"""The leaderboard: candidates of all replays under `reports/`, side by side where they may be compared.

A replay page saves its standings as the table `leaderboard`. Rows of several pages come into one group if, and only
if, corpus, replayed turns, judge, the judge's model and the calibration are the same; a mean satisfaction says
nothing beyond those. Tests between candidates stay those of the run in which they were made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus.schema import ORIGINAL
from perslib.report.page.rendering import shelf_css
from perslib.report.run.manifest import StoredPage, check_file, common_language, pages_under, write_text
from perslib.report.show.html import load_template, unbroken
from perslib.report.show.tables import format_as_interval
from perslib.report.show.words import day
from perslib.text import mark, translate, using_language

FILE = "leaderboard.html"
TABLE = "leaderboard"
#: What must be the same in rows that are compared.
GROUP = ["corpus_digest", "set_digest", "judge", "judge_prompt", "judge_backbone", "calibration"]
#: What makes two rows of a group one candidate. Of the recorded replies there is only one.
CANDIDATE = ["candidate", "context", "backbone", "temperature"]
_TEXTS = ["candidate", "context", "backbone", "corpus", "replay_set", "rank_set", *GROUP]
_SCORES = ["user_macro", "user_macro_low", "user_macro_high"]
_NUMBERS = [*_SCORES, "dsat", "dsat_low", "dsat_high", "temperature"]
_TYPES: dict[Hashable, Any] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys([*_NUMBERS, "turns", "users"], float),
    **dict.fromkeys(["tied_first", "self_judged", "first_look"], bool),
}


def write_leaderboard(root: Path) -> Path | None:
    """Write `leaderboard.html` over the tables of all runs under `root`; without any, remove the one that is there."""
    pages = pages_under(root)
    language, path = common_language(pages), root / FILE
    with using_language(language):
        groups, skipped = standings(pages)
        if not groups and not skipped:
            path.unlink(missing_ok=True)
            return None
        page = load_template("leaderboard.html.j2").render(
            groups=groups, skipped=skipped, language=language, is_number=np.isfinite, css=shelf_css()
        )
    return write_text(path, page)


def standings(pages: Iterable[StoredPage]) -> tuple[list[pd.DataFrame], list[tuple[str, str]]]:
    """Return the groups of all tables, those of most candidates first, and the tables that cannot be read with the
    reasons.

    A group holds candidates that may be compared, the best first.
    """
    tables, skipped = [], []
    message = mark("cannot be read: {why}; render its page again with this version of perslib")
    for page in pages:
        tables_of = page.entry["tables"].get(TABLE, [])
        for file in (page.folder / name for name in tables_of if name.endswith(".csv")):
            try:
                if len(table := _read(file, page)):
                    tables.append(table)
            except (OSError, ValueError) as error:
                why = str(error).replace(str(file), file.name)
                skipped.append((file.relative_to(page.root).as_posix(), translate(message, why=why)))
    if not tables:
        return [], skipped
    rows = pd.concat(tables, ignore_index=True)
    groups = [_place_on_axis(_merge_runs(own)) for _, own in rows.groupby(GROUP, sort=False)]
    return sorted(groups, key=lambda rows: (-len(rows), -max(rows["when"]), *rows[GROUP].iloc[0])), skipped


def _merge_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a candidate, the best first: of its whole runs the newest, of first looks only where it has no
    other.
    """
    rows = rows.sort_values(["first_look", "when"], ascending=[True, False], kind="stable")
    which, recorded = rows[CANDIDATE].copy(), rows["candidate"] == ORIGINAL
    which.loc[recorded, ["context", "backbone"]], which.loc[recorded, "temperature"] = "", np.nan
    once = rows[~which.duplicated()]
    return once.sort_values(["user_macro", "candidate"], ascending=[False, True], kind="stable")


def _place_on_axis(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with an axis of whole half points around all intervals, and with their places on it, in percent."""
    scores = rows[_SCORES].to_numpy().ravel()
    scores = scores[np.isfinite(scores)] if np.isfinite(scores).any() else np.array([1.0, 5.0])
    low = np.floor(scores.min() * 2) / 2
    high = max(np.ceil(scores.max() * 2) / 2, low + 0.5)
    places = (100 * (rows[_SCORES] - low) / (high - low)).round(2)
    return rows.assign(axis_low=low, axis_high=high, **places.add_suffix("_place"))


def _read(file: Path, page: StoredPage) -> pd.DataFrame:
    """Return the table with typed columns, and beside them which run it comes from."""
    missing = {column: [""] for column in _NUMBERS}  # nothing else: a candidate may be called "null"
    rows = pd.read_csv(check_file(file), usecols=list(_TYPES), dtype=_TYPES, keep_default_na=False, na_values=missing)
    if not (rows[[*_NUMBERS, "turns", "users"]].fillna(0).abs() < 1e6).all(axis=None):
        raise ValueError("a number in it is too large")
    started = page.entry["started"]
    when = pd.to_datetime(started, utc=True, errors="coerce")
    shown = {
        f"{name}_shown": [unbroken(str(c)) for c in format_as_interval(name)(rows, name)]
        for name in ("user_macro", "dsat")
    }
    return rows.assign(
        of=rows.groupby(GROUP, sort=False)["candidate"].transform("size"),
        when=0.0 if pd.isna(when) else when.timestamp(),
        date=day(started),
        href=f"{page.href}#table-{TABLE}" if page.href else "",
        page=page.folder.name,
        is_synthetic=bool(page.entry.get("corpus", {}).get("synthetic")),
        **shown,
    )
