"""The turns of a replay on which candidates differ most, each to be opened down to what a verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Block, Corpus
from perslib.errors import DataError, Problem
from perslib.memory import score_counts
from perslib.replay.replies import ORIGINAL
from perslib.replay.scores import EXACT, SCORE, Scores, by_judge
from perslib.report.page import current
from perslib.report.show import (
    conversation_html,
    escape,
    fold_html,
    reply_html,
    score_chip,
    show_html,
    text_html,
)
from perslib.report.words import name_of
from perslib.studies.rationale_cases import cited_html, facts_html, similar_html, verdict_html
from perslib.studies.rationales import Memories
from perslib.studies.verification import task_of
from perslib.text import translate

#: Messages before the reply that are shown at once, as many as PersTurnBench shows its judge.
RECENT = 5
#: Scores as a judge gives them; any other column is a calibrated one.
UNCALIBRATED = ("raw", "expected", "real")


# -- which turns -----------------------------------------------------------------------------------------------


def differing(verdicts: pd.DataFrame, score: str = SCORE, most: int = 8) -> pd.DataFrame:
    """The turns on which one judge's scores of the candidates lie furthest apart.

    One row a turn: user, scenario, session, turn; spread (highest − lowest score over the candidates), deviation
    (their standard deviation), mean; lowest, highest; best, worst (tuples of candidates: several where they are
    equal); scored, unscored (replies judged without a score, which are in none of the numbers).

    Largest spread first, then largest deviation, then in order of the keys. Every block (user and scenario) gives
    its first turn before any gives a second. Turns without two scores, or with equal ones only, are no cases;
    `attrs` counts them as `too_few` and `alike`. No score that a user gave is looked at.
    """
    of = _of_one_judge(verdicts, score)
    known = np.isfinite(of.score)
    rows = [_spread(of, i) for i in np.flatnonzero(known.sum(axis=1) > 1).tolist()]
    found = pd.DataFrame(rows, columns=[*TURN, *_NUMBERS, "best", "worst", *_COUNTS])
    found = found.astype({**dict.fromkeys(_NUMBERS, float), **dict.fromkeys(["turn", *_COUNTS], int)})
    apart = found[found["spread"] > EXACT]
    # Rounded, so that what is equal but for the machine's rounding is a tie.
    ordered = apart.assign(_spread=-apart["spread"].round(9), _deviation=-apart["deviation"].round(9))
    ordered = ordered.sort_values(["_spread", "_deviation", *TURN], kind="stable")
    nth = ordered.groupby(BLOCK).cumcount().to_numpy()
    places = np.sort(np.argsort(np.minimum(nth, 1), kind="stable")[:most])
    out = ordered.iloc[places][found.columns].reset_index(drop=True)
    out.attrs.update(too_few=len(of.turns) - len(found), alike=len(found) - len(apart))
    return out


_NUMBERS = ["spread", "deviation", "mean", "lowest", "highest"]
_COUNTS = ["scored", "unscored"]


def _spread(of: Scores, turn: int) -> dict[str, Any]:
    scores = of.score[turn]
    known = np.isfinite(scores)
    low, high = float(scores[known].min()), float(scores[known].max())
    return {
        **of.turns.iloc[turn],
        "spread": high - low,
        "deviation": float(scores[known].std()),
        "mean": float(scores[known].mean()),
        "lowest": low,
        "highest": high,
        "best": _named(of, scores >= high - EXACT),
        "worst": _named(of, scores <= low + EXACT),
        "scored": int(known.sum()),
        "unscored": int((of.judged[turn] & ~known).sum()),
    }


def _named(of: Scores, which: np.ndarray) -> tuple[str, ...]:
    return tuple(c for c, is_one in zip(of.candidates, which, strict=True) if is_one)


def _of_one_judge(verdicts: pd.DataFrame, score: str) -> Scores:
    judges = list(by_judge(verdicts, score))
    if len(judges) == 1:
        return judges[0]
    if not judges:
        raise DataError("There are no verdicts", "Score the replies first: perslib.replay.scored.")
    names = [" on ".join(str(n) for n in of.judged_by.values() if n is not None) for of in judges]
    raise DataError(
        [Problem("verdicts", f"are of several judges: {', '.join(names)}")],
        "Cases show one judge's opinion; pass verdicts[verdicts['judge'] == …] (and one backbone).",
    )


# -- a case ----------------------------------------------------------------------------------------------------


def show_case(
    row: Mapping[str, Any],
    corpus: Corpus,
    replies: pd.DataFrame,
    verdicts: pd.DataFrame,
    *,
    memories: Memories | None = None,
    score: str = SCORE,
    gold: bool = False,
) -> None:
    """Show a turn of `differing` as a line that opens: task, conversation, then every reply with its verdict.

    Under a verdict stand what it cites, resolved in `memories` where they are given, and the rated turns of the
    user's history that are most like the turn with this reply. With `gold`, the user's score of the recorded reply
    is shown too.
    """
    body, plain = case_html(row, corpus, replies, verdicts, memories=memories, score=score, gold=gold)
    show_html(body, plain)


def case_html(
    row: Mapping[str, Any],
    corpus: Corpus,
    replies: pd.DataFrame,
    verdicts: pd.DataFrame,
    *,
    memories: Memories | None = None,
    score: str = SCORE,
    gold: bool = False,
) -> tuple[str, str]:
    """What `show_case` shows, as HTML, and its heading as plain words."""
    page = current()
    answers = _answers(row, replies, verdicts, score)
    at = {key: row[key] for key in TURN}
    place = translate(
        "{user} · {scenario} · session {session}, turn {turn}",
        **{**at, "scenario": name_of(row["scenario"])},
    )
    block = _answered(corpus.block(row["user"], row["scenario"]), row, answers)
    head = f'<span class="pl-case-place">{escape(place)}</span> {_range(answers)}'
    told = facts_html(_known_of_user(block.evidence) + (_gold(corpus, row) if gold else []))
    prefix = next(iter(block)).prefix
    conversation = conversation_html(prefix, task_of(corpus, row), recent=RECENT)
    memories = memories or {}
    nested = "\n".join(
        _answer(answer, score, _cited(answer, block, memories) + similar, opened)
        for answer, similar, opened in zip(answers, similar_html(block), _ends(answers), strict=True)
    )
    title = f'<div class="pl-case-part">{translate("Replies, highest score first")}</div>'
    body = fold_html(head, f"{conversation}{told}{title}{nested}", "pl-case")
    return f'<div class="pl-cases" lang="{page.language}">{body}</div>', place


def _answers(
    row: Mapping[str, Any], replies: pd.DataFrame, verdicts: pd.DataFrame, score: str
) -> list[dict[str, Any]]:
    """Each candidate's reply and verdict on the turn as one mapping, highest score first, unscored last."""
    said, judged = (_on(row, frame) for frame in (replies, verdicts))
    if judged.empty:
        at = "/".join(str(row[key]) for key in TURN)
        raise DataError(Problem(at, "the verdicts have no such turn"), "Show turns of `differing(verdicts)`.")
    _of_one_judge(judged, score)
    raw = judged["real"] if "real" in judged else judged["expected"].fillna(judged["raw"])
    judged = judged.assign(_score=judged[score].astype("Float64"), _raw=raw.astype("Float64"))
    texts = said[["candidate", *(c for c in ("response", "system", "finish", "error") if c in said)]]
    both = judged.merge(texts, on="candidate", how="outer", suffixes=("", "_of_reply"), validate="1:1")
    first = list(dict.fromkeys([*judged["candidate"], *said["candidate"]]))
    both = both.assign(_place=both["candidate"].map(first.index))
    both = both.sort_values(["_score", "_place"], ascending=[False, True], na_position="last", kind="stable")
    both = both.astype(object).where(both.notna(), None)
    return [{str(k): v for k, v in answer.items()} for answer in both.to_dict("records")]


