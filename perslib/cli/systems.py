"""`perslib systems`: what stands on the core here, and what of it cannot be used."""

from __future__ import annotations

import click

from perslib.cli.options import escape_for_terminal
from perslib.extras import install_command, is_installed
from perslib.registry import find_systems


@click.command("systems")
def list_systems() -> None:
    """List the systems that are installed: what each is for, its pages and commands, and why one cannot be used.

    A system is a distribution with an entry point under `perslib.systems` (docs/extend.md); perslib brings five.
    """
    for name, system in find_systems().items():
        if system.broken:
            click.echo(escape_for_terminal(f"{name}: cannot be used: {system.broken}"))
            continue
        click.echo(escape_for_terminal(f"{name}: {system.about}"))
        if not is_installed(system.extra):
            click.echo(escape_for_terminal(f"    needs: {install_command(system.extra)}"))
        brings = {"pages": system.pages, "commands": system.commands, "options of": system.options}
        for what, brought in brings.items():
            if brought:
                click.echo(escape_for_terminal(f"    {what}: {', '.join(brought)}"))
    if not find_systems():
        click.echo("No system is installed; the core works without.")
