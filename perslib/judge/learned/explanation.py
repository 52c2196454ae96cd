"""Why the learned judge gives a score: parts that add up to it, and the rated turns that it rests on.

    explanation = run_with_answers(partial(judge.explain, block))
    explanation.parts      what each trait adds, for everybody and for this user
    explanation.turns      what each of the user's rated turns adds

A verdict's rationale is made from the same parts, and it cites the turns that weigh most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block
from perslib.judge.broken import name_stub
from perslib.judge.learned.mixed import Array, EncodedTurns, Parts
from perslib.memory.features import FEATURES, KINDS, NAMES, TurnContext, measure_traits
from perslib.memory.measured import split_scores
from perslib.memory.preferences import show_value
from perslib.memory.retrieval import turn_id
from perslib.prompts import read_phrases
from perslib.stats.calibrate.user_scale import SCORES

#: Group → traits, as the mixed model has them: numbers first, then two names and the words of the reply.
GROUPS: dict[str, list[str]] = {group: list(traits) for group, traits in FEATURES.items()}
GROUPS |= {name: [name] for name in ("assistant", "scenario", "words")}
TRAITS = [trait for traits in GROUPS.values() for trait in traits]
GROUP_OF = [group for group, traits in GROUPS.items() for _ in traits]


@dataclass(frozen=True)
class Case:
    """A block as the learned judge reads it."""

    block: Block
    replies: Sequence[TurnContext]
    rated: Sequence[TurnContext]
    targets: EncodedTurns
    tied: Array
    history: EncodedTurns
    tied_history: Array
    scores: Array

    @property
    def inputs(self) -> tuple[EncodedTurns, Array, EncodedTurns, Array, Array]:
        """What the mixed model predicts from."""
        return self.targets, self.tied, self.history, self.tied_history, self.scores


@dataclass(frozen=True)
class Explanation:
    """Verdicts on a block taken apart.

    `parts` has for each target a row a part, in points of score; together they are the verdict's expected score.
    Columns: user, scenario, session, turn, group, trait, side, points, value, usual_high, usual_low. Side is
    `everybody` (their mean, and what each trait of the reply adds for everybody), `this user` (what it adds or takes
    away for this user alone), `level` (how much higher or lower this user scores any reply), `session`, and stages that
    follow: `panel` (what other judges add), `own shape` (the shape of the user's own scores), and where there is an error
    message or a lone heading `no reply` (what such a text is capped by). What is no trait of a
    group is a group by itself: mean, level, session, and the stages. The value of a trait stands beside its mean in replies
    that the user scored high and low; names and words have none.

    `turns` has for each target what the population alone says (evidence is empty) and a row for each of the user's
    rated turns, of a judge from statements for each statement; together they are the score before these two stages.
    Columns: user, scenario, session, turn, evidence, score, points, share (of all that rated turns move, whichever way).
    """

    parts: pd.DataFrame
    turns: pd.DataFrame


#: The chances of 1 to 5 of an error message or a lone heading: at most 1.5. No such reply teaches anything by it.
STUB_CHANCES = np.array([0.5, 0.5, 0, 0, 0])


def cap_stubs(case: Case, p: Array) -> Array:
    """Return the chances of 1 to 5, those of what is no reply replaced where they are better."""
    is_stub = np.array([bool(name_stub(turn.reply)) for turn in case.replies], bool)
    return np.where((is_stub & (p @ SCORES > STUB_CHANCES @ SCORES))[:, None], STUB_CHANCES, p)


def explain_case(case: Case, parts: Parts, stages: Mapping[str, Array]) -> Explanation:
    """Lay out the parts of the predictions, and what later stages add to them."""
    return Explanation(_list_parts(case, parts, stages), _list_turns(case, parts))


def _list_parts(case: Case, parts: Parts, stages: Mapping[str, Array]) -> pd.DataFrame:
    n = len(case.block)
    whole = {"mean": np.full(n, parts.mean), "level": parts.level, "session": parts.session, **stages}
    labels = [(name, "", "everybody" if name == "mean" else name) for name in whole]
    labels += [(*named, side) for side in ("everybody", "this user") for named in zip(GROUP_OF, TRAITS)]
    points = np.column_stack([*whole.values(), *parts.everybody, *parts.own])
    value, high, low = ((np.full((n, len(labels)), np.nan)) for _ in range(3))
    values = np.array([measure_traits(turn) for turn in case.replies]).reshape(n, len(NAMES))
    for shown, means in zip((value, high, low), (values, *_mean_values(case))):
        for begin in (len(whole), len(whole) + len(TRAITS)):
            shown[:, begin : begin + len(NAMES)] = means
    keys = case.block.targets[TURN]
    frame = keys.iloc[np.repeat(np.arange(n), len(labels))].reset_index(drop=True)
    group, trait, side = (np.tile(np.array(names, object), n) for names in zip(*labels))
    return frame.assign(
        group=group, trait=trait, side=side, points=points.ravel(),
        value=value.ravel(), usual_high=high.ravel(), usual_low=low.ravel(),
    )  # fmt: skip


#: A rationale names so many groups of traits on either side, and a verdict cites so many turns.
NAMED, CITED = 2, 3
#: Groups that move less than so many points are not named.
LEAST = 0.05


class Wording:
    """The words of rationales in one language."""

    def __init__(self, language: str, terms: Sequence[str]):
        self.terms = terms
        self._phrases, self._named = read_phrases("rationale", language), read_phrases("traits", language)

    def rationales(self, case: Case, parts: Parts) -> list[tuple[str, tuple[str, ...]]]:
        """Return for each target a rationale in two or three sentences, and what it cites."""
        if not len(case.block):
            return []
        groups = dict(zip(GROUPS, (both + own for both, own in zip(parts.everybody, parts.own))))
        usual, parts_of_text, terms = _mean_values(case), [], parts.terms
        said_terms = [(terms.indices[a:b], terms.data[a:b]) for a, b in pairwise(terms.indptr)]
        for i, (ids, rests) in enumerate(self._list_cited(case, parts)):
            points = {name: float(group[i].sum()) for name, group in groups.items()}
            best = sorted(points, key=points.__getitem__, reverse=True)
            sides = {
                "for": [name for name in best[:NAMED] if points[name] >= LEAST],
                "against": [name for name in best[: -NAMED - 1 : -1] if points[name] <= -LEAST],
            }
            words = []
            for side in sorted(sides, key=lambda side: -abs(sum(points[name] for name in sides[side]))):
                texts = [
                    self._describe_group(name, groups[name][i], case.replies[i], said_terms[i], usual)
                    for name in sides[side]
                ]
                words += [self._phrases[side].format(parts=self._phrases["join"].join(texts))] if texts else []
            text = self._phrases["both"].join(words)
            stub = name_stub(case.replies[i].reply)
            sentences = [
                self._phrases["stubs"][stub] if stub else "",
                self._describe_user(case, parts, i),
                self._phrases["sentence"].format(text=text[:1].upper() + text[1:]) if text else "",
                rests,
            ]
            parts_of_text.append((self._phrases["space"].join(filter(None, sentences)), ids))
        return parts_of_text

    def _describe_user(self, case: Case, parts: Parts, i: int) -> str:
        level, rated = parts.level[i], len(case.scores)
        form = "unknown" if not rated else "alike" if abs(level) < LEAST else "known"
        side = self._phrases["more" if level >= 0 else "less"]
        return str(
            self._phrases[form].format(mean=f"{parts.mean:.1f}", level=f"{abs(level):.1f}", side=side, rated=rated)
        )

    def _describe_group(
        self, name: str, parts: Array, reply: TurnContext, terms: tuple[Array, Array], usual: tuple[Array, Array]
    ) -> str:
        """Return a group of traits by the trait that says most of its points."""
        words, sign, shown = self._phrases, np.sign(parts.sum()), f"{parts.sum():+.1f}".replace("-", "−")
        if name == "words":
            which, moved = terms
            moving_terms = [self.terms[which[k]] for k in np.argsort(-sign * moved)[:3] if sign * moved[k] > 0]
            quoted = words["comma"].join(words["quote"].format(term=shown_term(term)) for term in moving_terms)
            return str(words["words"].format(terms=quoted, points=shown))
        trait = GROUPS[name][int(np.argmax(sign * parts))]
        if trait not in NAMES:
            return str(words["alone"].format(trait=self._named[trait], value=getattr(reply, name), points=shown))
        k, values = NAMES.index(trait), measure_traits(reply)
        high, low = (_show(trait, end[k], is_mean=True) for end in usual)
        value = words["yes" if values[k] > 0.5 else "no"] if KINDS[trait] == "mark" else _show(trait, values[k])
        form = "compared" if np.isfinite(usual[0][k] + usual[1][k]) else "alone"
        return str(words[form].format(trait=self._named[trait], value=value, points=shown, high=high, low=low))

    def _list_cited(self, case: Case, parts: Parts) -> list[tuple[tuple[str, ...], str]]:
        """Return for each target the turns (or statements) that move it most, and a sentence on them."""
        ids = turn_ids(case) if parts.evidence is None else list(parts.evidence)
        order = np.argsort(-np.abs(parts.turns), axis=1, kind="stable")[:, :CITED]
        cited = []
        for i, places in enumerate(order):
            places = [int(k) for k in places if parts.turns[i, k]]
            names = [f"{case.scores[k]:.0f}" if parts.evidence is None else ids[k] for k in places]
            form = "rests" if parts.evidence is None else "rests_on_statements"
            rests = self._phrases[form].format(names=self._phrases["comma"].join(names)) if places else ""
            cited.append((tuple(ids[k] for k in places), str(rests)))
        return cited


def shown_term(term: str) -> str:
    """Return a term as it stood in the text: Chinese has no blanks."""
    return term if term.isascii() else term.replace(" ", "")


def _show(trait: str, value: float, is_mean: bool = False) -> str:
    if not np.isfinite(value):
        return ""
    return f"{value:.0%}" if is_mean and KINDS[trait] == "mark" else show_value(trait, value)


def _mean_values(case: Case) -> tuple[Array, Array]:
    """Return the mean traits of the replies that the user scored high, and of those scored low; NaN where there are
    none.
    """
    is_high = case.scores >= split_scores(case.scores)
    values = np.array([measure_traits(turn) for turn in case.rated]).reshape(len(case.rated), len(NAMES))
    nothing = np.full(len(NAMES), np.nan)
    high, low = (values[rows].mean(axis=0) if rows.any() else nothing for rows in (is_high, ~is_high))
    return high, low


def _list_turns(case: Case, parts: Parts) -> pd.DataFrame:
    names = ["", *(turn_ids(case) if parts.evidence is None else parts.evidence)]
    scores = case.scores if parts.evidence is None else np.full(len(names) - 1, np.nan)
    points = np.column_stack([parts.population, parts.turns])
    moved = np.abs(parts.turns).sum(axis=1, keepdims=True)
    share = np.column_stack([np.full(len(points), np.nan), np.abs(parts.turns) / np.where(moved, moved, 1)])
    keys = case.block.targets[TURN]
    frame = keys.iloc[np.repeat(np.arange(len(keys)), len(names))].reset_index(drop=True)
    evidence, score = (
        np.tile(np.array(given, kind), len(points)) for given, kind in ((names, object), ([np.nan, *scores], float))
    )
    return frame.assign(evidence=evidence, score=score, points=points.ravel(), share=share.ravel())


def turn_ids(case: Case) -> list[str]:
    """Return ids of the user's rated turns, in the order of the history."""
    turns = case.block.evidence
    rows = zip(*(turns[name].to_numpy(object) for name in ("scenario", "session", "turn")))
    return [turn_id(*row) for row, rated in zip(rows, turns["score"].notna()) if rated]
