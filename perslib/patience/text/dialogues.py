"""Dialogues as they are read: what was said, the goal, how it ended, and how people rated the whole.

Turns are exchanges: what the user said, and what the system answered. The goal is a set of names; items of one domain
begin alike (`hotel.info.area`, `hotel`). An encoder (`perslib.patience.text.encoders`) makes vectors of the turns,
which take the place of state and action (DEUS, section 4.2).

Logs of real dialogues that can be read:

    convlab(folder)       ConvLab's human evaluation, one JSON file a dialogue, or a list: goal, log, success, two scores
    dstc(folder)          a folder a call with log.json and label.json, of the second and third challenge
    uss(corpus)           a corpus read by `perslib.corpus.uss`: no goals, no success; proxies, see there

None of these data come with perslib. What a file lacks is said with its place; nothing is guessed except where a
docstring says "proxy".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, Corpus
from perslib.errors import DataError, Problem
from perslib.patience.dialogues import FAILURE, SUCCESS, Actions, Dialogue, Dialogues
from perslib.patience.text.encoders import Encoder

#: There is one action, to say something; what was said is in the state.
SAYS = Actions(("says",), ("says",), np.ones((1, 1), np.float32))
WINDOW = 2


@dataclass(frozen=True)
class TextDialogue:
    """One finished dialogue in words."""

    id: str
    turns: tuple[tuple[str, str], ...]
    goal: tuple[str, ...]
    status: int
    """+1 success, −1 failure, 0 not known."""
    ratings: Mapping[str, float] = field(default_factory=dict)
    """Ratings of the whole dialogue by name, as `appropriateness`; 1 to 5."""
    reason: str = ""
    user: str = ""
    system: str = ""
    true_costs: tuple[float, ...] | None = field(default=None, repr=False)
    true_patience: float | None = field(default=None, repr=False)

    def pairs(self, window: int = WINDOW) -> list[tuple[str, str]]:
        """Each system turn with the utterances before it, `[SEP]` between them, the user's last among them."""
        said = [utterance for turn in self.turns for utterance in turn]
        return [
            (" [SEP] ".join(u for u in said[max(0, 2 * k + 1 - window) : 2 * k + 1] if u), system)
            for k, (_, system) in enumerate(self.turns)
        ]


def goal_names(texts: Sequence[TextDialogue]) -> tuple[str, ...]:
    """Every item that occurs in a goal, in order of the alphabet."""
    return tuple(sorted({item for text in texts for item in text.goal}))


def as_dialogues(
    texts: Sequence[TextDialogue], encoder: Encoder, names: tuple[str, ...] | None = None
) -> Dialogues:
    """What `Patience(actions="none")` is fitted on: vectors of what was said, goals, and how it ended.

    Give test dialogues the `names` of the training dialogues' goals; items that only the test has are left out.
    """
    if not texts:
        raise DataError("There are no dialogues.", "Read or make some first.")
    names = goal_names(texts) if names is None else names
    pairs = [pair for text in texts for pair in text.pairs()]
    vectors = np.asarray(encoder.encode(pairs), dtype=np.float32)
    ends = np.cumsum([len(text.turns) for text in texts])
    found = []
    for text, states in zip(texts, np.split(vectors, ends[:-1])):
        wanted = set(text.goal)
        found.append(
            Dialogue(
                goal=np.array([n in wanted for n in names], dtype=np.float32),
                states=states,
                actions=np.zeros(len(text.turns), dtype=int),
                status=text.status,
                reason=text.reason,
                user=text.user,
                id=text.id,
                true_costs=None if text.true_costs is None else np.array(text.true_costs, np.float32),
                true_patience=text.true_patience,
            )
        )
    width = tuple(f"{encoder.name}:{i}" for i in range(vectors.shape[1]))
    return Dialogues(tuple(found), SAYS, names, width)


