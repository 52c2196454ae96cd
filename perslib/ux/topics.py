"""What a request is about: UXBench's eight scenarios and five groups of intents (section 3), by rules and by a model.

The groups are parted into 83 domains of our own (`topics.toml`), for the paper's are not published. Neither labeller is
the truth: how far they agree is part of the result (`labeller_agreement` with one="scenario", other="scenario_labelled").

    topics_of(cases)                                    # scenario, intent, domain of each case, by the cues of topics.toml
    topics_of(cases, TopicLabeller(PromptSettings("zh")), model)  # and as a model labels them
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import pandas as pd

from perslib.llm import Answer, Ask, Backbone
from perslib.paths import read_toml
from perslib.prompts import PromptSettings
from perslib.ux.asking import last_json
from perslib.ux.cases import Case

OTHER = "other"
MOST_CHARACTERS = 2_000
"""Of a longer request the two ends are looked through."""
_HAN = re.compile(r"[\u3400-\u9fff]")

_SAID = read_toml(__file__, "topics.toml")
#: Where the user is, so to speak: a case's scenario, for breakdowns.
SCENARIOS: tuple[str, ...] = tuple(_SAID["scenarios"])
#: Group of intents → its domains.
INTENTS: Mapping[str, tuple[str, ...]] = {
    group: tuple(about["domains"])
    for group, about in _SAID.items()
    if isinstance(about, dict) and "domains" in about
}
#: Domain → its group.
GROUP_OF = {domain: group for group, domains in INTENTS.items() for domain in domains}


@dataclass(frozen=True)
class Topic:
    """What a request is about; `error` says why a labeller could not tell."""

    scenario: str | None
    intent: str | None
    domain: str | None
    error: str | None = None


def label_topic_by_rules(query: str, before: Sequence[str] = ()) -> Topic:
    """The domain whose cues weigh most, and the scenario that cues and domain together speak for.

    A cue weighs as many words as it has, or half as many as it has Chinese characters: "write a story" outweighs "story".
    Of equals the one that is found first wins, then the order of `topics.toml`. A request without any cue ("and in short,
    please?") is about what the user wrote `before` it, the last such message that has one; else all is `other`.
    """
    read = [_read(text) for text in (query, *before[::-1])]
    domain, scenario = (next((one[i] for one in read if one[i] != OTHER), OTHER) for i in (0, 1))
    return Topic(scenario, GROUP_OF.get(domain, OTHER), domain)


@lru_cache(maxsize=4_096)
def _read(query: str) -> tuple[str, str]:
    """Domain and scenario of one text."""
    text = unicodedata.normalize("NFKC", query).casefold()
    if len(text) > MOST_CHARACTERS:
        text = text[: MOST_CHARACTERS // 2] + "\n" + text[-MOST_CHARACTERS // 2 :]
    found = {name: weighed for name, cues in _cues("domains").items() if (weighed := _weighed(cues, text))[0]}
    domain = min(found, key=lambda name: (-found[name][0], found[name][1]), default=OTHER)
    votes = {name: _weighed(cues, text)[0] for name, cues in _cues("scenarios").items()}
    usual = _usual_scenarios().get(domain, OTHER)
    if usual != OTHER:
        votes[usual] += 1
    scenario = max(votes, key=lambda name: (votes[name], name == usual)) if any(votes.values()) else OTHER
    return domain, scenario


def _weighed(cues: re.Pattern[str], text: str) -> tuple[float, int]:
    """What all different cues in a text weigh together, and where the first one is."""
    matches = list(cues.finditer(text))
    weight = sum(
        len(cue) / 2 if _HAN.search(cue) else len(cue.split()) for cue in {match[0] for match in matches}
    )
    return weight, matches[0].start() if matches else len(text)


@cache
def _cues(kind: str) -> dict[str, re.Pattern[str]]:
    """Name → its cues, the longest first so that none hides in another."""
    listed = (
        _SAID["scenarios"]
        if kind == "scenarios"
        else {d: _SAID[g]["domains"][d]["cues"] for d, g in GROUP_OF.items()}
    )
    return {name: _pattern(cues) for name, cues in listed.items() if cues}


def _pattern(cues: Sequence[str]) -> re.Pattern[str]:
    parts = [
        re.escape(cue) if _HAN.search(cue) else rf"\b{re.escape(cue)}(?:e?s|ed|ing)?\b"
        for cue in sorted(cues, key=len, reverse=True)
    ]
    return re.compile("|".join(parts))


@cache
def _usual_scenarios() -> dict[str, str]:
    return {domain: _SAID[group]["domains"][domain]["scenario"] for domain, group in GROUP_OF.items()}


@dataclass(frozen=True)
class TopicLabeller:
    """Asks a model what a request is about."""

    form: PromptSettings = field(default_factory=PromptSettings)

    async def label(self, case: Case, ask: Ask) -> Topic:
        """One question about one request, with what was said before."""
        groups = [
            {
                "name": group,
                "about": _SAID[group][self.form.language],
                "domains": [
                    {"name": d, "about": _SAID[group]["domains"][d][self.form.language]} for d in domains
                ],
            }
            for group, domains in INTENTS.items()
        ]
        shown = self.form.history(case.history)
        request = self.form.request("ux_topic", conversation=shown, query=case.query, groups=groups)
        names = {"scenario": [*SCENARIOS, OTHER], "domain": [*GROUP_OF, OTHER]}
        properties = {name: {"type": "string", "enum": listed} for name, listed in names.items()}
        schema = {**(request.schema or {}), "properties": properties}
        (answer,) = await ask([replace(request, schema=schema)], "label")
        return read_topic(answer)


def read_topic(answer: Answer) -> Topic:
    """The labels in an answer; names that are not in the lists are no labels. The group follows from the domain."""
    data = answer.data if isinstance(answer.data, Mapping) else last_json(answer.text, "domain")
    scenario, domain = (str(data.get(k)).strip().casefold() if data else "" for k in ("scenario", "domain"))
    if scenario not in (*SCENARIOS, OTHER) or domain not in (*GROUP_OF, OTHER):
        return Topic(None, None, None, answer.error or f"no topic in {answer.text[:40]!r}")
    return Topic(scenario, GROUP_OF.get(domain, OTHER), domain)


def topics_of(
    cases: Sequence[Case],
    labeller: TopicLabeller | None = None,
    backbone: Backbone | None = None,
    *,
    progress: bool = True,
) -> pd.DataFrame:
    """Case, user, scenario, intent and domain of each case by rules; with a labeller and its backbone also
    scenario_labelled, intent_labelled, domain_labelled and label_error by the model.
    """
    by_rules = [
        label_topic_by_rules(c.query, [str(m["content"]) for m in c.history if m["role"] == "user"])
        for c in cases
    ]
    out = pd.DataFrame({"case": [c.case for c in cases], "user": [c.user for c in cases]})
    parts = ("scenario", "intent", "domain")
    for part in parts:
        out[part] = pd.array([getattr(topic, part) for topic in by_rules], dtype="str")
    if labeller is None or backbone is None:
        return out
    progress = progress and bool(cases)
    found = backbone.map(labeller.label, cases, progress=progress, totals={"label": len(cases)})
    for part in parts:
        out[f"{part}_labelled"] = pd.array([getattr(topic, part) for topic in found], dtype="str")
    return out.assign(label_error=pd.array([topic.error for topic in found], dtype="str"))
