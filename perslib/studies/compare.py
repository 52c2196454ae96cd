"""Comparison of runs: their different settings, paired differences on the same replies, and the largest differences.

    runs = open_runs(["reports/ptb/small/01_verification", "reports/ptb/large/01_verification"])
    list_settings(runs)                      the settings that are not the same in all of them
    pairs = pair_systems(runs.select_rated_replies())   each judge in one run and in another
    compare_agreement(pairs, runs.corpus)    every metric: both values, difference, interval, p
    find_different_scores(pairs, runs.corpus)  the replies with the most different scores

A system is a judge in a run. A judge that is in several runs is compared with itself; if there is no such judge, all
systems are compared.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, load
from perslib.errors import DataError, NotEnough
from perslib.judge import arrange_by_rating_level
from perslib.report.run.manifest import StoredPage, find_pages
from perslib.report.run.results import read_page_rows
from perslib.report.show.tables import format_number, widen
from perslib.report.show.words import name_of
from perslib.stats import agreement, compare_paired, holm
from perslib.studies.verification import SHOWN_METRICS
from perslib.text import as_paragraph, join, plural, translate

#: The metrics that compare two systems: agreement with people, and error. Ranks add little to r.
METRICS = (*(name for name in SHOWN_METRICS if name != "spearman"), "mae")
#: Settings that describe the place of a run and not its content.
_PLACE_SETTINGS = ("parameters.out", "parameters.backbone", "parameters.language", "notebook.digest")
_COST_FIELDS = ("judgments", "unscored", "calls", "hits", "tokens_in", "tokens_out", "cost", "seconds")


@dataclass(frozen=True)
class Runs:
    """Pages that were rendered from one corpus, by names that distinguish them, and their verdicts."""

    pages: dict[str, StoredPage]
    corpus: Corpus
    verdicts: pd.DataFrame
    """With the columns run and system (judge and run)."""

    def select_rated_replies(self, score: str = "real") -> pd.DataFrame:
        """Return the verdicts on replies that people rated.

        Verdicts on whole sessions, which page 01 has too, are those of `select_sessions`.
        """
        rows = self.verdicts[self.verdicts["candidate"].isna() & ~_is_on_sessions(self.verdicts)]
        return _add_compared_score(rows, score)

    def select_sessions(self, score: str = "real") -> pd.DataFrame:
        """Return the verdicts on whole sessions."""
        return _add_compared_score(self.verdicts[_is_on_sessions(self.verdicts)], score)

    def select_candidate_replies(self) -> pd.DataFrame:
        """Return the verdicts of replays by judges that all replays have, one per candidate, judge and turn."""
        replayed = self.verdicts[self.verdicts["table"] == "replayed"]
        keys = ["candidate", "judge", "backbone", *TURN]
        runs = replayed.groupby(["judge", "backbone"], dropna=False)["run"].transform("nunique")
        return replayed[runs == replayed["run"].nunique()].drop_duplicates(keys, ignore_index=True)


def _is_on_sessions(verdicts: pd.DataFrame) -> pd.Series:
    return verdicts["table"] == "sessions_judged"


def _add_compared_score(verdicts: pd.DataFrame, score: str) -> pd.DataFrame:
    if verdicts.empty:
        return verdicts.assign(compared=pd.Series(dtype="Float64"))
    if score not in verdicts:
        raise NotEnough("No verdict of these runs has a score of the kind {score}.", score=score)
    return verdicts.assign(compared=verdicts[score].astype("Float64")).dropna(subset="compared")


def open_runs(places: Iterable[str | Path]) -> Runs:
    """Open the runs at these places: a page, its manifest, or either without its ending.

    Raise DataError if the runs are of different corpora or if the corpus has changed, and NotEnough if no run has
    verdicts.
    """
    pages_found = find_pages(places)
    digests = {page.entry["corpus"]["digest"]: page for page in pages_found}
    if len(digests) > 1:
        listed = ", ".join(f"{page.corpus} ({page.folder.name}/{page.name})" for page in digests.values())
        raise DataError(f"These runs are of different corpora: {listed}", "Compare runs on the same corpus.")
    parameters = pages_found[0].entry["parameters"]
    corpus = load(parameters.get("corpus") or pages_found[0].corpus, parameters.get("language") or None)
    if corpus.digest not in digests:
        raise DataError(f"The corpus {pages_found[0].corpus} has changed since these runs", "Render their pages again.")
    pages = dict(zip(_name_runs(pages_found), pages_found))
    parts = [read_page_rows(page, "verdicts").assign(run=name) for name, page in pages.items()]
    if not (parts := [part for part in parts if len(part)]):
        raise NotEnough("None of these runs has kept verdicts: pages 01 to 04, 09 and 12 do.")
    verdicts = pd.concat(parts, ignore_index=True)
    several = len(pages) > 1
    system = verdicts["judge"] + (" · " + verdicts["run"] if several else "")
    verdicts = verdicts.reindex(columns=[*dict.fromkeys([*verdicts, "candidate", "table"])])
    return Runs(pages, arrange_by_rating_level(corpus), verdicts.assign(system=system))


def _name_runs(pages: Sequence[StoredPage]) -> list[str]:
    """Return the shortest names that distinguish the runs: backbone, notebook, folder (what differs of it)."""
    roots = _tell_apart([page.root.resolve() for page in pages])
    parts = pd.DataFrame([(page.backbone, page.name, root) for page, root in zip(pages, roots)])
    distinct = [column for column in parts if parts[column].nunique() > 1] or [0]
    names = parts[distinct].agg(" · ".join, axis=1)
    return names.mask(
        names.duplicated(keep=False), _tell_apart([page.folder.resolve() / page.name for page in pages])
    ).tolist()


def _tell_apart(paths: Sequence[Path]) -> list[str]:
    """Return what of each path differs from the others."""
    shared = Path(os.path.commonpath(paths))
    return [str(path.relative_to(shared)) for path in paths]


def list_settings(runs: Runs) -> pd.DataFrame:
    """Return the settings that are not the same in all runs, one per row: models, parameters, prompts, code, packages.

    Columns: setting, and one for each run.
    """
    kinds = ("backbone", "parameters", "seed", "language", "notebook", "code", "prompts", "packages")
    entries = [{kind: page.entry.get(kind) for kind in kinds} for page in runs.pages.values()]
    table = pd.json_normalize(entries).drop(columns=list(_PLACE_SETTINGS), errors="ignore").T.astype(object).fillna("")
    table = table.set_axis(list(runs.pages), axis=1).map(lambda value: str(value) or "–")
    return table[table.nunique(axis=1) > 1].rename_axis("setting").reset_index()


def sum_up_runs(runs: Runs) -> pd.DataFrame:
    """Return a summary of each run, one per row: notebook, model, judgments, calls, tokens, cost, seconds."""
    rows = []
    for name, page in runs.pages.items():
        spent = page.entry["ledger"]["total"]
        numbers = {key: page.entry.get(key, spent.get(key)) for key in _COST_FIELDS}
        model = page.entry["backbone"].get("model")
        rows.append({"run": name, "notebook": page.name, "model_name": model, **numbers})
    return pd.DataFrame(rows).dropna(axis=1, how="all")


def pair_systems(verdicts: pd.DataFrame) -> list[pd.DataFrame]:
    """Return pairs of systems, each as the verdicts of both on the replies that both scored.

    A judge that is in several runs of a notebook is paired with itself. If there is no such judge, all systems are
    paired.
    """
    systems = verdicts[["system", "judge", "notebook"]].drop_duplicates().set_index("system")
    shared = Counter(systems.itertuples(index=False, name=None))
    is_repeated = max(shared.values(), default=0) > 1
    pairs = []
    for a, b in combinations(systems.index, 2):
        if is_repeated and tuple(systems.loc[a]) != tuple(systems.loc[b]):
            continue
        both_systems = verdicts[verdicts["system"].isin([a, b])].drop_duplicates(["system", *TURN])
        common = both_systems.groupby(TURN)["system"].transform("nunique") == 2
        if common.any():
            pairs.append(both_systems[common].assign(a=a, b=b))
    return pairs


def compare_agreement(pairs: Sequence[pd.DataFrame], corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Return every metric of both systems of each pair, and the paired difference; users are left out of both together.

    Columns: judge, a, b (runs, or judges if one run has both), metric, turns, users, value_a, value_b, difference
    (a less b) with bounds and p, difference_p_holm (corrected over the whole table). `mean score` compares how generous
    the systems are. If people rated nothing, only `mean score` is compared.
    """
    rows = []
    for pair in pairs:
        a, b = pair["a"].iloc[0], pair["b"].iloc[0]
        keys = _describe_pair(pair, a, b)
        wide = pair.pivot(index=TURN, columns="system", values="compared")[[a, b]]
        mean = compare_paired(wide, unit=wide.index.get_level_values("user"), seed=seed).iloc[0]
        keys |= {"turns": mean["rows"], "users": mean["units"]}
        means = {"metric": "mean score", "value_a": wide[a].mean(), "value_b": wide[b].mean()}
        difference = {name: mean[name] for name in mean.index if name.startswith("difference") and "holm" not in name}
        rows.append({**keys, **means, **difference})
        frame = pair.assign(judge=pair["system"], backbone=None)
        agreed = agreement(frame, corpus, scores=["compared"], metrics=METRICS, controls=[b])
        values = agreed.pivot(index="metric", columns="judge", values="value")
        for row in agreed[agreed["judge"] == a].itertuples():
            if row.turns:
                sign = -1 if row.metric == "mae" else 1  # a gain is a smaller error
                ends = sorted([sign * row.gain_low, sign * row.gain_high])
                gained = {"difference": sign * row.gain, "difference_low": ends[0], "difference_high": ends[1]}
                value = {f"value_{end}": values.loc[row.metric, name] for end, name in (("a", a), ("b", b))}
                rows.append({**keys, "metric": row.metric, **value, **gained, "difference_p": row.gain_p})
    table = pd.DataFrame(rows)
    return table.assign(difference_p_holm=holm(table["difference_p"].to_numpy(float))) if rows else table


