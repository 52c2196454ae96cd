"""The corpus page: its numbers on worked examples, its figures on corpora of every kind, the page itself."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from endpoint import Endpoint
from made import tiny_corpus
from matplotlib.figure import Figure
from pages import run_cells
from scipy.stats import t as student

from perslib.corpus import Corpus, load, save
from perslib.errors import NotEnough
from perslib.report import run_report
from perslib.report.show.words import name_of
from perslib.stats import correlation, mean_by
from perslib.studies import corpus as study
from perslib.text import LANGUAGES, using_language

# -- intervals ---------------------------------------------------------------------------------------------


def test_means_by_group_and_their_intervals():
    users, scores = "abcdefghijkl", [2, 4, 3, 5, 4, 4, 2, 5, 3, 4, 1, 5]
    frame = pd.DataFrame({"user": [*users, *users[:9]], "group": [*"x" * 12, *"y" * 9], "score": scores + scores[:9]})
    table = mean_by(frame, "score", "group").set_index("group")
    assert table.loc["x", "mean"] == 3.5 and table.loc["x", "turns"] == 12 and table.loc["x", "users"] == 12
    # One turn a user: it is the textbook's interval of a mean, with the degrees of freedom that few users leave.
    reach = np.std(scores, ddof=1) / np.sqrt(12) * student.ppf(0.975, 11)
    bounds = table.loc["x", ["mean_low", "mean_high"]].tolist()
    assert bounds == pytest.approx([3.5 - reach, 3.5 + reach], rel=0.02)
    assert table.loc["y", "users"] == 9 and math.isnan(table.loc["y", "mean_low"]), (
        "no interval of fewer than ten users"
    )


def test_intervals_cover_the_truth_when_turns_of_a_user_resemble_each_other():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(150):
        level = np.repeat(rng.normal(4, 1, 40), 10)
        frame = pd.DataFrame({"user": np.repeat(np.arange(40), 10), "g": 0, "score": level + rng.normal(0, 0.5, 400)})
        row = mean_by(frame, "score", "g").iloc[0]
        covered += row["mean_low"] <= 4 <= row["mean_high"]
    assert 0.87 <= covered / 150 <= 0.99  # turns in place of users would cover about half


def test_correlation_is_pearsons():
    rng = np.random.default_rng(1)
    x, user = pd.Series(rng.normal(size=200)), pd.Series(np.repeat(np.arange(20), 10))
    y = x + rng.normal(size=200)
    r, low, high = correlation(x, y, user)
    assert r == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert low < r < high
    assert math.isnan(correlation(x, x * 0 + 3, user)[0])
    assert math.isnan(correlation(x[:10], y[:10], user[:10])[0])
    r, low, high = correlation(x[:40], y[:40], user[:40])
    assert r == pytest.approx(np.corrcoef(x[:40], y[:40])[0, 1]) and math.isnan(low) and math.isnan(high)
    assert not math.isnan(correlation(x[:100], y[:100], user[:100])[1])


def test_pairs_that_lack_one_of_the_two_are_left_out_of_a_correlation():
    x, y = pd.Series([1, 2, 3, 4, math.nan]), pd.Series([1, 2, 3, 4, 9])
    assert correlation(x, y, pd.Series(list("abcde")))[0] == pytest.approx(1)
    assert correlation(y, x.astype("Float64"), pd.Series(list("abcde")))[0] == pytest.approx(1)


# -- numbers -----------------------------------------------------------------------------------------------


def test_user_share_uses_the_other_scenarios_only():
    share = study.predict_from_user_mean(tiny_corpus())
    # ada: travel 4, 2 against her gift mean (5 + 3) / 2 = 4; gift 5, 3 against her travel mean 3. bo has one scenario.
    assert share["turns"] == 4
    assert share["r"] == pytest.approx(np.corrcoef([4, 4, 3, 3], [4, 2, 5, 3])[0, 1]) or math.isnan(share["r"])
    # Scores 4 2 5 3 4: squares about 3.6 sum to 5.2; user means 3.5 and 4 give 4·0.1² + 0.4² = 0.2.
    assert share["between_users"] == pytest.approx(0.2 / 5.2)


def test_distribution_shares_add_up():
    table = study.measure_by_scenario(tiny_corpus())
    assert list(dict.fromkeys(table["scenario"])) == ["all", "gift", "travel"]
    assert np.allclose(table.groupby("scenario")["share"].sum(), 1)
    wide = study.widen_score_shares(table, "scenario").set_index("scenario")
    assert wide.loc["all", [1, 2, 3, 4, 5]].to_list() == [0, 0.2, 0.2, 0.4, 0.2]
    assert wide.loc["all", "mean"] == 3.6 and len(wide) == 3
    everything = table[table["scenario"] == "all"].set_index("score")
    assert everything[["mean_low", "mean_high"]].isna().all(axis=None), "two users are too few for an interval"
    assert everything["turns"].to_dict() == {1: 0, 2: 1, 3: 1, 4: 2, 5: 1} and everything["mean"].iloc[0] == 3.6


def test_positions_from_the_last_on_are_taken_together(monkeypatch):
    monkeypatch.setattr(study, "LAST_POSITION", 1)
    table = study.measure_by_position(tiny_corpus())
    assert table["mean_score"].to_list() == [4.0, 2.0] and table["dissatisfied"].to_list() == [0.25, 1.0]


def test_reasons_are_of_low_scores_only():
    table = study.count_low_reasons(tiny_corpus())
    assert dict(zip(table["reason"], table["turns"])) == {"insufficient detail": 1, "other": 1}
    assert table["share"].to_list() == [0.5, 0.5]


def test_the_conversation_shown_carries_each_replys_score():
    corpus = tiny_corpus()
    user, scenario, session = study.pick_session(corpus)
    assert (user, scenario, session) == ("ada", "travel", "0")  # scores 4 and 2, and a reason
    messages = study.read_conversation(corpus, user, scenario, session)
    assert [m["content"] for m in messages] == ["Plan it", "A plan", "Hm.", "Cheaper?", "A cheaper plan", "thanks!"]
    assert [m["score"] for m in messages if m["role"] == "assistant"] == [4, 2]
    assert corpus.task(user, scenario, session) == "Three days in Lisbon"


def test_published_numbers_stand_beside_comparable_ones_only():
    table = study.compare_statistics(tiny_corpus()).set_index("statistic")
    assert table.loc["conversations: travel", "published"] == 502
    assert table.loc["participants", "value"] == 2 and isinstance(table.loc["participants", "value"], int)


# -- corpora of every kind ---------------------------------------------------------------------------------


def without(corpus: Corpus, **columns: object) -> Corpus:
    return dataclasses.replace(corpus, turns=corpus.turns.assign(**columns))


def dialogues() -> Corpus:
    """As USS is: every dialogue its own user, one family, no reasons, times, tasks or assistants."""
    rng = np.random.default_rng(3)
    rows = [(f"d{d}", "SGD", "0", t) for d in range(30) for t in range(3 + d % 9)]
    turns = pd.DataFrame(rows, columns=["user", "scenario", "session", "turn"])
    turns = turns.assign(request="hi", response="hello", score=rng.integers(2, 5, len(rows)))
    keys = ["user", "scenario", "session"]
    users = pd.DataFrame({"user": turns["user"].unique()})
    return Corpus("dialogues", "en", users, turns[keys].drop_duplicates(), turns)


CORPORA = {
    "tiny": tiny_corpus(),
    "no reasons": without(tiny_corpus(), reason=None),
    "no scores": dataclasses.replace(
        without(tiny_corpus(), score=None, reason=None), sessions=tiny_corpus().sessions.assign(satisfaction=None)
    ),
    "conversations rated": without(tiny_corpus(), score=None, reason=None),
    "no requests": without(tiny_corpus(), request=None, earlier=[()] * 5),
    "all fives": without(tiny_corpus(), score=5, reason=None),
    "one user": tiny_corpus().of_users(["bo"]),
    "dialogues": dialogues(),
    "odd names": dataclasses.replace(
        tiny_corpus(), sessions=tiny_corpus().sessions.assign(assistant="a $x$ \x1b[1m" + "long " * 30)
    ),
}


def save_small(fig: Figure, path: Path, **_: object) -> None:
    """Draw each figure once, and small: these tests look for warnings and errors."""
    if path.suffix == ".png":
        fig.canvas.print_png(path)
    path.touch()


@pytest.mark.page
@pytest.mark.parametrize(("kind", "language"), list(zip(CORPORA, LANGUAGES * len(CORPORA))))
def test_the_page_of_every_corpus_draws_and_says_all_without_a_warning(kind, language, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("perslib.corpus.load", lambda *_: CORPORA[kind])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(Figure, "savefig", save_small)
    run_cells("00_corpus", language=language, backbone="openai", out=str(tmp_path))
    said = capsys.readouterr().out
    assert "nan%" not in said and "= nan" not in said
    assert ("which is not set" in said) == (kind != "no scores")
    assert ("No reply has a score" in said or "没有带评分的回复" in said) == (kind == "no scores")
    drawn = {file.stem for file in (tmp_path / "figures").glob("*.png")}
    assert "lengths" in drawn and ("scores_by_turn" in drawn) == (kind != "no scores")
    assert (tmp_path / "figures" / "reasons.csv").is_file() == (kind in ("tiny", "no requests", "odd names"))
    if language == "en":
        known = "without reading a reply, correlates with the scores" in said
        assert known != ("No user gave scores that differ in more than one scenario" in said)


def test_stored_values_have_names_in_both_languages():
    with using_language("en"):
        assert name_of("旅行规划") == "travel"
    with using_language("zh"):
        assert name_of("conversations: gift") == "对话：礼物准备"


# -- the page ----------------------------------------------------------------------------------------------


def test_a_missing_backbone_is_a_sentence(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(NotEnough, match=r"could not be asked: .*OPENAI.*which is not set"):
        study.ask_backbone(tiny_corpus(), "openai")


def test_a_model_is_not_asked_about_what_it_cannot_read():
    with pytest.raises(NotEnough, match="does not read"):
        study.ask_backbone(dataclasses.replace(tiny_corpus(), language="zh"), "embedded")


BACKBONE = """
[loop]
base_url = "{address}"
model = "judge-of-all"
key_env = "PERSLIB_TEST_API_KEY"
structured = "json"
prices = {{ in = 1000, out = 1000 }}
"""
KEY = "sk-never-to-be-written-9876543210"


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """A Chinese corpus with an endpoint that answers."""
    home = tmp_path_factory.mktemp("corpus page")
    save(dataclasses.replace(tiny_corpus(), name="small", language="zh"), home / "data" / "small")
    verdict = json.dumps({"score": 2, "reason": "不够细致", "rationale": "少了时间"}, ensure_ascii=False)
    with pytest.MonkeyPatch.context() as patch, Endpoint() as server:
        server.reply = lambda body: verdict
        patch.setenv("PERSLIB_HOME", str(home))
        patch.setenv("PERSLIB_TEST_API_KEY", KEY)
        (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
        run_report("00_corpus", corpus="small", backbones="loop")
    return home / "reports"


def entry_of(rendered, corpus: str, backbone: str) -> dict:
    return json.loads((rendered / corpus / backbone / "00_corpus.json").read_text("utf-8"))


@pytest.mark.kernel
def test_the_answers_of_an_endpoint_and_what_they_cost(rendered):
    table = pd.read_csv(rendered / "small" / "loop" / "tables" / "first_question.csv")
    assert table["model_score"].to_list() == [2, 2, 2]
    entry = entry_of(rendered, "small", "loop")
    assert entry["ledger"]["total"]["calls"] == 3 and entry["ledger"]["total"]["cost"] > 0
    assert list(entry["ledger"]["stages"]) == ["judge"]
    assert entry["backbone"]["model"] == "judge-of-all" and entry["backbone"]["endpoint"].startswith("127.0.0.1:")
    html = (rendered / "small" / "loop" / "00_corpus.html").read_text("utf-8")
    assert "模型评分" in html and "3 条得到评分" in html


@pytest.mark.kernel
def test_the_key_of_the_endpoint_is_nowhere(rendered):
    for file in rendered.parent.rglob("*"):
        assert file.is_dir() or KEY.encode() not in file.read_bytes(), file


@pytest.mark.kernel
def test_the_corpus_page_of_a_part_of_the_sample(home):
    whole = load("sample/en")
    save(whole.of_users(sorted(whole.users["user"])[:6]), home / "data" / "few")
    run_report("00_corpus", corpus="few", backbones="embedded", limit=2)
    folder = home / "reports" / "few" / "embedded"
    entry = entry_of(home / "reports", "few", "embedded")
    assert entry["status"] == "success" and len(entry["figures"]) == 6 and "first_question" in entry["tables"]
    html = (folder / "00_corpus.html").read_text("utf-8")
    assert "What is in a corpus" in html and "reads only English" in html
    first = pd.read_csv(folder / "tables" / "first_question.csv")
    assert len(first) == 2 and first["mode"].notna().all()


@pytest.mark.kernel
def test_a_page_in_chinese_has_no_english_left(rendered):
    html = (rendered / "small" / "loop" / "00_corpus.html").read_text("utf-8")
    html = re.sub(r'<details class="code">.*?</div>', "", html.split("<body")[1], flags=re.DOTALL)
    assert "语料里有什么" in html
    for english in ("This corpus", "Figure", "Table 1", "On this page", "PDF and", "User messages"):
        assert english not in html, english
