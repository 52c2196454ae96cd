"""The page on UXBench, first part: signals of behaviour, their validity, and a memory made from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.corpus.schema import BAD, GOOD
from perslib.errors import NotEnough
from perslib.judge.scope import FEWEST_REPLIES
from perslib.report.show.tables import translate_value
from perslib.report.show.words import name_of
from perslib.stats import SEED, Resamples, correlation, floats, of_turns, with_wilson
from perslib.systems.uxbench.bench import name_turns, read_ux_table
from perslib.systems.uxbench.signals import (
    NEGATIVE,
    POSITIVE,
    PRECEDENCE,
    VOTES,
    SignalSettings,
    fit_votes,
    mine_log,
    signals_of,
    weak_labels,
)
from perslib.systems.uxbench.signals.model import DEFAULT
from perslib.systems.uxbench.statistics import compare_auroc
from perslib.systems.uxbench.tasks.answers import FEWEST_CASES
from perslib.text import as_paragraph, join, translate

STRENGTHS = ["explicit", "strong", "weak"]
#: Signals that count only as the primary signal of a reply.
PRIMARY_ONLY = ["continue", "no_followup", "superseded"]
#: Minimum weights of labels.
WEIGHTS = (0.0, 0.3, 0.7)
SATISFIED = 4
#: Columns of `count_objections` with bounds.
PERCENTS = ("objected_percent", "low_percent")
#: A period of more weeks than this is divided into months.
WEEKS = 26


class Behaviour(NamedTuple):
    """The users' behaviour after replies."""

    replies: pd.DataFrame
    """One row per reply, with the columns of `perslib.systems.uxbench.signals.table`.

    Further columns: `conversation` (the session it belongs to), `user`, `turn` (from 1), `objection` (the first clear
    signal against it, explicit or strong), and if they are known `at` (when it was given), `assistant` and `score`.
    """
    rejected: pd.DataFrame
    """The parts of a log that could not be read: kind, reason, count."""


def find_behaviour(corpus: Corpus, log: str = "", settings: SignalSettings = DEFAULT) -> Behaviour:
    """Return the signals of a log (a .jsonl or .parquet file, or a folder of them), otherwise of the corpus.

    Raise NotEnough if there are no sessions with replies.
    """
    problems: list[tuple[str, str, int]] = []
    if log:
        mined_log = mine_log(log, settings=settings)
        replies, session = mined_log.table.assign(at=pd.NaT, assistant=None, score=np.nan), ["record"]
        problems += [("no session", reason, n) for reason, n in mined_log.rejected.items()]
        problems += [("odd", reason, n) for reason, n in mined_log.notes.items()]
    else:
        at = corpus.turns["answered_at"].fillna(corpus.turns["asked_at"])
        named = of_turns(corpus, "assistant").to_numpy()
        score = floats(corpus.turns["score"])
        replies, session = signals_of(corpus, settings).assign(at=at, assistant=named, score=score), SESSION
    if replies.empty:
        raise NotEnough(
            "Signals are what users do after a reply, and no session with a reply could be read from {log}."
            if log
            else "Signals are what users do after a reply, and {name} has requests without replies. Give a raw log: "
            "`-p log=PATH`.",
            log=log,
            name=corpus.name,
        )
    rejected = pd.DataFrame(problems, columns=["kind", "reason", "count"])
    replies["conversation"] = name_turns(replies, session)
    replies["turn"] = replies.groupby("conversation").cumcount() + 1
    if log:
        replies["user"] = replies["conversation"]
    each = list_signals(replies)
    against = each[each["signal"].isin(NEGATIVE) & (each["strength"] != "weak")]
    replies["objection"] = against["signal"].groupby(level=0).first()
    return Behaviour(replies, rejected)


def list_signals(replies: pd.DataFrame) -> pd.DataFrame:
    """Return every signal after these replies with its strength, one row per signal, with the index of its reply."""
    each = replies["signals"].explode().dropna()
    return pd.DataFrame({"signal": each.str["name"], "strength": each.str["strength"]})