def _describe_pair(pair: pd.DataFrame, a: str, b: str) -> dict[str, Any]:
    by_system = pair.drop_duplicates("system").set_index("system")
    if by_system.loc[a, "judge"] == by_system.loc[b, "judge"]:
        return {"judge": by_system.loc[a, "judge"], "a": by_system.loc[a, "run"], "b": by_system.loc[b, "run"]}
    return {"judge": "", "a": a, "b": b}


def find_different_scores(pairs: Sequence[pd.DataFrame], corpus: Corpus) -> pd.DataFrame:
    """Return the replies that the two systems of a pair score most differently, with the user's own score.

    Columns: user, scenario, session, turn, gold, judge, a, b, score_a, score_b, gap, asked_a, asked_b (the digest of
    the question: `perslib cache show` opens it), rationale_a, rationale_b if there are any.
    """
    parts = []
    for pair in pairs:
        a, b = pair["a"].iloc[0], pair["b"].iloc[0]
        columns = [name for name in ("compared", "asked", "rationale") if name in pair]
        one, other = (pair[pair["system"] == name][[*TURN, *columns]] for name in (a, b))
        parts.append(one.merge(other, on=TURN, suffixes=("_a", "_b")).assign(**_describe_pair(pair, a, b)))
    if not parts:
        return pd.DataFrame()
    both = pd.concat(parts, ignore_index=True)
    both = both.rename(columns={"compared_a": "score_a", "compared_b": "score_b"})
    both["gap"] = (both["score_a"] - both["score_b"]).abs()
    both = both.merge(corpus.turns[TURN].assign(gold=corpus.gold), on=TURN, how="left")
    first = [*TURN, "gold", "judge", "a", "b", "score_a", "score_b", "gap"]
    ranked = both[[*first, *(name for name in both if name not in first)]].sort_values(
        "gap", ascending=False, kind="stable", ignore_index=True
    )
    return ranked[ranked["gap"] > 0].head(8)


