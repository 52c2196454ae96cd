"""Whether a user asked the same again: in the same words, in other words, or the same of another thing.

Texts are compared as sequences of tokens, a Han, Kana or Hangul character or a word of another script each, after
NFKC, case folding, and without punctuation, politeness and closing particles:

    sim(a, b) = max( 2·LCS / (|a|+|b|),  ½·(J₁ + J₂) )

LCS is the longest common subsequence (so the first term is the normalised Indel similarity), J₁ and J₂ the Jaccard
coefficients of the multisets of tokens and of pairs of neighbouring tokens.

`same_topic` says whether a message still belongs to what was talked about; asked only after something went wrong.
Follow-up questions share few words with what they follow, so the answer is yes unless a message of some length shares
no content at all with the requests and the reply before it, and does not open with a word that takes something up.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from perslib.systems.uxbench.signals.wording import LANGUAGES, any_of, cues, language

COMPARED = 2_000
"""Characters of a text that are compared: half from its head, half from its tail."""
ALIGNED_AT_MOST = 200
"""Tokens of texts that are aligned to see what differs; longer ones are not the same of another thing by a word."""

_CJK = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKENS = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
_PLAIN = re.compile(
    "[\0-\x7f\u4e00-\u9fff\u2014\u201c\u201d\u2026\u3001-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff5e]*"
)
"""ASCII, Han and usual punctuation: NFKC and case folding make the same tokens of it as lower case does."""
_DIGITS = re.compile(r"\d")


class ComparedText(NamedTuple):
    """A text as it is compared: tokens, their kinds, language, and how many tokens are of a kind said before."""

    tokens: tuple[str, ...]
    kinds: frozenset[str]
    lang: str
    twice: int


@cache
def _politeness() -> tuple[re.Pattern[str], frozenset[str]]:
    """Return opening words of politeness, the longest first, and tokens that close a question, of all languages."""
    opening = [p for lang in LANGUAGES for p in cues(lang)["polite"]["opening"]]
    closing = [token for lang in LANGUAGES for token in cues(lang)["polite"]["closing"]]
    return re.compile("|".join(map(re.escape, sorted(opening, key=len, reverse=True)))), frozenset(closing)


def cut_middle(text: str) -> str:
    """Return what of a text is compared: all, or head and tail of a long one."""
    return text if len(text) <= COMPARED else text[: COMPARED // 2] + "\n" + text[-COMPARED // 2 :]


def tokenize_request(text: str) -> ComparedText:
    """Return the tokens of a normalised text; what lies between head and tail of a long one is left out."""
    text = cut_middle(text)
    lang = language(text)
    text = text.lower() if _PLAIN.fullmatch(text) else unicodedata.normalize("NFKC", text).casefold()
    opening, closings = _politeness()
    text = text.replace("’", "'")
    if polite := opening.match(text):
        text = text[polite.end() :] or text
    words = _TOKENS.findall(text.replace("'", ""))
    while len(words) > 1 and words[-1] in closings:
        words.pop()
    kinds = frozenset(words)
    return ComparedText(tuple(words), kinds, lang, len(words) - len(kinds))


def similarity(a: ComparedText, b: ComparedText, least: float = 0.0) -> float:
    """Return how alike two texts are, 0–1; below `least` it may be any number below it, found at less cost.

    The bound: neither a subsequence nor shared pairs can be more than the m shared tokens, so sim is at most
    max(2m / (|a|+|b|), ½·(J₁ + m / (pairs − m))); and m is at most the shared kinds and what is said twice.
    """
    x, y = a.tokens, b.tokens
    if x == y:
        return 1.0 if x else 0.0
    if a.kinds.isdisjoint(b.kinds):
        return 0.0
    n = len(x) + len(y)
    m = min(len(a.kinds & b.kinds) + min(a.twice, b.twice), len(x), len(y))
    if (bound := _most(m, n)) < least:
        return bound
    m = (Counter(x) & Counter(y)).total()
    if (bound := _most(m, n)) < least:
        return bound
    shared = (Counter(pairwise(x)) & Counter(pairwise(y))).total()
    one, pairs = m / (n - m), n - 2 - shared
    two = shared / pairs if pairs else one
    return max(2 * LCSseq.similarity(x, y) / n, (one + two) / 2)


def _most(m: int, n: int) -> float:
    """Return the most that m shared tokens of n together can come to."""
    if m <= n / 2 - 2:  # then ½·(J₁ + m / (pairs − m)) is no more
        return 2 * m / n
    return max(2 * m / n, (m / (n - m) + min(1.0, m / max(1, n - 2 - m))) / 2)


# -- the same of another thing ----------------------------------------------------------------------------


@cache
def _frame() -> tuple[re.Pattern[str], frozenset[str], re.Pattern[str]]:
    """Return Chinese words that frame a request, English ones, and the words that carry none of its content."""
    zh, en = cues("zh")["frame"], cues("en")["frame"]
    return (
        re.compile(any_of(sorted(zh["words"], key=len, reverse=True))),
        frozenset(en["words"]),
        re.compile(any_of(sorted(zh["function"], key=len, reverse=True))),
    )


def is_parallel_request(before: str, after: str, a: ComparedText, b: ComparedText) -> bool:
    """Return whether the later request asks the same of another thing, which says nothing against the reply.

    So it is when the text after a colon or in quotation marks differs behind the same instruction, when the numbers
    differ, or when content stands in the place of other content and most of what is shared is a frame: the verb,
    the form, the little words.
    """
    if _other_payload(before, after):
        return True
    x, y = a.tokens, b.tokens
    if len(x) > ALIGNED_AT_MOST or len(y) > ALIGNED_AT_MOST:
        return False
    changes = SequenceMatcher(None, x, y, autojunk=False).get_opcodes()
    shared = [x[i:j] for kind, i, j, _, _ in changes if kind == "equal"]
    differing = [(x[i:j], y[k:m]) for kind, i, j, k, m in changes if kind == "replace"]
    if any(_number(old) and _number(new) for old, new in differing):
        return True
    swapped = [pair for pair in differing if _is_swapped(*pair)]
    return bool(swapped) and _measure_frame(shared) > 0.5


def _other_payload(before: str, after: str) -> bool:
    for mark in ("\uff1a", ":"):
        if mark in before and mark in after:
            (old_head, _, old), (new_head, _, new) = before.partition(mark), after.partition(mark)
            if 0 < len(old_head) <= 40 and old_head.strip().lower() == new_head.strip().lower():
                return old.strip().lower() != new.strip().lower()
    return False


def _number(tokens: tuple[str, ...]) -> bool:
    return any(_DIGITS.search(token) for token in tokens)


def _is_swapped(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Return whether content took the place of as much other content: apple for banana, not last for lasts."""
    if _is_cjk(old[0]) and _is_cjk(new[0]):
        little = _frame()[2]
        sides = [little.sub("", "".join(side)) for side in (old, new)]
        return len(old) == len(new) and all(len(text) >= 2 for text in sides)
    frame = _frame()[1]
    x, y = [[t for t in side if t not in frame] for side in (old, new)]
    if len(x) != len(y) or not x:
        return False
    return not any(_are_forms(one, other) for one, other in zip(x, y))


