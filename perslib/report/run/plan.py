"""What a report is going to run: notebooks, with everything checked that can be wrong about their parameters.

A notebook declares its parameters in the cell tagged `parameters`, one plain assignment each:
`limit = 0  # turns to judge`. Only declared ones are passed on, and only in the declared type. Where a parameter
takes names, the cell's metadata says which, and nothing runs with another:
`"choices": {"judges": ["perslib.judge:judge_choices", "all", "mine:"]}`, that is the names in that module,
the word itself, and everything that begins with a word before a colon. Nothing runs without the packages that it needs.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perslib.errors import ReportError, UnknownName
from perslib.extras import is_installed, require_extra
from perslib.llm.entries import NO_MODEL, entries
from perslib.paths import find_bundled, workspace
from perslib.registry import check_installed, find_systems
from perslib.report.run.manifest import check_file, corpus_facts, pages_under
from perslib.schemas import check, read_schema
from perslib.text import LANGUAGES, check_language

if TYPE_CHECKING:
    from perslib.corpus import Corpus

_NOTEBOOK = read_schema(__file__, "notebook.schema.toml", "notebook")
#: The studies, by their number; other notebooks (an explorer, a launcher) run only when they are named.
_STUDY = re.compile(r"\d\d_.+\.ipynb\Z")
#: Characters of a folder's name; systems take 255 bytes, and a digest may follow.
_LONGEST = 80
#: Of all pages these come first: the quickest and what most readers want to see, then the longest, so that two at a time end together.
_FIRST = ("00", "01", "02", "04", "06")


@dataclass(frozen=True)
class Study:
    """A notebook on disk and the parameters it declares, with their defaults."""

    path: Path
    declared: Mapping[str, Any]
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Parameters that take names, several separated by commas, and which."""
    extra: str = ""
    """The extra of perslib without which it does not run: its system's, or `extra` in the notebook's metadata."""
    takes: Sequence[float] = (0.0, 0.0)
    """Seconds that it computes, whatever the corpus, and for a thousand turns (`benchmarks/pages.py`)."""

    @property
    def missing_extra(self) -> str:
        """The command that installs what it does not run without; empty when nothing is missing."""
        return "" if is_installed(self.extra) else f'pip install "perslib[{self.extra}]"'

    def seconds(self, turns: int) -> float:
        """Return how long it computes on a corpus of so many turns, without answers and embeddings; 0 where nobody
        measured.
        """
        return self.takes[0] + self.takes[1] * turns / 1000

    @property
    def name(self) -> str:
        """The file's name without its ending; its page is called so too."""
        return self.path.stem


def find_studies(names: Iterable[str | Path] | str | Path | None = None) -> list[Study]:
    """Return notebooks by name ("00_corpus"), number ("00") or path; when none is named, all numbered ones that lack
    nothing.
    """
    if names is None:
        studies = [study for study in numbered_studies() if not study.missing_extra]
    else:
        shelf, names = _shelf(), [names] if isinstance(names, (str, Path)) else names
        studies = list(map(read_study, dict.fromkeys(_find(str(name), shelf) for name in names)))
        for study in studies:
            require_extra(study.extra, f"Page {study.name}")
    if not studies:
        raise ReportError(f"There is no notebook to run: none is named, and {workspace() / 'notebooks'} has none")
    counted = Counter(study.name for study in studies)
    if twice := sorted(name for name, n in counted.items() if n > 1):
        raise ReportError(f"Two notebooks are called {', '.join(twice)}; their pages would overwrite each other")
    return studies


def numbered_studies() -> list[Study]:
    """Return all numbered notebooks, in the order in which a report runs them."""
    paths = sorted(_shelf().values(), key=lambda path: (not path.name.startswith(_FIRST), path.name))
    return [read_study(path) for path in paths if _STUDY.match(path.name)]


def _shelf() -> dict[str, Path]:
    """Return notebooks that can be named without a path: the bundled ones, and the workspace's own before them."""
    folders = (find_bundled("notebooks"), workspace() / "notebooks")
    return {path.stem: path.resolve() for folder in folders for path in sorted(folder.glob("*.ipynb"))}


def _find(name: str, shelf: Mapping[str, Path]) -> Path:
    if name.endswith(".ipynb") and Path(name).expanduser().is_file():
        return Path(name).expanduser().resolve()
    stem = name.removesuffix(".ipynb")
    if stem in shelf:
        return shelf[stem]
    numbered = [path for other, path in shelf.items() if stem in other.split("_", 1)]
    if len(numbered) == 1:
        return numbered[0]
    raise UnknownName("notebook", name, shelf)


def read_notebook(path: Path) -> Any:
    """Return a notebook from disk, in the current format, and checked: others may have written it."""
    import nbformat

    try:
        notebook = nbformat.read(check_file(path), as_version=4)
        problems = check(notebook, _NOTEBOOK, path.name)
    except Exception as error:  # whatever its format's own readers make of what is none
        raise ReportError(f"{path}: is no readable notebook ({error})"[:500], notebook=path.stem) from error
    if problems:
        wrong = "; ".join(problem.message for problem in problems[:3])
        raise ReportError(f"{path}: is no notebook that can be run: {wrong}", notebook=path.stem)
    return notebook


