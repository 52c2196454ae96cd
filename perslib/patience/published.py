"""The numbers of the paper (DEUS, Tables 1–5 and Figure 6), to stand beside ours."""

from __future__ import annotations

#: Success rates: (user, agent) → share (Table 1).
SUCCESS_RATES = {
    ("User 1", "Agent 1"): 0.879,
    ("User 2", "Agent 1"): 0.111,
    ("User 2", "Agent 2"): 0.405,
    ("User 3", "Agent 1"): 0.076,
    ("User 3", "Agent 3"): 0.318,
    ("User 3", "Agent 4"): 0.267,
}
#: True reward → share of turns (Table 2). The text speaks of 2 % at −7, the table of 0.02 %.
REWARD_SHARES = {-1: 0.3325, -2: 0.3700, -3: 0.0776, -4: 0.1472, -5: 0.0711, -6: 0.0014, -7: 0.0002}
#: (loss, v_b) → true reward → mean and standard deviation of the estimated one (Tables 3, 4a, 4b).
LEVELS: dict[tuple[str, float], dict[int, tuple[float, float]]] = {
    ("full", -0.5): {
        -1: (-0.52, 0.07), -2: (-0.90, 0.08), -3: (-1.51, 0.55), -4: (-1.86, 0.20),
        -5: (-2.33, 0.27), -6: (-2.77, 0.43), -7: (-2.62, 0.15),
    },
    ("full", -1.0): {
        -1: (-1.04, 0.15), -2: (-1.79, 0.16), -3: (-2.96, 0.90), -4: (-3.69, 0.36),
        -5: (-4.62, 0.44), -6: (-5.24, 0.95), -7: (-5.44, 0.33),
    },
    ("light", -1.0): {
        -1: (-1.41, 0.46), -2: (-2.25, 0.54), -3: (-4.56, 2.30), -4: (-5.14, 0.94),
        -5: (-6.58, 0.86), -6: (-7.02, 3.03), -7: (-3.39, 0.13),
    },
}  # fmt: skip
#: Setting → status accuracy (Table 5).
STATUS_ACCURACY = {
    "v_b = -1": 0.982,
    "v_b = -2": 0.974,
    "v_b = -10": 0.975,
    "forward-looking": 0.872,
    "not forward-looking": 0.830,
}
#: Correlation of remaining budget and appropriateness; of five level means, as it seems (Figure 6a).
LEVEL_MEANS_R = 0.92
