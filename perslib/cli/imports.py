"""`perslib import`: check a release or a table and store it under data/."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from perslib.cli.options import FOLDER, LANGUAGE, USE, escape_for_terminal
from perslib.corpus.corpus import EVIDENCE
from perslib.corpus.files.times import ORDERS
from perslib.corpus.scale import Scale


def _read_columns(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Return the names of columns in OURS=THEIRS, separated by commas; their names may have commas themselves."""
    parts = [part for value in given for part in re.split(r",(?=\s*\w+\s*=)", value)]
    pairs = [part.partition("=") for part in parts if part.strip(" ,")]
    if wrong := [ours for ours, equals, theirs in pairs if not (equals and ours.strip() and theirs.strip())]:
        raise click.BadParameter(f"{wrong[0]!r} is not OURS=THEIRS")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


@click.command("import")
@click.argument("what", nargs=-1, required=True, metavar="[KIND] PATH")
@click.option("--name", help="Name of the corpus and of its folder under data/.")
@click.option("--out", type=FOLDER, help="Output folder instead of data/<name>.")
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Keep good sessions and write bad ones to rejected.jsonl, with the reason. Scores on another scale still stop "
    "the import.",
)
@click.option("--language", type=LANGUAGE, help="Language of a table of your own. Default: en.")
@click.option(
    "--columns",
    callback=_read_columns,
    multiple=True,
    metavar="OURS=THEIRS,…",
    help="Names of a table's columns; may be repeated.",
)
@click.option(
    "--scale", metavar="LOW-HIGH", help="Scale of a table's ratings, such as 1-10. Default: taken from the data."
)
@click.option("--dissatisfied", type=float, help="Highest rating on this scale of a user who is not satisfied.")
@click.option(
    "--session-scale", metavar="LOW-HIGH", help="Scale of the ratings of whole conversations, if it is another one."
)
@click.option(
    "--evidence",
    type=click.Choice(EVIDENCE),
    help="What judges know about a user: other scenarios, other conversations, or earlier ones only.",
)
@click.option(
    "--dates",
    type=click.Choice(list(ORDERS)),
    help="Order of day and month in dates such as 01.03.2026, if no date in the table shows it.",
)
@click.option(
    "--encoding", help="Encoding of a table of text, such as big5. Default: UTF-8, or the one that alone is plausible."
)
@click.option("--dry-run", is_flag=True, help="Write nothing; report what is recognised and which pages can use it.")
@click.option(
    "--on",
    metavar="FIELD",
    help="Field by which the records of two files belong together: ratings.csv texts.csv --on id.",
)
@click.option("--replace", is_flag=True, help="Write over another corpus of this name.")
@click.option("--yes", is_flag=True, help="Store a file whose columns were recognised, without asking.")
@USE
def import_(
    what: tuple[str, ...],
    use: tuple[str, ...],
    out: Path | None,
    dry_run: bool,
    yes: bool,
    replace: bool,
    on: str | None,
    **how: Any,
) -> None:
    """Check a downloaded release or a table and write it as Parquet under data/.

    \b
    Without KIND the file is recognised: a release by its form, any other file by the names, types and values of its
    columns. What each was taken for is shown, with the first rows as they will be stored; --yes stores it.

    
    perslib import ratings.xlsx
    perslib import ratings.xlsx --yes --name mine
    perslib import ratings.csv texts.csv --on id

    
    KIND is one of these
      any             a file of any form: CSV (any separator and encoding), .xlsx, JSON, JSON Lines, Parquet, SQLite, Stata, SPSS,
                      data sets saved to disk, logs of Inspect (.eval), or one of them as .gz or .zip; surveys; exports
                      of Label Studio, Argilla, Langfuse, LangSmith, MLflow, promptfoo, DeepEval, LMSYS arena, ChatGPT;
                      a row a reply, a message, a conversation, or a pair
      persturnbench   the PersTurnBench data release: its folder, or the tar.gz as downloaded
      uss             USS dialogues: one text file, or their folder (the Chinese JDDC only as a file)
      urs             URS sessions: chinese_merged.json or english_processed.json
      palset          Mem-PAL's PAL-Set: input.json or input_en.json, or the folder with one of them
      uxbench         UXBench: a released split, a raw log (.jsonl or .parquet), or a folder of either
      prism           PRISM: the folder with survey, conversations and utterances; several replies per request
      community-alignment, comparia   replies preferred or liked: one table each
      llm-rubric      LLM-Rubric: its folder data/real_data; rated conversations
      cragc, ji, mathconverse, simulator-arena, halie, recllmsim   chats and choices of people, and simulated users: the clone
                      of each repository
      convlab, dstc   dialogues with goal, success and ratings: JSON files; folders of calls
      table           a table whose columns are called as perslib calls them: a row per reply (user, request, response,
                      optionally session, scenario, score, satisfaction, …) or a row per conversation (user,
                      messages)

    \b
    perslib import uss SGD.txt --name sgd
    perslib import table mine.csv --columns score=rating,request=prompt,response=reply --scale 1-10
    perslib import any log.json --columns user=meta.person,request=inputs.input

    data/README.md lists where each public data set is published, and its licence.
    """
    from perslib.corpus import describe_import, detect, import_release, loader
    from perslib.corpus.store import ANY, find_kind
    from perslib.registry import use_plugins

    use_plugins(*use)
    if on:
        if len(what) < 2:
            raise click.UsageError("--on joins two files: ratings.csv texts.csv --on id")
        how["join"] = (Path(what[-1]), on)
        what = (ANY, what[-2]) if len(what) == 2 else what[:-1]
    if len(what) > 2:
        raise click.UsageError(f"give one path at a time, or two with --on; found {' '.join(what)}")
    path = Path(what[-1])
    kind = what[0] if len(what) == 2 else detect(path)
    is_guess = kind == ANY and (on or len(what) == 1) and not yes
    scale, dissatisfied = how.pop("scale"), how.pop("dissatisfied")
    if scale:
        how["scale"] = Scale.parse(scale, dissatisfied)
    elif dissatisfied is not None:
        raise click.UsageError("--dissatisfied needs --scale, the scale of its value")
    if how["session_scale"]:
        how["session_scale"] = Scale.parse(how["session_scale"])
    how = {option: value for option, value in how.items() if value}
    if kind in loader:
        accepted = {"name", *inspect.signature(loader[kind]).parameters}
        for option in how.keys() - accepted:
            option = option.replace("_", "-")
            raise click.UsageError(f"--{option} is only for your own tables; {kind} defines its {option}")
    write = partial(import_release, kind, path, out=out, replace=replace)
    done = _read_asking(path, kind, how) if dry_run or is_guess else write(**how)
    if first := [*find_kind(kind).describe_first(done.corpus)]:
        click.echo(escape_for_terminal("\n".join(first)) + "\n")
    click.echo(escape_for_terminal("\n".join(describe_import(done, kind, dry_run))))
    if 10 * done.lost > (sessions := done.lost + len(done.corpus.sessions)):
        warning = f"{done.lost} of {sessions} sessions were left out; the rest may not be representative"
        click.secho(warning, bold=True)
    if is_guess and not dry_run and sys.stdin.isatty() and click.confirm(f"Store it as data/{done.corpus.name}?"):
        done, is_guess = write(**how), False
    if dry_run or is_guess:
        ready = _spell(path, done.corpus.name, how, replace)
        click.echo("Nothing was written." + (f" To store it: {escape_for_terminal(ready)}" if kind == ANY else ""))
    else:
        name = done.folder if out else done.corpus.name
        click.echo(escape_for_terminal(f'Written to {done.folder}; open it with perslib.corpus.load("{name}")'))


