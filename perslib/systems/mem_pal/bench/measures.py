"""Measures of answers and evaluations (Mem-PAL, section 5): BLEU, G-Score and S-Score, pairwise outcomes, votes.

BLEU of one text against a reference is counted as Mem-PAL counts it (section 5.1):

    BLEU-n = BP · exp(Σ w_k ln p_k),   p_k = matches_k / max(1, h − k + 1), or 0.1 / max(1, h − k + 1) without a match
    BP = 1 if h > r else exp(1 − r / h);   0 without a single common word

with h and r the numbers of words of prediction and reference (NLTK's `sentence_bleu`, smoothing method 1).
Chinese is cut by jieba, punctuation included. jieba keeps the blanks between English words as words of their own,
which inflates the score, so English is cut into words and punctuation marks and the score called `word_bleu_n`;
`tokens="jieba"` gives the published form for English too.

G-Score and S-Score are the points of one answer, and their mean × 50 over all samples (5.2, 5.3). Two dialogues are
compared by several evaluations with the order swapped (5.5; FairEval). Votes of several people are those of 5.6.
"""

from __future__ import annotations

import logging
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import Any, Literal

from perslib.errors import DataError, Problem, UnknownName

Tokens = Literal["jieba", "words"]

#: Weights of each BLEU. Those of BLEU-3 sum to 0.99, as in the published scores.
WEIGHTS: Mapping[int, tuple[float, ...]] = {
    1: (1.0, 0.0, 0.0, 0.0),
    2: (0.5, 0.5, 0.0, 0.0),
    3: (0.33, 0.33, 0.33, 0.0),
    4: (0.25, 0.25, 0.25, 0.25),
}
_PREFIX = {"jieba": "bleu", "words": "word_bleu"}
_WORD = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


@cache
def _cut() -> Any:
    """Return jieba's default mode. It announces its dictionary on the terminal and warns as old code does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba
    jieba.setLogLevel(logging.WARNING)
    return jieba.lcut


def choose_tokenizer(language: str) -> Tokens:
    """Return how texts of a language are cut unless told otherwise."""
    return "jieba" if language == "zh" else "words"


def list_bleu_names(tokens: Tokens = "jieba") -> list[str]:
    """Return what the four scores are called when texts are cut so."""
    if tokens not in _PREFIX:
        raise UnknownName("way to cut texts", tokens, _PREFIX)
    return [f"{_PREFIX[tokens]}_{order}" for order in WEIGHTS]


@lru_cache(maxsize=4096)
def split_words(text: str, tokens: Tokens = "jieba") -> tuple[str, ...]:
    """Return the text in words."""
    return tuple(_cut()(text) if tokens == "jieba" else _WORD.findall(text))


def bleu(prediction: str, reference: str, tokens: Tokens = "jieba") -> dict[str, float]:
    """Return BLEU-1 to BLEU-4 against one reference, each from 0 to 1."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    called, predicted, wanted = list_bleu_names(tokens), split_words(prediction, tokens), split_words(reference, tokens)
    if not set(predicted) & set(wanted):
        return dict.fromkeys(called, 0.0)
    scores = sentence_bleu([wanted], predicted, list(WEIGHTS.values()), SmoothingFunction().method1)
    return dict(zip(called, map(float, scores), strict=True))


def best_bleu(prediction: str, references: Iterable[str], tokens: Tokens = "jieba") -> dict[str, float]:
    """Return for each BLEU the largest over the references, each taken alone: not multi-reference BLEU."""
    each = [bleu(prediction, reference, tokens) for reference in references]
    return {name: max((scores[name] for scores in each), default=float("nan")) for name in list_bleu_names(tokens)}


def vote(labels: Iterable[str]) -> str:
    """Return what most raters say. Where no label is ahead of all others, two raters who disagree say, it is a tie."""
    ranked = Counter(labels).most_common(2)
    is_ahead = len(ranked) == 1 or (ranked and ranked[0][1] > ranked[1][1])
    return ranked[0][0] if is_ahead else "tie"


Outcome = Literal["win", "tie", "lose"]
RUNS = 6
_EXACT = 1e-9


def plan_comparison_runs(number: int = RUNS) -> list[tuple[bool, int]]:
    """Return an even number of evaluations, one half in either order: whether our dialogue is shown second, and a
    number from 0.
    """
    if number < 2 or number % 2:
        raise DataError(Problem("runs", f"is {number}, expected an even number: one half in either order"))
    return list(product((False, True), range(number // 2)))


def decide_winner(ours: Sequence[float], theirs: Sequence[float], tie_within: float = 0.0) -> Outcome:
    """Return whose mean over the evaluations is higher.

    Sums are compared, so that equal means tie whatever their decimals; means no further apart than `tie_within` tie too.
    """
    difference = math.fsum([*ours, *(-score for score in theirs)])
    if abs(difference) <= tie_within * len(ours) + _EXACT:
        return "tie"
    return "win" if difference > 0 else "lose"


#: What a selected solution is worth.
POINTS: Mapping[str, int] = {"pos": 1, "neg": -1, "neu": 0}


def score_selection(selected: Sequence[str], labels: Mapping[str, str]) -> int:
    """Return points of a selection, −2 to 2: one for each positive solution, minus one for each negative."""
    return sum(POINTS[labels[id]] for id in selected)