@as_paragraph
def describe_differences(compared: pd.DataFrame) -> Iterator[str]:
    """Yield sentences on how many differences are beyond chance, and which."""
    yield plural(
        "{n} difference is compared, on up to {turns:,} replies of {users:,} users.",
        "{n} differences are compared, on up to {turns:,} replies of {users:,} users.",
        len(compared),
        turns=compared["turns"].max(),
        users=compared["users"].max(),
    )
    if compared["difference_p"].isna().all():
        yield translate("With fewer than ten users there are no intervals, so none can be distinguished from chance.")
        return
    sure = compared[compared["difference_p_holm"] < 0.05]
    names = (f"{name_of(metric)} ({pair})" for metric, pair in zip(sure["metric"], name_pairs(sure)))
    yield translate("Beyond chance after Holm's correction: **{which}**.", which=join(names) or translate("none"))


def name_pairs(compared: pd.DataFrame) -> pd.Series:
    """Return the name of each pair in one line: judge, first run – second run."""
    systems = compared[["a", "b"]].map(lambda name: " · ".join(map(name_of, str(name).split(" · "))))
    judges = compared["judge"].map(lambda judge: f"{name_of(judge)}: " if judge else "")
    return judges + systems["a"] + " – " + systems["b"]


def tabulate_differences(compared: pd.DataFrame, *, values: bool = False) -> pd.DataFrame:
    """Return a table with a row per pair and a column per metric.

    A cell has the difference with its interval, and a star if p (Holm) is below .05; with `values`, it has both values.
    """
    complete = compared[compared["value_a"].notna() & compared["value_b"].notna()]
    rows = ["judge", "first", "second"]
    named = complete.rename(columns={"a": "first", "b": "second"})
    if not values:
        return widen(named, rows, "metric", "difference", p="difference_p_holm")
    both = [
        f"{format_number(a, 2)} / {format_number(b, 2)}" for a, b in complete[["value_a", "value_b"]].to_numpy(float)
    ]
    return widen(named.assign(both=both), [*rows, "turns", "users"], "metric", "both")


def list_sides(row: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Return both sides of a row of `find_different_scores`, one per row: system, score, rationale, asked."""
    kinds = ("score", "rationale", "asked")
    sides = [{"system": row[side], **{kind: row.get(f"{kind}_{side}") for kind in kinds}} for side in ("a", "b")]
    return pd.DataFrame(sides).dropna(axis=1, how="all")
