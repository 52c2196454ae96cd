"""Reasons of dissatisfaction: does a judge name the user's own? (PersTurnBench, Appendix I)

Reasons exist for dissatisfied turns only, so they are compared where the user was dissatisfied and gave a
reason. There a judge may name the same reason, another one, or be satisfied (the reason is then "satisfied").

Two controls read no reply: the reason that this user gave most often in other scenarios, and the most frequent one of
train users. A judge's reasons are worth something where they are right more often than both, on the same turns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus
from perslib.corpus.schema import REASONS
from perslib.corpus.schema import SATISFIED as IS_SATISFIED
from perslib.stats.agreement.gold import WHO, of_judges, with_gold
from perslib.stats.agreement.raters import cohen_under
from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.resample.leave_one_out import Resamples, floats, name_bounds

#: Stands in the place of a reason where a judge is satisfied, or gives none.
SATISFIED, NO_REASON = "satisfied", "none given"


def reason_pairs(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return every dissatisfied turn with a reason, once for each judge that scored it.

    Columns: user, scenario, session, turn, judge, backbone, gold (score), score, gold_reason, reason, and the controls
    own_reason (the user's most frequent one in other scenarios, else the common one) and common_reason (that of train
    users; without any, of all users).
    """
    frame = with_gold(verdicts, corpus, ["raw", "reason"]).dropna(subset=["raw", "gold_reason"])
    frame = frame[to_scale(floats(frame["gold"])) <= 3].assign(score=lambda own: to_scale(floats(own["raw"])))
    reason = frame["reason"].fillna(NO_REASON).where(frame["score"] <= 3, SATISFIED)
    keys = [*TURN, *WHO, "gold", "score", "gold_reason"]
    pairs = frame[keys].assign(reason=reason).reset_index(drop=True)
    own, common = _find_usual_reasons(corpus, pairs[BLOCK])
    return pairs.assign(own_reason=own, common_reason=common)


def _find_usual_reasons(corpus: Corpus, blocks: pd.DataFrame) -> tuple[list[str], str]:
    """Return for each block the user's most frequent reason in other scenarios; and the most frequent one of train
    users.
    """
    given = corpus.turns[[*BLOCK, "reason"]][corpus.turns["reason"].notna() & (corpus.turns["score"] <= 3)]
    of_train = given[given["user"].isin(corpus.split().get("train", []))]
    usual = (of_train if len(of_train) else given)["reason"].mode()
    common = str(usual.iloc[0]) if len(usual) else NO_REASON
    reasons: dict[tuple[str, str], str] = {}
    for user, scenario in blocks.drop_duplicates().itertuples(index=False):
        elsewhere = given.loc[(given["user"] == user) & (given["scenario"] != scenario), "reason"].value_counts()
        reasons[user, scenario] = str(elsewhere.index[0]) if len(elsewhere) else common
    return [reasons[user, scenario] for user, scenario in blocks.itertuples(index=False)], common


def order_reasons(corpus: Corpus) -> list[str]:
    """Return the labels of this corpus, satisfied last."""
    known = [label for reason, label in REASONS.get(corpus.language, {}).items() if reason != IS_SATISFIED]
    given = corpus.turns["reason"].dropna()
    return [*known, *sorted(set(given) - set(known)), NO_REASON, SATISFIED]


def reason_confusion(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return how often each reason of the users met each reason of a judge, *satisfied* being one on either side.

    Columns: judge, backbone, gold_reason, reason, turns, share (of the turns with this gold reason). Reasons
    that neither side named are left out.
    """
    frame = with_gold(verdicts, corpus, ["raw", "reason"]).dropna(subset=["raw", "gold"])
    for reason, score in (("gold_reason", "gold"), ("reason", "raw")):
        is_low = to_scale(floats(frame[score])) <= 3
        frame[reason] = frame[reason].fillna(NO_REASON).where(is_low, SATISFIED)
    used = {*frame["gold_reason"], *frame["reason"]}
    order = [label for label in order_reasons(corpus) if label in used]
    tables = []
    for row, own in of_judges(frame):
        counts = pd.crosstab(own["gold_reason"], own["reason"]).reindex(order, fill_value=0)
        long = counts.reindex(columns=order, fill_value=0).rename_axis(columns="reason").stack()
        table = long.rename("turns").reset_index()
        total = table.groupby("gold_reason")["turns"].transform("sum")
        share = (table["turns"] / total.where(total > 0)).astype(float)
        tables.append(table.assign(**row._asdict(), share=share))
    columns = [*WHO, "gold_reason", "reason", "turns", "share"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def reason_agreement(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return how often a judge names the user's reason, with intervals over users.

    Metrics: `accuracy` and Cohen's `kappa` on the turns that both found dissatisfying; `accuracy_all` on all
    dissatisfied turns, where a satisfied judge is wrong; `gain_own` and `gain_common`, the judge's accuracy less that of
    each control on the same turns. Columns: judge, backbone, metric, value, value_low, value_high, own and common
    (what the controls reach there), turns, users.
    """
    rows: list[dict[str, Any]] = []
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own[own["score"] <= 3]
        for name, part in (
            ("accuracy", both),
            ("kappa", both),
            ("accuracy_all", own),
            ("gain_own", both),
            ("gain_common", both),
        ):
            users = Resamples(part["user"])
            gold, named = (part[c].to_numpy(object) for c in ("gold_reason", "reason"))
            controls = {of: part[f"{of}_reason"].to_numpy(object) for of in ("own", "common")}
            if name == "kappa":
                agreed = users.estimate(cohen_under(gold, named, users), scale="correlation")
                reached = {of: cohen_under(gold, given, users)[0] for of, given in controls.items()}
            else:
                right = (gold == named).astype(float)
                reached = {of: (gold == given).mean() if len(gold) else np.nan for of, given in controls.items()}
                if name.startswith("gain"):
                    gained = right - (gold == controls[name.removeprefix("gain_")])
                    agreed = users.estimate(users.mean(gained))
                else:
                    agreed = users.estimate(users.mean(right), scale="share")
            rows.append({**row._asdict(), "metric": name, **agreed, **reached, "turns": len(part), "users": len(users)})
    columns = [*WHO, "metric", *name_bounds("value"), "own", "common", "turns", "users"]
    return pd.DataFrame(rows, columns=columns)
