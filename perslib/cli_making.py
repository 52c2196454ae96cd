"""Commands that make data with a model: a synthetic PAL-Set, and a benchmark from one's own log."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd

FILE, FOLDER = click.Path(path_type=Path), click.Path(path_type=Path, file_okay=False)
LANGUAGE = click.Choice(["en", "zh"])
CAP = click.option("--cap", type=click.FloatRange(min=0), help="Stop when this cost in US dollars is reached.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only estimate calls, tokens and cost; nothing is asked.")


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--backbone", "-b", required=True, help="Entry of backbones.toml that writes the set.")
@click.option("--users", type=click.IntRange(min=1), default=2, help="Number of users.")
@click.option("--language", type=LANGUAGE, default="zh", help="Language of the set.")
@click.option("--seed", default=42, help="Random seed.")
@click.option("--check/--no-check", default=True, help="Let the model check every session.")
@CAP
@DRY_RUN
def synthesize(folder: Path, backbone: str, cap: float | None, dry_run: bool, **how: Any) -> None:
    """Write a synthetic PAL-Set with a model: months of device logs and dialogues, in the format of Mem-PAL's release.

    \b
    perslib synthesize my-set --backbone my-vllm --users 10 --dry-run
    perslib synthesize my-set --backbone my-vllm --users 10
    perslib import palset my-set --name my-set
    perslib report 05 --corpus my-set --backbone my-vllm

    What does not pass its checks is asked for again, then left out and listed in FOLDER/rejected.csv. Run the same
    command again to go on after a break: answers come from the answer cache.
    """
    from perslib import llm, pal

    model = llm.backbone(backbone)
    if dry_run:
        click.echo(_with_total(pal.estimate(model, **how)))
        return
    made = pal.synthesize(model, **how, cap=cap)
    made.write(folder)
    click.echo(f"{len(made.files['input'])} of {how['users']} users; {len(made.rejected)} items rejected")
    click.echo(f"Written to {folder}; import it with: perslib import palset {folder}")


def _with_total(table: pd.DataFrame) -> str:
    table = table.astype({"cost": float})  # missing where a model has no price
    table.loc["in all"] = table.sum(skipna=False)
    counts = ["calls", "tokens_in", "tokens_out"]
    return table.astype(dict.fromkeys(counts, int)).to_string(na_rep="unpriced", formatters={"cost": "${:,.2f}".format})


@click.command()
@click.argument("source")
@click.argument("folder", type=FOLDER, required=False)
@click.option("--miner", "-b", required=True, help="Entry of backbones.toml that finds and describes cases.")
@click.option("--judge", help="Entry that grades them, better of another model family. Default: the miner.")
@click.option("--checker", "checkers", multiple=True, help="Entry that checks them. Repeatable. Default: the judge.")
@click.option("--language", type=LANGUAGE, help="Language of the prompts. Default: that of the log.")
@CAP
@click.option("--yes", "-y", is_flag=True, help="Go on without asking, once the plan and its price are shown.")
@DRY_RUN
def build(
    source: str,
    folder: Path | None,
    miner: str,
    judge: str | None,
    checkers: tuple[str, ...],
    language: str | None,
    cap: float | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Build a benchmark of good and bad replies from a log, as UXBench was built, into FOLDER (default: bench).

    SOURCE is a log (JSONL, CSV or Parquet, a session or a message a row; data/README.md lists the columns), a folder of
    logs, or a corpus with times and clicks. What behaviour says of it, the plan and its price are shown first.

    \b
    perslib build log.jsonl --miner small --judge large --dry-run
    perslib build log.jsonl my-bench --miner small --judge large
    perslib review my-bench anna.csv ben.csv

    FOLDER gets the cases, what was left out and why (rejected.jsonl, funnel.csv), review.csv to give to people, and
    splits/, which `perslib import uxbench` reads. Run the same command again to go on after a break: every step resumes.
    """
    from perslib.corpus import load
    from perslib.llm import backbone
    from perslib.signals import mined
    from perslib.ux import construction as ux

    folder = folder or Path("bench")
    path = Path(source).expanduser()
    is_log = path.is_file() or (path.is_dir() and not (path / "corpus.json").is_file())
    found = path if is_log else load(source)
    if is_log:
        log = mined(path)
        click.echo(
            f"{len(log.table):,} replies in the log. Not read: {_counted(log.rejected)}. Odd: {_counted(log.notes)}."
        )
        shown = log.table["primary"].value_counts()
        click.echo(f"What users did after them: {_counted(shown.to_dict())}.\n")
        language = language or ("zh" if (log.table["lang"] == "zh").mean() >= 0.5 else "en")
    models: dict[str, Any] = {"miner": backbone(miner), "judge": backbone(judge or miner)}
    models |= {"checkers": [backbone(name) for name in checkers]}
    models |= {"language": language or getattr(found, "language", "en")}
    click.echo("At most:\n" + _with_total(ux.estimate(found, **models)) + "\n")
    if dry_run:
        return
    if not yes and sys.stdin.isatty():
        click.confirm("Go on?", abort=True)
    made = ux.construct(found, folder, **models, cap=cap)
    for table in (made.funnel, made.reasons):
        click.echo(table.to_string(index=False) + "\n")
    placed = _write_splits(folder, made.cases)  # also of no case: those of an earlier run go
    if made.cases.empty and made.doubtful.empty:
        why = "there was no session to take any from"
        for emptied in made.funnel.query("`in` > 0 and left == 0")["stage"][:1]:
            worst = made.reasons[made.reasons["stage"].isin(emptied.split(" and "))].nlargest(1, "count").iloc[0]
            why = f"the step '{emptied}' left none, mostly for: {worst['reason']} ({worst['count']})"
        click.secho(f"NO CASE IS LEFT; {why}. {folder / 'rejected.jsonl'} says why for each.", bold=True)
        return
    sheet = ux.export_review(pd.concat([made.cases, made.doubtful]), folder / "review.csv")
    click.echo(f"{len(made.cases)} cases, {len(made.doubtful)} in doubt. For people to review: {sheet}")
    click.echo(placed)
    click.echo(f"Import the splits with: perslib import uxbench {folder / 'splits'}")


