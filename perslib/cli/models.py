"""`perslib check`: what a model can do, and what judging with it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from perslib.llm.abilities import Probe
    from perslib.llm.entries import Entry


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
        from perslib.report.page.index import list_backbones

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
    from perslib.llm import dry_run
    from perslib.llm.probe import seconds

    for judge in ("few-shot", "zero-shot"):
        dry = dry_run(entry)
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
