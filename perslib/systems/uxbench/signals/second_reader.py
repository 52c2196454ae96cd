"""A second reader of what users say after a reply: by meaning, where the cues of the rules are silent.

People complain, thank and give up in more ways than any list of cues holds. This reader compares a message's embedding
(multilingual-e5-small, on this machine) with those of written examples, `second/examples.jsonl`: a logistic regression for each of the
three, whose weights lie beside them. It reads some twenty messages a second on two cores, each once, the rules a thousand times as
many, so it is asked for:

    signals_of(corpus, SignalSettings(reader="embeddings"))
    mine_log("log.jsonl", settings=SignalSettings(reader="embeddings"))

`python -m perslib.systems.uxbench.signals.second_reader` fits the weights anew when examples have changed, and prints how well examples are
read that were not fitted to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perslib.errors import DataError
from perslib.llm.embeddings import embedder
from perslib.model_files import load_model, save_model

FOLDER = Path(__file__).with_name("second")
EXAMPLES = FOLDER / "examples.jsonl"
#: Labels of the examples → signals.
NAMES = {"complaint": "complain", "thanks": "thanks", "dismiss": "dismiss"}
READ = 300
"""Characters of a message that are read."""
PENALTY = 10.0
"""C of the regressions."""
PRECISE = 0.82
"""Share of examples above a threshold that have to be right, when they are left out of the fit. On messages that others
wrote, rules and this reader together found 63 % of complaints, and 76 % of what they found was one (rules alone: 19 %,
75 %)."""


class MessageSignal(NamedTuple):
    """What a message does to the reply before it, and how likely that is."""

    name: str
    score: float


def read_again(texts: Iterable[str]) -> dict[str, MessageSignal]:
    """Return the text → what it does, of those that complain, thank or give up by their meaning."""
    wanted = list(dict.fromkeys(texts))
    if not wanted:
        return {}
    weights, thresholds = _load_weights()
    chances = predict_signals(vectors(wanted), weights)
    best = (chances - thresholds).argmax(axis=1)
    signals = list(NAMES.values())
    return {
        text: MessageSignal(signals[place], float(chance[place]))
        for text, place, chance in zip(wanted, best, chances)
        if chance[place] >= thresholds[place]
    }


def vectors(texts: list[str]) -> np.ndarray:
    """Return the embeddings of messages."""
    return embedder("embedded").embed([text[:READ] for text in texts], "query")


def predict_signals(embedded: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the chance of each signal; the last weight is the constant."""
    chances: np.ndarray = 1 / (1 + np.exp(-(embedded @ weights[:, :-1].T + weights[:, -1])))
    return chances


@cache
def _load_weights() -> tuple[np.ndarray, np.ndarray]:
    with load_model(FOLDER, "second reader") as (_, arrays):
        return arrays["weights"], arrays["thresholds"]


# -- fitting ----------------------------------------------------------------------------------------------


def examples() -> tuple[list[str], np.ndarray]:
    """Return the written examples, and which label each has."""
    records = [json.loads(line) for line in EXAMPLES.read_text("utf-8").split("\n") if line]
    if unknown := {one["label"] for one in records} - {*NAMES, "none"}:
        raise DataError(f"{EXAMPLES.name} has labels that nobody knows: {', '.join(sorted(unknown))}")
    return [one["text"] for one in records], np.array([one["label"] for one in records])


def fit_signal_weights(embedded: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic regression for each label against all else."""
    from sklearn.linear_model import LogisticRegression

    rows = []
    for label in NAMES:
        model = LogisticRegression(C=PENALTY, max_iter=2000, class_weight="balanced").fit(embedded, labels == label)
        rows.append(np.append(model.coef_[0], model.intercept_[0]))
    return np.stack(rows)


def predict_held_out(embedded: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the chances of each example as those see it that were fitted without it."""
    order = np.random.default_rng(1).permutation(len(labels)) % 10
    chances = np.zeros((len(labels), len(NAMES)))
    for part in range(10):
        here = order == part
        chances[here] = predict_signals(embedded[here], fit_signal_weights(embedded[~here], labels[~here]))
    return chances


def lowest_precise(chance: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Return the lowest threshold from which on enough are right, and the share of the right ones above it."""
    order = np.argsort(-chance, kind="stable")
    precise = np.cumsum(right[order])
    enough = np.flatnonzero(precise >= PRECISE * np.arange(1, len(order) + 1))
    last = int(enough[-1]) if len(enough) else 0
    return float(chance[order[last]]), float(precise[last] / right.sum())


def write_signal_weights() -> None:
    """Fit the weights, write them, and say how well left-out examples are read."""
    texts, labels = examples()
    embedded = vectors(texts)
    chances = predict_held_out(embedded, labels)
    thresholds = []
    for place, label in enumerate(NAMES):
        threshold, recall = lowest_precise(chances[:, place], labels == label)
        thresholds.append(threshold)
        print(
            f"{label}: {(labels == label).sum()} examples; from {threshold:.2f} on {PRECISE:.0%} are right, {recall:.0%} found"
        )
    arrays = {
        "weights": fit_signal_weights(embedded, labels).astype(np.float32),
        "thresholds": np.array(thresholds, np.float32),
    }
    save_model(FOLDER, {"kind": "second reader", "labels": list(NAMES), "examples": len(texts)}, arrays)


if __name__ == "__main__":
    write_signal_weights()