def _on(row: Mapping[str, Any], frame: pd.DataFrame) -> pd.DataFrame:
    own = frame
    for key in TURN:
        own = own[own[key] == row[key]]
    return own.assign(candidate=own["candidate"].astype("str").fillna(ORIGINAL))


def _answered(block: Block, row: Mapping[str, Any], answers: list[dict[str, Any]]) -> Block:
    """The block with the turn alone as target, once with each reply."""
    own = block.targets
    target = own[(own["session"] == row["session"]) & (own["turn"] == row["turn"])]
    if target.empty:
        at = "/".join(str(row[key]) for key in TURN)
        raise DataError(
            Problem(at, "the corpus has no such turn"), "Was the replay made from another corpus?"
        )
    targets = pd.concat([target] * len(answers), ignore_index=True)
    return replace(block, targets=targets.assign(response=[a.get("response") or "" for a in answers]))


def _ends(answers: list[dict[str, Any]]) -> list[bool]:
    """Which replies stand open: the first of the best and the last of the worst."""
    scored = [i for i, answer in enumerate(answers) if answer["_score"] is not None]
    return [i in (scored[:1] + scored[-1:]) for i in range(len(answers))]


# -- its parts as HTML -----------------------------------------------------------------------------------------


def _range(answers: list[dict[str, Any]]) -> str:
    """The lowest and the highest score, each with its candidates."""
    scores = [a["_score"] for a in answers if a["_score"] is not None]
    parts = []
    for end in (min(scores), max(scores)) if scores else ():
        equal = [a for a in answers if a["_score"] is not None and abs(a["_score"] - end) < EXACT]
        names = ", ".join(_name(a["candidate"]) for a in equal)
        parts.append(f'<span class="pl-case-end">{score_chip(end)} {escape(names)}</span>')
    text = ' <span class="pl-case-arrow">→</span> '.join(parts)
    if without := len(answers) - len(scores):
        text += f' <span class="pl-note">{escape(translate("{n} without score", n=without))}</span>'
    return f'<span class="pl-case-range">{text}</span>'


