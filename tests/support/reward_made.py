"""Cases whose truth is known: a reply with steps and prices is liked, a vague one is not, whatever was asked."""

from __future__ import annotations

import numpy as np

from perslib.systems.uxbench.tasks.cases import WeightedCase

ASKED = ["how do I plan a trip", "what shall I cook", "which gift is right", "how do I save money"]
LIKED = ["clear steps and then prices", "steps with prices and more", "prices and then clear steps"]
DISLIKED = ["it depends on many things", "maybe ask a friend there", "perhaps there are some ways"]
#: Said by everybody, so that no two replies need be the same.
ASIDES = ["today", "again", "often", "rather", "indeed", "mostly"]


def made(users: int = 20, each: int = 8, wrong: float = 0.0, seed: int = 0, prefix: str = "u") -> list[WeightedCase]:
    """So many cases a user, half of them good; a share `wrong` of the labels is turned round."""
    rng = np.random.default_rng(seed)
    found = []
    for u in range(users):
        for i in range(each):
            good = i % 2 == 0
            reply = str(rng.choice(LIKED if good else DISLIKED)) + f" {rng.choice(ASIDES)} {rng.choice(ASIDES)}"
            turned = rng.random() < wrong
            found.append(
                WeightedCase(
                    f"{prefix}{u}/{i}", str(rng.choice(ASKED)), (), reply, gold=(1 if good else -1) * (-1 if turned else 1),
                    user=f"{prefix}{u}", scenario=f"s{i % 3}",
                )
            )  # fmt: skip
    return found
