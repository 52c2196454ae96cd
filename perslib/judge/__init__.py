"""Judges: how satisfied is this user with this reply? One protocol for those that ask a model and those that compute."""

from perslib.judge.asking.episodic import Episodic
from perslib.judge.asking.generic import Generic
from perslib.judge.asking.personal import Personal
from perslib.judge.asking.settings import AskingJudge, Manner
from perslib.judge.asking.spur import Spur
from perslib.judge.base import Computed, Judge, Sees, Verdict, like_for_like
from perslib.judge.blinded import Blinded, blinded
from perslib.judge.borrowed import Borrowed, borrowed
from perslib.judge.evaluate import evaluate, targets
from perslib.judge.history import (
    Constant,
    Nearest,
    OfPopulation,
    OfTask,
    Random,
    UserCdfByHash,
    UserMajority,
    UserMean,
    UserMedian,
    WithoutText,
    controls,
    history_baselines,
    nearest_baselines,
)
from perslib.judge.learned.judge import LearnedJudge
from perslib.judge.learned.preferences import FromStatements, Preferences
from perslib.judge.learned.supervised import Supervised
from perslib.judge.registry import asks_model, judge, judge_choices, judge_names, make_judge, make_judges
from perslib.judge.sessions import OfSession, by_session, judgeable, session_judges
from perslib.judge.tuned.bert import Bert, Training

__all__ = [
    "AskingJudge", "Bert", "Blinded", "Borrowed", "Computed", "Constant", "Episodic", "FromStatements", "Generic", "Judge", "LearnedJudge", "Manner", "Nearest",
    "OfPopulation", "OfSession", "OfTask", "Personal", "Preferences", "Random", "Sees", "Spur", "Supervised", "Training",
    "UserCdfByHash", "UserMajority", "UserMean", "UserMedian", "Verdict", "WithoutText", "asks_model",
    "blinded", "borrowed", "by_session", "controls", "evaluate", "history_baselines", "judge", "judge_choices", "judge_names", "judgeable", "like_for_like",
    "make_judge", "make_judges", "nearest_baselines", "session_judges", "targets",
]  # fmt: skip
