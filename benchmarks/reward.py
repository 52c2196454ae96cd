"""How long the default reward model takes to learn and to score: 17,000 cases of replies with 800 characters.

Texts are drawn from a made-up vocabulary with a word's frequency falling as in language; good replies use some words more.
`python benchmarks/reward.py` prints seconds and processor seconds of learning (with the choice of the penalty,
calibration, threshold and abstention) and of scoring, and the AUROC on new users, a check that it did learn.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from perslib.systems.uxbench.bench import Reward, WeightedCase

WORDS = 8_000
TOLD = 300
"""Words that tell good from bad."""


def cases(number: int, characters: int, language: str, seed: int) -> list[WeightedCase]:
    """As many lessons, ten a user."""
    rng = np.random.default_rng(seed)
    if language == "zh":
        letters = np.array([chr(c) for c in range(0x4E00, 0x4E00 + 2_500)])
        words = np.array(["".join(rng.choice(letters, rng.integers(1, 4))) for _ in range(WORDS)])
        joint, mean = "", 2
    else:
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        words = np.array(["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(WORDS)])
        joint, mean = " ", 6
    share = 1 / np.arange(1, WORDS + 1)
    share /= share.sum()
    told = rng.choice(np.arange(50, WORDS), TOLD, replace=False)
    liked = share.copy()
    liked[told] *= np.where(np.arange(TOLD) % 2, 1.6, 0.6)
    liked /= liked.sum()

    def text(size: int, of: np.ndarray) -> str:
        return joint.join(words[rng.choice(WORDS, max(1, size // mean), p=of)])

    found = []
    for i in range(number):
        good = rng.random() < 0.5
        said = [text(40, share), text(characters, share)]
        history = tuple({"role": r, "content": t} for r, t in zip(("user", "assistant"), said))
        reply = text(int(characters * rng.uniform(0.5, 1.5)), liked if good else share)
        found.append(WeightedCase(str(i), text(40, share), history, reply, gold=1 if good else -1, user=f"u{i // 10}"))
    return found


def timed(name: str, work: object) -> object:
    """What `work` gives, with its time printed."""
    clock, processor = time.perf_counter(), time.process_time()
    found = work()  # type: ignore[operator]
    took = time.perf_counter() - clock, time.process_time() - processor
    print(f"{name:<28}{took[0]:>9.1f}{took[1]:>11.1f}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=17_000)
    parser.add_argument("--characters", type=int, default=800, help="of a reply, on average")
    parser.add_argument("--language", choices=["zh", "en"], default="zh")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    some = cases(options.cases, options.characters, options.language, options.seed)
    print(f"{options.cases:,} cases, {options.language}, replies of {options.characters} characters\n")
    print(f"{'':<28}{'seconds':>9}{'processor':>11}")
    model = timed("learning, all of it", lambda: Reward().learn(some))
    timed("scoring 2,000", lambda: model.scores(some[-2_000:]))  # type: ignore[attr-defined]
    new = cases(2_000, options.characters, options.language, options.seed + 1)
    auroc = roc_auc_score([case.gold == 1 for case in new], model.scores(new))  # type: ignore[attr-defined]
    print(f"\nAUROC on new users: {auroc:.3f}")


if __name__ == "__main__":
    main()
