"""Good records of every kind that a loader reads, a few of each: `RELEASES` says what to make and what to read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import prism_made
from made import GIFT, TRAVEL, simple_session
from palset_made import FOLDERS, sample, side_files
from uxbench_made import judged, session, to_answer, to_recover

#: File → what it holds; the number that a maker takes tells its records apart from all others.
Files = dict[str, Any]


def prism(n: int) -> Files:
    replies = [prism_made.reply(0, i, model, 20 + i, i == 1) for i, model in enumerate("xy")]
    talks = [prism_made.conversation(f"c{n}.{i}", f"u{n}", prism_made.KINDS[i], replies) for i in range(2)]
    survey = [{"user_id": f"u{n}", "system_string": "Be brief", "stated_prefs": {"values": 3}}]
    return {
        "survey.jsonl": survey,
        "conversations.jsonl": talks[:1],
        "utterances.jsonl": prism_made.utterances(talks[1]),
    }


def rubric(n: int) -> Files:
    said = [{"role": role, "content": text} for role, text in (("user", "Hi"), ("assistant", "So"))]
    rated = {"text_id": f"t{n}", "dialogue_system": "1", "Q1": "4", "Q0": str(1 + n % 4), "annotator_id": "7"}
    odds = {f"answer{i}_prob": str(i / 10) for i in range(1, 5)}
    return {
        "real_data.json": [{"_id": f"t{n}", "messages": said, "topic": "x", "openai_model": "m"}],
        "human_judges_real_convs_FIXED_ANON.tsv": [rated],
        "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv": [{"text_id": f"t{n}", "criterion": "Q0", **odds}],
    }


def aligned(n: int, ending: str) -> Files:
    about = {
        "first_turn_prompt": "q",
        "first_turn_response_a": "A",
        "first_turn_response_b": "B",
        "first_turn_feedback": "f",
    }
    row = {**about, "first_turn_preferred_response": "response_a", "second_turn_prompt": None}
    return {f"ca.{ending}": [{"conversation_id": f"k{n}", "annotator_id": "p", **row}]}


def reactions(n: int) -> Files:
    about = {"visitor_id": "v", "question_content": "q", "response_content": "A", "refers_to_model": "m"}
    return {
        "r.jsonl": [
            {"session_hash": f"s{n}", **about, "liked": True, "disliked": False, "useful": True, "comment": "c"}
        ]
    }


def rows(n: int, ending: str) -> Files:
    row = {
        "user": "u",
        "scenario": "a",
        "session": f"s{n}",
        "turn": 0,
        "request": "q",
        "response": "r",
        "reason": "other",
    }
    row |= {
        "score": 1 + n % 5,
        "satisfaction": 1 + n % 5,
        "asked_at": "2026-01-31 18:30:00",
        "feedback": "like",
        "mine": 1,
    }
    return {f"t.{ending}": [row | {"profile": json.dumps({"age": 3}) if ending == "csv" else {"age": 3}}]}


def talks(n: int) -> Files:
    said = [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "assistant", "content": "r", "score": 1 + n % 5},
    ]
    return {"t.jsonl": [{"user": "u", "session": f"s{n}", "messages": said, "success": True}]}


def pairs(n: int) -> Files:
    own = {"candidate_a": "m", "response_a": "A", "candidate_b": "n", "response_b": "B", "preferred": "a"}
    return {"t.jsonl": [{"user": "u", "session": f"s{n}", "request": "q", **own}]}


def served(n: int) -> Files:
    about = {"user_satisfaction": 1 + n % 5, "title": "t", "llm": "m"}
    history = [{"role": "user", "content": "q"}, ["q", "r"], "more"]
    return {"chinese_merged.json": [{"user_id": n, "intent_label": "advice", "conversation_history": history, **about}]}


def dialogues(n: int) -> Files:
    goal = {"hotel": {"info": {"area": "x"}, "reqt": ["phone"]}, "domain_order": ["hotel"]}
    about = {"goal": goal, "log": [[0, "q"], [1, "r"]], "success": True, "appropriateness_score": 1 + n % 5}
    return {"logs.json": [{"id": n, "worker": "w", "system": "s", **about}]}


def calls(n: int) -> Files:
    goal = {"constraints": [["food", "x"]], "request-slots": ["phone"]}
    feedback = {"success": True, "questionnaire": [["understood me", "agree"]]}
    label = {"turns": [{"transcription": "q"}], "task-information": {"goal": goal, "feedback": feedback}}
    log = {"session-id": f"s{n}", "caller-id": "c", "turns": [{"output": {"transcript": "r"}}]}
    return {f"call{n}/log.json": log, f"call{n}/label.json": label}


def rated_talks(n: int) -> Files:
    rating = str(1 + n % 5)
    return {"SGD.txt": [["USER", "q", "ask", rating], ["SYSTEM", "r", "tell"], ["USER", "OVERALL", "", rating], [""]]}


def palset(n: int) -> Files:
    user = f"{n:04}"
    main = {user: {part: [sample(user, i, f"2024-1{1 + i}-09")] for i, part in enumerate(("history", "query"))}}
    return {"input.json": main, **{f"{FOLDERS[stem]}/{stem}.json": own for stem, own in side_files(main).items()}}


def sessions(n: int) -> Files:
    about = {"user": "u", "user_profile": {"interest_tags": "a, b"}}
    return {"log.jsonl": [{**about, **session(n, "q", "r", "more", is_liked=1)}]}


def messages(n: int) -> Files:
    said = [("user", "q"), ("assistant", "r")]
    return {"log.csv": [{"cid": f"s{n}", "role": role, "message": text, "create_time": 9} for role, text in said]}


def splits(n: int) -> Files:
    return {
        "uxbench_task1_judge_bad.jsonl": [
            judged(2 * n + 1, -1, failure_dimension="f", judge_scores={"a": 1}, difficulty="hard")
        ],
        "uxbench_task2_eval.jsonl": [to_answer(n)],
        "uxbench_task3_recovery.jsonl": [to_recover(n)],
    }


def ratings(n: int) -> Files:
    return {f"data/User_{n}/{own}/0.json": simple_session(1 + n % 5, hallucination=0) for own in (TRAVEL, GIFT)}


def annotated(n: int) -> Files:
    said = [
        {"role": "human", "content": [{"type": "text", "text": f"a question {n}"}]},
        {"role": "ai", "content": f"an answer {n}"},
    ]
    ratings = [{"user_id": f"u{k}", "name": "quality", "value": 1 + (n + k) % 5} for k in range(2)]
    return {"a.jsonl": [{"id": n, "chat": {"messages": said}, "meta": {"model": "m"}, "annotations": ratings}]}


def in_words(n: int) -> Files:
    row = {
        "rater": f"u{n % 3}",
        "prompt": f"a question {n}",
        "output": f"quite a long answer {n}",
        "verdict": ["good", "bad"][n % 2],
    }
    return {"a.csv": [row | {"created_at": f"2026-05-{1 + n % 28:02}"}]}


def of_mine(n: int) -> Files:
    return {"mine.jsonl": [{"who": f"u{n}", "talk": {"asked": "q", "answered": "r"}, "stars": 1 + n % 5}]}


def pairs_of_panels(n: int) -> Files:
    names = {side: f"r{n}{side}" for side in "ab"}
    pair = {"submission_id": "s", "query_id": f"q{n}", **{f"response_{side}": name for side, name in names.items()}}
    parts = ("correctness_topical", "coherence_logical", "coherence_stylistic", "coverage_broad", "coverage_deep")
    votes = {name: ["N", "A"] for name in (*parts, "consistency_internal")}
    votes["quality_overall"] = ["A", "B"]
    about = {"topic": f"q{n}", "style": "essay"}
    return {
        "ratings.jsonl": [{**pair, "worker": ["w1", "w2"], **{f"{name}_vote": own for name, own in votes.items()}}],
        "replies.jsonl": [{"response": name, "writer": side, "text": side, **about} for side, name in names.items()],
        "queries.jsonl": [{"topic": f"q{n}", "query": f"What is {n}?"}],
        "gpt4o.jsonl": [{**pair, "ratings": {"Q7_rating": "B", "Q7_justification": "It says more."}}],
    }


def sittings(n: int) -> Files:
    marks = dict.fromkeys(
        ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"), 10 * n % 100
    )
    said = [{"round": 1, "user": "My name is Ann.", "bot": "Hello"}]
    chats = [{"model": "A", "dialogue": said, "raw scores": marks, "feedback": "f"} for _ in range(2)]
    return {"pass_icebreaker.json": [{"WorkerId": f"W{n}", "data": chats}]}


def proofs(n: int) -> Files:
    lists = {
        "human_interactions": ["User: q"],
        "model_responses": ["AI: r"],
        "helpfulness_ratings": [n % 7],
        "correctness_ratings": [6],
    }
    about = {
        "uid": f"u{n}",
        "model": "m",
        "problem_name": "a_sum.html",
        "selected_topic": "Algebra",
        "final_prefs": "{'m': 1}",
    }
    return {"mathconverse_parsed_interactions.csv": [about | {name: str(own) for name, own in lists.items()}]}


def documents(n: int) -> Files:
    said = {"user_queries": ["q"], "ai_responses": ["r"], "document_type": "email", "intent": "i"}
    return {
        "document_creation.json": [
            {"workerId": f"W{n}", "model": "m", **said, "overall_interaction_rating": 1 + n % 10}
        ]
    }


def marked(n: int) -> Files:
    about = {"session_id": f"s{n}", "worker_id": f"w{n}", "model": "m"}
    asked = {"prompt": "p", "prompt_dataset": "d", "user_input": "q", "model_completion": "r"}
    return {
        "event_blocks.csv": [{**about, "turn_id": 1, **asked}],
        "survey_responses.csv": [
            {**about, "turn_id": 1, "preference": 1.0, "fluency": 0.0, "quality": None},
            {**about, "turn_id": -1, "preference": None, "fluency": None, "quality": 1.0 + n % 5},
        ],
    }


def simulated(n: int) -> Files:
    said = [{"role": role, "content": text} for role, text in (("user", "q"), ("assistant", "r"))]
    return {
        "conversations.jsonl": [
            {"file": f"{n}.json", "task": "gifts", "preference_id": n, "preference_zh": "p", "history": said}
        ]
    }


def merged(parts: Iterable[Files]) -> Files:
    """The files with all that stands in those of each part."""
    every: Files = {}
    for name, content in (pair for part in parts for pair in part.items()):
        held = every.get(name)
        is_list = isinstance(held, list) and isinstance(content, list)
        is_dict = isinstance(held, dict) and isinstance(content, dict)
        every[name] = held + content if is_list else held | content if is_dict else content
    return every


def write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        is_rows = isinstance(content, list) and all(isinstance(row, dict) for row in content)
        if file.suffix == ".parquet" and is_rows:
            pd.DataFrame(content).to_parquet(file)
            continue
        text = json.dumps(content)
        if file.suffix == ".jsonl" and isinstance(content, list):
            text = "".join(json.dumps(record) + "\n" for record in content)
        elif file.suffix == ".txt" and isinstance(content, list):
            lines = [
                ["" if v is None else str(v) for v in own] if isinstance(own, list) else [str(own)] for own in content
            ]
            text = "".join("\t".join(own) + "\n" for own in lines)
        elif file.suffix in (".csv", ".tsv") and is_rows:
            with file.open("w", encoding="utf-8", errors="surrogatepass", newline="") as stream:
                names = list(dict.fromkeys(c for row in content for c in row))
                rows = csv.DictWriter(stream, names, delimiter="\t" if file.suffix == ".tsv" else ",")
                rows.writeheader()
                rows.writerows(content)
            continue
        file.write_bytes(text.encode("utf-8", "surrogatepass"))


#: What to read → its kind, its files, and which of them is given to the loader (none: their folder).
RELEASES: dict[str, tuple[str, Callable[[int], Files], str]] = {
    "prism": ("prism", prism, ""),
    "llm-rubric": ("llm-rubric", rubric, ""),
    "cragc": ("cragc", pairs_of_panels, ""),
    "ji": ("ji", sittings, ""),
    "mathconverse": ("mathconverse", proofs, ""),
    "simulator-arena": ("simulator-arena", documents, ""),
    "halie": ("halie", marked, ""),
    "recllmsim": ("recllmsim", simulated, ""),
    "community-alignment": ("community-alignment", partial(aligned, ending="jsonl"), "ca.jsonl"),
    "community-alignment as CSV": ("community-alignment", partial(aligned, ending="csv"), "ca.csv"),
    "comparia": ("comparia", reactions, "r.jsonl"),
    "of any form": ("any", annotated, "a.jsonl"),
    "of any form, as CSV": ("any", in_words, "a.csv"),
    "rows": ("table", partial(rows, ending="jsonl"), "t.jsonl"),
    "rows as CSV": ("table", partial(rows, ending="csv"), "t.csv"),
    "rows as Parquet": ("table", partial(rows, ending="parquet"), "t.parquet"),
    "conversations": ("table", talks, "t.jsonl"),
    "pairs": ("table", pairs, "t.jsonl"),
    "urs": ("urs", served, "chinese_merged.json"),
    "convlab": ("convlab", dialogues, "logs.json"),
    "dstc": ("dstc", calls, ""),
    "uss": ("uss", rated_talks, "SGD.txt"),
    "palset": ("palset", palset, ""),
    "log": ("uxbench", sessions, "log.jsonl"),
    "log of messages": ("uxbench", messages, "log.csv"),
    "splits": ("uxbench", splits, ""),
    "persturnbench": ("persturnbench", ratings, ""),
    "one's own": ("mine", of_mine, "mine.jsonl"),
}
