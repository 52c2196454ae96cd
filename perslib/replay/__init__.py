"""Replay: what candidate models would have answered, scored by a frozen judge of each user (PersTurnBench, section 5)."""

from perslib.replay.aggregates import (
    leaderboard,
    official_interval,
    prediction_powered,
    summarize_candidates,
    summarize_rank_sets,
)
from perslib.replay.candidates import Candidate, generate_replies
from perslib.replay.contexts import Context, ContextMessage, context, make_context
from perslib.replay.judging import (
    calibrate_on_reference,
    judge_candidates,
    judge_recorded_replies,
    judged_by_themselves,
)
from perslib.replay.paired import compare_candidate_scores, list_turn_differences, self_preference
from perslib.replay.published_files import read_predictions, read_replies, read_scored, write_replies
from perslib.replay.published_lines import read_labels, read_turns
from perslib.replay.rankings import against_truth, differing_turns, ranking_views, view_means
from perslib.replay.replies import ORIGINAL, align_replies, originals, select_recorded_replies
from perslib.replay.turn_sets import describe_turn_sets, hard_set, stratified_set
from perslib.replay.unanswered import Unanswered, count_unanswered, mark_unanswered
from perslib.replay.unusual_replies import name_differences

__all__ = [
    "ORIGINAL",
    "Candidate",
    "Context",
    "ContextMessage",
    "Unanswered",
    "against_truth",
    "align_replies",
    "calibrate_on_reference",
    "compare_candidate_scores",
    "context",
    "count_unanswered",
    "describe_turn_sets",
    "differing_turns",
    "generate_replies",
    "hard_set",
    "judge_candidates",
    "judge_recorded_replies",
    "judged_by_themselves",
    "leaderboard",
    "list_turn_differences",
    "make_context",
    "mark_unanswered",
    "name_differences",
    "official_interval",
    "originals",
    "prediction_powered",
    "ranking_views",
    "read_labels",
    "read_predictions",
    "read_replies",
    "read_scored",
    "read_turns",
    "select_recorded_replies",
    "self_preference",
    "stratified_set",
    "summarize_candidates",
    "summarize_rank_sets",
    "view_means",
    "write_replies",
]  # fmt: skip
