"""Judges' scores on a user's own scale: the published calibrators, and what goes beyond them."""

from perslib.calibrate.block import cdf, mean_shift
from perslib.calibrate.frames import calibrated, fallbacks, histories, reference_calibrated
from perslib.calibrate.ranks import SharedTies, Ties
from perslib.calibrate.replay import (
    pooled_reference_cdf,
    reference_cdf,
    reference_mean_shift,
    reference_transfer,
)
from perslib.calibrate.scale import MIN_HISTORY, SCORES, Calibrated, to_scale

__all__ = [
    "MIN_HISTORY",
    "SCORES",
    "Calibrated",
    "SharedTies",
    "Ties",
    "calibrated",
    "cdf",
    "fallbacks",
    "histories",
    "mean_shift",
    "pooled_reference_cdf",
    "reference_calibrated",
    "reference_cdf",
    "reference_mean_shift",
    "reference_transfer",
    "to_scale",
]
