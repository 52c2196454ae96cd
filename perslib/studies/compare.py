"""Runs side by side: what differs between them, paired differences on the same replies, where they differ most.

    runs = open_runs(["reports/ptb/small/01_verification", "reports/ptb/large/01_verification"])
    list_settings(runs)                      what is not the same in all of them
    same = pair_up(runs.of_people())         each judge in one run and in another
    compare_agreement(same, runs.corpus)     every metric: both values, difference, interval, p
    find_apart(same, runs.corpus)            the replies that they score most differently

A system is a judge in a run. Where a judge is in several runs, it is compared with itself; else all systems are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, load
from perslib.errors import DataError, NotEnough
from perslib.judge import judgeable
from perslib.report.run.manifest import Page, find_pages
from perslib.report.run.results import rows_of
from perslib.report.show.tables import format_number, widen
from perslib.report.show.words import name_of
from perslib.stats import agreement, compare_paired, holm
from perslib.studies.verification import SHOWN
from perslib.text import as_paragraph, join, plural, translate

#: What two systems are compared by: agreement with people, and error; ranks say little that r does not.
METRICS = (*(name for name in SHOWN if name != "spearman"), "mae")
#: Settings that say where a run was, not how it was made.
_PLACES = ("parameters.out", "parameters.backbone", "parameters.language", "notebook.digest")
_SPENT = ("judgments", "unscored", "calls", "hits", "tokens_in", "tokens_out", "cost", "seconds")


@dataclass(frozen=True)
class Runs:
    """Pages that were rendered from one corpus, by the names that tell them apart, and their verdicts."""

    pages: dict[str, Page]
    corpus: Corpus
    verdicts: pd.DataFrame
    """With the columns run and system (judge and run)."""

    def of_people(self, score: str = "real") -> pd.DataFrame:
        """Verdicts on what people rated; whole sessions, which page 01 judges beside replies, are `of_sessions`."""
        own = self.verdicts[self.verdicts["candidate"].isna() & ~_on_sessions(self.verdicts)]
        return _with_score(own, score)

    def of_sessions(self, score: str = "real") -> pd.DataFrame:
        """Verdicts on whole sessions."""
        return _with_score(self.verdicts[_on_sessions(self.verdicts)], score)

    def of_candidates(self) -> pd.DataFrame:
        """Verdicts of replays by judges that all replays have, one of a candidate, judge and turn."""
        own = self.verdicts[self.verdicts["table"] == "replayed"]
        keys = ["candidate", "judge", "backbone", *TURN]
        runs = own.groupby(["judge", "backbone"], dropna=False)["run"].transform("nunique")
        return own[runs == own["run"].nunique()].drop_duplicates(keys, ignore_index=True)


def _on_sessions(verdicts: pd.DataFrame) -> pd.Series:
    return verdicts["table"] == "sessions_judged"


def _with_score(verdicts: pd.DataFrame, score: str) -> pd.DataFrame:
    if verdicts.empty:
        return verdicts.assign(compared=pd.Series(dtype="Float64"))
    if score not in verdicts:
        raise NotEnough("No verdict of these runs has a score of the kind {score}.", score=score)
    return verdicts.assign(compared=verdicts[score].astype("Float64")).dropna(subset="compared")


def open_runs(places: Iterable[str | Path]) -> Runs:
    """Open the runs at these places: a page, its manifest, or either without its ending.

    All have to be of the same corpus, as it is now; a DataError says which is not.
    """
    found = find_pages(places)
    digests = {page.entry["corpus"]["digest"]: page for page in found}
    if len(digests) > 1:
        said = ", ".join(f"{page.corpus} ({page.folder.name}/{page.name})" for page in digests.values())
        raise DataError(f"These runs are of different corpora: {said}", "Compare runs on the same corpus.")
    given = found[0].entry["parameters"]
    corpus = load(given.get("corpus") or found[0].corpus, given.get("language") or None)
    if corpus.digest not in digests:
        raise DataError(f"The corpus {found[0].corpus} has changed since these runs", "Render their pages again.")
    pages = dict(zip(_names(found), found))
    parts = [rows_of(page, "verdicts").assign(run=name) for name, page in pages.items()]
    if not (parts := [part for part in parts if len(part)]):
        raise NotEnough("None of these runs has kept verdicts: pages 01 to 04, 09 and 12 do.")
    verdicts = pd.concat(parts, ignore_index=True)
    several = len(pages) > 1
    system = verdicts["judge"] + (" · " + verdicts["run"] if several else "")
    verdicts = verdicts.reindex(columns=[*dict.fromkeys([*verdicts, "candidate", "table"])])
    return Runs(pages, judgeable(corpus), verdicts.assign(system=system))


def _names(pages: Sequence[Page]) -> list[str]:
    """The least that tells runs apart: backbone, notebook, folder."""
    about = pd.DataFrame([(page.backbone, page.name, str(page.root)) for page in pages])
    telling = [column for column in about if about[column].nunique() > 1] or [0]
    names = about[telling].agg(" · ".join, axis=1)
    return names.mask(names.duplicated(keep=False), [str(page.folder / page.name) for page in pages]).tolist()


def list_settings(runs: Runs) -> pd.DataFrame:
    """What is not the same in all runs: models and their settings, parameters, prompts, code, packages; a row each.

    Columns: setting, and one for each run.
    """
    kinds = ("backbone", "parameters", "seed", "language", "notebook", "code", "prompts", "packages")
    entries = [{kind: page.entry.get(kind) for kind in kinds} for page in runs.pages.values()]
    table = pd.json_normalize(entries).drop(columns=list(_PLACES), errors="ignore").T.astype(object).fillna("")
    table = table.set_axis(list(runs.pages), axis=1).map(lambda value: str(value) or "–")
    return table[table.nunique(axis=1) > 1].rename_axis("setting").reset_index()


def sum_up(runs: Runs) -> pd.DataFrame:
    """What each run was: notebook, model, judgments, calls, tokens, cost, seconds; a row each."""
    rows = []
    for name, page in runs.pages.items():
        spent = page.entry["ledger"]["total"]
        numbers = {key: page.entry.get(key, spent.get(key)) for key in _SPENT}
        model = page.entry["backbone"].get("model")
        rows.append({"run": name, "notebook": page.name, "model_name": model, **numbers})
    return pd.DataFrame(rows).dropna(axis=1, how="all")


def pair_up(verdicts: pd.DataFrame) -> list[pd.DataFrame]:
    """Pairs of systems, each the verdicts of both on the replies that both scored.

    A judge that is in several runs of a notebook is paired with itself; where none is, every two systems are.
    """
    systems = verdicts[["system", "judge", "notebook"]].drop_duplicates().set_index("system")
    shared = Counter(systems.itertuples(index=False, name=None))
    by_itself = max(shared.values(), default=0) > 1
    pairs = []
    for a, b in combinations(systems.index, 2):
        if by_itself and tuple(systems.loc[a]) != tuple(systems.loc[b]):
            continue
        own = verdicts[verdicts["system"].isin([a, b])].drop_duplicates(["system", *TURN])
        common = own.groupby(TURN)["system"].transform("nunique") == 2
        if common.any():
            pairs.append(own[common].assign(a=a, b=b))
    return pairs


def compare_agreement(pairs: Sequence[pd.DataFrame], corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Every metric of both systems of each pair, and the paired difference, users left out of both.

    Columns: judge, a, b (runs, or judges where one run has both), metric, turns, users, value_a, value_b, difference
    (a less b) with bounds and p, difference_p_holm (corrected over the whole table). `mean score` is how generous they
    are. Where people rated nothing, only that is compared.
    """
    rows = []
    for pair in pairs:
        a, b = pair["a"].iloc[0], pair["b"].iloc[0]
        about = _about(pair, a, b)
        wide = pair.pivot(index=TURN, columns="system", values="compared")[[a, b]]
        mean = compare_paired(wide, unit=wide.index.get_level_values("user"), seed=seed).iloc[0]
        about |= {"turns": mean["rows"], "users": mean["units"]}
        means = {"metric": "mean score", "value_a": wide[a].mean(), "value_b": wide[b].mean()}
        apart = {name: mean[name] for name in mean.index if name.startswith("difference") and "holm" not in name}
        rows.append({**about, **means, **apart})
        frame = pair.assign(judge=pair["system"], backbone=None)
        agreed = agreement(frame, corpus, scores=["compared"], metrics=METRICS, controls=[b])
        values = agreed.pivot(index="metric", columns="judge", values="value")
        for row in agreed[agreed["judge"] == a].itertuples():
            if row.turns:
                sign = -1 if row.metric == "mae" else 1  # a gain is a smaller error
                ends = sorted([sign * row.gain_low, sign * row.gain_high])
                gained = {"difference": sign * row.gain, "difference_low": ends[0], "difference_high": ends[1]}
                value = {f"value_{end}": values.loc[row.metric, name] for end, name in (("a", a), ("b", b))}
                rows.append({**about, "metric": row.metric, **value, **gained, "difference_p": row.gain_p})
    table = pd.DataFrame(rows)
    return table.assign(difference_p_holm=holm(table["difference_p"].to_numpy(float))) if rows else table


