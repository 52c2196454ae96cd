"""How a rater agrees so far: with the users' own labels, and with the judge.

Whoever asks for this sees labels and verdicts, so the journal notes them as shown: a turn rated again is not blind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import TURN, Block
from perslib.explorer.asking import Asking
from perslib.explorer.looking import Looking
from perslib.explorer.words import say
from perslib.inference import FEWEST_USERS
from perslib.judge import Judge, Personal, Verdict
from perslib.judge.evaluate import frame
from perslib.llm import Steps, side_by_side
from perslib.metrics import agreement, between, rater, read_ratings, with_interval
from perslib.report.show import escape, fold_html, table_html

METRICS = ("mae", "accuracy", "qwk", "spearman")
RESAMPLES = 2000


class SoFar(widgets.VBox):
    """Agreement of one rater's blind ratings, shown when asked for; the judge is asked only when that is asked for."""

    def __init__(self, looking: Looking, path: Path):
        self.looking, self.path, self.name = looking, path, ""
        self.show = widgets.Button(description=self._say("rate_agreement"), icon="balance-scale")
        self.ask = widgets.Button(description=self._say("rate_ask_judge"), icon="gavel")
        self.asking = Asking(looking)
        self.table = widgets.HTML()
        self.verdicts: pd.DataFrame | None = None
        self.show.on_click(lambda _: self.update())
        self.ask.on_click(lambda _: self._judge())
        for button in (self.show, self.ask):
            button.layout.width = "auto"
        warning = widgets.HTML(f'<div class="pl-small">{escape(self._say("rate_agreement_shows"))}</div>')
        super().__init__([widgets.HBox([self.show, self.ask]), warning, self.asking, self.table])

    def forget(self) -> None:
        """Show nothing: the rater, or a rating, is another."""
        if self.asking.busy:
            self.asking.clear()
        self.table.value = ""

    def update(self) -> None:
        """The tables of now."""
        own = self._ratings()
        if own is None:
            return
        self._note("gold", own)
        parts = [self._left_out(own), self._with_user(own)]
        if (judged := self._judged(own)) is not None:
            parts += [self._with_judge(own, judged), self._judge_with_user(judged)]
        self.table.value = "\n".join([*parts, self._turn_by_turn(own, judged)])

    # -- the judge ------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        own = self._ratings()
        if own is None:
            return
        judge = Personal(
            self.looking.memory_system(),
            self.looking.extent.manner(self.looking.language, written=True),
            name=f"personal ({self.looking.system})",
        )
        blocks = [self._part(*pair, rows) for pair, rows in own.groupby(["user", "scenario"], sort=False)[TURN]]

        def done(found: list[Sequence[Verdict]]) -> None:
            self.verdicts = frame(judge, self.looking.corpus, self.looking.backbone, blocks, found)
            self._note("verdict", own)
            self.update()

        label = self._say("rate_judging", n=len(own))
        self.asking.start(lambda: _all(judge, blocks), done, label)

    def _part(self, pair: tuple[str, str], rows: pd.DataFrame) -> Block:
        """The block with these turns as its targets."""
        block = self.looking.corpus.block(*pair)
        wanted = set(zip(rows["session"], rows["turn"]))
        keys = zip(block.targets["session"], block.targets["turn"])
        return replace(block, targets=block.targets[[key in wanted for key in keys]])
