"""Which notebooks to run, and what they may be told.

A notebook declares its parameters in the cell tagged `parameters`, one plain assignment each:
`limit = 0  # turns to judge`. Only declared ones are passed on, and only in the declared type.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perslib.errors import ReportError, UnknownName
from perslib.paths import bundled, workspace

#: The studies, by their number; other notebooks (an explorer, a launcher) run only when they are named.
_STUDY = re.compile(r"\d\d_.+\.ipynb\Z")


@dataclass(frozen=True)
class Study:
    """A notebook on disk and the parameters it declares, with their defaults."""

    path: Path
    declared: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The file's name without its ending; its page is called so too."""
        return self.path.stem


def find_studies(names: Iterable[str | Path] | str | Path | None = None) -> list[Study]:
    """Notebooks by name ("00_corpus"), number ("00") or path; all numbered ones when none is named."""
    if isinstance(names, (str, Path)):
        names = [names]
    shelf = _shelf()
    if names is None:
        paths = [path for _, path in sorted(shelf.items()) if _STUDY.match(path.name)]
    else:
        paths = [_find(str(name), shelf) for name in names]
    if not paths:
        raise ReportError(
            f"There is no notebook to run: none is named, and {workspace() / 'notebooks'} has none"
        )
    studies = [Study(path, declared_parameters(path)) for path in dict.fromkeys(paths)]
    twice = {s.name for s in studies if sum(t.name == s.name for t in studies) > 1}
    if twice:
        raise ReportError(
            f"Two notebooks are called {', '.join(sorted(twice))}; their pages would overwrite each other"
        )
    return studies


def _shelf() -> dict[str, Path]:
    """Notebooks that can be named without a path: the bundled ones, and the workspace's own before them."""
    folders = (bundled("notebooks"), workspace() / "notebooks")
    return {path.stem: path.resolve() for folder in folders for path in sorted(folder.glob("*.ipynb"))}


def _find(name: str, shelf: Mapping[str, Path]) -> Path:
    if name.endswith(".ipynb") and Path(name).expanduser().is_file():
        return Path(name).expanduser().resolve()
    stem = name.removesuffix(".ipynb")
    if stem in shelf:
        return shelf[stem]
    numbered = [
        path
        for other, path in shelf.items()
        if other.split("_")[0] == stem or other.partition("_")[2] == stem
    ]
    if len(numbered) == 1:
        return numbered[0]
    raise UnknownName("notebook", name, shelf)


def read_notebook(path: Path) -> Any:
    """A notebook from disk, in the current format."""
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise ReportError(f"{path}: is no readable notebook ({error})", notebook=path.stem) from error


def declared_parameters(path: Path) -> dict[str, Any]:
    """Name → default of every parameter that the notebook's tagged cell declares."""
    cells = [c for c in read_notebook(path).cells if "parameters" in c.metadata.get("tags", [])]
    if not cells:
        return {}
    try:
        statements = ast.parse(cells[0].source).body
        return dict(_assignment(s) for s in statements)
    except (SyntaxError, ValueError) as error:
        raise ReportError(
            f"{path}: the cell tagged `parameters` may hold only lines such as `limit = 0  # turns to judge` ({error})",
            notebook=path.stem,
        ) from None


def _assignment(statement: ast.stmt) -> tuple[str, Any]:
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target: ast.expr = statement.target
        value = statement.value
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    else:
        raise ValueError(f"line {statement.lineno} is no assignment of a value")
    if not isinstance(target, ast.Name):
        raise ValueError(f"line {statement.lineno} assigns to more than a name")
    return target.id, ast.literal_eval(value)


def check_parameters(given: Mapping[str, Any], studies: Iterable[Study]) -> None:
    """Refuse a parameter that no notebook declares, or a value of another type than it was declared with."""
    studies = list(studies)
    known = sorted({name for study in studies for name in study.declared})
    for name, value in given.items():
        if name not in known:
            raise UnknownName("parameter", name, known)
        for study in studies:
            if name in study.declared:
                fitted(value, study.declared[name], f"{study.name}: parameter {name!r}")


def fitted(value: Any, default: Any, place: str) -> Any:
    """The value in the type of the declared default; a text is read as that type where it can be.

    A default of None takes anything, and None is taken where the default is falsy ("", 0, None).
    """
    kind = type(default)
    if default is None or type(value) is kind or (value is None and not default):
        return default if value is None else value
    if isinstance(value, str) and kind in (int, float, bool, list, dict):
        try:
            return fitted(
                ast.literal_eval(value.strip().capitalize() if kind is bool else value.strip()),
                default,
                place,
            )
        except (ValueError, SyntaxError):
            pass
    elif kind is float and type(value) is int:
        return float(value)
    elif kind in (list, tuple) and isinstance(value, (list, tuple)):
        return kind(value)
    elif kind is str and isinstance(value, Path):
        return str(value)
    raise ReportError(f"{place} is {value!r}, expected {_KINDS.get(kind, kind.__name__)} such as {default!r}")


_KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    list: "a list",
    dict: "a table",
}
