"""The page on UXBench, its first part: what behaviour says, how far it is right, and what a memory makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.errors import NotEnough
from perslib.judge import Judge, LearnedJudge, OfTask, UserMean
from perslib.judge.evaluate import evaluate, targets
from perslib.signals import NEGATIVE, POSITIVE, PRECEDENCE, behavioural, mined, signals_of, weak_labels
from perslib.stats import RESAMPLES, SEED, correlation, floats, interval, pearson, resample_users, wilson
from perslib.ux import discrimination, published

STRENGTHS = ("explicit", "strong", "weak")
#: A label counts as surer from these weights on.
WEIGHTS = (0.0, 0.3, 0.7)
#: Replies that judges with either memory are tried on.
JUDGED = 120
SATISFIED = 4


@dataclass(frozen=True)
class Behaviour:
    """A row a reply, as `perslib.signals.table` has it, and what of the log could not be read."""

    replies: pd.DataFrame
    session: list[str]
    """The columns that say to which session a reply belongs."""
    rejected: pd.DataFrame

    @property
    def sessions(self) -> int:
        """How many sessions have a reply."""
        return len(self.replies[self.session].drop_duplicates())


def behaviour(corpus: Corpus, log: str = "") -> Behaviour:
    """The signals of a log (a .jsonl or .parquet file, or a folder of them), else of the corpus' conversations."""
    if not log and corpus.turns.empty:
        raise NotEnough(
            "Signals are what users do after a reply, and {name} has requests without replies. Give a raw log: "
            "`-p log=PATH`.",
            name=corpus.name,
        )
    if not log:
        return Behaviour(signals_of(corpus), SESSION, pd.DataFrame(columns=["reason", "count"]))
    found = mined(log)
    if found.table.empty:
        raise NotEnough(
            "Signals are what users do after a reply, and no session with a reply could be read from {log}.",
            log=log,
        )
    odd = [("no session", r, n) for r, n in found.rejected.items()]
    odd += [("odd", r, n) for r, n in found.notes.items()]
    return Behaviour(found.table, ["record"], pd.DataFrame(odd, columns=["kind", "reason", "count"]))


def counted(found: Behaviour) -> pd.DataFrame:
    """How often each signal was found, by strength, and in how many sessions; beside it the paper's shares of sessions.

    Columns: signal, found, explicit, strong, weak, primary, sessions_percent, low, high (Wilson), published_percent.
    """
    table = found.replies
    places = table[found.session].astype(str).agg("/".join, axis=1)
    each = [(place, s["name"], s["strength"]) for place, own in zip(places, table["signals"]) for s in own]
    signals = pd.DataFrame(each, columns=["session", "signal", "strength"])
    theirs = published("signals").set_index("signal")
    rows = []
    for name in PRECEDENCE:
        own = signals[signals["signal"] == name]
        primary, sessions = int((table["primary"] == name).sum()), own["session"].nunique()
        if name in ("continue", "no_followup", "superseded"):
            sessions = places[table["primary"] == name].nunique()
        low, high = wilson(sessions, max(1, found.sessions))
        there = 100 * theirs["found"].get(name, np.nan) / theirs["sessions"].get(name, np.nan)
        rows.append(
            {
                **{"signal": name, "found": len(own) or primary, "primary": primary},
                **{strength: int((own["strength"] == strength).sum()) for strength in STRENGTHS},
                **{"sessions_percent": 100 * sessions / max(1, found.sessions)},
                **{"low": 100 * float(low), "high": 100 * float(high), "published_percent": there},
            }
        )
    counts = pd.DataFrame(rows)
    return counts[(counts["found"] > 0) | counts["published_percent"].notna()].reset_index(drop=True)


def chains(found: Behaviour) -> pd.DataFrame:
    """What became of replies that users spoke against: outcome, replies, percent with Wilson bounds."""
    counts = found.replies["outcome"].dropna().value_counts()
    counts = counts.reindex(["recovered", "failed_recovery", "unknown_left"], fill_value=0)
    total = int(counts.sum())
    low, high = wilson(counts.to_numpy(float), max(1, total))
    percent = 100 * counts.to_numpy(float) / max(1, total)
    table = pd.DataFrame({"outcome": counts.index, "replies": counts.to_numpy(), "percent": percent})
    return table.assign(low=100 * low, high=100 * high).iloc[: None if total else 0]


# -- against ratings --------------------------------------------------------------------------------------------------


