"""Tables of ratings as people write them, with a known truth: roles × names × decoys × scales × languages × forms, a seed a table.

made = make_table(7)                 # made.rows as they stand in the file, made.truth what they mean
outcome(made, folder)                # right, asked, refused, or wrong
"""

from __future__ import annotations

import csv
import io
import json
import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import read_release
from perslib.errors import Ambiguous, DataError

NAMES = {
    "en": {
        "user": ["participant", "user_id", "annotator", "PROLIFIC_PID", "Worker ID", "rater", "respondent", "email", "subject_id", "who"],
        "request": ["prompt", "question", "user_message", "instruction", "query", "Request", "what the user asked", "input"],
        "response": ["response", "reply", "model_answer", "output", "completion", "assistant_message", "bot reply", "generated_text"],
        "score": ["rating", "satisfaction", "stars", "mos", "likert", "how_satisfied", "user_rating", "human_score", "human_overall", "quality", "user_verdict", "helpfulness", "annotator_score", "Overall, how good was this answer?"],
    },
    "de": {"user": ["Teilnehmer", "Nutzer"], "request": ["Frage", "Anfrage"], "response": ["Antwort"], "score": ["Bewertung", "Zufriedenheit"]},
    "zh": {"user": ["用户", "标注员"], "request": ["问题", "提问"], "response": ["回答", "回复"], "score": ["评分", "满意度"]},
    "ja": {"user": ["ユーザー"], "request": ["質問"], "response": ["回答", "応答"], "score": ["評価", "満足度"]},
    "es": {"user": ["participante", "usuario"], "request": ["pregunta"], "response": ["respuesta"], "score": ["valoración", "puntuación"]},
    "ru": {"user": ["пользователь"], "request": ["вопрос"], "response": ["ответ"], "score": ["оценка"]},
}  # fmt: skip
TEXTS = {
    "en": ("How do I {} a {} before {}?", "You could {} the {} first, and then wait until {}."),
    "de": ("Wie kann ich vor {2} ein {1} {0}, ohne größere Mühe?", "Zuerst müssen Sie {0}; danach prüft man das {1} bis {2} für später."),
    "zh": ("我想在{2}之前{0}{1}，应该怎么做？", "您可以先{0}，然后检查{1}，等到{2}再继续。"),
    "ja": ("{2}までに{1}を{0}するにはどうすればいいですか。", "まず{1}を{0}して、{2}まで待ってください。"),
    "es": ("¿Cómo puedo {} el {} antes de {}?", "Primero debería {} el {}, y después esperar hasta {} según el año."),
    "ru": ("Как мне {} этот {} до {}?", "Сначала нужно {} этот {}, а потом подождать до {}."),
}  # fmt: skip
WORDS = (
    ["paint", "move", "fix", "clean", "sell"],
    ["table", "bicycle", "garden", "roof", "laptop"],
    ["noon", "Sunday", "winter", "the rain"],
)
LIKERT = {
    "en": ["very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"],
    "de": ["sehr unzufrieden", "eher unzufrieden", "teils/teils", "eher zufrieden", "sehr zufrieden"],
    "zh": ["非常不满意", "不满意", "一般", "满意", "非常满意"],
    "ja": ["とても不満", "不満", "どちらでもない", "満足", "とても満足"],
    "es": ["muy insatisfecho", "insatisfecho", "neutral", "satisfecho", "muy satisfecho"],
    "ru": ["очень недоволен", "недоволен", "нейтрально", "доволен", "очень доволен"],
}
FORMS = ("csv", "semicolon", "tsv", "xlsx", "jsonl", "json", "nested", "sqlite", "latin", "title rows")
SCALES = (
    "1-5",
    "1-5",
    "1-5",
    "1-7",
    "0-10",
    "1-10",
    "1-4",
    "1-3",
    "0-100",
    "of ten",
    "of five",
    "stars",
    "likert",
    "likert",
    "thumbs",
    "worst",
    "best",
    "anchored",
    "half",
    "named",
    "yes",
)
MISSING = ("", "", "", "NA", "N/A", "null", "nan", "-", "#REF!", "-99", "999")


@dataclass
class Made:
    """A table, and what it means."""

    seed: int
    rows: list[dict[str, Any]]
    form: str
    truth: list[tuple[str, str, str, float | None]]
    about: dict[str, Any] = field(default_factory=dict)


