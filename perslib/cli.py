"""The `perslib` command: a thin shell over the library."""

from __future__ import annotations

import errno
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from perslib import __version__
from perslib.errors import PerslibError

#: What `--parameter` is not for.
OPTIONS = {name: f"--{name}" for name in ("corpus", "backbone", "language", "limit", "seed", "out")}
OPTIONS |= {"backbones": "--backbone", "notebooks": "the arguments of `perslib report`"}
#: Signals that end a command as Ctrl-C does, so that nothing is left behind.
_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Sentences(click.Group):
    """Shows perslib's own errors as what they say, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        for number in _ENDINGS:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one of them
                signal.signal(number, signal.default_int_handler)
        try:
            return super().invoke(ctx)
        except PerslibError as error:
            click.echo(_plain(f"perslib: {error}"), err=True)
            ctx.exit(1)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # `perslib … | head`: click ends without a word
            where = f"{error.filename}: " if error.filename else ""
            click.echo(_plain(f"perslib: {where}{error.strerror or error}"), err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("perslib: stopped; what was answered is kept, run the same command to go on", err=True)
            ctx.exit(130)


@click.group(
    cls=_Sentences, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
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


@main.command(cls=_WithNames)
@click.argument("notebooks", nargs=-1)
@click.option(
    "--corpus", default="sample/en", show_default=True, help="Name under data/, or path of a release."
)
@click.option(
    "--backbone",
    "-b",
    "backbones",
    multiple=True,
    default=["embedded"],
    show_default=True,
    help="Entry of backbones.toml. Repeat the option to run every notebook for each.",
)
@click.option(
    "--language", type=click.Choice(["en", "zh"]), help="Language of the page. Default: that of the corpus."
)
@click.option(
    "--limit",
    type=click.IntRange(min=-1),
    help="Number of items for the model: judgments per judge, or what the notebook counts (turns answered, "
    "topics, cases). 0: default of the notebook, -1: all.",
)
@click.option("--seed", type=int, default=42, show_default=True, help="Random seed.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Output folder instead of reports/."
)
@click.option(
    "--parameter",
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other parameter of a notebook.",
)
@click.option(
    "--use",
    multiple=True,
    metavar="MODULE",
    help="Python module with judges, memories, contexts or loaders of your own.",
)
@click.option("--dry-run", is_flag=True, help="Only estimate calls, tokens, cost and time of each page.")
def report(
    notebooks: tuple[str, ...],
    corpus: str,
    backbones: tuple[str, ...],
    language: str | None,
    limit: int | None,
    seed: int,
    out: Path | None,
    parameters: tuple[str, ...],
    use: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Run NOTEBOOKS (default: all bundled ones) and render them as pages.

    A notebook is a name or number (00_corpus, 00) or a path. Pages, figures and tables are written to
    reports/<corpus>/<backbone>/; reports/index.html links all of them.
    """  # fmt: skip
    from perslib.registry import use_plugins

    use_plugins(*use)
    further = dict(_name_and_value(p) for p in parameters)
    if language is not None:
        further["language"] = language
    if limit is not None:
        further["limit"] = limit
    from perslib.report import rehearse_report, run_report

    shared: dict[str, Any] = {"corpus": corpus, "backbones": backbones, "out": out, "seed": seed, **further}
    if dry_run:
        for line in rehearse_report(notebooks or None, **shared):
            click.echo(line)
        return
    index = run_report(notebooks or None, **shared)
    click.echo(f"Open {index}")


def _name_and_value(text: str) -> tuple[str, Any]:
    import yaml

    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--parameter")
    if name in OPTIONS:
        raise click.BadParameter(
            f"{name} has an option of its own: {OPTIONS[name]}", param_hint="--parameter"
        )
    try:
        found = yaml.safe_load(value)
        return name, value.strip() if isinstance(found, dict) else found  # "edited: mine" is a text
    except yaml.YAMLError:
        raise click.BadParameter(
            f"the value of {name} cannot be read: {value!r}", param_hint="--parameter"
        ) from None


