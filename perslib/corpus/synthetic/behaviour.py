"""What dissatisfaction looks like in a log: times, clicks, and the price of a turn in patience.

The labels (about the reply that was reacted to): skim, repeat, rephrase, complain, dismiss, dislike; like, thanks.
"""

from __future__ import annotations

import re

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life

NEGATIVE = ("skim", "repeat", "rephrase", "complain", "dismiss", "dislike")
CHARACTERS_A_SECOND = 8.3  # fast silent reading: 500 Chinese characters, 400 words a minute
WORDS_A_SECOND = 6.7
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[A-Za-z0-9]+(?:['.][A-Za-z0-9]+)*")


def reading_seconds(text: str) -> float:
    """Time to read a text: n_han / 8.3 + n_words / 6.7."""
    return len(_HAN.findall(text)) / CHARACTERS_A_SECOND + len(_WORD.findall(text)) / WORDS_A_SECOND


def latency(text: str, language: str, dice: Dice) -> float:
    """Seconds until a reply is complete: a start, then 45 characters a second (120 in English)."""
    return 1.0 + dice.uniform(0.3, 2.0) + len(text) / (45 if language == "zh" else 120)


def gap(reply: str, request: str, skimmed: bool, language: str, dice: Dice) -> float:
    """Seconds from a complete reply to the next request: reading, thinking, typing; a skimmer reads little."""
    reading = reading_seconds(reply)
    if skimmed:
        return max(2.0, reading * dice.uniform(0.04, 0.13))
    return 3.0 + reading * dice.uniform(0.6, 1.5) + len(request) / (3 if language == "zh" else 6)


def cost(score: int) -> float:
    """What a turn takes from the user's patience: 1 when it was good, more the worse it was."""
    return 1.0 + 0.75 * max(0, 4 - score)


def react(life: Life, score: int, reply: str, language: str, dice: Dice) -> list[str]:
    """Reactions that need no words: skimming and clicking."""
    labels = []
    unhappy = {1: 0.6, 2: 0.5, 3: 0.4, 4: 0.06, 5: 0.03}[score]
    if reading_seconds(reply) > 20 and dice.chance(life.skimming * unhappy):
        labels.append("skim")
    liked = {5: 0.5, 4: 0.12}.get(score, 0.0)
    disliked = {1: 1.6, 2: 1.2, 3: 0.4}.get(score, 0.0)
    if dice.chance(life.clicking * liked):
        labels.append("like")
    elif dice.chance(life.clicking * disliked):
        labels.append("dislike")
    return labels
