"""What was shown to the researcher: gold labels, verdicts, a user's past. A line a fact, kept between sessions."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Literal

from perslib.paths import state

Key = tuple[str, str, str, int]
What = Literal["gold", "past", "verdict"]


def file_of(corpus: str) -> str:
    """The name of a file of lines about the corpus of this name."""
    return re.sub(r"[^\w.-]+", "_", corpus) + ".jsonl"


class Journal:
    """`.perslib/explorer/<corpus>.jsonl`: once a turn's label or verdict was seen, it cannot be unseen."""

    def __init__(self, corpus: str):
        self.path = state() / "explorer" / file_of(corpus)
        self._seen: set[tuple[str, Key]] = set()
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    fact = json.loads(line)
                    user, scenario, session, turn = fact["turn"]
                    self._seen.add((fact["shown"], (user, scenario, session, int(turn))))
                except (ValueError, KeyError, TypeError):
                    continue  # a line cut off by a crash says nothing

    def has(self, what: What, key: Key) -> bool:
        """Whether it was shown."""
        return (what, key) in self._seen

    def note(self, what: What, key: Key) -> None:
        """It is shown now."""
        if self.has(what, key):
            return
        self._seen.add((what, key))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fact = {"shown": what, "turn": key, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(fact, ensure_ascii=False) + "\n")
