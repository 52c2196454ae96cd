"""Finished dialogues: what a fit may read (goal, states, actions, status) and the truth that only tests may.

Turn k (0-based here, 1-based in the paper) holds the state *before* the system acts, the action, and what of the
goal is unfinished *after* the user has heard it. `true_costs` and `true_patience` are the simulator's own numbers:
estimates are compared with them, never made from them. (DEUS, sections 3.3 and 3.5.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from perslib.errors import DataError, Problem

SUCCESS, FAILURE, CENSORED = 1, -1, 0


@dataclass(frozen=True, eq=False)
class Actions:
    """The list of actions that a system can take, and what each consists of; `digest` tells lists apart."""

    names: tuple[str, ...]
    atoms: tuple[str, ...]
    multihot: np.ndarray  # float32 [actions, atoms]

    def __post_init__(self) -> None:
        if self.multihot.shape != (len(self.names), len(self.atoms)):
            raise DataError(
                f"The action list has {len(self.names)} names and {len(self.atoms)} atoms, but its features are "
                f"{self.multihot.shape}.",
                "Give one row of features an action and one column an atom.",
            )
        if not np.isfinite(self.multihot).all():
            raise DataError("The features of the action list hold NaN or infinity.", "Fill or drop them first.")

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over names, atoms and features: equal for equal lists, whatever machine made them."""
        head = json.dumps([self.names, self.atoms], ensure_ascii=False).encode()
        return hashlib.sha256(head + np.ascontiguousarray(self.multihot, "<f4").tobytes()).hexdigest()

    @cached_property
    def onehot(self) -> np.ndarray:
        """Every action a feature of its own: rare ones share nothing with their relatives."""
        return np.eye(len(self.names), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Dialogue:
    """One finished dialogue of T turns; vectors have G goal items, D state features, P profile features."""

    goal: np.ndarray  # float32 [G]
    states: np.ndarray  # float32 [T, D], each before the system acts
    actions: np.ndarray  # int [T], rows of the action list
    status: int  # +1 success, −1 failure, 0 censored: ended by the limit on turns
    reason: str
    rest: np.ndarray | None = None  # float32 [T, G], unfinished after each turn
    user: str = ""
    id: str = ""
    true_costs: np.ndarray | None = field(default=None, repr=False)  # float32 [T], positive
    true_patience: float | None = field(default=None, repr=False)
    profile: np.ndarray | None = None  # float32 [P]

    def __len__(self) -> int:
        return len(self.actions)


_NAMES = ("goal_names", "state_names", "profile_names")


def _flat(value: Any) -> Any:
    return np.ravel(value) if isinstance(value, np.ndarray) else value


@dataclass(frozen=True, eq=False)
class Dialogues(Sequence[Dialogue]):
    """Dialogues over one action list, with the names of what their vectors hold; checked when made."""

    dialogues: tuple[Dialogue, ...]
    action_list: Actions
    goal_names: tuple[str, ...]
    state_names: tuple[str, ...]
    profile_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = [p for d in self.dialogues for p in self._problems(d)]
        if problems:
            raise DataError(problems, "Mend or leave out the dialogues named here; `id` finds them.")

    def _problems(self, dialogue: Dialogue) -> Iterator[Problem]:
        place, turns = f"dialogue {dialogue.id or '(no id)'}", len(dialogue)
        if turns == 0:
            yield Problem(place, "has no turns; a dialogue needs at least one system turn")
            return
        if dialogue.status not in (SUCCESS, FAILURE, CENSORED):
            yield Problem(place, f"status is {dialogue.status!r}; expected 1, -1 or 0 (ended by a limit)")
        outside = (dialogue.actions < 0) | (dialogue.actions >= len(self.action_list))
        if outside.any():
            turn = int(np.argmax(outside))
            yield Problem(
                place,
                f"turn {turn + 1} has action {int(dialogue.actions[turn])}, the list has {len(self.action_list)}; "
                "read it with the action list it was made with",
            )
        shapes = {
            "goal": (len(self.goal_names),),
            "states": (turns, len(self.state_names)),
            "rest": (turns, len(self.goal_names)),
            "true_costs": (turns,),
            "profile": (len(self.profile_names),),
        }
        for name, shape in shapes.items():
            values = getattr(dialogue, name)
            if values is None and name not in ("goal", "states"):
                continue
            if np.shape(values) != shape:
                yield Problem(place, f"{name} has shape {np.shape(values)}, expected {shape}")
            elif not np.isfinite(values).all():
                yield Problem(place, f"{name} holds NaN or infinity; fill it or leave the dialogue out")
        if np.shape(dialogue.goal) == shapes["goal"] and not np.any(dialogue.goal):
            yield Problem(place, "goal has nothing to do; a goal needs a request, a booking or a constraint")

    def __len__(self) -> int:
        return len(self.dialogues)

    def __getitem__(self, index: Any) -> Any:
        """Return a dialogue by position; by slice, mask or list of positions, `Dialogues` again."""
        if isinstance(index, int | np.integer):
            return self.dialogues[index]
        chosen = np.arange(len(self))[index if isinstance(index, slice) else np.asarray(index)]
        return replace(self, dialogues=tuple(self.dialogues[i] for i in chosen))

    @cached_property
    def status(self) -> np.ndarray:
        """+1, −1 or 0 a dialogue."""
        return np.array([d.status for d in self.dialogues], dtype=int)

    @cached_property
    def turns(self) -> np.ndarray:
        """Number of system turns a dialogue."""
        return np.array([len(d) for d in self.dialogues], dtype=int)

    def each(self, name: str, lacking: str, remedy: str) -> list[np.ndarray]:
        """Return this field of every dialogue; where some have none, an error that says what they are `lacking`."""
        missing = [d.id or str(i) for i, d in enumerate(self.dialogues) if getattr(d, name) is None]
        if missing:
            raise DataError(f"{len(missing)} dialogues {lacking} (the first: {missing[0]}).", remedy)
        return [getattr(d, name) for d in self.dialogues]

    def by_status(self, *status: int) -> Dialogues:
        """Return those that ended so: `by_status(1, -1)` leaves out what a limit ended."""
        return self[np.isin(self.status, status)]

    def split(self, seed: int = 42, share: float = 0.8) -> tuple[Dialogues, Dialogues]:
        """Return two parts at random, the first with `share` of the dialogues."""
        order = np.random.default_rng(seed).permutation(len(self))
        cut = round(share * len(self))
        return self[np.sort(order[:cut])], self[np.sort(order[cut:])]

    def save(self, path: str | Path) -> Path:
        """Write everything into one Parquet file; `Dialogues.read` returns the same."""
        path = Path(path)
        columns = {own.name: [_flat(getattr(d, own.name)) for d in self.dialogues] for own in fields(Dialogue)}
        actions = (self.action_list.names, self.action_list.atoms, self.action_list.multihot.tolist())
        names = {name: getattr(self, name) for name in _NAMES}
        about = json.dumps({"actions": actions, "names": names})
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        pq.write_table(pa.table(columns, metadata={"dialogues": about}), part, compression="zstd")
        part.replace(path)
        return path

    @classmethod
    def read(cls, path: str | Path) -> Dialogues:
        """Read what `save` wrote."""
        try:
            table = pq.read_table(path)
            about = json.loads((table.schema.metadata or {})[b"dialogues"])
        except (OSError, ValueError, KeyError) as reason:
            raise DataError(
                Problem(str(path), f"no dialogues can be read here ({reason})"), "Collect them again."
            ) from None
        dialogues = []
        for row in table.to_pandas().to_dict("records"):
            turns = len(row["actions"])
            for name in ("states", "rest"):
                row[name] = None if row[name] is None else row[name].reshape(turns, -1)
            if pd.isna(row["true_patience"]):
                row["true_patience"] = None
            dialogues.append(Dialogue(**row))
        names, atoms, multihot = about["actions"]
        action_list = Actions(tuple(names), tuple(atoms), np.array(multihot, np.float32))
        return cls(tuple(dialogues), action_list, *(tuple(about["names"][name]) for name in _NAMES))
