"""Is this reply whole, and is it a reply? It is not where it breaks off, is out of order, an error message or no language.

    Wholeness().fit(halves)         taught by recorded replies, and by the same replies broken on purpose; no label is read
    .find_broken(replies)           which replies are broken
    Spelling().fit(halves)          taught by which characters follow each other in recorded replies
    .find_nonsense(replies)         which replies are letters that make no words
    name_stub(reply)                "error message", "lone heading" or "", by words and marks alone; nothing is learned

Of what is whole only what belongs to no style is read: how lines and the last one end, brackets and quotes that stay open, numbers
of a list that go back or leave one out. A reply without its lists and line breaks is as whole as it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import HistGradientBoostingClassifier

from perslib.paths import read_toml
from perslib.stats import Floats
from perslib.stats.resample.leave_one_out import Bools

#: Share of recorded replies that are marked by mistake, and trees that are grown.
MARKED, TREES = 0.005, 150
#: Windows of unseen replies that tell what is usual, their length, the share that is marked, and the fewest pairs that are read.
WINDOWS, WINDOW, NONSENSE_MARKED, FEWEST_PAIRS, OFTEN, MARGIN = 4000, 20, 0.001, 6, 20, 0.2
_NUMBER = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.)\u3001\uff09]", re.M)
_ITEM = re.compile(r"(?:\*\*)?\d+[.)\u3001]|[-*•]")
_MARKS = re.compile(r"^\s*(?:[-*•#>]+|\d+[.)\u3001])\s*|\*\*|`", re.M)
_SENTENCE = re.compile(r"[^.!?\u3002\uff01\uff1f\n]+[.!?\u3002\uff01\uff1f\n]*")
_PAUSES = tuple(",;-\uff0c\u3001\uff1b")
_COLONS = (":", "\uff1a")
_PAIRS = (("(", ")"), ("\uff08", "\uff09"), ("\u201c", "\u201d"))
_WORDS = read_toml(__file__, "answering.toml")
_ERRORS, _AROUND = (re.compile(words, re.IGNORECASE) for words in ("|".join(_WORDS["errors"]), _WORDS["around"]))
#: An error message is so short, and has so few bytes of letters beside its cue; so long is a heading.
ERROR_LENGTH, ERROR_REST, HEADING_LENGTH = 240, 24, 120
_HEADING = re.compile(r"#+\s.*|\*\*[^*]+\*\*\W*|.*[:\uff1a]\W*|[.\u2026*#_\s-]+")


def name_stub(reply: str) -> str:
    """Return what stands where a reply should: "error message" or "lone heading"; "" for a reply."""
    text = reply.strip()
    if len(text) <= ERROR_LENGTH and _ERRORS.search(text):
        rest = re.sub(r"[\W\d_]", "", _AROUND.sub("", _ERRORS.sub("", text)))
        if len(rest.encode()) <= ERROR_REST:
            return "error message"
    return "lone heading" if len(text) <= HEADING_LENGTH and _HEADING.fullmatch(text) else ""


class Spelling:
    """How usual it is, in recorded replies, that these characters follow each other."""

    limit = -np.inf
    """The mean log chance below which a reply is nonsense: so low is one window of unseen replies in a thousand."""

    def fit(self, halves: Sequence[Sequence[str]], phrases: Sequence[str], seed: int) -> Spelling:
        """Learn which letters follow each other; windows of the second half, and `phrases`, say what the first half has to take."""
        rng = np.random.default_rng(seed)
        self._count(halves[0])
        unseen = [text for half in halves[1:] for text in half if len(text) >= WINDOW]
        if unseen:
            drawn = [unseen[i] for i in rng.integers(0, len(unseen), WINDOWS)]
            starts = [int(rng.integers(0, len(text) - WINDOW + 1)) for text in drawn]
            usual = np.quantile(self.measure([t[i : i + WINDOW] for t, i in zip(drawn, starts)]), NONSENSE_MARKED)
            self.limit = float(min(usual, *self.measure([*phrases, ""]) - MARGIN))
        self._count([text for half in halves for text in half])
        return self

    def _count(self, texts: Iterable[str]) -> None:
        self._pairs = Counter(pair for text in texts for pair in pairwise(text.lower()) if all(map(str.isalpha, pair)))
        self._first: Counter[str] = Counter()
        for (first, _), n in self._pairs.items():
            self._first[first] += n
        self._known = {letter for letter, n in self._first.items() if n >= OFTEN}

    def measure(self, texts: Sequence[str]) -> Floats:
        """Return the mean log chance of each character after the one before; 0 where fewer than six pairs are of known ones."""
        return np.array([self._measure_one(text.lower()) for text in texts])

    def _measure_one(self, text: str) -> float:
        pairs = [pair for pair in pairwise(text) if pair[0] in self._known and pair[1] in self._known]
        size = len(self._known)
        chances = [np.log((self._pairs[pair] + 0.5) / (self._first[pair[0]] + 0.5 * size)) for pair in pairs]
        return float(np.mean(chances)) if len(pairs) >= FEWEST_PAIRS else 0.0

    def find_nonsense(self, replies: Sequence[str]) -> Bools:
        """Tell which replies are letters that make no words."""
        return np.asarray(self.measure(replies) < self.limit)


class Wholeness:
    """How likely it is that a reply is whole. Each half of the users teaches a model, and tells the other one's mistakes."""

    limit = 0.0
    """The chance below which a reply is said to be broken: so low are `MARKED` of recorded replies."""

    def fit(self, halves: Sequence[Sequence[str]], phrases: Sequence[str], seed: int) -> Wholeness:
        """Learn from recorded replies of the halves; `phrases` are short replies that are whole."""
        read = [np.array(list(map(read_form, half))) for half in halves]
        self._models = []
        for half, whole in zip(halves, read):
            broken, sound = _break(half, phrases, np.random.default_rng(seed))
            rows = [*whole, *map(read_form, [*sound, *broken])]
            self._models.append(grow_trees(rows, np.arange(len(rows)) < len(whole) + len(sound), TREES, seed))
        if len(self._models) == 2:
            unseen = [model.predict_proba(other)[:, 1] for model, other in zip(self._models, reversed(read))]
            self.limit = float(np.quantile(np.concatenate(unseen), MARKED))
        return self

    def find_broken(self, replies: Sequence[str]) -> Bools:
        """Tell which replies are broken."""
        if not replies:
            return np.empty(0, bool)
        read = np.array(list(map(read_form, replies)))
        return np.asarray(np.mean([model.predict_proba(read)[:, 1] for model in self._models], axis=0) < self.limit)