def _parameters_cell(notebook: Any) -> Any:
    return next((c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])), None)


def read_study(path: Path) -> Study:
    """Return the notebook with what its tagged cell declares: names and defaults of parameters, and what they may be."""
    notebook = read_notebook(path)
    cell = _parameters_cell(notebook)
    try:
        declared = assigned_parameters(notebook)
    except (SyntaxError, ValueError) as error:
        raise ReportError(
            f"{path}: the cell tagged `parameters` may hold only lines such as `limit = 0  # turns to judge` ({error})",
            notebook=path.stem,
        ) from None
    choices = {} if cell is None else dict(cell.metadata.get("choices", {}))
    about = dict(notebook.metadata.get("perslib", {}))
    own = (system.extra for system in find_systems().values() if path.name[:2] in system.pages)
    extra = about.get("extra") or next(own, "")
    return Study(path, declared, choices, extra, about.get("seconds", (0.0, 0.0)))


def assigned_parameters(notebook: Any) -> dict[str, Any]:
    """Return name → default of the parameters of a notebook that is read already; SyntaxError or ValueError for other
    code.
    """
    cell = _parameters_cell(notebook)
    return {} if cell is None else dict(map(_assignment, ast.parse(cell.source).body))


def _assignment(statement: ast.stmt) -> tuple[str, Any]:
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    match statement, targets:
        case ((ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value)), [ast.Name(id=name)]):
            return name, ast.literal_eval(value)
    raise ValueError(f"line {statement.lineno} is no assignment of a value to a name")


def check_parameter_choices(given: Mapping[str, Any], study: Study) -> None:
    """Refuse a name that the parameter does not take; says which are near and which there are."""
    for name, allowed in study.choices.items():
        if isinstance(given.get(name), str):
            known = [choice for one in allowed for choice in _named_by(one)]
            starts = tuple(choice for choice in known if choice.endswith(":"))
            for one in filter(None, map(str.strip, given[name].split(","))):
                if one not in known and not one.startswith(starts):
                    raise UnknownName(f"choice for {name!r} of {study.name}", one, set(known))
                check_installed(one)


def _named_by(choice: str) -> Iterable[str]:
    if not choice.partition(":")[2]:
        return [choice]
    named = pkgutil.resolve_name(choice)
    return named() if inspect.isfunction(named) else named


def convert_parameter(value: Any, default: Any, place: str) -> Any:
    """Return the value in the type of the declared default.

    A default of None takes anything, and None is taken where the default is falsy ("", 0, None).
    """
    kind = type(default)
    if default is None or type(value) is kind or (value is None and not default):
        return default if value is None else value
    if (kind, type(value)) in ((float, int), (list, tuple), (tuple, list)) or (kind is str and isinstance(value, Path)):
        return kind(value)
    raise ReportError(f"{place} is {value!r}, expected {_KINDS.get(kind, kind.__name__)} such as {default!r}")


_KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    list: "a list",
    dict: "a table",
}


# -- pages --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """One notebook to run with one backbone, and the page to make of it."""

    study: Study
    values: Mapping[str, Any]
    root: Path
    folder: Path
    corpus: Mapping[str, Any]
    lacks: str = ""
    """What the corpus lacks for this page, in words; empty where it can feed it."""

    @property
    def name(self) -> str:
        """What the notebook, its page and its manifest entry are called."""
        return self.study.name

    @property
    def language(self) -> str:
        """The page's language."""
        return str(self.values["language"])

    @property
    def backbone(self) -> str:
        """The backbone's name."""
        return str(self.values["backbone"])

    @property
    def is_local(self) -> bool:
        """Whether its model, if it asks one, runs on this machine."""
        return self.backbone == NO_MODEL or entries()[self.backbone].kind == "embedded"

    @property
    def title(self) -> str:
        """Notebook, corpus and backbone, for a line on the terminal."""
        what = f"{self.corpus['label']}, {self.backbone}"
        return f"{self.name:<27} {what:<28}"

    @property
    def note(self) -> str:
        """What has to be known of the page besides, for the end of such a line."""
        return f"; nothing of this corpus is on it: {self.lacks}" if self.lacks else ""

    def file(self, ending: str = ".html") -> Path:
        """Return the page itself; `.failed.html` is where a run that fails leaves its page when the last good one
        stays.
        """
        return self.folder / f"{self.name}{ending}"

    def parameters(self, out: Path) -> dict[str, Any]:
        """Return every parameter that the notebook declares, with the value of a run that writes to the folder `out`."""
        values, place = {**self.values, "out": str(out)}, f"{self.study.name}: parameter"
        given = {name: values.get(name, default) for name, default in self.study.declared.items()}
        return {
            name: convert_parameter(value, self.study.declared[name], f"{place} {name!r}")
            for name, value in given.items()
        }