def _name(candidate: str) -> str:
    return name_of(candidate) if candidate == ORIGINAL else candidate


def _answer(answer: dict[str, Any], score: str, evidence: str, opened: bool) -> str:
    """One candidate: score and name; open, the reply, what it was told, the verdict and the evidence."""
    value = np.nan if answer["_score"] is None else answer["_score"]
    head = f'{score_chip(value)} <span class="pl-case-name">{escape(_name(answer["candidate"]))}</span>'
    if answer["_score"] is not None and answer["_raw"] is not None and score not in UNCALIBRATED:
        moved = translate(
            "judged {raw} → calibrated {score}", raw=f"{answer['_raw']:.2f}", score=f"{answer['_score']:.2f}"
        )
        head += f' <span class="pl-small">{escape(moved)}</span>'
    if answer.get("finish") == "length":
        head += f' <span class="pl-note">{translate("cut at the maximum length")}</span>'
    parts = [_reply(answer)]
    if answer.get("system"):
        parts.append(fold_html(translate("System message"), text_html(answer["system"])))
    parts.append(verdict_html(answer))
    parts.append(fold_html(translate("Evidence"), evidence))
    return fold_html(head, f'<div class="pl-case-body">{"".join(parts)}</div>', "pl-case-reply", opened)


def _reply(answer: dict[str, Any]) -> str:
    if answer.get("response"):
        return reply_html(answer["response"])
    why = answer.get("error_of_reply") or answer.get("error") or "–"
    return f'<div class="pl-text pl-empty">{escape(translate("(no reply: {error})", error=why))}</div>'


def _cited(answer: dict[str, Any], block: Block, memories: Memories) -> str:
    memory = memories.get((answer.get("judge") or "", block.user, block.scenario))
    return cited_html(answer.get("evidence") or (), block, memory)


def _known_of_user(evidence: pd.DataFrame) -> list[tuple[str, str]]:
    given = enumerate(score_counts(evidence), 1)
    counts = " ".join(f'<span class="pl-case-count">{score_chip(s)} × {n}</span>' for s, n in given)
    return [(translate("The user's scores in other scenarios"), counts)]


def _gold(corpus: Corpus, row: Mapping[str, Any]) -> list[tuple[str, str]]:
    own = _on(row, corpus.turns.assign(candidate=ORIGINAL)).iloc[0]
    given = np.nan if pd.isna(own["score"]) else float(own["score"])
    why = escape(name_of(own["reason"])) if isinstance(own["reason"], str) else ""
    return [(translate("The user's own score of the recorded reply"), f"{score_chip(given)} {why}")]
