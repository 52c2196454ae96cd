"""`perslib report --batch`, and `perslib batch`: questions written to files for a model that answers in batches or offline."""

from __future__ import annotations

import copy
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from perslib.cli.options import FILE, escape_for_terminal
from perslib.cli.pages import choose_pages

#: What `perslib report` is given that does not choose questions.
_OF_PAGES = ("notebooks", "use", "parameters", "figures", "width")


def add_batches(report: click.Command) -> click.Command:
    """Return `perslib report` with an option that has questions answered in batches before the pages are made."""
    option = click.Option(["--batch"], is_flag=True, help="Ask in batches, which takes hours and costs less.")
    make_pages = report.callback

    def ask_first(batch: bool, **given: Any) -> None:
        if batch:
            from perslib.registry import use_plugins
            from perslib.systems.batches.pages import answer_in_batches

            use_plugins(*given["use"])
            which = {name: given[name] for name in given if name not in _OF_PAGES}
            answer_in_batches(given["notebooks"] or None, **which, **given["parameters"])
        if make_pages and not (batch and given["dry_run"]):
            make_pages(**given)

    with_batches = copy.copy(report)
    with_batches.params, with_batches.callback = [*report.params, option], ask_first
    return with_batches


@click.group(invoke_without_command=True)
@click.pass_context
def batch(context: click.Context) -> None:
    """Show the batches of questions and their progress.

    `perslib report --batch` asks in batches automatically. For a model that runs offline, write the questions to a
    file, have them answered, and read the answers into the cache. Some questions depend on answers: repeat the steps
    until no question is left.

    \b
    perslib batch write 01 --backbone vllm-qwen3-8b --to questions.jsonl
    vllm run-batch -i questions.jsonl -o answers.jsonl --model Qwen/Qwen3-8B
    perslib batch read answers.jsonl
    perslib report 01 --backbone vllm-qwen3-8b
    """
    if context.invoked_subcommand:
        return
    from perslib.systems.batches import list_batches

    readable, damaged = list_batches()
    for one in readable:
        moment = datetime.fromtimestamp(one.state["made"]).isoformat(" ", "minutes")
        step = "read" if "read" in one.state else "submitted" if one.is_open else "written"
        click.echo(escape_for_terminal(f"{moment}  {step:<9}  {one.name}  {one.describe()}  {one.state.get('id', '')}"))
    for error in damaged:
        click.echo(escape_for_terminal(str(error)), err=True)


@batch.command("write")
@choose_pages
@click.option("--to", type=FILE, required=True, help="File to write; if there are several, the others get a number.")
def write_questions(use: tuple[str, ...], parameters: dict[str, Any], to: Path, **which: Any) -> None:
    """Write to a file the questions of NOTEBOOKS that can be asked now, in the format of OpenAI's batches.

    \b
    perslib batch write 01 --corpus persturnbench --backbone vllm-qwen3-8b --to questions.jsonl
    """
    from perslib.registry import use_plugins
    from perslib.report.run.plan import plan
    from perslib.systems.batches.pages import collect_questions

    use_plugins(*use)
    batches, waiting = collect_questions(plan(which.pop("notebooks") or None, **which, **parameters))
    for number, one in enumerate(batches):
        file = to.with_stem(f"{to.stem}-{number + 1}") if number else to
        shutil.copyfile(one.folder / "questions.jsonl", file)
        click.echo(f"{file}: {one.describe()}")
    if waiting:
        click.echo("Further questions depend on answers: write again when these are read.")
    elif not batches:
        click.echo("Nothing is left to ask: every answer is in the cache.")


@batch.command("read")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def read_answer_files(files: tuple[Path, ...]) -> None:
    """Read the answers in FILES into the cache; `perslib batch write` wrote their questions.

    \b
    perslib batch read answers.jsonl
    """
    from perslib.systems.batches import store_result_files

    for one, taken in store_result_files(files):
        click.echo(escape_for_terminal(f"{one.entry.name}: {taken.describe()}"))


@batch.command("forget")
@click.argument("names", nargs=-1, required=True)
def forget_batches(names: tuple[str, ...]) -> None:
    """Remove the batches NAMES from this machine; their questions without an answer will be asked again.

    \b
    perslib batch forget 5f0c9a7be112
    """
    from perslib.systems.batches import delete_batch

    for name in names:
        one = delete_batch(name)
        at_endpoint = (
            f"; at the endpoint {one.state.get('id', 'it')} may still run, and is paid" if one and one.is_open else ""
        )
        click.echo(escape_for_terminal(f"{name}: forgotten{at_endpoint}"))