def count_gold(corpus: Corpus) -> dict[str, int]:
    """Return the numbers of gold labels of a benchmark's cases: n, good, bad; empty if there are none."""
    gold = corpus.extras.get("cases", pd.DataFrame({"gold": []}))["gold"].dropna()
    return {"n": len(gold), "good": int((gold == GOOD).sum()), "bad": int((gold == BAD).sum())} if len(gold) else {}


def count_objections(behaviour: Behaviour) -> pd.DataFrame:
    """Return the numbers of replies with a clear signal of dissatisfaction, with weak ones alone, and with none.

    Columns: strength (clear, weak, neither), replies, users, objected_percent (of all replies), rated, and low_percent
    (share of the rated ones scored 3 or lower), both with bounds over users.
    """
    replies, rows = behaviour.replies, []
    is_clear, is_known = replies["objection"].notna(), replies["score"].notna()
    is_weak = replies["primary"].isin(NEGATIVE) & ~is_clear
    low = (replies["score"] < SATISFIED).to_numpy()
    for strength, has_strength in {"clear": is_clear, "weak": is_weak, "neither": ~(is_clear | is_weak)}.items():
        rated = has_strength & is_known
        columns = {"strength": strength, "replies": int(has_strength.sum()), "rated": int(rated.sum())}
        columns |= _estimate_percent(replies["user"], has_strength.to_numpy())
        columns |= _estimate_percent(replies["user"][rated], low[rated], "low_percent")
        rows.append(columns | {"users": replies["user"][has_strength].nunique()})
    return pd.DataFrame(rows)


def count_signals(behaviour: Behaviour) -> pd.DataFrame:
    """Return how often each signal was found, by strength, and in how many sessions, next to the paper's shares.

    Columns: signal, found, explicit, strong, weak, primary, sessions_percent with Wilson bounds, published_percent.
    """
    replies, all_signals = behaviour.replies, list(PRECEDENCE)
    each = list_signals(replies).join(replies["conversation"])
    table = pd.crosstab(each["signal"], each["strength"]).reindex(index=all_signals, columns=STRENGTHS)
    table["primary"] = replies["primary"].value_counts()
    table.insert(0, "found", each["signal"].value_counts())
    table = table.fillna(0).astype(int)
    table["found"] = table["found"].where(table["found"] > 0, table["primary"])
    with_signal = each.groupby("signal")["conversation"].nunique().reindex(all_signals, fill_value=0)
    as_primary = replies.groupby("primary")["conversation"].nunique().reindex(all_signals, fill_value=0)
    with_signal = with_signal.mask(with_signal.index.isin(PRIMARY_ONLY), as_primary)
    sessions = replies["conversation"].nunique()
    table = with_wilson(table.assign(sessions_percent=100 * with_signal / sessions), "sessions_percent", sessions)
    of_paper = read_ux_table("signals").set_index("signal")
    table["published_percent"] = 100 * of_paper["found"] / of_paper["sessions"]
    table = table[(table["found"] > 0) | table["published_percent"].notna()]
    return table.rename_axis("signal").reset_index()


def count_outcomes(behaviour: Behaviour) -> pd.DataFrame:
    """Return the outcomes of replies to which users clearly objected; empty if there are none.

    Columns: outcome, replies, percent with Wilson bounds.
    """
    outcomes = ["recovered", "failed_recovery", "unknown_left"]
    objected = behaviour.replies[behaviour.replies["objection"].notna()]
    counts = objected["outcome"].value_counts().reindex(outcomes, fill_value=0)
    table = pd.DataFrame({"outcome": outcomes, "replies": counts.to_numpy()})
    if not counts.sum():
        return table.assign(percent=np.nan, percent_low=np.nan, percent_high=np.nan)[:0]
    return with_wilson(table.assign(percent=100 * table["replies"] / counts.sum()), "percent", counts.sum())


