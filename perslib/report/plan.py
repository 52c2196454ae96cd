"""What a report is going to run, with everything checked that can be wrong about it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from perslib.errors import ReportError, UnknownName
from perslib.paths import workspace
from perslib.report.manifest import corpus_facts
from perslib.report.parameters import Study, check_choices, check_parameters, find_studies, fitted
from perslib.text import LANGUAGES


@dataclass(frozen=True)
class Planned:
    """One notebook to run with one backbone, and the page to make of it."""

    study: Study
    values: Mapping[str, Any]
    root: Path
    folder: Path
    corpus: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the notebook, its page and its manifest entry are called."""
        return self.study.name

    @property
    def language(self) -> str:
        """The page's language."""
        return str(self.values["language"])

    @property
    def backbone(self) -> str:
        """The backbone's name."""
        return str(self.values["backbone"])

    @property
    def title(self) -> str:
        """Notebook, corpus and backbone, for a line on the terminal."""
        what = f"{self.corpus['label']}, {self.backbone}"
        return f"{self.name:<27} {what:<28}"

    def file(self, ending: str = ".html") -> Path:
        """The page itself; `.failed.html` is where a run that fails leaves its page when the last good one stays."""
        return self.folder / f"{self.name}{ending}"

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Every parameter that the notebook declares, with the value of this run."""
        values = {**self.values, "out": str(self.folder)}
        place = f"{self.study.name}: parameter"
        return {
            name: fitted(values[name], default, f"{place} {name!r}") if name in values else default
            for name, default in self.study.declared.items()
        }

    def parameters_in(self, folder: Path) -> dict[str, Any]:
        """The parameters of a run that works in a folder of its own."""
        return self.parameters | ({"out": str(folder)} if "out" in self.parameters else {})


def plan(
    notebooks: Iterable[str | Path] | str | Path | None = None,
    corpus: str | Path = "sample/en",
    backbones: Sequence[str] | str = ("embedded",),
    out: str | Path | None = None,
    language: str | None = None,
    seed: int = 42,
    **further: Any,
) -> list[Planned]:
    """All pages to render; everything that can be wrong with what was asked for is found here."""
    from perslib.corpus import load
    from perslib.llm.registry import entries

    studies = find_studies(notebooks)
    if further.get("limit", 0) is None:
        del further["limit"]
    check_parameters(further if language is None else {**further, "language": language}, studies)
    for study in studies:
        check_choices(further, study)
    if isinstance(limit := further.get("limit"), int) and limit < -1:
        raise ReportError(f"The limit is {limit}, expected -1 (all), 0 (what suits the backbone) or more")
    names = [backbones] if isinstance(backbones, str) else list(dict.fromkeys(backbones))
    for name in names:
        if name not in (known := entries()):
            raise UnknownName("backbone", name, known)
    if not names:
        raise ReportError("No backbone is given; the bundled one is called embedded")
    if language is not None and language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    data = load(corpus, language)
    spoken = language or (data.language if data.language in LANGUAGES else "en")
    root = Path(out).expanduser().resolve() if out else workspace() / "reports"
    shared = {**further, "corpus": _address(corpus), "language": spoken, "seed": seed}
    facts = {"label": _label(corpus, data.name), "given": str(corpus), **corpus_facts(data)}
    folder = root / _slug(facts["label"])
    return [
        Planned(study, {**shared, "backbone": name}, root, folder / _own_slug(name), facts)
        for name in names
        for study in studies
    ]


def _label(corpus: str | Path, name: str) -> str:
    """What pages call the corpus: the name it was asked for by; of a path, its last part, with the data's name."""
    path = Path(corpus).expanduser()
    if not path.exists():
        return str(corpus)
    stem = path.resolve().name.split(".")[0]
    if stem in name:
        return name
    return stem if name in stem else f"{name}-{stem}"


def _address(corpus: str | Path) -> str:
    """A path in full, since notebooks run in the workspace; a name as it is."""
    path = Path(corpus).expanduser()
    return str(path.resolve()) if path.exists() else str(corpus)


def _own_slug(name: str) -> str:
    """A backbone's name as a folder that no other name has."""
    slug = _slug(name)
    return slug if slug == name else f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _slug(name: str) -> str:
    """A name as a folder: `sample/en` → `sample-en`."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "corpus"
