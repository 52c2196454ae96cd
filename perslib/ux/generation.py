"""UX Eval: a model answers requests whose recorded reply was disliked (UXBench, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from perslib.errors import UnknownName
from perslib.llm import Answer, Ask, Request, Steps
from perslib.prompts import prompt
from perslib.ux.answers import Reply
from perslib.ux.asking import Form
from perslib.ux.cases import Case

#: System prompts by name; `none` sends no system message.
SYSTEMS: dict[str, str | None] = {
    "helpful": "ux_eval_helpful",
    "none": None,
    "experience": "ux_eval_experience",
    "empathy": "ux_eval_empathy",
}
TEMPERATURE, MAX_TOKENS = 0.7, 2048


@dataclass(frozen=True)
class Generation:
    """Answers the conversation as chat messages under one of the `SYSTEMS`."""

    system: str = "helpful"
    form: Form = field(default_factory=Form)

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS:
            raise UnknownName("system prompt", self.system, SYSTEMS)

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.system

    def reply(self, case: Case) -> Steps[Reply]:
        """One reply."""
        (answer,) = yield Ask([self.request(case)], "reply")
        return plain_reply(answer)

    def request(self, case: Case) -> Request:
        """The system message if any, the history as far as it is shown, the request."""
        said = [*self.form.shown(case.history), {"role": "user", "content": case.query}]
        name = SYSTEMS[self.system]
        if name is None:
            return self.form.formed(Request(said, temperature=TEMPERATURE, max_tokens=MAX_TOKENS))
        request = prompt(name, self.form.language, self.form.prompts).render()
        return self.form.formed(replace(request, messages=[*request.messages, *said]))


def plain_reply(answer: Answer) -> Reply:
    """The text of an answer as a reply; an empty one is none."""
    text = answer.text.strip()
    if answer.error is not None or not text:
        return Reply(None, answer, error=answer.error or "the reply is empty")
    return Reply(text, answer)
