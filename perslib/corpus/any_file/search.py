"""What is known of a file while its columns are looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from perslib.corpus.any_file.fields import FITS, Field, choose_field
from perslib.corpus.any_file.recognised_rows import Recognised
from perslib.corpus.any_file.shapes import WORDS, Flat


@dataclass
class Search:
    """A file whose columns are looked for, one after the other; a field is taken once."""

    fields: dict[str, Field]
    flat: list[tuple[str, Flat]]
    name: str
    recognised: Recognised
    named: frozenset[str]
    """Columns that the user named."""

    @property
    def taken(self) -> dict[str, str]:
        """Our column → their field."""
        return self.recognised.taken

    @property
    def scales(self) -> dict[str, str | None]:
        """By score and satisfaction, the scale of the ratings."""
        return self.recognised.scales

    def note(self, what: str) -> None:
        """Say what was assumed."""
        self.recognised.notes.append(what)

    def get(self, column: str) -> Field | None:
        """Return the field that was taken for a column."""
        return self.fields.get(self.taken[column]) if column in self.taken else None

    def free(self, column: str) -> list[Field]:
        """Return the fields that are not taken, and may be this column by their names."""
        last, never = (set(WORDS[key].get(column, ())) for key in ("not", "never"))
        return [
            one
            for one in self.fields.values()
            if one.path not in self.taken.values()
            and one.words
            and one.words[-1] not in last
            and not never & set(one.words)
        ]

    def find(self, column: str) -> None:
        """Take the field whose name says most plainly that it is this column, and whose values can be it."""
        if column not in self.taken:
            fitting = [one for one in self.free(column) if FITS[column](one)]
            if (chosen := choose_field(fitting, WORDS["names"][column])) is not None:
                self.taken[column] = chosen.path


def share_differing(it: Search, field: Field, fewest: int = 1) -> float:
    """Return the share of conversations in which turns differ in a field, of those with several; NaN for fewer further turns."""
    if (session := it.taken.get("session")) is None:
        return math.nan
    by_session = pd.DataFrame([(own.get(session), own.get(field.path)) for _, own in it.flat]).groupby(0)[1]
    turns = by_session.count()
    is_enough = (turns - 1).clip(0).sum() >= fewest
    return float((by_session.nunique() > 1)[turns > 1].mean()) if is_enough else math.nan
