"""How satisfied the user is: the ordinal model behind scores and reasons, and what dissatisfaction looks like in a log.

    utility u = Σ_q weight_q · z_q + position effect          z_q = (quality − centre) / spread
    latent    = u + noise · ε,   ε standard (near-)Gaussian
    score     = 1 + number of thresholds below the latent;   thresholds_k + strictness (+ top shift for 4 | 5)

Weights have length 1 for every user; as the qualities go together, u has a standard deviation of about 1.25 and,
with the defaults, the noise makes up about 45 % of the variance within a user.

In the log there are times, clicks, and the price of a turn in patience. The labels (about the reply that was reacted to):
skim, repeat, rephrase, complain, dismiss, dislike; like, thanks.
"""

from __future__ import annotations

import math
import re

from perslib.corpus.known_truth import borders
from perslib.worlds.lives import MODEL, QUALITIES, Dice, Life

POSITION = tuple(MODEL["scores"]["position"])


def standardize_qualities(qualities: dict[str, float]) -> dict[str, float]:
    """Return z_q of every quality."""
    return {q: (qualities[q] - own["centre"]) / own["spread"] for q, own in MODEL["qualities"].items()}


def utility(life: Life, qualities: dict[str, float], turn: int) -> float:
    """Return Σ_q weight_q · z_q + position effect."""
    z = standardize_qualities(qualities)
    return math.fsum(life.weights[q] * z[q] for q in QUALITIES) + POSITION[min(turn, len(POSITION) - 1)]


def thresholds(life: Life) -> tuple[float, float, float, float]:
    """Return the user's own borders between the five scores."""
    return borders(life.strictness, life.top_shift)


def score(life: Life, value: float, dice: Dice) -> int:
    """Return the score given: the latent against the thresholds."""
    latent = value + dice.normal(0.0, life.noise)
    return 1 + sum(latent > t for t in thresholds(life))


def compute_mean_score(life: Life, value: float) -> float:
    """Return the mean score over the noise: 1 + Σ_k Φ((u − t_k) / noise)."""
    above = (0.5 * (1.0 + math.erf((value - t) / life.noise / math.sqrt(2.0))) for t in thresholds(life))
    return round(1.0 + math.fsum(above), 4)


def shortfalls(life: Life, qualities: dict[str, float]) -> dict[str, float]:
    """Return how far each quality falls short of a good reply for this user, weighted by how much it matters.

    For users who like long replies a short one falls short in "length".
    """
    z = standardize_qualities(qualities)
    gaps = {q: life.weights[q] * max(0.0, 1.0 - z[q]) for q in QUALITIES if q != "brevity"}
    brevity = life.weights["brevity"]
    gaps["brevity"] = max(0.0, brevity * (0.6 - z["brevity"]))
    gaps["length"] = max(0.0, brevity * (-0.6 - z["brevity"]))
    return {q: MODEL["salience"][q] * gap for q, gap in gaps.items()}


def reason(life: Life, qualities: dict[str, float], dice: Dice) -> str:
    """Return the main reason of a score ≤ 3: the largest weighted shortfall, or "other"."""
    gaps, named = shortfalls(life, qualities), MODEL["reasons"]
    felt = {q: gap + dice.normal(0.0, named["noise"]) for q, gap in gaps.items()}
    largest = max(felt, key=lambda q: felt[q])
    if felt[largest] < named["other"] or largest not in named["named"]:
        return "other"
    return largest


CHARACTERS_A_SECOND = 8.3  # fast silent reading: 500 Chinese characters, 400 words a minute
WORDS_A_SECOND = 6.7
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[A-Za-z0-9]+(?:['.][A-Za-z0-9]+)*")


def simulate_reading_time(text: str) -> float:
    """Return the time to read a text: n_han / 8.3 + n_words / 6.7."""
    return len(_HAN.findall(text)) / CHARACTERS_A_SECOND + len(_WORD.findall(text)) / WORDS_A_SECOND


def latency(text: str, language: str, dice: Dice) -> float:
    """Return seconds until a reply is complete: a start, then 45 characters a second (120 in English)."""
    return 1.0 + dice.uniform(0.3, 2.0) + len(text) / (45 if language == "zh" else 120)


def gap(reply: str, request: str, skimmed: bool, language: str, dice: Dice) -> float:
    """Return seconds from a complete reply to the next request: reading, thinking, typing; a skimmer reads little."""
    reading = simulate_reading_time(reply)
    if skimmed:
        return max(2.0, reading * dice.uniform(0.04, 0.13))
    return 3.0 + reading * dice.uniform(0.6, 1.5) + len(request) / (3 if language == "zh" else 6)


def cost(score: int) -> float:
    """Return what a turn takes from the user's patience: 1 when it was good, more the worse it was."""
    return 1.0 + 0.75 * max(0, 4 - score)


def react(life: Life, score: int, reply: str, language: str, dice: Dice) -> list[str]:
    """Return reactions that need no words: skimming and clicking."""
    labels = []
    unhappy = {1: 0.6, 2: 0.5, 3: 0.4, 4: 0.06, 5: 0.03}[score]
    if simulate_reading_time(reply) > 20 and dice.chance(life.skimming * unhappy):
        labels.append("skim")
    liked = {5: 0.5, 4: 0.12}.get(score, 0.0)
    disliked = {1: 1.6, 2: 1.2, 3: 0.4}.get(score, 0.0)
    if dice.chance(life.clicking * liked):
        labels.append("like")
    elif dice.chance(life.clicking * disliked):
        labels.append("dislike")
    return labels
