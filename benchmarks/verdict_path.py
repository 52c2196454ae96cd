"""Which files one verdict passes, from block to table: `python benchmarks/verdict_path.py`.

Runs the personal judge with a structured memory on one reply, over a loopback endpoint, under a profiler, and counts the
files and functions of perslib that are entered, leg by leg.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
PACKAGE = str(ROOT / "perslib")


def entered(work: Callable[[], Any]) -> tuple[Any, set[str], set[tuple[str, str]]]:
    """What the work returns, and the files and functions of perslib that it enters in any thread."""
    files: set[str] = set()
    functions: set[tuple[str, str]] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE):
            files.add(file[len(PACKAGE) + 1 :])
            functions.add((file, frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        return work(), files, functions
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> None:
    """Print the legs."""
    from endpoint import Endpoint
    from scripted import MEMORY

    from perslib.corpus import load
    from perslib.judge import evaluate, make_judge, select_blocks
    from perslib.llm import Backbone, Cache
    from perslib.llm.entries import BackboneEntry
    from perslib.report.show.tables import format_table
    from perslib.stats import agreement, calibrate_verdicts, histories

    def reply(body: dict[str, Any]) -> str:
        is_memory = "scoring_style" in json.dumps(body)
        verdict = {"score": 4, "reason": "satisfied", "rationale": "As asked.", "evidence": ["M1"]}
        return json.dumps(MEMORY if is_memory and "Reply to score" not in json.dumps(body) else verdict)

    with Endpoint(reply) as server, tempfile.TemporaryDirectory() as folder:
        entry = BackboneEntry("loopback", base_url=server.base_url, model="stand-in", structured="json_schema")
        corpus = load("sample/en")
        blocks, *cut = entered(lambda: list(select_blocks(corpus, limit=1)))
        model = Backbone(entry, Cache(Path(folder) / "answers.sqlite"))
        legs = [("block", *cut)]
        verdicts, *judged = entered(
            lambda: evaluate(make_judge("personal"), corpus, model, blocks=blocks, progress=False)
        )
        legs.append(("memory and judge", *judged))
        scored, *mapped = entered(lambda: calibrate_verdicts(verdicts, histories(corpus)))
        legs.append(("calibration", *mapped))
        found, *met = entered(lambda: agreement(scored, corpus))
        legs.append(("agreement", *met))
        _, *shown = entered(lambda: format_table(found))
        legs.append(("table", *shown))
    for name, files, functions in legs:
        print(f"{name:18}{len(files):4} files {len(functions):5} functions")
    every = set().union(*(files for _, files, _ in legs))
    count = len(set().union(*(functions for *_, functions in legs)))
    print(f"{'all':18}{len(every):4} files {count:5} functions")
    print("  " + "\n  ".join(sorted(every)))


if __name__ == "__main__":
    main()
