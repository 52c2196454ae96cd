"""Rating turns oneself, on the published scale and with its reasons, blind to the user's label and to the judge.

Ratings go to `ratings/<corpus>.jsonl` in the workspace, which `perslib.metrics.read_ratings` reads as one more rater.
Each says whether its rater had seen the user's own score, or a verdict, by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import TURN
from perslib.errors import DataError
from perslib.explorer.form import Form
from perslib.explorer.journal import Key, file_of
from perslib.explorer.looking import Looking
from perslib.explorer.rounds import drawn, next_unrated, of_block
from perslib.explorer.so_far import SoFar
from perslib.metrics import Rating, rate, rater, read_ratings
from perslib.paths import state, workspace
from perslib.report.show import conversation_html, escape, fold_html, profile_html
from perslib.report.words import name_of

#: Messages shown before the reply; earlier ones are folded.
WINDOW = 5


def annotate(looking: Looking) -> widgets.Widget:
    """The panel in which the open turn is rated."""
    return Annotating(looking)


def ratings_file(corpus: str) -> Path:
    """Where ratings of the corpus of this name are kept."""
    return workspace() / "ratings" / file_of(corpus)


class Annotating(widgets.VBox):
    """The open turn, a form to rate it with, and how the rater agrees so far."""

    def __init__(self, looking: Looking):
        self.looking, self.path = looking, ratings_file(looking.corpus.name)
        self._turns: list[Key] = []
        self._own: dict[Key, Mapping[str, Any]] = {}
        self._open: Key | None = None
        self._choices()
        self.form = Form(looking.language, looking.corpus.language)
        self.save = widgets.Button(
            description=self.looking.say("rate_save"), icon="check", button_style="primary"
        )
        self.skip = widgets.Button(description=self.looking.say("rate_skip"), icon="step-forward")
        self.so_far = SoFar(looking, self.path)
        self.progress, self.place, self.shown, self.seen, self.message, self.file = (
            widgets.HTML() for _ in range(6)
        )
        left = widgets.VBox([self.shown]).add_class("pl-left")
        right = widgets.VBox(
            [self.seen, self.form, _row(self.save, self.skip), self.message, self.file, self.so_far]
        ).add_class("pl-right")
        super().__init__(
            [
                _row(self.rater, self.which, self.size, self.seed),
                _row(self.progress, self.place),
                widgets.HBox([left, right]).add_class("pl-columns"),
            ]
        )
        self.add_class("pl-annotate")
        self._read()
        self._choose_turns()
        self._show()
        self.save.on_click(lambda _: self._save())
        self.skip.on_click(lambda _: self._next())
        looking.observe(lambda _: self._moved(), ["opened", "at"])
        looking.observe(lambda _: self._warn(), ["verdict", "gold_shown"])

    # -- the parts ------------------------------------------------------------------------------------------

    def _choices(self) -> None:
        wide = {"description_width": "initial"}
        self.rater = widgets.Text(
            value=_remembered(),
            description=self.looking.say("rate_name"),
            placeholder=self.looking.say("rate_name_hint"),
            continuous_update=False,
            style=wide,
        )
        ways = [(self.looking.say("rate_here"), "here"), (self.looking.say("rate_sample"), "sample")]
        self.which = widgets.Dropdown(options=ways, description=self.looking.say("rate_which"), style=wide)
        self.size = widgets.BoundedIntText(
            value=50,
            min=1,
            max=max(1, len(self.looking.corpus.turns)),
            description=self.looking.say("rate_size"),
            style=wide,
        )
        self.seed = widgets.BoundedIntText(
            value=42, min=0, max=2**31 - 1, description=self.looking.say("rate_seed"), style=wide
        )
        for field in (self.size, self.seed):
            field.layout.width = "12em"
            field.observe(lambda _: self._other_turns(), "value")
        self.which.observe(lambda _: self._other_turns(), "value")
        self.rater.observe(lambda _: self._other_rater(), "value")

    # -- what is rated --------------------------------------------------------------------------------------

    def _read(self) -> bool:
        """Look up what this rater has rated; False, and the file's error in place, where it cannot be read."""
        self.so_far.name = self.rater.value.strip()
        try:
            found = read_ratings(self.path, blind=False)
        except (DataError, OSError) as error:
            self._tell("rate_unreadable", what=str(error))
            return False
        mine = found[found["judge"] == rater(self.rater.value.strip())]
        keys = mine[TURN].itertuples(index=False, name=None)
        self._own = {(u, s, i, int(t)): row for (u, s, i, t), row in zip(keys, mine.to_dict("records"))}
        torn = (
            self.looking.say("rate_torn", places=", ".join(found.attrs["torn"]))
            if found.attrs["torn"]
            else ""
        )
        kept = self.looking.say("rate_file", path=f"{self.path.parent.name}/{self.path.name}")
        said = escape(f"{kept} {torn}")
        self.file.value = f'<div class="pl-small" title="{escape(self.path)}">{said}</div>'
        return True

    def _choose_turns(self) -> None:
        is_sample = self.which.value == "sample"
        for field in (self.size, self.seed):
            field.layout.display = None if is_sample else "none"
        if is_sample:
            self._turns = drawn(self.looking.corpus, self.size.value, self.seed.value)
        else:
            self._turns = of_block(self.looking.block)

    def _other_turns(self) -> None:
        self._choose_turns()
        if self.which.value == "sample" and self.looking.key not in self._turns:
            self._next()
        self._show()

    def _other_rater(self) -> None:
        _remember(self.rater.value.strip())
        self.so_far.forget()
        if self._read():
            self._show()

    def _moved(self) -> None:
        if self.looking.key == self._open:
            return  # opening a user tells of the user and of the turn
        if self.which.value == "here":
            self._choose_turns()
        self._show()

    def _next(self) -> None:
        """Open the next turn that is not rated."""
        key = next_unrated(self._turns, self._own, self.looking.key)
        if key is None:
            self._tell("rate_all_done" if self._turns else "rate_nothing_here", role="status")
            return
        user, scenario, session, turn = key
        self.looking.open(user, scenario)
        self.looking.at = (session, turn)

    # -- showing --------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """The open turn, with the rating it has."""
        self._open = key = self.looking.key
        done = sum(k in self._own for k in self._turns)
        self.progress.value = (
            f"<b>{escape(self.looking.say('rate_progress', done=done, all=len(self._turns)))}</b>"
        )
        self.save.disabled = key is None
        self.form.lock(key is None)
        own = self._own.get(key) if key else None
        self.form.fill(own)
        self.place.value = escape(self._named(key)) if key else ""
        self.shown.value = (
            self._conversation(key) if key else f"<p>{escape(self.looking.say('rate_nothing_here'))}</p>"
        )
        self.message.value = ""
        if own:
            at = pd.Timestamp(own["at"]).strftime("%Y-%m-%d %H:%M")
            self._tell("rate_own_before", role="status", score=int(own["raw"]), at=at)
        self._warn()

    def _conversation(self, key: Key) -> str:
        """What had been said, the reply, and who the user is: of the recorded reply, whatever was pasted elsewhere."""
        block = self.looking.block
        target = block.target(*key[2:])
        said = conversation_html(target.prefix, target.task or "", recent=WINDOW)
        profile = fold_html(escape(self.looking.say("rate_profile")), profile_html(block.profile))
        head = f'<div class="pl-head"><span class="pl-role">{escape(self.looking.say("rate_reply"))}</span></div>'
        whole = (
            f'<div class="pl-text" dir="auto">{escape(target.response)}</div>'  # nothing of it is folded away
        )
        body = f'<div class="pl-message pl-assistant pl-rated">{head}{whole}</div>'
        reply = f'<div class="pl-conversation">{body}</div>'
        return f"{profile}{said}{reply}"

    def _warn(self) -> None:
        """Say so where the open turn can no longer be rated blind."""
        looking = self.looking
        said = (
            "rate_seen_gold"
            if looking.is_label_seen()
            else "rate_seen_verdict"
            if looking.is_verdict_shown()
            else ""
        )
        self.seen.value = (
            f'<div class="pl-small" role="status">{escape(self.looking.say(said))}</div>' if said else ""
        )

    # -- saving ---------------------------------------------------------------------------------------------

    def _save(self) -> None:
        key = self.looking.key
        if lacks := self.form.lacks if self.rater.value.strip() else "rate_needs_name":
            self._tell(lacks)
            return
        if key is None or not self._read():
            return
        rating = Rating(
            self.rater.value.strip(),
            *key,
            self.form.score.value,
            self.form.reason.value,
            self.form.note.value.strip(),
            gold_shown=self.looking.is_label_seen(key),
            verdict_shown=self.looking.is_verdict_shown(key),
        )
        try:
            written = rate(self.path, rating)
        except (DataError, OSError) as error:
            self._tell("rate_unwritable", what=str(error))
            return
        self._own[key] = {**asdict(written), "raw": written.score}
        self.so_far.forget()
        self._show()
        self._next()
        if self.looking.key != key:
            self._tell("rate_saved", role="status", score=rating.score, place=self._named(key))

    def _named(self, key: Key) -> str:
        user, scenario, session, turn = key
        place = self.looking.say("rate_place", session=session, turn=turn + 1)
        return " · ".join((user, name_of(scenario, self.looking.language), place))

    def _tell(self, key: str, role: str = "alert", **fields: object) -> None:
        kind = "failed" if role == "alert" else "said"
        said = escape(self.looking.say(key, **fields))
        self.message.value = f'<div class="pl-line pl-line-{kind}" role="{role}">{said}</div>'


def _row(*parts: widgets.Widget) -> widgets.HBox:
    return widgets.HBox(parts).add_class("pl-bar")


def _remembered() -> str:
    """The name that was entered last."""
    file = state() / "explorer" / "rater.txt"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _remember(name: str) -> None:
    file = state() / "explorer" / "rater.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(name, encoding="utf-8")
