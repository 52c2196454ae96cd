"""A reward model in a folder: weights without code, and a card that says what they are (`card.json`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from perslib.errors import DataError, PerslibError, Problem, UnknownName
from perslib.ux.reward_calibration import Abstention, Calibration
from perslib.ux.reward_embedded import Embedded
from perslib.ux.reward_lora import Lora
from perslib.ux.reward_words import Backend, Words

if TYPE_CHECKING:
    from perslib.ux.reward import Reward

CARD, FORMAT = "card.json", 1
KINDS: dict[str, Any] = {kind.kind: kind for kind in (Words, Embedded, Lora)}
Model = TypeVar("Model", bound="Reward")


def backend_of(settings: Mapping[str, Any], like: Backend | None = None) -> Backend:
    """A backend with these settings that has learned nothing; one of no stored kind is asked to make another."""
    another = getattr(like, "another", None)
    if another is not None:
        made: Backend = another()
        return made
    given = dict(settings)
    kind = str(given.pop("kind", ""))
    if kind not in KINDS:
        raise UnknownName("reward backend", kind, KINDS)
    found: Backend = KINDS[kind](**given)
    return found


def write(model: Reward, folder: str | Path) -> Path:
    """Weights and card in `folder`, which is made where needed."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model.backend.write(folder)
    card = {
        **(model.card_ or {}),
        "decision": {
            "threshold": model.threshold,
            "chosen": model.chosen,
            "cost": list(model.cost),
            "held": model.held,
            "folds": model.folds,
            "calibration": asdict(model.calibration_),
            "abstention": _finite(asdict(model.abstention_)),
        },
        "files": {p.relative_to(folder).as_posix(): _sha256(p) for p in _files(folder)},
    }
    (folder / CARD).write_text(
        json.dumps(card, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8"
    )
    return folder


def read(kind: type[Model], folder: str | Path, backend: Backend | None = None) -> Model:
    """The model that `write` put there; an error where a file is not the one that was written."""
    folder = Path(folder)
    try:
        card: dict[str, Any] = json.loads((folder / CARD).read_text("utf-8"))
        if card["format"] != FORMAT:
            raise ValueError(f"its format is {card['format']}, expected {FORMAT}")
        for name, digest in card["files"].items():
            if _sha256(folder / name) != digest:
                raise ValueError(f"{name} is not the file that was saved with this card")
        if backend is None:
            settings = dict(card["backend"])
            name = settings.pop("kind")
            if name not in KINDS:
                raise ValueError(f"its backend, {name}, is not stored: give it with backend=…")
            backend = KINDS[name].read(folder, settings)
        how = card["decision"]
        model = kind(
            backend, calibration=how["calibration"]["kind"], threshold=how["chosen"], cost=tuple(how["cost"]),
            held=how["held"], folds=how["folds"], alpha=how["abstention"]["alpha"], seed=card["seed"], name=card["name"],
        )  # fmt: skip
        model.threshold = float(how["threshold"])
        fitted = how["calibration"]
        model.calibration_ = Calibration(**{**fitted, "x": tuple(fitted["x"]), "y": tuple(fitted["y"])})
        bounds: dict[str, Any] = {k: float("inf") if v is None else v for k, v in how["abstention"].items()}
        model.abstention_, model.card_ = Abstention(**bounds), card
    except PerslibError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as reason:
        raise DataError(
            Problem(str(folder), f"no reward model can be read here ({reason})"),
            "Give a folder that Reward.save wrote, or fit and save anew.",
        ) from None
    return model


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if v == float("inf") else v for k, v in values.items()}


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != CARD)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
