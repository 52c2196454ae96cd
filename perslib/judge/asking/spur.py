"""SPUR: rules for satisfaction and dissatisfaction, induced from train users, then applied to every reply.

PersTurnBench's rubric baseline (section 4.1, prompt in appendix H.5), after Lin et al. (2024). Three stages:

    induce   up to three rules from each of 150 satisfied and 150 dissatisfied replies of train users
    reduce   the candidates of a label become ten; more than 80 go by chunks of 80 to 20 each first
    score    a reply is checked against both lists and called SAT (4) or DSAT (3)

The published program calls a reply DSAT where the model's answer failed; here it is unscored.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perslib.corpus import TURN, Block, Corpus, Target
from perslib.corpus.schema import OTHER, SATISFIED, legal_reason
from perslib.errors import DataError, Problem
from perslib.judge.asking.scores import spent
from perslib.judge.asking.settings import AskingJudge, Manner
from perslib.judge.base import Sees, Verdict, unfitted
from perslib.llm import Answer, Ask, parse
from perslib.memory import profile_shown
from perslib.prompts import prompt

LABELS = ("SAT", "DSAT")
#: Published sizes: train replies of each label, candidates reduced in one go, rules that such a chunk leaves, rules.
TRAIN_TURNS, CHUNK, OF_CHUNK, RULES = 150, 80, 20, 10
SEED = 42
#: What an answer needs to be read where its prediction is none.
_MATCHES = {
    "type": "object",
    "required": ["sat_matches", "dsat_matches"],
    "properties": {k: {"type": "array", "items": {"type": "integer"}} for k in ("sat_matches", "dsat_matches")},
}


class Spur(AskingJudge):
    """Rules from train users' replies; `rules` shows them once it is fitted.

    `train_turns` bounds the induction: one call for each of that many replies of either label.
    """

    name = "SPUR"
    sees = Sees(True, True, True, train=True, model=True)

    def __init__(self, manner: Manner | None = None, *, train_turns: int = TRAIN_TURNS):
        self.manner, self.train_turns = manner or Manner(), train_turns
        if not self.manner.written:
            raise DataError(Problem("manner", "is one digit, but SPUR's answer lists the rules that are met"))
        self.rules: dict[str, list[str]] = {}
        self.lack: str | None = None
        """Why nothing can be scored after fitting; None when all is well."""

    # -- learning -------------------------------------------------------------------------------------------

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Induce and reduce the rules."""
        self.lack = None
        lessons = self._drawn(train)
        answers = await ask(
            [self._request("spur_induce", {"label": label, **shown}) for label, shown in lessons], "rules"
        )
        candidates: dict[str, list[str]] = {label: [] for label in LABELS}
        for (label, _), answer in zip(lessons, answers):
            candidates[label] += _rules(answer)
        self.rules = await self._reduced(candidates, ask)
        missing = [label for label in LABELS if not self.rules[label]]
        if missing:
            failed = next((a.error for a in answers if a.error), "train users have no such reply")
            self.lack = f"no rules for {' and '.join(missing)}: {failed}"

    def _drawn(self, train: Corpus) -> list[tuple[str, dict[str, Any]]]:
        """Label and fields of the train replies to learn from."""
        rated = train.turns.dropna(subset=["score"])
        keys = rated[TURN].itertuples(index=False, name=None)
        score = dict(zip(keys, rated["score"].astype(int)))
        found: dict[str, list[tuple[Block, Target]]] = {label: [] for label in LABELS}
        for pair in train.block_ids(min_history_sessions=0):
            block = train.block(*pair)
            for target in block:
                if (given := score.get((*pair, target.session, target.turn))) is not None:
                    found["SAT" if given >= 4 else "DSAT"].append((block, target))
        order = random.Random(SEED)
        return [
            (label, self._shown(*one))
            for label, turns in found.items()
            for one in order.sample(turns, min(self.train_turns, len(turns)))
        ]

    async def _reduced(self, candidates: Mapping[str, list[str]], ask: Ask) -> dict[str, list[str]]:
        chunks = {
            label: [rules[i : i + CHUNK] for i in range(0, len(rules), CHUNK)] if len(rules) > CHUNK else []
            for label, rules in candidates.items()
        }
        parts = [(label, chunk, min(OF_CHUNK, len(chunk))) for label in LABELS for chunk in chunks[label]]
        merged = (await self._merged(parts, ask)) if parts else []
        shorter = {
            label: [rule for (of, *_), rules in zip(parts, merged) if of == label for rule in rules]
            if chunks[label]
            else candidates[label]
            for label in LABELS
        }
        last = [(label, rules, RULES) for label, rules in shorter.items() if len(rules) > RULES]
        merged = (await self._merged(last, ask)) if last else []
        return shorter | {label: rules for (label, *_), rules in zip(last, merged)}

    async def _merged(self, parts: Sequence[tuple[str, list[str], int]], ask: Ask) -> list[list[str]]:
        """Each list merged into at most so many rules; its first ones where the model gives none."""
        requests = [
            self._request("spur_reduce", {"label": label, "limit": limit, "rules": rules})
            for label, rules, limit in parts
        ]
        answers = await ask(requests, "rules")
        return [(_rules(a) or rules)[:limit] for a, (_, rules, limit) in zip(answers, parts)]

    # -- judging --------------------------------------------------------------------------------------------

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """One question a reply, all at once."""
        if not self.rules:
            raise unfitted(self)
        if self.lack is not None:
            return [Verdict(mode="unscored", error=self.lack)] * len(block)
        questions = [{**self._shown(block, target), **self._lists()} for target in block]
        return await self.manner.ask("spur_score", questions, ask, lambda _, a: self._read(a))

    def _read(self, answer: Answer) -> Verdict:
        found = _matches(answer)
        if found is None:
            return replace(spent(answer), mode="unscored", error=answer.error or "no rules in the answer")
        said = answer.data or found
        verdict = replace(
            spent(answer),
            mode=answer.mode if answer.data else "text",
            rationale=said.get("rationale") or None,
            evidence=tuple(f"{label} {n}" for label in LABELS for n in found[f"{label.lower()}_matches"]),
        )
        prediction = str(said.get("prediction")).strip().upper()
        if prediction in LABELS:
            return self._scored(verdict, prediction == "SAT")
        sat, dsat = len(found["sat_matches"]), len(found["dsat_matches"])
        if not sat and not dsat:
            return replace(verdict, mode="unscored", error="neither a prediction nor a rule in the answer")
        return self._scored(verdict, sat >= dsat)

    def _scored(self, verdict: Verdict, satisfied: bool) -> Verdict:
        score = 4.0 if satisfied else 3.0
        reason = legal_reason(score, SATISFIED if satisfied else OTHER, self.manner.language)
        return replace(verdict, raw=score, reason=reason)

    # -- what is asked --------------------------------------------------------------------------------------

    def _shown(self, block: Block, target: Target) -> dict[str, Any]:
        return {"profile": profile_shown(block.profile, "all"), **self.manner.shown(target)}

    def _lists(self) -> dict[str, list[str]]:
        return {"sat_rules": self.rules["SAT"], "dsat_rules": self.rules["DSAT"]}

    def _request(self, name: str, fields: Mapping[str, Any]) -> Any:
        request = prompt(name, self.manner.language, self.manner.prompts).render(**fields)
        return replace(request, seed=self.manner.seed)


def _rules(answer: Answer) -> list[str]:
    """The rules in an answer, each on one line."""
    return [line for rule in (answer.data or {}).get("rules", []) if (line := re.sub(r"\s+", " ", rule).strip())]


def _matches(answer: Answer) -> dict[str, Any] | None:
    """The answer's object, also where all that is wrong with it is no prediction; None without rules."""
    return answer.data if answer.data is not None else parse(answer.raw, _MATCHES)[0]