def _write_splits(folder: Path, cases: pd.DataFrame) -> str:
    """Write the splits of these cases, and say how many are in each, and why others are in none."""
    from perslib.ux import construction as ux

    made = ux.splits(cases)
    ux.write_splits(folder / "splits", made)
    sizes = {name: len(own) for name, own in made.items()}
    lines = [f"In splits: {sum(sizes.values())} of {len(cases)} cases ({_counted(sizes)})."]
    return "\n".join(
        [*lines, *(f"In none: {n} {side} ({why})." for (side, why), n in ux.count_unused(cases, made).items())]
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items() if n) or "nothing"


@click.command()
@click.argument("folder", type=FOLDER)
@click.argument("sheets", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
def review(folder: Path, sheets: tuple[Path, ...]) -> None:
    """Take back filled review SHEETS (CSV) of the construction in FOLDER and write its splits anew.

    \b
    perslib review bench anna.csv ben.csv

    A case stays where more than half of its reviewers keep it; cases in doubt that nobody reviewed are left out, others
    stay. A dimension that most reviewers correct is corrected. Prints how far reviewers agree.
    """
    from perslib.ux import construction as ux

    cases, doubtful = ux.read_cases(folder), ux.read_cases(folder, "doubtful")
    reviews = ux.import_review(sheets, pd.concat([cases, doubtful]))
    kept, left_out = ux.reviewed(cases, reviews, all_reviewed=False)
    settled, not_settled = ux.reviewed(doubtful, reviews)
    kept, unclean = ux.cleaned(pd.concat([kept, settled], ignore_index=True), ux.Rules())
    placed = _write_splits(folder, kept)
    for name, value in ux.review_agreement(reviews).items():
        click.echo(f"{name:<24}{value:.3f}")
    out = len(left_out) + len(not_settled) + len(unclean)
    click.echo(f"{len(kept)} cases are kept, {out} left out. Splits are in {folder / 'splits'}\n{placed}")
