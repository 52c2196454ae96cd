"""Which sessions are fit to become cases: an ordered list of rules without a model, each with its reason and counter.

Near duplicates are found by an exact hash first, then by MinHash with bands: the share of equal MinHash values of two
sets of character 5-grams estimates their Jaccard similarity; texts that agree in one of the bands are compared, the
others are not alike enough to look at (Broder 1997).

    gate = SessionFilter(GateSettings(signals=("complain", "dislike", "like")))
    kept = [s for s in sessions if gate(s, reactions(s)) is None]
    gate.counts                                           # Counter({"no_signal": 812, "near_duplicate": 14, …})

What is harmful is what is asked for, and an angry user is not harmful: slurs are masked (`masked`), not dropped.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from perslib.errors import UnknownName
from perslib.systems.uxbench.loaders.log_records import PICTURE, LogSession
from perslib.systems.uxbench.signals.model import NEGATIVE, POSITIVE, PRECEDENCE, Reaction
from perslib.systems.uxbench.signals.similarity import cut_middle
from perslib.systems.uxbench.signals.wording import LANGUAGES, any_of, cues, expand, language

GRAM = 5
BANDS, ROWS = 16, 4
AT_MOST = 4_000
_MASK = np.uint64((1 << 32) - 1)


class Duplicates:
    """Remembers what it has seen; memory grows by about a kilobyte a text that was new."""

    def __init__(self, alike: float, seed: int = 42):
        self.alike = alike
        draw = np.random.default_rng(seed)
        self._a = draw.integers(1, 1 << 31, BANDS * ROWS, dtype=np.uint64)
        self._b = draw.integers(0, 1 << 31, BANDS * ROWS, dtype=np.uint64)
        self._exact: set[bytes] = set()
        self._bands: dict[tuple[int, bytes], list[int]] = {}
        self._signatures: list[np.ndarray] = []

    def __call__(self, texts: Sequence[str]) -> str | None:
        """Return `duplicate`, `near_duplicate`, or None for what is new, which is remembered."""
        text = "\n".join(texts)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if digest in self._exact:
            return "duplicate"
        self._exact.add(digest)
        signature = self.signature(text[:AT_MOST])
        keys = [(i, part.tobytes()) for i, part in enumerate(signature.reshape(BANDS, ROWS))]
        near = {other for key in keys for other in self._bands.get(key, ())}
        if any(float((signature == self._signatures[other]).mean()) >= self.alike for other in near):
            return "near_duplicate"
        for key in keys:
            self._bands.setdefault(key, []).append(len(self._signatures))
        self._signatures.append(signature)
        return None

    def signature(self, text: str) -> np.ndarray:
        """Return the smallest of (a·h + b) mod 2³² over the grams' hashes h, for each a and b."""
        grams = {text[i : i + GRAM] for i in range(max(1, len(text) - GRAM + 1))}
        hashes = np.array(sorted(zlib.crc32(g.encode("utf-8", "surrogatepass")) for g in grams), np.uint64)
        return (((hashes[:, None] * self._a + self._b) >> np.uint64(16)) & _MASK).min(axis=0)


MASK = "***"
_CLAUSE = re.compile(r"[.!?;:\n\u3002\uff01\uff1f\uff1b\uff1a]")
#: Languages that are told apart, the letters below which a text in Latin script counts as English, and how sure one has to be.
KNOWN = (
    "en",
    "de",
    "es",
    "fr",
    "it",
    "pt",
    "nl",
    "pl",
    "tr",
    "vi",
    "id",
    "ru",
    "uk",
    "ar",
    "ja",
    "ko",
    "th",
    "hi",
    "el",
    "he",
)
SHORT, SURE = 25, 0.9


@dataclass(frozen=True)
class GateSettings:
    """What a session must be to pass; None switches a rule off."""

    signals: tuple[str, ...] | None = (*(name for name in NEGATIVE if name != "abandon"), *POSITIVE)
    languages: tuple[str, ...] | None = LANGUAGES
    query: tuple[int, int] | None = (1, 4_000)
    """Fewest and most characters of the request before the reply that shows a signal."""
    reply: tuple[int, int] | None = (1, 20_000)
    images: bool = False
    """Whether sessions that depend on a picture or an attachment may pass."""
    conflicts: bool = False
    alike: float | None = 0.9
    """Estimated Jaccard similarity of request and reply from which a session is a near duplicate."""


@dataclass
class SessionFilter:
    """Rules in order: the first that a session fails gives the reason; `counts` has one number a reason."""

    settings: GateSettings = field(default_factory=GateSettings)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.settings.signals is not None and (unknown := set(self.settings.signals) - set(PRECEDENCE)):
            raise UnknownName("signal", min(unknown), PRECEDENCE)
        self._duplicates = None if self.settings.alike is None else Duplicates(self.settings.alike)

    def __call__(self, session: LogSession, reactions: Sequence[Reaction]) -> str | None:
        """Return why a session does not pass, or None."""
        reason = next(filter(None, _refusals(session, reactions, self.settings)), None)
        if reason is None and self._duplicates is not None:
            reason = self._duplicates(_exchange(session, reactions, self.settings.signals)[:2])
        self.counts[reason or "pass"] += 1
        return reason


