"""Rating turns oneself, on the published scale and with its reasons, blind to the user's label and to the judge.

Ratings go to `ratings/<corpus>.jsonl` in the workspace, which `perslib.explorer.ratings.read_ratings` reads as one more rater.
Each says whether its rater had seen the user's own score, or a verdict, by then.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.corpus.schema import REASONS, SATISFIED
from perslib.errors import DataError
from perslib.explorer.controls import (
    WINDOW,
    bar,
    button,
    columns,
    div,
    line,
    make_field,
    render_macro,
    reply_place,
    watch,
)
from perslib.explorer.explorer_state import ExplorerState, Key, file_of, keys_of
from perslib.explorer.rater_agreement import RaterAgreement, unreadable
from perslib.explorer.ratings import Rating, rater, read_ratings, save_rating
from perslib.paths import find_bundled, state_folder, workspace
from perslib.replay import stratified_set
from perslib.report.show.html import escape
from perslib.report.show.words import name_of
from perslib.text import current_language, join, mark, paragraph, translate


def ratings_file(corpus: str) -> Path:
    """Return where ratings of the corpus of this name are kept."""
    return workspace() / "ratings" / file_of(corpus)


def sample_turns_to_rate(corpus: Corpus, size: int, seed: int) -> list[Key]:
    """Return turns drawn evenly from all users and scenarios, whatever they were scored
    (`perslib.replay.stratified_set`).

    They come in random order, so that a rater who stops early has rated a sample all the same.
    """
    keys = keys_of(stratified_set(corpus, size, split=None, seed=seed))
    return [keys[i] for i in np.random.default_rng(seed).permutation(len(keys))]


def next_unrated(turns: Sequence[Key], rated: Container[Key], after: Key | None) -> Key | None:
    """Return the first turn behind `after` that is not rated, beginning anew at the end; None when all are."""
    start = turns.index(after) + 1 if after in turns else 0
    return next((key for key in [*turns[start:], *turns[:start]] if key not in rated), None)


class RatePanel(widgets.VBox):
    """The open turn, a form to rate it with, and how the rater agrees so far."""

    def __init__(self, state: ExplorerState):
        self.state, self.path = state, ratings_file(state.corpus.name)
        self._turns: list[Key] = []
        self._own: dict[Key, Mapping[str, Any]] = {}
        self._open: Key | None = None
        self._choices()
        self.form, self.so_far = Form(state.corpus.language), RaterAgreement(state, self.path)
        self.save = button(state, "Save and next", self._save, "check", button_style="primary")
        self.skip = button(state, "Next unrated", self._next, "step-forward")
        self.progress, self.place, self.shown, self.seen, self.message, self.file = (widgets.HTML() for _ in range(6))
        saving = [bar(self.save, self.skip), self.message, self.file]
        super().__init__(
            [
                bar(self.rater, self.which, self.size, self.seed),
                bar(self.progress, self.place),
                columns([self.shown], [self.seen, self.form, *saving, self.so_far]),
            ]
        )
        self.add_class("pl-annotate")
        self._read()
        self._choose_turns()
        self._show()
        state.observe(lambda _: self._on_turn(), ["opened", "at"])
        state.observe(lambda _: self._warn(), ["verdict", "gold_shown"])

    def _choices(self) -> None:
        self.rater = make_field(
            widgets.Text, "Your name", "as shown in tables", value=_read_name(), continuous_update=False
        )
        options = [(translate("of this user and scenario"), "here"), (translate("drawn from all users"), "sample")]
        self.which = make_field(widgets.Dropdown, "Turns to rate", options=options)
        most, number = max(1, len(self.state.corpus.turns)), widgets.BoundedIntText
        self.size = make_field(number, "How many", width="12em", value=50, min=1, max=most)
        self.seed = make_field(number, "Seed", width="12em", value=42, min=0, max=2**31 - 1)
        for field in (self.size, self.seed, self.which):
            watch(self.state, field, lambda _: self._other_turns())
        watch(self.state, self.rater, self._other_rater)

    # -- what is rated --------------------------------------------------------------------------------------

    def _read(self) -> bool:
        """Look up what this rater has rated; False, and the file's error in place, where it cannot be read."""
        self.so_far.name = self.rater.value.strip()
        try:
            ratings = read_ratings(self.path, blind=False)
        except (DataError, OSError) as error:
            self._tell(unreadable(error))
            return False
        mine = ratings[ratings["judge"] == rater(self.so_far.name)]
        self._own = dict(zip(keys_of(mine), mine.to_dict("records")))
        torn = join(ratings.attrs["torn"])
        message = paragraph(
            translate("Ratings are saved in {path}.", path=f"{self.path.parent.name}/{self.path.name}"),
            translate("Truncated by a crash, and not counted: {places}.", places=torn) if torn else "",
        )
        self.file.value = f'<div class="pl-small" title="{escape(self.path)}">{escape(message)}</div>'
        return True

    def _choose_turns(self) -> None:
        is_sample = self.which.value == "sample"
        self.size.layout.display = self.seed.layout.display = None if is_sample else "none"
        if is_sample:
            self._turns = sample_turns_to_rate(self.state.corpus, self.size.value, self.seed.value)
        else:
            self._turns = keys_of(self.state.block.targets)

    def _other_turns(self) -> None:
        self._choose_turns()
        if self.which.value == "sample" and self.state.key not in self._turns:
            self._next()
        self._show()

    def _other_rater(self, name: str) -> None:
        file = _name_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name.strip(), encoding="utf-8")
        self.so_far.forget()
        if self._read():
            self._show()

    def _on_turn(self) -> None:
        if self.state.key == self._open:
            return  # opening a user tells of the user and of the turn
        if self.which.value == "here":
            self._choose_turns()
        self._show()

    def _next(self) -> None:
        """Open the next turn that is not rated."""
        key = next_unrated(self._turns, self._own, self.state.key)
        if key is None:
            self._tell(translate("All of these turns are rated.") if self._turns else _nothing_here(), "said")
        else:
            self.state.open(*key[:2])
            self.state.at = key[2:]

    # -- showing --------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Show the open turn, with the rating it has: the recorded reply, whatever was pasted elsewhere."""
        self._open, block = self.state.key, self.state.block
        key = self._open
        done = sum(k in self._own for k in self._turns)
        progress = translate("{done} of {all} rated", done=done, all=len(self._turns))
        self.progress.value = f"<b>{progress}</b>"
        self.save.disabled = self.form.score.disabled = self.form.note.disabled = key is None
        own = self._own.get(key) if key else None
        self.form.fill(own)
        self.place.value, self.shown.value = "", div("empty", _nothing_here())
        if key:
            self.place.value, target = escape(_place(key)), block.target(*key[2:])
            self.shown.value = render_macro("to_rate", profile=block.profile, target=target, recent=WINDOW)
        self.message.value = ""
        if own:
            before = translate(
                "You rated this turn {score} on {at:%Y-%m-%d %H:%M}. Saving replaces it; the earlier line stays in "
                "the file.",
                score=int(own["raw"]),
                at=pd.Timestamp(own["at"]),
            )
            self._tell(before, "said")
        self._warn()

    def _warn(self) -> None:
        """Say so where the open turn can no longer be rated blind."""
        self.seen.value = ""
        if self.state.is_label_seen():
            seen = translate(
                "You have seen the user's own score of this turn. The rating is marked as not blind and excluded from "
                "agreement."
            )
        elif self.state.is_verdict_shown():
            seen = translate(
                "You have seen a verdict on this turn. The rating is marked as not blind and excluded from agreement."
            )
        else:
            return
        self.seen.value = div("small", seen, "status")

    # -- saving ---------------------------------------------------------------------------------------------

    def _save(self) -> None:
        key, name = self.state.key, self.rater.value.strip()
        lacks = self.form.lacks if name else translate("Enter your name first: ratings are saved per rater.")
        if lacks:
            self._tell(lacks)
            return
        if key is None or not self._read():
            return
        rating = Rating(
            name,
            *key,
            self.form.score.value,
            self.form.reason.value,
            self.form.note.value.strip(),
            gold_shown=self.state.is_label_seen(key),
            verdict_shown=self.state.is_verdict_shown(key),
        )
        try:
            written = save_rating(self.path, rating)
        except (DataError, OSError) as error:
            self._tell(translate("The rating was not saved. {what}", what=error))
            return
        self._own[key] = {**asdict(written), "raw": written.score}
        self.so_far.forget()
        self._show()
        self._next()
        if self.state.key != key:
            saved = translate("Saved: {score} for {place}.", score=rating.score, place=_place(key))
            self._tell(saved, "said")

    def _tell(self, message: str, kind: str = "failed") -> None:
        self.message.value = line(message, kind)


