"""Commands about pages: render them, compare them, ask their questions in batches."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from perslib.cli_making import FILE, FOLDER, LANGUAGE
from perslib.cli_models import plain

#: What `--parameter` is not for.
OPTIONS = {name: f"--{name}" for name in ("corpus", "backbone", "language", "limit", "seed", "out")}
OPTIONS |= {"backbones": "--backbone", "notebooks": "the arguments of `perslib report`"}
USE = click.option(
    "--use", multiple=True, metavar="MODULE", help="Python module of your own: judges, memories, contexts or loaders."
)


class _WithNames(click.Command):
    """A command whose help lists the names that parameters take."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the judges, memories and contexts there are."""
        from perslib.judge import judge
        from perslib.memory import memory
        from perslib.replay import context

        names = {"judges": list(judge), "memories": list(memory), "contexts": list(context)}
        with formatter.section("Names for -p (a memory is a judge and a context, too)"):
            formatter.write_dl([(kind, ", ".join(known)) for kind, known in names.items()])


def _read_parameters(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE, the values as YAML has them: numbers, yes or no, lists, texts."""
    import yaml

    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        if name in OPTIONS:
            raise click.BadParameter(f"{name} has an option of its own: {OPTIONS[name]}")
        try:
            read = yaml.safe_load(value)
        except yaml.YAMLError:
            raise click.BadParameter(f"the value of {name} cannot be read: {value!r}") from None
        found[name] = value.strip() if isinstance(read, dict) else read  # "edited: mine" is a text
    return found


_PAGES = (
    click.argument("notebooks", nargs=-1),
    click.option("--corpus", default="sample/en", help="Name under data/, or path of a release."),
    click.option(
        "--backbone",
        "-b",
        "backbones",
        multiple=True,
        default=["embedded"],
        help="Entry of backbones.toml. Repeat the option to run every notebook for each.",
    ),
    click.option("--language", type=LANGUAGE, help="Language of the page. Default: that of the corpus."),
    click.option(
        "--limit",
        type=click.IntRange(min=-1),
        help="Number of items for the model: judgments per judge, or what the notebook counts (turns answered, topics, cases). 0: default of the notebook, -1: all.",
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


def which_pages(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which pages are made, and of what."""
    for option in reversed(_PAGES):
        command = option(command)
    return command


@click.command(cls=_WithNames)
@which_pages
@click.option("--batch", is_flag=True, help="Ask in batches, which take hours and cost less.")
@click.option("--dry-run", is_flag=True, help="Only estimate calls, tokens, cost and time of each page.")
def report(
    notebooks: tuple[str, ...],
    use: tuple[str, ...],
    parameters: dict[str, Any],
    batch: bool,
    dry_run: bool,
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
    from perslib.report import answer_in_batches, rehearse_report, run_report

    if batch:
        answer_in_batches(notebooks or None, dry_run=dry_run, **shared, **parameters)
    elif dry_run:
        for line in rehearse_report(notebooks or None, **shared, **parameters):
            click.echo(line)
    if not dry_run:
        click.echo(f"Open {run_report(notebooks or None, **shared, **parameters)}")


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--language", type=LANGUAGE, help="Language of the page. Default: that of the first run.")
@click.option("--score", default="real", help="Score to compare: real, cdf or mean_shift.")
@click.option("--seed", default=42, help="Random seed.")
@click.option("--out", type=FOLDER, help="Output folder instead of that of the runs.")
def compare(runs: tuple[str, ...], **how: Any) -> None:
    """Compare RUNS of one corpus: what differs in them, and paired differences on the same replies.

    A run is a page that was rendered: its path, or that under reports/ without an ending. Of one run, its judges are
    compared. A report with several backbones ends with this page by itself.

    \b
    perslib compare sample-en/embedded/01_verification sample-en/my-vllm/01_verification
    """
    from perslib.report import compare_runs

    click.echo(f"Open {compare_runs(runs, **how)}")


@click.group(invoke_without_command=True)
@click.pass_context
def batch(context: click.Context) -> None:
    """Show the batches of questions, and how far they are.

    `perslib report --batch` asks in batches by itself. For a model that runs offline, write the questions to a file, have
    them answered, and read the answers into the cache; where questions depend on answers, once more, until nothing is left.

    \b
    perslib batch write 01 --backbone vllm-qwen3-8b --to questions.jsonl
    vllm run-batch -i questions.jsonl -o answers.jsonl --model Qwen/Qwen3-8B
    perslib batch read answers.jsonl
    perslib report 01 --backbone vllm-qwen3-8b
    """
    if context.invoked_subcommand:
        return
    from perslib.llm.answerers.batches import batches

    readable, damaged = batches()
    for one in readable:
        moment = datetime.fromtimestamp(one.state["made"]).isoformat(" ", "minutes")
        step = "read" if "read" in one.state else "submitted" if one.is_open else "written"
        click.echo(plain(f"{moment}  {step:<9}  {one.name}  {one.describe()}  {one.state.get('id', '')}"))
    for error in damaged:
        click.echo(plain(str(error)), err=True)


@batch.command()
@which_pages
@click.option("--to", type=FILE, required=True, help="File to write; of several, the others get a number.")
def write(use: tuple[str, ...], parameters: dict[str, Any], to: Path, **which: Any) -> None:
    """Write the questions of NOTEBOOKS that can be asked now to a file, in the format of OpenAI's batches.

    \b
    perslib batch write 01 --corpus persturnbench --backbone vllm-qwen3-8b --to questions.jsonl
    """
    from perslib.registry import use_plugins
    from perslib.report import collect_questions
    from perslib.report.plan import plan

    use_plugins(*use)
    made, waiting = collect_questions(plan(which.pop("notebooks") or None, **which, **parameters))
    for number, one in enumerate(made):
        file = to.with_stem(f"{to.stem}-{number + 1}") if number else to
        shutil.copyfile(one.folder / "questions.jsonl", file)
        click.echo(f"{file}: {one.describe()}")
    if waiting:
        click.echo("Further questions depend on answers: write again when these are read.")
    elif not made:
        click.echo("Nothing is left to ask: every answer is in the cache.")


@batch.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def read(files: tuple[Path, ...]) -> None:
    """Read the answers in FILES into the cache; their questions were written by `perslib batch write`.

    \b
    perslib batch read answers.jsonl
    """
    from perslib.llm.answerers.batches import read_files

    for one, taken in read_files(files):
        click.echo(plain(f"{one.entry.name}: {taken.describe()}"))


@batch.command()
@click.argument("names", nargs=-1, required=True)
def forget(names: tuple[str, ...]) -> None:
    """Remove the batches NAMES from this machine; what they asked and has no answer is asked anew.

    \b
    perslib batch forget 5f0c9a7be112
    """
    from perslib.llm.answerers.batches import forget

    for name in names:
        one = forget(name)
        at_endpoint = (
            f"; at the endpoint {one.state.get('id', 'it')} may still run, and is paid" if one and one.is_open else ""
        )
        click.echo(plain(f"{name}: forgotten{at_endpoint}"))