def shuffle_sentences(text: str, rng: np.random.Generator) -> str | None:
    """Return the sentences of a text in another order; None for fewer than three."""
    sentences = _SENTENCE.findall(text)
    return "".join(rng.permutation(sentences)) if len(sentences) > 2 else None


def cut_in_half(text: str) -> str:
    """Return the first half of a text, as if the reply had broken off."""
    return text[: len(text) // 2]


def strip_structure(text: str) -> str:
    """Return a text in one line, without the marks of lists, headings and bold type."""
    return " ".join(_MARKS.sub("", text).split())


def grow_trees(rows: ArrayLike, is_good: ArrayLike, trees: int, seed: int) -> HistGradientBoostingClassifier:
    """Return boosted trees that tell good rows from others."""
    options = {"max_iter": trees, "learning_rate": 0.06, "max_leaf_nodes": 15, "l2_regularization": 1.0}
    return HistGradientBoostingClassifier(random_state=seed, **options).fit(rows, is_good)


def _break(half: Sequence[str], phrases: Sequence[str], rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Return the replies cut off and in another order; and whole ones of other styles."""
    broken, sound = [], []
    for place, reply in enumerate(half):
        broken.append(reply[: int(rng.uniform(0.2, 0.9) * len(reply))])
        broken += filter(None, [shuffle_sentences(reply, rng)])
        sound.append(strip_structure(reply))
        sound += [phrases[place // 4 % len(phrases)]] if phrases and place % 4 == 0 else []
    return broken, sound


def read_form(reply: str) -> list[float]:
    """Return what a reply's form says of its being whole, as numbers."""
    reply = reply.rstrip()
    lines = [line.strip() for line in reply.split("\n") if line.strip()] or [" "]
    sentences = [part.strip() for part in _SENTENCE.findall(reply) if part.strip()]
    ends = [_is_ended(line) for line in lines]
    numbers = [int(number) for number in _NUMBER.findall(reply)]
    steps = [(before, after) for before, after in pairwise(numbers) if after != 1]
    usual = max(float(np.mean([len(line) for line in lines])), 1.0)
    return [
        float(ends[-1]),
        float(np.mean(ends[:-1])) if len(ends) > 1 else -1.0,
        float(reply.endswith(_PAUSES)),
        float(reply[-1:].isalnum()),
        float(reply.endswith(_COLONS)),
        float(sum(line.endswith(_COLONS) for line in lines[:-1])),
        len(lines[-1]) / usual if len(lines) > 1 else -1.0,
        len(lines[0]) / usual,
        float(bool(_ITEM.match(lines[0]))),
        *(float(reply.count(opens) - reply.count(closes)) for opens, closes in _PAIRS),
        float(reply.count("**") % 2),
        float(reply.count("```") % 2),
        float(sum(after < before for before, after in steps)),
        float(sum(after != before + 1 for before, after in steps)),
        float(bool(numbers) and numbers[0] != 1),
        float(len(numbers)),
        1 - len(set(sentences)) / max(len(sentences), 1),
        float(np.log1p(len(reply))),
    ]


def _is_ended(line: str) -> bool:
    return not (line[-1].isalnum() or line.endswith(_PAUSES) or line[-1] in "([\uff08\u201c")