def _about(pair: pd.DataFrame, a: str, b: str) -> dict[str, Any]:
    of = pair.drop_duplicates("system").set_index("system")
    if of.loc[a, "judge"] == of.loc[b, "judge"]:
        return {"judge": of.loc[a, "judge"], "a": of.loc[a, "run"], "b": of.loc[b, "run"]}
    return {"judge": "", "a": a, "b": b}


def find_apart(pairs: Sequence[pd.DataFrame], corpus: Corpus) -> pd.DataFrame:
    """The replies that the two systems of a pair score most differently, with the user's own score.

    Columns: user, scenario, session, turn, gold, judge, a, b, score_a, score_b, apart, asked_a, asked_b (what was sent:
    `perslib cache show` opens it), rationale_a, rationale_b where there are any.
    """
    parts = []
    for pair in pairs:
        a, b = pair["a"].iloc[0], pair["b"].iloc[0]
        kept = [name for name in ("compared", "asked", "rationale") if name in pair]
        one, other = (pair[pair["system"] == name][[*TURN, *kept]] for name in (a, b))
        parts.append(one.merge(other, on=TURN, suffixes=("_a", "_b")).assign(**_about(pair, a, b)))
    if not parts:
        return pd.DataFrame()
    both = pd.concat(parts, ignore_index=True)
    both = both.rename(columns={"compared_a": "score_a", "compared_b": "score_b"})
    both["apart"] = (both["score_a"] - both["score_b"]).abs()
    both = both.merge(corpus.turns[TURN].assign(gold=corpus.gold), on=TURN, how="left")
    first = [*TURN, "gold", "judge", "a", "b", "score_a", "score_b", "apart"]
    ranked = both[[*first, *(name for name in both if name not in first)]].sort_values(
        "apart", ascending=False, kind="stable", ignore_index=True
    )
    return ranked[ranked["apart"] > 0].head(8)