@main.command("import")
@click.argument("kind")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the corpus and of its folder under data/.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Output folder instead of data/<name>."
)
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Keep good sessions and write bad ones to rejected.jsonl, with the reason. Scores on another scale still stop the import.",
)
@click.option(
    "--language", type=click.Choice(["en", "zh"]), help="Language of a table of your own. Default: en."
)
@click.option("--use", multiple=True, metavar="MODULE", help="Python module with a loader of your own.")
def import_(
    kind: str,
    path: Path,
    name: str | None,
    out: Path | None,
    skip_bad: bool,
    language: str | None,
    use: tuple[str, ...],
) -> None:
    """Check a downloaded release and write it as Parquet under data/.

    \b
    KIND is one of
      persturnbench   the PersTurnBench data release: its folder, or the tar.gz as downloaded
      uss             USS dialogues: one text file, or their folder (the Chinese JDDC only as a file)
      urs             URS sessions: chinese_merged.json or english_processed.json
      palset          Mem-PAL's PAL-Set: input.json or input_en.json, or the folder with one of them
      uxbench         UXBench: a released split, a raw log (.jsonl or .parquet), or a folder of either
      table           your own JSONL or CSV, one row per reply: user, request, response, and optionally
                      session, scenario, turn, score, reason, task, assistant, profile, times, satisfaction

    data/README.md lists where each public data set is published, and its licence.
    """
    from perslib.corpus import import_release
    from perslib.registry import use_plugins

    use_plugins(*use)
    if language and kind != "table":
        raise click.UsageError(f"--language is for tables of one's own; {kind} knows its language")
    options = {"language": language} if language else {}
    done = import_release(kind, path, name, out, skip_bad=skip_bad, **options)
    reading, corpus = done.reading, done.corpus
    if kind == "palset":
        from perslib.corpus.palset import averages

        lines = [f"{len(corpus.users)} users", averages(corpus).to_string(float_format="{:,.1f}".format)]
    else:
        shown = corpus.statistics().dropna()
        lines = [shown.to_string(index=False, header=False, float_format=_figure)]
    lines += [f"note: {what}: {times}" for what, times in reading.irregularities.items()]
    if "split_origin" in corpus.meta:
        lines.append(f"split: {corpus.meta['split_origin']}")
    if reading.rejected:
        lines.append(f"left out: {len(reading.rejected)} records, see {done.folder / 'rejected.jsonl'}")
    click.echo(_plain("\n".join(lines)))
    if 10 * reading.lost > (sessions := reading.lost + len(corpus.sessions)):
        warning = f"{reading.lost} of {sessions} sessions were left out; what remains may not be a fair part"
        click.secho(warning, bold=True)
    name_to_load = done.folder if out else corpus.name
    click.echo(_plain(f'Written to {done.folder}; open it with perslib.corpus.load("{name_to_load}")'))


@main.command()
@click.argument("notebook", default="memory_explorer")
@click.option("--port", type=int, default=8866, show_default=True, help="Port, or the next free one.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open a browser.")
def app(notebook: str, port: int, browser: bool) -> None:
    """Show the output of NOTEBOOK as an app, without code, through Voilà.

    It listens on this machine only and requires the token in the address that it prints. Ctrl-C stops it.
    """
    from perslib.report.app import command, environment
    from perslib.report.plan import find_studies

    path = find_studies(notebook)[0].path
    click.echo(f"{path.stem} as an app, at the address below; Ctrl-C ends it")
    words = command(path, port, browser)
    os.execvpe(words[0], words, environment())


@main.command()
@click.argument("notebook")
@click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Language of the texts.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Output file. Default: notebooks/LANGUAGE/NAME.ipynb."
)
def notebook(notebook: str, language: str, out: Path | None) -> None:
    """Write a copy of NOTEBOOK to work in, in English or Chinese.

    A notebook is a name or number (00_corpus, 00) or a path. An existing file is not overwritten.
    """
    from perslib.catalogue import copy_notebook

    click.echo(f"Written to {copy_notebook(notebook, language, out)}")