def rated(texts: Sequence[TextDialogue]) -> pd.DataFrame:
    """One row a dialogue: dialogue, user, system, turns, status, reason, and a column a rating."""
    return pd.DataFrame(
        [
            {
                "dialogue": t.id,
                "user": t.user,
                "system": t.system,
                "turns": len(t.turns),
                "status": t.status,
                "reason": t.reason,
                **t.ratings,
            }
            for t in texts
        ]
    )


SCORES = {"understanding_score": "understanding", "appropriateness_score": "appropriateness"}
#: Words in a question of DSTC's questionnaire → the rating it is; the first that fits.
QUESTIONS = {"underst": "understanding", "phras": "appropriateness"}
#: Answers on an agree–disagree scale, in words.
ANSWERS = {
    "strongly disagree": 1.0,
    "disagree": 2.0,
    "slightly disagree": 3.0,
    "slightly agree": 4.0,
    "agree": 5.0,
    "strongly agree": 6.0,
}
#: Acts of USS that end a dialogue well, and those that report a failure (MultiWOZ and SGD call them so).
ENDS = ("thank", "bye", "goodbye", "select")
FAILURES = ("notify_failure", "nooffer", "nobook")


def convlab(path: str | Path) -> list[TextDialogue]:
    """Logs in the manner of ConvLab's human evaluation, from a JSON file or the JSON files of a folder.

    A dialogue is an object with `goal` (by domain: info, reqt, book; `domain_order` is not a domain), `log` (a list of
    [0 for the user or 1 for the system, text]), `success`, `understanding_score` and `appropriateness_score`.
    """
    return _read(path, "*.json", _convlab)


def dstc(path: str | Path, questions: Mapping[str, str] = QUESTIONS) -> list[TextDialogue]:
    """Calls of DSTC-2 or DSTC-3: folders that hold `log.json` (system turns) and `label.json` (user turns, the task).

    `task-information` gives the goal (constraints, request-slots), success as the caller felt it, and the
    questionnaire; `questions` says which rating a question is, by a part of its wording.
    """
    folders = sorted(f.parent for f in Path(path).rglob("log.json"))
    problems: list[Problem] = []
    found = []
    for folder in folders:
        try:
            log, label = (
                json.loads((folder / name).read_text("utf-8-sig")) for name in ("log.json", "label.json")
            )
            found.append(_dstc(folder, log, label, questions))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
            problems.append(Problem(str(folder), f"is not a labelled call ({_said(reason)})"))
    return _all(found, problems, path, "Calls are folders with log.json and label.json.")


def uss(corpus: Corpus) -> list[TextDialogue]:
    """Rated dialogues of USS, as a proxy study: they tell neither goal nor success.

    Proxies, made without a look at ratings: a dialogue succeeded if its user ends with thanks, a goodbye or a choice,
    and none of the last three system turns reports a failure or has nothing to offer; the goal is the set of
    acts that the user needed. The spread of the ratings is small: most dialogues of MWOZ and SGD are rated 3 or 4.
    """
    overall = corpus.sessions.set_index(SESSION)["satisfaction"].astype("float64")  # missing: NaN
    found = []
    for key, turns in corpus.turns.sort_values("turn").groupby(SESSION, sort=False):
        asked, did = (turns[name].map(_text).tolist() for name in ("request_action", "response_action"))
        content = any(end in asked[-1].lower() for end in ENDS)
        failed = any(sign in act.lower() for act in did[-3:] for sign in FAILURES)
        rating = float(overall.get(key, float("nan")))
        found.append(
            TextDialogue(
                id="/".join(map(str, key)),
                turns=tuple(zip(turns["request"].map(_text), turns["response"].map(_text))),
                goal=tuple(sorted({act for said in asked for act in said.split(",") if act})) or ("talk",),
                status=SUCCESS if content and not failed else FAILURE,
                ratings={} if math.isnan(rating) else {"overall": rating},
                reason="proxy",
                user=str(key[0]),
                system=str(key[1]),
            )
        )
    return found