def divide_dissatisfaction(behaviour: Behaviour) -> pd.DataFrame:
    """Return how often users showed clear dissatisfaction: by turn, over weeks or months, and by assistant.

    Only replies count that a message or a click followed. Parts with fewer than `FEWEST_CASES` of them are left out,
    and so are divisions with one part.

    Columns: division, part, at (turn, or days since 1970), replies, users, objected_percent with bounds over users,
    overall_percent, and for each signal of dissatisfaction the percent of replies of which it is the `objection`.
    """
    replies = behaviour.replies[~behaviour.replies["primary"].isin(["no_followup", "superseded"])]
    objection, at = replies["objection"], pd.to_datetime(replies["at"])
    is_long = at.notna().any() and at.max() - at.min() > pd.Timedelta(weeks=WEEKS)
    since = at.dt.to_period("M" if is_long else "W").dt.start_time
    days = (since - pd.Timestamp(0)) / pd.Timedelta(days=1)
    written = since.dt.strftime("%Y-%m" if is_long else "%Y-%m-%d")
    divisions = {
        "by turn": (replies["turn"].astype(str), replies["turn"]),
        "by month" if is_long else "by week": (written, days),
        "by assistant": (replies["assistant"], pd.Series(np.nan, replies.index)),
    }
    objected, rows = objection.notna().to_numpy(), []
    for division, (parts, places) in divisions.items():
        counts = parts.value_counts().sort_index()
        names = counts.index[counts >= FEWEST_CASES]
        for name in names if len(names) > 1 else ():
            in_part = (parts == name).fillna(False).to_numpy(bool)
            columns = {
                "division": division,
                "part": name,
                "at": float(places[in_part].iloc[0]),
                "replies": int(in_part.sum()),
            }
            columns |= _estimate_percent(replies["user"][in_part], objected[in_part])
            shares = {signal: 100 * float((objection[in_part] == signal).mean()) for signal in NEGATIVE}
            rows.append(columns | {"overall_percent": 100 * float(objected.mean())} | shares)
    bounds = ["objected_percent", "objected_percent_low", "objected_percent_high", "overall_percent"]
    table = pd.DataFrame(rows, columns=["division", "part", "at", "replies", "users", *bounds, *NEGATIVE])
    places = {division: place for place, division in enumerate(divisions)}
    order = table["division"].map(places) * 1e6 + table["at"].fillna(0)
    return table.iloc[order.argsort(kind="stable")].reset_index(drop=True)


def _estimate_percent(user: pd.Series, objected: np.ndarray, name: str = "objected_percent") -> dict[str, float]:
    """Return the number of users, and the percent of replies with dissatisfaction, with its interval over users.

    The percent is missing without replies. If no reply or every reply has dissatisfaction, there are no bounds:
    identical users do not show how much others may differ.
    """
    users = Resamples(user)
    percent = users.estimate(users.mean(100.0 * objected), name, "percent")
    if not 0 < objected.sum() < len(objected):
        percent |= {f"{name}_low": np.nan, f"{name}_high": np.nan}
    return {"users": len(users), **percent}


@as_paragraph
def describe_divisions(table: pd.DataFrame, behaviour: Behaviour) -> Iterator[str]:
    """Yield sentences on the parts that differ from the others, and on the divisions without data."""
    if len(table):
        sides = (
            table["objected_percent_low"] > table["overall_percent"],
            table["objected_percent_high"] < table["overall_percent"],
        )
        named = table["division"].map(name_of) + ": " + table["part"]
        above, below = (join(named[side]) or translate("none") for side in sides)
        yield translate(
            "Users clearly showed dissatisfaction with {overall:.1f} % of the replies that they reacted to. The interval lies above "
            "this share for: **{above}**; below it for: **{below}** (chosen after looking: a hint, not a test). Users chose "
            "what to ask, when and whom, so a difference need not be due to the assistant.",
            overall=table["overall_percent"].iloc[0],
            above=above,
            below=below,
        )
    divisions = set(table["division"])
    if "by turn" not in divisions:
        yield translate("By turn: no two turns have {least} replies that users reacted to.", least=FEWEST_CASES)
    if not divisions & {"by week", "by month"}:
        yield (
            translate(
                "Over time: no two weeks or months have {least} replies that users reacted to.", least=FEWEST_CASES
            )
            if behaviour.replies["at"].notna().any()
            else translate("Over time: replies have no times here.")
        )
    if "by assistant" not in divisions:
        yield (
            translate("By assistant: no two assistants have {least} replies that users reacted to.", least=FEWEST_CASES)
            if behaviour.replies["assistant"].notna().any()
            else translate("By assistant: it is not known which assistant replied.")
        )


