"""`perslib cache`: the answers that are kept, what was sent, and what can go."""

from __future__ import annotations

import json
from datetime import timedelta

import click

from perslib.cli.options import plain


@click.group(invoke_without_command=True)
@click.pass_context
def cache(context: click.Context) -> None:
    """Show the content of the answer cache, by backbone, model, prompt and stage.

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
    held = store.contents()
    shown = held.assign(size=held["bytes"].map(_size), last=held["last"].dt.strftime("%Y-%m-%d %H:%M"))
    columns = ["backbone", "model", "prompt", "stage", "entries", "size", "last"]
    if len(held):
        click.echo(shown[columns].fillna("").astype(str).map(plain).to_string(index=False))
    click.echo(f"{_entries(held['entries'].sum())}, {_size(held['bytes'].sum())} of content, in {store.path}")


@cache.command()
@click.argument("digest")
def show(digest: str) -> None:
    """Show the question and the answer with this DIGEST, or whose digest begins so: what was sent, and the raw reply.

    Verdicts have the digest in their column `asked`.

    \b
    perslib cache show 5ea0bd30
    """
    from perslib.errors import CacheError
    from perslib.llm import Cache

    store = Cache(policy="only")
    found = store.find(digest)
    if len(found) != 1:
        raise CacheError(f"{len(found) or 'No'} answers have a digest that begins with {digest!r} in {store.path}.")
    sent, answer = store.sent(found[0]), store.get(found[0]) or {}
    settings = {name: value for name, value in (sent or {}).items() if name != "messages"}
    click.echo(plain(json.dumps(settings, ensure_ascii=False)) if sent else "What was sent was not kept.")
    for message in sent["messages"] if sent else ():
        click.echo(f"\n== {message['role']}\n{plain(str(message['content']))}")
    if answer.get("reasoning"):
        click.echo(f"\n== thoughts\n{plain(answer['reasoning'])}")
    for reply in (*answer.get("earlier", ()), answer.get("raw", "")):
        click.echo(f"\n== the reply of {plain(str(answer.get('model', '')))}\n{plain(reply)}")


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
    given = {name: value for name, value in about.items() if value is not None}
    forgotten = store.prune(older_than=age, keep_bytes=size, **given)
    click.echo(f"{_entries(forgotten)} forgotten; the file has {_size(store.vacuum())} now")


def _entries(n: int) -> str:
    return f"{n:,} {'entry' if n == 1 else 'entries'}"


def _size(n: float) -> str:
    from tqdm import tqdm

    return tqdm.format_sizeof(n, "B")
