"""Sentences with computed numbers that several pages show."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import FewTrainUsers
from perslib.judge import Judge
from perslib.judge.evaluate import fit_judge, select_blocks
from perslib.judge.scope import FEWEST_REPLIES, StudyScope
from perslib.llm import Cache
from perslib.registry import Registry
from perslib.report.show.claims import Estimate, Side, list_on_side
from perslib.report.show.tables import show_estimate
from perslib.report.show.words import name_of
from perslib.stats import FEWEST_USERS, SEED, holm
from perslib.stats.agreement.metrics import FEWEST_OF_CLASSES
from perslib.stats.resample.leave_one_out import name_bounds, p_of_correlation
from perslib.text import as_paragraph, join, plural, translate

#: What systems find in how a judge scores: functions with the parameters of `describe_judge` that return sentences, or "".
finding: Registry[str] = Registry("finding on a judge")


def describe_judge(
    judge: Judge, corpus: Corpus, verdicts: pd.DataFrame | None = None, seed: int = SEED, *, has_learned: bool = True
) -> list[str]:
    """Return what systems find in how a judge scores a corpus; `verdicts` are its own, on recorded replies.

    Without `has_learned` it learns first, unless it asks a model.
    """
    names = list(finding)
    if names and not has_learned and not judge.inputs.model:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewTrainUsers)  # the user has seen this warning with the verdicts
            fit_judge(judge, corpus, select_blocks(corpus))
    texts = (finding[name](judge, corpus, verdicts, seed) for name in names)
    return [text for text in texts if text]


@as_paragraph
def describe_controls(agreed: pd.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """Yield sentences on the agreement that controls reach without reading a reply, and on the judges that exceed it.

    If a correlation is not defined, a sentence states why.
    """
    if agreed["turns"].max() < FEWEST_REPLIES:
        yield translate(
            "Judges scored {replies} rated replies at most; from fewer than {least} no agreement is shown.",
            replies=agreed["turns"].max(),
            least=FEWEST_REPLIES,
        )
        return
    rows = agreed[(agreed["metric"] == "pearson") & agreed["value"].notna()]
    of_controls = rows[rows["judge"].isin(names)]
    within = agreed[(agreed["metric"] == "wb_pearson") & agreed["value"].notna()].sort_values("value")
    known = within[within["value_low"].notna()]
    sure = _keep_sure(known, "above")
    for best in (rows if of_controls.empty else of_controls).sort_values("value").tail(1).to_dict("records"):
        yield translate(
            "On {replies:,} replies of {users:,} users, no control has scores that differ; the highest r is {r} ({judge})."
            if of_controls.empty
            else "On {replies:,} replies of {users:,} users, controls, which read no reply, reach up to r = {r} ({judge}).",
            replies=best["turns"],
            users=best["users"],
            r=show_estimate(best),
            judge=name_of(best["judge"]),
        )
    if not of_controls.empty:
        yield _describe_gains(rows)
    if within.empty:
        yield translate(
            "Within blocks (one user, one scenario) no correlation is defined, or it would rest on fewer than {least} "
            "replies.",
            least=FEWEST_REPLIES,
        )
    elif known.empty:
        yield translate("Within blocks no correlation has an interval, so none is known to be beyond chance.")
    elif sure.empty:
        yield translate(
            "Within blocks no judge agrees beyond chance, after Holm's correction over the {n} shown.", n=len(known)
        )
    for best in sure.tail(1).to_dict("records"):
        yield translate(
            "Within blocks, of those that agree beyond chance {judge} is highest: r = {r}, on {replies:,} replies with another in their "
            "block.",
            judge=name_of(best["judge"]),
            r=show_estimate(best),
            replies=best["turns"],
        )


@as_paragraph
def describe_asked(agreed: pd.DataFrame, backbone: str) -> Iterator[str]:
    """Yield sentences on how far the judges that asked a model agree with people, and on what they gain over controls."""
    rows = agreed[(agreed["metric"] == "pearson") & (agreed["score"] == "real") & (agreed["backbone"] == backbone)]
    rows = rows[rows["value"].notna()].sort_values("value", ascending=False)
    if len(rows):
        each = (f"*{name_of(row['judge'])}* {show_estimate(row, digits=2)}" for row in rows.to_dict("records"))
        yield translate(
            "Asked {model}, on {replies:,} replies, r: {judges}.",
            model=backbone,
            replies=rows["turns"].max(),
            judges=join(each),
        )
        yield _describe_gains(rows)


def _describe_gains(rows: pd.DataFrame) -> str:
    """Return a sentence on the judges whose gain in r over the best control is beyond chance."""
    return translate(
        "No gain over a control has an interval here."
        if rows["gain_low"].isna().all()
        else "Judges whose gain in r over the best control is above zero, after Holm's correction: **{judges}**.",
        judges=list_on_side(rows, "above", "gain"),
    )


def drop_repeated_judges(agreed: pd.DataFrame, blind: Sequence[str]) -> pd.DataFrame:
    """Return the frame without judges of `blind` that repeat another judge in every metric.

    After calibration, this happens for all constants and means.
    """
    keys = ["judge", "score"]
    values = agreed["value"].round(9).fillna(0)
    rows = agreed.assign(value=values).groupby(keys, sort=False)["value"].agg(tuple).reset_index()
    repeated = rows["judge"].isin(blind) & rows.duplicated(["score", "value"]) & rows["value"].map(any)
    return agreed.merge(rows.loc[~repeated, keys], on=keys)


def _keep_sure(rows: pd.DataFrame, side: Side) -> pd.DataFrame:
    """Return the rows whose correlation is on this side of zero, corrected for how many there are."""
    corrected = holm(p_of_correlation(*rows[name_bounds("value")].to_numpy(float).T))
    sides = [Estimate.of({**row, "value_p": p}).side for row, p in zip(rows.to_dict("records"), corrected)]
    return rows[np.array(sides, dtype=object) == side]


def describe_below_zero(agreed: pd.DataFrame) -> str | None:
    """Return a sentence on judges whose correlation with people lies below zero by more than chance, or None.

    Columns: judge, metric, value, value_low, value_high, and score if there are calibrations. Of many judges without any
    skill some have an interval below zero, so p is corrected (Holm) over all that are shown.
    """
    shown = agreed[(agreed["metric"] == "pearson") & agreed["value_high"].notna()]
    under = _keep_sure(shown, "below")
    if under.empty:
        return None
    descriptions = [
        name_of(row["judge"])
        + (f" ({name_of(row['score'])})" if row.get("score", "real") != "real" else "")
        + f" r = {show_estimate(row, digits=2)}"
        for row in under.to_dict("records")
    ]
    return translate(
        "**Below zero,** more than by chance among so many judges: the correlation with people's scores of {judges}. Such a judge ranks first what these people like least: do not use it for ranking.",
        judges=translate("; ").join(descriptions),
    )


def list_unscored_judges(verdicts: pd.DataFrame) -> list[str]:
    """Return a sentence for each reason why judges have not scored any reply."""
    has_score = verdicts["raw"].notna().groupby(verdicts["judge"], sort=False).transform("any")
    return [
        translate(
            "Without any score: {judges} ({reason}).",
            judges=join(map(name_of, group["judge"].unique())),
            reason=str(reason).removeprefix("no score: "),
        )
        for reason, group in verdicts[~has_score].groupby("error", sort=False)
    ]


def count_judgments(verdicts: pd.DataFrame) -> dict[str, int]:
    """Return the numbers of requested and of unscored judgments, as the page's head and the manifest show them."""
    if verdicts.empty:
        return {}
    return {"judgments": len(verdicts), "unscored": int(verdicts["raw"].isna().sum())}


