"""`python -m perslib.worlds` writes the bundled sample anew, or a world of your own."""

from __future__ import annotations

from pathlib import Path

import click

from perslib.corpus.store import save
from perslib.worlds.world import world, write_sample


@click.command()
@click.option("--users", type=click.IntRange(min=1), help="Make one world of this many users instead of the sample.")
@click.option("--seed", default=42, show_default=True, help="Seed of that world.")
@click.option("--language", type=click.Choice(["en", "zh"]), default="zh", show_default=True, help="Its language.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to (default: the bundled data/sample).")
def main(users: int | None, seed: int, language: str, out: Path | None) -> None:
    """Write the bundled sample (both languages), or with --users a world of your own to --out."""
    if users is None:
        paths = write_sample(out)
    elif out is None:
        raise click.UsageError("say where to write the world: --out FOLDER")
    else:
        paths = [save(world(users, seed, language), out)]
    for path in paths:
        click.echo(f"wrote {path}")


if __name__ == "__main__":
    main()
