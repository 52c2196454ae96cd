"""Every page on every crooked corpus, its sentences held against what it saves.

    python tests/crooked_pages.py                      all corpora, all pages that read one
    python tests/crooked_pages.py dice rare -p 01 13   these corpora, these pages
    python tests/crooked_pages.py --language zh        in Chinese

Prints what is refuted, and exits with 1 where anything is. Pages 05 and 06 read no corpus here, and run once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]
#: Pages, with parameters that keep them short.
PAGES: dict[str, dict[str, object]] = {
    "00_corpus": {},
    "01_verification": {},
    "02_ablations": {},
    "03_rationales": {},
    "04_replay": {"limit": 60},
    "07_ux_bench": {},
    "08_judge_bias": {"damaged": 30},
    "09_memories_as_evidence": {},
    "10_patience_and_satisfaction": {},
    "12_how_many_labels": {"draws": 60},
    "13_people_compared": {},
}
ONCE = ("05_pal_bench", "06_patience")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*")
    parser.add_argument("-p", "--pages", nargs="*", default=[])
    parser.add_argument("--language", default="en")
    given = parser.parse_args(arguments)
    from crooked import CROOKED
    from sentences import list_lies, record_page

    from perslib.corpus import save

    warnings.simplefilter("ignore")
    pages = {name: how for name, how in PAGES.items() if not given.pages or name[:2] in given.pages}
    lies = 0
    with tempfile.TemporaryDirectory() as scratch:
        todo = [(corpus, page, how) for corpus in given.corpora or CROOKED for page, how in pages.items()]
        todo += [("", page, {}) for page in ONCE if page[:2] in given.pages or not (given.pages or given.corpora)]
        for corpus, page, how in todo:
            folder = Path(scratch, corpus)
            if corpus and not folder.exists():
                save(CROOKED[corpus](), folder)
            where = {"corpus": str(folder)} if corpus else {}
            began = time.perf_counter()
            found = list_lies(record_page(page, **where, **how, out=str(Path(scratch, "out")), language=given.language))
            lies += len(found)
            print(f"{corpus or '-':20} {page:30} {time.perf_counter() - began:5.0f} s  {len(found)}", flush=True)
            print("".join(f"    {lie}\n" for lie in found), end="", flush=True)
    print(f"{lies} refuted")
    return int(lies > 0)


if __name__ == "__main__":
    sys.exit(main())
