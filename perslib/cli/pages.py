"""`perslib report` and `perslib compare`: render pages, compare their runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from perslib.cli.options import FOLDER, LANGUAGE, USE, escape_for_terminal
from perslib.paths import refuse_to_overwrite

#: Parameters that have an option; `--parameter` refuses them.
OPTIONS = {name: f"--{name}" for name in ("corpus", "backbone", "language", "limit", "seed", "out")}
OPTIONS |= {"backbones": "--backbone", "notebooks": "the arguments of `perslib report`"}


TRUSTED = click.option(
    "--yes",
    "trusted",
    is_flag=True,
    help="Run the notebook beside the page although its code is known from nowhere here.",
)


class _CommandWithNames(click.Command):
    """A command whose help lists the names that parameters accept."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of judges, memories and contexts."""
        from perslib.judge import judge
        from perslib.memory import memory
        from perslib.replay import context

        names = {"judges": list(judge), "memories": list(memory), "contexts": list(context)}
        with formatter.section("Names for -p (a memory is a judge and a context, too)"):
            formatter.write_dl([(kind, ", ".join(kind_names)) for kind, kind_names in names.items()])


def _read_parameters(_: click.Context, __: click.Parameter, assignments: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters in NAME=VALUE; values are read as YAML: numbers, yes or no, lists, texts."""
    import yaml

    parameters = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        if name in OPTIONS:
            raise click.BadParameter(f"{name} has its own option: use {OPTIONS[name]}")
        try:
            read = yaml.safe_load(value)
        except yaml.YAMLError:
            raise click.BadParameter(f"the value of {name} cannot be read: {value!r}") from None
        parameters[name] = value.strip() if isinstance(read, dict) else read  # "edited: mine" is a text
    return parameters


_PAGES = (
    click.argument("notebooks", nargs=-1),
    click.option("--corpus", default="sample/en", help="Name under data/, or path of a release."),
    click.option(
        "--backbone",
        "-b",
        "backbones",
        multiple=True,
        default=["none"],
        help="The model that pages ask, an entry of backbones.toml; none: they ask no model. Repeat the option to run every notebook for each.",
    ),
    click.option("--language", type=LANGUAGE, help="Language of the page. Default: that of the corpus."),
    click.option(
        "--limit",
        type=click.IntRange(min=-1),
        help="Number of items for the model: judgments per judge, or what the notebook counts (turns answered, topics, "
        "cases). 0: default of the notebook, -1: all.",
    ),
    click.option("--seed", default=42, help="Random seed."),
    click.option("--out", type=FOLDER, help="Output folder instead of reports/."),
    click.option(
        "--parameter",
        "-p",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_read_parameters,
        help="Any other parameter of a notebook.",
    ),
    USE,
)


def choose_pages(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command the options that select the pages to make and their material."""
    for option in reversed(_PAGES):
        command = option(command)
    return command


@click.command(cls=_CommandWithNames)
@choose_pages
@click.option("--figures", default="", help="Further formats of figures, for papers: pdf, svg, or both: pdf,svg.")
@click.option(
    "--width", type=click.Choice(["text", "column"]), help="Width of all figures, that of a paper's text or column."
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only estimate calls, tokens, cost and time of each page; where there are many users, by five of them.",
)
def report(
    notebooks: tuple[str, ...],
    use: tuple[str, ...],
    parameters: dict[str, Any],
    dry_run: bool,
    figures: str,
    width: str | None,
    **shared: Any,
) -> None:
    """Run NOTEBOOKS (default: all bundled ones) and render them as pages.

    A notebook is a name or number (00_corpus, 00) or a path. Pages, figures and tables are written to
    reports/<corpus>/<backbone>/; reports/index.html links all of them.

    \b
    perslib report 01 04 --corpus persturnbench --backbone my-vllm -p judges="learned, nearest"
    """  # fmt: skip
    from perslib.registry import use_plugins

    use_plugins(*use)
    from perslib.report import rehearse_report, run_report
    from perslib.report.page.export import FIGURES, read_formats
    from perslib.report.show.plot_parts import WIDTH

    if figures:
        os.environ[FIGURES] = ",".join(read_formats(figures))
    if width:
        os.environ[WIDTH] = width
    if not dry_run:
        click.echo(f"Open {run_report(notebooks or None, **shared, **parameters)}")
        return
    for line in rehearse_report(notebooks or None, **shared, **parameters):
        click.echo(line)


@click.command("compare")
@click.argument("runs", nargs=-1, required=True)
@click.option("--language", type=LANGUAGE, help="Language of the page. Default: that of the first run.")
@click.option("--score", default="real", help="Score to compare: real, cdf or mean_shift.")
@click.option("--seed", default=42, help="Random seed.")
@click.option("--out", type=FOLDER, help="Output folder instead of that of the runs.")
@click.option("--item", metavar="FIELD", help="Of two logs: what names the item.")
@click.option("--by", metavar="FIELD", help="Of two logs: what items depend on each other by, such as user or topic.")
@click.option(
    "--metric", "metrics", metavar="FIELD", multiple=True, help="Of two logs: a result to compare; may be repeated."
)
def compare_pages(
    runs: tuple[str, ...], item: str | None, by: str | None, metrics: tuple[str, ...], **how: Any
) -> None:
    """Compare RUNS of one corpus: their different settings, and paired differences on the same replies.

    Two files of another tool (.eval, promptfoo, CSV, any form) are compared on the items that both have, clustered by user or by
    any field; nothing is imported.

    A run is a page that was rendered: its path, or its path under reports/ without an ending. If there is one run, its
    judges are compared. A report with several backbones ends with this page automatically.

    \b
    perslib compare sample-en/embedded/01_verification sample-en/my-vllm/01_verification
    perslib compare before.eval after.eval --by task
    """
    from perslib.comparisons.logs import describe_comparison, is_log
    from perslib.report.run.runner import compare_runs

    if len(runs) == 2 and all(is_log(Path(run)) for run in runs):
        click.echo(escape_for_terminal(describe_comparison(*runs, item=item, by=by, metrics=metrics)))
        return
    if item or by or metrics:
        raise click.UsageError("--item, --by and --metric are for two logs of another tool")
    click.echo(f"Open {compare_runs(runs, **how)}")


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--corpus", help="Where the corpus of the run is now, if it is elsewhere: a name or a path.")
@TRUSTED
def verify(runs: tuple[str, ...], corpus: str | None, trusted: bool) -> None:
    """Run the notebooks of RUNS again and say what comes out differently: answers, tables, figures, verdicts, replies.

    No model is asked, answers come from the cache. A run is a page that was rendered, here or on another machine; its whole folder has
    to be there. The notebook beside it is run: code that no notebook of perslib or of this workspace has only with --yes. The exit
    status is 1 where something differs.

    \b
    perslib verify sample-en/none/01_verification
    """
    from perslib.report.run.again import DRAWN, SAME, list_other_versions, verify
    from perslib.report.run.manifest import find_pages

    differs = False
    for page in find_pages(runs):
        differences = verify(page, corpus, trusted=trusted)
        wrong = differences[~differences["result"].isin([SAME, DRAWN])]
        for _, row in differences[differences["result"] != SAME].iterrows():
            what = " ".join(filter(None, (row["kind"], row["file"])))
            click.echo(escape_for_terminal(f"  {what}: {row['result']}{'; ' if row['detail'] else ''}{row['detail']}"))
        if len(wrong) and (others := list_other_versions(page)):
            shown = ", ".join(f"{name} {then} → {here}" for name, (then, here) in others.items())
            click.echo(f"  other versions here: {shown}")
        summary = (
            f"{len(wrong)} of {len(differences)} parts differ"
            if len(wrong)
            else f"all {len(differences)} parts come out the same"
        )
        click.echo(f"{page.folder / page.name}: {summary}")
        differs |= len(wrong) > 0
    if differs:
        raise SystemExit(1)


@click.command()
@click.argument("run")
@click.option("--width", type=click.Choice(["text", "column"]), help="Width of all figures.")
@click.option(
    "--formats", default="pdf", help="pdf, svg, or both: pdf,svg. PNG and the numbers (CSV) always come with them."
)
@click.option(
    "--style",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="A style file of matplotlib's: fonts, and colours by axes.prop_cycle.",
)
@click.option("--corpus", help="Where the corpus of the run is now, if it is elsewhere: a name or a path.")
@click.option("--out", type=FOLDER, help="Output folder. Default: figures-WIDTH in the page's folder.")
@TRUSTED
def figures(run: str, width: str | None, formats: str, corpus: str | None, out: str | None, **how: Any) -> None:
    """Draw the figures of RUN anew, at another width, in other formats, fonts or colours; its page stays as it is.

    The notebook is run again with the answers in the cache; no model is asked.

    \b
    perslib figures sample-en/none/01_verification --width column --formats pdf --style paper.mplstyle
    """
    from perslib.report.page.export import read_formats
    from perslib.report.run.again import write_figures
    from perslib.report.run.manifest import find_page

    page = find_page(run)
    folder = Path(out) if out else page.folder / f"figures-{width or 'new'}"
    written = write_figures(page, folder, corpus, formats=",".join(read_formats(formats)), width=width, **how)
    click.echo(f"{len(written)} files in {folder}" if written else f"{page.name} has no figures")


@click.command()
@click.argument("run")
@click.option("--out", type=click.Path(dir_okay=False), help="A file to write it to. Default: the terminal.")
def methods(run: str, out: str | None) -> None:
    """Write what a paper says of RUN: methods, BibTeX, its tables for LaTeX, and what a reader needs to repeat it.

    It is filled from the run's manifest, in Markdown. What no manifest knows stays an open box.

    \b
    perslib methods sample-en/none/01_verification
    """
    from perslib.report.run.manifest import find_page
    from perslib.report.run.methods import describe_methods

    text = describe_methods(page := find_page(run))
    if out:
        refuse_to_overwrite([Path(out)], page.list_files())
        Path(out).write_text(text, "utf-8")
    click.echo(f"Wrote {out}" if out else escape_for_terminal(text))


@click.command()
@click.argument("run")
@click.option("--to", type=click.Choice(["csv", "inspect", "rocrate", "pdf"]), required=True, help="The form.")
@click.option("--corpus", help="Where the corpus of the run is now, if it is elsewhere: a name or a path.")
@click.option("--out", type=click.Path(resolve_path=True), help="A file, of csv a folder. Default: beside the page.")
def export(run: str, to: str, corpus: str | None, out: str | None) -> None:
    """Write RUN for others: verdicts and replies as CSV, a log that Inspect opens, an RO-Crate for archives, or the page as PDF.

    PDF needs Chromium, or a browser that PERSLIB_CHROMIUM names.

    \b
    perslib export sample-en/none/04_replay --to inspect
    """
    from perslib.report.run.export_run import export_run
    from perslib.report.run.manifest import find_page

    page = find_page(run)
    if out:
        refuse_to_overwrite([Path(out)], page.list_files())
    for file in export_run(page, to, Path(out) if out else None, corpus):
        click.echo(f"Wrote {file}")
