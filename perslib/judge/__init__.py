"""Judges: how satisfied is this user with this reply? One protocol for those that ask a model and those that compute."""

from perslib.judge.asking.episodic import Episodic
from perslib.judge.asking.generic import Generic
from perslib.judge.asking.personal import Personal
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.asking.spur import Spur
from perslib.judge.base import Computed, Judge, JudgeInputs, Verdict, like_for_like
from perslib.judge.baselines import (
    Constant,
    Nearest,
    NoTextControl,
    PopulationStatistic,
    Random,
    TaskStatistic,
    UserCdfByHash,
    UserMajority,
    UserMean,
    UserMedian,
    controls,
    history_baselines,
    nearest_baselines,
)
from perslib.judge.blinded import Blinded, blind_judge
from perslib.judge.borrowed import Borrowed, lend_history
from perslib.judge.evaluate import evaluate, select_blocks
from perslib.judge.learned.learned_judge import LearnedJudge
from perslib.judge.learned.preferences import FromStatements, Preferences
from perslib.judge.learned.supervised import Supervised
from perslib.judge.recorded import Recorded, list_recorded
from perslib.judge.registry import asks_model, judge, judge_choices, judge_names, make_judge, make_judges
from perslib.judge.sessions import SessionJudge, arrange_by_rating_level, by_session, session_judges
from perslib.judge.tuned.bert import Bert, Training

__all__ = [
    "AskingJudge",
    "Bert",
    "Blinded",
    "Borrowed",
    "Computed",
    "Constant",
    "Episodic",
    "FromStatements",
    "Generic",
    "Judge",
    "JudgeInputs",
    "JudgeSettings",
    "LearnedJudge",
    "Nearest",
    "NoTextControl",
    "Personal",
    "PopulationStatistic",
    "Preferences",
    "Random",
    "Recorded",
    "SessionJudge",
    "Spur",
    "Supervised",
    "TaskStatistic",
    "Training",
    "UserCdfByHash",
    "UserMajority",
    "UserMean",
    "UserMedian",
    "Verdict",
    "arrange_by_rating_level",
    "asks_model",
    "blind_judge",
    "by_session",
    "controls",
    "evaluate",
    "history_baselines",
    "judge",
    "judge_choices",
    "judge_names",
    "lend_history",
    "like_for_like",
    "list_recorded",
    "make_judge",
    "make_judges",
    "nearest_baselines",
    "select_blocks",
    "session_judges",
]  # fmt: skip
