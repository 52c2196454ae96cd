"""Notebooks as pages: run them, show untrusted text safely, save figures and tables for papers."""

from perslib.report.page.export import save_figure, save_replies, save_table, save_verdicts
from perslib.report.page.page import answer, begin, say, section
from perslib.report.run.runner import compare_runs, rehearse_report, run_report
from perslib.report.show.claims import Estimate, choose
from perslib.report.show.html import show_conversation, show_profile, show_table
from perslib.report.show.style import CATEGORIES, OUTCOMES, SCORES, chinese_font, escape_figure_text, figure_style
from perslib.report.show.words import name_of
from perslib.text import translate

__all__ = [
    "CATEGORIES",
    "OUTCOMES",
    "SCORES",
    "Estimate",
    "answer",
    "begin",
    "chinese_font",
    "choose",
    "compare_runs",
    "escape_figure_text",
    "figure_style",
    "name_of",
    "rehearse_report",
    "run_report",
    "save_figure",
    "save_replies",
    "save_table",
    "save_verdicts",
    "say",
    "section",
    "show_conversation",
    "show_profile",
    "show_table",
    "translate",
]  # fmt: skip
