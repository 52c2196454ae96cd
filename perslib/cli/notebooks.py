"""`perslib app`, `notebook` and `new`: notebooks as apps, as translated copies, and as a study of your own."""

from __future__ import annotations

import os
from pathlib import Path

import click

from perslib.cli.options import FILE, LANGUAGE


@click.command()
@click.argument("notebook", default="memory_explorer")
@click.option("--port", default=8866, help="Port, or the next free one.")
@click.option("--browser/--no-browser", default=True, help="Open a browser.")
def app(notebook: str, port: int, browser: bool) -> None:
    """Show the output of NOTEBOOK as an app, without code, through Voilà.

    It listens on this machine only and requires the token in the address that it prints. Ctrl-C stops it.

    \b
    perslib app memory_explorer --port 8900
    """
    from perslib.extras import require_extra
    from perslib.report.app import command, environment
    from perslib.report.run.plan import find_studies

    require_extra("lab", "Showing a notebook as an app")
    path = find_studies(notebook)[0].path
    click.echo(f"{path.stem} as an app, at the address below; Ctrl-C ends it")
    words = command(path, port, browser)
    os.execvpe(words[0], words, environment())


@click.command()
@click.argument("notebook")
@click.option("--language", type=LANGUAGE, default="en", help="Language of the texts.")
@click.option("--out", type=FILE, help="Output file. Default: notebooks/LANGUAGE/NAME.ipynb.")
def notebook(notebook: str, language: str, out: Path | None) -> None:
    """Write a copy of NOTEBOOK to work in, in English or Chinese.

    A notebook is a name or number (00_corpus, 00) or a path. An existing file is not overwritten.

    \b
    perslib notebook 01 --language zh --out mine.ipynb
    """
    from perslib.catalogue import copy_notebook

    click.echo(f"Written to {copy_notebook(notebook, language, out)}")


@click.command()
@click.argument("name")
@click.option("--language", type=LANGUAGE, default="en", help="Language of the texts.")
def new(name: str, language: str) -> None:
    """Write notebooks/NAME.ipynb, a small study of your own to start from.

    \b
    perslib new my_question
    """
    from perslib.catalogue import copy_notebook
    from perslib.paths import workspace

    name = name.removesuffix(".ipynb")
    copy = copy_notebook("my_study", language, workspace() / "notebooks" / f"{name}.ipynb")
    copy.write_text(
        copy.read_text("utf-8").replace('\\"my_study\\"', f'\\"{name}\\"'), "utf-8"
    )  # its files have its name
    click.echo(f"Written to {copy}; render it with: perslib report {copy.stem}")