# -- against ratings --------------------------------------------------------------------------------------------------


def compare_weak_labels(corpus: Corpus, settings: SignalSettings = DEFAULT) -> pd.DataFrame:
    """Return the agreement of weak labels with test users' own scores, by minimum weight.

    AUROC is for a score of 4 and up. Raise NotEnough if too few replies have ratings.

    Columns: votes (as decided, and as train users' ratings teach them), least_weight, turns, share_of_turns, users, r
    and auroc with bounds.
    """
    signals, score = signals_of(corpus, settings), floats(corpus.turns["score"])
    labels_by_votes = {"votes set by hand": weak_labels(signals)}
    with suppress(NotEnough):
        labels_by_votes["votes fitted on train users"] = weak_labels(signals, fit_votes(corpus, settings=settings))
    test = corpus.turns["user"].isin(corpus.split().get("test", corpus.users["user"])).to_numpy()
    rows = []
    for (votes, labels), least in product(labels_by_votes.items(), WEIGHTS):
        label = floats(labels["label"])
        gold = np.where(score >= SATISFIED, 1, -1)
        all_turns = pd.DataFrame({"judge": "behaviour", "user": corpus.turns["user"].to_numpy(), "score": score})
        all_turns = all_turns.assign(case=all_turns.index.astype(str), label=label, p_good=(label - 1) / 4, gold=gold)
        selected = all_turns[test & (labels["weight"].to_numpy() >= least)].dropna(subset=["score", "label"])
        if len(selected) >= FEWEST_REPLIES and selected["score"].nunique() > 1:
            r = correlation(selected["label"], selected["score"], selected["user"])
            columns = {
                "votes": votes,
                "least_weight": least,
                "turns": len(selected),
                "share_of_turns": len(selected) / test.sum(),
            }
            columns |= {"users": selected["user"].nunique(), **dict(zip(("r", "r_low", "r_high"), r))}
            auroc = compare_auroc(selected)[["auroc", "auroc_low", "auroc_high"]]
            rows.append(columns | auroc.iloc[0].to_dict())
    if not rows:
        raise NotEnough(
            "Too few of these replies have ratings. This section and the next need scores from 1 to 5 of {least} of "
            "them.",
            least=FEWEST_REPLIES,
        )
    return pd.DataFrame(rows)


