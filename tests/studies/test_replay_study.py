"""The replay study: which replies a page compares, its tables, and the notebook from end to end."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from endpoint import Endpoint
from scripted import NOTES, Scripted

from perslib.corpus import TURN, Corpus, load, save
from perslib.errors import DataError, PerslibError, UnknownName
from perslib.judge import JudgeSettings, Nearest, Personal, make_judges
from perslib.judge.scope import StudyScope
from perslib.llm import Answer
from perslib.memory import MeasuredSystem
from perslib.replay import (
    ORIGINAL,
    compare_candidate_scores,
    hard_set,
    leaderboard,
    prediction_powered,
    read_turns,
    stratified_set,
    summarize_rank_sets,
)
from perslib.report import run_report
from perslib.studies import replay as study
from perslib.studies import replay_standings as results

WHOLE = StudyScope(None, 5, "published", 6000, False)
LOOK = StudyScope(6, 1, "full", 1200, True)


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return load("sample/en")


def small(corpus: Corpus, extras: bool = True, test: int = 10, train: int = 3) -> Corpus:
    """Some test users and train users of it."""
    split = corpus.split()
    few = dataclasses.replace(corpus.of_users([*split["test"][:test], *split["train"][:train]]), name="few")
    return few if extras else dataclasses.replace(few, extras={})


def collect(corpus: Corpus, scope: StudyScope = WHOLE, **options: Any) -> study.Replay:
    return study.collect_replies(corpus, Scripted(), scope, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run(sample: Corpus) -> study.Replay:
    return collect(small(sample), contexts="prefix, task")


@pytest.fixture(scope="module")
def verdicts(sample: Corpus, run: study.Replay) -> pd.DataFrame:
    return study.judge_replies([Nearest()], small(sample), study.add_recorded_again(run))[0]


@pytest.mark.sample
def test_recorded_replies_say_which_turns_are_replayed(sample: Corpus, run: study.Replay) -> None:
    given = sample.extras["candidates"]
    test = set(small(sample).split()["test"])
    assert run.selection == "recorded" and run.turns["inclusion"].isna().all()
    assert len(run.turns) == len(given[given["user"].isin(test)].drop_duplicates(TURN))
    each = run.replies.groupby("candidate").size()
    assert set(each) == {len(run.turns)} and {ORIGINAL, "aster-large", "scripted", "scripted · task"} <= set(each.index)


@pytest.mark.sample
def test_without_recorded_replies_turns_are_drawn_by_lot(sample: Corpus) -> None:
    corpus = small(sample, extras=False)
    drawn = collect(corpus, StudyScope(20, 5, "published", 6000, False), contexts="prefix")
    assert len(drawn.turns) == 20 and drawn.selection == "stratified" and drawn.turns["inclusion"].notna().all()
    hard = collect(corpus, contexts="none", selection="hard")
    assert hard.selection == "hard" and set(hard.replies["candidate"]) == {ORIGINAL} and (hard.turns["turn"] > 0).all()
    with pytest.raises(UnknownName, match=r"selection of turns called 'booth'\. Did you mean both"):
        collect(corpus, selection="booth")


@pytest.mark.sample
def test_both_sets_are_replayed_in_full_and_told_apart(sample: Corpus) -> None:
    corpus = small(sample, extras=False)
    size = StudyScope(10, 5, "published", 6000, False)
    made = collect(corpus, size, contexts="prefix", selection="both")
    alone = {"stratified": stratified_set(corpus, 10, seed=42), "hard": hard_set(corpus, 10)}
    for name, turns in alone.items():
        pd.testing.assert_frame_equal(made.sets[name], turns)
    every = pd.concat([t[TURN] for t in alone.values()]).drop_duplicates()
    assert len(every) > 10 and set(made.common_replies.groupby("candidate").size()) == {len(every)}
    assert made.selection == "stratified" and made.turns["inclusion"].notna().all() and made.is_complete
    assert (
        set(made.replies.groupby("candidate").size()) == {10} == set(made.context_replies.groupby("candidate").size())
    )
    judged, _ = study.judge_replies([Nearest()], corpus, study.add_recorded_again(made))
    found = results.rank_candidates(made, judged)
    for name, turns in alone.items():
        alike = judged.merge(turns[TURN], on=TURN).query("candidate == 'scripted'")["reference_cdf"].mean()
        row = found[name].ranked.set_index("candidate").loc["scripted"]
        assert row["turns"] == 10 and (row["micro"] == pytest.approx(alike)) == (name == "hard")
        assert len(found[name].ranked) == 2
    drawn = study.draw_selections(corpus)
    beside = results.split_by_selection(found, drawn, fewest=10)
    assert {n: len(p) for n, p in beside.items()} == {"stratified": 20, "hard": 20}
    assert results.split_by_selection(found, drawn) == {}, "ten turns say nothing of a ranking"
    gains = results.measure_gains(beside)
    expected = compare_candidate_scores(beside["hard"]).loc[0, "mean_delta"]
    assert gains["candidate"].tolist() == ["scripted"] and gains.loc[0, "hard"] == pytest.approx(expected)


def test_turns_may_be_listed_in_a_file_instead(sample: Corpus, tmp_path: Any) -> None:
    corpus = small(sample)
    given = corpus.extras["candidates"]
    turns = given[given["user"].isin(corpus.split()["test"])].drop_duplicates(TURN).head(7)[TURN]
    turns.to_csv(tmp_path / "mine.csv", index=False)
    file = str(tmp_path / "mine.csv")
    made = collect(corpus, contexts="none", turns_file=file)
    assert made.selection == "listed" and made.turns["inclusion"].isna().all()
    assert set(made.replies.groupby("candidate").size()) == {7} and "aster-large" in set(made.replies["candidate"])
    assert made.turns[TURN].astype(str).equals(turns.reset_index(drop=True).astype(str))
    with pytest.raises(PerslibError, match="leave one out"):
        collect(corpus, selection="hard", turns_file=file)


def test_both_sets_cannot_be_had_where_nothing_but_first_turns_is_rated(sample: Corpus) -> None:
    corpus = small(sample, extras=False)
    turns = corpus.turns.assign(score=corpus.turns["score"].where(corpus.turns["turn"] == 0))
    turns["reason"] = turns["reason"].where(turns["turn"] == 0)
    corpus = dataclasses.replace(corpus, turns=turns)
    with pytest.raises(DataError, match=r"published selection is empty.*\n.*stratified"):
        collect(corpus, contexts="none", selection="both")


@pytest.mark.sample
def test_a_first_look_asks_little_and_compares_on_the_same_turns(sample: Corpus) -> None:
    model = Scripted()
    looked = study.collect_replies(small(sample), model, LOOK)  # type: ignore[arg-type]
    assert len(model.asked) == 3 * study.LOOK_TURNS
    assert all(request.max_tokens == study.LOOK_TOKENS for _, request in model.asked)
    assert set(looked.context_replies.groupby("candidate").size()) == {study.LOOK_TURNS}
    assert not looked.replies["candidate"].str.startswith("scripted").any()


@pytest.mark.sample
def test_the_recorded_replies_once_more_are_ties_throughout(verdicts: pd.DataFrame) -> None:
    again = compare_candidate_scores(verdicts).set_index("candidate").loc[study.RECORDED_AGAIN]
    assert again["tie"] == 1 and again["mean_delta"] == 0


@pytest.mark.sample
def test_every_candidate_stands_once_in_the_table_and_in_the_leaderboard(
    sample: Corpus, run: study.Replay, verdicts: pd.DataFrame
) -> None:
    of = study.select_replies(verdicts, run.replies)
    names = set(run.replies["candidate"])
    ranked = summarize_rank_sets(of)
    assert set(ranked["candidate"]) == names and len(ranked) == len(names)
    about = results.describe_candidates(run.replies).set_index("candidate")
    assert about.loc["scripted · task", "context"] == "task" and about.loc[ORIGINAL, "without"] == 0
    lengths = run.replies[run.replies["candidate"] == ORIGINAL]["response"].str.len()
    assert about.loc[ORIGINAL, "characters"] == round(lengths.median())
    board = leaderboard(small(sample), run.replies, of, ranked, replay_set="recorded")
    assert set(board["candidate"]) == names and len(board) == len(names)
    assert board["set_digest"].nunique() == 1 and not board["self_judged"].any()


@pytest.mark.sample
def test_a_few_turns_have_no_correlation_with_people(sample: Corpus, verdicts: pd.DataFrame) -> None:
    corpus = small(sample)
    (row,) = study.correlate_with_people(verdicts, corpus).to_dict("records")
    assert row["turns"] >= study.FEWEST_REPLIES and row["value_low"] <= row["value"] <= row["value_high"]
    few = verdicts[verdicts["candidate"] == ORIGINAL].head(study.FEWEST_REPLIES - 1)
    assert study.correlate_with_people(few, corpus).empty


@pytest.mark.sample
def test_comparisons_stand_in_the_order_of_their_difference(verdicts: pd.DataFrame) -> None:
    compared = compare_candidate_scores(verdicts)
    found = results.order_outcomes(compared)
    assert found["mean_delta"].is_monotonic_decreasing and "against" not in found and "judge" not in found
    both = results.order_outcomes(pd.concat([compared, compared.assign(judge="k", other="x")]))
    assert both["judge"].is_monotonic_increasing and set(both["against"]) == {ORIGINAL, "x"}


def test_rankings_are_named_by_both_views() -> None:
    views = pd.DataFrame({"view": ["real", "a"], "other": ["j · reference_cdf", "b"], "tau": [0.5, np.nan]})
    assert results.name_view_pairs(views)["pair"].tolist() == ["as given – j, reference CDF"]


def test_few_labels_and_the_judge_give_narrower_intervals_than_the_labels_alone() -> None:
    rng = np.random.default_rng(0)
    keys = [{"user": f"u{u}", "scenario": "s", "session": "0", "turn": t} for u in range(40) for t in range(4)]
    true = rng.normal(3.5, 0.8, len(keys))
    frame = pd.DataFrame(keys).assign(candidate="m", judge="j", backbone=None)
    judged = frame.assign(reference_cdf=pd.array(true + rng.normal(0, 0.2, len(keys)), "Float64"))
    some = results.draw_labels(frame.assign(expected=true), 8, seed=1)
    assert some["user"].nunique() == 8
    (row,) = prediction_powered(judged, some).to_dict("records")
    assert row["labelled"] == 32 and row["width"] < 0.8
    assert row["powered_low"] < true.mean() < row["powered_high"]


@pytest.mark.sample
def test_turns_that_not_all_answer_are_an_error_unless_left_out(sample: Corpus) -> None:
    corpus = small(sample)
    brought = corpus.extras["candidates"]
    brought = brought[brought["user"].isin(corpus.split()["test"])]
    lacking = brought.iloc[1:]
    corpus = dataclasses.replace(corpus, extras={"candidates": lacking})
    with pytest.raises(DataError, match="common"):
        collect(corpus, contexts="none")
    kept = collect(corpus, contexts="none", common=True)
    assert len(kept.turns) == len(lacking.drop_duplicates(TURN)) - 1


@pytest.mark.sample
def test_a_limit_bounds_what_is_answered_anew(sample: Corpus) -> None:
    limited = collect(small(sample), StudyScope(5, 5, "published", 6000, False), contexts="prefix")
    assert set(limited.context_replies.groupby("candidate").size()) == {5} and len(limited.turns) > 5
    assert "scripted" in set(limited.context_replies["candidate"]) - set(limited.replies["candidate"])


def test_judges_by_name_each_once() -> None:
    names = [judge.name for judge in make_judges("nearest, supervised, nearest", JudgeSettings("en"))]
    assert names == ["nearest 6, weighted", "supervised"]
    with pytest.raises(UnknownName, match=r"learned, .*nearest"):
        make_judges("oracle", JudgeSettings("en"))


@pytest.mark.sample
def test_a_named_selection_draws_though_replies_are_there(sample: Corpus) -> None:
    corpus = dataclasses.replace(small(sample), extras={})
    turns = stratified_set(corpus, 15, seed=42)
    given = corpus.turns.merge(turns[TURN])[[*TURN, "response"]].assign(candidate="again")
    corpus = dataclasses.replace(corpus, extras={"candidates": given})
    size = StudyScope(15, 5, "published", 6000, False)
    made = collect(corpus, size, contexts="none", selection="stratified")
    assert made.selection == "stratified" and made.turns["inclusion"].notna().all() and len(made.turns) == 15


def test_a_first_look_of_an_asking_judge_keeps_to_few_turns(sample: Corpus) -> None:
    looked = collect(small(sample), LOOK, few=True)
    assert len(looked.turns) == study.LOOK_TURNS and looked.is_complete


@pytest.mark.sample
def test_memories_of_asking_judges_come_with_the_verdicts(sample: Corpus, run: study.Replay) -> None:
    judge = Personal(MeasuredSystem(), JudgeSettings("en", with_rationale=False), name="measured")
    few = run.replies.groupby("candidate").head(1)
    model = Scripted(reply=lambda request: Answer(text="4"))
    verdicts, memories = study.judge_replies([judge], small(sample), few, model, most=2)  # type: ignore[arg-type]
    (key,) = memories
    assert key[0] == "measured" and memories[key].statements and judge.memory is not memories
    assert verdicts["raw"].eq(4).all()


# -- the page ----------------------------------------------------------------------------------------------

BACKBONE = '[loop]\nbase_url = "{address}"\nmodel = "qwen-loop"\nstructured = "schema"\n'


def answer(body: dict[str, Any]) -> str:
    """A memory where one is asked for, a score where one digit is, else a reply."""
    text = json.dumps(body, ensure_ascii=False)
    if "task_specific_observations" in text:
        return json.dumps(NOTES)
    return "4" if body.get("max_tokens") == 1 else "Take the early train, 12 euros; book table 4 for two."


@pytest.mark.kernel
def test_the_page_of_a_corpus_with_nobody_to_compare(sample: Corpus, home: Any) -> None:
    alone = dataclasses.replace(small(sample, False, 6, 2), name="alone")
    save(alone, home / "data" / "alone")
    with Endpoint(answer) as server:
        (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
        listed = stratified_set(alone, 30)
        listed.to_csv(home / "mine.csv", index=False)
        keys = listed[TURN].astype({"turn": int}).assign(pred_score=4, judge_model="j", model="j")
        replied = keys.assign(candidate_model="m", candidate_response="Yes.")
        for name, frame in (("scored", replied), ("recorded", keys)):
            frame.to_json(home / f"{name}.jsonl", orient="records", lines=True)
        settings = {"judge": "nearest", "others": "nearest", "contexts": "none"}
        files = {"turns": "mine.csv", "scores": "scored.jsonl", "predictions": "recorded.jsonl"}
        settings |= {name: str(home / file) for name, file in files.items()}
        run_report("04_replay", corpus="alone", backbones="loop", **settings)
    folder = home / "reports" / "alone" / "loop"
    html = (folder / "04_replay.html").read_text("utf-8")
    assert "the recorded replies have no comparison" in html and "the truth is not known" in html
    (versus,) = pd.read_csv(folder / "tables" / "compared_elsewhere.csv").to_dict("records")
    assert (versus["candidate"], versus["turns"]) == ("m", 30) and versus["tie"] == 1
    again = read_turns(folder / "tables" / "turns_listed.csv", alone)
    pd.testing.assert_frame_equal(again[[*TURN, "inclusion"]], listed[[*TURN, "inclusion"]])


@pytest.mark.kernel
def test_the_page_of_a_corpus_that_brings_no_replies(sample: Corpus, home: Any) -> None:
    save(small(sample, False, 6, 2), home / "data" / "few")
    with Endpoint(answer) as server:
        (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
        settings = {"judge": "nearest", "others": "no memory", "contexts": "prefix, structured"}
        run_report("04_replay", corpus="few", backbones="loop", language="zh", limit=6, selection="both", **settings)
    folder = home / "reports" / "few" / "loop"
    page = json.loads((folder / "04_replay.json").read_text("utf-8"))
    assert page["status"] == "success"
    board = pd.read_csv(folder / "tables" / "leaderboard.csv")
    assert set(board["candidate"]) == {"original", "loop", "loop · memory: structured"}
    assert dict(board.groupby("replay_set")["turns"].max()) == {"hard": 6, "stratified": 6}
    assert board["set_digest"].nunique() == 2 and not board.duplicated(["candidate", "replay_set"]).any()
    html = (folder / "04_replay.html").read_text("utf-8")
    shown = re.sub(r"<details class=.code.>.*?</details>", "", html, flags=re.DOTALL)
    assert "哪个模型会让这些用户满意" in shown and "无从知道真实情况" in shown and "由自己的模型评判" in shown
    assert "分层抽签所得的 6 轮与已发表选取法的 6 轮均已全部重放" in shown
    assert "平 100%" in shown and ">nan" not in shown and "[nan" not in shown
    assert (home / "reports" / "leaderboard.html").is_file()
