"""The `perslib` command: a thin shell over the library."""

from __future__ import annotations

import errno
import inspect
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click

from perslib import __version__
from perslib.cli_making import FILE, FOLDER, LANGUAGE, build, review, synthesize
from perslib.cli_models import cache, check, plain
from perslib.cli_pages import USE, batch, compare, report
from perslib.corpus.corpus import EVIDENCE
from perslib.corpus.files.times import ORDERS
from perslib.corpus.scale import Scale
from perslib.errors import PerslibError

#: Signals that end a command as Ctrl-C does, so that nothing is left behind.
_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


class _Sentences(click.Group):
    """Shows perslib's own errors as what they say, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        for number in _ENDINGS:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one of them
                signal.signal(number, signal.default_int_handler)
        try:
            return super().invoke(ctx)
        except PerslibError as error:
            said = str(error)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # `perslib … | head`: click ends without a word
            said = (f"{error.filename}: " if error.filename else "") + (error.strerror or str(error))
        except KeyboardInterrupt:
            click.echo("perslib: stopped; what was answered is kept, run the same command to go on", err=True)
            ctx.exit(130)
        click.echo(plain(f"perslib: {said}"), err=True)
        ctx.exit(1)


@click.group(cls=_Sentences, context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="perslib")
def main() -> None:
    """A research workbench for personalized satisfaction with AI assistants.

    \b
    perslib report                        render the studies on the bundled sample
    perslib check my-vllm                 test what a model can do
    perslib import persturnbench FOLDER   check a downloaded release and store it under data/
    perslib report --corpus persturnbench --backbone my-vllm
    perslib notebook 01 --language zh     write a Chinese copy of a notebook to work in
    """


def _read_columns(_: click.Context, __: click.Parameter, given: str | None) -> dict[str, str]:
    """OURS=THEIRS, separated by commas."""
    pairs = [pair.partition("=") for pair in (given or "").split(",") if pair.strip()]
    if wrong := [ours for ours, equals, theirs in pairs if not (equals and ours.strip() and theirs.strip())]:
        raise click.BadParameter(f"{wrong[0]!r} is not OURS=THEIRS")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


@main.command("import")
@click.argument("what", nargs=-1, required=True, metavar="[KIND] PATH")
@click.option("--name", help="Name of the corpus and of its folder under data/.")
@click.option("--out", type=FOLDER, help="Output folder instead of data/<name>.")
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Keep good sessions and write bad ones to rejected.jsonl, with the reason. Scores on another scale still stop the import.",
)
@click.option("--language", type=LANGUAGE, help="Language of a table of your own. Default: en.")
@click.option("--columns", callback=_read_columns, metavar="OURS=THEIRS,…", help="Names of a table's columns.")
@click.option(
    "--scale", metavar="LOW-HIGH", help="Scale of a table's ratings, such as 1-10. Default: read off the data."
)
@click.option("--dissatisfied", type=float, help="Highest rating on it of somebody who is not satisfied.")
@click.option("--session-scale", metavar="LOW-HIGH", help="Scale of whole conversations, where it is another one.")
@click.option(
    "--evidence",
    type=click.Choice(EVIDENCE),
    help="What judges know of a user: other scenarios, other conversations, or earlier ones only.",
)
@click.option(
    "--dates", type=click.Choice(list(ORDERS)), help="How a table writes 01.03.2026, where no date in it shows it."
)
@click.option("--dry-run", is_flag=True, help="Write nothing; say what is recognised and which pages it can feed.")
@USE
def import_(what: tuple[str, ...], use: tuple[str, ...], out: Path | None, dry_run: bool, **how: Any) -> None:
    """Check a downloaded release or a table and write it as Parquet under data/.

    \b
    KIND is one of these; without it, the kind is known by its looks
      persturnbench   the PersTurnBench data release: its folder, or the tar.gz as downloaded
      uss             USS dialogues: one text file, or their folder (the Chinese JDDC only as a file)
      urs             URS sessions: chinese_merged.json or english_processed.json
      palset          Mem-PAL's PAL-Set: input.json or input_en.json, or the folder with one of them
      uxbench         UXBench: a released split, a raw log (.jsonl or .parquet), or a folder of either
      prism           PRISM: the folder with survey, conversations and utterances; several replies a request
      community-alignment, comparia   replies preferred or liked: one table each
      llm-rubric      LLM-Rubric: its folder data/real_data; rated conversations
      convlab, dstc   dialogues with goal, success and ratings: JSON files; folders of calls
      table           your own JSONL, JSON list, CSV or Parquet: a row a reply (user, request, response, and optionally
                      session, scenario, score, satisfaction, …) or a row a conversation (user, messages)

    \b
    perslib import uss SGD.txt --name sgd
    perslib import table mine.csv --columns score=rating,request=prompt,response=reply --scale 1-10

    data/README.md lists where each public data set is published, and its licence.
    """
    from perslib.corpus import describe_import, detect, import_release, loader, read_release
    from perslib.registry import use_plugins

    use_plugins(*use)
    if len(what) > 2:
        raise click.UsageError(f"one path at a time; found {' '.join(what)}")
    path = Path(what[-1])
    kind = what[0] if len(what) == 2 else detect(path)
    scale, dissatisfied = how.pop("scale"), how.pop("dissatisfied")
    if scale:
        how["scale"] = Scale.parse(scale, dissatisfied)
    elif dissatisfied is not None:
        raise click.UsageError("--dissatisfied needs the --scale that it is on")
    if how["session_scale"]:
        how["session_scale"] = Scale.parse(how["session_scale"])
    how = {option: value for option, value in how.items() if value}
    if kind in loader:
        takes = {"name", *inspect.signature(loader[kind]).parameters}
        for option in how.keys() - takes:
            option = option.replace("_", "-")
            raise click.UsageError(f"--{option} is for tables of one's own; {kind} knows its {option}")
    done = read_release(path, kind, **how) if dry_run else import_release(kind, path, out=out, **how)
    click.echo(plain("\n".join(describe_import(done, kind, dry_run))))
    if kind == "uxbench" and "cases" in done.corpus.extras:
        from perslib.ux.construction import dimension_shares, split_statistics

        cases = done.corpus.extras["cases"]
        split = split_statistics(cases).set_index("split").T.to_string(float_format="{:,.1f}".format, na_rep="–")
        click.echo(f"\nSplits, beside UXBench's Table 2 (published):\n{split}")
        if len(shares := dimension_shares(cases)):
            shown = shares.to_string(index=False, float_format="{:.1f}".format, na_rep="–")
            click.echo(f"\nDimensions of failure and success, beside UXBench's Table 7:\n{shown}\n")
    if 10 * done.lost > (sessions := done.lost + len(done.corpus.sessions)):
        warning = f"{done.lost} of {sessions} sessions were left out; what remains may not be a fair part"
        click.secho(warning, bold=True)
    if dry_run:
        click.echo("Nothing was written.")
    else:
        name = done.folder if out else done.corpus.name
        click.echo(plain(f'Written to {done.folder}; open it with perslib.corpus.load("{name}")'))


@main.command()
@click.argument("notebook", default="memory_explorer")
@click.option("--port", default=8866, help="Port, or the next free one.")
@click.option("--browser/--no-browser", default=True, help="Open a browser.")
def app(notebook: str, port: int, browser: bool) -> None:
    """Show the output of NOTEBOOK as an app, without code, through Voilà.

    It listens on this machine only and requires the token in the address that it prints. Ctrl-C stops it.

    \b
    perslib app memory_explorer --port 8900
    """
    from perslib.report.app import command, environment
    from perslib.report.plan import find_studies

    path = find_studies(notebook)[0].path
    click.echo(f"{path.stem} as an app, at the address below; Ctrl-C ends it")
    words = command(path, port, browser)
    os.execvpe(words[0], words, environment())


@main.command()
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


@main.command()
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
    made = copy_notebook("my_study", language, workspace() / "notebooks" / f"{name}.ipynb")
    made.write_text(
        made.read_text("utf-8").replace('\\"my_study\\"', f'\\"{name}\\"'), "utf-8"
    )  # its files bear its name
    click.echo(f"Written to {made}; render it with: perslib report {made.stem}")


for command in (report, compare, batch, synthesize, build, review, check, cache):
    main.add_command(command)


if __name__ == "__main__":
    sys.exit(main())
