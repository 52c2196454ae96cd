"""The page on judge bias: an audit of judges on a corpus; what the paper's tables say is in docs/published.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from perslib import stats
from perslib.corpus import TURN, Block, Corpus
from perslib.errors import NotEnough
from perslib.judge import Judge
from perslib.judge.answering import Guarded
from perslib.judge.asking.labels import SCORES
from perslib.judge.evaluate import evaluate, select_blocks
from perslib.judge.scope import FEWEST_REPLIES
from perslib.llm import Backbone
from perslib.replay import judge_candidates
from perslib.replay.candidates import family_of
from perslib.report.show.claims import Estimate, choose
from perslib.report.show.tables import show_estimate
from perslib.report.show.words import name_of
from perslib.studies.shared import finding
from perslib.systems.uxbench import bench as ux
from perslib.systems.uxbench.bench import PairJudge
from perslib.systems.uxbench.statistics import length_audit
from perslib.text import as_paragraph, join, mark, translate

#: Baselines that are shown next to the judges of a corpus.
BIAS_BASELINES = ("majority", "length only", "query only", "reply only")
#: Number of recorded replies that are judged if no model is asked, and of those that are padded. The second is also
#: the number of each user's candidates' replies from which pairs are drawn.
JUDGED_REPLIES, PADDED_REPLIES = 400, 80
#: What is said of the judges with each bias of `Audit.list_biased_judges`.
BIAS_SENTENCES = {
    "long": mark("At equal gold labels, longer replies get higher scores from **{judges}**."),
    "padded": mark("Empty words added to a reply raise the score given by **{judges}**."),
    "placed": mark("The order of two replies sways **{judges}**."),
    "own": mark("Replies of its own family are preferred by **{judges}**."),
}
#: Number of recorded replies that are damaged for the sentence on what a judge notices.
DAMAGED_REPLIES = 60


# -- an audit of judges on a corpus -----------------------------------------------------------------------


@dataclass(frozen=True)
class Audit:
    """The results of the page on a corpus; a table is empty if the corpus has no data for it."""

    quality: pd.DataFrame
    """Judges and baselines on clearly good and clearly bad replies; columns of `perslib.systems.uxbench.bench.measure_with_baselines`."""
    length: pd.DataFrame
    """Slopes on length and the effect of padding, one row per judge."""
    position: pd.DataFrame
    family: pd.DataFrame
    """Judges that are models, and their own family's replies, with the columns of `measure_own_family`."""
    missing_data: tuple[NotEnough, ...] = ()
    """The reasons why judges were left out, or why quality is not measured."""

    def measure_unread(self) -> dict[str, float]:
        """Return the judges with verdicts that could not be read, and the share of such verdicts."""
        shares = 1 - self.quality.set_index("judge").get("parse_rate", pd.Series(dtype=float))
        return shares[shares > 0].to_dict()

    def list_biased_judges(self) -> dict[str, list[str] | None]:
        """Return the judges with each bias: for long replies at equal gold, padded ones, one place, their own family.

        The value is None if the bias could not be measured for any judge.
        """
        length, position, family = (table.set_index("judge") for table in (self.length, self.position, self.family))
        above = {
            "long": length["at_equal_gold_low"],
            "padded": length["padding_change_low"],
            "placed": 0.05 - position["position_bias_p"],
            "own": family["preference_low"],
        }
        return {bias: list(low.index[low > 0]) if low.notna().any() else None for bias, low in above.items()}


