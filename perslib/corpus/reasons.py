"""Reasons of dissatisfaction: PersTurnBench's six labels, in Chinese and English."""

from __future__ import annotations

from perslib.errors import UnknownName

SATISFIED, OTHER = "satisfied", "other"

#: Language → reason → the label that data and prompts of that language use, byte for byte.
REASONS: dict[str, dict[str, str]] = {
    "zh": {
        "insufficient detail": "不够细致",
        "requirement not met": "不满足需求",
        "insufficient diversity": "不够多样",
        "unusable": "不可用",
        OTHER: "其它",
        SATISFIED: "满意",
    },
    "en": {
        "insufficient detail": "insufficient detail",
        "requirement not met": "requirement not met",
        "insufficient diversity": "insufficient diversity",
        "unusable": "unusable",
        OTHER: "other",
        SATISFIED: "satisfied",
    },
}
_KNOWN = {label: reason for labels in REASONS.values() for reason, label in labels.items()}
_KNOWN["其他"] = OTHER  # the usual spelling of 其它


def labels(language: str) -> dict[str, str]:
    """Reason → label in this language."""
    if language not in REASONS:
        raise UnknownName("language of reasons", language, REASONS)
    return REASONS[language]


def legal_reason(score: float, said: str | None, language: str) -> str:
    """The label that a verdict with this score may carry (PersTurnBench, section 3.2).

    From 4 on it is *satisfied*; below, the reason that was said in either language, and *other* where that is
    none or *satisfied*.
    """
    reason = _KNOWN.get((said or "").strip().lower(), OTHER)
    if round(score) >= 4:
        return labels(language)[SATISFIED]
    return labels(language)[OTHER if reason == SATISFIED else reason]
