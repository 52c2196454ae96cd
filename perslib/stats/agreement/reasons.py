"""Reasons of dissatisfaction: does a judge name the user's own? (PersTurnBench, Appendix I)

Reasons exist for dissatisfied turns only, so they are compared where the user was dissatisfied and gave a
reason. There a judge may name the same reason, another one, or be satisfied (the reason is then "satisfied").
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.corpus.schema import REASONS
from perslib.corpus.schema import SATISFIED as IS_SATISFIED
from perslib.stats.agreement.gold import WHO, of_judges, with_gold
from perslib.stats.agreement.raters import cohen_under
from perslib.stats.calibrate.history import to_scale
from perslib.stats.resample.leave_out import Resamples, floats, name_bounds

#: Stands in the place of a reason where a judge is satisfied, or gives none.
SATISFIED, NO_REASON = "satisfied", "none given"


def reason_pairs(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Every dissatisfied turn with a reason, once for each judge that scored it.

    Columns: user, scenario, session, turn, judge, backbone, gold (score), score, gold_reason, reason.
    """
    frame = with_gold(verdicts, corpus, ["raw", "reason"]).dropna(subset=["raw", "gold_reason"])
    frame = frame[to_scale(floats(frame["gold"])) <= 3].assign(score=lambda kept: to_scale(floats(kept["raw"])))
    reason = frame["reason"].fillna(NO_REASON).where(frame["score"] <= 3, SATISFIED)
    keys = [*TURN, *WHO, "gold", "score", "gold_reason"]
    return frame[keys].assign(reason=reason).reset_index(drop=True)


def order_of(corpus: Corpus) -> list[str]:
    """The labels of this corpus, satisfied last."""
    known = [label for reason, label in REASONS.get(corpus.language, {}).items() if reason != IS_SATISFIED]
    given = corpus.turns["reason"].dropna()
    return [*known, *sorted(set(given) - set(known)), NO_REASON, SATISFIED]


def reason_confusion(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """How often each reason of the users met each reason of a judge, *satisfied* being one on either side.

    Columns: judge, backbone, gold_reason, reason, turns, share (of the turns with this gold reason). Reasons
    that neither side named are left out.
    """
    frame = with_gold(verdicts, corpus, ["raw", "reason"]).dropna(subset=["raw", "gold"])
    for reason, score in (("gold_reason", "gold"), ("reason", "raw")):
        is_low = to_scale(floats(frame[score])) <= 3
        frame[reason] = frame[reason].fillna(NO_REASON).where(is_low, SATISFIED)
    used = {*frame["gold_reason"], *frame["reason"]}
    order = [label for label in order_of(corpus) if label in used]
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
    """How often a judge names the user's reason, with intervals over users.

    Metrics: `accuracy` and Cohen's `kappa` on the turns that both found dissatisfying; `accuracy_all` on all
    dissatisfied turns, where a satisfied judge is wrong. Columns: judge, backbone, metric, value, value_low,
    value_high, turns, users.
    """
    rows: list[dict[str, Any]] = []
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own[own["score"] <= 3]
        for name, part in (("accuracy", both), ("kappa", both), ("accuracy_all", own)):
            users = Resamples(part["user"])
            gold, said = (part[c].to_numpy(object) for c in ("gold_reason", "reason"))
            if name == "kappa":
                found = users.estimate(cohen_under(gold, said, users), scale="correlation")
            else:
                found = users.estimate(users.mean(gold == said), scale="share")
            rows.append({**row._asdict(), "metric": name, **found, "turns": len(part), "users": len(users)})
    return pd.DataFrame(rows, columns=[*WHO, "metric", *name_bounds("value"), "turns", "users"])