def _are_forms(one: str, other: str) -> bool:
    """Return whether two words are forms of one, or one a slip of the pen: they begin alike."""
    least = max(3, round(0.6 * min(len(one), len(other))))
    return one[:least] == other[:least] or sorted(one) == sorted(other)


def _measure_frame(shared: list[tuple[str, ...]]) -> float:
    """Return the share of the shared text that is a frame."""
    zh, en, _ = _frame()
    total = framed = 0
    for part in shared:
        text = "".join(token if _is_cjk(token) else f" {token} " for token in part)
        total += len(part)
        framed += sum(token in en for token in part if not _is_cjk(token))
        framed += sum(len(word) for word in zh.findall(text))
    return framed / total if total else 0.0


def _is_cjk(token: str) -> bool:
    return len(token) == 1 and token > "\u2fff"


SHARED_BY_BOTH, SHARED_BY_EITHER = 0.34, 0.5


def same_content(before: str, after: str) -> bool:
    """Return whether two requests are about the same things: most content of the shorter is in the other, which adds
    little.

    A new thing in the place of another, or beside it, makes another request, however alike the frame is.
    """
    zh = _frame()[0]
    one, other = ({*_content(zh.sub(" ", text[:COMPARED].lower()))} for text in (before, after))
    if not one or not other:
        return one == other
    shared = len(one & other)
    return shared > SHARED_BY_EITHER * min(len(one), len(other)) and shared >= SHARED_BY_BOTH * max(
        len(one), len(other)
    )


LEAST_TOKENS = 5
_TAKES_UP = re.compile(rf"\s*(?:{'|'.join(word for lang in LANGUAGES for word in cues(lang)['again']['takes_up'])})")


def same_topic(text: str, earlier: Sequence[str]) -> bool:
    """Return whether a message continues the talk that `earlier` holds."""
    lowered = text.lower()
    if _TAKES_UP.match(lowered):
        return True
    content = _content(lowered)
    if not content:
        return True
    for part in earlier:
        start = part[:COMPARED].lower()
        for piece in content:
            if piece in start:
                return True
    return len(tokenize_request(text).tokens) < LEAST_TOKENS


def _content(lowered: str) -> list[str]:
    """Return pairs of Han characters and words that carry content."""
    _, frame, little = _frame()
    pieces: list[str] = []
    for run in re.findall(r"[\u3400-\u9fff]+|[a-z0-9]+", lowered):
        if run[0] > "\u2fff":
            for part in little.split(run):
                pieces += ["".join(pair) for pair in pairwise(part)]
        elif run not in frame and len(run) > 2:
            pieces.append(run)
    return pieces
