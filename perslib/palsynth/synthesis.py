"""The whole synthesis: all users side by side, their files together, and what was rejected on the way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import Corpus
from perslib.corpus.palset import FOLDERS, read_contents, write_release
from perslib.errors import DataError, Problem
from perslib.llm import Backbone, Steps
from perslib.palsynth.persons import profiles
from perslib.palsynth.user import Files, user_files
from perslib.palsynth.writing import Reject, Writing


@dataclass(frozen=True)
class Synthesis:
    """The files of a PAL-Set by their stems, and everything that did not pass its checks."""

    language: str
    files: dict[str, dict[str, Any]]
    rejects: tuple[Reject, ...]
    model: str

    @property
    def rejected(self) -> pd.DataFrame:
        """What was rejected, one row each: step, place, reason, and whether a part was kept."""
        return pd.DataFrame(self.rejects, columns=["step", "place", "reason", "kept"])

    def corpus(self, name: str | None = None) -> Corpus:
        """The set as a corpus."""
        beside = {stem: content for stem, content in self.files.items() if stem != "input"}
        reading = read_contents(self.files["input"], beside, self.language, name or f"palset-{self.model}")
        return reading.corpus

    def write(self, folder: str | Path) -> Path:
        """Write the files as the release lays them out, and `rejected.csv` beside them."""
        written = write_release(folder, self.files, self.language)
        self.rejected.to_csv(written / "rejected.csv", index=False)
        return written


def synthesize(
    model: Backbone,
    users: int = 2,
    language: str = "zh",
    *,
    seed: int = 42,
    attempts: int = 2,
    check: bool = True,
    prompts: str | Path | None = None,
    progress: bool = True,
    cap: float | None = None,
) -> Synthesis:
    """Write a PAL-Set with a model. `cap` stops the run at a cost; the same call goes on from the answer cache.

    With `check` a model looks every session through for what contradicts the person, logs of the wrong type and turns
    that do not do their action; without it only what can be seen without a model is mended.
    The first users do not depend on how many follow, as long as whole tens of profiles are asked for.
    """
    if users < 1 or attempts < 1:
        raise DataError(Problem("users and attempts", f"are {users} and {attempts}, expected 1 or more"))

    def writing() -> Writing:
        return Writing(language, seed, attempts, prompts, check)

    first = writing()
    (people,) = model.work([profiles(users, first)], progress=progress, cap=cap)
    every = {user: writing() for user in people}
    methods: list[Steps[Files]] = [user_files(user, people[user], own) for user, own in every.items()]
    given = dict(zip(people, model.work(methods, progress=progress, cap=cap), strict=True))
    files: dict[str, dict[str, Any]] = {stem: {} for stem in ("input", *FOLDERS)}
    for user, own in given.items():
        for stem, content in own.items():
            files[stem][user] = content
    missing = [f"{n:04d}" for n in range(users) if f"{n:04d}" not in people]
    first.reject("user", "profiles", [f"{user} left out: there is no profile" for user in missing])
    rejects = [reject for own in (first, *every.values()) for reject in own.rejected]
    return Synthesis(language, files, tuple(rejects), model.name)
