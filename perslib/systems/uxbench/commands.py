"""`perslib build` and `perslib review`: a benchmark from the user's own log, and its review by people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pandas as pd

from perslib.cli.options import CAP, DRY_RUN, FOLDER, LANGUAGE, format_costs, format_counts
from perslib.extras import require_extra

if TYPE_CHECKING:
    from perslib.systems.uxbench.construction.pipeline import Construction


@click.command()
@click.argument("source")
@click.argument("folder", type=FOLDER, required=False)
@click.option("--miner", "-b", required=True, help="Entry of backbones.toml that finds and describes cases.")
@click.option("--judge", help="Entry that grades them, preferably of another model family. Default: the miner.")
@click.option("--checker", "checkers", multiple=True, help="Entry that checks them. Repeatable. Default: the judge.")
@click.option("--language", type=LANGUAGE, help="Language of the prompts. Default: that of the log.")
@click.option("--find-names", is_flag=True, help="Also replace names that two small models find (extra names).")
@CAP
@click.option("--yes", "-y", is_flag=True, help="Go on without asking when the plan and its price are shown.")
@DRY_RUN
def build(
    source: str,
    folder: Path | None,
    miner: str,
    judge: str | None,
    checkers: tuple[str, ...],
    language: str | None,
    find_names: bool,
    cap: float | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Build a benchmark of good and bad replies from a log, as UXBench was built, in FOLDER (default: bench).

    SOURCE is a log (JSONL, CSV or Parquet, a session or a message per row; data/README.md lists the columns), a folder
    of logs, or a corpus with times and clicks. The command first shows the signals in it, the plan and its price.

    \b
    perslib build log.jsonl --miner small --judge large --dry-run
    perslib build log.jsonl my-bench --miner small --judge large
    perslib review my-bench anna.csv ben.csv

    FOLDER gets the cases, what was left out with the reason (rejected.jsonl, funnel.csv), review.csv for reviewers, and
    splits/, which `perslib import uxbench` reads. Every step resumes: run the same command again after a break.
    """
    from perslib.corpus import load
    from perslib.llm import backbone
    from perslib.systems.uxbench import construction as ux
    from perslib.systems.uxbench.signals import SignalSettings, mine_log

    if find_names:
        require_extra("names", "--find-names")
    settings = SignalSettings(names="models" if find_names else "rules")
    folder = folder or Path("bench")
    path = Path(source).expanduser()
    is_log = path.is_file() or (path.is_dir() and not (path / "corpus.json").is_file())
    material = path if is_log else load(source)
    if is_log:
        log = mine_log(path, settings=settings)
        click.echo(
            f"{len(log.table):,} replies in the log. "
            f"Not read: {format_counts(log.rejected)}. Odd: {format_counts(log.notes)}."
        )
        signals = log.table["primary"].value_counts()
        click.echo(f"What users did after them: {format_counts(signals.to_dict())}.\n")
        language = language or ("zh" if (log.table["lang"] == "zh").mean() >= 0.5 else "en")
    models: dict[str, Any] = {"miner": backbone(miner), "judge": backbone(judge or miner)}
    models |= {"checkers": [backbone(name) for name in checkers]}
    models |= {"language": language or getattr(material, "language", "en"), "rules": ux.Rules(signals=settings)}
    click.echo("At most:\n" + format_costs(ux.estimate_construction(material, **models)) + "\n")
    if dry_run:
        return
    if not yes and sys.stdin.isatty():
        click.confirm("Go on?", abort=True)
    construction = ux.construct(material, folder, **models, cap=cap)
    for table in (construction.funnel, construction.reasons):
        click.echo(table.to_string(index=False) + "\n")
    placed = _write_splits(folder, construction.cases)  # also without a case: splits of an earlier run are removed
    if construction.cases.empty and construction.doubtful.empty:
        reason = _describe_loss(construction)
        click.secho(f"NO CASE IS LEFT; {reason}. {folder / 'rejected.jsonl'} says why for each.", bold=True)
        return
    sheet = ux.export_review(pd.concat([construction.cases, construction.doubtful]), folder / "review.csv")
    click.echo(f"{len(construction.cases)} cases, {len(construction.doubtful)} in doubt. For people to review: {sheet}")
    click.echo(placed)
    click.echo(f"Import the splits with: perslib import uxbench {folder / 'splits'}")


def _describe_loss(construction: Construction) -> str:
    """Return a sentence on the step that left no case, with its most frequent reason."""
    emptied = construction.funnel.query("`in` > 0 and left == 0")["stage"]
    if emptied.empty:
        return "there was no session to take cases from"
    step = emptied.iloc[0]
    worst = construction.reasons[construction.reasons["stage"].isin(step.split(" and "))].nlargest(1, "count").iloc[0]
    return f"the step '{step}' left none, mostly for: {worst['reason']} ({worst['count']})"


def _write_splits(folder: Path, cases: pd.DataFrame) -> str:
    """Write the splits of these cases; return a text on how many cases are in each, and why others are in none."""
    from perslib.systems.uxbench import construction as ux

    splits = ux.splits(cases)
    ux.write_splits(folder / "splits", splits)
    sizes = {name: len(split) for name, split in splits.items()}
    lines = [f"In splits: {sum(sizes.values())} of {len(cases)} cases ({format_counts(sizes)})."]
    return "\n".join(
        [*lines, *(f"In none: {n} {side} ({reason})." for (side, reason), n in ux.count_unused(cases, splits).items())]
    )


@click.command()
@click.argument("folder", type=FOLDER)
@click.argument("sheets", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
def review(folder: Path, sheets: tuple[Path, ...]) -> None:
    """Read completed review SHEETS (CSV) of the construction in FOLDER and write its splits again.

    \b
    perslib review bench anna.csv ben.csv

    A case stays if more than half of its reviewers keep it. Cases without a review stay, except cases in doubt, which
    are left out. A dimension that most reviewers correct is corrected. The agreement of the reviewers is printed.
    """
    from perslib.systems.uxbench import construction as ux

    cases, doubtful = ux.read_cases(folder), ux.read_cases(folder, "doubtful")
    reviews = ux.import_review(sheets, pd.concat([cases, doubtful]))
    cases_kept, left_out = ux.apply_reviews(cases, reviews, all_reviewed=False)
    settled, not_settled = ux.apply_reviews(doubtful, reviews)
    cases_kept, unclean = ux.clean_cases(pd.concat([cases_kept, settled], ignore_index=True), ux.Rules())
    placed = _write_splits(folder, cases_kept)
    for name, value in ux.review_agreement(reviews).items():
        click.echo(f"{name:<24}{value:.3f}")
    out = len(left_out) + len(not_settled) + len(unclean)
    click.echo(f"{len(cases_kept)} cases are kept, {out} left out. Splits are in {folder / 'splits'}\n{placed}")
