"""Notebooks as pages: run them, show untrusted text safely, save figures and tables for papers."""

from perslib.report.batches import answer_in_batches, collect_questions
from perslib.report.export import save_figure, save_replies, save_table, save_verdicts
from perslib.report.page import answer, begin, say, section
from perslib.report.run import compare_runs, rehearse_report, run_report
from perslib.report.show import show_conversation, show_profile, show_table
from perslib.report.style import CATEGORIES, OUTCOMES, SCORES, chinese_font, figure_style, literal
from perslib.report.words import name_of
from perslib.text import translate

__all__ = [
    "CATEGORIES", "OUTCOMES", "SCORES", "answer", "answer_in_batches", "begin", "chinese_font", "collect_questions", "compare_runs", "figure_style",
    "literal", "name_of", "rehearse_report", "run_report", "save_figure", "save_replies", "save_table", "save_verdicts", "say", "section",
    "show_conversation", "show_profile", "show_table", "translate",
]  # fmt: skip