def audit_judges(
    judges: Sequence[Judge],
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    pairwise: PairJudge | None = None,
    pairs: int = 30,
    limit: int | None = None,
    seed: int = stats.SEED,
) -> Audit:
    """Audit quality, length, padding, place and family of each judge, on the same replies; each judge learns once.

    Parameters
    ----------
    judges, backbone : the judges to audit, and the model that they ask.
    corpus : its candidates' replies are shown in pairs; without candidates there are no pairs. In a benchmark all cases
        are judged, also those of users with no other data.
    pairwise : a judge of pairs, audited for place alone.
    pairs, limit : the numbers of pairs and of recorded replies to judge.
    seed : for all random draws.

    A judge that has too little to learn from is left out, and `missing_data` has the reason.
    """
    corpus, blocks, judges, lacking = _prepare_audit(judges, corpus, limit, seed)
    candidates = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN, "response"]))
    of_users = candidates[candidates["user"].isin({b.user for b in blocks})]
    pairs_drawn = ux.pairs_of(of_users.groupby("user", sort=False).head(PADDED_REPLIES), pairs, seed)
    verdicts, padding, position, own_family = [], [], [], []
    family = family_of(backbone.model) if backbone is not None else None
    rated = (
        _select_rated_replies(pairs_drawn, candidates)
        if family in set(candidates["candidate"].map(family_of))
        else pairs_drawn[:0]
    )
    rated_turns = _score_by_gold(corpus) if "cases" in corpus.extras else corpus
    authors = stats.of_turns(corpus, "assistant").to_numpy()
    gold = corpus.turns[TURN].assign(candidate=authors, gold=stats.floats(rated_turns.turns["score"]))
    for judge in judges:
        try:
            verdicts.append(evaluate(judge, corpus, backbone, blocks=blocks, progress=False))
        except NotEnough as missing:
            lacking.append(missing)
            continue
        again: dict[str, Any] = {"fit": False, "progress": False}
        padding.append(
            ux.padding_audit(judge, corpus, backbone, blocks=_take_few_replies(blocks, PADDED_REPLIES), **again)
        )
        if len(pairs_drawn):
            position.append(ux.position_audit(judge, pairs_drawn, corpus, backbone, **again))
        if judge.inputs.model:
            scored = verdicts[-1].drop(columns="candidate").merge(gold, on=TURN)
            if len(rated):
                family_verdicts = judge_candidates(judge, corpus, rated, backbone, **again)
                with_gold = family_verdicts.merge(rated[["candidate", *TURN, "gold"]], on=["candidate", *TURN])
                scored = pd.concat([scored, with_gold], ignore_index=True)
            own_family.append(measure_own_family(scored, family))
    if pairwise is not None and len(pairs_drawn):
        position.append(ux.position_audit(pairwise, pairs_drawn, corpus, backbone, progress=True))
    quality, slopes = pd.DataFrame(columns=QUALITY_COLUMNS), pd.DataFrame(columns=SLOPE_COLUMNS)
    if verdicts:
        all_verdicts = pd.concat(verdicts, ignore_index=True)
        slopes_all = length_audit(all_verdicts, rated_turns)
        slopes = slopes_all.loc[slopes_all["turns"] >= FEWEST_REPLIES, SLOPE_COLUMNS]
        try:
            quality = _measure_quality(all_verdicts, corpus, seed)
        except NotEnough as missing:
            lacking.append(missing)
    length = _concat_tables(padding, PADDING_COLUMNS).merge(slopes, how="left")
    preferences = _concat_tables(own_family, FAMILY_COLUMNS)
    p_holm = stats.holm(preferences["preference_p"].to_numpy(float))
    preferences = preferences.assign(preference_p_holm=p_holm)
    return Audit(quality, length, _concat_tables(position, POSITION_COLUMNS), preferences, tuple(lacking))


