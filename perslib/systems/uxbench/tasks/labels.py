"""Labels of texts by rules and by a model: what a reply to a complaint opens with, and what a request is about.

    strategies_of(replies)                              # six strategies of an opening (UXBench, Table 4), by cues
    topics_of(cases)                                    # eight scenarios, five groups of intents (section 3), by cues
    topics_of(cases, PromptSettings("zh"), model)       # and as a model labels them

The opening is the reply's first two sentences, 120 units (Chinese characters or words) at most. The groups of intents are
parted into 83 domains of our own (`topics.toml`), for the paper's are not published. Neither labelling is the truth: how
far they agree is part of the result (`labeller_agreement`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import NamedTuple

import pandas as pd

from perslib.judge.asking.labels import read_object
from perslib.llm import Ask, Backbone, Request
from perslib.paths import read_toml
from perslib.prompts import PromptSettings
from perslib.stats import Resamples, cohen_under
from perslib.systems.uxbench.tasks.cases import Case

OTHER = "other"
_HAN = re.compile(r"[\u3400-\u9fff]")


STRATEGIES = ("apology", "agreement", "error_diagnosis", "humor", "direct_fix", "clarification")
SENTENCES, UNITS = 2, 120
_UNIT = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_]+)?")
_END = re.compile(r"(?<=[\u3002\uff01\uff1f!?])|(?<=\.)\s+(?=[A-Z\"'(\d])|\n+")


def label_by_model(
    questions: Sequence[Request | None],
    names: Mapping[str, Sequence[str]],
    backbone: Backbone,
    *,
    progress: bool = True,
) -> pd.DataFrame:
    """Ask a model for labels: of each field of its answer, one of the `names`. A question of None has nothing to label.

    Columns: the fields (missing where one of them has none of its names), label_error.
    """
    totals = {"label": len(questions)}
    labels = backbone.map(partial(_ask_label, names), questions, progress=progress, totals=totals)
    return pd.DataFrame(labels, columns=[*names, "label_error"], dtype="str")


async def _ask_label(names: Mapping[str, Sequence[str]], question: Request | None, ask: Ask) -> dict[str, str]:
    if question is None:
        return {"label_error": "the text is empty"}
    (answer,) = await ask([question], "label")
    reply = read_object(answer, next(iter(names))) or {}
    labels = {name: str(reply.get(name)).strip().casefold() for name in names}
    if any(labels[name] not in allowed for name, allowed in names.items()):
        return {"label_error": answer.error or f"no label in {answer.text[:40]!r}"}
    return labels


@cache
def _openings() -> dict[str, tuple[re.Pattern[str], re.Pattern[str] | None]]:
    """Return the strategy → its cues of both languages, and what blocks them."""
    strategies = read_toml(__file__, "strategies.toml")
    openings = {}
    for name in STRATEGIES:
        cues, blocked = (strategies[name][f"{p}en"] + strategies[name][f"{p}zh"] for p in ("", "blocked_"))
        flags = re.IGNORECASE
        openings[name] = (re.compile("|".join(cues), flags), re.compile("|".join(blocked), flags) if blocked else None)
    return openings


def select_opening(reply: str) -> str:
    """Return the first two sentences, cut after 120 units."""
    parts = [part for part in _END.split(reply.strip()) if part and part.strip()]
    text = " ".join(part.strip() for part in parts[:SENTENCES])
    units = list(_UNIT.finditer(text))
    return text if len(units) <= UNITS else text[: units[UNITS - 1].end()]


def label_by_rules(reply: str) -> tuple[str, ...]:
    """Return all strategies by the cues of `strategies.toml`, Chinese and English alike, in the order in which they
    occur.
    """
    text, places = select_opening(reply), {}
    for name, (cues, blocked) in _openings().items():
        shown = blocked.sub(lambda match: " " * len(match[0]), text) if blocked else text
        if match := cues.search(shown):
            places[name] = match.start()
    return tuple(sorted(places, key=lambda name: (places[name], STRATEGIES.index(name))))


def strategies_of(
    replies: pd.DataFrame,
    complaints: Mapping[str, str] | None = None,
    form: PromptSettings | None = None,
    backbone: Backbone | None = None,
    *,
    progress: bool = True,
) -> pd.DataFrame:
    """Return the replies with columns strategy (the first in the opening) and strategies (all) by rules; with a
    backbone also labelled and label_error by the model. `complaints` says what each case complained of.
    """
    written = replies["reply"].fillna("").astype(str)
    labels = [label_by_rules(text) for text in written]
    first = [(of or (OTHER,))[0] if text.strip() else None for of, text in zip(labels, written)]
    out = replies.assign(
        strategy=pd.array(first, dtype="str"), strategies=pd.Series(labels, index=replies.index, dtype=object)
    )
    if backbone is None:
        return out
    form = form or PromptSettings()
    given_labels = complaints or {}
    questions = [
        form.make_request("ux_strategy", complaint=given_labels.get(case, ""), reply=shown) if shown else None
        for case, shown in zip(replies["case"], map(select_opening, written))
    ]
    given = label_by_model(questions, {"primary": [*STRATEGIES, OTHER]}, backbone, progress=progress)
    return out.join(given.rename(columns={"primary": "labelled"}).set_index(replies.index))


def labeller_agreement(
    labelled: pd.DataFrame, *, one: str = "strategy", other: str = "labelled", names: Sequence[str] = STRATEGIES
) -> pd.DataFrame:
    """Return Cohen's κ of two labellings, of all labels and of each of the `names` against the rest; intervals are over
    cases.

    Columns: label ("all" first), kappa, kappa_low, kappa_high, equal (share of equal labels), one and other (how many each calls
    so), replies (that both labelled), unlabelled.
    """
    known = labelled.dropna(subset=[one, other])
    cases = Resamples(known["case"])
    rows = []
    for name in ("all", *names):
        a, b = (known[c] if name == "all" else known[c] == name for c in (one, other))
        if name != "all" and not (a.any() or b.any()):
            continue
        kappas = cohen_under(a.to_numpy(object), b.to_numpy(object), cases)
        one_calls, other_calls = (len(own) if name == "all" else int(own.sum()) for own in (a, b))
        row = {"label": name, **cases.estimate(kappas, "kappa", "correlation"), "equal": (a == b).mean()}
        row |= {"one": one_calls, "other": other_calls, "replies": len(known)}
        rows.append(row | {"unlabelled": len(labelled) - len(known)})
    return pd.DataFrame(rows)


def strategy_shares(labelled: pd.DataFrame) -> pd.DataFrame:
    """Return how often each strategy is the primary one, in percent of all replies, with intervals over cases.

    Columns: strategy (those of Table 4 and other), replies, percent, percent_low, percent_high.
    """
    known = labelled.dropna(subset=["strategy"])
    cases, rows = Resamples(known["case"]), []
    for name in (*STRATEGIES, OTHER):
        chosen = (known["strategy"] == name).to_numpy(float)
        percent = cases.estimate(cases.mean(100 * chosen), "percent", "percent")
        rows.append({"strategy": name, "replies": int(chosen.sum()), **percent})
    return pd.DataFrame(rows)


MOST_CHARACTERS = 2_000
"""Of a longer request the two ends are looked through."""

_SAID = read_toml(__file__, "topics.toml")
#: Where the user is, so to speak: a case's scenario, for breakdowns.
SCENARIOS: tuple[str, ...] = tuple(_SAID["scenarios"])
#: Group of intents → its domains.
INTENTS: Mapping[str, tuple[str, ...]] = {
    group: tuple(about["domains"]) for group, about in _SAID.items() if isinstance(about, dict) and "domains" in about
}
#: Domain → its group.
GROUP_OF = {domain: group for group, domains in INTENTS.items() for domain in domains}
#: Field of a model's answer → what it may be.
_NAMES = {"scenario": [*SCENARIOS, OTHER], "domain": [*GROUP_OF, OTHER]}


class RequestTopic(NamedTuple):
    """What a request is about."""

    scenario: str
    intent: str
    domain: str


def label_topic_by_rules(query: str, before: Sequence[str] = ()) -> RequestTopic:
    """Return the domain whose cues weigh most, and the scenario that cues and domain together speak for.

    A cue weighs as many words as it has, or half as many as it has Chinese characters: "write a story" outweighs "story".
    Of equals the one that is found first wins, then the order of `topics.toml`. A request without any cue ("and in short,
    please?") is about what the user wrote `before` it, the last such message that has one; else all is `other`.
    """
    read = [_read(text) for text in (query, *before[::-1])]
    domain, scenario = (next((one[i] for one in read if one[i] != OTHER), OTHER) for i in (0, 1))
    return RequestTopic(scenario, GROUP_OF.get(domain, OTHER), domain)


@lru_cache(maxsize=4_096)
def _read(query: str) -> tuple[str, str]:
    """Return domain and scenario of one text."""
    text = unicodedata.normalize("NFKC", query).casefold()
    if len(text) > MOST_CHARACTERS:
        text = text[: MOST_CHARACTERS // 2] + "\n" + text[-MOST_CHARACTERS // 2 :]
    domains = {name: weighed for name, cues in _cues("domains").items() if (weighed := _weigh_cases(cues, text))[0]}
    domain = min(domains, key=lambda name: (-domains[name][0], domains[name][1]), default=OTHER)
    votes = {name: _weigh_cases(cues, text)[0] for name, cues in _cues("scenarios").items()}
    usual = _usual_scenarios().get(domain, OTHER)
    if usual != OTHER:
        votes[usual] += 1
    scenario = max(votes, key=lambda name: (votes[name], name == usual)) if any(votes.values()) else OTHER
    return domain, scenario


def _weigh_cases(cues: re.Pattern[str], text: str) -> tuple[float, int]:
    """Return what all different cues in a text weigh together, and where the first one is."""
    matches = list(cues.finditer(text))
    weight = sum(len(cue) / 2 if _HAN.search(cue) else len(cue.split()) for cue in {match[0] for match in matches})
    return weight, matches[0].start() if matches else len(text)


@cache
def _cues(kind: str) -> dict[str, re.Pattern[str]]:
    """Return name → its cues, the longest first so that none hides in another."""
    listed = (
        _SAID["scenarios"] if kind == "scenarios" else {d: _SAID[g]["domains"][d]["cues"] for d, g in GROUP_OF.items()}
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
    """Return what a request is about, with what was said before, as a question to a model."""
    groups = [
        {
            "name": group,
            "about": _SAID[group][form.language],
            "domains": [{"name": d, "about": _SAID[group]["domains"][d][form.language]} for d in domains],
        }
        for group, domains in INTENTS.items()
    ]
    shown = form.cut_history(case.history)
    request = form.make_request("ux_topic", conversation=shown, query=case.query, groups=groups)
    properties = {name: {"type": "string", "enum": listed} for name, listed in _NAMES.items()}
    return replace(request, schema={**(request.schema or {}), "properties": properties})


def topics_of(
    cases: Sequence[Case], form: PromptSettings | None = None, backbone: Backbone | None = None
) -> pd.DataFrame:
    """Return case, user, scenario, intent and domain of each case by rules; with a backbone also
    scenario_labelled, intent_labelled, domain_labelled and label_error by the model.
    """
    by_rules = [
        label_topic_by_rules(c.query, [str(m["content"]) for m in c.history if m["role"] == "user"]) for c in cases
    ]
    out = pd.DataFrame({"case": [c.case for c in cases], "user": [c.user for c in cases]})
    out = out.join(pd.DataFrame(by_rules, columns=RequestTopic._fields, dtype="str"))
    if backbone is None:
        return out
    form = form or PromptSettings()
    questions = [_question(case, form) for case in cases]
    labels = label_by_model(questions, _NAMES, backbone, progress=bool(cases))
    intent = labels["domain"].map({**GROUP_OF, OTHER: OTHER}).astype("str")
    of_model = labels.assign(intent=intent)[[*RequestTopic._fields]].add_suffix("_labelled")
    return out.join(of_model.assign(label_error=labels["label_error"]))
