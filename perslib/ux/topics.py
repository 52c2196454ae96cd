"""What a request is about: UXBench's eight scenarios and five groups of intents (section 3), by rules and by a model.

The groups are parted into 83 domains of our own (`topics.toml`), for the paper's are not published. Neither labelling is
the truth: how far they agree is part of the result (`labeller_agreement` with one="scenario", other="scenario_labelled").

    topics_of(cases)                                    # scenario, intent, domain of each case, by the cues of topics.toml
    topics_of(cases, PromptSettings("zh"), model)                # and as a model labels them
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import pandas as pd

from perslib.llm import Backbone, Request
from perslib.paths import read_toml
from perslib.prompts import PromptSettings
from perslib.ux.asking import label_by_model
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
#: Field of a model's answer → what it may be.
_NAMES = {"scenario": [*SCENARIOS, OTHER], "domain": [*GROUP_OF, OTHER]}


@dataclass(frozen=True)
class Topic:
    """What a request is about."""

    scenario: str
    intent: str
    domain: str


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


def _question(case: Case, form: PromptSettings) -> Request:
    """What a request is about, with what was said before, as a question to a model."""
    groups = [
        {
            "name": group,
            "about": _SAID[group][form.language],
            "domains": [{"name": d, "about": _SAID[group]["domains"][d][form.language]} for d in domains],
        }
        for group, domains in INTENTS.items()
    ]
    shown = form.history(case.history)
    request = form.request("ux_topic", conversation=shown, query=case.query, groups=groups)
    properties = {name: {"type": "string", "enum": listed} for name, listed in _NAMES.items()}
    return replace(request, schema={**(request.schema or {}), "properties": properties})


def topics_of(
    cases: Sequence[Case],
    form: PromptSettings | None = None,
    backbone: Backbone | None = None,
    *,
    progress: bool = True,
) -> pd.DataFrame:
    """Case, user, scenario, intent and domain of each case by rules; with a backbone also
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
    if backbone is None:
        return out
    form = form or PromptSettings()
    questions = [_question(case, form) for case in cases]
    found = label_by_model(questions, _NAMES, backbone, progress=progress and bool(cases))
    intent = found["domain"].map({**GROUP_OF, OTHER: OTHER}).astype("str")
    found = found.assign(intent=intent).rename(columns={part: f"{part}_labelled" for part in parts})
    return out.join(found[[*(f"{part}_labelled" for part in parts), "label_error"]])
