"""The numbers of the paper (DEUS, Tables 1–5 and Figure 6), to stand beside ours."""

from __future__ import annotations

from perslib.paths import read_csv

_LEVELS = read_csv(__file__, "tables3_4.csv")

#: Success rates: (user, agent) → share (Table 1).
SUCCESS_RATES = read_csv(__file__, "table1.csv").set_index(["user", "agent"])["success"]
#: True reward → share of turns (Table 2).
REWARD_SHARES: dict[int, float] = read_csv(__file__, "table2.csv").set_index("reward")["share"].to_dict()
#: (loss, v_b) → true reward → mean and standard deviation of the estimated one (Tables 3, 4a, 4b).
LEVELS: dict[tuple[str, float], dict[int, tuple[float, float]]] = {
    key: dict(zip(own["reward"], zip(own["mean"], own["std"])))
    for key, own in _LEVELS.groupby(["loss", "v_b"], sort=False)
}
#: Setting → status accuracy (Table 5).
STATUS_ACCURACY: dict[str, float] = read_csv(__file__, "table5.csv").set_index("setting")["accuracy"].to_dict()
#: Correlation of remaining budget and appropriateness; of five level means, as it seems (Figure 6a).
LEVEL_MEANS_R = 0.92
