"""What tests of judges share: the learned judge of a module's sample."""

from __future__ import annotations

from functools import partial

import pytest

from perslib.corpus import Corpus
from perslib.judge import LearnedJudge
from perslib.llm import run_with_answers


@pytest.fixture(scope="module")
def users(sample: Corpus) -> list[str]:
    """The users of the module's sample."""
    return sorted(sample.users["user"])


@pytest.fixture(scope="module")
def judge(sample: Corpus, users: list[str]) -> LearnedJudge:
    """The learned judge, taught by the first six of them."""
    learned = LearnedJudge()
    run_with_answers(partial(learned.fit, sample.of_users(users[:6])))
    return learned
