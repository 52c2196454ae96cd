"""`perslib synthesize`: a synthetic PAL-Set, written by a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from perslib.cli.options import CAP, DRY_RUN, FOLDER, LANGUAGE, format_costs


@click.command("synthesize")
@click.argument("folder", type=FOLDER)
@click.option("--backbone", "-b", required=True, help="Entry of backbones.toml that writes the set.")
@click.option("--users", type=click.IntRange(min=1), default=2, help="Number of users.")
@click.option("--language", type=LANGUAGE, default="zh", help="Language of the set.")
@click.option("--seed", default=42, help="Random seed.")
@click.option("--check/--no-check", default=True, help="Let the model check every session.")
@CAP
@DRY_RUN
def synthesize_pal_set(folder: Path, backbone: str, cap: float | None, dry_run: bool, **how: Any) -> None:
    """Write a synthetic PAL-Set with a model: months of device logs and dialogues, in the format of Mem-PAL's release.

    \b
    perslib synthesize my-set --backbone my-vllm --users 10 --dry-run
    perslib synthesize my-set --backbone my-vllm --users 10
    perslib import palset my-set --name my-set
    perslib report 05 --corpus my-set --backbone my-vllm

    Items that do not pass their checks are requested again, then left out and listed in FOLDER/rejected.csv. Run the
    same command again to go on after a break: answers come from the answer cache.
    """
    from perslib import llm
    from perslib.systems.mem_pal import synthesis

    model = llm.backbone(backbone)
    if dry_run:
        click.echo(format_costs(synthesis.estimate_synthesis(model, **how)))
        return
    pal_set = synthesis.synthesize(model, **how, cap=cap)
    pal_set.write(folder)
    click.echo(f"{len(pal_set.files['input'])} of {how['users']} users; {len(pal_set.rejected)} items rejected")
    click.echo(f"Written to {folder}; import it with: perslib import palset {folder}")
