"""Replay: what candidate models would have answered, scored by a frozen judge of each user (PersTurnBench, section 5)."""

from perslib.replay.aggregates import official_interval, summary
from perslib.replay.candidates import Candidate, generated
from perslib.replay.contexts import CONTEXTS, Context, Shown
from perslib.replay.labelled import prediction_powered
from perslib.replay.names import ORIGINAL
from perslib.replay.paired import against, all_pairs, differences
from perslib.replay.preference import self_preference
from perslib.replay.published import read_replies, write_replies
from perslib.replay.published_scores import read_predictions, read_scored
from perslib.replay.published_selection import hard_set
from perslib.replay.ranking import rank_sets
from perslib.replay.replies import checked, originals, recorded
from perslib.replay.scoring import judged_by_themselves, on_reference, reference, scored
from perslib.replay.set_profile import profiles, set_profile
from perslib.replay.sets import stratified_set
from perslib.replay.turn_files import read_turns
from perslib.replay.views import against_truth, ranking_views, view_means

__all__ = [
    "CONTEXTS",
    "ORIGINAL",
    "Candidate",
    "Context",
    "Shown",
    "against",
    "against_truth",
    "all_pairs",
    "checked",
    "differences",
    "generated",
    "hard_set",
    "judged_by_themselves",
    "official_interval",
    "on_reference",
    "originals",
    "prediction_powered",
    "profiles",
    "rank_sets",
    "ranking_views",
    "read_predictions",
    "read_replies",
    "read_scored",
    "read_turns",
    "recorded",
    "reference",
    "scored",
    "self_preference",
    "set_profile",
    "stratified_set",
    "summary",
    "view_means",
    "write_replies",
]
