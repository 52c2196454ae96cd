"""The whole construction: sessions, candidates, miner, judge, checkers, rules; and what came of it.

Every stage is written to the folder when it ends. A run that was broken off, started again, takes from the backbones'
answer cache what was answered, and asks only the rest.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from perslib.corpus import Corpus
from perslib.corpus.schema import BAD, GOOD
from perslib.errors import DataError, Problem
from perslib.llm import Ask, Backbone
from perslib.paths import write_csv
from perslib.prompts import prompt
from perslib.stats import cohen
from perslib.systems.uxbench.construction.grading import (
    Check,
    Grades,
    check_case,
    checkers_agreement,
    find_objection,
    grade_cases,
)
from perslib.systems.uxbench.construction.mining import SAID, CaseCandidate, MinedCase, find_case_candidates, mine_cases
from perslib.systems.uxbench.construction.questions import QuestionSettings
from perslib.systems.uxbench.construction.rules import (
    SIDES,
    Rejection,
    Rules,
    Side,
    replace_half_characters,
    tier,
    to_json_data,
)
from perslib.systems.uxbench.construction.sources import FilteredSession, clean_cases, read_filtered_sessions
from perslib.systems.uxbench.loaders.logs import Source

T = TypeVar("T")
X = TypeVar("X")
#: What a stage keeps of an item, and what it rejects of it.
Sifted = tuple[list[T], list[Rejection]]


@dataclass
class ConstructionRun:
    """Works the stages off, keeps count, and writes them down."""

    folder: Path | None
    progress: bool
    cap: float | None
    rejects: list[Rejection] = field(default_factory=list)
    funnel: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.folder is not None:
            if self.folder.exists() and not self.folder.is_dir():
                raise DataError(Problem(str(self.folder), "is a file, expected a folder"))
            self.folder.mkdir(parents=True, exist_ok=True)

    def map(self, stage: str, model: Backbone, method: Callable[[X, Ask], Awaitable[T]], items: Sequence[X]) -> list[T]:
        """Return what the method returns for each item; on a cluster, where the model has a scheduler."""
        totals = {f"ux {stage}": len(items)}
        return model.map(method, items, progress=self.progress, totals=totals, cap=self.cap)

    def run_stage(
        self, stage: str, model: Backbone, method: Callable[[X, Ask], Awaitable[Sifted[T]]], items: Sequence[X]
    ) -> list[list[T]]:
        """Return what a stage leaves of each item; its method returns what it keeps and what it rejects."""
        given = self.map(stage, model, method, items)
        why = [one for _, rejected in given for one in rejected]
        left = [units for units, _ in given]
        count = sum(map(len, left))
        self.end(stage, count + len(why), count, why)
        self.write({"mine": "2_mined", "grade": "3_graded"}[stage], [one for unit in left for one in unit])
        return left

    def end(self, stage: str, came: int, left: int, why: Iterable[Rejection]) -> None:
        """Put a stage on record."""
        why = [one._replace(detail=replace_half_characters(one.detail)) for one in why]
        self.rejects += why
        self.funnel.append({"stage": stage, "in": came, "left": left, "rejected": len(why)})

    def write(self, name: str, rows: Iterable[Any]) -> None:
        """Write one file a stage, a line each."""
        if self.folder is not None:
            lines = (json.dumps(to_json_data(row), ensure_ascii=False) for row in rows)
            text = "".join(f"{line}\n" for line in lines)
            (self.folder / f"{name}.jsonl").write_text(text, encoding="utf-8", errors="replace")


AT_ONCE = 8
"""Candidates of one side of a session that are asked about together."""
Unit = tuple[FilteredSession, Side, list[CaseCandidate]]
COLUMNS = (
    *(*CaseCandidate._fields, "gold", "complaint", *(f for f in MinedCase._fields if f != "candidate")),
    *("signal_confidence", "axis_completeness", "axis_credibility", "axis_representativeness", "axis_severity"),
    *("axis_fidelity", "mean", "quality", "severity_tier", "judge_dimension", "judge_note"),
    *("needs_context", "needs_image"),
)


@dataclass
class Construction:
    """What a construction gave. `cases` are in the columns of `perslib.systems.uxbench.bench.make_cases`, with their annotations."""

    cases: pd.DataFrame
    rejects: list[Rejection]
    funnel: pd.DataFrame
    """A row a stage: what came in, what was left, what was rejected."""
    agreement: dict[str, float]
    """Share of the judge's own means and qualities that follow from its axes, κ of the miner's and the judge's
    dimensions, and Krippendorff's α of the checkers."""
    doubtful: pd.DataFrame
    """Cases that checkers doubt or could not be read about: for people to decide. What they keep has still to be
    `cleaned` together with the rest."""
    models: dict[str, Any] = field(default_factory=dict)

    @property
    def rejections(self) -> pd.DataFrame:
        """What was left out, one row each: stage, reason, place, detail."""
        return pd.DataFrame(self.rejects, columns=list(Rejection._fields))

    @property
    def reasons(self) -> pd.DataFrame:
        """How often each reason was given, stage by stage."""
        counted = Counter((one.stage, one.reason) for one in self.rejects)
        return pd.DataFrame([(*key, n) for key, n in counted.items()], columns=["stage", "reason", "count"])


