"""Names for what can be chosen by name: judges, memories, contexts, loaders. One decorator each; and systems that bring some.

    @judge("longer is better")
    class LongerIsBetter(Judge):
        ...

From then on parameters, tables, the explorer and `--help` know the name. What stands in a module of your own is found
with `perslib report … --use mymodule`, or with `plugins = ["mymodule"]` in the workspace's `settings.toml`. A system that is
installed (a `System` under the entry points `perslib.systems`) is found by itself.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import Distribution, distributions
from typing import Any, Generic, TypeVar

from perslib.errors import PerslibError, UnknownName
from perslib.extras import is_installed, require_extra
from perslib.paths import workspace

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

#: Environment variable that names modules as `--use` does, separated by commas.
VARIABLE = "PERSLIB_USE"
SETTINGS = "settings.toml"
#: Entry points of distributions that bring a system.
GROUP = "perslib.systems"
_used: set[str] = set()
_named: dict[str, None] = {}
_extras: dict[str, str] = {}


@dataclass(frozen=True)
class System:
    """What a system brings; an entry point of the group `perslib.systems` leads to one. Nothing of it is imported before it is used.

    >>> System("mine", "my own judges", {"judge": ("mine.judges",)}).registers
    {'judge': ('mine.judges',)}
    """

    name: str
    about: str
    registers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """A kind of thing (`Registry.kind`) → the modules that register some."""
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """A command of `perslib` → where it is (`mine.commands:run`), and what it does in a few words."""
    options: Mapping[str, str] = field(default_factory=dict)
    """A command of the core → the function that takes it and returns it with further options."""
    names: Mapping[str, str] = field(default_factory=dict)
    """A name of `import perslib` → where it is (`mine.judges:ShortIsGood`)."""
    pages: tuple[str, ...] = ()
    """Numbers of its notebooks."""
    extra: str = ""
    """The extra of perslib without which it does not work."""
    broken: str = ""
    """Why it cannot be used."""

    def __post_init__(self) -> None:
        by_name = (self.registers, self.commands, self.options, self.names)
        if not all(isinstance(own, Mapping) for own in by_name) or not isinstance(self.pages, tuple):
            raise TypeError("registers, commands, options and names are tables, pages a tuple")
        places = [*self.options.values(), *self.names.values(), *self.pages, self.name, self.about, self.extra]
        places += [text for group in (*self.registers.values(), *self.commands.values()) for text in group]
        if wrong := [place for place in places if not isinstance(place, str)]:
            raise TypeError(f"{wrong[0]!r} is no text")
        if any(len(command) != 2 for command in self.commands.values()):
            raise TypeError("a command is where it is, and what it does")

    def resolve(self, place: str) -> Any:
        """Return what stands at a place, `module` or `module:name`; PerslibError where nothing does, or it breaks there."""
        try:
            return pkgutil.resolve_name(place)
        except PerslibError:
            raise
        except (Exception, SystemExit) as error:  # whatever a stranger's code raises
            raise PerslibError(
                f"{place} of the system {self.name!r} cannot be used ({type(error).__name__}: {error}). Repair or remove what "
                "brings that system; `perslib systems` lists them."
            ) from error


@cache
def find_systems() -> dict[str, System]:
    """Find the systems that are installed, by name; one that cannot be loaded says why."""
    systems: dict[str, System] = {}
    listed: list[tuple[str, Callable[[], Any], Distribution]] = []
    for distribution in distributions():
        try:
            listed += [(e.name, e.load, distribution) for e in distribution.entry_points.select(group=GROUP)]
        except Exception as error:  # a line that is none
            if GROUP in (distribution.read_text("entry_points.txt") or ""):
                listed.append((GROUP, partial(_raise, error), distribution))
    for name, load, distribution in sorted(listed, key=lambda one: one[2].name != "perslib"):
        try:
            if name in systems:
                raise ValueError("there is a system of this name already")
            if not isinstance(system := load(), System):
                raise TypeError(f"a {type(system).__name__} is no perslib.registry.System")
            systems[name] = system
        except (Exception, SystemExit) as error:  # whatever a stranger's code raises
            called = f"{name} of {distribution.name}"
            systems[called] = System(called, "", broken=f"{type(error).__name__}: {error}")
    return dict(sorted(systems.items()))


def _raise(error: Exception) -> None:
    raise error


class Registry(Generic[T]):
    """Factories of one kind of thing, by name; called with a name it is the decorator that registers one.

    `elsewhere` are modules of the library that register some, too; they are imported, as are those of systems, when a name is
    not yet known.
    """

    def __init__(self, kind: str, *elsewhere: str):
        self.kind, self._elsewhere = kind, elsewhere
        self._factories: dict[str, Callable[..., T]] = {}

    def __call__(self, name: str, extra: str = "") -> Callable[[F], F]:
        """Register what follows, a class or a function, under this name; a class without a name gets it.

        `extra` is that of perslib without which it cannot work.
        """

        def register(factory: F) -> F:
            self._factories[name] = factory
            if extra:
                _extras[name] = extra
            if isinstance(factory, type) and getattr(factory, "name", None) is None:
                factory.name = name  # type: ignore[attr-defined]
            return factory

        return register

    def __iter__(self) -> Iterator[str]:
        """Return the names, in the order of registering."""
        use_plugins()
        for module in self._elsewhere:
            importlib.import_module(module)
        for system in find_systems().values():
            for module in system.registers.get(self.kind, ()):
                try:
                    system.resolve(module)
                except PerslibError as error:
                    if is_installed(system.extra):
                        warnings.warn(str(error), stacklevel=2)
        return iter(tuple(self._factories))

    def __contains__(self, name: object) -> bool:
        return name in self._factories or name in tuple(self)

    def __getitem__(self, name: str) -> Callable[..., T]:
        """Return the factory of this name."""
        if name not in self:
            raise UnknownName(self.kind, name, list(self))
        return self._factories[name]

    def make(self, name: str, **options: Any) -> T:
        """Make what has this name; of the options each factory gets those that it takes."""
        factory = self[name]
        made = factory(**select_options(factory, options))
        if not getattr(made, "name", None):
            made.name = name  # type: ignore[attr-defined]
        return made


def select_options(factory: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options that the factory takes."""
    taken = inspect.signature(factory).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in taken.values())
    return {key: value for key, value in options.items() if takes_all or key in taken}


