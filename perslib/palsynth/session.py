"""Sessions while they are written: chapters of a user's months, and the dialogues they lead up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from perslib.corpus.synthetic.palset_grammar import Part
from perslib.palsynth.months import MINUTE, Entry, Situation
from perslib.palsynth.topics import Script, Topic

ROLES = {"U": "user", "A": "assistant"}


@dataclass
class Chapter:
    """A situation with its log and, where one followed, its dialogue; without a dialogue, `part` is None."""

    situation: Situation
    part: Part | None
    logs: list[Entry] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    script: Script = field(default_factory=Script)
    dialogue: dict[str, Any] = field(default_factory=dict)


@dataclass
class Session:
    """A dialogue and its logs while they are corrected."""

    chapters: Sequence[Chapter]

    @property
    def date(self) -> str:
        """The date of the dialogue."""
        return self.chapters[-1].situation.date

    @property
    def script(self) -> Script:
        """What the dialogue was to go through."""
        return self.chapters[-1].script

    @property
    def dialogue(self) -> dict[str, Any]:
        """The dialogue, as the release has it."""
        return self.chapters[-1].dialogue

    def logs(self) -> dict[str, Entry]:
        """The logs of all situations by id, counted from 1."""
        return {f"L{n}": e for n, e in enumerate((e for c in self.chapters for e in c.logs), start=1)}

    def turns(self) -> list[dict[str, str]]:
        """The utterances in order, as prompts take them."""
        return [
            {
                "id": f"{letter}{n}",
                "role": role,
                "action": plan[role],
                "about": plan[f"{role}_about"],
                "text": self.dialogue[f"turn_{n}"][role]["content"],
            }
            for n, plan in enumerate(self.script.turns, start=1)
            for letter, role in ROLES.items()
        ]

    def mend(self, logs: dict[str, Entry], turns: dict[str, str]) -> None:
        """Put mended logs and utterances in the place of the old ones."""
        entries = iter((self.logs() | logs).values())
        for chapter in self.chapters:
            chapter.logs = [next(entries) for _ in chapter.logs]
        for id, text in turns.items():
            self.dialogue[f"turn_{id[1:]}"][ROLES[id[0]]]["content"] = text

    def place(self, id: str) -> str:
        """Where something stands, for people."""
        if id in (logs := self.logs()):
            return f"log of {logs[id].at:{MINUTE}}"
        return f"{self.date} turn {id[1:]}, {ROLES[id[0]]}"


def sessions(chapters: Sequence[Chapter]) -> Iterator[Session]:
    """The logs after the last dialogue are in no session, and not in the release."""
    start = 0
    for end, chapter in enumerate(chapters, start=1):
        if chapter.part is not None:
            yield Session(chapters[start:end])
            start = end