def _refusals(session: LogSession, reactions: Sequence[Reaction], settings: GateSettings) -> Iterator[str | None]:
    """Yield why a session does not pass, rule after rule, None where it passes one."""
    users = [m.text for m in session.messages if m.role == "user"]
    wanted = settings.signals
    query, reply, shown = _exchange(session, reactions, wanted)
    yield None if {"user", "assistant"} <= {m.role for m in session.messages if m.text.strip()} else "no_exchange"
    yield "all_interrupted" if reactions and all(r.interrupted for r in reactions) else None
    yield "no_signal" if wanted is not None and not shown else None
    yield "conflict" if not settings.conflicts and any(r.conflict for r in reactions) else None
    spoken = identify_language(cut_middle(users[0] if users else ""))
    yield "language" if settings.languages is not None and spoken not in settings.languages else None
    for name, text, bounds in (("query", query, settings.query), ("reply", reply, settings.reply)):
        yield f"{name}_length" if bounds is not None and not bounds[0] <= len(text) <= bounds[1] else None
    if not settings.images:  # what was not logged would have to be seen to judge the reply
        yield "image_reply" if reply.strip() == PICTURE else None
        yield "image_request" if _compile_cues("images").search(query.lower()) else None
    for text in users:
        yield from (f"unsafe_{kind}" for kind in asked_for(text))


def asked_for(text: str) -> Iterator[str]:
    """Yield the kinds of harm that a text asks for; what it says against it counts in the same clause, before it,
    alone, and a game or a prop in the same clause, before or after it.
    """
    lowered = text.lower()
    for kind, pattern in _unsafe().items():
        for match in pattern.finditer(lowered):
            clause = max((end.end() for end in _CLAUSE.finditer(lowered, 0, match.start() + 1)), default=0)
            ends = _CLAUSE.search(lowered, match.end())
            is_elsewhere = _compile_cues("elsewhere").search(lowered, clause, ends.start() if ends else len(lowered))
            if not is_elsewhere and not _compile_cues("against").search(lowered, clause, match.end()):
                yield kind
                break


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # half a second

    known = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known.set_languages(list(KNOWN))
    return known


def identify_language(text: str) -> str:
    """Return the language of a text: zh and en by their script, another where letters or a model of languages say so.

    Of few words a model says little: they count as English.
    """
    letters = [c for c in text if c.isalpha()]
    latin = sum(c < "\u0250" for c in letters)
    if any("\u3040" <= c <= "\u30ff" for c in letters):
        return "ja"
    if language(text) == "zh":
        return "zh"
    if 2 * latin < len(letters) or (len(letters) >= SHORT and latin):
        detected, sure = _identifier().classify(text)
        return str(detected) if 2 * latin < len(letters) or (detected != "en" and sure > SURE) else "en"
    return "en"


def _exchange(
    session: LogSession, reactions: Sequence[Reaction], wanted: Sequence[str] | None
) -> tuple[str, str, list[Reaction]]:
    """Return the request and the first reply that shows a signal asked for (else the first), and the replies that show
    one.
    """
    shown = [r for r in reactions if wanted is None or any(name in wanted for name in r.names)]
    one = next(iter(shown or reactions), None)
    if one is None:
        return "", "", shown
    before = [m.text for m in session.messages[: one.idx] if m.role == "user"]
    return (before[-1] if before else ""), session.messages[one.idx].text, shown


def mask_slurs(text: str) -> str:
    """Return the text with slurs blanked out; whatever else it says stays."""
    return _slurs().sub(MASK, text)


@cache
def _compile_cues(name: str) -> re.Pattern[str]:
    return re.compile(any_of(p for lang in LANGUAGES for p in cues(lang)["gate"][name]))


@cache
def _unsafe() -> dict[str, re.Pattern[str]]:
    kinds: dict[str, list[str]] = {}
    for lang in LANGUAGES:
        own = cues(lang)["gate"]
        for kind, patterns in own["unsafe"].items():
            kinds.setdefault(kind, []).extend(expand(pattern, own["words"]) for pattern in patterns)
    return {kind: re.compile(any_of(patterns)) for kind, patterns in kinds.items()}


@cache
def _slurs() -> re.Pattern[str]:
    zh, en = (any_of(cues(lang)["gate"]["slurs"]["words"]) for lang in LANGUAGES)
    return re.compile(rf"{zh}|\b{en}\b", re.IGNORECASE)
