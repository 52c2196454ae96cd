"""Judges' scores on a user's own scale: the published calibrators, and what goes beyond them."""

from perslib.calibrate.block import SCORES, Ties, cdf, mean_shift, to_scale
from perslib.calibrate.conformal import Conformal, coverage, fit_conformal
from perslib.calibrate.fitted import Population, Tilted, fit_isotonic, fit_ordinal, fit_population, fit_tilt
from perslib.calibrate.frames import calibrated, fallbacks, histories, reference_calibrated
from perslib.calibrate.replay import (
    pooled_reference_cdf,
    reference_cdf,
    reference_mean_shift,
    reference_transfer,
)
from perslib.calibrate.thresholds import fit_thresholds

__all__ = [
    "SCORES",
    "Conformal",
    "Population",
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