def make_table(seed: int) -> Made:
    """Make the table of a seed."""
    draw = random.Random(seed)
    language = draw.choice(["en"] * 6 + ["de", "zh", "ja", "es", "ru"])
    names = {role: draw.choice(NAMES[language][role]) for role in NAMES["en"]}
    users = [f"{draw.choice('PABQ')}{draw.randrange(10**5):05}" for _ in range(draw.choice([6, 9, 14]))]
    ask, say = TEXTS[language]
    used, truth, kind = set(), [], draw.choice(SCALES)
    if kind == "thumbs" and language == "ru":
        kind = "1-5"
    for i in range(draw.choice([40, 66])):
        while (words := (*(draw.choice(w) for w in WORDS), i % 7)) in used:
            continue
        used.add(words)
        tag = f" ({i + 11})" if i % 2 else f" {i + 11}"
        truth.append((users[i % len(users)], ask.format(*words) + tag, say.format(*words) + tag, draw.random() ** 0.6))
    spell, expected, header = _make_scale(kind, names["score"], language, draw)
    missing = draw.choice(MISSING)
    rows, meant = [], []
    for user, request, reply, level in truth:
        is_rated = draw.random() > 0.08
        rows.append(
            {
                names["user"]: user,
                names["request"]: request,
                names["response"]: reply,
                header: spell(level) if is_rated else missing,
            }
        )
        meant.append((user, request, reply, expected(level) if is_rated else None))
    about = {"kind": kind, "names": names, "header": header, "missing": missing, "language": language}
    decoys = [_DECOYS[name] for name in draw.sample([*_DECOYS], draw.choice([0, 1, 2, 2, 3]))]
    about["decoys"] = [d.__name__ for d in decoys]
    for decoy in decoys:
        decoy(rows, draw, names)
    order = [*rows[0]]
    draw.shuffle(order)
    rows = [{name: row[name] for name in order} for row in rows]
    form = draw.choice(FORMS)
    if form == "latin" and language not in ("de", "es"):
        form = "csv"
    return Made(seed, rows, form, meant, about)


def _make_scale(kind: str, name: str, language: str, draw: random.Random) -> Any:
    """Return how a level between 0 and 1 is written, what it means on 1 to 5, and what the column is called."""

    def on(low: int, high: int, spell: Any = int, header: str = name, step: float = 1, turned: bool = False) -> Any:
        def number(level: float) -> float:
            return low + step * round(level * (high - low) / step)

        def expected(level: float) -> float:
            at = (number(level) - low) / (high - low)
            return 1 + 4 * at

        def write(level: float) -> Any:
            return spell(low + high - number(level) if turned else number(level))

        return write, expected, header

    if kind in ("1-5", "1-7", "0-10", "1-10", "1-4", "1-3", "0-100"):
        low, high = map(int, kind.split("-"))
        return on(low, high)
    if kind == "of ten":
        return on(1, 10, lambda n: f"{n}/10")
    if kind == "of five":
        return on(1, 5, lambda n: f"{n} / 5")
    if kind == "stars":
        return on(1, 5, lambda n: "★" * n + "☆" * (5 - n))
    if kind == "likert":
        return on(0, 4, lambda n: LIKERT[language][n])
    if kind == "thumbs":
        return on(0, 1, lambda n: "👍" if n else "👎")
    if kind == "yes":
        return on(0, 1, lambda n: "yes" if n else "no")
    if kind == "half":
        return on(1, 5, lambda n: n, step=0.5)
    if kind == "named":
        return on(1, 7, header=draw.choice([f"{name} (1-7)", f"{name}_1_7", f"{name} [1 to 7]"]))
    if kind == "anchored":
        return on(1, 5, lambda n: {1: "1 = very bad", 5: "5 = very good"}.get(n, n))
    if kind == "worst":
        return on(
            1,
            6,
            header=draw.choice([f"{name} (1 = excellent, 6 = very poor)", f"{name} (1 = sehr gut, 6 = ungenügend)"]),
            turned=True,
        )
    return on(1, 5, header=draw.choice([f"{name} (1 = best)", f"{name}: 1 = very good … 5 = very bad"]), turned=True)


# -- decoys -----------------------------------------------------------------------------------------------------


def _add(name: str, make: Any) -> Any:
    def decoy(rows: list[dict[str, Any]], draw: random.Random, names: dict[str, str]) -> None:
        if name not in rows[0]:
            for i, row in enumerate(rows):
                row[name] = make(i, draw)

    decoy.__name__ = name
    return decoy


def _text(i: int, draw: random.Random) -> str:
    return f"{draw.choice(['It was', 'I found it', 'This seems'])} {draw.choice(['clear', 'too long', 'odd', 'fine'])}, note {i}"


