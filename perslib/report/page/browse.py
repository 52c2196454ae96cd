"""All verdicts of a page in one file beside it, which opens without a network: each with its conversation, evidence and raw answer."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.schema import ORIGINAL, SESSION, TURN
from perslib.paths import write_whole
from perslib.report.page.rendering import hash_script, page_css
from perslib.report.run.results import group_by_reply
from perslib.report.show.html import load_template
from perslib.report.show.words import name_of
from perslib.text import translate

HERE = Path(__file__).parent
ENDING = ".verdicts.html"
#: Of so many answers of models the prompt and the raw text are in the file; `perslib cache show` has the others.
MOST_ANSWERS = 2_000
_ABOUT = ("reason", "rationale", "error", "mode", "asked")


def write_verdict_browser(
    path: Path, title: str, language: str, verdicts: pd.DataFrame, replies: pd.DataFrame, turns: pd.DataFrame
) -> Path:
    """Write the file: `verdicts` and `replies` as a page saved them, `turns` of its corpus."""
    data = {
        "rows": list(_list_rows(verdicts, replies, turns)),
        "sessions": _list_sessions(verdicts, turns),
        "answers": _read_answers(verdicts),
        "labels": _name_labels(),
    }
    packed = base64.b64encode(
        gzip.compress(json.dumps(data, ensure_ascii=False, default=str).encode(), mtime=0)
    ).decode()
    script = (HERE / "browse.js").read_text("utf-8")
    page = {
        "title": title,
        "language": language,
        "css": page_css() + (HERE / "browse.css").read_text("utf-8"),
        "data": packed,
    }
    write_whole(path, load_template("browse.html.j2").render(page, script=script, script_hash=hash_script(script)))
    return path


def _list_rows(verdicts: pd.DataFrame, replies: pd.DataFrame, turns: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Yield a row a reply: where it is, what the user gave, what each judge gave, and the reply where it is not the recorded one."""
    scores = turns.set_index(TURN)["score"].to_dict()
    for (table, candidate, *turn), reply, own in group_by_reply(verdicts, replies, ["table"]):
        is_own = candidate in ("", ORIGINAL)
        judges = [
            {"judge": name_of(str(row["judge"])), "raw": _plain(row["raw"]), "evidence": _as_list(row.get("evidence")),
             **{name: _plain(row[name]) for name in _ABOUT if name in row and _plain(row[name]) is not None}}
            for row in own
        ]  # fmt: skip
        yield {
            **dict(zip(TURN, map(_plain, turn))), "table": table, "candidate": candidate, "judges": judges,
            "gold": _plain(scores.get(tuple(turn))) if is_own else None, "reply": None if is_own else _plain(reply),
        }  # fmt: skip


def _list_sessions(verdicts: pd.DataFrame, turns: pd.DataFrame) -> dict[str, list[list[Any]]]:
    """Return the conversations that verdicts are of, and those of evidence, by "user/scenario/session"."""
    wanted = {"/".join(map(str, key)) for key in verdicts[SESSION].drop_duplicates().itertuples(index=False)}
    if "evidence" in verdicts:
        cited = (
            (user, piece) for user, pieces in zip(verdicts["user"], verdicts["evidence"]) for piece in _as_list(pieces)
        )
        wanted |= {f"{user}/{str(piece).rpartition('/')[0]}" for user, piece in set(cited)}
    sessions: dict[str, list[list[Any]]] = {}
    for row in turns[[*TURN, "request", "response", "score"]].itertuples(index=False):
        if (key := f"{row.user}/{row.scenario}/{row.session}") in wanted:
            sessions.setdefault(key, []).append(
                [_plain(row.turn), _plain(row.request), _plain(row.response), _plain(row.score)]
            )
    return sessions


def _read_answers(verdicts: pd.DataFrame) -> dict[str, list[str]]:
    """Return what was sent and what came back, by the digest of the question, of those that are in the cache."""
    from perslib.llm import Cache
    from perslib.llm.cache.encoding import messages_of

    store = Cache(policy="only")
    asked = verdicts["asked"].dropna().drop_duplicates().tolist()[:MOST_ANSWERS] if "asked" in verdicts else []
    if not asked or not store.path.is_file():
        return {}
    answers = {}
    for digest, answer in store.get_many(asked).items():
        sent = messages_of(store.read_request(digest) or {})
        prompt = "\n\n".join(f"{message['role']}\n{message['content']}" for message in sent)
        answers[digest] = [prompt, str(answer.get("raw", ""))]
    return answers


def _as_list(value: Any) -> list[Any]:
    """Return a list of what verdicts cite: a text alone is one piece."""
    if isinstance(value, str):
        return [value]
    return [_plain(one) for one in value] if hasattr(value, "__iter__") else []


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: None for what is missing, whole numbers as such."""
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def _name_labels() -> dict[str, str]:
    return {
        "search": translate("Search in texts"),
        "all": translate("all"),
        "user": translate("User"),
        "task": translate("Scenario"),
        "turn": translate("Turn"),
        "candidate": translate("Candidate"),
        "table": translate("File"),
        "gold": translate("User's score"),
        "disagreement": translate("Largest disagreement first"),
        "order": translate("In their order"),
        "lowest": translate("Lowest user's score first"),
        "count": translate("{shown} of {all} replies"),
        "more": translate("Show more"),
        "replaced": translate("The recorded reply was replaced by that of {candidate}."),
        "evidence": translate("It rests on these turns"),
        "gave": translate("the user gave {score}"),
        "prompt": translate("Prompt as sent"),
        "raw": translate("Raw answer"),
        "assistant": translate("Assistant"),
        "choose": translate("Choose a reply to see its conversation and what judges say of it."),
    }
