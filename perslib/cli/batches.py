"""`perslib batch`: questions written down for a model that answers in batches or offline."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from perslib.cli.options import FILE, plain
from perslib.cli.pages import choose_pages


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
    from perslib.llm.batches import batches

    readable, damaged = batches()
    for one in readable:
        moment = datetime.fromtimestamp(one.state["made"]).isoformat(" ", "minutes")
        step = "read" if "read" in one.state else "submitted" if one.is_open else "written"
        click.echo(plain(f"{moment}  {step:<9}  {one.name}  {one.describe()}  {one.state.get('id', '')}"))
    for error in damaged:
        click.echo(plain(str(error)), err=True)


@batch.command()
@choose_pages
@click.option("--to", type=FILE, required=True, help="File to write; of several, the others get a number.")
def write(use: tuple[str, ...], parameters: dict[str, Any], to: Path, **which: Any) -> None:
    """Write the questions of NOTEBOOKS that can be asked now to a file, in the format of OpenAI's batches.

    \b
    perslib batch write 01 --corpus persturnbench --backbone vllm-qwen3-8b --to questions.jsonl
    """
    from perslib.registry import use_plugins
    from perslib.report import collect_questions
    from perslib.report.run.plan import plan

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
    from perslib.llm.batches import read_files

    for one, taken in read_files(files):
        click.echo(plain(f"{one.entry.name}: {taken.describe()}"))


@batch.command()
@click.argument("names", nargs=-1, required=True)
def forget(names: tuple[str, ...]) -> None:
    """Remove the batches NAMES from this machine; what they asked and has no answer is asked anew.

    \b
    perslib batch forget 5f0c9a7be112
    """
    from perslib.llm.batches import forget

    for name in names:
        one = forget(name)
        at_endpoint = (
            f"; at the endpoint {one.state.get('id', 'it')} may still run, and is paid" if one and one.is_open else ""
        )
        click.echo(plain(f"{name}: forgotten{at_endpoint}"))
