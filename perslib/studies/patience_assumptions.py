"""What an estimate of patience takes for granted, taken away: γ, the limit on turns, and the one seed.

The fit is told how far User 3 looks forward (γ), that no dialogue ended by itself, and it is one fit of one set of
dialogues. Here it is told a wrong γ, dialogues that a low limit ended are counted in each of the three ways, and
everything is drawn and fitted anew under other seeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from perslib.patience import Dialogues, Patience, User, recovered, user2
from perslib.studies.patience import Collected, Size, collected, fitted

#: A limit that ends many dialogues with User 2 while there is patience left.
FEW_TURNS = 8
TOLD_GAMMA = "γ = {gamma:g}"
TIMEOUTS = {f"timeout: {way}": {"timeout": way} for way in ("drop", "failed", "censored")}


def told_gammas(
    three: Collected, size: Size, seed: int, gamma: float, known: Patience | None = None
) -> dict[str, Patience]:
    """User 3 fitted with half of γ, with γ, and with twice as much; `known` is the fit with γ, where there is one."""
    told = [value for value in (gamma / 2, gamma, 2 * gamma) if value <= 1]
    ways = {TOLD_GAMMA.format(gamma=v): {"gamma": v} for v in told if known is None or v != gamma}
    models = fitted(three, size, seed, ways)
    if known is not None:
        models[TOLD_GAMMA.format(gamma=gamma)] = known
    return {name: models[name] for name in (TOLD_GAMMA.format(gamma=v) for v in told)}


def cut_short(size: Size, seed: int, most: int = FEW_TURNS) -> tuple[Dialogues, dict[str, Patience]]:
    """User 2's dialogues of at most `most` turns, and a fit for each way of counting those that the limit ended."""
    data = collected(replace(user2(), max_turns=most), size, seed)
    return data.train, fitted(data, size, seed, TIMEOUTS)


def ended_by_limit(dialogues: Dialogues) -> float:
    """Share of dialogues that the limit on turns ended."""
    return float((dialogues.status == 0).mean())


def repeated(user: User, size: Size, seeds: Iterable[int], v_b: float = -1.0) -> pd.DataFrame:
    """Dialogues and fit made anew under each seed: seed, measure, value."""
    parts = []
    for seed in seeds:
        data = collected(user, size, seed)
        model = Patience(v_b, epochs=size.epochs, seed=seed).fit(data.train)
        parts.append(recovered(model, data.test, seed=seed, resamples=0).assign(seed=seed))
    return pd.concat(parts, ignore_index=True)[["seed", "measure", "value"]]
