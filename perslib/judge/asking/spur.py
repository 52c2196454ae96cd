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

from perslib.corpus import Block, Corpus, Target
from perslib.corpus.schema import OTHER, SATISFIED, legal_reason
from perslib.errors import DataError, Problem
from perslib.judge.asking.scores import make_cost_verdict, make_unscored_verdict
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.base import JudgeInputs, Verdict, make_unfitted_error
from perslib.judge.baselines import list_training_blocks
from perslib.llm import Answer, Ask, parse
from perslib.memory import select_profile_fields
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
    inputs = JudgeInputs(True, True, True, train=True, model=True)

    def __init__(self, settings: JudgeSettings | None = None, *, train_turns: int = TRAIN_TURNS):
        self.settings, self.train_turns = settings or JudgeSettings(), train_turns
        if not self.settings.with_rationale:
            raise DataError(Problem("settings", "is one digit, but SPUR's answer lists the rules that are met"))
        self.rules: dict[str, list[str]] = {}
        self.lack: str | None = None
        """Why nothing can be scored after fitting; None when all is well."""

    # -- learning -------------------------------------------------------------------------------------------

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Induce and reduce the rules."""
        self.lack = None
        lessons = self._sample_replies(train)
        answers = await ask(
            [self._request("spur_induce", {"label": label, **shown}) for label, shown in lessons], "rules"
        )
        candidates: dict[str, list[str]] = {label: [] for label in LABELS}
        for (label, _), answer in zip(lessons, answers):
            candidates[label] += _rules(answer)
        self.rules = await self._reduce_rules(candidates, ask)
        missing = [label for label in LABELS if not self.rules[label]]
        if missing:
            failed = next((a.error for a in answers if a.error), "train users have no such reply")
            self.lack = f"no rules for {' and '.join(missing)}: {failed}"

    def _sample_replies(self, train: Corpus) -> list[tuple[str, dict[str, Any]]]:
        """Return label and fields of the train replies to learn from."""
        samples: dict[str, list[tuple[Block, Target]]] = {label: [] for label in LABELS}
        for block, targets, scores in list_training_blocks(train, has_history=False, min_sessions=0):
            for target, score in zip(targets, scores):
                samples["SAT" if score >= 4 else "DSAT"].append((block, target))
        order = random.Random(SEED)
        return [
            (label, self._make_fields(*one))
            for label, turns in samples.items()
            for one in order.sample(turns, min(self.train_turns, len(turns)))
        ]

    async def _reduce_rules(self, candidates: Mapping[str, list[str]], ask: Ask) -> dict[str, list[str]]:
        chunks = [
            (label, rules[i : i + CHUNK], min(OF_CHUNK, len(rules) - i))
            for label, rules in candidates.items()
            for i in range(0, len(rules), CHUNK)
            if len(rules) > CHUNK
        ]
        shorter = {**candidates, **await self._merge_rules(chunks, ask)}
        last = [(label, rules, RULES) for label, rules in shorter.items() if len(rules) > RULES]
        return {**shorter, **await self._merge_rules(last, ask)}

    async def _merge_rules(self, parts: Sequence[tuple[str, list[str], int]], ask: Ask) -> dict[str, list[str]]:
        """Return lists of a label, each merged into at most so many rules; its first ones where the model gives none."""
        merged: dict[str, list[str]] = {label: [] for label, _, _ in parts}
        requests = [
            self._request("spur_reduce", {"label": label, "limit": limit, "rules": rules})
            for label, rules, limit in parts
        ]
        answers = await ask(requests, "rules") if requests else ()
        for (label, rules, limit), answer in zip(parts, answers):
            merged[label] += (_rules(answer) or rules)[:limit]
        return merged

    # -- judging --------------------------------------------------------------------------------------------

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one question a reply, all at once."""
        if not self.rules:
            raise make_unfitted_error(self)
        if self.lack is not None:
            return [Verdict(mode="unscored", error=self.lack)] * len(block)
        rules = {f"{label.lower()}_rules": self.rules[label] for label in LABELS}
        questions = [{**self._make_fields(block, target), **rules} for target in block]
        return await self.settings.ask("spur_score", questions, ask, lambda _, a: self._read(a))

    def _read(self, answer: Answer) -> Verdict:
        # An answer counts, too, where all that is wrong with it is that it has no prediction.
        matches = parse(answer.text, _MATCHES)[0] if answer.data is None else answer.data
        if matches is None:
            return make_unscored_verdict(answer, "no rules in the answer")
        verdict = replace(
            make_cost_verdict(answer),
            mode=answer.mode if answer.data else "text",
            rationale=matches.get("rationale") or None,
            evidence=tuple(f"{label} {n}" for label in LABELS for n in matches[f"{label.lower()}_matches"]),
        )
        prediction = str(matches.get("prediction")).strip().upper()
        if prediction in LABELS:
            return self._set_score(verdict, prediction == "SAT")
        sat, dsat = len(matches["sat_matches"]), len(matches["dsat_matches"])
        if not sat and not dsat:
            return replace(verdict, mode="unscored", error="neither a prediction nor a rule in the answer")
        return self._set_score(verdict, sat >= dsat)

    def _set_score(self, verdict: Verdict, satisfied: bool) -> Verdict:
        score = 4.0 if satisfied else 3.0
        reason = legal_reason(score, SATISFIED if satisfied else OTHER, self.settings.language)
        return replace(verdict, raw=score, reason=reason)

    # -- what is asked --------------------------------------------------------------------------------------

    def _make_fields(self, block: Block, target: Target) -> dict[str, Any]:
        return {"profile": select_profile_fields(block.profile, "all"), **self.settings.make_target_fields(target)}

    def _request(self, name: str, fields: Mapping[str, Any]) -> Any:
        request = prompt(name, self.settings.language, self.settings.prompts).render(**fields)
        return replace(request, seed=self.settings.seed)


def _rules(answer: Answer) -> list[str]:
    """Return the rules in an answer, each on one line."""
    return [line for rule in (answer.data or {}).get("rules", []) if (line := re.sub(r"\s+", " ", rule).strip())]
