"""How fast behaviour is mined from logs, and in how much memory: `python benchmarks/signals.py`.

Sessions are put together from the bundled sample's requests and replies, Chinese and English by turns, replies of 800
characters on average, every message another one; a sixth of the requests ask the last one again. In the plain log a
twelfth of the requests close; in the rich one half complain, thank, praise, give up or want more, and a tenth give away
something personal.

Rates are of processor time, the best of several fresh logs. A processor whose core is shared with others' work takes
longer for the same, so compare only what was measured side by side.

    signals          the table of sessions that lie in memory, texts as they are
    de-identified    the same, personal things replaced first
    from JSONL       mined from a file, de-identified

Logs that grow are Parquet, mined in a process of its own each; with --cluster also by two processes of a Dask cluster,
whose file has to have the same digest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from perslib.corpus import load
from perslib.systems.uxbench.signals import is_parallel_request, mine_log, session, similarity, table, tokenize_request
from perslib.systems.uxbench.signals.mining import TABLE

MEAN_REPLY = 800
START = 1_767_225_600
AGAIN, CLOSING, CUED, PERSONAL = 0.15, 0.08, 0.5, 0.1
#: What the rich log says of a reply, and of the one who says it.
CUES = {
    "zh": "不对，重新写|答非所问|你没看懂我的问题|太笼统了|太长了，简单点|又是一样的回答|胡说八道|你是不是傻|我要的不是这个|没用|"
    "这不是我想要的|我说的不是这个意思|还是不对|能不能认真点|無語，你沒看懂|谢谢|非常感谢你的帮助|太好了，谢谢|辛苦了|写得真好|解决了|"
    "懂了|好的|嗯嗯|原来如此|真棒|算了|不用了|我自己查吧|懒得问了|继续|还有吗|再来一个|换句话说|我的意思是|详细说说",
    "en": "that's wrong|you didn't answer my question|too vague|way too long|you keep repeating the same thing|this is useless|"
    "not what i asked|are you kidding|doesn't work|you misunderstood me|I said short|what a joke|stop making things up|still wrong|"
    "give me something else|read my question again|ugh|thanks|thank you so much|perfect|that's exactly what i needed|ok|got it|"
    "great, it works|cheers|never mind|forget it|i'll just google it|more|go on|in other words|I mean|what else",
}
TELLS = {
    "zh": "我的手机号是138{:08}|邮箱 user{}@example.com|我叫王小明，{}号|身份证号11010519491231{:04}|微信号 wx_{:05}|QQ：{:09}",
    "en": "my email is user{}@example.com|call me at +1 415 555 {:04}|My name is John Smith, {}|password: Pw{}!x",
}
MARKS = {"zh": "，。！？～", "en": ",.!?;"}
EMOJI = "😡🙄👍😂🙏👎🎉"


class Writer:
    """Writes dialogues that nobody had, out of what was said in the sample; `rich` ones are full of cues."""

    def __init__(self, seed: int, rich: bool = False) -> None:
        self.rng = random.Random(seed)
        self.rich = rich
        turns = {lang: load(f"sample/{lang}").turns for lang in ("zh", "en")}
        self.asked = {lang: t["request"].dropna().tolist() for lang, t in turns.items()}
        self.said = {lang: "\n\n".join(t["response"].head(400)) for lang, t in turns.items()}
        self.closing = {
            "zh": ["谢谢", "好的", "算了", "不对，重新写", "继续"],
            "en": ["thanks", "ok", "never mind", "that's wrong", "more"],
        }

    def record(self, messages: int) -> dict[str, Any]:
        """One session as a log has it."""
        rng = self.rng
        lang = rng.choice(("zh", "en"))
        history: list[dict[str, Any]] = []
        clock, last = START + rng.random() * 1e7, ""
        for i in range(messages):
            if i % 2:
                clock += rng.uniform(2, 20)
                text = self.reply(lang)
            else:
                clock += rng.uniform(2, 180)
                last = text = self.request(lang, last)
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(clock))
            history.append(
                {
                    "turn_index": i,
                    "role": ("user", "assistant")[i % 2],
                    "message": text,
                    "create_time": stamp,
                    "is_unliked": int(rng.random() < 0.01),
                }
            )
        return {"cid": f"{rng.getrandbits(64):x}", "history": history}

    def request(self, lang: str, last: str) -> str:
        """A request, at times the last one again, at times a word that closes."""
        draw = self.rng.random()
        if last and draw < AGAIN:
            return last if draw < AGAIN / 2 else f"{last}{self.rng.choice('吗呢吧？?')}"
        if last and draw < AGAIN + CLOSING:
            return self.rng.choice(self.closing[lang])
        text = self.rng.choice(self.asked[lang])
        text = f"{text[: self.rng.randint(12, 60)]}{self.rng.randint(1, 99)}"
        return self.cued(text, lang, bool(last)) if self.rich else text

    def cued(self, text: str, lang: str, follows: bool) -> str:
        """A request of the rich log: a cue before it or in its place, an emoji, something personal, at times."""
        rng = self.rng
        if follows and rng.random() < CUED:
            said = f"{rng.choice(CUES[lang].split('|'))}{rng.choice(MARKS[lang])}"
            text = rng.choice([said, f"{said}{text}", f"{text}{rng.choice(MARKS[lang])} {said}"])
            text += rng.choice(EMOJI) if rng.random() < 0.3 else ""
        if rng.random() < PERSONAL:
            text += f" {rng.choice(TELLS[lang].split('|')).format(rng.randrange(10_000))}"
        return text

    def reply(self, lang: str) -> str:
        """A piece of what was replied, its length gamma-distributed around the mean."""
        length = min(6_000, max(20, int(self.rng.gammavariate(4, MEAN_REPLY / 4))))
        begin = self.rng.randrange(len(self.said[lang]) - length)
        return self.said[lang][begin : begin + length]

    def log(self, messages: int, each: int) -> list[dict[str, Any]]:
        """About so many messages, in sessions of `each`."""
        return [self.record(each) for _ in range(max(1, messages // each))]


def cpu(work: Callable[[], Any]) -> float:
    """Seconds of processor time."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def rates(writer: Writer, messages: int, each: int, times: int) -> dict[str, float]:
    """Stage → messages a second of processor time."""
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(times):
            records = writer.log(messages, each)
            n = sum(len(r["history"]) for r in records)
            sessions = [session(record) for record in records]
            log = Path(folder) / "log.jsonl"
            log.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
            stages: dict[str, Callable[[], Any]] = {
                "signals": lambda s=sessions: table(s, private=False),
                "de-identified": lambda s=sessions: table(s, private=True),
                "from JSONL": lambda p=log: mine_log(p),
            }
            for name, work in stages.items():
                best[name] = max(best.get(name, 0.0), n / cpu(work))
    return best


