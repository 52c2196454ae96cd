"""`perslib check`: the abilities of a model, and the effort of judging with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from perslib.corpus import Corpus
    from perslib.llm.abilities import Probe
    from perslib.llm.entries import BackboneEntry


@click.command("check")
@click.argument("names", nargs=-1, metavar="[BACKBONE]...")
@click.option("--model", help="Test this model instead of that of the entry.")
@click.option("--corpus", default="sample/en", show_default=True, help="The corpus to estimate judging for.")
def check_backbones(names: tuple[str, ...], model: str | None, corpus: str) -> None:
    """Test the abilities of a BACKBONE and save the result; without a BACKBONE, list all.

    A few small calls test whether it follows a JSON schema, has a JSON mode, returns log probabilities, respects a
    seed, reports token usage and thinks before it answers, and which settings it does not accept. The result is saved
    in .perslib/probes.json and overrides the flags in backbones.toml. The last lines state how judging with it works,
    and how long 100 replies of a corpus take and what they cost; name your own by --corpus.

    \b
    perslib check my-vllm --model Qwen/Qwen3-8B
    """
    if not names:
        from perslib.report.page.index import list_backbones

        listed = list_backbones().fillna("–").apply(lambda column: column.str.ljust(column.str.len().max()))
        click.echo(listed.to_string(index=False, header=False))
        return
    from perslib.corpus import load
    from perslib.llm import backbone

    judged = load(corpus)  # before a model is asked
    overrides: dict[str, Any] = {"model": model} if model else {}
    for i, name in enumerate(names):
        if i:
            click.echo()
        tested = backbone(name, **overrides)
        probe = tested.probe()
        click.echo(f"{probe.describe()}\n\n{probe.verdict()}\n{_estimate_price(tested.entry, probe, judged)}")


SAMPLE_REPLIES = 100
"""Number of replies in the estimate of `check_backbones`."""


def _estimate_price(entry: BackboneEntry, probe: Probe, corpus: Corpus) -> str:
    """Return a sentence on the cost of judging replies of a corpus with this model, including its thoughts.

    No model is called. The judge is few-shot, or zero-shot if few-shot questions do not fit into the model's context.
    """
    from perslib.judge import evaluate, make_judge
    from perslib.llm import dry_run
    from perslib.llm.probe import estimate_seconds

    for judge in ("few-shot", "zero-shot"):
        dry = dry_run(entry)
        evaluate(make_judge(judge), corpus, dry, limit=SAMPLE_REPLIES, progress=False)
        spent = dry.ledger.total
        if not (too_long := spent.errors + spent.unreadable):
            break
    fit = spent.calls - too_long
    window = f"its context of {entry.context or probe.context or 0:,} tokens"
    excess = f"{too_long} of {spent.calls} questions of judge {judge} are longer than {window}"
    if not fit:
        return f"{excess}: give it a longer context."
    tokens_out = spent.tokens_out + (probe.tokens_out * fit if probe.reasons else 0)
    cost = entry.cost(spent.tokens_in, 0, tokens_out)
    price = (
        "; its price is not known: the entry has no prices" if cost is None else f", ${cost:,.2f} at the entry's prices"
    )
    duration = estimate_seconds(entry, spent.tokens_in, tokens_out, fit)
    if duration is None:
        time = "in an unknown time, because the model does not report tokens,"
    else:
        time = f"{duration / 60:,.0f} minutes" if duration >= 90 else f"{duration:,.0f} seconds"
    return (
        f"{fit} replies of {corpus.name}, judged by {judge} from {spent.tokens_in // fit:,} tokens each: about "
        f"{(spent.tokens_in + tokens_out) / 1e3:,.0f} thousand tokens, "
        f"{time} at {entry.at_once} calls at a time{price}." + f" {excess}." * bool(too_long)
    )