@as_paragraph
def describe_judgments(verdicts: pd.DataFrame, sessions: bool = False) -> Iterator[str]:
    """Yield sentences on how many replies, or whole sessions, were judged, and how many judgments are unscored."""
    if verdicts.empty:
        yield translate("No model was asked here. `perslib report … -b NAME` asks one that `backbones.toml` names.")
        return
    judged = {"n": verdicts["judge"].nunique(), "users": verdicts["user"].nunique()}
    judged["replies"] = len(verdicts[TURN].drop_duplicates())
    if sessions:
        yield plural(
            "{replies:,} conversations of {users} users, judged by one judge.",
            "{replies:,} conversations of {users} users, judged by {n} judges.",
            **judged,
        )
    else:
        yield plural(
            "{replies:,} replies of {users} users, judged by one judge.",
            "{replies:,} replies of {users} users, judged by {n} judges.",
            **judged,
        )
    unscored = verdicts[verdicts["raw"].isna()]
    if unscored.empty:
        yield translate("All of them were scored.")
    else:
        yield translate(
            "{unscored:,} of {judgments:,} verdicts are unscored (mostly: {reason}). They are excluded and counted.",
            reason=unscored["error"].fillna("?").str.slice(0, 80).value_counts().index[0],
            **count_judgments(verdicts),
        )


@as_paragraph
def describe_conclusions(verdicts: pd.DataFrame, scope: StudyScope) -> Iterator[str]:
    """Yield sentences on the conclusions that this number of users and replies allows."""
    users = verdicts["user"].nunique()
    if read_thoughts(verdicts) and verdicts["rationale"].isna().all():
        yield translate(
            "This model thinks before it answers: a score alone is a short answer after its thoughts, without a "
            "distribution."
        )
    if scope.is_first_look:
        yield translate("**A first look.**")
    yield translate(
        "A small model is asked with short prompts: before each reply, judges see only the request. With "
        "{users} users this shows that every part works; it measures nothing. For results use a stronger "
        "backbone."
        if scope.is_short
        else "With {users} users there are no intervals, so differences may be chance."
        if users < FEWEST_USERS
        else "With {users} users intervals are wide; ignore small differences. From thirty users on, class metrics such as F1 "
        "have intervals, too."
        if users < FEWEST_OF_CLASSES
        else "With {users} users there are enough for intervals over users.",
        users=users,
    )


def read_thoughts(verdicts: pd.DataFrame) -> dict[str, str]:
    """Return the thoughts of a model before these verdicts, by the digest in `asked`.

    Verdicts without thoughts in the answer cache are left out.
    """
    store, digests = Cache(policy="only"), verdicts["asked"].dropna() if "asked" in verdicts else []
    answers = store.get_many(digests) if len(digests) and store.path.is_file() else {}
    return {digest: answer["reasoning"] for digest, answer in answers.items() if answer.get("reasoning")}
