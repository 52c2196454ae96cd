"""Fine-tuning with transformers' Trainer: the path of the BERT judge.

Needs torch and transformers (an extra); nothing of them is imported before a model is fine-tuned.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perslib.corpus.corpus import group_shuffle_split
from perslib.extras import import_extra
from perslib.stats import Floats


@dataclass(frozen=True)
class Training:
    """How a model is fine-tuned; the defaults are the paper's."""

    epochs: int = 5
    batch: int = 16
    """rows a step; `at_once` of them go through the model together, gradients add up"""
    at_once: int = 16
    rate: float = 2e-5
    """highest learning rate: reached after `warmup` of the steps, then falling"""
    warmup: float = 0.06
    decay: float = 0.01
    dropout: float = 0.1
    clip: float = 1.0
    """longest gradient"""
    validation: float = 0.2
    """share of the users that choose which weights are kept: those with the least error"""
    dsat_weight: float = 1.0
    """weight of turns with a score ≤ 3 (the authors' result files are named after 3)"""
    seed: int = 42


def validation_users(users: Iterable[str], share: float, seed: int) -> set[str]:
    """Choose the users that validate; none where nobody can be spared, and the last weights stay."""
    known = sorted(set(users))
    if not share or len(known) < 2:
        return set()
    parts = group_shuffle_split(known, 1 - share, seed)
    return set(parts["test"]) if parts["train"] else set()


def pad_batch(torch: Any, encoded: Sequence[list[int]], pad: int, device: Any) -> dict[str, Any]:
    """Lay texts of different lengths into one batch, padded at the right."""
    longest = max(map(len, encoded))
    rows = [row + [pad] * (longest - len(row)) for row in encoded]
    mask = [[1] * len(row) + [0] * (longest - len(row)) for row in encoded]
    return {"input_ids": torch.tensor(rows, device=device), "attention_mask": torch.tensor(mask, device=device)}


def fine_tune(
    net: Any,
    rows: Sequence[tuple[list[int], float, float]],
    loss: Callable[[list[list[int]], Any], Any],
    error: Callable[[], float] | None,
    how: Training,
    seed: int,
) -> list[dict[str, float]]:
    """Train `net` in place and keep the weights with the least validation error.

    Parameters
    ----------
    net
        A model of transformers.
    rows
        Tokens, target and weight of each text to learn from.
    loss
        Loss of each text of a batch, from tokens and targets.
    error
        Measures the validation users with the weights of now; None where nobody validates.
    how, seed
        Settings, and the seed of order and dropout.

    Returns
    -------
    A row per validation: step and error.
    """
    torch, transformers, _ = import_extra("bert", "Fine-tuning")
    weight_mean = float(np.mean([weight for *_, weight in rows])) or 1.0
    trained = [p for p in net.parameters() if p.requires_grad]
    history: list[dict[str, float]] = []
    lightest: list[Any] = []

    class Trainer(transformers.Trainer):  # type: ignore[name-defined]
        def compute_loss(self, model: Any, inputs: Any, *_: Any, **__: Any) -> Any:
            encoded, target, weight = zip(*inputs["rows"])
            each = loss(list(encoded), torch.tensor(target, device=net.device))
            counts = torch.tensor(weight, dtype=each.dtype, device=each.device) / weight_mean
            return (counts * each).mean()

        def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
            assert error is not None
            result = {"step": float(self.state.global_step), "error": error()}
            if result["error"] < min((h["error"] for h in history), default=math.inf):
                lightest[:] = [p.detach().clone() for p in trained]
            history.append(result)
            net.train()
            return {}

    # The Trainer seeds all generators; the caller's are put back.
    states = np.random.get_state(), random.getstate()
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng():
        settings = _arguments(how, len(rows), error is not None, folder, seed)
        trainer = Trainer(
            model=net, args=settings, train_dataset=list(rows), eval_dataset=list(rows),
            data_collator=lambda part: {"rows": part},
        )  # fmt: skip
        trainer.model_accepts_loss_kwargs = False  # gradients of the parts of a batch are averaged
        try:
            trainer.train()
        finally:
            np.random.set_state(states[0])
            random.setstate(states[1])
        if error is not None and (not history or history[-1]["step"] < trainer.state.global_step):
            trainer.evaluate()
    with torch.no_grad():
        for now, best in zip(trained, lightest):
            now.copy_(best)
    return history


def _arguments(how: Training, rows: int, validates: bool, folder: str, seed: int) -> Any:
    """Return settings of the Trainer for so many rows."""
    torch, transformers, _ = import_extra("bert", "Fine-tuning")
    at_once = min(how.at_once, how.batch)
    steps = how.epochs * -(-rows // how.batch)
    return transformers.TrainingArguments(
        output_dir=folder, num_train_epochs=how.epochs, per_device_train_batch_size=at_once,
        gradient_accumulation_steps=how.batch // at_once, learning_rate=how.rate,
        warmup_steps=round(how.warmup * steps), weight_decay=how.decay, max_grad_norm=how.clip,
        eval_strategy="epoch" if validates else "no", save_strategy="no", lr_scheduler_type="linear",
        logging_strategy="no", report_to="none", disable_tqdm=True, remove_unused_columns=False,
        dataloader_pin_memory=False, use_cpu=not torch.cuda.is_available(), seed=seed,
    )  # fmt: skip


def predict(net: Any, forward: Callable[[list[list[int]]], Any], encoded: Sequence[list[int]], batch: int) -> Floats:
    """Run texts through a model without gradients, those of like length together; one row each."""
    torch, *_ = import_extra("bert", "Fine-tuning")
    net.eval()
    order = np.argsort([len(row) for row in encoded], kind="stable")
    with torch.no_grad():
        parts = [
            forward([encoded[i] for i in order[at : at + batch]]).double().cpu().numpy()
            for at in range(0, len(order), batch)
        ]
    scores: Floats = np.concatenate(parts)
    return scores[np.argsort(order)]