_DECOYS: dict[str, Any] = {
    one.__name__: one
    for one in (
        _add("score", lambda i, d: d.randint(1, 5)),
        _add("gpt4_score", lambda i, d: d.randint(1, 5)),
        _add("llm_judge", lambda i, d: round(d.uniform(1, 5), 2)),
        _add("auto_rating", lambda i, d: d.randint(1, 5)),
        _add("bleu", lambda i, d: round(d.random(), 4)),
        _add("prompt_quality", lambda i, d: d.randint(1, 5)),
        _add("rating_before", lambda i, d: d.randint(1, 5)),
        _add("confidence", lambda i, d: d.randint(1, 5)),
        _add("difficulty", lambda i, d: d.randint(1, 5)),
        _add("answer", lambda i, d: f"The reference is number {i}, as the book says {d.random():.3f}."),
        _add("reference_answer", lambda i, d: f"The reference is number {i}, as the book says {d.random():.3f}."),
        _add("comment", _text),
        _add("feedback_text", _text),
        _add("prompt_template", lambda i, d: "Answer the question of the user: {question}"),
        _add("system_prompt", lambda i, d: "You are a helpful assistant."),
        _add("user_id", lambda i, d: "u1"),
        _add("ResponseId", lambda i, d: f"R_{d.randrange(10**9):09x}"),
        _add("id", lambda i, d: i),
        _add("batch", lambda i, d: f"batch-{i % 3}"),
        _add("model", lambda i, d: ["gpt-x", "brook"][i % 2]),
        _add("timestamp", lambda i, d: f"2025-03-{1 + i % 27:02} 10:{i % 60:02}:00"),
        _add("age", lambda i, d: 20 + i % 9),
        _add("duration", lambda i, d: round(d.uniform(2, 90), 1)),
        _add("language", lambda i, d: "en"),
        _add("turn_count", lambda i, d: d.randint(1, 5)),
        _add("toxicity", lambda i, d: round(d.random() / 10, 3)),
    )
}


# -- files ------------------------------------------------------------------------------------------------------


def write_table(made: Made, folder: Path) -> Path:
    """Write the table in its form."""
    rows, names = made.rows, [*made.rows[0]]
    path = folder / f"t{made.seed}.csv"
    if made.form in ("csv", "semicolon", "tsv", "latin", "title rows"):
        text = io.StringIO()
        delimiter = {"semicolon": ";", "tsv": "\t"}.get(made.form, ",")
        writer = csv.writer(text, delimiter=delimiter)
        if made.form == "title rows":
            text.write(f"# exported for study {made.seed}\n\n")
        writer.writerow(names)
        writer.writerows([row[name] for name in names] for row in rows)
        path = path.with_suffix(".tsv") if made.form == "tsv" else path
        path.write_bytes(text.getvalue().encode("latin-1" if made.form == "latin" else "utf-8", "replace"))
    elif made.form == "xlsx":
        path = path.with_suffix(".xlsx")
        pd.DataFrame(rows, columns=names).astype(object).to_excel(path, index=False)
    elif made.form == "sqlite":
        path = path.with_suffix(".sqlite")
        with closing(sqlite3.connect(path)) as database:
            pd.DataFrame(rows, columns=names).astype(object).to_sql("ratings", database, index=False)
    else:
        path = path.with_suffix(".jsonl" if made.form == "jsonl" else ".json")
        if made.form == "nested":
            keys = [*made.about["names"].values()][:3]
            rows = [
                {"meta": {k: v for k, v in row.items() if k not in keys}, "turn": {k: row[k] for k in keys}}
                for row in rows
            ]
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) if made.form == "jsonl" else f"[{','.join(lines)}]", "utf-8")
    return path


def outcome(made: Made, folder: Path) -> tuple[str, str]:
    """Return right, asked, refused or wrong, and why."""
    try:
        corpus = read_release(write_table(made, folder), "any").corpus
    except Ambiguous as error:
        return "asked", str(error)
    except DataError as error:
        return ("asked" if "--" in str(error) and "Name it" in str(error) + "Say which" else "refused"), str(error)
    turns = corpus.turns
    read = {
        (r.user, r.request, r.response): r.given if "given" in turns and pd.notna(r.given) else r.score
        for r in turns.itertuples()
    }
    scale = corpus.scale
    wrong = []
    for user, request, reply, level in made.truth:
        if (user, request, reply) not in read:
            return "wrong", f"no such row; taken {corpus.meta.get('taken', {}).get('columns')}"
        score = read[user, request, reply]
        value = (
            None
            if score is None or pd.isna(score)
            else float(scale.to_five(score))
            if "given" in turns
            else float(score)
        )
        if (value is None) != (level is None) or (
            value is not None and abs(value - level) > (0.45 if made.about["kind"] == "0-10" else 0.13)
        ):
            wrong.append((level, score))
    if wrong:
        return "wrong", f"{len(wrong)} scores, such as {wrong[:3]}; taken {corpus.meta['taken']['columns']} {scale}"
    return "right", ""
