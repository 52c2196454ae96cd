"""The `perslib` command: a thin layer over the library, one file per group of commands."""

from __future__ import annotations

import errno
import signal
from typing import Any

import click

from perslib import __version__
from perslib.cli import cache, models, notebooks, pages, systems
from perslib.cli.options import escape_for_terminal
from perslib.errors import PerslibError
from perslib.extras import require_extra
from perslib.registry import System, find_systems

#: Signals that end a command as Ctrl-C does, so that it can clean up.
_END_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


class _MessageGroup(click.Group):
    """A group of commands that prints perslib's errors as messages, without a traceback."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, click.Command | None, list[str]]:
        """Return the command that is asked for, with the options that systems add to it."""
        name, command, given = super().resolve_command(ctx, args)
        for system in find_systems().values():
            if place := system.options.get(name or ""):
                try:
                    command = system.resolve(place)(command)
                except PerslibError as error:  # the command goes on without these options
                    click.echo(escape_for_terminal(f"perslib: {error}"), err=True)
        return name, command, given

    def invoke(self, ctx: click.Context) -> Any:
        for number in _END_SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup already ignores one of them
                signal.signal(number, signal.default_int_handler)
        try:
            return super().invoke(ctx)
        except PerslibError as error:
            message = str(error)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # `perslib … | head`: click ends without a message
            message = (f"{error.filename}: " if error.filename else "") + (error.strerror or str(error))
        except MemoryError:
            message = "this takes more memory than there is. Take fewer users, turns or columns, or a larger machine."
        except KeyboardInterrupt:
            click.echo("perslib: stopped; the answers so far are saved, run the same command to go on", err=True)
            ctx.exit(130)
        click.echo(escape_for_terminal(f"perslib: {message}"), err=True)
        ctx.exit(1)


class _Elsewhere(click.Command):
    """A command of a system, or one that needs much; imported when it is run."""

    def __init__(self, name: str, place: str, about: str, system: System):
        super().__init__(name, short_help=about)
        self._place, self._system = place, system

    def load(self) -> click.Command:
        """Return the command itself; raise MissingExtra where what its system needs is not installed."""
        require_extra(self._system.extra, f"perslib {self.name}")
        command: click.Command = self._system.resolve(self._place)
        if not isinstance(command, click.Command):
            raise PerslibError(f"{self._place} of the system {self._system.name!r} is no command of click's.")
        return command

    def make_context(self, *given: Any, **options: Any) -> click.Context:
        return self.load().make_context(*given, **options)


@click.group(cls=_MessageGroup, context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="perslib")
def main() -> None:
    """A research workbench for personalized satisfaction with AI assistants.

    \b
    perslib report                        render the studies on the bundled sample
    perslib check my-vllm                 test what a model can do
    perslib import persturnbench FOLDER   check a downloaded release and store it under data/
    perslib report --corpus persturnbench --backbone my-vllm
    perslib agree --demo                  judges against people, on labels from anywhere
    perslib notebook 01 --language zh     write a Chinese copy of a notebook to work in

    Exit status: 0 done; 1 an error, a page that failed, or something that differs (verify) or is below (agree --at-least); 2 an option
    that does not exist or has no such value; 130 stopped by Ctrl-C.
    """


for command in (
    *(
        pages.report,
        pages.compare_pages,
        pages.verify,
        pages.figures,
        pages.methods,
        pages.export,
        notebooks.app,
        notebooks.notebook,
        notebooks.new,
    ),
    *(models.check_backbones, cache.cache, systems.list_systems),
    _Elsewhere(
        "agree",
        "perslib.cli.agree:agree",
        "Compare judges with people: VERDICTS and LABELS are files of any form, or VERDICTS holds both.",
        System("core", "the core itself"),
    ),
    _Elsewhere(
        "import",
        "perslib.cli.imports:import_",
        "Check a downloaded release or a table and write it as Parquet under data/.",
        System("core", "the core itself"),
    ),
):
    main.add_command(command)
for system in find_systems().values():
    for name, (place, about) in system.commands.items():
        main.commands.setdefault(name, _Elsewhere(name, place, about, system))  # what there is already stays