def _read_asking(path: Path, kind: str, how: dict[str, Any]) -> Any:
    """Read a file; on a terminal, ask which field is meant where two fit equally well."""
    from perslib.corpus import read_release
    from perslib.errors import Ambiguous

    while True:
        try:
            return read_release(path, kind, **how)
        except Ambiguous as unclear:
            if not sys.stdin.isatty():
                raise
            asked = f"Which field is the {unclear.column}?"
            how["columns"] = {
                **how.get("columns", {}),
                unclear.column: click.prompt(asked, type=click.Choice(unclear.choices)),
            }


def _spell(path: Path, name: str, how: dict[str, Any], replace: bool) -> str:
    """Return the command that stores a file with these options."""
    columns = ",".join(f"{ours}={theirs}" for ours, theirs in how.get("columns", {}).items())
    own = {"--name": name, "--columns": columns} | {
        option: scale.spell()
        for option, scale in (("--scale", how.get("scale")), ("--session-scale", how.get("session_scale")))
        if scale
    }
    join = how.get("join")
    own |= {"--on": join[1]} if join else {}
    own |= {f"--{key}": how.get(key, "") for key in ("language", "evidence", "dates", "encoding")}
    options = [part for option, value in own.items() if value for part in (option, str(value))]
    return shlex.join(
        ["perslib", "import", str(path), *([str(join[0])] if join else []), "--yes", *options, *["--replace"] * replace]
    )
