"""Good records of every kind that a loader reads, a few of each: `RELEASES` says what to make and what to read."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

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


def personas(n: int) -> Files:
    chat = [
        {"role": role, "content": text} for role, text in (("system", "A cook"), ("user", "Hi"), ("assistant", "So"))
    ]
    link = f"data/chat_history_32k/c{n}.json"
    asked = {"user_query": json.dumps({"role": "user", "content": "q"}), "correct_answer": "A", "pref_type": "x"}
    row = {"persona_id": str(n), "chat_history_32k_link": link, "incorrect_answers": json.dumps(["B", "C"]), **asked}
    return {"benchmark/text/benchmark.csv": [row], link: {"chat_history": chat}}


def posts(n: int) -> Files:
    aspects = [{"aspect": "cost", "reason": "money", "evidence": "e"}]
    asked = {"question": "q", "narrative": "n", "category": "c", "rubric_aspects": aspects}
    return {
        "test.json": [{"id": f"q{n}", "profile": [{"id": "1", "text": "t", "category": "c"}], **asked}],
        "plain.json": {f"q{n}": [{"output": "A"}]},
    }


def of_mine(n: int) -> Files:
    return {"mine.jsonl": [{"who": f"u{n}", "talk": {"asked": "q", "answered": "r"}, "stars": 1 + n % 5}]}


#: What to read → its kind, its files, and which of them is given to the loader (none: their folder).
RELEASES: dict[str, tuple[str, Callable[[int], Files], str]] = {
    "prism": ("prism", prism, ""),
    "llm-rubric": ("llm-rubric", rubric, ""),
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
    "personamem": ("personamem", personas, ""),
    "lamp-qa": ("lamp-qa", posts, ""),
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
