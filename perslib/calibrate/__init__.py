"""Judges' scores on a user's own scale: the published calibrators, and what goes beyond them."""

from perslib.calibrate.block import cdf, mean_shift
from perslib.calibrate.conformal import Conformal, coverage, fit_conformal
from perslib.calibrate.fitted import Fitted
from perslib.calibrate.frames import calibrated, fallbacks, histories, reference_calibrated
from perslib.calibrate.ordinal import Isotonic, ProportionalOdds, fit_isotonic, fit_ordinal
from perslib.calibrate.ranks import SharedTies, Ties
from perslib.calibrate.replay import (
    pooled_reference_cdf,
    reference_cdf,
    reference_mean_shift,
    reference_transfer,
)
from perslib.calibrate.scale import MIN_HISTORY, SCORES, Calibrated, to_scale
from perslib.calibrate.shrinkage import Population, fit_population
from perslib.calibrate.thresholds import Thresholds, fit_thresholds
from perslib.calibrate.tilt import Tilted, fit_tilt

__all__ = [
    "MIN_HISTORY",
    "SCORES",
    "Calibrated",
    "Conformal",
    "Fitted",
    "Isotonic",
    "Population",
    "ProportionalOdds",
    "SharedTies",
    "Thresholds",
    "Ties",
    "Tilted",
    "calibrated",
    "cdf",
    "coverage",
    "fallbacks",
    "fit_conformal",
    "fit_isotonic",
    "fit_ordinal",
    "fit_population",
    "fit_thresholds",
    "fit_tilt",
    "histories",
    "mean_shift",
    "pooled_reference_cdf",
    "reference_calibrated",
    "reference_cdf",
    "reference_mean_shift",
    "reference_transfer",
    "to_scale",
]
