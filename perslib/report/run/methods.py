"""What a paper says of a run: a paragraph on methods, references, tables, and what a reader needs to repeat it.

All of it comes from the run's manifest and from what its notebook says of itself (`perslib.methods` and `perslib.cites` in its metadata).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perslib.errors import UnknownName
from perslib.paths import workspace
from perslib.report.run.manifest import StoredPage
from perslib.report.run.plan import read_notebook, read_study

#: What no manifest knows, and a reader has to be told.
_BY_HAND = (
    "who rated, in which language, how they were found and paid, what they were asked, and their consent",
    "the licence of the data, and who may have it",
    "whether judges, prompts or settings were chosen on the users that are reported",
    "which comparisons were made beside those that are reported",
)
_SHOWN_ANYWAY = {"corpus", "backbone", "language", "seed"}


def describe_methods(page: StoredPage) -> str:
    """Return methods, references, tables and a checklist of a run, in Markdown."""
    about = _own_words(page)
    parts = [
        f"# {page.entry['title']}",
        "## Methods",
        " ".join(_sentences(page, about)),
        "## References",
        "```bibtex\n" + "\n".join(find_references(["perslib", "holm1979", *about.get("cites", [])])) + "\n```",
        "## Tables and figures",
        _list_files(page) or "The page has saved none.",
        "## What a reader needs to repeat it",
        "\n".join([*(f"- [x] {line}" for line in _list_known(page)), *(f"- [ ] {line}" for line in _BY_HAND)]),
    ]
    return "\n\n".join(parts) + "\n"


def find_references(keys: Iterable[str]) -> list[str]:
    """Return BibTeX entries by key, of perslib and of `references.bib` in the workspace; UnknownName where there is none."""
    files = [Path(__file__).with_name("references.bib"), workspace() / "references.bib"]
    text = "\n".join(file.read_text("utf-8") for file in files if file.is_file())
    known = {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{([^,\s]+),.*?^\}", text, re.M | re.S)}
    for key in (keys := list(dict.fromkeys(keys))):
        if key not in known:
            raise UnknownName("reference", key, known)
    return [known[key] for key in keys]


def _own_words(page: StoredPage) -> dict[str, Any]:
    """Return what the notebook says of itself, and the defaults of its parameters."""
    stored = page.folder / f"{page.name}.ipynb"
    if not stored.is_file():
        return {}
    return {**read_notebook(stored).metadata.get("perslib", {}), "defaults": read_study(stored).declared}


def _sentences(page: StoredPage, about: dict[str, Any]) -> Iterable[str]:
    entry = page.entry
    corpus, code, seed = entry["corpus"], entry.get("code", {}), entry.get("seed")
    sizes = [f"{corpus[name]:,} {name}" for name in ("users", "sessions", "turns") if name in corpus]
    made = ", made by a program, not by people" if corpus.get("synthetic") else ""
    yield f"The data are {page.corpus} ({', '.join(sizes)}{made}; digest {str(corpus.get('digest', ''))[:12]})."
    if text := about.get("methods"):
        yield str(text)
    if page.name != "00_corpus" and entry.get("judgments"):
        yield f"There are {entry['judgments']:,} verdicts, of which {entry.get('unscored', 0):,} have no score."
    yield _describe_model(page)
    yield (
        "Intervals are 95 % intervals over users: each user is left out once, and Student's t with the degrees of freedom that "
        "the estimates have; p-values of several comparisons are corrected by Holm's method."
    )
    usual = {**about.get("defaults", {}), **{name: entry["parameters"].get(name) for name in _SHOWN_ANYWAY}}
    own = ", ".join(f"{name} = {value!r}" for name, value in entry["parameters"].items() if value != usual.get(name))
    revision = f", revision {code['revision'][:10]}" if "revision" in code else ""
    changed = " with uncommitted changes" if code.get("dirty") else ""
    yield f"We used perslib {code.get('version', '')}{revision}{changed}, page {page.name}{f' with {own}' if own else ''}; the random seed is {seed}."


def _describe_model(page: StoredPage) -> str:
    model, total = page.entry["backbone"], page.entry["ledger"]["total"]
    if not total.get("calls") and not total.get("hits"):
        return "No language model was asked."
    asked = f"{total.get('calls', 0):,} requests, beside {total.get('hits', 0):,} answers from the cache"
    tokens = f"{total.get('tokens_in', 0):,} tokens in and {total.get('tokens_out', 0):,} out"
    effort = f" with reasoning effort {model['effort']}" if model.get("effort") else ""
    return f"The model is {model.get('model') or model['name']}{effort}, asked between {page.entry['started'][:10]} and {page.entry.get('finished', page.entry['started'])[:10]}: {asked}, {tokens}."


def _list_files(page: StoredPage) -> str:
    lines = []
    for kind, ending, text in (
        ("tables", ".tex", r"`\input{{{file}}}`"),
        ("figures", "", r"`\includegraphics{{{file}}}`"),
    ):
        for name, files in page.entry[kind].items():
            drawn = [f for f in files if f.endswith(ending or (".pdf", ".png"))]
            if drawn:
                lines.append(f"- {name}: {text.format(file=sorted(drawn)[0])}")
    return "\n".join(lines)


def _list_known(page: StoredPage) -> Iterable[str]:
    entry = page.entry
    corpus, backbone, total = entry["corpus"], entry["backbone"], entry["ledger"]["total"]
    yield f"code: perslib {entry.get('code', {}).get('version', '')} {entry.get('code', {}).get('revision', '')}".strip()
    yield f"notebook: {page.name}.ipynb as it ran, digest {entry.get('notebook', {}).get('digest', '')[:12]}"
    yield f"packages: versions of {len(entry.get('packages', {}))}, in {page.name}.json"
    yield f"data: {page.corpus}, digest {corpus.get('digest', '')}"
    yield f"settings: seed {entry.get('seed')}, {len(entry['parameters'])} parameters, in {page.name}.json"
    if total.get("calls") or total.get("hits"):
        yield f"model: {backbone.get('model') or backbone['name']} ({backbone.get('kind', 'endpoint')}), its settings in {page.name}.json; say which snapshot it was"
        yield f"prompts: digests of {len(entry.get('prompts', {}))}, in {page.name}.json"
        yield "answers: all are in .perslib/cache.sqlite; with it `perslib verify` needs no model"
        if total.get("cost"):
            yield f"cost: {total['cost']:.2f} USD"
    yield f"check: `perslib verify {page.folder.parent.name}/{page.folder.name}/{page.name}`"