def _place(key: Key) -> str:
    user, scenario, session, turn = key
    return " · ".join((user, name_of(scenario), reply_place(session, turn)))


def _nothing_here() -> str:
    return translate("This user has no reply in this scenario.")


def _read_name() -> str:
    """Return the name that was entered last."""
    return _name_file().read_text(encoding="utf-8").strip() if _name_file().is_file() else ""


def _name_file() -> Path:
    return state_folder() / "explorer" / "rater.txt"


# -- the form ------------------------------------------------------------------------------------------------


@cache
def scale(language: str) -> dict[int, str]:
    """Return what each score means, in the words that judges are given."""
    text = find_bundled("prompts", language, "_scale.md").read_text(encoding="utf-8")
    return {int(s): meaning for s, meaning in re.findall(r"^([1-5]) = (.+)$", text, re.MULTILINE)}


class Form(widgets.VBox):
    """Score, reason and note of one rating; `labels` is the language of the corpus's reasons."""

    def __init__(self, labels: str):
        meanings, narrow = scale(current_language()), {"button_width": "auto"}
        self.score = widgets.ToggleButtons(
            options=[(f"{s} · {_briefly(meaning)}", s) for s, meaning in meanings.items()],
            tooltips=list(meanings.values()),
            value=None,
            description=translate("Score"),
            style=narrow,
        )
        reasons = REASONS.get(labels, REASONS["en"])
        faults = [(name_of(label), label) for key, label in reasons.items() if key != SATISFIED]
        self.reason = widgets.ToggleButtons(
            options=faults, value=None, description=translate("Main fault"), style=narrow
        )
        hint = mark("only for your own use")
        self.note = make_field(widgets.Textarea, "Note", hint, "min(46em, 100%)", rows=2)
        facts = render_macro("scale", meanings=meanings)
        self.score.observe(lambda _: self._offer_reasons(), "value")
        self._offer_reasons()
        super().__init__([self.score, widgets.HTML(facts), self.reason, self.note])

    @property
    def lacks(self) -> str:
        """What is missing before this is a rating; empty when nothing is."""
        if self.score.value is None:
            return translate("Choose a score from 1 to 5.")
        wants_reason = self.score.value <= 3 and self.reason.value is None
        return translate("A score of 3 or less needs a main fault.") if wants_reason else ""

    def fill(self, rating: Mapping[str, Any] | None) -> None:
        """Show a rating that was given (a row of `read_ratings`), or nothing."""
        self.score.value = int(rating["raw"]) if rating else None
        given = rating["reason"] if rating else None
        self.reason.value = given if given in [label for _, label in self.reason.options] else None
        self.note.value = rating["note"] if rating else ""

    def _offer_reasons(self) -> None:
        """Offer reasons for scores of 3 or less, and for no others."""
        self.reason.disabled = self.score.value is None or self.score.value > 3
        if self.reason.disabled:
            self.reason.value = None


def _briefly(meaning: str) -> str:
    return re.split("[:\uff1a,\uff0c;\uff1b]", meaning)[0]
