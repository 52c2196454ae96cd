"""What a synthesis will take, before it starts: its steps gone through with texts of the usual length in a model's place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from itertools import repeat
from typing import Any

import pandas as pd

from perslib.corpus.palset_records import ASPECTS, LOG_TYPES, TRAITS
from perslib.llm import Backbone
from perslib.llm.backbone import DryRun
from perslib.palsynth.correction import filled
from perslib.palsynth.persons import BATCH, profiles, span
from perslib.palsynth.synthesis import user_files
from perslib.palsynth.writing import Writing
from perslib.prompts import phrases
from perslib.worlds.lives import Dice

#: Characters of a text as models write it on these prompts in Chinese; English takes three times as many.
USUAL = {"short": 35, "sentence": 75, "paragraph": 280, "account": 1200}
REHEARSED = 3
"""Users gone through; the rest are taken to be like them, month by month."""


@dataclass
class StandIn:
    """Answers every step with texts that say nothing, are of the usual length and pass all checks."""

    language: str = "zh"
    seed: int = 0

    def __call__(self, step: str, fields: Mapping[str, Any]) -> Any:
        """The answer to a step's question."""
        return getattr(self, f"_{step}")(fields)

    def _text(self, kind: str, mark: object = "") -> str:
        filler = phrases("stand_in", self.language)["event"]
        length = USUAL[kind] * (1 if self.language == "zh" else 3)
        return f"{mark}{filler * (length // len(filler) + 1)}"[:length]

    def _profiles(self, fields: Mapping[str, Any]) -> Any:
        told = {key: self._text("sentence") for key in ("occupation", "health", "family", "hobbies")}
        traits = dict.fromkeys(TRAITS, "medium")
        return {
            "people": [
                {
                    "name": f"P{i}",
                    "gender": ("female", "male")[i % 2],
                    "age": 30 + i,
                    **told,
                    "personality": traits,
                }
                for i in range(fields["count"])
            ]
        }

    def _timeline(self, fields: Mapping[str, Any]) -> Any:
        return {"months": [{"month": m, "events": self._text("paragraph", m)} for m in fields["months"]]}

    def _requirements(self, fields: Mapping[str, Any]) -> Any:
        return {a: [f"{a} {n}" for n in range(4 + i % 2)] for i, a in enumerate(ASPECTS)}

    def _preferences(self, fields: Mapping[str, Any]) -> Any:
        texts = {key: self._text("paragraph") for key in ("analysis", "pos", "neg")}
        return {"preferences": [{"id": one["id"], **texts} for one in fields["types"]]}

    def _situations(self, fields: Mapping[str, Any]) -> Any:
        first, last = date.fromisoformat(fields["first"]), date.fromisoformat(fields["last"])
        dice = Dice(self.seed, fields["events"], fields["first"])
        count = dice.between(4, 6)
        width = ((last - first).days + 1) // count
        ids = [one["id"] for one in fields["types"]]
        found = []
        for i in range(count):
            start = first + timedelta(days=i * width)
            chosen = dice.some(ids, dice.weighted({2: 0.55, 3: 0.45}))
            days = {"start": str(start), "end": str(start + timedelta(days=max(1, width - 1)))}
            found.append({**days, "requirement_ids": chosen, "situation": self._text("paragraph", start)})
        return {"situations": found}

    def _experience(self, fields: Mapping[str, Any]) -> Any:
        return {"experience": self._text("account", fields["start"])}

    def _frameworks(self, fields: Mapping[str, Any]) -> Any:
        needs = [
            {"need": self._text("short", n), "evidences": [self._text("sentence")] * 2} for n in ("a", "b")
        ]
        said = {"user_query": self._text("short"), "needs": needs}
        return {
            "topics": [
                {"id": one["id"], **said, "requirement": self._text("sentence", one["id"])}
                for one in fields["types"]
            ]
        }

    def _candidates(self, fields: Mapping[str, Any]) -> Any:
        return {
            "topics": [
                {"id": one["id"], "solutions": [self._text("sentence", f"w{i} ") for i in range(8)]}
                for one in fields["topics"]
            ]
        }

    def _verdicts(self, fields: Mapping[str, Any]) -> Any:
        picks = [{"id": f"S{i}", "reason": self._text("sentence")} for i in range(1, 5)]
        return {"analysis": self._text("paragraph"), "pos": picks[:2], "neg": picks[2:]}

    def _logs(self, fields: Mapping[str, Any]) -> Any:
        start = datetime.strptime(fields["start"], "%Y-%m-%d %H:%M")
        end = datetime.strptime(fields["end"], "%Y-%m-%d %H:%M")
        step = (end - start) / 22
        types = LOG_TYPES[self.language]
        return {
            "logs": [
                {
                    "at": f"{start + i * step:%Y-%m-%d %H:%M}",
                    "event": self._text("short")[:12],
                    "type": types[i % len(types)],
                    "content": filled(
                        types[i % len(types)], repeat(self._text("short", i)[:20]), self.language
                    ),
                }
                for i in range(22)
            ]
        }

    def _dialogue(self, fields: Mapping[str, Any]) -> Any:
        return {
            "turns": [
                {"turn": i, "user": self._text("short", i), "assistant": self._text("sentence", i)}
                for i in range(1, len(fields["turns"]) + 1)
            ]
        }

    def _check(self, fields: Mapping[str, Any]) -> Any:
        return {"violations": []}

    def _repair(self, fields: Mapping[str, Any]) -> Any:
        types, language = {log["id"]: log["type"] for log in fields["logs"]}, self.language
        logs = [
            {"id": id, "type": kind, "text": filled(kind, repeat(self._text("short", id)[:20]), language)}
            for id, kind in types.items()
        ]
        said = [one["id"] for one in fields["wrong"] if one["id"] not in types]
        return {"logs": logs, "turns": [{"id": id, "text": self._text("sentence", id)} for id in said]}


def estimate(
    model: Backbone, users: int = 100, language: str = "zh", seed: int = 42, *, check: bool = True
) -> pd.DataFrame:
    """Estimate what each step takes for this many users, by a dry run: calls, tokens_in, tokens_out, cost; a row a step.

    A session in which the check finds something takes a call to mend it and one more check, at most twice.
    """
    dry = DryRun(model.entry)
    writing = Writing(language, seed, check=check, usual=StandIn(language, seed))
    months = [span(f"{user:04d}", writing) for user in range(users)]
    (people,) = dry.work([partial(profiles, min(users, REHEARSED), writing)])
    dry.work([partial(user_files, user, profile, writing) for user, profile in people.items()])
    spent = {stage.removeprefix("synthesis, "): one for stage, one in dry.ledger.stages.items()}
    counted = pd.DataFrame({step: vars(one) for step, one in spent.items()}).T[
        ["calls", "tokens_in", "tokens_out"]
    ]
    scaled = counted * (sum(months) / sum(months[:REHEARSED]))
    once = ["profiles", "timeline", "requirements", "preferences"]  # a user, however many months
    scaled.loc[once] = counted.loc[once] * (users / min(users, REHEARSED))
    scaled.loc["profiles", "calls"] = -(-users // BATCH)
    table = scaled.astype(float).round().astype(int)
    cost = [model.entry.cost(row.tokens_in, 0, row.tokens_out) for row in table.itertuples()]
    return table.assign(cost=cost).rename_axis("step")
