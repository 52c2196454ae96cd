"""Published replay files: what is read from them, what is refused, and that their numbers come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import real
from histories import corpus_of

from perslib.corpus import TURN, Corpus, load
from perslib.errors import DataError
from perslib.judge.base import Verdict, _columns
from perslib.replay import hard_set, read_predictions, read_replies, read_scored, write_replies

HERE = "u1__gift__0.json__turn_1"


@pytest.fixture
def corpus() -> Corpus:
    rows = [
        (user, scenario, "0", f"{user} asks {scenario} {i}", f"reply {i}", 1 + i)
        for user in ("u1", "u2")
        for scenario in ("gift", "trip")
        for i in range(3)
    ]
    return corpus_of(rows)


def response(user: str = "u1", scenario: str = "gift", turn: int = 1, **further: Any) -> dict[str, Any]:
    """A line of a published response file about a turn of the corpus above."""
    said = [f"{user} asks {scenario} 0", "reply 0", f"{user} asks {scenario} 1", "reply 1", f"{user} asks {scenario} 2"]
    roles = ("user", "assistant")
    return {
        "sample_id": f"{user}__{scenario}__0.json__turn_{turn}",
        "user": user,
        "target_task": scenario,
        "target_file": "0.json",
        "turn_idx": turn,
        "candidate_model": "kimi",
        "replay_context_mode": "raw",
        "selection_mode": "hard",
        "selection_score": 8.5,
        "selection_reasons": ["low"],
        "dialogue_memory_top_k": 0,
        "dialogue_memory_records": [],
        "task_context": f"a {scenario} task",
        "dialogue_prefix": [{"role": roles[i % 2], "content": text} for i, text in enumerate(said[: 2 * turn + 1])],
        "candidate_response": "a better reply",
        "source_assistant_reply": f"reply {turn}",
        "source_chat_model": "m",
        "gold_score": 2,
        "gold_reason": "不够细致",
    } | further


def scored(score: Any = 4, **further: Any) -> dict[str, Any]:
    judge = {
        "judge_model": "Qwen/Qwen3-8B",
        "judge_memory_model": "Qwen/Qwen3-8B",
        "judge_memory_version": "v2",
        "judge_turn_eval_prompt_version": "v2",
        "reason_prediction": "满意",
        "analysis": "因为具体",
    }
    return response() | judge | {"pred_score": score} | further


def predicted(score: Any = 4, **further: Any) -> dict[str, Any]:
    core = {k: response()[k] for k in ("sample_id", "user", "target_task", "target_file", "turn_idx", "gold_score")}
    judge = {"model": "Qwen/Qwen3-8B", "memory_model": "none", "with_memory": False, "memory_version": "none"}
    return core | judge | {"pred_score": score, "reason_prediction": "不可用", "analysis": "x"} | further


def written(folder: Path, *lines: Any, name: str = "file.jsonl") -> Path:
    path = folder / name
    text = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(text) + "\n", "utf-8")
    return path


HALF = "\ud83d"


@pytest.mark.parametrize("field", ["candidate_response", "candidate_model", "user", "backbone", "prompt"])
def test_half_a_character_is_read_as_the_replacement_character(tmp_path, field):
    line = json.dumps(response(sample_id=None) | {field: "a" + HALF})
    read = read_replies(written(tmp_path, line, response(turn=2, candidate_response="whole \U0001f600")))
    column = {"candidate_response": "response", "candidate_model": "candidate"}.get(field, field)
    assert read["response"].iloc[1] == "whole \U0001f600"
    read.to_parquet(tmp_path / "replies.parquet")
    assert pd.read_parquet(tmp_path / "replies.parquet")[column].iloc[0] == "a\ufffd"


def test_half_a_character_in_what_a_judge_said_reaches_no_table(tmp_path):
    for read, line in ((read_scored, scored()), (read_predictions, predicted())):
        verdicts = read(written(tmp_path, json.dumps(line | {"analysis": "so " + HALF})))
        assert verdicts["rationale"].tolist() == ["so \ufffd"]
        verdicts.to_parquet(tmp_path / "verdicts.parquet")


@pytest.mark.parametrize("turn", [10**400, "9" * 5000])
def test_numbers_that_no_column_holds_are_told(tmp_path, turn):
    with pytest.raises(DataError, match=r'file\.jsonl:1: turn is "[0-9]{59}…, expected a whole number'):
        read_replies(written(tmp_path, response(sample_id=None, turn_idx=turn)))
    with pytest.raises(DataError, match=r"file\.jsonl:1: raw is a whole number of 401 digits"):
        read_scored(written(tmp_path, scored(10**400)))
    read = read_replies(written(tmp_path, response(seed=10**30, temperature=10**400)))
    assert read[["seed", "temperature"]].isna().all(axis=None)


# -- replies ----------------------------------------------------------------------------------------------------


def test_a_published_response_becomes_a_reply(tmp_path, corpus):
    replies = read_replies(written(tmp_path, response(), response(turn=2, candidate_response="二")), corpus)
    first = replies.iloc[0]
    assert first[["candidate", *TURN]].tolist() == ["kimi", "u1", "gift", "0", 1]
    assert (first["response"], first["context"]) == ("a better reply", "prefix")
    assert first[["backbone", "error", "system"]].isna().all()
    assert replies["response"].tolist() == ["a better reply", "二"]


def test_gold_and_what_tells_of_it_stay_in_the_file(tmp_path):
    for frame in (
        read_replies(written(tmp_path, response())),
        read_scored(written(tmp_path, scored(5))),
        read_predictions(written(tmp_path, predicted(5))),
    ):
        assert not [c for c in frame.columns if "gold" in c or "selection" in c]
        cells = set(map(str, frame.iloc[0]))
        assert not cells & {"2", "2.0", "不够细致", "8.5", "('low',)"}


def test_plain_lines_and_lines_that_name_the_turn_by_its_id_alone(tmp_path, corpus):
    plain = {"candidate": "mine", "user": "u2", "scenario": "trip", "session": "0", "turn": 0, "response": "hello"}
    by_id = {"sample_id": HERE, "candidate_model": "theirs", "candidate_response": "hi", "further": [1]}
    replies = read_replies(written(tmp_path, "", plain, by_id), corpus)
    assert replies[["candidate", *TURN]].to_numpy().tolist() == [
        ["mine", "u2", "trip", "0", 0],
        ["theirs", "u1", "gift", "0", 1],
    ]
    assert replies["context"].tolist() == ["recorded", "recorded"]


def test_settings_in_plain_lines_are_kept_and_the_family_is_in_the_name(tmp_path):
    key = {"user": "u2", "scenario": "trip", "session": "0", "response": "hello"}
    lines = [
        {"candidate": "Qwen3-8B", **key, "turn": 1.0, "temperature": 0, "seed": 3.0, "finish": "stop"},
        {"candidate": "gpt-5.5 · tfidf", **key, "turn": 0, "context": "tfidf", "family": "own"},
        response(candidate_model="kimi-k2", prompt=["a list"], seed=True),
    ]
    replies = read_replies(written(tmp_path, *lines))
    assert replies["candidate"].tolist() == ["Qwen3-8B", "gpt-5.5 · tfidf", "kimi-k2"]
    assert (replies["turn"].tolist(), replies["family"].tolist()) == ([1, 0, 1], ["qwen", "own", "kimi"])
    assert replies.loc[0, ["temperature", "seed", "finish"]].tolist() == [0.0, 3, "stop"]
    assert replies.loc[2, ["prompt", "seed"]].isna().all()


def test_ids_may_hold_the_sign_that_joins_them(tmp_path):
    line = response(user="u__1", sample_id="u__1__gift__0.json__turn_1")
    assert read_replies(written(tmp_path, line))["user"].tolist() == ["u__1"]


def test_one_model_in_several_contexts_is_several_candidates(tmp_path):
    modes = ["raw", "task", "profile", "dialogue_memory_tfidf", "dialogue_memory_diverse"]
    lines = [response(replay_context_mode=m, dialogue_memory_top_k=4 * m.startswith("dia")) for m in modes]
    replies = read_replies(written(tmp_path, *lines))
    contexts = ["prefix", "task", "profile", "tfidf", "diverse"]
    assert replies["context"].tolist() == contexts
    assert replies["candidate"].tolist() == ["kimi", *(f"kimi ({c})" for c in contexts[1:])]
    assert replies["memory"].fillna("none").tolist() == [*["none"] * 3, "4 snippets", "4 snippets"]


def test_the_last_of_repeated_replies_counts_and_the_others_are_listed(tmp_path):
    lines = [response(candidate_response=text) for text in ("first", "second", "third")]
    replies = read_replies(written(tmp_path, lines[0], response(turn=2), *lines[1:]))
    assert dict(zip(replies["turn"], replies["response"])) == {2: "a better reply", 1: "third"}
    assert replies.attrs["left_out"] == [
        "file.jsonl:1: stands again in file.jsonl:3",
        "file.jsonl:3: stands again in file.jsonl:4",
    ]


@pytest.mark.parametrize("empty", ["", " \n", None])
def test_an_empty_reply_is_kept_as_an_error(tmp_path, empty):
    replies = read_replies(written(tmp_path, response(candidate_response=empty)))
    assert replies["response"].isna().all() and replies["error"].tolist() == ["empty reply"]


BROKEN = [
    ("{not json", "is not JSON"),
    ("[1]", "is [1], expected a JSON object"),
    (response(turn_idx=2), "is about u1__gift__0.json__turn_2, but its sample_id is 'u1__gift__0.json__turn_1'"),
    (response(sample_id=None, user=None), "user is missing, expected a name (user), or a sample_id"),
    (response(sample_id=None, turn_idx="one"), 'turn is "one", expected a whole number'),
    (response(candidate_model=None), "candidate is missing, expected a name (candidate_model or candidate)"),
    (
        {"sample_id": HERE, "candidate_model": "kimi"},
        "response is missing, expected the reply (candidate_response or response)",
    ),
    (response(candidate_model=" "), "candidate is empty, expected a name"),
    (
        response(candidate_model="original"),
        'candidate is "original", expected a name (candidate_model or candidate), not that of the recorded',
    ),
    (response(sample_id=None, turn_idx=1.5), 'turn is "1.5", expected a whole number'),
    (response(candidate_response=["a"]), 'response is ["a"], expected the reply'),
    (response(turn=7), "u1__gift__0.json__turn_7 is not in the corpus"),
    (response(user="u9", sample_id=None), "u9__gift__0.json__turn_1 is not in the corpus"),
    (response(scenario="food"), "u1__food__0.json__turn_1 is not in the corpus"),
    (response(source_assistant_reply="other"), "source_assistant_reply is not the corpus's reply in " + HERE),
    (response(dialogue_prefix=response()["dialogue_prefix"][:2]), "it has 2 messages, expected 3"),
    (response(dialogue_prefix=[{"role": "user", "content": "x"}] * 3), "message 1 has another text"),
    (
        response(dialogue_prefix=[{"role": "assistant", "content": "x"}] * 3),
        "message 1 has role 'assistant', expected 'user'",
    ),
    (response(dialogue_prefix="text"), "it is no list of messages"),
]


@pytest.mark.parametrize(("line", "what"), BROKEN, ids=[what for _, what in BROKEN])
def test_a_bad_line_is_named(tmp_path, corpus, line, what):
    with pytest.raises(DataError) as told:
        read_replies(written(tmp_path, response(turn=2), line), corpus)
    assert str(told.value).startswith("file.jsonl:2: ") and what in str(told.value)


def test_all_bad_lines_are_told_at_once_and_white_space_at_the_ends_is_none(tmp_path, corpus):
    spaced = [{**m, "content": f" {m['content']}\n"} for m in response()["dialogue_prefix"]]
    fine = response(dialogue_prefix=spaced, source_assistant_reply="reply 1\n")
    with pytest.raises(DataError) as told:
        read_replies(written(tmp_path, "{", fine, response(turn=8), response(user="u9")), corpus)
    assert [p.place for p in told.value.problems] == ["file.jsonl:1", "file.jsonl:3", "file.jsonl:4"]


def test_a_file_with_nothing_in_it_or_no_file(tmp_path):
    with pytest.raises(DataError, match="holds no line"):
        read_replies(written(tmp_path, ""))
    with pytest.raises(DataError, match="is not JSON"):
        read_replies(written(tmp_path, "{x"))
    with pytest.raises(DataError, match="is no file"):
        read_replies(tmp_path / "missing.jsonl")


# -- writing ----------------------------------------------------------------------------------------------------


def replies_to(corpus: Corpus, context: str = "prefix") -> pd.DataFrame:
    turns = corpus.turns[TURN].iloc[[1, 2, 8]]
    return turns.assign(candidate="mine", response=["一", "b", None], context=context, error=[None, None, "timeout"])


def test_written_replies_are_published_lines_without_gold(tmp_path, corpus):
    path = tmp_path / "ours.jsonl"
    assert write_replies(replies_to(corpus), path, corpus) == 2
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    ours = response() | {"candidate_model": "mine", "candidate_response": "一", "selection_mode": "filter"}
    ours |= {"selection_score": None, "selection_reasons": []}
    assert lines[0] == {k: v for k, v in ours.items() if not k.startswith("gold")}
    assert "一" in path.read_text("utf-8")


@pytest.mark.parametrize("context", ["prefix", "task", "tfidf", "diverse", "memory: structured", "recorded"])
def test_what_is_written_is_read_back(tmp_path, corpus, context):
    replies = replies_to(corpus, context)
    if context not in ("prefix", "recorded"):
        replies["candidate"] = f"mine ({context})"
    write_replies(replies, tmp_path / "ours.jsonl", corpus)
    again = read_replies(tmp_path / "ours.jsonl", corpus)
    kept = ["candidate", *TURN, "response", "context"]
    assert again[kept].to_numpy().tolist() == replies[kept].iloc[:2].to_numpy().tolist()


def test_how_replies_came_about_is_written_and_read_back(tmp_path, corpus):
    """Names in our settings stay, also one that hides its context, and so does what was shown and how it was asked."""
    settings = {
        **{"backbone": "embedded", "family": "qwen", "memory": "tfidf", "temperature": 0.2, "max_tokens": 90},
        **{"seed": 7, "prompt": "en/candidate_records@1:ab12cd34", "system": "You are …", "finish": "length"},
        **{"tokens_in": 8, "tokens_cached": 3, "tokens_out": 9, "seconds": 0.5, "cost": 0.01},
    }
    names = ["embedded · tfidf", "embedded · memory: structured", "mine"]
    contexts = ["tfidf", "memory: structured", "diverse"]
    turns = corpus.turns[[*TURN, "response"]].iloc[[1, 2, 5]]
    replies = turns.assign(candidate=names, context=contexts, **settings)
    replies["records"] = [("trip/0/1", "trip/0/2"), ("trip/0/0",), None]
    path = tmp_path / "ours.jsonl"
    write_replies(replies, path, corpus)
    again = read_replies(path, corpus).set_index("candidate").loc[names].reset_index()
    kept = ["candidate", *TURN, "response", "context", *settings]
    assert again[kept].to_numpy().tolist() == replies[kept].to_numpy().tolist()
    assert again["records"].tolist() == [("trip/0/1", "trip/0/2"), (), ()]
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    line = next(line for line in lines if line["candidate_model"] == names[0])
    assert line["dialogue_memory_top_k"] == 2
    assert line["dialogue_memory_records"][1] == {
        **{"memory_id": "u1__trip__0.json__turn_2", "user": "u1", "source_task": "trip"},
        **{"source_file": "0.json", "turn_idx": 2},
    }


def test_replies_to_another_corpus_are_not_written(tmp_path, corpus):
    with pytest.raises(DataError, match="not in made: u7/gift/0/1"):
        write_replies(replies_to(corpus).assign(user="u7"), tmp_path / "ours.jsonl", corpus)


# -- scores -----------------------------------------------------------------------------------------------------


def test_a_scored_reply_becomes_a_verdict(tmp_path, corpus):
    verdict = read_scored(written(tmp_path, scored(4)), corpus).iloc[0]
    assert verdict[["corpus", "candidate", "judge", "backbone"]].tolist() == [
        "made",
        "kimi",
        "structured memory",
        "Qwen/Qwen3-8B",
    ]
    assert (verdict["raw"], verdict["satisfied"], verdict["reason"]) == (4.0, True, "满意")
    assert (verdict["rationale"], verdict["memory"]) == ("因为具体", "v2 by Qwen/Qwen3-8B")


def test_calibrated_scores_stand_beside_the_raw_ones(tmp_path):
    """A line without a sign of the calibration fell back to its raw score."""
    lines = [
        scored(5, pred_score_raw=4, calibration_method="reference_cdf", calibration_reference="x"),
        scored(3, turn_idx=2, sample_id=None),
        scored(3, turn_idx=0, sample_id=None, parse_ok=False),
    ]
    verdicts = read_scored(written(tmp_path, *lines))
    assert verdicts["raw"].fillna(-1).tolist() == [4, 3, -1]
    assert verdicts["reference_cdf"].fillna(-1).tolist() == [5, 3, -1]
    assert verdicts["reference_cdf"].dtype == "Float64"
    assert verdicts["reference_cdf_fallback"].fillna("").tolist() == ["", "not said in the file", ""]


def test_a_failed_call_is_unscored_and_never_a_three(tmp_path):
    generic = {"baseline_name": "generic_llm_judge_zero_shot", "model": "generic_llm_judge:Qwen/Qwen3-8B"}
    lines = [
        predicted(3, parse_ok=False, **generic),
        predicted(3, parse_ok=True, turn_idx=2, sample_id=None, **generic),
        predicted(None, turn_idx=0, sample_id=None, **generic),
    ]
    verdicts = read_predictions(written(tmp_path, *lines))
    assert verdicts["raw"].fillna(-1).tolist() == [-1, 3, -1]
    assert verdicts["satisfied"].isna().tolist() == [True, False, True]
    assert "parse_ok is false" in verdicts["error"][0] and "score 3" in verdicts["error"][0]
    assert verdicts["error"].isna().tolist() == [False, True, False]
    assert verdicts["error"][2] == "the file gives no score"
    assert verdicts["mode"].fillna("").tolist() == ["unscored", "", "unscored"]


@pytest.mark.parametrize(("score", "satisfied"), [(3.4, False), (3.5, True), (3.6, True), (4, True)])
def test_a_score_between_two_is_satisfied_as_judges_of_here_have_it(tmp_path, score, satisfied):
    verdicts = read_predictions(written(tmp_path, predicted(score)))
    assert verdicts["satisfied"].tolist() == [satisfied] == [_columns(Verdict(raw=score), "en")["satisfied"]]


def test_who_predicted(tmp_path):
    spur = {"baseline_name": "spur", "model": "gpt", "spur_reason": "because", "pred_reason": "其它", "analysis": None}
    cases = [
        (predicted(), "no memory", "Qwen/Qwen3-8B"),
        (predicted(with_memory=True, memory_model="m", memory_version="v2"), "structured memory", "Qwen/Qwen3-8B"),
        (predicted(baseline_name="user_mean", model="user_mean"), "user_mean", None),
        (predicted(baseline_name="generic_llm_judge_x", model="generic_llm_judge:a/b"), "generic_llm_judge_x", "a/b"),
        (predicted(**spur), "spur", "gpt"),
        (predicted(2, baseline_name="bert", model="bert", pred_score_float=2.4), "bert", None),
    ]
    verdicts = read_predictions(written(tmp_path, *(line for line, _, _ in cases)))
    assert len(verdicts) == len(cases), "one file may hold several judges of one turn"
    assert verdicts["candidate"].isna().all()
    assert verdicts["judge"].tolist() == [judge for _, judge, _ in cases]
    assert [None if pd.isna(b) else b for b in verdicts["backbone"]] == [b for _, _, b in cases]
    assert verdicts["rationale"][4] == "because" and verdicts["reason"][0] == "不可用"
    assert verdicts["expected"].fillna(0).tolist() == [0, 0, 0, 0, 0, 2.4]


@pytest.mark.parametrize("score", ["4", 0, 6, True, [4], float("nan")])
def test_scores_off_the_scale_are_told(tmp_path, score):
    with pytest.raises(DataError, match=r"file.jsonl:1: (raw|given) is .*, expected a number from 1 to 5 .*pred_score"):
        read_scored(written(tmp_path, scored(score)))


def test_files_of_another_kind_are_told_their_reader(tmp_path):
    with pytest.raises(DataError, match="read by read_predictions"):
        read_scored(written(tmp_path, predicted()))
    with pytest.raises(DataError, match="read by read_scored"):
        read_predictions(written(tmp_path, scored()))
    with pytest.raises(DataError, match="raw is missing, expected a number from 1 to 5"):
        read_scored(written(tmp_path, response()))
    assert read_replies(written(tmp_path, scored()))["response"].tolist() == ["a better reply"]


def test_the_official_formulas_give_the_same_numbers(tmp_path):
    """Raw 5, 4, 3, 2, 5 calibrated to 5, 4, 3, 2, 5 but for one repeated line and one that fell back."""
    given = [
        ("u1", "gift", 0, 5),
        ("u1", "gift", 1, 4),
        ("u1", "trip", 0, 3),
        ("u2", "gift", 0, 2),
        ("u2", "trip", 0, 5),
    ]
    signs = {"pred_score_raw": 4, "calibration_method": "reference_cdf"}
    lines = [scored(score, **signs) | response(u, s, t) | {"pred_score": score} for u, s, t, score in given]
    lines[2] = {k: v for k, v in lines[2].items() if k not in signs}
    verdicts = read_scored(written(tmp_path, {**lines[4], "pred_score": 1}, *lines))
    score = verdicts["reference_cdf"]

    def macro(by: list[str]) -> float:
        return score.groupby([verdicts[c] for c in by]).mean().mean()

    assert score.mean() == pytest.approx(19 / 5)
    assert macro(["user"]) == pytest.approx((4 + 3.5) / 2)
    assert macro(["scenario"]) == pytest.approx((11 / 3 + 4) / 2)
    assert macro(["user", "scenario"]) == pytest.approx((4.5 + 3 + 2 + 5) / 4)
    assert ((score >= 4).mean(), (score <= 3).mean()) == (0.6, 0.4)
    assert score.value_counts().sort_index().to_dict() == {2: 1, 3: 1, 4: 1, 5: 2}
    assert verdicts["raw"].sum() == 4 * 4 + 3


@real.needs("persturnbench/persturnbench_42users.tar.gz")
def test_the_recorded_replies_of_a_real_set_go_out_and_come_back(tmp_path):
    corpus = load(real.ROOT / "persturnbench/persturnbench_42users.tar.gz")
    turns = hard_set(corpus, 60)[TURN].merge(corpus.turns[[*TURN, "response"]], on=TURN)
    path = tmp_path / "original.jsonl"
    assert write_replies(turns.assign(candidate="recorded", context="recorded"), path, corpus) == len(turns)
    assert "gold" not in path.read_text("utf-8")
    again = read_replies(path, corpus)
    assert again["response"].tolist() == turns["response"].tolist()
    assert again.attrs["left_out"] == []
    again.to_parquet(tmp_path / "original.parquet")
    assert pd.read_parquet(tmp_path / "original.parquet").attrs == again.attrs
