"""What each page takes of this machine on a data set of PersTurnBench's size, and on one of 1,000 users.

    python benchmarks/pages.py                          every page on 112 users
    python benchmarks/pages.py 01 09 --users 112 1000   these pages on both, and the ratio of their processor times
    python benchmarks/pages.py 01 --dialogues 3500 --with history=none   rated conversations, each of a user of its own

The corpus is synthetic: four scenarios, some 70 turns and 220 logged actions a user. Each page is rendered by `perslib
report` in a process of its own, which is ended after `--most` seconds. An endpoint on loopback, in another process,
answers as `tests/goldens.py` does, at once, so that what is measured is perslib: `seconds` on the clock, `CPU` of the page's
processes and not of the endpoint, `MB` the largest of them. `estimate` is what `perslib report --dry-run` says before.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from perslib.corpus import Corpus, save
from perslib.worlds import world

ROOT = Path(__file__).resolve().parents[1]
PAGES = [f"{number:02d}" for number in range(14)]


def serve() -> None:
    """Answer until standard input closes."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]
    from endpoint import Endpoint
    from goldens import answer

    with Endpoint(answer) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


@contextmanager
def endpoint() -> Iterator[str]:
    """Run the endpoint in a process of its own; gives its address."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def make_corpus(users: int, options: argparse.Namespace) -> Corpus:
    """Make a synthetic corpus of so many users, as released: with `--dialogues` of so many users with one conversation."""
    made = world(users=options.dialogues // 12 if options.dialogues else users, seed=42, language=options.language)
    if options.as_released:
        made = replace(made, extras={}, events=made.events.iloc[:0])
    return split_dialogues(made, options.dialogues) if options.dialogues else made


def split_dialogues(corpus: Corpus, number: int) -> Corpus:
    """Make each of the first conversations that of another user; nothing else is known of them."""
    sessions = corpus.sessions.head(number)
    apart = {tuple(key): f"dialogue-{i}" for i, key in enumerate(sessions[["user", "scenario", "session"]].to_numpy())}

    def own(frame: Any) -> Any:
        keys = map(tuple, frame[["user", "scenario", "session"]].to_numpy())
        return frame.assign(user=[apart.get(key) for key in keys]).dropna(subset="user")

    users = corpus.users.iloc[[0] * len(apart)].assign(user=list(apart.values()))
    users["profile"] = [{} for _ in apart]
    return Corpus("dialogues", corpus.language, users, own(sessions), own(corpus.turns))


def render(page: str, folder: Path, home: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Render a page; seconds, processor seconds, the largest memory of a process in MB, and how it ended."""
    command = [sys.executable, "-m", "perslib", "report", page, "--corpus", str(folder), "--backbone", "scripted"]
    command += [part for one in options.given for part in ("-p", one)]
    command += ["--limit", str(options.limit)] if options.limit else []
    environment = {**os.environ, "PERSLIB_HOME": str(home), "PYTHONPATH": str(ROOT), "PERSLIB_PROGRESS": "0"}
    estimate = "" if options.no_estimate else estimated(command, environment, options.most)
    clock = time.perf_counter()
    with (home / f"{page}.txt").open("w") as said:
        process = subprocess.Popen(
            command, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        state, used = wait(process, options.most)
    seconds = time.perf_counter() - clock
    ended = "ok" if state == 0 else f"over {options.most:.0f} s" if state is None else "FAILED"
    if ended == "FAILED":
        print((home / f"{page}.txt").read_text()[-1500:], file=sys.stderr)
    took = {"seconds": seconds, "processor": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1e3}
    return {"page": page, **took, "ended": ended, "estimate": estimate}


def wait(process: subprocess.Popen[bytes], most: float) -> tuple[int | None, Any]:
    """Wait so long, then end the process and what it began, as Ctrl-C would; None and what it took, or its exit code."""
    late_at = time.monotonic() + most
    signals = iter((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
    is_late = False
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return None if is_late else process.returncode, used
        if time.monotonic() > late_at:
            is_late, late_at = True, time.monotonic() + 30
            os.killpg(process.pid, next(signals))
        time.sleep(0.1)


def estimated(command: list[str], environment: Mapping[str, str], most: float) -> str:
    """Return what a dry run says that the page takes."""
    try:
        done = subprocess.run([*command, "--dry-run"], env=environment, capture_output=True, text=True, timeout=most)
    except subprocess.TimeoutExpired:
        return "no estimate in time"
    return " ".join(done.stdout.split())


def line(users: int, found: Mapping[str, Any]) -> str:
    """A row of the table."""
    return (
        f"{found['page']:<6}{users:>7,}{found['seconds']:>9.1f}{found['processor']:>9.1f}{found['memory']:>8,.0f}"
        f"  {found['ended']:<12}{found['estimate'][57:]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=PAGES, help="by number; all if none is named")
    parser.add_argument("--users", type=int, nargs="+", default=[112])
    parser.add_argument("--dialogues", type=int, default=0, help="instead: so many users with one conversation each")
    parser.add_argument("--language", default="zh", choices=("en", "zh"))
    parser.add_argument("--as-released", action="store_true", help="without logs, truth, and candidates' replies")
    parser.add_argument("--with", dest="given", nargs="*", default=[], metavar="NAME=VALUE", help="parameters of pages")
    parser.add_argument("--limit", type=int, default=0, help="judgments a judge, as of `perslib report`")
    parser.add_argument("--most", type=float, default=1200, help="seconds after which a page is ended")
    parser.add_argument("--no-estimate", action="store_true", help="leave dry runs out")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    print(f"{'page':<6}{'users':>7}{'seconds':>9}{'CPU':>9}{'MB':>8}  {'':<12}estimate", flush=True)
    sizes = [options.dialogues] if options.dialogues else options.users
    with tempfile.TemporaryDirectory(prefix="perslib-pages-") as place, endpoint() as url:
        sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]
        from goldens import BACKBONE

        folders = {size: save(make_corpus(size, options), Path(place) / f"corpus-{size}") for size in sizes}
        for page in options.pages:
            spent = {}
            for size, folder in folders.items():
                home = Path(place) / f"{page}-{size}"
                home.mkdir()
                (home / "backbones.toml").write_text(BACKBONE.format(url), encoding="utf-8")
                found = render(page, folder, home, options)
                print(line(size, found), flush=True)
                spent[size] = found["processor"]
            if len(spent) > 1:
                least, largest = min(spent), max(spent)
                print(
                    f"      {spent[largest] / spent[least]:.1f} × the processor time at {largest / least:.1f} × the users"
                )


if __name__ == "__main__":
    main()