def pair() -> float:
    """Milliseconds for two messages of 20,000 characters that share their tokenize_request."""
    rng = random.Random(1)
    text = "".join(rng.choice("我们今天去公园看花草树木天气很好大家都开心然后回家吃饭休息") for _ in range(20_000))
    other = text[:9_000] + text[9_300:] + text[:300]

    def work() -> None:
        a, b = tokenize_request(text), tokenize_request(other)
        similarity(a, b, 0.5)
        is_parallel_request(text, other, a, b)

    return cpu(work) * 1_000


def peak(file: Path, out: Path) -> tuple[float, float]:
    """Seconds of processor time and the most megabytes that mining a file takes, in a process of its own."""
    code = (
        "import resource, sys, time; from perslib.systems.uxbench.signals import mine_log; begin = time.process_time(); "
        "mine_log(sys.argv[1], sys.argv[2]); "
        "print(time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file), str(out)], capture_output=True, text=True, check=True)
    seconds, most = map(float, done.stdout.split())
    return seconds, most / (1024 if sys.platform != "darwin" else 1 << 20)


def written(writer: Writer, file: Path, messages: int, part: int = 20_000) -> None:
    """A Parquet log of so many messages; after `part` of them the same is said again by others."""
    said = pa.Table.from_pylist(writer.log(min(part, messages), 10))
    with pq.ParquetWriter(file, said.schema) as made:
        for number in range(max(1, messages // part)):
            cids = pa.array([f"{number}-{cid}" for cid in said["cid"].to_pylist()])
            made.write_table(said.set_column(said.schema.get_field_index("cid"), "cid", cids))


def digest(out: Path) -> str:
    return hashlib.sha256((out / TABLE).read_bytes()).hexdigest()[:16]


def grown(writer: Writer, sizes: list[int], cluster: bool) -> None:
    """Logs of growing size: rate, peak memory, and the digest of what was written."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder, file = Path(name), Path(name) / "log.parquet"
            written(writer, file, size)
            seconds, most = peak(file, folder / "here")
            said = (
                f"{size:9,} messages, {file.stat().st_size / 1e6:6.1f} MB of Parquet: {size / seconds:8,.0f} a second"
            )
            print(f"{said}, at most {most:4.0f} MB, {digest(folder / 'here')}", flush=True)
            if cluster:
                begin = time.perf_counter()
                mine_log(file, folder / "there", scheduler="local")
                same = digest(folder / "there") == digest(folder / "here")
                print(
                    f"{'':9} by two processes {time.perf_counter() - begin:.0f} s, {'the same' if same else 'ANOTHER'}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="*", default=[10, 50, 200, 2_000])
    parser.add_argument("--grown", type=int, nargs="*", default=[20_000, 80_000, 320_000])
    parser.add_argument("--cluster", action="store_true", help="mine the growing logs on a Dask cluster too")
    asked = parser.parse_args()
    writer = Writer(7)
    for kind, made in (("plain", writer), ("rich", Writer(7, rich=True))):
        table([session(r) for r in made.log(2_000, 10)])  # cue lists are read and compiled
        for each in asked.lengths:
            for name, rate in rates(made, asked.messages, each, asked.times).items():
                print(
                    f"{kind:5} log, {each:5,} messages a session  {name:14} {rate:8,.0f} messages a second", flush=True
                )
    print(f"a pair of 20,000 characters: {min(pair() for _ in range(5)):.1f} ms", flush=True)
    grown(writer, asked.grown, asked.cluster)


if __name__ == "__main__":
    main()
