"""`perslib agree`: judges against people, on labels and verdicts of any tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from perslib.cli.options import FILE, escape_for_terminal
from perslib.paths import refuse_to_overwrite


def _read_bound(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, float] | None:
    from perslib.comparisons.words import METRICS

    if value is None:
        return None
    name, _equals, bound = value.partition("=")
    try:
        if name in METRICS:
            return name, float(bound)
    except ValueError:
        pass
    raise click.BadParameter(f"{value!r} is not METRIC=NUMBER with a metric of {', '.join(METRICS)}")


@click.command("agree")
@click.argument("verdicts", type=FILE, required=False)
@click.argument("labels", type=FILE, required=False)
@click.option("--item", metavar="COLUMN", help="Column that names the item.")
@click.option("--user", metavar="COLUMN", help="Column of the person who gave a label.")
@click.option(
    "--label",
    metavar="COLUMN",
    multiple=True,
    help="Column of people's labels; may be repeated, for an annotator each.",
)
@click.option("--judge", "judges", metavar="COLUMN", multiple=True, help="Column of a judge's scores; may be repeated.")
@click.option(
    "--scale",
    metavar="LOW-HIGH",
    help="Scale of the labels, such as 1-10; 5-1 where 1 is the best. Default: as the labels are.",
)
@click.option(
    "--encoding", help="Encoding of a table of text, such as big5. Default: UTF-8, or the one that alone is plausible."
)
@click.option("--time", metavar="COLUMN", help="Column of times or versions, for drift.")
@click.option(
    "--repeats",
    type=click.Choice(["first", "last"]),
    help="Which of several different labels of one person on one item counts, or scores of one judge. Default: they are an error.",
)
@click.option(
    "--at-least",
    metavar="METRIC=NUMBER",
    callback=_read_bound,
    help="Exit with 1 if a judge is below, as in pearson=.4.",
)
@click.option(
    "--history",
    is_flag=True,
    help="Also: what 1, 2, 5, 10 and 20 of the user's own ratings add to each judge's scores.",
)
@click.option("--out", type=FILE, metavar="FILE.html", help="Write a page, and the table beside it as CSV.")
@click.option("--demo", is_flag=True, help="Show it on 211 people and GPT-4o's recorded verdicts; no model is asked.")
def agree(
    verdicts: Path | None,
    labels: Path | None,
    at_least: tuple[str, float] | None,
    out: Path | None,
    demo: bool,
    **how: Any,
) -> None:
    """Compare judges with people: VERDICTS and LABELS are files of any form, or VERDICTS holds both.

    Nothing is imported and no model is asked. First how far people agree among themselves, then each judge beside controls
    made of the labels alone, with intervals over users; for how many users their own mean is closer; whether it may stand in
    for an annotator; drift; and how many users would settle what is open. Columns are recognised, and named.

    \b
    perslib agree --demo
    perslib agree ratings.csv --out agreement.html
    perslib agree ratings.csv --history
    perslib agree verdicts.jsonl labels.xlsx --at-least pearson=.4
    """
    from perslib.comparisons import page, words
    from perslib.comparisons.agree import agree as compare_with_people
    from perslib.comparisons.history import show_history

    if demo == (verdicts is not None):
        raise click.UsageError("give a file of verdicts, or --demo")
    if out:
        if out.suffix.lower() not in (".html", ".htm"):
            raise click.UsageError(f"--out is {out}, expected a page: FILE.html; the table is written beside it as CSV")
        refuse_to_overwrite([out, out.with_suffix(".csv"), page.name_history(out)], [verdicts, labels])
    given: Any = verdicts
    notes: list[str] = []
    if demo:
        from perslib.studies.choice_words import make_demo

        given, notes = make_demo()
    result = compare_with_people(given, labels, **how)
    result.notes.extend(notes)
    click.echo(escape_for_terminal("\n".join([result.answer, "", words.show_table(result).to_string(index=False), ""])))
    if result.history is not None:
        click.echo(escape_for_terminal(show_history(result.history).to_string(index=False) + "\n"))
    click.echo(escape_for_terminal("\n".join(result.notes)))
    if out:
        click.echo(f"Written to {page.write_page(result, out)}")
    if at_least and (below := words.find_below(result, *at_least)):
        click.echo(escape_for_terminal(f"below {at_least[0]} = {at_least[1]:g}: {', '.join(below)}"), err=True)
        raise click.exceptions.Exit(1)