def construct(
    source: Source | Corpus | Sequence[FilteredSession],
    folder: str | Path | None = None,
    *,
    miner: Backbone,
    judge: Backbone | None = None,
    checkers: Sequence[Backbone] = (),
    language: str = "zh",
    rules: Rules | None = None,
    key: bytes | None = None,
    prompts: str | Path | None = None,
    progress: bool = True,
    cap: float | None = None,
) -> Construction:
    """Return cases from a log (a .jsonl or .parquet file, a folder of them, a frame), from a corpus with times and
    clicks, or from sessions that `talks` has read.

    A judge of another family than the miner's is better; without one the miner judges itself, and without checkers the
    judge checks. `language` is that of the prompts. With a `key` ids become digests, times days. `cap` stops the run at
    a cost of any one backbone.
    """
    judge = judge or miner
    checkers = list(checkers) or [judge]
    asking = QuestionSettings(rules or Rules(), language, prompts)
    run = ConstructionRun(None if folder is None else Path(folder), progress, cap)
    found_units = _units(source, asking.rules, run, key)
    cases = run.run_stage("mine", miner, partial(_mine_unit, asking), found_units)
    units = [(talk, own) for (talk, _, _), own in zip(found_units, cases, strict=True) if own]
    passed = run.run_stage("grade", judge, partial(_grade_unit, asking), units)
    every = [pair for own in passed for pair in own]
    checks = _check_cases(every, checkers, asking, run)
    frame, doubtful = _sorted_out(every, checks, run)
    cleaned, why = clean_cases(frame, asking.rules)
    run.end("clean", len(frame), len(cleaned), why)
    agreement = {
        "judge_consistent": _share([g.claimed_rightly for _, g in every]),
        "dimension_kappa": cohen([m.dimension for m, _ in every], [g.dimension for _, g in every]),
        "checkers_alpha": checkers_agreement(checks),
    }
    models = {"miner": miner.model, "judge": judge.model, "checkers": [c.model for c in checkers]}
    made = Construction(cleaned, run.rejects, pd.DataFrame(run.funnel), agreement, doubtful, models)
    _write(made, asking, run)
    return made


async def _mine_unit(asking: QuestionSettings, unit: Unit, ask: Ask) -> Sifted[MinedCase]:
    return await mine_cases(*unit, asking, ask)


async def _grade_unit(
    asking: QuestionSettings, unit: tuple[FilteredSession, list[MinedCase]], ask: Ask
) -> Sifted[tuple[MinedCase, Grades]]:
    return await grade_cases(*unit, asking, ask)


def _units(
    source: Source | Corpus | Sequence[FilteredSession], rules: Rules, run: ConstructionRun, key: bytes | None
) -> list[Unit]:
    """Return the sides of sessions that have candidates."""
    rejected: list[Rejection] = []
    is_read = isinstance(source, Sequence) and not isinstance(source, str)
    sessions: list[FilteredSession] = list(source) if is_read else read_filtered_sessions(source, rules, rejected, key)  # type: ignore[arg-type]
    run.end("read and gate", len(sessions) + len(rejected), len(sessions), rejected)
    every: list[Unit] = []
    why: list[Rejection] = []
    for talk in sessions:
        candidates = find_case_candidates(talk, rules, why)
        for side in SIDES:
            own = [c for c in candidates if c.side == side]
            every += [(talk, side, own[i : i + AT_ONCE]) for i in range(0, len(own), AT_ONCE)]
    count = sum(len(own) for _, _, own in every)
    run.end("candidates", count + len(why), count, why)
    run.write("1_candidates", [c for _, _, own in every for c in own])
    return every