def check_installed(name: str) -> None:
    """Raise MissingExtra if something of this name needs packages that are not there; each part of "blinded: BERT"
    counts.
    """
    for part in map(str.strip, name.split(":")):
        if part in _extras:
            require_extra(_extras[part], f"{part!r}")


def use_plugins(*modules: str) -> None:
    """Import these modules and those that the environment or the workspace's settings name, each once.

    Kernels of pages and workers of a cluster get their names (`named_plugins`).
    """
    _named.update(dict.fromkeys(modules))
    for name in _plugins():
        if name in _used:
            continue
        _used.add(name)
        here = str(workspace())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name.partition(".")[0] and error.name != name:
                raise
            raise PerslibError(
                f"There is no module {name!r} to use. It is looked for in {here} and where Python looks for modules."
            ) from None
        if "cloudpickle" in sys.modules:  # workers of a cluster need not have the module
            sys.modules["cloudpickle"].register_pickle_by_value(module)


def named_plugins() -> list[str]:
    """Return the modules that the environment and the callers of `use_plugins` name."""
    return [name.strip() for name in [*os.environ.get(VARIABLE, "").split(","), *_named] if name.strip()]


def _plugins() -> list[str]:
    named, file = named_plugins(), workspace() / SETTINGS
    if not file.is_file():
        return named
    try:
        listed = tomllib.loads(file.read_text(encoding="utf-8")).get("plugins", [])
    except tomllib.TOMLDecodeError as error:
        raise PerslibError(f"{file}: {error}") from None
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise PerslibError(f'{file}: plugins is {listed!r}, expected a list of modules such as ["mymodule"]')
    return list(dict.fromkeys([*named, *listed]))
