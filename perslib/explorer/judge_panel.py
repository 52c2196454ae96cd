"""Judge: a recorded or pasted reply, the verdict of the memory as it is now, and how the verdict moved with edits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from perslib.corpus import Block
from perslib.corpus.scale import BORDER
from perslib.explorer.controls import (
    WINDOW,
    JudgeButtons,
    RequestStatus,
    bar,
    button,
    div,
    heading,
    make_field,
    render_macro,
    watch,
)
from perslib.explorer.explorer_state import AtOnce, ExplorerState
from perslib.explorer.user_panel import missing_memory
from perslib.judge import Verdict
from perslib.llm import Ask
from perslib.memory import Draft, PreferenceMemory, UserMemory, resolve_citations
from perslib.report.show.html import conversation_html
from perslib.report.show.words import beginning, name_of
from perslib.stats import SCORES, Tilted
from perslib.stats.calibrate.verdicts import COUNTS
from perslib.studies.why import EDITS
from perslib.text import mark, show_hidden, translate

#: Verdicts of one reply that are kept in view, the newest first.
KEPT = 8
#: The judge's distribution and that of the user's own past scores, each to the power one half: nothing is learned.
POOLED = Tilted(0.5, 0.5, np.zeros(5), name="pooled")
#: The label of a verdict, its distribution, its mean; either may be missing.
Shares = tuple[str, Sequence[float] | None, float | None]
#: Changes of the reply, and edits of the memory, that would change a verdict.
Changes = tuple[list[dict[str, Any]], list[dict[str, Any]]]


class JudgePanel(JudgeButtons):
    """The reply that is open; `said` is a second box, with what the judge says of it."""

    def __init__(self, state: ExplorerState):
        super().__init__(state)
        self._seen: list[Shares] = []
        self._is_at_once, self.edits, self.changing = False, widgets.VBox(), RequestStatus(state)
        self.turn = make_field(widgets.Dropdown, "Turn", width="100%")
        hint = mark("Paste any reply here to have it judged instead of the recorded one; clear it to go back.")
        self.paste = make_field(widgets.Textarea, "", hint, "100%", rows=4, continuous_update=False)
        self.context, self.gold = widgets.HTML(), widgets.HTML()
        tip = mark("of all replies of this scenario; it is recorded that you saw them")
        self.show_gold = button(state, "Show the user's own score", lambda: state.show_gold(), "eye", tip)
        self.follow = make_field(
            widgets.Checkbox, "score again after every edit", width="auto", value=True, indent=False
        )
        watch(state, self.turn, self._choose)
        watch(state, self.paste, self._paste)
        state.observe(self._on_block, "opened")
        state.observe(self._other_reply, ["at", "reply"])
        state.observe(self._on_draft, "draft")
        state.observe(self._show_gold, ["gold_shown", "at", "reply"])
        self.children = [self.turn, self.context, self.paste]
        tip = mark("by what everybody likes and by the statements on this user; asks no model")
        self.quick = button(state, "Score at once", self.judge_at_once, "bolt", tip)
        asks, gold = bar(self.quick, self.score, self.write, self.follow), bar(self.show_gold, self.gold)
        self.message = widgets.VBox([asks, self.asking, self.shown, self.edits, gold])
        self._on_block()

    # -- which reply ------------------------------------------------------------------------------------------

    def _on_block(self, change: Any = None) -> None:
        targets = self.state.block.targets
        options = []
        for session, turn, prefix in zip(targets["session"], targets["turn"], targets["prefix"]):
            asked = prefix[-1]["content"] if prefix and prefix[-1]["role"] == "user" else "–"
            options.append((f"{session}/{turn + 1}  {show_hidden(beginning(asked))}", (session, int(turn))))
        with self.state.pause_field_events():
            self.turn.options = options
        self._other_reply()

    def _choose(self, place: tuple[str, int] | None) -> None:
        if place is not None:
            self.state.at = place

    def _paste(self, text: str) -> None:
        self.state.reply = text if text.strip() else None

    def _other_reply(self, change: Any = None) -> None:
        self.clear()
        with self.state.pause_field_events():
            if self.state.at in [place for _, place in self.turn.options]:
                self.turn.value = self.state.at
            if self.state.reply is None:
                self.paste.value = ""
        self._show_context()
        self._show_gold()

    def _show_context(self) -> None:
        target = self.state.target
        if target is None:
            self.context.value = div("empty", translate("There is no reply to judge in this scenario."))
            return
        note = translate("pasted, to be judged" if self.state.reply is not None else "to be judged")
        messages = [*target.prefix, {"role": "assistant", "content": target.response, "note": note}]
        self.context.value = conversation_html(messages, target.task or "", recent=WINDOW + 1)

    def _show_gold(self, change: Any = None) -> None:
        state = self.state
        shown = state.is_gold_shown()
        self.show_gold.disabled = shown or state.at is None
        if not shown:
            self.gold.value = div("small", translate("hidden, so that you can judge for yourself first"))
            return
        score, reason = state.gold()
        self.gold.value = render_macro("gold", score=score, reason=reason, is_pasted=state.reply is not None)

    # -- what the judge says -----------------------------------------------------------------------------------

    def ask(self, *, written: bool) -> None:
        """Ask the judge about the open reply, with the memory as it is."""
        state, block, draft = self.state, self.state.make_open_block(), self.state.draft
        if block is None:
            return
        if draft is None:
            self.asking.fail(missing_memory(None))
            return

        def show_verdicts(verdicts: Sequence[Verdict]) -> None:
            self.changing.clear()
            self._is_at_once, self.edits.children = False, []
            self._seen = [shares_of(_last_edit(draft), verdicts[0]), *self._seen][:KEPT]
            state.show_verdict(verdicts[0])
            verdict = verdict_html(verdicts[0], state.block, draft.memory)
            self.shown.value = verdict + (render_macro("changes", rows=self._seen) if len(self._seen) > 1 else "")

        label = translate("The judge reads the reply and writes …" if written else "The judge reads the reply …")
        self.asking.start(partial(state.judge(draft.memory, written=written).judge, block), show_verdicts, label)

    def judge_at_once(self) -> None:
        """Show the verdict by statements on the open reply, what it is made of, and what would change it."""
        state, block, draft = self.state, self.state.make_open_block(), self.state.draft
        if block is None:
            return

        def show_verdicts(result: AtOnce) -> None:
            self._is_at_once = True
            made = _last_edit(draft) if draft else translate("as built")
            self._seen = [shares_of(made, result.verdict), *self._seen][:KEPT]
            state.show_verdict(result.verdict)
            shown = verdict_html(
                replace(result.verdict, evidence=()), state.block, result.memory
            )  # bars open what it cites
            shown += render_macro("parts", rows=result.why["parts"], mean=result.why["mean"], evidence=state.evidence)
            self.shown.value = shown + (render_macro("changes", rows=self._seen) if len(self._seen) > 1 else "")

        memory = draft.memory if draft else None
        waiting = translate("The judge reads the reply …")
        scoring = self.asking.start(partial(state.score_at_once, block, memory), show_verdicts, waiting, asks=False)

        async def would_change(ask: Ask) -> Changes:
            assert scoring is not None
            return await (await asyncio.wrap_future(scoring)).would_change(ask)

        def show_changes(of_target: Changes) -> None:
            changes, edits = of_target
            offered = self._offer(edits) if isinstance(memory, PreferenceMemory) else []
            self.edits.children = [widgets.HTML(render_macro("would_change", rows=changes)), *offered]

        if scoring is not None:
            self.changing.start(would_change, show_changes, translate("What would change the verdict …"), asks=False)

    def _offer(self, edits: Sequence[Mapping[str, Any]]) -> list[widgets.Widget]:
        """Return a button for each edit of the memory that would change the verdict."""
        state = self.state

        def edit(id: str, what: str) -> None:
            draft = state.draft
            if draft is not None:
                by = EDITS[what]
                state.draft = draft.scale(id, by) if by else draft.switch(id, on=False)

        made: list[widgets.Button] = []
        for each in edits:
            id, what = each["id"], each["what"]
            label = translate(
                "{statement} {made} → {score:.2f}"
                if not each["turns_round"]
                else "{statement} {made} → {score:.2f}, then satisfied"
                if each["score"] > BORDER
                else "{statement} {made} → {score:.2f}, then dissatisfied",
                statement=id,
                made=name_of(f"made {what}"),
                score=each["score"],
            )
            made.append(button(state, "", partial(edit, id, what), "magic", "make this edit"))
            made[-1].description = label
        return [heading("Edits of the memory that would change it most easily"), bar(*made)] if made else []

    def _on_draft(self, change: Any) -> None:
        draft, before = change["new"], change["old"]
        if draft is None or before is None:
            self.clear()
        elif self.follow.value and self._seen and draft.memory != before.memory:
            if self._is_at_once:
                self.judge_at_once()
            else:
                self.ask(written=False)

    def clear(self, change: Any = None) -> None:
        """Show no verdict."""
        super().clear()
        self.changing.clear()
        self._seen, self._is_at_once, self.edits.children = [], False, []


def _last_edit(draft: Draft) -> str:
    """Return what was done to a memory last, and to which of its statements."""
    what, statement = draft.made
    return f"{statement} {name_of(f'made {what}')}".strip() if draft.is_changed else translate("as built")


# -- verdicts as they are shown -----------------------------------------------------------------------------


def pool_with_history(verdict: Verdict, counts: Sequence[int]) -> tuple[tuple[float, ...] | None, float | None]:
    """Return the distribution pooled with the user's own past scores, and its mean; without either, none."""
    if verdict.p is None or not sum(counts):
        return None, None
    key = {"user": "", "scenario": ""}
    rows = pd.DataFrame([{**key, **{f"p{s}": p for s, p in enumerate(verdict.p, 1)}}])
    history = pd.DataFrame([{**key, **dict(zip(COUNTS, counts))}])
    p = POOLED.distribution(rows, history)[0]
    return tuple(map(float, p)), float(p @ SCORES)


def shares_of(label: str, verdict: Verdict) -> Shares:
    """Return a row of a table of distributions."""
    return label, verdict.p, verdict.score


def verdict_html(verdict: Verdict, block: Block, memory: UserMemory | None, counts: Sequence[int] | None = None) -> str:
    """Return a verdict as the explorer shows it; `counts` of the user's past scores, else those of the memory."""
    pooled = pool_with_history(verdict, counts or (memory.counts if memory else ()))
    rows = [
        shares_of(translate("as the judge gives it"), verdict),
        (translate("pooled with this user's past scores"), *pooled),
    ]
    citations = resolve_citations(verdict.evidence, block, memory)
    return render_macro("verdict", verdict=verdict, score=verdict.score, rows=rows, found=citations)