def _check_cases(
    every: Sequence[tuple[MinedCase, Grades]],
    checkers: Sequence[Backbone],
    asking: QuestionSettings,
    run: ConstructionRun,
) -> dict[str, list[Check]]:
    checks: dict[str, list[Check]] = {case.candidate.case: [] for case, _ in every}
    for checker in checkers:
        given = run.map("check", checker, partial(check_case, asking=asking), [case for case, _ in every])
        for own, check in zip(checks.values(), given, strict=True):
            own.append(check)
    run.write("4_checked", [{"case": case, "checks": own} for case, own in checks.items()])
    return checks


def _sorted_out(
    every: Sequence[tuple[MinedCase, Grades]], checks: dict[str, list[Check]], run: ConstructionRun
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the cases that are in, and those that people should look at."""
    rows, doubtful, rejected = [], [], []
    for case, grades in every:
        own = checks[case.candidate.case]
        row = _row(case, grades, own)
        if (why := find_objection(own)) is None:
            rows.append(row)
            continue
        rejected.append(Rejection("check", why[0], case.candidate.case, why[1]))
        if why[0] != "rejected":
            doubtful.append(row)
    run.end("check", len(every), len(rows), rejected)
    return _frame(rows), _frame(doubtful)


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"after_turn": "Int64"})


def read_cases(folder: str | Path, name: str = "cases") -> pd.DataFrame:
    """Return the cases of a construction from its folder, or those that checkers doubt (name="doubtful")."""
    file = Path(folder) / f"{name}.jsonl"
    if not file.is_file():
        raise DataError(Problem(str(file), "there is no such file"), "Give the folder of a construction that ended.")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return _frame([{**row, "history": tuple(row["history"]), "signals": tuple(row["signals"])} for row in rows])


def _row(case: MinedCase, grades: Grades, checks: Sequence[Check]) -> dict[str, Any]:
    own = case.candidate
    fields = {name: value for name, value in case._asdict().items() if name != "candidate"}
    complains = "complain" in own.signals or own.signal == SAID
    return {
        **own._asdict(),
        "gold": BAD if own.side == "bad" else GOOD,
        "complaint": own.after if own.side == "bad" and complains else "",
        **fields,
        "signal_confidence": case.signal_confidence,
        **{f"axis_{axis}": grade for axis, grade in grades.axes.items()},
        "mean": grades.mean,
        "quality": grades.quality,
        "severity_tier": tier(grades.axes["severity"]) if own.side == "bad" else "",
        "judge_dimension": grades.dimension,
        "judge_note": grades.note,
        "needs_context": any(c.needs_context for c in checks),
        "needs_image": any(c.needs_image for c in checks),
    }


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else float("nan")


def _write(made: Construction, asking: QuestionSettings, run: ConstructionRun) -> None:
    """Write the cases, what was left out, and what was used."""
    if run.folder is None:
        return
    run.write("cases", made.cases.to_dict("records"))
    run.write("doubtful", made.doubtful.to_dict("records"))
    run.write("rejected", made.rejects)
    write_csv(made.funnel, run.folder / "funnel.csv")
    names = [f"uxc_{step}_{side}" for step in ("mine", "grade", "check") for side in SIDES]
    card = {
        "models": made.models,
        "language": asking.language,
        "prompts": [prompt(name, asking.language, asking.prompts).label for name in names],
        "rules": {k: v for k, v in asdict(asking.rules).items() if k != "gate"},
        "gate": {k: v for k, v in asdict(asking.rules.gate).items() if k != "unsafe"},
        "agreement": {k: None if v != v else v for k, v in made.agreement.items()},
        "reasons": made.reasons.to_dict("records"),
    }
    text = json.dumps(to_json_data(card), ensure_ascii=False, indent=2, default=str)
    (run.folder / "construction.json").write_text(text + "\n", encoding="utf-8")
