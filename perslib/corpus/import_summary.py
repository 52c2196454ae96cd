"""What an import read, in words: sizes, scale, evidence, columns, and which pages can use the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from perslib.corpus.corpus import EVIDENCE, Corpus
from perslib.corpus.files.reading import ImportResult
from perslib.corpus.schema import SCHEMA
from perslib.corpus.several_replies import compared_replies
from perslib.corpus.store import find_kind
from perslib.paths import read_toml

#: What pages need of a corpus, and the words for what it has and lacks.
_SAID = read_toml(__file__, "import_summary.toml")


def describe_import(reading: ImportResult, kind: str, missing: bool = False) -> Iterator[str]:
    """Yield lines about what was read; with `missing`, also why other pages cannot use it."""
    corpus = reading.corpus
    known = find_kind(kind)
    if known.statistics is not None:
        yield from known.statistics(corpus)
    else:
        yield corpus.statistics().dropna().to_string(index=False, header=False, float_format=_figure)
    if others := [c for c in corpus.turns if c not in SCHEMA["turns"] and c not in ("family", "leads")]:
        yield f"further columns, kept as they are: {', '.join(others)}"
    if not corpus.scale.is_five:
        rated = corpus.gold if corpus.gold.notna().any() else corpus.sessions["satisfaction"]
        mean = corpus.scale.from_five(rated.astype(float).mean())
        highest = corpus.scale.highest_dissatisfied
        counts = (
            "counts as dissatisfied" if highest <= corpus.scale.low else "and less count as dissatisfied or neutral"
        )
        yield (
            f"scale: people rated on {corpus.scale} (mean {mean:.2f}); {highest:g} {counts} "
            "(--scale, --dissatisfied). Scores are these ratings mapped to 1–5."
        )
    yield f"evidence: judges know {_SAID['evidence'][corpus.evidence]} (--evidence)"
    alone = len(corpus.users) - len({user for user, _ in corpus.block_ids()})
    if alone and corpus.block_ids():
        again = corpus.sessions.groupby("user").size().gt(1)
        judged = {user for user, _ in corpus.block_ids()}
        more = len({*again.index[again]} - judged) if corpus.evidence == EVIDENCE[0] else 0
        remedy = f"; --evidence conversations judges {more:,} of them, by their other conversations" if more else ""
        yield f"note: users of whom nothing else is known, so that they are not judged: {alone:,}{remedy}"
    between = corpus.scale.is_five and int(corpus.turns["given"].notna().sum())
    if between:
        yield f"note: {between:,} ratings lie between whole scores; agreement takes them as they are, the score is rounded (halves to even)"
    replies = corpus.extras.get("candidates", corpus.turns)
    if (unrated := int(replies["score"].isna().sum())) and replies["score"].notna().any():
        yield f"note: replies without a score, which are no part of any comparison with people: {unrated:,} of {len(replies):,}"
    yield from (f"note: {what}: {times}" for what, times in reading.irregularities.items())
    if "split_origin" in corpus.meta:
        yield f"split: {corpus.meta['split_origin']}"
    yield from corpus.meta.get("said", ())
    if reading.rejected:
        yield f"left out: {len(reading.rejected)} records (with --skip-bad: in rejected.jsonl)"
    fed, *lacking = pages_fed(corpus)
    yield from (fed, *(lacking if missing else ()))
    yield from known.describe(corpus)


def list_account(corpus: Corpus) -> pd.DataFrame:
    """Return how a corpus was read, as it was said at the import. Columns: part (taken, assumed, counted, noted), what."""
    meta = corpus.meta
    taken = meta.get("taken", {})
    said_of = {
        "taken": [f"{ours} ← {theirs}" for ours, theirs in taken.get("columns", {}).items()],
        "assumed": taken.get("notes", ()),
        "counted": [f"{what}: {times:,}" for what, times in meta.get("irregularities", {}).items()],
        "noted": [*meta.get("said", ()), *([f"scale: {corpus.scale}"] if not corpus.scale.is_five else [])],
    }
    rows = [(part, what) for part, own in said_of.items() for what in own]
    return pd.DataFrame(rows, columns=["part", "what"])


def pages_fed(corpus: Corpus) -> Iterator[str]:
    """Yield which pages can use this corpus, and what it lacks for the others."""
    missing = list_missing(corpus)
    yield f"pages it can feed: {', '.join(list_fed_pages(missing))}"
    yield from (f"not {pages}: {why}" for pages, why in missing.items())


def list_missing(corpus: Corpus) -> dict[str, str]:
    """Return what the corpus lacks, by the pages that need it ("07, 08"); pages that it can feed are not there."""
    scored = bool(corpus.turns["score"].notna().any())
    source = corpus.meta.get("without_texts")
    has = {
        "texts": not source,
        "scores": scored,
        "ratings": scored or bool(corpus.sessions["satisfaction"].notna().any()),
        "histories": bool(corpus.block_ids()),
        "topics": "topics" in corpus.extras,
        "behaviour": bool(
            corpus.turns["feedback"].notna().any() or (corpus.turns["turn"] > 0).any() or "cases" in corpus.extras
        ),
        # the users of a synthetic world rate all replies where a page needs it
        "several replies": "utility" in corpus.extras.get("candidates", ()) or not compared_replies(corpus).empty,
    }
    lacking = {pages: [need for need in needs if not has[need]] for pages, needs in _SAID["pages"].items()}
    why = {**_SAID["lacking"], "texts": f"it holds numbers without their texts; {source}"}
    return {pages: "; ".join(why[need] for need in needs) for pages, needs in lacking.items() if needs}


def list_fed_pages(missing: Mapping[str, str]) -> list[str]:
    """Return the numbers of the pages that a corpus can feed, of what it lacks for the others: see `list_missing`."""
    return sorted(page for pages in _SAID["pages"] if pages not in missing for page in pages.split(", "))


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
