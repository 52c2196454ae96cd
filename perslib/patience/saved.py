"""A fitted model in a folder: weights without code (`weights.npz`), and a card that says what they are (`card.json`)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import perslib
from perslib.errors import DataError, Problem
from perslib.patience.dialogues import FAILURE, SUCCESS, Dialogues
from perslib.patience.networks import patience_network, torch_here, turn_network
from perslib.patience.recovery import status_accuracy

if TYPE_CHECKING:
    from perslib.patience.estimator import Patience

CARD, WEIGHTS, FORMAT = "card.json", "weights.npz", 1
Model = TypeVar("Model", bound="Patience")


def card(
    model: Patience, fitted: Dialogues, status: np.ndarray, validation: Dialogues | None
) -> dict[str, Any]:
    """What a model was fitted on, how, and how far it explains the endings it has seen."""
    numbers = {"fitted": status_accuracy(model.predict_status(fitted), status)}
    if validation is not None:
        numbers["validation"] = status_accuracy(model.predict_status(validation), validation.status)
    return {
        "format": FORMAT,
        "parameters": model.get_params(),
        "fitted_on": {
            "dialogues": len(fitted),
            "turns": int(fitted.turns.sum()),
            "users": len({d.user for d in fitted}),
            "succeeded": int((status == SUCCESS).sum()),
            "failed": int((status == FAILURE).sum()),
            "reasons": dict(Counter(d.reason for d in fitted)),
        },
        "action_list": model.action_digest_,
        "inputs": {"f": _width(model.f_), "h": _width(model.h_)},
        "epoch": model.epoch_,
        "losses": {k: float(v) for k, v in model.history_.iloc[model.epoch_ - 1].items()},
        "status": numbers,
        "versions": {"perslib": perslib.__version__, "torch": torch_here().__version__},
    }


def write(model: Patience, folder: str | Path) -> Path:
    """Weights and card in `folder`, which is made where needed."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {f"{part}.{name}": v.numpy() for part, name, v in _weights(model)}
    np.savez(folder / WEIGHTS, **weights)
    (folder / CARD).write_text(json.dumps(model.card_, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return folder


def read(kind: type[Model], folder: str | Path) -> Model:
    """The model that `write` put there; its history of epochs is not kept."""
    folder = Path(folder)
    try:
        found = json.loads((folder / CARD).read_text("utf-8"))
        with np.load(folder / WEIGHTS) as stored:
            weights = {name: stored[name] for name in stored.files}
        parameters: dict[str, Any] = found["parameters"]
        model = kind(**{**parameters, "hidden": tuple(parameters["hidden"])})
        model.f_ = turn_network(found["inputs"]["f"], model.hidden)
        model.h_ = patience_network(found["inputs"]["h"], model.hidden, model.h_output)
        model.action_digest_, model.epoch_, model.card_ = found["action_list"], found["epoch"], found
        torch = torch_here()
        for part in ("f", "h"):
            own = {k[2:]: torch.from_numpy(v) for k, v in weights.items() if k.startswith(f"{part}.")}
            getattr(model, f"{part}_").load_state_dict(own)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as reason:
        raise DataError(
            Problem(str(folder), f"no fitted patience can be read here ({reason})"),
            "Give a folder that Patience.save wrote, or fit and save anew.",
        ) from None
    return model


def _weights(model: Patience) -> list[tuple[str, str, Any]]:
    return [(part, *item) for part in ("f", "h") for item in getattr(model, f"{part}_").state_dict().items()]


def _width(network: Any) -> int:
    return int(network[0].in_features)
