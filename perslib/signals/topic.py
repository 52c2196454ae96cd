"""Whether a message still belongs to what was talked about. Asked only after something went wrong.

Follow-up questions share few words with what they follow, so the answer is yes unless a message of some length shares
no content at all with the requests and the reply before it, and does not open with a word that takes something up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from perslib.signals.similarity import AT_MOST, taken_apart
from perslib.signals.wording import any_of, cues

LEAST_TOKENS = 5
_TAKES_UP = re.compile(
    r"\s*(?:那|再|还|另外|这|它|他|她|继续|换|改|不|但|可是|所以|and|but|what about|how about|it|that|this|these|those|they|"
    r"then|also|why|so|no|again|more)"
)


@cache
def _little() -> tuple[re.Pattern[str], frozenset[str]]:
    zh, en = cues("zh")["frame"], cues("en")["frame"]
    return re.compile(any_of(sorted(zh["function"], key=len, reverse=True))), frozenset(en["words"])


def same_topic(text: str, earlier: Sequence[str]) -> bool:
    """Whether a message continues the talk that `earlier` holds."""
    lowered = text.lower()
    if _TAKES_UP.match(lowered):
        return True
    content = _content(lowered)
    if not content:
        return True
    for part in earlier:
        said = part[:AT_MOST].lower()
        for piece in content:
            if piece in said:
                return True
    return len(taken_apart(text).tokens) < LEAST_TOKENS


def _content(lowered: str) -> list[str]:
    """Pairs of Han characters and words that carry content."""
    little, frame = _little()
    pieces: list[str] = []
    for run in re.findall(r"[\u3400-\u9fff]+|[a-z0-9]+", lowered):
        if run[0] > "\u2fff":
            for part in little.split(run):
                pieces += ["".join(pair) for pair in pairwise(part)]
        elif run not in frame and len(run) > 2:
            pieces.append(run)
    return pieces
