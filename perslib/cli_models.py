"""Commands about models: what a backbone can do, and the answers that were kept."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from perslib.llm.entries import Entry
    from perslib.llm.probe import Probe


def plain(text: str) -> str:
    """Text of others as a terminal may have it: control characters are shown."""
    from perslib.report.words import controls_shown

    return controls_shown(text)


@click.command()
@click.argument("names", nargs=-1, metavar="[BACKBONE]...")
@click.option("--model", help="Test this model instead of that of the entry.")
def check(names: tuple[str, ...], model: str | None) -> None:
    """Test what a BACKBONE can do and save the result; without a BACKBONE, list all.

    A few small calls test whether it follows a JSON schema, has a JSON mode, returns log probabilities, respects a seed,
    reports token usage and thinks before it answers, and which settings it does not take. The result is saved in
    .perslib/probes.json and overrides the flags in backbones.toml. The last lines say what judging with it will be like, and what it costs.

    \b
    perslib check my-vllm --model Qwen/Qwen3-8B
    """
    if not names:
        from perslib.report.index import list_backbones

        listed = list_backbones().fillna("–").apply(lambda column: column.str.ljust(column.str.len().max()))
        click.echo(listed.to_string(index=False, header=False))
        return
    from perslib.llm import backbone

    overrides: dict[str, Any] = {"model": model} if model else {}
    for i, name in enumerate(names):
        if i:
            click.echo()
        asked = backbone(name, **overrides)
        found = asked.probe()
        click.echo(f"{found.describe()}\n\n{found.verdict()}\n{_price_of_sample(asked.entry, found)}")


SAMPLED = 100
"""Replies of the sample whose judging `check` reckons with."""


def _price_of_sample(entry: Entry, found: Probe) -> str:
    """What it takes to judge replies of the sample with this model, thoughts included; nobody is asked.

    The judge is the one with examples, or where its questions do not fit into the model's context, that without.
    """
    from perslib.corpus import load
    from perslib.judge import evaluate, make_judge
    from perslib.llm import DryRun
    from perslib.llm.probe import seconds

    for judge in ("few-shot", "zero-shot"):
        dry = DryRun(entry)
        evaluate(make_judge(judge), load("sample/en"), dry, limit=SAMPLED, progress=False)
        took = dry.ledger.total
        if not (too_long := took.errors + took.unreadable):
            break
    fit = took.calls - too_long
    window = f"its context of {entry.context or found.context or 0:,} tokens"
    beyond = f"{too_long} of {took.calls} questions of judge {judge} are longer than {window}"
    if not fit:
        return f"{beyond}: give it a longer context."
    tokens_out = took.tokens_out + (found.tokens_out * fit if found.reasons else 0)
    cost = entry.cost(took.tokens_in, 0, tokens_out)
    price = (
        "; its price is not known: the entry has no prices" if cost is None else f", ${cost:,.2f} at the entry's prices"
    )
    lasts = seconds(entry, took.tokens_in, tokens_out, fit)
    if lasts is None:
        time = "in a time that is not known, for it does not report tokens,"
    else:
        time = f"{lasts / 60:,.0f} minutes" if lasts >= 90 else f"{lasts:,.0f} seconds"
    return (
        f"{fit} replies of the sample, judged by {judge} from {took.tokens_in // fit:,} tokens each: about "
        f"{(took.tokens_in + tokens_out) / 1e3:,.0f} thousand tokens, {time} at {entry.concurrency} calls at a time{price}."
        + f" {beyond}."
        * bool(too_long)
    )


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
