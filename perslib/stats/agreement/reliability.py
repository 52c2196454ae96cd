"""Whether scores are right on average: verdicts in bins, beside what users gave."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from perslib.corpus import Corpus
from perslib.stats.agreement.gold import WHO, of_judges, with_gold
from perslib.stats.resample.leave_one_out import floats, mean_by, name_bounds

#: Bins of probabilities, of equal mass.
BINS = 10


def reliability(verdicts: pd.DataFrame, corpus: Corpus, score: str = "raw", bins: int = 5) -> pd.DataFrame:
    """Return the mean gold against predicted score, for a calibration plot: on the diagonal a judge is right on
    average.

    Up to 2 · `bins` different scores each stand for themselves; finer ones fall into `bins` groups of about
    equal size. Columns: judge, backbone, predicted (mean of the group), gold (mean), gold_low, gold_high (95 %, over
    users), turns, users.
    """
    tables = []
    for row, own in of_judges(with_gold(verdicts, corpus, [score])):
        frame = own[["user"]].assign(predicted=floats(own[score]), gold=floats(own["gold"])).dropna()
        if frame.empty:
            continue
        few = frame["predicted"].nunique() <= 2 * bins
        cut = frame["predicted"] if few else pd.qcut(frame["predicted"], bins, labels=False, duplicates="drop")
        predicted = frame["predicted"].groupby(cut).mean().to_numpy()
        residuals_of_bins = mean_by(frame.assign(group=cut), "gold", "group").rename(
            columns=lambda c: c.replace("mean", "gold")
        )
        tables.append(residuals_of_bins.assign(**row._asdict(), predicted=predicted))
    columns = [*WHO, "predicted", *name_bounds("gold"), "turns", "users"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def calibration_bins(good: npt.ArrayLike, p_good: npt.ArrayLike, bins: int = BINS) -> pd.DataFrame:
    """Return the mean p and share of good cases in bins of equal mass; cases of one p stay together, those without a
    label or a p are left out.

    Columns: predicted, good, cases.
    """
    y, p = floats(good), floats(p_good)
    y, p = (values[~np.isnan(y) & ~np.isnan(p)] for values in (y, p))
    place = ((rankdata(p) - 0.5) / max(1, len(p)) * bins).astype(int)
    frame = pd.DataFrame({"predicted": p, "good": y}).groupby(place)
    return frame.mean().assign(cases=frame.size()).reset_index(drop=True)