@main.command()
@click.argument("names", nargs=-1, metavar="[BACKBONE]...")
@click.option("--model", help="Test this model instead of that of the entry.")
def check(names: tuple[str, ...], model: str | None) -> None:
    """Test what a BACKBONE can do and save the result; without a BACKBONE, list all.

    A few small calls test whether it follows a JSON schema, has a JSON mode, returns log probabilities, respects a seed,
    and reports token usage. The result is saved in .perslib/probes.json and overrides the flags in backbones.toml.
    """
    if not names:
        _list_backbones()
        return
    from perslib.llm import backbone

    overrides: dict[str, Any] = {"model": model} if model else {}
    for i, name in enumerate(names):
        if i:
            click.echo()
        click.echo(backbone(name, **overrides).probe().describe())


def _list_backbones() -> None:
    from perslib.llm import entries

    rows = []
    for name, entry in entries().items():
        place = "started by perslib" if entry.kind == "embedded" else entry.base_url
        key = "no key needed" if not entry.key_env else f"key in {entry.key_env}" + _is_set(entry.key_env)
        rows.append((name, entry.model or "(give a model)", place, key))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows:
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths)) + "  " + row[3])


def _is_set(variable: str) -> str:
    return "" if os.environ.get(variable) else " (not set)"


@main.group(invoke_without_command=True)
@click.pass_context
def cache(context: click.Context) -> None:
    """Show the content of the answer cache, by backbone, model, prompt and stage.

    All answers are stored in .perslib/cache.sqlite by the content of their questions: an interrupted run resumes where
    it stopped, and a repeated run costs nothing.
    """
    if context.invoked_subcommand:
        return
    from perslib.llm import Cache

    store = Cache(policy="only")
    if not store.path.is_file():
        click.echo(f"The cache is empty ({store.path}).")
        return
    held = store.contents()
    shown = held.assign(size=held["bytes"].map(_size), last=held["last"].dt.strftime("%Y-%m-%d %H:%M"))
    columns = ["backbone", "model", "prompt", "stage", "entries", "size", "last"]
    if len(held):
        click.echo(shown[columns].fillna("").astype(str).map(_plain).to_string(index=False))
    click.echo(f"{_entries(held['entries'].sum())}, {_size(held['bytes'].sum())} of content, in {store.path}")


@cache.command()
@click.option(
    "--older-than",
    type=click.IntRange(min=-1),
    metavar="DAYS",
    help="Entries older than this number of days.",
)
@click.option(
    "--keep", type=click.FloatRange(min=0), metavar="MB", help="The oldest entries beyond this total size."
)
@click.option("--backbone", help="Entries of this backbone.")
@click.option("--model", help="Entries of this model.")
@click.option("--prompt", help="Entries of this prompt, as shown by `perslib cache`.")
@click.option("--stage", help="Entries of this stage.")
def prune(older_than: int | None, keep: float | None, **about: str | None) -> None:
    """Delete the entries that match all given options, and shrink the file."""
    from perslib.llm import Cache

    store = Cache()
    age = timedelta(days=older_than) if older_than is not None else None
    size = int(keep * 1e6) if keep is not None else None
    forgotten = store.prune(
        older_than=age, keep_bytes=size, **{k: v for k, v in about.items() if v is not None}
    )
    click.echo(f"{_entries(forgotten)} forgotten; the file has {_size(store.vacuum())} now")


def _entries(n: int) -> str:
    return f"{n:,} {'entry' if n == 1 else 'entries'}"


def _size(n: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} GB"


def _plain(text: str) -> str:
    """Text of others as a terminal may have it: control characters are shown."""
    from perslib.report.words import controls_shown

    return controls_shown(text)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


if __name__ == "__main__":
    sys.exit(main())
