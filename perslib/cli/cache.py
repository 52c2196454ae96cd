"""`perslib cache`: the stored answers, the questions that were sent, and removing entries."""

from __future__ import annotations

import json
from datetime import timedelta

import click

from perslib.cli.options import escape_for_terminal


@click.group(invoke_without_command=True)
@click.pass_context
def cache(context: click.Context) -> None:
    """Show the content of the answer cache by backbone, model, prompt and stage.

    All answers are stored in .perslib/cache.sqlite by the content of their questions: an interrupted run resumes where
    it stopped, and a repeated run costs nothing.

    \b
    perslib cache prune --older-than 30 --backbone my-vllm
    perslib cache show 5ea0bd30
    """
    if context.invoked_subcommand:
        return
    from perslib.llm import Cache

    store = Cache(policy="only")
    if not store.path.is_file():
        click.echo(f"The cache is empty ({store.path}).")
        return
    contents = store.contents()
    table = contents.assign(
        size=contents["bytes"].map(_format_size), last=contents["last"].dt.strftime("%Y-%m-%d %H:%M")
    )
    columns = ["backbone", "model", "prompt", "stage", "entries", "size", "last"]
    if len(contents):
        click.echo(table[columns].fillna("").astype(str).map(escape_for_terminal).to_string(index=False))
    click.echo(
        f"{_format_entries(contents['entries'].sum())}, {_format_size(contents['bytes'].sum())} of content, in {store.path}"
    )


@cache.command("show")
@click.argument("digest")
def show_answer(digest: str) -> None:
    """Show the question that was sent and the raw answer with this DIGEST; its first characters are enough.

    The column `asked` of verdicts has the digest.

    \b
    perslib cache show 5ea0bd30
    """
    from perslib.errors import CacheError
    from perslib.llm import Cache
    from perslib.llm.cache.encoding import TEXTS, messages_of

    store = Cache(policy="only")
    matches = store.find(digest)
    if len(matches) != 1:
        raise CacheError(f"{len(matches) or 'No'} answers in {store.path} have a digest that begins with {digest!r}.")
    sent, answer = store.read_request(matches[0]), store.get(matches[0]) or {}
    settings = {name: value for name, value in (sent or {}).items() if name not in TEXTS}
    click.echo(
        escape_for_terminal(json.dumps(settings, ensure_ascii=False)) if sent else "The question was not stored."
    )
    for message in messages_of(sent or {}):
        click.echo(f"\n== {message['role']}\n{escape_for_terminal(str(message['content']))}")
    if answer.get("reasoning"):
        click.echo(f"\n== thoughts\n{escape_for_terminal(answer['reasoning'])}")
    for reply in (*answer.get("earlier", ()), answer.get("raw", "")):
        click.echo(
            f"\n== the reply of {escape_for_terminal(str(answer.get('model', '')))}\n{escape_for_terminal(reply)}"
        )


@cache.command()
@click.option(
    "--older-than", type=click.IntRange(min=-1), metavar="DAYS", help="Entries older than this number of days."
)
@click.option("--keep", type=click.FloatRange(min=0), metavar="MB", help="The oldest entries beyond this total size.")
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
    filters = {name: value for name, value in about.items() if value is not None}
    removed = store.prune(older_than=age, keep_bytes=size, **filters)
    click.echo(f"{_format_entries(removed)} deleted; the file has {_format_size(store.vacuum())} now")


def _format_entries(n: int) -> str:
    return f"{n:,} {'entry' if n == 1 else 'entries'}"


def _format_size(n: float) -> str:
    from tqdm import tqdm

    return tqdm.format_sizeof(n, "B")
