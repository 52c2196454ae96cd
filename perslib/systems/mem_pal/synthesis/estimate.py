"""What a synthesis will take, before it starts: its steps gone through with texts of the usual length in a model's place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from itertools import repeat
from typing import Any

import pandas as pd

from perslib.llm import Backbone, dry_run
from perslib.prompts import read_phrases
from perslib.systems.mem_pal.loaders.palset_records import ASPECTS, LOG_TYPES, TRAITS
from perslib.systems.mem_pal.synthesis.correction import fill_log_text
from perslib.systems.mem_pal.synthesis.personas import BATCH, MINUTE, span, write_profiles
from perslib.systems.mem_pal.synthesis.pipeline import user_files
from perslib.systems.mem_pal.synthesis.questions import STAGE, UserSynthesis
from perslib.worlds.lives import Dice

#: Characters of a text as models write it on these prompts in Chinese; English takes three times as many.
USUAL = {"short": 35, "sentence": 75, "paragraph": 280, "account": 1200}
REHEARSED = 3
"""Users gone through; the rest are taken to be like them, month by month."""


@dataclass
class PlaceholderAnswers:
    """Answers every step with texts that say nothing, are of the usual length and pass all checks."""

    language: str = "zh"
    seed: int = 0

    def __call__(self, step: str, fields: Mapping[str, Any]) -> Any:
        """Return the answer to a step's question."""
        return getattr(self, f"_{step}")(fields)

    def _text(self, kind: str, mark: object = "") -> str:
        filler = read_phrases("stand_in", self.language)["event"]
        length = USUAL[kind] * (1 if self.language == "zh" else 3)
        return f"{mark}{filler * (length // len(filler) + 1)}"[:length]

    def _profiles(self, fields: Mapping[str, Any]) -> Any:
        profile: dict[str, Any] = dict.fromkeys(("occupation", "health", "family", "hobbies"), self._text("sentence"))
        profile |= {"gender": "female", "age": 30, "personality": dict.fromkeys(TRAITS, "medium")}
        return {"people": [{"name": f"P{i}", **profile} for i in range(fields["count"])]}

    def _timeline(self, fields: Mapping[str, Any]) -> Any:
        return {"months": [{"month": m, "events": self._text("paragraph", m)} for m in fields["months"]]}

    def _requirements(self, fields: Mapping[str, Any]) -> Any:
        return {a: [f"{a} {n}" for n in range(4 + i % 2)] for i, a in enumerate(ASPECTS)}

    def _preferences(self, fields: Mapping[str, Any]) -> Any:
        texts = dict.fromkeys(("analysis", "pos", "neg"), self._text("paragraph"))
        return {"preferences": [{"id": one["id"], **texts} for one in fields["types"]]}

    def _situations(self, fields: Mapping[str, Any]) -> Any:
        first, last = date.fromisoformat(fields["first"]), date.fromisoformat(fields["last"])
        dice = Dice(self.seed, fields["events"], fields["first"])
        count = dice.between(4, 6)
        width = ((last - first).days + 1) // count
        ids, situations = [one["id"] for one in fields["types"]], []
        for start in (first + timedelta(days=i * width) for i in range(count)):
            chosen = dice.some(ids, dice.choose_weighted({2: 0.55, 3: 0.45}))
            days = {"start": str(start), "end": str(start + timedelta(days=max(1, width - 1)))}
            situations.append({**days, "requirement_ids": chosen, "situation": self._text("paragraph", start)})
        return {"situations": situations}

    def _experience(self, fields: Mapping[str, Any]) -> Any:
        return {"experience": self._text("account", fields["start"])}

    def _logs(self, fields: Mapping[str, Any]) -> Any:
        start, end = (datetime.strptime(fields[name], MINUTE) for name in ("start", "end"))
        entries = []
        for i in range(22):
            kind = LOG_TYPES[self.language][i % len(LOG_TYPES[self.language])]
            at = f"{start + i * (end - start) / 22:{MINUTE}}"
            entries.append({"at": at, "event": self._text("short")[:12], "type": kind, "content": self._log(kind, i)})
        return {"logs": entries}

    def _log(self, kind: str, mark: object) -> str:
        return fill_log_text(kind, repeat(self._text("short", mark)[:20]), self.language)

    def _frameworks(self, fields: Mapping[str, Any]) -> Any:
        evidences = [self._text("sentence")] * 2
        needs = [{"need": self._text("short", n), "evidences": evidences} for n in ("a", "b")]
        ids, framework = ([one["id"] for one in fields["types"]], {"user_query": self._text("short"), "needs": needs})
        return {"topics": [{"id": id, **framework, "requirement": self._text("sentence", id)} for id in ids]}

    def _candidates(self, fields: Mapping[str, Any]) -> Any:
        solutions = [self._text("sentence", f"w{i} ") for i in range(8)]
        return {"topics": [{"id": one["id"], "solutions": solutions} for one in fields["topics"]]}

    def _verdicts(self, fields: Mapping[str, Any]) -> Any:
        picks = [{"id": f"S{i}", "reason": self._text("sentence")} for i in range(1, 5)]
        return {"analysis": self._text("paragraph"), "pos": picks[:2], "neg": picks[2:]}

    def _dialogue(self, fields: Mapping[str, Any]) -> Any:
        numbers = range(1, len(fields["turns"]) + 1)
        dialogue = [{"user": self._text("short", i), "assistant": self._text("sentence", i)} for i in numbers]
        return {"turns": [{"turn": i, **both} for i, both in zip(numbers, dialogue)]}

    def _check(self, fields: Mapping[str, Any]) -> Any:
        return {"violations": []}

    def _repair(self, fields: Mapping[str, Any]) -> Any:
        types = {log["id"]: log["type"] for log in fields["logs"]}
        ids = [one["id"] for one in fields["wrong"] if one["id"] not in types]
        logs = [{"id": id, "type": kind, "text": self._log(kind, id)} for id, kind in types.items()]
        return {"logs": logs, "turns": [{"id": id, "text": self._text("sentence", id)} for id in ids]}


def estimate_synthesis(
    model: Backbone, users: int = 100, language: str = "zh", seed: int = 42, *, check: bool = True
) -> pd.DataFrame:
    """Estimate what each step takes for this many users, by a dry run: calls, tokens_in, tokens_out, cost; a row a
    step.

    A session in which the check finds something takes a call to mend it and one more check, at most twice.
    """
    stand_in = PlaceholderAnswers(language, seed)
    dry = dry_run(
        model, usual=lambda question: stand_in(question.stage.removeprefix(STAGE), question.request.shown or {})
    )
    writing = UserSynthesis(language, seed, check=check)
    months = [span(f"{user:04d}", writing) for user in range(users)]
    (people,) = dry.work([partial(write_profiles, min(users, REHEARSED), writing)])
    dry.work([partial(user_files, user, profile, writing) for user, profile in people.items()])
    spent = {stage.removeprefix(STAGE): vars(one) for stage, one in dry.ledger.stages.items()}
    counted = pd.DataFrame(spent).T[["calls", "tokens_in", "tokens_out"]]
    scaled = counted * (sum(months) / sum(months[:REHEARSED]))
    once = ["profiles", "timeline", "requirements", "preferences"]  # a user, however many months
    scaled.loc[once] = counted.loc[once] * (users / min(users, REHEARSED))
    scaled.loc["profiles", "calls"] = -(-users // BATCH)
    table = scaled.astype(float).round().astype(int)
    cost = [model.entry.cost(row.tokens_in, 0, row.tokens_out) for row in table.itertuples()]
    return table.assign(cost=cost).rename_axis("step")
