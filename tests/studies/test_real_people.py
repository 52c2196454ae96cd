"""Numbers of real people: what comes with perslib is what docs and README say of it, and what reads texts says where they are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.corpus import load
from perslib.corpus.import_summary import list_fed_pages, list_missing
from perslib.errors import NotEnough
from perslib.judge import LearnedJudge, UserMean, evaluate
from perslib.report.show.claims import Estimate
from perslib.studies.people import TEXTLESS, describe_set, foretell_ratings, list_numbers

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def cragc():
    return describe_set(load("people/cragc"))


def test_the_numbers_that_come_along_are_those_of_their_sources():
    chosen, rated = load("people/cragc"), load("people/ji")
    assert (len(chosen.users), len(chosen.turns), chosen.turns["panel"].nunique()) == (211, 3315, 46)
    assert (len(rated.users), len(rated.sessions), rated.sessions["assistant"].nunique()) == (257, 2142, 11)
    assert sum(file.stat().st_size for file in (ROOT / "data/people").rglob("*")) < 1_000_000


def test_no_text_of_a_person_comes_along():
    """What stands in columns of texts are numbers and names of kinds, and nothing longer."""
    for name in ("people/cragc", "people/ji"):
        corpus = load(name)
        for frame in (corpus.users, corpus.sessions, corpus.turns, *corpus.extras.values()):
            for column in frame.select_dtypes(exclude="number"):
                words = frame[column].dropna().astype(str)
                assert not len(words) or words.str.split().str.len().max() <= 4, (name, column)


def test_docs_and_readme_say_what_the_numbers_say(cragc):
    from people import BUNDLED, make_table

    rows = make_table(BUNDLED).splitlines()[2:]
    docs = (ROOT / "docs/people.md").read_text(encoding="utf-8")
    assert len(rows) == 2 and all(row in docs for row in rows)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    numbers = list_numbers(cragc)
    for value in (
        numbers["own tastes"],
        numbers["everybody's likes"],
        numbers["GPT-4o"],
        numbers["ahead of habit of side"],
    ):
        assert re.search(rf"\b{value:.2f}\b", readme)


def test_on_choices_own_tastes_are_ahead_of_everybodys_of_a_neighbours_and_of_a_recorded_judge(cragc):
    rows = cragc.set_index("known")
    assert all(Estimate.of(row, "own_ahead").side == "above" for name, row in rows.drop(index="own tastes").iterrows())
    assert rows.loc["own tastes", "value"] > 0.36 and rows.loc["GPT-4o", "value"] < 0.2


def test_in_chats_a_person_is_mostly_a_level():
    rows = describe_set(load("people/ji")).set_index("known")
    assert rows.loc["habit of side", "value"] - rows.loc["everybody's likes", "value"] > 0.1
    assert Estimate.of(rows.loc[TEXTLESS], "own_ahead").side == "open"  # traits of replies add nothing


def test_ratings_are_foretold_from_other_conversations_alone():
    corpus = load("sample/en")
    one = foretell_ratings(corpus).frame
    turns = corpus.turns.copy()
    at = turns["session"] == turns["session"].iloc[0]
    mine = at & (turns["user"] == turns["user"].iloc[0]) & (turns["scenario"] == turns["scenario"].iloc[0])
    turns["score"] = turns["score"].where(~mine, 6 - turns["score"])
    other = foretell_ratings(type(corpus)(corpus.name, corpus.language, corpus.users, corpus.sessions, turns)).frame
    rated = corpus.turns["score"].notna().to_numpy()
    here = mine.to_numpy()[rated]
    assert here.any() and other.loc[here, "own tastes"].to_numpy() == pytest.approx(
        one.loc[here, "own tastes"].to_numpy(), abs=1e-9
    )
    assert not np.allclose(other["own tastes"], one["own tastes"])


def test_what_reads_texts_says_where_they_are():
    corpus = load("people/ji")
    with pytest.raises(NotEnough, match=r"git clone .*Dialogue-Eval && perslib import ji"):
        evaluate(LearnedJudge(), corpus)
    assert list_fed_pages(list_missing(corpus)) == ["00", "12"] and list_fed_pages(
        list_missing(load("people/cragc"))
    ) == ["00", "13"]
    done = CliRunner().invoke(main, ["report", "01", "--corpus", "people/ji"])
    assert done.exit_code == 1 and "does not feed 01" in done.output and "git clone" in done.output


def test_judges_without_texts_judge_numbers():
    corpus = load("people/ji")
    from perslib.judge import arrange_by_rating_level

    verdicts = evaluate(UserMean(), arrange_by_rating_level(corpus), limit=50)
    assert verdicts["raw"].notna().all()


def test_too_few_people_are_refused():
    corpus = load("people/ji")
    with pytest.raises(NotEnough, match="3 people rated"):
        foretell_ratings(corpus.of_users(corpus.users["user"].head(3)))
    assert isinstance(describe_set(corpus.of_users(corpus.users["user"].head(12))), pd.DataFrame)
