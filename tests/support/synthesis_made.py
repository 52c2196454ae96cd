"""A model in a test that writes PAL-Sets, and one persona with a situation."""

from __future__ import annotations

import copy
import json
from datetime import datetime

from scripted import in_rounds

from perslib.llm import Answer
from perslib.systems.mem_pal.synthesis.estimate import PlaceholderAnswers
from perslib.systems.mem_pal.synthesis.personas import DraftSituation, Persona
from perslib.systems.mem_pal.synthesis.questions import UserSynthesis

ONE = Persona(
    "0000",
    {"name": "Ida"},
    {"2024-12": "much"},
    {"work-1": "shifts", "health-1": "sleep"},
    {"work-1": {"pos": "warm", "neg": "cold"}, "health-1": {"pos": "warm", "neg": "cold"}},
)
OWN = DraftSituation(datetime(2024, 12, 2, 8), datetime(2024, 12, 6, 18), ("work-1", "health-1"), "Nights.")


class Model:
    """Answers as the stand-in does, unless `change` makes something else of the answer to (step, place, try)."""

    name = "stand-in"

    def __init__(self, monkeypatch, language="zh", change=lambda step, place, again, data: data):
        self.stand_in, self.change = PlaceholderAnswers(language, 42), change
        self.tasks = {}
        self.asked = []
        write = UserSynthesis.write

        def remember(writing, ask, step, place, read, /, **fields):
            self.tasks[self._key(writing.request(step, fields))] = step, place, fields
            return write(writing, ask, step, place, read, **fields)

        monkeypatch.setattr(UserSynthesis, "write", remember)

    @staticmethod
    def _key(request):
        return tuple(m["content"] for m in request.messages[:2])

    def work(self, methods, **settings):
        return [in_rounds(method, lambda _, requests: list(map(self._answer, requests))) for method in methods]

    def says(self, body):
        """The answer to a question that came over HTTP."""
        step, _, fields = self.tasks[tuple(m["content"] for m in body["messages"][:2])]
        return json.dumps(self.stand_in(step, fields), ensure_ascii=False)

    def _answer(self, request):
        (step, place, fields), again = self.tasks[self._key(request)], len(request.messages) > 2
        self.asked.append((step, place, request))
        data = self.change(step, place, again, copy.deepcopy(self.stand_in(step, fields)))
        return Answer(text=str(data), data=data, error=None if data is not None else "no JSON")