def compare_scores_by_signal(corpus: Corpus, settings: SignalSettings = DEFAULT) -> pd.DataFrame:
    """Return the users' mean score of replies with a signal and its difference from all others.

    Intervals are over users. Raise NotEnough if no signal was found.

    Columns: signal, strength (clear, weak), turns, mean, difference with bounds; dissatisfied (share of 3 or lower)
    with bounds; low_all, the same of all replies that were followed by a message; and meant (share after which the user
    meant this) with bounds, if a synthetic world provides it.
    """
    signals, is_rated = signals_of(corpus, settings), corpus.turns["score"].notna().to_numpy()
    each = list_signals(signals)
    is_weak = each["strength"] == "weak"
    score, acts = floats(corpus.turns["score"])[is_rated], _read_true_acts(corpus)
    users, rows = Resamples(corpus.turns["user"][is_rated]), []
    is_followed = (signals["primary"] != "no_followup").to_numpy()[is_rated]
    base = float((score[is_followed] < SATISFIED).mean()) if is_followed.any() else np.nan
    for name, strength in product((*NEGATIVE, *POSITIVE, "ack"), ("clear", "weak")):
        with_signal = each.index[(each["signal"] == name) & (is_weak == (strength == "weak"))]
        shows = signals.index.isin(with_signal)[is_rated]
        if 0 < shows.sum() < len(shows):
            with np.errstate(invalid="ignore", divide="ignore"):
                one, other = (users.total(score * part) / users.total(part) for part in (shows, ~shows))
            columns = {"signal": name, "strength": strength, "turns": int(shows.sum()), "mean": one[0]}
            low = users.estimate(users.mean(np.where(shows, score < SATISFIED, np.nan)), "dissatisfied", "share")
            if acts is not None and name in set().union(*acts):
                is_act = np.array([name in names for names in acts])[is_rated]
                columns |= users.estimate(users.mean(np.where(shows, is_act, np.nan)), "meant", "share")
            rows.append(columns | users.estimate(one - other, "difference") | low | {"low_all": base})
    if not rows:
        raise NotEnough("No signal was found after any of these replies, so there is nothing to compare with scores.")
    bounds = [f"{value}{end}" for value in ("difference", "dissatisfied", "meant") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["signal", "strength", "turns", "mean", *bounds, "low_all"])


def _read_true_acts(corpus: Corpus) -> pd.Series | None:
    """Return the true meaning of the users' behaviour after each reply of a synthetic world; otherwise None."""
    truth = corpus.extras.get("truth_turns")
    return None if truth is None else corpus.turns[TURN].merge(truth, "left", on=TURN)["behaviour"]


@as_paragraph
def describe_votes(by_signal: pd.DataFrame) -> Iterator[str]:
    """Yield sentences on signals of dissatisfaction without more low scores after them, and on those without a vote."""
    negative = by_signal[by_signal["signal"].isin(NEGATIVE)].dropna(subset="dissatisfied_low")
    sure = negative["dissatisfied_low"] > negative["low_all"]
    name = partial(translate_value, prefix="ux ")
    names = pd.Series(
        [f"{name(a)} ({name(b)})" for a, b in zip(negative["signal"], negative["strength"])], negative.index
    )
    if len(negative):
        yield translate(
            "Their whole interval lies above the base rate: **{above}**; this corpus does not show it for: {others}.",
            above=join(names[sure]) or translate("none"),
            others=join(names[~sure]) or translate("none"),
        )
    yield translate(
        "Without a vote: {signals}, which did not lie above the base rate where it was tried on people's ratings.",
        signals=join(name(signal) for signal, (_, weight) in VOTES.items() if not weight),
    )


def quote_signals(corpus: Corpus, seed: int = SEED, settings: SignalSettings = DEFAULT) -> pd.DataFrame:
    """Return replies by signal, at most ten of each, drawn at random: request, beginning of the reply, next message.

    Columns: signal, next_message, response, request, assistant, score.
    """
    signals, turns = signals_of(corpus, settings), corpus.turns
    first = pd.Series(
        [(*earlier, request)[0] for earlier, request in zip(turns["earlier"], turns["request"])], turns.index
    )
    trailing = of_turns(corpus, "trailing").str.get(0).to_numpy()
    after = first.groupby([turns[key] for key in SESSION], sort=False).shift(-1)
    after = after.where(turns.duplicated(SESSION, keep="last"), trailing)
    columns = {"score": turns["score"], "assistant": of_turns(corpus, "assistant").to_numpy()}
    quotes = pd.DataFrame(
        {**columns, "request": turns["request"], "response": turns["response"], "next_message": after}
    )
    parts = []
    for name in (*NEGATIVE, *POSITIVE):
        with_signal = quotes[(signals[name] > 0).to_numpy()]
        parts.append(with_signal.sample(min(10, len(with_signal)), random_state=seed).assign(signal=name))
    table = pd.concat(parts)[["signal", *reversed(quotes.columns)]]
    for column in ("request", "response", "next_message"):
        table[column] = table[column].str.replace(r"\s+", " ", regex=True).str.slice(0, 80)
    return table.reset_index(drop=True)
