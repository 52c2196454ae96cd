"""UX Recovery: a reply after a complaint (UXBench, section 4.3).

Five prompts, from one that says nothing of a failure to one that has the model criticise the failed reply first; and two
layouts: `briefed` tells a helper of the conversation in one message, `replay` lets the conversation itself go on. In
either the history is shown as far as the form allows; the failed reply and the complaint always are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from perslib.errors import UnknownName
from perslib.llm import Ask, Request, Steps
from perslib.ux.answers import Reply
from perslib.ux.asking import Form, last_json
from perslib.ux.cases import Case
from perslib.ux.generation import plain_reply

Variant = Literal["normal", "baseline", "chain of thought", "failure-aware", "critique"]
Layout = Literal["briefed", "replay"]
#: Prompt, and what it has the model write beside the reply.
VARIANTS: dict[str, tuple[str, str | None]] = {
    "normal": ("ux_recovery_normal", None),
    "baseline": ("ux_recovery_baseline", None),
    "chain of thought": ("ux_recovery_cot", "thoughts"),
    "failure-aware": ("ux_recovery_failure", "failure"),
    "critique": ("ux_recovery_critique", "critique"),
}
LAYOUTS: tuple[Layout, ...] = ("briefed", "replay")


@dataclass(frozen=True)
class Recovery:
    """How recovery is asked for."""

    variant: Variant = "baseline"
    layout: Layout = "briefed"
    form: Form = field(default_factory=Form)

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UnknownName("recovery prompt", self.variant, VARIANTS)
        if self.layout not in LAYOUTS:
            raise UnknownName("layout", self.layout, LAYOUTS)

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.variant if self.layout == "briefed" else f"{self.variant} ({self.layout})"

    def reply(self, case: Case) -> Steps[Reply]:
        """One reply; where the model writes something beside it, that is its note."""
        (answer,) = yield Ask([self.request(case)], "reply")
        note = VARIANTS[self.variant][1]
        if note is None:
            return plain_reply(answer)
        data = answer.data if isinstance(answer.data, Mapping) else last_json(answer.text, "reply")
        text = str(data.get("reply") or "").strip() if data else ""
        if not data or not text:
            return Reply(None, answer, error=answer.error or "no reply in the answer")
        return Reply(text, answer, note=str(data.get(note) or "") or None)

    def request(self, case: Case) -> Request:
        """The question, in its layout."""
        shown = self.form.shown(case.said)
        request = self.form.request(
            VARIANTS[self.variant][0], conversation=shown, failed=case.reply, complaint=case.complaint
        )
        if self.layout == "briefed":
            return request
        system = [m for m in request.messages if m["role"] == "system"]
        failed = {"role": "assistant", "content": case.reply}
        said = [*shown, failed, {"role": "user", "content": case.complaint}]
        return replace(request, messages=[*system, *said])