def with_ratings(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Weak labels against the users' own scores, for labels of at least a weight: r, and AUC for a score of 4 and up.

    Columns: weight, turns, share, users, r, r_low, r_high, auc, auc_low, auc_high.
    """
    scores = corpus.turns["score"].astype("Float64")
    labels = weak_labels(signals_of(corpus))
    rows = []
    for least in WEIGHTS:
        has = (labels["label"].notna() & scores.notna() & (labels["weight"] >= least)).to_numpy(bool)
        own, gold, user = labels["label"][has], scores[has], corpus.turns["user"][has]
        if has.sum() < 2 or gold.nunique() < 2:
            continue
        r = correlation(own, gold, user, RESAMPLES, seed)
        asked = pd.DataFrame(
            {
                **{"judge": "behaviour", "case": np.flatnonzero(has).astype(str), "user": user.to_numpy()},
                **{"gold": np.where(gold >= SATISFIED, 1, -1), "p_good": (floats(own) - 1) / 4},
            }
        )
        auc = discrimination(asked, seed=seed).iloc[0]
        rows.append(
            {
                **{"weight": least, "turns": int(has.sum()), "share": has.mean(), "users": user.nunique()},
                **dict(zip(("r", "r_low", "r_high"), r)),
                **{"auc": auc["auroc"], "auc_low": auc["auroc_low"], "auc_high": auc["auroc_high"]},
            }
        )
    return pd.DataFrame(rows)


def scores_by_signal(corpus: Corpus, found: pd.DataFrame, seed: int = SEED) -> pd.DataFrame:
    """The users' mean score of replies with a signal, less that of all others; users resampled.

    Columns: signal, turns, mean, difference, low, high.
    """
    score = floats(corpus.turns["score"])
    known = ~np.isnan(score)
    group, users = pd.factorize(corpus.turns["user"].to_numpy()[known])
    weights = resample_users(len(users), RESAMPLES if len(users) >= 5 else 0, seed).astype(float)
    score = score[known]
    rows = []
    for name in (*NEGATIVE, *POSITIVE, "ack"):
        shows = (found[name] > 0).to_numpy()[known]
        if not 0 < shows.sum() < len(shows):
            continue
        parts = [
            np.bincount(group, v, len(users)) @ weights
            for v in (score * shows, shows.astype(float), score * ~shows, (~shows).astype(float))
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = parts[0] / parts[1] - parts[2] / parts[3]
        low, high = interval(drawn[1:])
        mean = float(parts[0][0] / parts[1][0])
        rows.append({"signal": name, "turns": int(shows.sum()), "mean": mean, "difference": float(drawn[0]), "low": low, "high": high})  # fmt: skip
    return pd.DataFrame(rows, columns=["signal", "turns", "mean", "difference", "low", "high"])


# -- a memory of behaviour --------------------------------------------------------------------------------------------


def remembering() -> list[Judge]:
    """The least and the most that can be made of what is remembered of a user, without a model."""
    return [UserMean(), LearnedJudge()]


def memories(corpus: Corpus, seed: int = SEED) -> dict[str, Corpus]:
    """The same conversations as rated, as labelled by behaviour, and with behaviour's labels dealt out at random."""
    weak = behavioural(corpus)
    dealt = weak.turns["score"].sample(frac=1, random_state=seed).to_numpy()
    shuffled = replace(
        weak, name=f"{corpus.name}-shuffled", turns=weak.turns.assign(score=pd.array(dealt, "Int64"))
    )
    return {"rated": corpus, "behaviour": weak, "shuffled": shuffled}


def kept(
    corpus: Corpus, limit: int = JUDGED, judges: Sequence[Judge] | None = None, seed: int = SEED
) -> pd.DataFrame:
    """How well judges agree with the users' scores when they remember ratings, and when they remember behaviour.

    What a judge learns it learns from labels of the same kind. Columns: judge, memory, turns, users, r, low, high (users
    resampled), kept (r over that of the rated memory), kept_low, kept_high. `task mean` on ratings is the control.
    """
    gold = corpus.turns[[*TURN, "score"]].dropna()
    verdicts = []
    for name, own in memories(corpus, seed).items():
        blocks = [block for block in targets(own, limit=limit, seed=seed) if len(block)]
        control = [OfTask("mean")] if name == "rated" else []
        for judge in [*(remembering() if judges is None else judges), *control]:
            found = evaluate(judge, own, blocks=blocks, progress=False)
            verdicts.append(
                found[TURN].assign(judge=judge.name, memory=name, said=floats(found["expected"].fillna(found["raw"])))
            )  # fmt: skip
    every = pd.concat(verdicts, ignore_index=True).merge(gold, on=TURN)
    wide = every.pivot(index=[*TURN, "score"], columns=["judge", "memory"], values="said").reset_index(
        [*TURN, "score"]
    )
    return _agreement(wide, seed)


def _agreement(wide: pd.DataFrame, seed: int) -> pd.DataFrame:
    """r of every column with the score on the replies that all scored, and each as a share of the rated memory's."""
    users, scores = wide[("user", "")], wide[("score", "")].astype(float)
    said = wide.drop(columns=[(c, "") for c in (*TURN, "score")]).astype(float)
    known = said.notna().all(axis=1).to_numpy()
    group, names = pd.factorize(users[known])
    weights = resample_users(len(names), RESAMPLES if len(names) >= 5 else 0, seed).astype(float)
    y = scores[known].to_numpy() - scores[known].mean()
    drawn = {}
    for column in said:
        x = said.loc[known, column].to_numpy() - said.loc[known, column].mean()
        parts = np.array(
            [np.bincount(group, v, len(names)) for v in (np.ones(len(x)), x, y, x * x, y * y, x * y)]
        )
        drawn[column] = pearson(parts @ weights)
    rows = []
    for (judge, memory), r in drawn.items():
        low, high = interval(r[1:])
        rated = drawn[(judge, "rated")]
        share = np.divide(r, rated, out=np.full(len(r), np.nan), where=np.abs(rated) > 1e-9)
        share_low, share_high = interval(share[1:]) if len(r) > 1 and memory != "rated" else (np.nan, np.nan)
        about = {"judge": judge, "memory": memory, "turns": int(known.sum()), "users": len(names)}
        rows.append({**about, "r": r[0], "low": low, "high": high, "kept": share[0], "kept_low": share_low, "kept_high": share_high})  # fmt: skip
    return pd.DataFrame(rows)
