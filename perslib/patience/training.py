"""Fitting f and h together: Adam over dialogues, and which epoch is kept."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perslib.patience.dialogues import Dialogues
from perslib.patience.inputs import Inputs
from perslib.patience.losses import losses
from perslib.patience.recovery import status_accuracy

if TYPE_CHECKING:
    from perslib.patience.estimator import Patience


def train(
    model: Patience, torch: ModuleType, seen: Inputs, status: np.ndarray, validation: Dialogues | None
) -> tuple[pd.DataFrame, int]:
    """Train the networks of `model`; a row an epoch (epoch, loss, loss1 … loss3, balanced), and the epoch kept.

    With validation dialogues that is the one with the best balanced status accuracy there, of equal ones the last,
    because the slope of the estimates keeps growing while dialogues that fit already give no gradient.
    """
    networks = torch.nn.ModuleList([model.f_, model.h_])
    adam = torch.optim.Adam(networks.parameters(), lr=model.rate, fused=True)
    order, y = np.random.default_rng(model.seed), status.astype(np.float32)
    rows: list[dict[str, float]] = []
    best: tuple[float, int, dict[str, Any]] = (-1.0, model.epochs, {})
    for epoch in range(1, model.epochs + 1):
        sums = np.zeros(3)
        for some in np.array_split(order.permutation(len(y)), -(-len(y) // model.batch)):
            batch = seen.batch(torch, some)
            of = model.estimate(batch)
            found = losses(
                of.f, of.h, torch.from_numpy(y[some]), batch.mask, model.v_b, model.loss,
                ahead=of.ahead, margin=model.margin,
            )  # fmt: skip
            adam.zero_grad()
            found.total.backward()
            torch.nn.utils.clip_grad_norm_(networks.parameters(), model.clip)
            adam.step()
            sums += [float(part.detach().sum()) for part in (found.loss1, found.loss2, found.loss3)]
        means = sums / len(y)
        rows.append({"epoch": epoch, "loss": means.sum(), **dict(zip(("loss1", "loss2", "loss3"), means))})
        if validation is not None:
            balanced = status_accuracy(model.predict_status(validation), validation.status)["balanced"]
            rows[-1]["balanced"] = balanced
            if balanced >= best[0]:
                best = (balanced, epoch, {k: v.clone() for k, v in networks.state_dict().items()})
    if best[2]:
        networks.load_state_dict(best[2])
    return pd.DataFrame(rows), best[1]
