"""Notebooks as pages: run them, show untrusted text safely, save figures and tables for papers."""

from perslib.report.export import draw, save_figure, save_table
from perslib.report.page import begin, say, text
from perslib.report.run import run_report
from perslib.report.show import show_conversation, show_profile, show_table
from perslib.report.sorting import sortable
from perslib.report.style import CATEGORIES, SCORES, chinese_font, figure_style, literal
from perslib.report.words import name_of, word

__all__ = [
    "CATEGORIES",
    "SCORES",
    "begin",
    "chinese_font",
    "draw",
    "figure_style",
    "literal",
    "name_of",
    "run_report",
    "save_figure",
    "save_table",
    "say",
    "show_conversation",
    "show_profile",
    "show_table",
    "sortable",
    "text",
    "word",
]