def _read(path: str | Path, pattern: str, one: Any) -> list[TextDialogue]:
    path = Path(path)
    files = sorted(path.glob(pattern)) if path.is_dir() else [path]
    found: list[TextDialogue] = []
    problems: list[Problem] = []
    for file in files:
        try:
            content = json.loads(file.read_text("utf-8-sig"))
        except (OSError, ValueError) as reason:
            problems.append(Problem(str(file), f"cannot be read as JSON ({reason})"))
            continue
        several = isinstance(content, list)
        for i, dialogue in enumerate(content if several else [content]):
            name = f"{file.stem}-{i}" if several else file.stem
            try:
                found.append(one(name, dialogue))
            except (KeyError, TypeError, ValueError, AttributeError) as reason:
                problems.append(Problem(f"{file}:{i}" if several else str(file), _said(reason)))
    return _all(found, problems, path, "See perslib.patience.text.dialogues for the shape of a log.")


def _all(
    found: list[TextDialogue], problems: list[Problem], path: str | Path, remedy: str
) -> list[TextDialogue]:
    if problems or not found:
        raise DataError(problems or Problem(str(path), "holds no dialogue"), remedy)
    return found


def _said(reason: Exception) -> str:
    return f"has no {reason}" if isinstance(reason, KeyError) else str(reason)


def _text(said: Any) -> str:
    return said if isinstance(said, str) else ""


def _convlab(name: str, dialogue: Mapping[str, Any]) -> TextDialogue:
    ratings = {
        ours: float(dialogue[theirs]) for theirs, ours in SCORES.items() if dialogue.get(theirs) is not None
    }
    return TextDialogue(
        id=str(dialogue.get("id", name)),
        turns=exchanges((int(side), str(text)) for side, text in dialogue["log"]),
        goal=tuple(_items(dialogue["goal"])),
        status=SUCCESS if dialogue["success"] else FAILURE,
        ratings=ratings,
        user=str(dialogue.get("worker", "")),
        system=str(dialogue.get("system", "")),
    )


def exchanges(log: Any) -> tuple[tuple[str, str], ...]:
    """Utterances of either side (0 user, 1 system) as exchanges; several of one side in a row are joined."""
    turns: list[tuple[str, str]] = []
    user = ""
    for side, text in log:
        if side == 0:
            user = f"{user} {text}".strip()
        elif turns and not user:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]} {text}")
        else:
            turns.append((user, text))
            user = ""
    if not turns:
        raise ValueError("the system never says anything")
    return tuple(turns)


def _items(goal: Mapping[str, Any]) -> Iterator[str]:
    for domain, part in goal.items():
        if domain == "domain_order" or not part:
            continue
        yield domain
        for kind in ("info", "reqt", "book"):
            yield from (f"{domain}.{kind}.{slot}" for slot in part.get(kind) or ())


def _dstc(
    folder: Path, log: Mapping[str, Any], label: Mapping[str, Any], questions: Mapping[str, str]
) -> TextDialogue:
    task = label["task-information"]
    said = (turn["transcription"] for turn in label["turns"])
    system = (turn["output"]["transcript"] for turn in log["turns"])
    # The system opens the call: its first turn answers nothing.
    spoken = [(1, text) for text in system]
    heard = [(0, text) for text in said]
    in_order = [u for pair in zip(spoken, heard) for u in pair] + spoken[len(heard) :]
    goal, feedback = task["goal"], task["feedback"]
    return TextDialogue(
        id=str(log.get("session-id", folder.name)),
        turns=exchanges(in_order),
        goal=(
            "task",
            *(f"task.info.{slot}" for slot, _ in goal["constraints"]),
            *(f"task.reqt.{slot}" for slot in goal["request-slots"]),
        ),
        status=SUCCESS if feedback["success"] else FAILURE,
        ratings=dict(_answers(feedback.get("questionnaire") or [], questions)),
        user=str(log.get("caller-id", "")),
    )


def _answers(
    questionnaire: Sequence[Sequence[Any]], questions: Mapping[str, str]
) -> Iterator[tuple[str, float]]:
    for question, answer in questionnaire:
        rating = next((name for part, name in questions.items() if part in str(question).lower()), None)
        value = ANSWERS.get(str(answer).strip().lower())
        if rating and value is not None:
            yield rating, value