@as_paragraph
def say_differences(compared: pd.DataFrame) -> Iterator[str]:
    """How many differences are beyond chance, and which."""
    yield plural(
        "{n} difference is compared, on up to {turns:,} replies of {users:,} users.",
        "{n} differences are compared, on up to {turns:,} replies of {users:,} users.",
        len(compared),
        turns=compared["turns"].max(),
        users=compared["users"].max(),
    )
    if compared["difference_p"].isna().all():
        yield translate("With fewer than ten users there are no intervals, so none can be told from chance.")
        return
    sure = compared[compared["difference_p_holm"] < 0.05]
    names = (f"{name_of(metric)} ({pair})" for metric, pair in zip(sure["metric"], name_pairs(sure)))
    yield translate("Beyond chance after Holm's correction: **{which}**.", which=join(names) or translate("none"))


def name_pairs(compared: pd.DataFrame) -> pd.Series:
    """What a pair is called in one line: judge, first run – second run."""
    systems = compared[["a", "b"]].map(lambda name: " · ".join(map(name_of, str(name).split(" · "))))
    judges = compared["judge"].map(lambda judge: f"{name_of(judge)}: " if judge else "")
    return judges + systems["a"] + " – " + systems["b"]


def tabulate(compared: pd.DataFrame, *, values: bool = False) -> pd.DataFrame:
    """A row a pair, a column a metric: the difference with its interval, a star where p (Holm) is below .05; or both values."""
    known = compared[compared["value_a"].notna() & compared["value_b"].notna()]
    rows = ["judge", "first", "second"]
    named = known.rename(columns={"a": "first", "b": "second"})
    if not values:
        return widen(named, rows, "metric", "difference", p="difference_p_holm")
    both = [f"{format_number(a, 2)} / {format_number(b, 2)}" for a, b in known[["value_a", "value_b"]].to_numpy(float)]
    return widen(named.assign(both=both), [*rows, "turns", "users"], "metric", "both")


def list_sides(row: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Both sides of a row of `find_apart`: system, score, rationale, asked; a row each."""
    kinds = ("score", "rationale", "asked")
    sides = [{"system": row[side], **{kind: row.get(f"{kind}_{side}") for kind in kinds}} for side in ("a", "b")]
    return pd.DataFrame(sides).dropna(axis=1, how="all")
