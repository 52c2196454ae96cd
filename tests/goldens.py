"""Goldens: every number and sentence of every page, recorded once and compared after each change.

    python tests/goldens.py record             run all pages and write tests/goldens.json
    python tests/goldens.py compare            run all pages and name what differs
    python tests/goldens.py compare 01 04      these pages alone

Pages that ask a model ask an endpoint on loopback whose answers follow from the question alone, so that a run is
the same every time. Kept are digests of each table and figure (its CSV) and of each page's text. The last recorded
files lie in .perslib/goldens/ (or the folder named by --keep), where a difference can be read with diff.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import html
import io
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
GOLDENS = Path(__file__).with_name("goldens.json")
CORPORA = ("sample/en", "sample/zh")
#: Parameters that make a page show all it can without taking long.
PAGES: dict[str, list[str]] = {
    "00": [],
    "01": ["--limit", "40", "-p", "judges=all"],
    "02": ["--limit", "40", "-p", "vary=memory, evidence, window, language, written, repeat, update"],
    "03": ["--limit", "40"],
    "04": ["--limit", "40", "-p", "others=supervised, nearest, zero-shot"],
    "05": ["--limit", "4", "-p", "history=2", "-p", "logs=6"],
    "06": [],
    "07": ["--limit", "40", "-p", "answers=true", "-p", "builds=true", "-p", "strategies=zero-shot, user modelling"],
    "08": ["--limit", "60", "-p", "asks=true"],
    "09": ["--limit", "6", "-p", "memories=structured, measured, MemoryBank"],
    "10": [],
    "12": ["-p", "draws=60"],
    "13": ["--limit", "60"],
}  # fmt: skip
BACKBONE = """[scripted]
base_url = "{}"
model = "scripted"
structured = "schema"
logprobs = true
cache_as = "scripted"
prices = {{ in = 1, out = 2 }}
"""


# -- an endpoint whose answers follow from the question -----------------------------------------------------


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """A completion in the form that was asked for, drawn with the question as the seed."""
    asked = "\n".join(str(message["content"]) for message in body["messages"])
    form = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    key = json.dumps([asked, form, body.get("seed"), body.get("temperature")], sort_keys=True)
    dice = random.Random(hashlib.sha256(key.encode()).hexdigest())
    score = dice.choices("12345", (1, 2, 3, 5, 4))[0]
    if form:
        text = json.dumps(instance(form, form, dice, asked, score), ensure_ascii=False)
    elif body.get("max_tokens") == 1:
        text = score
    else:
        text = excerpt(dice, asked, 200)
    return {
        "object": "chat.completion",
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
                "logprobs": {"content": list(tokens(text, score))} if body.get("logprobs") else None,
            }
        ],
        "usage": {"prompt_tokens": len(asked) // 3, "completion_tokens": len(text) // 3 + 1},
    }


def instance(
    form: dict[str, Any], root: dict[str, Any], dice: random.Random, asked: str, score: str, name: str = ""
) -> Any:
    """A value that fits a JSON schema."""

    def value(part: dict[str, Any], name: str = name) -> Any:
        return instance(part, root, dice, asked, score, name)

    if "$ref" in form:
        target = root
        for step in form["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return value(target)
    if "const" in form:
        return form["const"]
    if "enum" in form:
        return int(score) if form["enum"] == [1, 2, 3, 4, 5] else dice.choice(form["enum"])
    for way in ("anyOf", "oneOf"):
        if way in form:
            return value(dice.choice(form[way]))
    kind = form.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {key: value(part, key) for key, part in form.get("properties", {}).items()}
    if kind == "array":
        least = form.get("minItems", 1)
        count = dice.randint(least, min(form.get("maxItems", least + 2), least + 2))
        return [value(form.get("items", {"type": "string"})) for _ in range(count)]
    if kind in ("integer", "number"):
        low = math.ceil(form.get("minimum", 1))
        high = math.floor(form.get("maximum", low + 4))
        return int(score) if name == "score" and (low, high) == (1, 5) else dice.randint(low, high)
    if kind == "boolean":
        return dice.random() < 0.5
    if kind == "null":
        return None
    return excerpt(dice, asked, min(form.get("maxLength", 60), max(60, form.get("minLength", 0))))


def excerpt(dice: random.Random, asked: str, length: int) -> str:
    """Words that stand in the question."""
    words = " ".join(asked.split())
    start = dice.randrange(max(1, len(words) - length))
    return words[start : start + length].strip() or "ok"


def tokens(text: str, score: str) -> Any:
    """Log probabilities of each part of a text: spread over 1 to 5 at the score."""
    for part in re.findall(r'"score": |\d|\D+?(?="score": |\d|$)', text):
        top = [{"token": part, "logprob": -0.01, "bytes": None}]
        if part == score:
            shares = {k: math.exp(-abs(k - int(score)) * 1.2) for k in range(1, 6)}
            total = sum(shares.values())
            top = [{"token": str(k), "logprob": math.log(v / total), "bytes": None} for k, v in shares.items()]
            top.sort(key=lambda token: -token["logprob"])
        yield {**top[0], "token": part, "top_logprobs": top}


# -- running the pages ---------------------------------------------------------------------------------------


def run(pages: list[str], scratch: Path) -> dict[str, str]:
    """Render these pages for every corpus: "sample-en/01/agreement.csv" → its content, for each table, figure and page."""
    from endpoint import Endpoint

    with Endpoint(answer) as server, ThreadPoolExecutor(len(CORPORA)) as side_by_side:
        found = side_by_side.map(lambda corpus: run_corpus(corpus, pages, scratch, server.base_url), CORPORA)
        return {name: content for of_corpus in found for name, content in of_corpus.items()}


def run_corpus(corpus: str, pages: list[str], scratch: Path, base_url: str) -> dict[str, str]:
    """The pages of one corpus, one after another, in a workspace of their own."""
    short = corpus.replace("/", "-")
    home = scratch / short
    home.mkdir()
    (home / "backbones.toml").write_text(BACKBONE.format(base_url), encoding="utf-8")
    environment = {**os.environ, "PERSLIB_HOME": str(home), "PYTHONPATH": str(ROOT), "PERSLIB_PROGRESS": "0"}
    found: dict[str, str] = {}
    for page in pages:
        options = ["--language", corpus[-2:], "--backbone", "scripted", "--out", str(home / page), *PAGES[page]]
        command = [sys.executable, "-m", "perslib", "report", page, "--corpus", corpus, *options]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        said = "ok" if done.returncode == 0 else f"FAILED\n{done.stdout[-800:]}{done.stderr[-1500:]}"
        print(f"{corpus} {page}: {said}", flush=True)
        folder = home / page / short / "scripted"
        for path in sorted([*folder.rglob("*.csv"), *folder.glob("*.html")]):
            content = path.read_text(encoding="utf-8")
            content = page_text(content) if path.suffix == ".html" else without_times(content)
            found[f"{short}/{page}/{path.name}"] = content
    return found


def without_times(table: str) -> str:
    """A CSV without the columns that say how long something took, and numbers without digits that differ from run to run."""
    rows = list(csv.reader(io.StringIO(table)))
    kept = [i for i, name in enumerate(rows[0]) if "second" not in name] if rows else []
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[shorten(row[i]) for i in kept] for row in rows])
    return out.getvalue()


def shorten(cell: str) -> str:
    """A number with six digits: sums in another order end otherwise; any other cell as it is."""
    try:
        return f"{float(cell):.6g}" if "." in cell else cell
    except ValueError:
        return cell


def page_text(page: str) -> str:
    """What a reader sees of a page, without its code and tables, and what differs between two runs (dates, durations)."""
    page = page[page.find("<main>") :]
    for left_out in (
        r"<(script|style|svg)\b.*?</\1>",
        r'<dl class="facts">.*?</dl>',
        r'<details class="code">.*?</details>',
        r"<table\b.*?</table>",  # their numbers are in the CSV, without times
    ):
        page = re.sub(f"(?s){left_out}", " ", page)
    page = re.sub(r"</?(a|b|code|em|i|kbd|mark|small|span|strong|sub|sup)\b[^>]*>", "", page)
    text = html.unescape(re.sub(r"<[^>]+>", "\n", page))
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n")))) + "\n"


def digest(name: str, content: str) -> dict[str, Any]:
    """What is kept of a file: its hash, and enough to see at a glance what kind of change it was."""
    kept: dict[str, Any] = {"sha256": hashlib.sha256(content.encode()).hexdigest()[:20]}
    if name.endswith(".csv"):
        rows = list(csv.reader(io.StringIO(content)))
        kept |= {"rows": len(rows) - 1, "columns": ",".join(rows[0]) if rows else ""}
    else:
        kept |= {"lines": content.count("\n")}
    return kept


def compare(found: dict[str, str], pages: list[str], kept: Path, seen: Path) -> int:
    """Say what differs from the goldens; the number of differences."""
    recorded = {k: v for k, v in json.loads(GOLDENS.read_text(encoding="utf-8")).items() if k.split("/")[1] in pages}
    differing = []
    for name in sorted({*found, *recorded}):
        if name not in found:
            differing.append(f"missing  {name}")
        elif name not in recorded:
            differing.append(f"new      {name}")
        elif (now := digest(name, found[name])) != recorded[name]:
            differing.append(f"changed  {name}  {recorded[name]} -> {now}")
    print("\n".join(differing) or f"all {len(recorded)} equal")
    if differing:
        print(f"{len(differing)} of {len(recorded)} differ: diff -r {kept} {seen}")
    return len(differing)


def write(found: dict[str, str], folder: Path) -> None:
    """The files themselves, so that a difference can be read."""
    for name, content in found.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"some of {' '.join(PAGES)}; all if none is named")
    parser.add_argument("--keep", type=Path, default=ROOT / ".perslib" / "goldens", help="where the recorded files lie")
    given = parser.parse_args()
    pages = given.pages or list(PAGES)
    if unknown := set(pages) - set(PAGES):
        parser.error(f"no such page: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="perslib-goldens-") as scratch:
        found = run(pages, Path(scratch))
    if given.what == "compare":
        seen = given.keep.with_name(given.keep.name + "-now")
        shutil.rmtree(seen, ignore_errors=True)
        write(found, seen)
        return min(1, compare(found, pages, given.keep, seen))
    recorded = json.loads(GOLDENS.read_text(encoding="utf-8")) if GOLDENS.exists() else {}
    recorded = {k: v for k, v in recorded.items() if k.split("/")[1] not in pages}
    recorded |= {name: digest(name, content) for name, content in found.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(recorded[name])}" for name in sorted(recorded)]
    GOLDENS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    write(found, given.keep)
    print(f"{len(found)} recorded in {GOLDENS.relative_to(ROOT)}; their files in {given.keep}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
