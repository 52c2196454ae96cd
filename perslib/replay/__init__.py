"""Replay: what candidate models would have answered, scored by a frozen judge of each user (PersTurnBench, section 5)."""

from perslib.replay.aggregates import leaderboard, official_interval, prediction_powered, rank_sets, summary
from perslib.replay.candidates import Candidate, generated
from perslib.replay.contexts import Context, Shown, context, make_context
from perslib.replay.judging import judged_by_themselves, on_reference, reference, scored
from perslib.replay.paired import against, differences, self_preference
from perslib.replay.published_files import read_predictions, read_replies, read_scored, write_replies
from perslib.replay.published_lines import read_labels, read_turns
from perslib.replay.rankings import against_truth, differing_turns, ranking_views, view_means
from perslib.replay.replies import ORIGINAL, checked, originals, recorded
from perslib.replay.turn_sets import hard_set, profiles, stratified_set
from perslib.replay.unanswered import Unanswered, count_unanswered, mark_unanswered
from perslib.replay.unusual_replies import name_differences

__all__ = [
    "ORIGINAL", "Candidate", "Context", "Shown", "Unanswered", "against", "against_truth", "checked", "context",
    "count_unanswered", "differences", "differing_turns", "generated", "hard_set", "judged_by_themselves",
    "leaderboard", "make_context", "mark_unanswered", "name_differences", "official_interval", "on_reference",
    "originals", "prediction_powered", "profiles", "rank_sets", "ranking_views", "read_labels", "read_predictions",
    "read_replies", "read_scored", "read_turns", "recorded", "reference", "scored", "self_preference",
    "stratified_set", "summary", "view_means", "write_replies",
]  # fmt: skip
