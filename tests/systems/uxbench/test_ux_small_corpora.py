"""Pages 07 and 08 on what people have: small benchmarks, some of the splits, logs. What is missing is a sentence."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from endpoint import Endpoint
from made import shortened
from pages import run_cells
from uxbench_made import KINDS, written

from perslib import report
from perslib.cli import main
from perslib.corpus import load, save
from perslib.errors import DataError, NotEnough
from perslib.report import run_report

ANSWER = {"verdict": "good", "scenario": "entertainment", "domain": "games", "primary": "apology", "all": ["apology"]}
BACKBONE = '[loop]\nbase_url = "{address}"\nmodel = "m"\nstructured = "json"\n'


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A workspace with every kind imported, two slices of the sample with ratings, and an endpoint that answers."""
    folder = tmp_path_factory.mktemp("small corpora")
    sample = load("sample/en")
    sample = shortened(sample.of_users(sorted(sample.users["user"])[:9]), sessions=1)
    save(
        replace(sample.of_users(sorted(sample.users["user"])[:3]), name="three-users"), folder / "data" / "three-users"
    )
    scenario = sample.scenarios[0]
    own = {f: getattr(sample, f) for f in ("sessions", "turns")}
    own = {f: table[table["scenario"] == scenario].reset_index(drop=True) for f, table in own.items()}
    save(replace(sample, name="one-scenario", extras={}, **own), folder / "data" / "one-scenario")
    first = sample.turns[sample.turns["turn"] == 0].reset_index(drop=True)
    times = {"asked_at": pd.NaT, "answered_at": pd.NaT}
    for name, clicked in (("no-signal", None), ("one-signal", "dislike")):
        turns = first.assign(feedback=[clicked, *[None] * (len(first) - 1)], **times)
        own = {"turns": turns, "sessions": sample.sessions.assign(trailing=[()] * len(sample.sessions))}
        save(replace(sample, name=name, extras={}, **own), folder / "data" / name)
    with pytest.MonkeyPatch.context() as patch, Endpoint() as server:
        server.reply = lambda body: json.dumps(ANSWER)
        patch.setenv("PERSLIB_HOME", str(folder))
        (folder / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
        for kind in KINDS:
            done = CliRunner().invoke(main, ["import", "uxbench", str(written(folder / "given", kind)), "--name", kind])
            assert done.exit_code == 0, done.output
        yield folder


def said_on(notebook: str, capsys, tmp_path: Path, ends: str = "", **parameters: object) -> str:
    """What the cells of a notebook say."""
    run_cells(notebook, ends, backbone="loop", out=str(tmp_path), **parameters)
    return capsys.readouterr().out


NO_RATINGS = "This section and the next need scores from 1 to 5"
NO_CASE = "There is no case to judge"
NO_LEARNED = "The learned judge uses scores"
LEARNS = "one half lacks either"
#: Corpus → what page 07 says is missing, and some of what is there.
LACKING_07 = {
    "benchmark": (
        "pressed a button after 0.",
        "10 replies have gold labels of a benchmark (4 good, 6 bad)",
        NO_RATINGS,
        NO_LEARNED,
        "No candidates' replies are recorded",
        "No recovery is recorded",
    ),
    "bad-only": (NO_RATINGS, LEARNS, "Baselines and reward models need two or more good", "6 cases, 0 good and 6 bad"),
    "answers-only": (
        NO_RATINGS,
        NO_CASE,
        LEARNS,
        "has requests without replies",
        "Cases are constructed from sessions with replies",
        "No task has an outcome",
    ),
    "recovery-only": (NO_RATINGS, NO_CASE, LEARNS),
    "log": (
        NO_RATINGS,
        NO_LEARNED,
        "It was trained on ratings of other users.",
        "ux_eval_prompts",
        "The model was not asked for replies",
    ),
    "no-likes": (NO_RATINGS, NO_CASE, "Replies cannot be swapped"),
    "silent": (NO_RATINGS, NO_CASE, LEARNS),
    "few-users": (NO_RATINGS, NO_LEARNED, "A reward model is calibrated on users that it was not trained on"),
    "three-users": ("Judge 'learned' learns from train users", "A reward model is calibrated on users"),
    "no-signal": ("behaviour says nothing here", "No signal was found after any of these replies"),
    "one-signal": ("pressed a button after 1.", "Without a vote"),
    "one-scenario": ("each of the 8 users to be judged has sessions in one scenario only", NO_LEARNED),
}
AUDIT = "what judges know of a user comes from the user's other scenarios"


@pytest.mark.page
@pytest.mark.parametrize("corpus", LACKING_07)
def test_page_07_says_what_is_missing(home, capsys, tmp_path, corpus):
    said = said_on("07_ux_bench", capsys, tmp_path, corpus=corpus, answers=corpus == "log")
    for sentence in LACKING_07[corpus]:
        assert sentence in said, sentence
    assert not re.search(r"\bnan", said) and "ux_published_recovery" in said


@pytest.mark.page
@pytest.mark.parametrize(
    "corpus", ["benchmark", "no-likes", "few-users", "three-users", "one-scenario", "answers-only"]
)
def test_page_08_says_what_is_missing(home, capsys, tmp_path, corpus):
    said = said_on("08_judge_bias", capsys, tmp_path, "", corpus=corpus)
    if corpus == "three-users":
        assert "Judge 'supervised' learns from train users" in said and "user mean" in said
    elif corpus == "answers-only":
        assert "no session of answers-only has a reply to judge" in said
    elif corpus == "benchmark":
        assert "Judge 'learned' learns from users' scores, and the cases of" in said
    else:
        assert AUDIT in said


@pytest.mark.page
def test_one_judge_that_cannot_learn_leaves_the_others(home, capsys, tmp_path):
    given = {"corpus": "three-users", "judges": "learned, nearest"}
    said = said_on("08_judge_bias", capsys, tmp_path, "", **given)
    assert "Judge 'learned' learns from train users" in said and "nearest" in said
    assert "The order of two replies sways" in said and not re.search(r"\bnan", said)


@pytest.mark.page
def test_judges_by_name_judge_a_benchmark_of_ones_own(home, capsys, tmp_path):
    given = {"corpus": "benchmark", "judges": "UX judge, zero-shot, learned"}
    said = said_on("08_judge_bias", capsys, tmp_path, "", **given)
    # The endpoint says good and gives no score: all cases are judged, and what cannot be read is wrong.
    quality = pd.read_csv(tmp_path / "tables" / "judges_and_baselines.csv").set_index("judge")
    assert "As given, the best baseline is" in said and "of these judges: *zero-shot* (100%)" in said
    assert quality.loc["zero-shot", ["good_acc", "bad_acc"]].tolist() == [0, 0]
    assert quality.loc["UX judge", ["good_acc", "bad_acc"]].tolist() == [1, 0]
    assert "Judge 'learned' learns from users' scores" in said and "Not measured: length" in said


@pytest.mark.parametrize("notebook, ends", [("07_ux_bench", ""), ("08_judge_bias", "")])
def test_the_sentences_are_in_the_language_of_the_page(home, capsys, tmp_path, notebook, ends):
    said = said_on(notebook, capsys, tmp_path, ends, corpus="answers-only", language="zh")
    missing = {
        "07_ux_bench": (
            "只有请求，没有回复",
            "没有可供评判的样例",
            "奖励模型从一半用户的好回复与坏回复学习",
            "样例由含回复的会话构建",
        ),
        "08_judge_bias": ("没有一个会话含可供评判的回复",),
    }
    assert all(sentence in said for sentence in missing[notebook])
    assert "There is no" not in said and "Add " not in said


@pytest.mark.kernel
@pytest.mark.parametrize("notebook", ["07_ux_bench", "08_judge_bias"])
def test_a_report_on_a_log_without_likes_is_whole(home, notebook):
    run_report(notebook, corpus="no-likes", backbones="loop")
    folder = home / "reports" / "no-likes" / "loop"
    entry = json.loads((folder / f"{notebook}.json").read_text("utf-8"))
    html = (folder / f"{notebook}.html").read_text("utf-8")
    assert entry["status"] == "success" and 'class="failure"' not in html and 'class="note"' not in html
    assert (NO_CASE if notebook == "07_ux_bench" else AUDIT) in html


def test_a_section_catches_missing_data_and_nothing_else(capsys):
    report.begin(language="zh")
    with report.section():
        raise NotEnough("The model was not asked: there is no case to judge.")
    assert capsys.readouterr().out.split() == ["没有询问模型：没有可供评判的样例。"]
    for error in (DataError("a torn line"), ValueError("a bug")):
        with pytest.raises(type(error)), report.section():
            raise error
