"""A small PAL-Set that tests write: the release's files, with made-up content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ACTIONS = {
    "zh": [("话题询问", "需求推测"), ("需求确认", "方案提议"), ("方案反馈", "反馈回应")],
    "en": [
        ("Topic Inquiry", "Requirement Prediction"),
        ("Requirement Confirmation", "Solution Proposal"),
        ("Solution Feedback", "Feedback Response"),
    ],
}
LABELS = ["neu", "pos", "neg", "neu", "pos", "neu", "neg", "neu"]


def topic(name: str = "a") -> dict[str, Any]:
    """A topic with eight candidates: pos are S2 and S5, neg S3 and S7."""
    candidates = [f"{name}: solution {i}" for i in range(1, 9)]
    chosen = {side: [c for c, label in zip(candidates, LABELS) if label == side] for side in ("pos", "neg", "neu")}
    return {
        "user_query": f"What about {name}?",
        "implicit_needs": [f"{name} soon", f"{name} cheap"],
        "requirement": f"The user needs {name}.",
        "solution": {"pos": chosen["pos"], "neg": chosen["neg"]},
        "candidate_solutions": [{"solution": c, "feedback": f} for c, f in zip(candidates, LABELS)],
    }


def sample(user: str, number: int, at: str, language: str = "zh", topics: int = 1) -> dict[str, Any]:
    """A session of three turns, with two logs on its day."""
    turns = [
        {
            "user": {"action": asked, "content": f"u{number}.{i}"},
            "assistant": {"action": said, "content": f"a{number}.{i}"},
        }
        for i, (asked, said) in enumerate(ACTIONS[language])
    ]
    return {
        "sample_id": f"{user}_sample{number}",
        "dialogue_timestamp": f"{at} 18:00:00",
        "logs": [{"timestamp": f"{at} 0{8 + i}:30", "content": f"log {user}.{number}.{i}"} for i in range(2)],
        "dialogue": {f"turn_{i}": turn for i, turn in enumerate(turns, start=1)},
        "topics": {f"topic-{n}": topic(f"{user}.{number}.{n}") for n in range(1, topics + 1)},
    }


def main_file(language: str = "zh") -> dict[str, Any]:
    """Two users; the first has two history sessions and one in December, the second one of each."""
    return {
        "0000": {
            "history": [sample("0000", 0, "2024-10-05", language), sample("0000", 1, "2024-11-09", language, topics=2)],
            "query": [sample("0000", 2, "2024-12-20", language, topics=2)],
        },
        "0001": {
            "history": [sample("0001", 0, "2024-11-30", language)],
            "query": [sample("0001", 1, "2024-12-01", language)],
        },
    }


def side_files(main: dict[str, Any]) -> dict[str, Any]:
    """The files beside it, saying the same."""
    files: dict[str, Any] = {stem: {user: {} for user in main} for stem in FOLDERS}
    traits = ("Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism")
    for user, parts in main.items():
        files["background"][user] = {
            "name": f"N{user}",
            "gender": "Female",
            "age": 30,
            **{key: f"{key}." for key in ("occupation", "health status", "family members", "hobbies")},
            "personality": dict.fromkeys(traits, "high"),
        }
        ids = {aspect: [f"{aspect}-{n}" for n in range(1, 5)] for aspect in ("work", "health", "family", "leisure")}
        files["requirement"][user] = {a: {i: f"need {i}" for i in own} for a, own in ids.items()}
        files["preference"][user] = {
            a: {i: {"requirement": f"need {i}", "preference": {"pos": f"likes {i}", "neg": f"no {i}"}} for i in own}
            for a, own in ids.items()
        }
        for session in parts["history"] + parts["query"]:
            date = session["dialogue_timestamp"][:10]
            files["situation"][user][date] = {
                "start_timestamp": f"{date[:8]}01 07:00:00",
                "end_timestamp": session["dialogue_timestamp"],
                "requirement_ids": ["work-1", "health-2"][: len(session["topics"])],
                "situation": f"what happened before {date}",
            }
            for stem, make in MAKERS.items():
                files[stem][user][date] = {key: make(value) for key, value in session["topics"].items()}
        files["situation"][user]["2024-09-02"] = {
            "start_timestamp": "2024-09-01 07:00:00",
            "end_timestamp": "2024-09-02 12:00:00",
            "requirement_ids": ["leisure-1"],
            "situation": "nobody spoke of it",
        }
    return files


def _framework(given: dict[str, Any]) -> dict[str, Any]:
    needs = [{"need": need, "evidences": [f"because {need}"]} for need in given["implicit_needs"]]
    kept = {"user_query": given["user_query"], "implicit_needs": needs, "requirement": given["requirement"]}
    return {"requirement_type": "need", **kept}


def _verdict(given: dict[str, Any]) -> dict[str, Any]:
    lists = {
        f"{side}_list": [{"solution": s, "feedback_reason": f"{side} reason"} for s in own]
        for side, own in given["solution"].items()
    }
    return {"analysis": "because", **lists}


MAKERS = {
    "requirement_framework": _framework,
    "candidate_solution": lambda given: [c["solution"] for c in given["candidate_solutions"]],
    "solution_preference": _verdict,
}
FOLDERS = {
    "background": "background",
    "requirement": "requirement",
    "preference": "preference",
    "situation": "situation",
    "requirement_framework": "dialogue_framework/requirement",
    "candidate_solution": "dialogue_framework/candidate_solution",
    "solution_preference": "dialogue_framework/solution_preference",
}


def write_palset(folder: Path, main: Any = None, side: dict[str, Any] | None = None, language: str = "zh") -> Path:
    """Write the release as it is laid out; `side={}` writes the main file alone."""
    main = main_file(language) if main is None else main
    ending = "_en.json" if language == "en" else ".json"
    files = {f"input{ending}": main}
    for stem, content in (side_files(main) if side is None else side).items():
        files[f"{FOLDERS[stem]}/{stem}{ending}"] = content
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8")
    return folder
