"""Effects on a judge's agreement with people: ties, calibration, score sets, memory, backbone and prompt.

Judges that compute their scores judge every reply of the test users. Calibrations are fitted only on train users, on
verdicts of judges that had not learned from the same user (`judge_train_users`). Each variant of the judge that asks
a model differs from the base in one setting. All variants judge the same replies (Tables 3 and 6 of PersTurnBench).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from perslib import stats
from perslib.corpus import TURN, Corpus
from perslib.errors import NotEnough, UnknownName
from perslib.judge import Judge, JudgeSettings, LearnedJudge, Nearest, Personal, Supervised, evaluate, make_judge
from perslib.judge.scope import FEWEST_REPLIES, StudyScope, require_replies, split_names
from perslib.llm import compute
from perslib.memory import Structured
from perslib.paths import read_csv
from perslib.report.show.claims import Estimate, choose
from perslib.report.show.tables import format_number
from perslib.report.show.words import name_of
from perslib.stats.calibrate.of_person import calibrate_by_person, fit_person_prior
from perslib.stats.resample.leave_one_out import name_bounds
from perslib.studies.verification import CONTROLS, SHOWN_METRICS
from perslib.studies.whose_memory import compare_owners, judge_with_memories_of
from perslib.text import join

#: Rules for equal scores in a block: the published one, and those that use no position. `random` is compared with them.
TIE_RULES: tuple[stats.Ties, ...] = ("turn_index", "min", "max", "mid", "expected")
#: Judges whose scores are all equal, whole with many ties, and real-valued with few ties.
TIE_JUDGES = ("constant 4", "nearest", "learned")
#: Two judges that do not read the reply, and three that read it.
CALIBRATION_JUDGES = ("constant 4", "user mean", "nearest 6, weighted", "supervised", "learned")
#: Number of random orders over which the rule `random` is averaged.
RANDOM_ORDERS = 10
#: Score columns that `calibrate_each_way` makes, in the order of figures and tables.
WAYS = (
    *("real", "mean_shift", "cdf", "cdf_shrunk", "ordinal", "isotonic", "tilted"),
    *("by_person", "thresholds", "ordinal_thresholds"),
)
#: Stated coverages of the score sets.
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
#: Number of parts of the train users. Each part is scored by a judge that learned from the other parts.
FOLDS = 5
_P = [f"p{s}" for s in range(1, 6)]

#: Settings that can vary: the memory, the evidence it is built from, the messages shown, the language of the prompts,
#: whether the judge writes an analysis, several answers instead of one, and when the memory is built again.
FAMILIES = ("memory", "evidence", "window", "language", "written", "repeat", "update")
USUAL_FAMILIES, FIRST_LOOK_FAMILIES = ("memory", "window", "language", "written"), ("memory", "written")
BASE = "structured memory"
#: Calibrations of Table 3.
SCORES = ("real", "mean_shift", "cdf")
#: Number of answers to a question in the family `repeat`.
SAMPLES = 5
#: Tokens of evidence in the family `evidence`.
BUDGETS = (1500, 6000, 24000)
_WINDOWS = {1: "window of 1", 5: "window of 5", None: "whole conversation"}
_OTHER_LANGUAGE = {"en": ("zh", "prompts in Chinese"), "zh": ("en", "prompts in English")}

#: Table 6 of PersTurnBench.
PUBLISHED = read_csv(__file__, "published/persturnbench_table6.csv")


def keep_enough(agreed: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an agreement frame that rest on `FEWEST_REPLIES` or more replies.

    Raise NotEnough if no row does.
    """
    require_replies(int(agreed["turns"].max()) if len(agreed) else 0)
    return agreed[agreed["turns"] >= FEWEST_REPLIES].reset_index(drop=True)


# -- whose history, and a panel --------------------------------------------------------------------------------

PANEL = "panel"


