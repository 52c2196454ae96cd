"""The form on which one reply is rated: PersTurnBench's scale, its reasons where they are due, and a note."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import ipywidgets as widgets

from perslib.corpus.reasons import REASONS, SATISFIED
from perslib.explorer.words import say
from perslib.paths import bundled
from perslib.report.show import escape, fold_html
from perslib.report.words import name_of

_WIDTH = "min(46em, 100%)"


@cache
def scale(language: str) -> dict[int, str]:
    """What each score means, in the words that judges are given."""
    text = bundled("prompts", language, "_scale.md").read_text(encoding="utf-8")
    return {int(s): meaning for s, meaning in re.findall(r"^([1-5]) = (.+)$", text, re.MULTILINE)}


class Form(widgets.VBox):
    """Score, reason and note of one rating; `language` is the researcher's, `labels` that of the corpus's reasons."""

    def __init__(self, language: str, labels: str):
        meanings = scale(language)
        self.score = widgets.ToggleButtons(
            options=[(f"{s} · {_briefly(meaning)}", s) for s, meaning in meanings.items()],
            tooltips=list(meanings.values()),
            value=None,
            description=say("rate_scale", language),
            style={"button_width": "auto"},
        )
        kept = REASONS.get(labels, REASONS["en"])
        self.reason = widgets.ToggleButtons(
            options=[(name_of(label, language), label) for key, label in kept.items() if key != SATISFIED],
            value=None,
            description=say("rate_reason", language),
            style={"button_width": "auto"},
        )
        self.note = widgets.Textarea(
            description=say("rate_note", language),
            placeholder=say("rate_note_hint", language),
            rows=2,
            style={"description_width": "initial"},
            layout=widgets.Layout(width=_WIDTH),
        )
        rows = "".join(f"<dt>{s}</dt><dd>{escape(meaning)}</dd>" for s, meaning in meanings.items())
        facts = fold_html(escape(say("rate_scale_words", language)), f'<dl class="pl-facts">{rows}</dl>')
        self.score.observe(lambda _: self._offer_reasons(), "value")
        self._offer_reasons()
        super().__init__([self.score, widgets.HTML(facts), self.reason, self.note])

    @property
    def lacks(self) -> str | None:
        """What is missing before this is a rating, as a key of our words; None when nothing is."""
        if self.score.value is None:
            return "rate_needs_score"
        return "rate_needs_reason" if self.score.value <= 3 and self.reason.value is None else None

    def fill(self, rating: Mapping[str, Any] | None) -> None:
        """Show a rating that was given (a row of `read_ratings`), or nothing."""
        self.score.value = int(rating["raw"]) if rating else None
        given = rating["reason"] if rating else None
        self.reason.value = given if given in [label for _, label in self.reason.options] else None
        self.note.value = rating["note"] if rating else ""

    def lock(self, locked: bool) -> None:
        """Take no rating, or take one again."""
        self.score.disabled = self.note.disabled = locked

    def _offer_reasons(self) -> None:
        """A reason goes with 3 or less, and with nothing else."""
        self.reason.disabled = self.score.value is None or self.score.value > 3
        if self.reason.disabled:
            self.reason.value = None


def _briefly(meaning: str) -> str:
    return re.split("[:：,，;；]", meaning)[0]
