"""Files as people and tools have them, each of twenty replies or so: `FILES` says what to write and what they are."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

USERS = ["alice", "bob", "carla", "dan"]
N = 20


class Made(NamedTuple):
    """How a file is written, and what is in it: users, conversations, replies with a score, its scale, replies to choose from."""

    write: Callable[[Path], Any]
    users: int = 4
    sessions: int = N
    scored: int = N
    scale: str = "1–5"
    candidates: int = 0


def asked(i: int) -> str:
    return f"What should I do in city {i}? I like museums."


def said(i: int) -> str:
    return f"Here is a plan for city {i}: start with the old town, then see the museum, and have lunch by the river."


def score(i: int) -> int:
    return 1 + i % 5


def user(i: int) -> str:
    return USERS[i % 4]


def frame(make: Callable[[int], dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame([make(i) for i in range(N)])


def table(make: Callable[[int], dict[str, Any]], **how: Any) -> Callable[[Path], Any]:
    return lambda path: frame(make).to_csv(path, **{"index": False, **how})


def rows(header: list[list[str]], make: Callable[[int], list[Any]]) -> Callable[[Path], Any]:
    return lambda path: pd.DataFrame([*header, *map(make, range(N))]).to_csv(path, header=False, index=False)


def lines(make: Callable[[int], dict[str, Any]]) -> Callable[[Path], Any]:
    return lambda path: path.write_text("".join(json.dumps(make(i)) + "\n" for i in range(N)), "utf-8")


def document(make: Callable[[], Any]) -> Callable[[Path], Any]:
    return lambda path: path.write_text(json.dumps(make()), "utf-8")


def talk(
    i: int, human: str = "user", ai: str = "assistant", role: str = "role", text: str = "content"
) -> list[dict[str, Any]]:
    return [{role: human, text: asked(i)}, {role: ai, text: said(i)}]


def write_messages(path: Path) -> None:
    stream = io.StringIO()
    rows = csv.writer(stream)
    rows.writerow(["conversation_id", "user_id", "timestamp", "sender", "message", "rating"])
    for i in range(N):
        for place, (side, text) in enumerate(
            [("user", asked(i)), ("assistant", said(i)), ("user", "And then?"), ("assistant", "Then rest.")]
        ):
            rows.writerow(
                [
                    f"c{i}",
                    user(i),
                    f"2026-03-{1 + i:02}T10:0{place}",
                    side,
                    text,
                    score(i + place) if side == "assistant" else "",
                ]
            )
    path.write_text(stream.getvalue(), "utf-8")


def write_eval(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as log:
        log.writestr("header.json", json.dumps({"eval": {"task": "plans", "model": "openai/gpt"}}))
        for i in range(N):
            scores = {"match": {"value": "C" if score(i) > 3 else "I", "answer": "a"}}
            sample = {"id": i, "epoch": 1, "input": asked(i), "target": "x", "messages": talk(i), "scores": scores}
            log.writestr(f"samples/{i}_epoch_1.json", json.dumps(sample))


def write_zstandard(path: Path) -> None:
    """Write a log as Inspect does now: an archive whose files are compressed by Zstandard, which zipfile reads from 3.14 on."""
    plain = path.with_suffix(".plain")
    write_eval(plain)
    data, index = b"", b""
    with zipfile.ZipFile(plain) as log:
        names = log.namelist()
        for name in names:
            content = log.read(name)
            packed = pa.Codec("zstd").compress(content, asbytes=True)
            about = struct.pack("<3HIIIH", 93, 0, 0, zlib.crc32(content), len(packed), len(content), len(name))
            place = struct.pack("<4HII", 0, 0, 0, 0, 0, len(data))
            index += b"PK\1\2" + struct.pack("<3H", 63, 63, 0) + about + place + name.encode()
            data += b"PK\3\4" + struct.pack("<2H", 63, 0) + about + struct.pack("<H", 0) + name.encode() + packed
    plain.unlink()
    end = struct.pack("<4HIIH", 0, 0, len(names), len(names), len(index), len(data), 0)
    path.write_bytes(data + index + b"PK\5\6" + end)


def write_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        pd.DataFrame({"version": [1]}).to_sql("about", database, index=False)
        made = frame(lambda i: {"user": user(i), "prompt": asked(i), "response": said(i), "rating": score(i)})
        made.to_sql("messages", database, index=False)


def write_zip(path: Path) -> None:
    made = frame(lambda i: {"pid": user(i), "prompt": asked(i), "reply": said(i), "sat": score(i)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/survey.csv", made.to_csv(index=False))


def tree(i: int) -> dict[str, Any]:
    """A conversation as ChatGPT exports it, whose first reply was made again."""
    nodes = {"q": ("root", "user", asked(i), ["old", "new"]), "old": ("q", "assistant", "No.", []), "new": ("q", "assistant", said(i), [])}  # fmt: skip
    return {"root": {"message": None, "parent": None, "children": ["q"]}} | {
        own: {
            "message": {"author": {"role": role}, "content": {"parts": [text]}},
            "parent": parent,
            "children": children,
        }
        for own, (parent, role, text, children) in nodes.items()
    }


def write_annotators(path: Path) -> None:
    with pd.ExcelWriter(path) as book:
        for k, who in enumerate(("Ann", "Ben")):
            made = frame(lambda i, k=k: {"Prompt": asked(i), "Response": said(i), "Rating": score(i + k)})
            made.to_excel(book, sheet_name=who, index=False)


def write_sheets(path: Path) -> None:
    with pd.ExcelWriter(path) as book:
        pd.DataFrame([["Study 3"]]).to_excel(book, sheet_name="notes", header=False, index=False)
        made = frame(lambda i: {"Rater": user(i), "Prompt": asked(i), "Response": said(i), "Quality (1-7)": 1 + i % 7})
        made.to_excel(book, sheet_name="data", startrow=2, index=False)


LIKERT = ["Very dissatisfied", "Dissatisfied", "Neutral", "Satisfied", "Very satisfied"]
FILES: dict[str, Made] = {
    "semicolons, cp1252.csv": Made(lambda path: path.write_bytes(("annotator;prompt;model_output;rating\n" + "".join(f'{user(i)};"{asked(i)} Grüße";"{said(i)}";{score(i)}\n' for i in range(N))).encode("cp1252"))),
    "UTF-16.tsv": Made(lambda path: frame(lambda i: {"user_id": user(i), "question": asked(i), "answer": said(i), "stars": f"{score(i)}/5", "topic": "xy"[i % 2]}).to_csv(path, sep="\t", index=False, encoding="utf-16")),
    "bars and percent.txt": Made(lambda path: path.write_text("customer|query|bot_reply|csat\n" + "".join(f"{user(i)}|{asked(i)}|{said(i)}|{10 * (i % 11)}%\n" for i in range(N)), "utf-8"), scale="0–100"),
    "words.csv": Made(lambda path: frame(lambda i: {"who": user(i), "query": asked(i), "reply": said(i), "opinion_rating": LIKERT[score(i) - 1]}).to_csv(path, index=False)),
    "German.csv": Made(lambda path: frame(lambda i: {"Teilnehmer": user(i), "Frage": asked(i), "Antwort": said(i), "Bewertung": score(i)}).to_csv(path, sep=";", index=False)),
    "Chinese.csv": Made(lambda path: frame(lambda i: {"用户": user(i), "问题": asked(i), "回答": said(i), "评分": score(i)}).to_csv(path, index=False)),
    "votes.csv": Made(lambda path: frame(lambda i: {"user": user(i), "input": asked(i), "output": said(i), "vote": [-1, 1][i % 2]}).to_csv(path, index=False), scale="0–1"),
    "annotators in columns.csv": Made(lambda path: frame(lambda i: {"prompt": asked(i), "response": said(i), **{f"rater_{k}": 1 + (i + k) % 5 for k in range(3)}}).to_csv(path, index=False), 3, 3 * N, 3 * N),
    "two ratings.csv": Made(lambda path: frame(lambda i: {"session": f"c{i // 2}", "user": user(i // 2), "turn": i % 2, "user_message": asked(i), "bot_message": said(i), "rating": 1 + i % 10, "session_rating": 7}).to_csv(path, index=False), 4, N // 2, N, "1–10"),
    "a message a row.csv": Made(write_messages, scored=2 * N),
    "plain.xlsx": Made(lambda path: frame(lambda i: {"Participant": user(i), "Question": asked(i), "Answer": said(i), "Satisfaction": score(i)}).to_excel(path, index=False)),
    "sheets.xlsx": Made(write_sheets, scale="1–7"),
    "columns.json": Made(document(lambda: {"prompt": [asked(i) for i in range(N)], "completion": [said(i) for i in range(N)], "helpful": [bool(i % 2) for i in range(N)], "worker_id": [user(i) for i in range(N)]}), scale="0–1"),
    "ShareGPT.json": Made(document(lambda: [{"id": f"x{i}", "conversations": talk(i, "human", "gpt", "from", "value"), "rating": score(i), "user": user(i)} for i in range(N)])),
    "chats and thumbs.jsonl": Made(lines(lambda i: {"id": i, "metadata": {"userId": user(i)}, "messages": [{"role": "system", "content": "s"}, {"role": "human", "content": [{"type": "text", "text": asked(i)}]}, {"role": "ai", "content": said(i)}], "feedback": "👍" if i % 3 else "👎"}), scale="0–1"),
    "requests of an API.jsonl": Made(lines(lambda i: {"request_id": i, "user": {"id": user(i), "plan": "pro"}, "request": {"model": "m", "messages": talk(i)[:1]}, "response": {"choices": [{"index": 0, "message": talk(i)[1]}]}, "feedback": {"thumbs": "up" if i % 3 else "down"}}), scale="0–1"),
    "arena.parquet": Made(lambda path: frame(lambda i: {"question_id": f"q{i}", "model_a": "x", "model_b": "y", "winner": ["model_a", "model_b", "tie", "tie (bothbad)"][i % 4], "judge": user(i), "conversation_a": talk(i), "conversation_b": [talk(i)[0], {"role": "assistant", "content": "Another plan."}], "turn": 1}).to_parquet(path), scored=0, candidates=2 * N),
    "arena of Kaggle.csv": Made(lambda path: frame(lambda i: {"id": i, "model_a": "x", "model_b": "y", "prompt": json.dumps([asked(i)]), "response_a": json.dumps([said(i)]), "response_b": json.dumps(["Another plan."]), **{f"winner_{w}": int(i % 3 == k) for k, w in enumerate(("model_a", "model_b", "tie"))}}).to_csv(path, index=False), 1, scored=0, candidates=2 * N),
    "chosen and rejected.jsonl": Made(lines(lambda i: {"prompt": asked(i), "chosen": talk(i), "rejected": [talk(i)[0], {"role": "assistant", "content": "No."}], "annotator_id": user(i)}), scored=0, candidates=2 * N),
    "Label Studio.json": Made(document(lambda: [{"id": i, "data": {"prompt": asked(i), "response": said(i), "topic": "xy"[i % 2]}, "annotations": [{"id": 10 * i + k, "completed_by": {"id": k, "email": f"{USERS[k]}@x.org"}, "result": [{"from_name": "quality", "type": "rating", "value": {"rating": 1 + (i + k) % 5}}, {"from_name": "why", "type": "textarea", "value": {"text": ["fine"]}}]} for k in range(2)]} for i in range(N)]), 2, 2 * N, 2 * N),
    "Argilla.json": Made(document(lambda: [{"id": str(i), "fields": {"prompt": asked(i), "response": said(i)}, "responses": {"rating": [{"value": 1 + (i + k) % 5, "user_id": USERS[k], "status": "submitted"} for k in range(3)]}} for i in range(N)]), 3, 3 * N, 3 * N),
    "Langfuse.jsonl": Made(lines(lambda i: {"id": f"t{i}", "timestamp": "2026-05-01T10:00:00Z", "userId": user(i), "sessionId": f"s{i}", "input": talk(i)[:1], "output": talk(i)[1], "scores": [{"name": "user-feedback", "value": i % 2, "source": "API"}, {"name": "toxicity", "value": 0.01 * i, "source": "EVAL"}]}), scale="0–1"),
    "Langfuse.csv": Made(lambda path: frame(lambda i: {"id": f"t{i}", "userId": user(i), "sessionId": f"s{i}", "input": json.dumps(talk(i)[:1]), "output": json.dumps(talk(i)[1]), "scores.user_satisfaction": score(i)}).to_csv(path, index=False)),
    "LangSmith.json": Made(document(lambda: [{"id": str(i), "inputs": {"input": asked(i)}, "outputs": {"output": said(i)}, "feedback_stats": {"user_score": {"n": 1, "avg": score(i) / 5}}, "session_id": "project", "extra": {"metadata": {"user_id": user(i)}}} for i in range(N)]), scale="0–1"),
    "MLflow.jsonl": Made(lines(lambda i: {"trace_id": f"tr{i}", "request": json.dumps({"messages": talk(i)[:1]}), "response": json.dumps({"choices": [{"message": talk(i)[1]}]}), "assessments": [{"assessment_name": "satisfaction", "source": {"source_type": "HUMAN", "source_id": user(i)}, "feedback": {"value": score(i)}}, {"assessment_name": "groundedness", "source": {"source_type": "LLM_JUDGE", "source_id": "gpt"}, "feedback": {"value": True}}]})),
    "evaluation table of MLflow.json": Made(document(lambda: {"columns": ["inputs", "outputs", "score"], "data": [[asked(i), said(i), score(i)] for i in range(N)]}), 1),
    "promptfoo.json": Made(document(lambda: {"evalId": "e", "results": {"version": 3, "results": [{"provider": {"id": "openai:x"}, "prompt": {"raw": asked(i), "label": "p"}, "response": {"output": said(i), "tokenUsage": {"total": 9}}, "success": score(i) > 3, "score": score(i) / 5, "gradingResult": {"pass": score(i) > 3, "score": score(i) / 5, "reason": "r"}} for i in range(N)]}}), 1, scale="0–1"),
    "DeepEval.json": Made(document(lambda: {"testCases": [{"name": f"t{i}", "input": asked(i), "actualOutput": said(i), "expectedOutput": "x", "success": score(i) > 2, "metricsData": [{"name": "Relevancy", "score": score(i) / 5, "threshold": 0.5, "reason": "r"}]} for i in range(N)]}), 1, scale="0–1"),
    "Inspect.eval": Made(write_eval, 1, scale="0–1"),
    "a sentence for a name.csv": Made(table(lambda i: {"Zeitstempel": "01.05.2026 10:00:00", "E-Mail-Adresse": user(i), "Ihre Frage an den Assistenten": asked(i), "Antwort des Assistenten": said(i), "Wie zufrieden waren Sie mit der Antwort?": ["sehr unzufrieden", "unzufrieden", "teils, teils", "zufrieden", "sehr zufrieden"][i % 5]}, sep=";", encoding="cp1252")),
    "Qualtrics.csv": Made(rows([["ResponseId", "Q1", "Q2", "Q3_1"], ["Response ID", "Your question", "The assistant's reply", "How satisfied were you?"], [f'{{"ImportId":"{k}"}}' for k in "abcd"]], lambda i: [f"R_{i}", asked(i), said(i), score(i)]), N),
    "SurveyMonkey.csv": Made(rows([["Respondent ID", "What did you ask the assistant?", "What did it answer?", "How would you rate the answer?"], ["", "Open-Ended Response", "Open-Ended Response", "Response"]], lambda i: [f"118{i}", asked(i), said(i), ["Poor", "Fair", "Good", "Very good", "Excellent"][i % 5]]), N),
    "Chinese words in one.xlsx": Made(lambda path: frame(lambda i: {"用户编号": user(i), "会话编号": f"s{i}", "用户提问": asked(i), "模型回答": said(i), "满意度评分": ["非常不满意", "不满意", "一般", "满意", "非常满意"][i % 5]}).to_excel(path, index=False)),
    "GB18030.csv": Made(table(lambda i: {"姓名": ["张三", "李四", "王五", "赵六"][i % 4], "问": asked(i), "答": said(i), "备注": "参观博物馆，然后在河边吃午饭。", "评级": ["优", "良", "中", "差"][i % 4]}, encoding="gb18030"), scale="1–4"),
    "nested names.csv": Made(table(lambda i: {"attributes.input.value": asked(i), "attributes.output.value": said(i), "attributes.session.id": f"s{i // 2}", "attributes.user.id": user(i // 2), "annotation.user_feedback.label": ["thumbs-up", "thumbs-down"][i % 2]}), sessions=N // 2, scale="0–1"),
    "one rating of no name.csv": Made(table(lambda i: {"Subject": f"S{i % 4}", "Trial": i, "UserTurn": asked(i), "SystemTurn": said(i), "flag": ["Like", "Dislike"][i % 2]}), scale="0–1"),
    "a row a dimension.csv": Made(table(lambda i: {"user_id": user(i // 2), "prompt": asked(i // 2), "response": said(i // 2), "dimension": ["satisfaction", "clarity"][i % 2], "rating": score(i)}), sessions=N // 2, scored=N // 2),
    "systems in columns.csv": Made(table(lambda i: {"participant": user(i), "prompt": asked(i), "gpt4_response": said(i), "gpt4_rating": 4, "llama_response": "Another plan.", "llama_rating": score(i) - 1 or 1}), candidates=2 * N, scored=N, scale="1–4"),
    "transcripts.csv": Made(table(lambda i: {"Ticket ID": i, "Requester": user(i), "Transcript": f"Customer: {asked(i)}\nAgent: {said(i)}", "CSAT": score(i)})),
    "several ratings in a cell.tsv": Made(lambda path: pd.DataFrame([row for i in range(N) for row in ({"role": "USER", "utterance": asked(i), "ratings": "", "dialogue": f"d{i}"}, {"role": "SYSTEM", "utterance": said(i), "ratings": f"{score(i)},4,5", "dialogue": f"d{i}"})]).to_csv(path, sep="\t", index=False), 3, 3 * N, 3 * N),
    "log.sqlite": Made(write_database),
    "survey.zip": Made(write_zip),
    "HelpSteer.jsonl.gz": Made(lambda path: path.write_bytes(gzip.compress("".join(json.dumps({"prompt": asked(i), "response": said(i), "helpfulness": i % 5, "verbosity": 2}) + "\n" for i in range(N)).encode())), 1, scale="0–4"),
    "ChatGPT.json": Made(document(lambda: [{"title": "x", "conversation_id": f"c{i}", "mapping": tree(i), "create_time": 1.7e9} for i in range(N)]), 1, scored=0),
    "Claude.json": Made(document(lambda: {"conversations": [{"uuid": f"c{i}", "account": {"uuid": user(i)}, "chat_messages": [{"sender": "human", "text": asked(i)}, {"sender": "assistant", "text": said(i), "feedback": {"type": ["upvote", "downvote"][i % 2], "reason": ""}}]} for i in range(N)]}), scale="0–1"),
    "FastChat.json": Made(lines(lambda i: {"tstamp": 1.7e9, "type": ["upvote", "downvote"][i % 2], "state": {"messages": [["Human", asked(i)], ["Assistant", said(i)]], "conv_id": f"c{i}"}, "ip": user(i)}), scale="0–1"),
    "texts by turns.json": Made(document(lambda: {f"d{i}": {"user": user(i), "goal": "g", "log": [{"text": asked(i)}, {"text": said(i)}], "score": score(i)} for i in range(N)})),
    "Responses.jsonl": Made(lines(lambda i: {"id": f"r{i}", "input": asked(i), "output": [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said(i)}]}], "user": user(i), "metadata": {"rating": str(score(i))}})),
    "KTO.jsonl": Made(lines(lambda i: {"prompt": talk(i)[:1], "completion": talk(i)[1:], "label": bool(i % 3)}), 1, scale="0–1"),
    "history and prompt.jsonl": Made(lines(lambda i: {"history": talk(i), "prompt": "And then?", "response": "Rest.", "rating": score(i), "uid": user(i)})),
    "rated turns.jsonl": Made(lines(lambda i: {"conv_id": f"c{i}", "annotator_name": user(i), "turns": [{"prompt": asked(k), "response": said(k), "rating": score(k)} for k in (i, i + 1)]}), scored=2 * N),
    "UltraFeedback.jsonl": Made(lines(lambda i: {"instruction": asked(i), "models": ["a", "b"], "completions": [{"model": "a", "response": said(i), "overall_score": 9.0}, {"model": "b", "response": "No.", "overall_score": float(5 + i % 3)}]}), 1, scale="1–10", candidates=2 * N),
    "HH.jsonl": Made(lines(lambda i: {"chosen": f"\n\nHuman: {asked(i)}\n\nAssistant: {said(i)}", "rejected": f"\n\nHuman: {asked(i)}\n\nAssistant: No."}), 1, scored=0, candidates=2 * N),
    "preferred outputs.jsonl": Made(lines(lambda i: {"input": {"messages": talk(i)[:1]}, "preferred_output": talk(i)[1:], "non_preferred_output": [{"role": "assistant", "content": "No."}]}), 1, scored=0, candidates=2 * N),
    "left and right.jsonl": Made(lines(lambda i: {"rater": user(i), "prompt": asked(i), "left": {"model": "m1", "text": said(i)}, "right": {"model": "m2", "text": "No."}, "preference": ["m1", "left", "same"][i % 3]}), scored=0, candidates=2 * N),
    "strengths.jsonl": Made(lines(lambda i: {"prompt": asked(i), "response_1": said(i), "response_2": "No.", "preference_strength": -3 + i % 4, "annotator_id": user(i)}), scored=0, candidates=2 * N),
    "activities.json": Made(document(lambda: [{"conversation": {"id": f"c{i}"}, "activities": [{"from": {"id": user(i), "role": "user"}, "text": asked(i)}, {"from": {"id": "b", "role": "bot"}, "text": said(i)}], "feedback": {"reaction": ["like", "dislike"][i % 2]}} for i in range(N)]), scale="0–1"),
    "Argilla.parquet": Made(lambda path: frame(lambda i: {"prompt": asked(i), "response": said(i), "quality.responses": [score(i), 3], "quality.responses.users": ["ann", "ben"], "quality.suggestion": 3}).to_parquet(path), 2, 2 * N, 2 * N),
    "sheets of annotators.xlsx": Made(write_annotators, 2, 2 * N, 2 * N),
    "records by user.json": Made(document(lambda: {who: [{"prompt": asked(i), "response": said(i), "rating": score(i)} for i in range(k, N, 4)] for k, who in enumerate(USERS)})),
    "promptfoo.csv": Made(table(lambda i: {"question": asked(i), "[openai:gpt] {{question}}": f"[PASS] {said(i)}", "[anthropic:claude] {{question}}": "[FAIL] (0.00) Another plan."}), 1, scale="0–1", candidates=2 * N),
    "LangChain.json": Made(document(lambda: [{"inputs": {"messages": [[{"lc": 1, "type": "constructor", "kwargs": {"content": asked(i), "type": "human"}}]]}, "outputs": {"generations": [[{"text": said(i), "message": {"kwargs": {"content": said(i), "type": "ai"}}}]]}, "feedback": [{"key": "user_score", "score": i % 2}], "extra": {"metadata": {"user_id": user(i)}}} for i in range(N)]), scale="0–1"),
    "pairs of Label Studio.json": Made(document(lambda: [{"id": i, "data": {"prompt": asked(i), "answer1": said(i), "answer2": "No."}, "annotations": [{"completed_by": i % 3, "result": [{"from_name": "comparison", "type": "pairwise", "value": {"selected": "left"}}]}]} for i in range(N)]), 3, scored=0, candidates=2 * N),
    "emoji of Slack.csv": Made(table(lambda i: {"uid": user(i), "question": asked(i), "answer": said(i), "thumb": [":+1:", ":-1:"][i % 2]}), scale="0–1"),
    "a choice between columns.csv": Made(table(lambda i: {"rater": user(i), "prompt": asked(i), "model_x": said(i), "model_y": "Another plan.", "choice": ["model_x", "model_y", "tie"][i % 3]}), scored=0, candidates=2 * N),
    "a role a key.jsonl": Made(lines(lambda i: {"user": user(i), "conversation": [{"user": asked(i)}, {"assistant": said(i)}], "thumb": ["up", "down"][i % 2]}), scale="0–1"),
    "pairs in Chinese.xlsx": Made(lambda path: frame(lambda i: {"用户": user(i), "提示词": asked(i), "模型A回复": said(i), "模型B回复": "另一个计划，也在河边。", "更好": ["A", "B", "平局"][i % 3]}).to_excel(path, index=False), scored=0, candidates=2 * N),
    "lists of replies.json": Made(document(lambda: [{"query": asked(i), "responses": [{"text": said(i), "model": "x", "user_rating": 4}, {"text": "Another.", "model": "y", "user_rating": 3}], "uid": user(i)} for i in range(N)]), candidates=2 * N),
    "verdicts by name.json": Made(document(lambda: {"items": [{"meta": {"annotators": [{"name": who, "verdict": score(i)} for who in USERS[:2]]}, "payload": {"prompt_text": asked(i), "completion_text": said(i)}} for i in range(N)]}), 2, 2 * N, 2 * N),
    "texts of two sides.csv": Made(table(lambda i: {"text_user": asked(i), "text_ai": said(i), "annotator": user(i), "helpful": ["yes", "no", "partially"][i % 3]}), scale="0–1"),
    "pairs by model.parquet": Made(lambda path: frame(lambda i: {"winner": ["model_a", "model_b"][i % 2], "user_id": user(i), "prompt": asked(i), "response_model_a": said(i), "response_model_b": "Another plan."}).to_parquet(path), scored=0, candidates=2 * N),
    "Inspect, Zstandard.eval": Made(write_zstandard, 1, scale="0–1"),
    "spans of MLflow.jsonl": Made(lines(lambda i: {"info": {"trace_id": f"tr{i}", "request_preview": asked(i)[:9], "response_preview": json.dumps(said(i)[:9]), "assessments": [{"assessment_name": "satisfaction", "source": {"source_type": "HUMAN", "source_id": user(i)}, "feedback": {"value": score(i)}}]}, "data": {"spans": [{"attributes": {"mlflow.spanInputs": json.dumps({"question": asked(i)}), "mlflow.spanOutputs": json.dumps(said(i))}}]}})),
    "printed dictionaries.csv": Made(table(lambda i: {"user": user(i), "request": {"question": asked(i)}, "response": {"text": said(i), "ok": True}, "stars": score(i)})),
    "lists of both sides.jsonl": Made(lines(lambda i: {"user_id": user(i), "user_messages": [asked(i), "And then?"], "bot_messages": [said(i), "Rest."], "stars": score(i)})),
}  # fmt: skip
