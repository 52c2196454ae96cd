"""How satisfied the user is: the ordinal model behind scores and reasons.

    utility u = Σ_q weight_q · z_q + position effect          z_q = (quality − centre) / spread
    latent    = u + noise · ε,   ε standard (near-)Gaussian
    score     = 1 + number of thresholds below the latent;   thresholds_k + strictness (+ top shift for 4 | 5)

Weights have length 1 for every user; as the qualities go together, u has a standard deviation of about 1.25 and,
with the defaults, the noise makes up about 45 % of the variance within a user.
"""

from __future__ import annotations

import math

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import QUALITIES, Life

# Mean and standard deviation of each quality over the replies of the default world.
CENTRE = {
    "detail": 0.56,
    "diversity": 0.45,
    "requirement": 0.69,
    "practicality": 0.51,
    "format": 0.57,
    "brevity": 0.62,
}
SPREAD = {
    "detail": 0.28,
    "diversity": 0.28,
    "requirement": 0.29,
    "practicality": 0.32,
    "format": 0.30,
    "brevity": 0.23,
}
THRESHOLDS = (-4.15, -3.2, -2.03, 0.18)
POSITION = (-0.35, -0.05, 0.15, 0.30, 0.40)
STRICTNESS_SPREAD = 0.9
NOISE = 1.1

# How readily a shortfall in a quality is what the user names; "other" is named when nothing falls short much.
SALIENCE = {
    "detail": 1.08,
    "diversity": 1.05,
    "requirement": 0.66,
    "practicality": 1.09,
    "format": 0.7,
    "brevity": 0.6,
    "length": 0.6,
}
NAMED = ("detail", "diversity", "requirement", "practicality")
OTHER = 0.35


def standardised(qualities: dict[str, float]) -> dict[str, float]:
    """z_q of every quality."""
    return {q: (qualities[q] - CENTRE[q]) / SPREAD[q] for q in QUALITIES}


def utility(life: Life, qualities: dict[str, float], turn: int) -> float:
    """Σ_q weight_q · z_q + position effect."""
    z = standardised(qualities)
    return math.fsum(life.weights[q] * z[q] for q in QUALITIES) + POSITION[min(turn, len(POSITION) - 1)]


def thresholds(life: Life) -> tuple[float, float, float, float]:
    """The user's own borders between the five scores."""
    return borders(life.strictness, life.top_shift)


def borders(strictness: float, top_shift: float) -> tuple[float, float, float, float]:
    """Borders of somebody so strict, to whom the best score is so much further."""
    t1, t2, t3, t4 = (t + strictness for t in THRESHOLDS)
    return t1, t2, t3, max(t3 + 0.3, t4 + top_shift)


def score(life: Life, value: float, dice: Dice) -> int:
    """The score given: the latent against the thresholds."""
    latent = value + dice.normal(0.0, life.noise)
    return 1 + sum(latent > t for t in thresholds(life))


def expected(life: Life, value: float) -> float:
    """The mean score over the noise: 1 + Σ_k Φ((u − t_k) / noise)."""
    above = (0.5 * (1.0 + math.erf((value - t) / life.noise / math.sqrt(2.0))) for t in thresholds(life))
    return round(1.0 + math.fsum(above), 4)


def shortfalls(life: Life, qualities: dict[str, float]) -> dict[str, float]:
    """How far each quality falls short of a good reply for this user, weighted by how much it matters.

    For users who like long replies a short one falls short in "length".
    """
    z = standardised(qualities)
    gaps = {q: life.weights[q] * max(0.0, 1.0 - z[q]) for q in QUALITIES if q != "brevity"}
    brevity = life.weights["brevity"]
    gaps["brevity"] = max(0.0, brevity * (0.6 - z["brevity"]))
    gaps["length"] = max(0.0, brevity * (-0.6 - z["brevity"]))
    return {q: SALIENCE[q] * gap for q, gap in gaps.items()}


def reason(life: Life, qualities: dict[str, float], dice: Dice) -> str:
    """The main reason of a score ≤ 3: the largest weighted shortfall, or "other"."""
    gaps = shortfalls(life, qualities)
    felt = {q: gap + dice.normal(0.0, 0.25) for q, gap in gaps.items()}
    largest = max(felt, key=lambda q: felt[q])
    if felt[largest] < OTHER or largest not in NAMED:
        return "other"
    return largest
