"""Sentences of pages against what the pages save: on crooked corpora, and each predicate on a planted lie."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sentences
from crooked import CROOKED
from sentences import Said, list_lies, record_page

from perslib.corpus import save
from perslib.report.show.claims import Estimate

R = pd.DataFrame([{"metric": "pearson", "value": 0.5, "value_low": 0.4, "value_high": 0.6}])
BARE = R.assign(value_low=np.nan, value_high=np.nan)


def say(message: str, frame: pd.DataFrame = R, **values: object) -> Said:
    return Said([(message, values, message.format(**values))], [("Intervals.", frame)], [("agreement", frame)])


LIES = {
    "find_values_outside": [
        say("r is {r}.", r=Estimate(0.9, 0.1, 0.3)),
        say("r is 0.90 [0.10, 0.30]."),
        say("", R.assign(value=0.9)),
    ],
    "find_off_scale": [say("", R.assign(value_high=1.2)), say("", pd.DataFrame([{"mean_score": 5, "mean_score_low": 4, "mean_score_high": 5.04}]))],
    "find_bare_announcements": [
        say("**A** leads by {lead}.", BARE, lead=Estimate(0.2)),
        say("A is significantly better than B: {gain}.", gain=Estimate(0.2, -0.1, 0.5)),
        say("A picks better than B: {gain}.", gain=Estimate(0.2, 0.1, 0.3, p=0.2)),
        say("Users differ, more than by chance.", BARE),
    ],
    "find_undefined": [say("r is {r}.", r=float("nan"))],
    "find_wrong_differences": [say("r is 0.61, without it 0.50, a difference of 0.12.")],
    "find_rounded_shares": [say("In {share:.0%} of all.", share=0.997), say("In {share:.0%} of all.", share=0.001)],
    "find_numbered_references": [say("The judges of Table 7 agree.")],
}  # fmt: skip


@pytest.mark.parametrize("predicate", LIES)
def test_each_predicate_catches_its_lie_and_lets_the_truth_pass(predicate):
    for lie in LIES[predicate]:
        assert {own.partition(":")[0] for own in list_lies(lie)} == {predicate}
    true = say(
        "**A** leads {b} by {lead}: r is 0.61 and 0.50, a difference of 0.11.", b="B", lead=Estimate(0.11, 0.05, 0.2)
    )
    assert not list_lies(true)


def test_a_caption_of_intervals_stands_above_some(monkeypatch):
    named = Said(captions=[("With 95 % intervals.", BARE)])
    assert not list_lies(named), "the page adds that there are none"
    monkeypatch.setattr(sentences.export, "_lacks_intervals", lambda frame: False)
    assert list_lies(named)


@pytest.mark.sample
@pytest.mark.parametrize("corpus", ["five_users", "everybody_5", "dice"])
@pytest.mark.parametrize("page", ["00_corpus", "10_patience_and_satisfaction"])
def test_what_pages_say_of_crooked_corpora_is_what_they_save(tmp_path, corpus, page):
    save(CROOKED[corpus](), tmp_path / "corpus")
    said = record_page(page, corpus=str(tmp_path / "corpus"), out=str(tmp_path / "out"))
    assert said.sentences and not list_lies(said)
