"""The distribution of a score: the probabilities of 1–5, or of other options, at the token where the model wrote it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from perslib.llm.request import Answer, TokenLogprob

SCORES = ("1", "2", "3", "4", "5")
LONGEST_TOKEN = 64
"""Characters of a token that are read; an option is shorter."""
_AFTER_THOUGHT = re.compile(r".*</(?:think|thinking|reasoning)>", re.S)


class Distribution(dict[str, float]):
    """Probability of each option, renormalised to sum to one.

    `mass` is what the options had before that: near 1 the model was choosing among them, near 0 it was about
    to write something else and the distribution says little.
    """

    mass: float

    def __init__(self, raw: dict[str, float]):
        self.mass = sum(raw.values())
        super().__init__({option: p / self.mass for option, p in raw.items()})

    @property
    def mean(self) -> float:
        """Σ option · probability, for options that are numbers."""
        return sum(float(option) * p for option, p in self.items())


def digit_distribution(
    answer: Answer, options: Sequence[str] = SCORES, key: str = "score", *, weighed: bool = False
) -> Distribution | None:
    """Return the probability of each option at the score token of an answer.

    The token is the one after `"score":` in a JSON reply, or the reply's first token when that is an option.
    Alternatives that differ only in blanks and quotes (`4`, ` 4`, `"4`) are counted together. None when there
    are no log probabilities, no such token, or the options have no probability at all. With `weighed` the
    options count at the first token even where the model went on to write something else there: see `mass`.
    """
    tokens = answer.logprobs
    if not tokens:
        return None
    place = _place(tokens, options, key)
    if place is None and weighed:
        place = next((i for i, token in enumerate(tokens) if token["token"].strip()), None)
    if place is None:
        return None
    raw = dict.fromkeys(options, 0.0)
    chosen = tokens[place]
    others = [pair for pair in chosen["top"] if pair[0] != chosen["token"]]
    for text, logprob in [(chosen["token"], chosen["logprob"]), *others]:
        if (option := _plain(text)) in raw:
            raw[option] += math.exp(min(logprob, 0.0))
    return Distribution(raw) if sum(raw.values()) > 0 else None


def _place(tokens: list[TokenLogprob], options: Sequence[str], key: str) -> int | None:
    """Return the index of the score token."""
    text = "".join(token["token"] for token in tokens)
    thought = _AFTER_THOUGHT.match(text)
    begin = thought.end() if thought else 0
    # Whitespace and an opening quote may belong to the key's token or to the score's.
    named = list(re.finditer(rf"[\"'“]{re.escape(key)}[\"'”]\s*[:\uff1a]\s*[\"'“]?", text[begin:]))
    offset = begin + named[-1].end() if named else None
    reached = 0
    for index, token in enumerate(tokens):
        end = reached + len(token["token"])
        # The token with the character after the key, or the first that is not blank, when it is an option alone.
        if reached >= begin and token["token"].strip() if offset is None else end > offset:
            return _whole(tokens, index, options) if _plain(token["token"]) in options else None
        reached = end
    return None


def _whole(tokens: list[TokenLogprob], index: int, options: Sequence[str]) -> int | None:
    """Return `index`, unless the next token goes on with the number: the 1 of 10, the 4 of 4.5."""
    rest = "".join(token["token"] for token in tokens[index + 1 : index + 3])
    is_number = _plain(tokens[index]["token"]).isdigit()
    return None if is_number and re.match(r"\d|[.\uff0e]\d", rest) else index


def _plain(text: str) -> str:
    """Return the token without blanks, quotes and punctuation at its ends, full-width digits as digits."""
    return unicodedata.normalize("NFKC", text[:LONGEST_TOKEN]).strip(" \t\r\n\"'“”‘’:,}]*Ġ▁")