def plan(
    notebooks: Iterable[str | Path] | str | Path | None = None,
    corpus: str | Path = "sample/en",
    backbones: Sequence[str] | str = (NO_MODEL,),
    out: str | Path | None = None,
    language: str | None = None,
    seed: int = 42,
    **further: Any,
) -> list[Planned]:
    """Return all pages to render; everything that can be wrong with what was asked for is found here."""
    from perslib.corpus import load
    from perslib.corpus.import_summary import list_fed_pages, list_missing

    studies = find_studies(notebooks)
    if further.get("limit", 0) is None:
        del further["limit"]
    declared = {name for study in studies for name in study.declared}
    for name in (*further, *(["language"] if language else [])):
        if name not in declared:
            raise UnknownName("parameter", name, declared)
    further = {name: _with_whole_paths(value) for name, value in further.items()}
    for study in studies:
        check_parameter_choices(further, study)
    if isinstance(limit := further.get("limit"), int) and limit < -1:
        raise ReportError(f"The limit is {limit}, expected -1 (all), 0 (what suits the backbone) or more")
    names = [backbones] if isinstance(backbones, str) else list(dict.fromkeys(backbones))
    for name in names:
        if name not in (known := {NO_MODEL: None, **entries()}):
            raise UnknownName("backbone", name, known)
    if not names:
        raise ReportError("No backbone is given; `none` asks no model")
    data = load(corpus, language and check_language(language))
    missing = list_missing(data)
    if "without_texts" in data.meta:
        studies = _select_fed(studies, data, list_fed_pages(missing), are_named=notebooks is not None)
    spoken = language or (data.language if data.language in LANGUAGES else "en")
    root = Path(out).expanduser().resolve() if out else workspace() / "reports"
    address, label = _address_and_label(corpus, data.name)
    shared = {**further, "corpus": address, "language": spoken, "seed": seed}
    facts = {"label": label, "given": str(corpus), **corpus_facts(data)}
    folder = corpus_folder(root, label)
    lacks = {number: why for numbers, why in missing.items() for number in numbers.split(", ")}
    pages = [
        Planned(
            study,
            {**shared, "backbone": name},
            root,
            folder / backbone_folder(name),
            facts,
            lacks.get(study.name[:2], ""),
        )
        for name in names
        for study in studies
    ]
    for page in pages:
        page.parameters(page.folder)  # refuses a value of another type than the notebook declares
    return pages


def _select_fed(studies: Sequence[Study], data: Corpus, pages: Sequence[str], are_named: bool) -> list[Study]:
    """Return the studies of these pages, which a corpus of numbers can feed; a line says where the texts are that the others read."""
    fed = [study for study in studies if study.name[:2] in pages]
    if len(fed) == len(studies):
        return fed
    others = ", ".join(study.name[:2] for study in studies if study not in fed)
    why = f"{data.name} holds numbers without texts, so it does not feed {others}. The texts: {data.meta['without_texts']}"
    if are_named:
        raise ReportError(why)
    print(why, file=sys.stderr, flush=True)
    return fed


def _with_whole_paths(value: Any) -> Any:
    """Return a text that lists files with their whole paths: a notebook runs in another folder than the command."""
    if not isinstance(value, str) or not value.strip():
        return value
    files = [Path(part.strip()).expanduser() for part in value.split(",")]
    are_files = all({"/", "."} & set(str(file)) and file.exists() for file in files)
    return ",".join(str(file.resolve()) for file in files) if are_files else value


def _address_and_label(corpus: str | Path, name: str) -> tuple[str, str]:
    """Return where the corpus is, in full since notebooks run in the workspace, and what pages call it.

    That is the name it was asked for by; of a path, its last part, with the data's name.
    """
    path = Path(corpus).expanduser()
    if not path.exists():
        return str(corpus), str(corpus)
    stem = path.resolve().name.split(".")[0]
    label = name if stem in name else stem if name in stem else f"{name}-{stem}"
    return str(path.resolve()), label


def corpus_folder(root: Path, label: str) -> Path:
    """Return where pages of a corpus go: `sample/en` → `sample-en`, unless that is, or may become, the folder of
    another corpus.
    """
    from perslib.corpus import corpus_names

    plain = slug(label)
    labels = {page.entry["corpus"]["label"] for page in pages_under(root) if page.folder.parent.name == plain} - {""}
    others = (labels or {name for name in corpus_names() if slug(name) == plain}) - {label}
    return root / _folder(plain, label, not others)


def backbone_folder(*names: str) -> str:
    """Return a folder that no other backbone has, nor any other list of them: `["small", "large"]` → `small-vs-large`."""
    plain = "-vs-".join(map(slug, names))
    return _folder(plain, "\n".join(names), plain.split("-vs-") == [*names])


def _folder(plain: str, name: str, is_own: bool) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    return plain if is_own and len(plain) <= _LONGEST else f"{plain[:_LONGEST]}-{digest}"


def slug(name: str) -> str:
    """Return a name as a folder: `sample/en` → `sample-en`."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "corpus"