def compare_own_history(corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Compare the learned judge with itself on the nearest other user's history, and with a panel of judges behind it.

    The panel is the supervised judge and the nearest rated turns; none of the three asks a model. Columns as those of
    `whose_memory.compare_owners`, where `less` is the judge alone on the user's own history less this one.
    """
    alone = judge_with_memories_of(LearnedJudge(), corpus, whose=["nearest"], seed=seed)
    together = evaluate(LearnedJudge([Supervised(), Nearest()]), corpus).assign(judge=PANEL)
    return compare_owners(pd.concat([alone, together], ignore_index=True), corpus)


# -- ties --------------------------------------------------------------------------------------------------


def compare_tie_rules(verdicts: pd.DataFrame, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Return an agreement frame of scores after block CDF under every tie rule; its `score` is the rule.

    `random` gives the same whole scores as `turn_index`, but in a random order. Its rows, with the ends of the
    intervals, are means over `RANDOM_ORDERS` orders. The difference between the two is the contribution of the position.
    """
    user_histories, rng = stats.histories(corpus), np.random.default_rng(seed)

    def calibrate_cdf(frame: pd.DataFrame, ties: stats.Ties) -> pd.Series:
        return stats.calibrate_verdicts(frame, user_histories, ["cdf"], score="real", ties=ties)["cdf"]

    shuffled = (verdicts.assign(turn=rng.permutation(len(verdicts))) for _ in range(RANDOM_ORDERS))
    at_random = {f"random{draw}": calibrate_cdf(frame, "turn_index") for draw, frame in enumerate(shuffled)}
    frame = verdicts.assign(**at_random, **{rule: calibrate_cdf(verdicts, rule) for rule in TIE_RULES})
    scores = ["real", TIE_RULES[0], *at_random, *TIE_RULES[1:]]
    agreed = stats.agreement(frame, corpus, scores=scores, metrics=SHOWN_METRICS)
    agreed["score"] = agreed["score"].str.replace(r"^random\d+$", "random", regex=True)
    keys = ["judge", "score", "metric"]
    aggregations = {name: "mean" if name.startswith("value") else "first" for name in agreed.columns.drop(keys)}
    return sort_by_judge(agreed.groupby(keys, sort=False, as_index=False).agg(aggregations)[agreed.columns])


def sort_by_judge(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows grouped by judge in the order of first appearance; the order within a judge stays."""
    return frame.sort_values("judge", key=lambda names: pd.factorize(names)[0], kind="stable", ignore_index=True)


def describe_ties(agreed: pd.DataFrame, corpus: Corpus) -> dict[str, float]:
    """Return the gain that the published tie rule gives to a judge with equal scores for all replies.

    Keys: by_turn, at_random (r under each rule), within_by_turn, within_at_random (within blocks), and the test users'
    mean scores of the first reply of a session and of later ones: first, later.
    """
    values = agreed[agreed["judge"] == "constant 4"].set_index(["metric", "score"])["value"].astype(float)
    rated = corpus.turns.dropna(subset="score")
    rated = rated[rated["user"].isin(corpus.split().get("test", []))]
    means = rated["score"].groupby(rated["turn"] == 0).mean()
    r, within = values["pearson"], values["wb_pearson"]
    return {
        "by_turn": r["turn_index"],
        "at_random": r["random"],
        "within_by_turn": within["turn_index"],
        "within_at_random": within["random"],
        "first": means.get(True, np.nan),
        "later": means.get(False, np.nan),
    }


# -- calibrators -------------------------------------------------------------------------------------------


def judge_train_users(judges: Iterable[Judge], corpus: Corpus) -> pd.DataFrame:
    """Return verdicts on the train users' replies with `gold`, none by a judge that had learned from the same user.

    `LearnedJudge` keeps such verdicts from its own fitting. Other judges that learn are fitted again for each part of
    the train users, on the other parts. Raise NotEnough if there are fewer than two train users.
    """
    train = corpus.split().get("train", [])
    if len(train) < 2:
        raise NotEnough(
            "{corpus} has {n} train users; calibrators are learned from two or more.", corpus=corpus.name, n=len(train)
        )
    frames = []
    for judge in judges:
        if isinstance(judge, LearnedJudge):
            if not hasattr(judge, "held_out"):
                compute(partial(judge.fit, corpus.of_users(train)))
            verdicts = judge.held_out.assign(judge=judge.name)
        else:
            parts = _split_folds(train) if judge.inputs.train else [train]
            verdicts = pd.concat([evaluate(copy(judge), corpus, users=users) for users in parts])
            verdicts = stats.with_gold(verdicts, corpus, ["raw", "expected", *_P])
        frames.append(verdicts[["judge", *TURN, "gold", "raw", "expected", *_P]])
    together = pd.concat([f.astype(dict.fromkeys(("raw", "expected", *_P), "Float64")) for f in frames])
    return together.assign(real=together["expected"].fillna(together["raw"])).reset_index(drop=True)


def _split_folds(users: Sequence[str]) -> list[Sequence[str]]:
    return [users[i::FOLDS] for i in range(min(FOLDS, len(users)))]


def calibrate_each_way(verdicts: pd.DataFrame, train_verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the verdicts of each judge with a column for every way in `WAYS`.

    `train_verdicts` are the same judges' verdicts on train users. `cdf_shrunk` and the fitted ways use histories that
    are shrunk towards the train users' distribution. `thresholds` and `ordinal_thresholds` are whole scores, cut at the
    thresholds with the greatest kappa on the train users.
    """
    user_histories, shrunk = stats.histories(corpus), shrink_histories(corpus)
    verdicts = stats.calibrate_verdicts(verdicts, user_histories, score="real")
    with_shrunk = stats.calibrate_verdicts(verdicts, shrunk, ["cdf"], score="real", min_history=0)
    verdicts = verdicts.assign(cdf_shrunk=with_shrunk["cdf"], cdf_shrunk_fallback=with_shrunk["cdf_fallback"])
    parts = []
    for judge, part in verdicts.groupby("judge", sort=False):
        lesson = train_verdicts[train_verdicts["judge"] == judge]
        part = stats.fit_ordinal(lesson, shrunk, score="real").transform(part, shrunk)
        part = stats.fit_isotonic(lesson, shrunk, score="real").transform(part, shrunk)
        part = part.assign(by_person=calibrate_by_person(part, corpus, fit_person_prior(lesson, "real")))
        part = stats.fit_thresholds(lesson, "real").transform(part, "thresholds")
        part = stats.fit_thresholds(cross_calibrate(lesson, shrunk), "ordinal").transform(part, "ordinal_thresholds")
        if lesson[_P].notna().all(axis=1).any():
            part = stats.fit_tilt(lesson, shrunk).transform(part, shrunk)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def shrink_histories(corpus: Corpus) -> pd.DataFrame:
    """Return the histories of all blocks, shrunk towards the score distribution of the train users."""
    train = corpus.of_users(corpus.split()["train"])
    return stats.fit_population(train).shrink(stats.histories(corpus))


def cross_calibrate(lesson: pd.DataFrame, user_histories: pd.DataFrame) -> pd.DataFrame:
    """Return one judge's verdicts on train users, calibrated for each user by a fit on the other users."""
    parts = []
    for fold in _split_folds(list(lesson["user"].drop_duplicates())):
        in_fold = lesson["user"].isin(fold)
        parts.append(
            stats.fit_ordinal(lesson[~in_fold], user_histories, score="real").transform(lesson[in_fold], user_histories)
        )
    return pd.concat(parts, ignore_index=True)


def describe_best_way(best: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the wording and the numbers of a row of `compare_best_ways`."""
    gain = Estimate.of(best, "gain").between(best["value"], best["blind"])
    numbers = {"value": format_number(best["value"]), "blind": format_number(best["blind"]), "gain": gain}
    return choose(
        gain,
        open="{metric}: {value} with reading ({judges}), {blind} without, both with the calibration that is best on the other half of the "
        "users; difference {gain}.",
        unknown="{metric}: {value} with reading ({judges}), {blind} without, both with the calibration that is best on the other half of "
        "the users; the difference has no interval.",
    ), numbers | {"metric": name_of(best["metric"]), "judges": join(map(name_of, best["judges"]))}


def compare_best_ways(
    verdicts: pd.DataFrame, corpus: Corpus, ways: Sequence[str], seed: int = stats.SEED
) -> pd.DataFrame:
    """Return what the best calibrated judge that reads reaches beyond the best one that does not.

    Both are chosen among all judges and ways on one half of the users and measured on the other, and the other way round: of
    many ways the best on the same users is ahead by selection alone.

    Columns: metric, blind and value (agreement without and with reading), gain with bounds, judges (chosen to read).
    """
    users = np.random.default_rng(seed).permutation(sorted(verdicts["user"].unique()))
    rows = []
    for metric in ("qwk", "f1_dsat"):
        parts, names = [], []
        for half in (users[::2], users[1::2]):
            is_here = verdicts["user"].isin(half)
            there = stats.agreement(verdicts[~is_here], corpus, scores=ways, metrics=[metric]).dropna(subset="value")
            for kind, own in there.groupby(np.where(there["judge"].isin(CONTROLS), "blind", "reads")):
                judge, way = own.sort_values("value", kind="stable").iloc[-1][["judge", "score"]]
                chosen = verdicts[is_here & (verdicts["judge"] == judge)]
                parts.append(chosen.assign(judge=kind, best=chosen[way]))
                names += [judge] if kind == "reads" else []
        both = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"judge": []})
        if both["judge"].nunique() == 2:
            agreed = stats.agreement(both, corpus, scores=["best"], metrics=[metric], controls=["blind"]).set_index(
                "judge"
            )
            best = agreed.loc["reads", ["value", *name_bounds("gain")]].to_dict()
            rows.append(
                {"metric": metric, "blind": agreed.at["blind", "value"], **best, "judges": list(dict.fromkeys(names))}
            )
    return pd.DataFrame(rows, columns=["metric", "blind", "value", *name_bounds("gain"), "judges"])


# -- sets --------------------------------------------------------------------------------------------------


def measure_score_sets(verdicts: pd.DataFrame, train_verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the coverage of each judge's score sets, over users, and their mean size.

    The sets use the ordinal calibration of `calibrate_each_way`. Their thresholds come from the train users, each with
    a distribution learned from the others.

    Columns: judge, stated, covered, covered_low, covered_high, size, learned_from.
    """
    shrunk = shrink_histories(corpus)
    rows = []
    for judge, part in verdicts.groupby("judge", sort=False):
        calibration = cross_calibrate(train_verdicts[train_verdicts["judge"] == judge], shrunk)
        gold = stats.with_gold(part, corpus, [f"ordinal_p{s}" for s in range(1, 6)])
        for level in LEVELS:
            fitted = stats.fit_conformal(calibration, alpha=round(1 - level, 6), p="ordinal_p")
            covered = stats.coverage(fitted.transform(gold))
            rows.append({"judge": judge, "stated": level, **covered, "learned_from": fitted.users})
    return pd.DataFrame(rows).drop(columns=["turns", "lowest_user"])


def describe_sets(coverages: pd.DataFrame) -> dict[str, Any]:
    """Return the guarantee and the size of score sets.

    Keys: users (number of train users), stated (the coverage from which this number of users gives no guarantee),
    smallest (the row of the smallest sets at the highest stated coverage below `stated`, or None), short (judges whose
    coverage is significantly below some stated coverage below `stated`).
    """
    users = int(coverages["learned_from"].max())
    stated = users / (users + 1)
    useful = coverages[coverages["stated"] < stated]
    highest = useful[useful["stated"] == useful["stated"].max()].sort_values("size").to_dict("records")
    short = useful[useful["covered_high"] < useful["stated"]]["judge"].unique()
    return {"users": users, "stated": stated, "smallest": next(iter(highest), None), "short": list(short)}


# -- variants of the judge that asks -----------------------------------------------------------------------


def parse_families(vary: str, scope: StudyScope) -> list[str]:
    """Return the families that a parameter names, separated by commas; if it is empty, those that suit the backbone.

    Raise UnknownName for other names.
    """
    names = split_names(vary)
    for name in names:
        if name not in FAMILIES:
            raise UnknownName("thing to vary", name, FAMILIES)
    return names or list(FIRST_LOOK_FAMILIES if scope.is_short else USUAL_FAMILIES)


def make_variants(
    vary: Iterable[str], settings: JudgeSettings, memory: Mapping[str, Any], languages: Sequence[str] = ()
) -> dict[str, list[Judge]]:
    """Return the base and the variants of each family; each variant differs from the base in one setting.

    `memory` has the options of the base's memory, `languages` the languages that the model reads.
    """

    def make_personal(
        name: str, moment: JudgeSettings = settings, built: Mapping[str, Any] = memory, **own: Any
    ) -> Judge:
        return Personal(Structured(moment.language, **built), moment, name=name, **own)

    def full_evidence(budget: int) -> dict[str, Any]:
        return {"evidence": "full", "budget": budget}

    other, in_other = _OTHER_LANGUAGE[settings.language]
    written = replace(settings, with_rationale=not settings.with_rationale)
    windows = {size: name for size, name in _WINDOWS.items() if size != settings.window}
    families: dict[str, list[Judge]] = {
        "memory": [make_judge("no memory", settings)],
        "evidence": [make_personal(f"evidence {n}", built=full_evidence(n)) for n in BUDGETS],
        "window": [make_personal(name, replace(settings, window=size)) for size, name in windows.items()],
        "language": [make_personal(in_other, replace(settings, language=other))],
        "written": [make_personal("written analysis" if written.with_rationale else "score alone", written)],
        "repeat": [make_personal(f"{SAMPLES} samples", replace(settings, samples=SAMPLES))],
        "update": [make_personal(f"updated {moment}", update=moment) for moment in ("per session", "per turn")],
    }
    if memory["evidence"] != "full":  # on a first look, more variants would take too long
        named = ("measured", "scores only", "personal + measured")
        families["memory"] += [make_judge(name, settings, **memory) for name in named]
        families["memory"].append(make_personal("full evidence", built=full_evidence(BUDGETS[1])))
    if languages and other not in languages:
        families["language"] = []
    return {"base": [make_personal(BASE)], **{family: families[family] for family in vary}}


def compare_to_base(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return an agreement frame of the variants whose `gain` is over the base.

    Gains are measured on the replies that both scored, and corrected over the variants of a metric and score.
    """
    _require_base(verdicts)
    parts = [
        stats.agreement(verdicts, corpus, scores=[score], metrics=SHOWN_METRICS, controls=[BASE])
        for score in ("real", "cdf")
    ]
    agreed = pd.concat(parts, ignore_index=True)
    return agreed[agreed["judge"] != BASE].reset_index(drop=True)


def _require_base(verdicts: pd.DataFrame) -> None:
    if BASE not in set(verdicts["judge"]):
        raise NotEnough(
            "The judge with structured memory was not asked (this backbone answers typed questions and writes no memory), so "
            "nothing is compared with it."
        )


def measure_shifts(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the effect of each variant on the scores themselves, whether or not they are right.

    Columns: judge, judged, unscored, mean_score, and over the replies that the base scored too: moved (mean
    |difference|), r_with_base (missing if either is constant, or for fewer than `FEWEST_REPLIES` replies).
    """
    _require_base(verdicts)
    wide = verdicts.pivot(index=TURN, columns="judge", values="real").astype(float)
    others = wide.drop(columns=BASE)
    with np.errstate(invalid="ignore", divide="ignore"):  # constant scores
        r = others.apply(lambda own: own.corr(wide[BASE], min_periods=FEWEST_REPLIES))
    moved = others.sub(wide[BASE], axis=0).abs().mean()
    scored = {"judged": len(wide), "unscored": wide.isna().sum(), "mean_score": wide.mean()}
    table = pd.DataFrame({**scored, "moved": moved, "r_with_base": r})
    return table.reindex(pd.Index(verdicts["judge"].unique(), name="judge")).reset_index()