def _concat_tables(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return the tables as one; without tables, an empty one with these columns."""
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def measure_own_family(scored: pd.DataFrame, family: str | None) -> pd.DataFrame:
    """Return how much higher than the users a judge scores replies of its own family, compared with those of others.

    `scored` has the judge's verdicts with gold, and the author of each reply as `candidate`. The first word of a name
    is its family, as in `perslib.systems.uxbench.bench.families`.

    Columns: those of `perslib.stats.own_family_preference`, and families (of the scored replies).
    """
    judge, score = scored["judge"].iloc[0], scored["expected"].fillna(scored["raw"])
    with_gold = scored.assign(score=score).dropna(subset=["candidate", "gold"])
    scores = with_gold[["score", "gold"]].set_axis([judge, USERS], axis=1).astype(float)
    made_by = {name: family_of(str(name)) or "" for name in with_gold["candidate"]}
    of_judge = {judge: family} if family else {}
    preference = stats.own_family_preference(
        scores, with_gold["candidate"], with_gold["user"], made_by, judge_families=of_judge
    )
    return preference[:1].assign(families=", ".join(sorted(set(made_by.values()))))


def _select_rated_replies(pairs: pd.DataFrame, candidates: pd.DataFrame) -> pd.DataFrame:
    """Return the replies of the pairs that users scored, with the score as `gold`, as candidates' replies."""
    sides = [pairs[[*TURN, side, f"reply_{side}"]].set_axis([*TURN, "candidate", "response"], axis=1) for side in "ab"]
    shown = pd.concat(sides, ignore_index=True).drop_duplicates(["candidate", *TURN])
    gold = candidates.assign(gold=stats.floats(candidates.get("score", np.nan)))[["candidate", *TURN, "gold"]]
    return shown.merge(gold.dropna(subset="gold"), on=["candidate", *TURN])


#: The name of the users' scores in a comparison with a judge's.
USERS = "users"
#: Columns of these tables that are read even if the tables are empty.
FAMILY_COLUMNS = ["judge", "preference", "preference_low", "preference_p"]
POSITION_COLUMNS = ["judge", "position_bias_p"]
#: Columns that figures show: of judges' quality, of padded replies, and of `length_audit`.
QUALITY_COLUMNS = ["judge", "cases", "balanced_accuracy", "at_learned", "d_prime", "criterion"]
PADDING_COLUMNS = ["judge", "padding_change", "padding_change_low", "padding_change_high"]
SLOPE_COLUMNS = ["judge", "of_score", "of_gold", "at_equal_gold", "at_equal_gold_low", "at_equal_gold_high"]


def _prepare_audit(
    judges: Sequence[Judge], corpus: Corpus, limit: int | None, seed: int
) -> tuple[Corpus, list[Block], Sequence[Judge], list[NotEnough]]:
    """Return the corpus, its blocks to judge, the judges that can judge them, and the reasons why others cannot.

    In a benchmark all cases are judged.
    """
    lacking, split = list[NotEnough](), "test" if "cases" not in corpus.extras else None
    if split is None:
        corpus = corpus.with_history("none")
        lacking = [
            NotEnough(
                "Judge {judge!r} learns from users' scores, and the cases of {corpus} have gold labels alone. Name judges "
                "that ask a model, such as `-p judges=zero-shot`.",
                judge=judge.name,
                corpus=corpus.name,
            )
            for judge in judges
            if judge.inputs.train
        ]
        judges = [judge for judge in judges if not judge.inputs.train]
    try:
        blocks = [block for block in select_blocks(corpus, split=split, limit=limit, seed=seed) if len(block)]
        if not blocks:
            raise NotEnough("Nothing can be judged: no session of {corpus} has a reply to judge.", corpus=corpus.name)
    except NotEnough as missing:
        return corpus, [], [], [missing]
    return corpus, blocks, judges, lacking


def _score_by_gold(corpus: Corpus) -> Corpus:
    """Return a benchmark whose cases have the ends of the scale as scores: 5 for good gold, 1 for bad gold."""
    gold = {case.case: SCORES[case.gold] for case in ux.judge_cases(corpus, balanced=False) if case.gold is not None}
    scores = pd.array(ux.name_turns(corpus.turns).map(gold), "Int64")
    return replace(corpus, turns=corpus.turns.assign(score=scores))


def sum_up_bias(judge: Judge, corpus: Corpus, verdicts: pd.DataFrame) -> dict[str, Any]:
    """Return what influences a judge that has learned apart from quality, from its verdicts on recorded replies.

    Keys: at_equal_gold with bounds (as in `length_audit`) if enough replies were rated; padding_change with bounds (as
    in `padding_audit`) for a judge that asks no model, because further questions to a model have a cost.
    """
    measures: dict[str, Any] = {}
    slopes = length_audit(verdicts.drop(columns="candidate", errors="ignore"), corpus)
    if len(slopes) and slopes["turns"].iloc[0] >= FEWEST_REPLIES:
        measures |= slopes.iloc[0].filter(like="at_equal_gold").to_dict()
    if not judge.inputs.model:
        blocks = _take_few_replies([block for block in select_blocks(corpus) if len(block)], PADDED_REPLIES)
        padded = ux.padding_audit(judge, corpus, blocks=blocks, fit=False, progress=False)
        measures |= padded.iloc[0].filter(like="padding_change").to_dict()
    return measures


def audit_damages(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    limit: int,
    has_learned: bool,
    seed: int = stats.SEED,
) -> pd.DataFrame:
    """Return what a judge notices of damaged replies, alone and guarded: `damage_audit` of both, with words for what is
    stored.
    """
    how: dict[str, Any] = {"limit": limit, "seed": seed, "progress": False}
    alone = ux.damage_audit(judge, corpus, backbone, fit=not has_learned, **how)
    return summarize_damages([alone, ux.damage_audit(Guarded(judge, has_learned=True), corpus, backbone, **how)])


def summarize_damages(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of `damage_audit` as one, with words for what is stored."""
    whole = pd.concat(tables, ignore_index=True)
    return whole.assign(damage="damage: " + whole["damage"], verdict="damage: " + whole["verdict"])


def phrase_damages(known: int) -> str:
    """Return the wording of what a judge notices of so many ways to damage a reply, for the numbers of `describe_damages`."""
    if known:
        return mark(
            "Of {n} ways to damage a reply *{judge}* notices {noticed}, with a guard {guarded}; what it rewards: {rewarded}."
        )
    return mark("What *{judge}* notices of damaged replies is not known: so few users give no interval.")


def describe_damages(noticed: pd.DataFrame, judge: str) -> dict[str, Any]:
    """Return what a sentence says of `summarize_damages`: n (known), judge, noticed, guarded (numbers), seen, rewarded (names)."""
    rows = noticed[~noticed["damage"].eq(f"damage: {ux.HARMLESS}") & ~noticed["verdict"].eq("damage: too few")]
    verdicts = {name: own.set_index("damage")["verdict"] for name, own in rows.groupby("judge")}
    own = verdicts.get(judge, pd.Series(dtype=object))
    guarded = verdicts.get(f"{judge}, guarded", own)
    seen, rewarded = (
        join(name_of(name) for name in own.index[own == f"damage: {verdict}"]) or translate("none")
        for verdict in ("notices", "rewards")
    )
    counts = {"noticed": int((own == "damage: notices").sum()), "guarded": int((guarded == "damage: notices").sum())}
    return {"n": len(own), "judge": name_of(judge), "seen": seen, "rewarded": rewarded, **counts}


def describe_mentions(effects: pd.DataFrame) -> tuple[str, dict[str, Any]]:
    """Return the wording and the numbers of `mention_audit`: judge, memory, own, more (changes)."""
    rows = effects.set_index("effect")
    names = {"memory": "with memory", "own": "own past mentioned", "more": "own more than another's"}
    shown = {key: Estimate.of(rows.loc[name], "change", digits=2) for key, name in names.items()}
    return choose(
        shown["more"],
        above="**{judge} rewards a reply for mentioning this user's past where it does not matter**, by {more} points more than for "
        "another user's. With memory it gives {memory} points more than without.",
        open="With memory *{judge}* gives {memory} points more than without. A reply that mentions this user's past where it does "
        "not matter gets {own} points more; that is {more} more than for another user's past, within chance.",
        below="With memory *{judge}* gives {memory} points more than without. A reply that mentions this user's past where it does "
        "not matter gets {own} points more, {more} beside another user's past: mentioning the own past costs.",
        unknown="With memory *{judge}* gives {memory} points more than without. A reply that mentions this user's past where it does "
        "not matter gets {own} points more, {more} beside another user's past; too few users for intervals.",
    ), {"judge": name_of(rows["judge"].iloc[0]), **shown}


@finding("damaged replies")
def describe_noticed(judge: Judge, corpus: Corpus, verdicts: pd.DataFrame | None = None, seed: int = stats.SEED) -> str:
    """Return a sentence on what a judge that has learned notices of damaged replies; "" with too few users, or nothing
    to judge.

    A judge that asks a model is not asked for it.
    """
    if judge.inputs.model:
        return translate("Whether this judge notices damaged replies is measured on page 08.")
    try:
        table = ux.damage_audit(judge, corpus, limit=DAMAGED_REPLIES, fit=False, seed=seed, progress=False)
    except NotEnough:
        return ""
    noticed = summarize_damages([table[table["verdict"] != "too few"]])
    if noticed.empty:
        return ""
    return translate(
        "What the judge goes by: of {n} ways to damage a reply *{judge}* notices {noticed} ({seen}), and it rewards {rewarded}. Page 08 "
        "shows how each is measured.",
        **describe_damages(noticed, judge.name),
    )


@as_paragraph
def describe_biases(audit: Audit) -> Iterator[str]:
    """Yield a sentence for each bias that could be measured: which judges have it."""
    biased = audit.list_biased_judges()
    for bias, names in biased.items():
        if names is not None:
            yield translate(BIAS_SENTENCES[bias], judges=join(map(name_of, names)) or translate("no judge"))
    if missing := [name_of(f"bias: {bias}") for bias, names in biased.items() if names is None]:
        yield translate("Not measured: {missing}.", missing=join(missing))


@finding("length")
@as_paragraph
def describe_length(
    judge: Judge, corpus: Corpus, verdicts: pd.DataFrame | None = None, seed: int = stats.SEED
) -> Iterator[str]:
    """Yield sentences on what the length of a reply does to the judge's score, where there are `verdicts`."""
    bias = {} if verdicts is None else sum_up_bias(judge, corpus, verdicts)
    if "at_equal_gold" in bias:
        yield translate(
            "What the judge goes by apart from quality: of replies that users rated alike, one of double length gets {slope} standard "
            "deviations more.",
            slope=show_estimate(bias, "at_equal_gold", 2),
        )
    if "padding_change" in bias:
        yield translate(
            "Empty words that double a reply's length change its score by {change} points.",
            change=show_estimate(bias, "padding_change", 2),
        )


def _take_few_replies(blocks: Sequence[Block], replies: int) -> list[Block]:
    """Return blocks with about this number of replies in total: the first few of one block of each user."""
    first = {block.user: block for block in reversed(blocks)}
    each = -(-replies // len(first)) if first else 0
    return [replace(block, targets=block.targets.head(each)) for block in first.values()]


def _measure_quality(verdicts: pd.DataFrame, corpus: Corpus, seed: int) -> pd.DataFrame:
    """Return the quality of judges on good and bad replies.

    Baselines learn from the other users that are judged here, judges from train users.
    """
    seen = set(ux.name_turns(verdicts))
    cases = [c for c in ux.judge_cases(corpus, balanced=False) if c.case in seen]
    if len({c.gold for c in cases}) < 2:
        raise NotEnough(
            "Users showed {good} of the replies judged here to be clearly good and {bad} clearly bad; both kinds "
            "are needed. Add scores of 5 and of 2 or lower, likes or dislikes.",
            good=sum(c.gold == 1 for c in cases),
            bad=sum(c.gold == -1 for c in cases),
        )
    verdicts_on_cases, baselines = (
        ux.verdicts_of_scores(verdicts, cases),
        ux.judge_with_baselines(cases, BIAS_BASELINES, seed=seed),
    )
    return ux.measure_with_baselines(verdicts_on_cases, baselines, seed=seed)
