"""The answer cache: what is found and kept, and what happens when disk, folder or file do not play along."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from perslib.cli import main
from perslib.errors import CacheError, UnknownName
from perslib.llm.cache import encoding, store
from perslib.llm.cache.store import Cache, CacheWarning, digest

META = {"backbone": "embedded", "model": "SmolLM2", "prompt": "en/judge@1:ab12cd34", "stage": "judge"}
LONG = {"text": "很满意，" * 400, "logprobs": [{"token": "5", "logprob": -0.25}], "data": {"score": 5}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "cache.sqlite"


# -- the address -------------------------------------------------------------------------------------------


def test_a_digest_known_by_hand():
    # printf '{"model":"m","temperature":0}' | sha256sum
    assert (
        digest({"temperature": 0.0, "model": "m"}) == "5ea0bd3062f3367622f9db5beb24c92616972474713a12dc2db70d63c9e08824"
    )


def test_what_means_the_same_has_one_address():
    assert digest({"a": 1, "b": [1.0, "x"]}) == digest({"b": (1, "x"), "a": 1.0})
    assert digest({"seed": np.int64(3)}) == digest({"seed": 3})


@pytest.mark.parametrize(
    "other", [{"t": "é"}, {"t": "e\u0301 "}, {"t": 1}, {"t": "1"}, {"t": None}, {"t": True}, {"t": ["é"]}, {}]
)
def test_what_differs_has_another(other):
    assert digest({"t": "e\u0301"}) != digest(other)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=4), st.text(max_size=9) | st.integers() | st.floats(0, 2), max_size=6))
def test_the_order_of_keys_does_not_matter(parts):
    assert digest(parts) == digest(dict(reversed(parts.items())))


def test_what_has_no_canonical_form_is_refused():
    with pytest.raises(ValueError):
        digest({"temperature": math.nan})
    with pytest.raises(TypeError, match="keys must be text"):
        digest({"scores": {5: "good"}})


# -- finding and keeping -----------------------------------------------------------------------------------


def test_an_answer_comes_back_as_it_was(path):
    with Cache(path) as cache:
        assert cache.get("d") is None
        for name, answer in {"d": LONG, "short": {"text": "好\ud800", "cost": None}}.items():
            cache.put(name, answer, META)
            assert cache.get(name) == answer
    with Cache(path) as again:
        assert again.get("d") == LONG
        assert again.get_many(["d", "none", "short"]).keys() == {"d", "short"}
        assert len(again) == 2
    assert path.stat().st_size < 60_000, "long answers are compressed"


def test_many_at_once(path):
    with Cache(path) as cache:
        cache.put_many((f"{n}", {"n": n}, META) for n in range(2500))
        assert cache.get_many([f"{n}" for n in range(0, 5000, 2)]) == {f"{n}": {"n": n} for n in range(0, 2500, 2)}


@pytest.mark.parametrize(
    ("policy", "found", "written"),
    [("use", True, True), ("refresh", False, True), ("off", False, False), ("only", True, False)],
)
def test_the_policies(path, policy, found, written):
    with Cache(path) as cache:
        cache.put("d", {"text": "old"}, META)
    with Cache(path, policy) as cache:
        assert (cache.get("d") is not None) is found
        cache.put("d", {"text": "new"}, META)
        cache.put("e", {"text": "more"}, META)
    with Cache(path) as cache:
        assert cache.get("d") == {"text": "new" if written else "old"}
        assert (cache.get("e") is not None) is written


def test_an_unknown_policy_names_the_near_ones(path):
    with pytest.raises(UnknownName, match="Did you mean refresh"):
        Cache(path, "refesh")  # type: ignore[arg-type]


def test_off_touches_nothing_and_only_needs_a_file(path):
    with Cache(path, "off") as cache:
        cache.get("d")
        cache.put("d", {}, META)
    assert not path.parent.exists()
    with Cache(path, "only") as cache, pytest.raises(CacheError, match="There is no cache at"):
        cache.get("d")


def test_vectors_live_beside_answers(path):
    vectors = np.random.default_rng(0).normal(size=(3, 384)).astype(np.float32)
    with Cache(path) as cache:
        cache.put_vectors([(f"v{n}", vector, META) for n, vector in enumerate(vectors)])
        back = cache.get_vectors(["v0", "v2", "v9"])
    assert back.keys() == {"v0", "v2"}
    np.testing.assert_array_equal(back["v2"], vectors[2])


def test_the_default_place_is_the_workspace(home):
    with Cache() as cache:
        cache.put("d", {}, META)
    assert (home / ".perslib" / "cache.sqlite").is_file()


def test_threads_share_one_cache(path):
    with Cache(path) as cache:

        def use(number: int) -> None:
            for n in range(50):
                cache.put(f"{number}-{n}", {"text": f"{number}/{n}"}, META)
                assert cache.get(f"{number}-{n}") == {"text": f"{number}/{n}"}

        threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(cache) == 400


# -- looking after -----------------------------------------------------------------------------------------


def filled(path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Ten answers of SmolLM2, one a day from 1 May on, then ten of Qwen3."""
    cache = Cache(path)
    for n in range(20):
        moment = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=n)
        monkeypatch.setattr(time, "time", moment.timestamp)
        model = "SmolLM2" if n < 10 else "Qwen3"
        cache.put(f"{n:02}", {"x": "y" * 92}, {**META, "model": model})  # {"x":"y…"} has 100 bytes
    return cache


def test_contents_are_counted_by_what_they_are_about(path, monkeypatch):
    with filled(path, monkeypatch) as cache:
        table = cache.contents().set_index("model")
    assert list(table.entries) == [10, 10] and list(table.bytes) == [1000, 1000]
    assert table.loc["SmolLM2", "first"] == datetime(2026, 5, 1, tzinfo=UTC)
    assert table.loc["Qwen3", "last"] == datetime(2026, 5, 20, tzinfo=UTC)
    assert table.loc["Qwen3", "prompt"] == "en/judge@1:ab12cd34"


def test_an_empty_cache_has_an_empty_table(path):
    with Cache(path) as cache:
        assert cache.contents().empty and cache.contents()["first"].dt.tz is not None


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ({"older_than": datetime(2026, 5, 6, tzinfo=UTC)}, list(range(5, 20))),
        ({"older_than": timedelta(days=365 * 50)}, list(range(20))),
        ({"model": "Qwen3"}, list(range(10))),
        ({"model": "SmolLM2", "older_than": datetime(2026, 5, 6, tzinfo=UTC)}, list(range(5, 20))),
        ({"keep_bytes": 350}, [17, 18, 19]),
        ({"keep_bytes": 350, "model": "SmolLM2"}, list(range(10, 20))),
        ({"prompt": "another"}, list(range(20))),
    ],
)
def test_pruning_forgets_what_fits_all_that_is_said(path, monkeypatch, what, left):
    with filled(path, monkeypatch) as cache:
        assert cache.prune(**what) == 20 - len(left)
        assert sorted(cache.get_many([f"{n:02}" for n in range(20)])) == [f"{n:02}" for n in left]


def test_pruning_must_be_told_what(path):
    with Cache(path) as cache:
        with pytest.raises(CacheError, match="Say what to forget"):
            cache.prune()
        with pytest.raises(UnknownName, match="Did you mean model"):
            cache.prune(modle="Qwen3")


def test_the_file_shrinks(path):
    with Cache(path) as cache:
        cache.put_many((str(n), {"text": os.urandom(2000).hex()}, META) for n in range(200))
        before = cache.vacuum()
        cache.prune(model="SmolLM2")
        assert cache.vacuum() < before / 10


# -- disk, folder and file ---------------------------------------------------------------------------------


def test_a_full_disk_loses_no_answer_and_is_said_once(path, monkeypatch):
    """`max_page_count` makes SQLite answer as it does on a full disk."""
    big = {"text": os.urandom(30_000).hex()}
    cache = Cache(path)
    cache.put("before", big, META)
    limit = cache.connection().execute("PRAGMA page_count").fetchone()[0] + 2
    cache.connection().execute(f"PRAGMA max_page_count = {limit}")
    with pytest.warns(CacheWarning, match="full.*in memory.*Free some space for .*kept") as told:
        for n in range(5):
            cache.put(f"during{n}", big, META)
    assert len(told) == 1
    assert len(cache.get_many([f"during{n}" for n in range(5)])) == 5, "the run has all its answers"
    monkeypatch.setattr("perslib.llm.cache.store._RETRY", 0.0)
    cache._next_attempt = 0.0
    cache.connection().execute("PRAGMA max_page_count = 1000000")
    with pytest.warns(CacheWarning, match="6 answers that were waiting in memory are written now"):
        cache.put("after", big, META)
    cache.close()
    with Cache(path) as again:
        assert len(again) == 7


def test_what_cannot_be_saved_to_the_end_is_said(path):
    cache = Cache(path)
    cache.put("a", {}, META)
    cache.connection().execute("PRAGMA max_page_count = 1")
    with pytest.warns(CacheWarning, match="in memory"):
        cache.put("b", {"text": os.urandom(30_000).hex()}, META)
    with pytest.warns(CacheWarning, match="1 answers could not be written and are lost"):
        cache.close()


def as_nobody(code: str, *arguments: str) -> str:
    """What `code` prints when run without the rights of root, which may write anywhere."""
    drop = "import os\nif os.geteuid() == 0: os.setgroups([]); os.setuid(65534)\n"
    script = (
        "import sys\nimport perslib.llm.cache.store\nfrom perslib.llm.cache.store import Cache\n"
        f"from perslib.errors import CacheError\n{drop}{textwrap.dedent(code)}"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def read_only():
    """A folder that cannot be written to, with one answer in its cache; outside pytest's private folders."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cache.sqlite"
        with Cache(file) as cache:
            cache.put("d", {"text": "kept"}, META)
        file.chmod(0o444)
        Path(folder).chmod(0o555)
        yield file
        Path(folder).chmod(0o755)


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_read_only_folder_is_refused_before_anything_is_paid(read_only):
    said = as_nobody(
        """
        for path in sys.argv[1], sys.argv[1] + ".new":
            try:
                Cache(path).get("d")
            except CacheError as error:
                print(error)
        """,
        str(read_only),
    )
    for line, path in zip(said.splitlines(), (read_only, f"{read_only}.new"), strict=True):
        assert f"The cache {path} cannot be opened" in line
        assert f"Make {read_only.parent} writable, or set PERSLIB_HOME" in line and "'only'" in line


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_read_only_folder_can_be_read_from(read_only):
    said = as_nobody(
        """
        cache = Cache(sys.argv[1], "only")
        print(cache.get("d"), cache.get("e"), len(cache))
        """,
        str(read_only),
    )
    assert said == "{'text': 'kept'} None 1\n"


@pytest.mark.parametrize("damage", ["text", "torn"])
def test_a_damaged_file_is_named_with_a_remedy_and_left_alone(path, damage):
    if damage == "text":
        path.parent.mkdir()
        path.write_text("not a database at all, " * 100)
    else:
        with Cache(path) as cache:
            cache.put_many((f"{n}", {"text": os.urandom(500).hex()}, META) for n in range(300))
            cache.vacuum()
        whole = path.read_bytes()
        path.write_bytes(whole[:8192] + os.urandom(len(whole) - 8192))
    before = path.read_bytes()
    with Cache(path) as cache, pytest.raises(CacheError) as error:
        cache.get_many([f"{n}" for n in range(300)])
    assert str(path) in str(error.value) and f"mv {path} {path}.damaged" in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\0\x11", "Expecting value"),
        (5, "not int"),
        (b"[1]", "found [1]"),
        (b"[" * 100_000, "recursion"),
        (b'{"text": 5}', "text is 5"),
        (b'{"text": "", "error": 5}', "error is 5"),
        (b'{"text": "", "cost": NaN}', "cost is nan"),
        (b'{"text": "", "tokens_in": "x"}', "tokens_in is 'x'"),
        (b'{"text": "", "logprobs": [{"token": "4"}]}', "logprobs hold what is no token"),
    ],
)
def test_an_entry_that_is_none_is_left_out_with_a_word(path, body, why):
    with Cache(path) as cache:
        cache.put("bad", {"text": "short"}, META)
        cache.connection().execute("UPDATE entries SET body = ?", (body,))
        cache.put("good", LONG, META)
        with pytest.warns(CacheWarning, match=re.escape("one entry cannot be read") + ".*bad: .*" + re.escape(why)):
            assert cache.get_many(["bad", "good"]) == {"good": LONG}
        with pytest.warns(CacheWarning, match="one entry"):
            assert cache.latest("embedded", 5) == [LONG]
        with pytest.warns(CacheWarning, match="2 entries"):
            assert cache.get_vectors(["bad", "good"]) == {}
        cache.put("bad", {"text": "anew"}, META)
        assert cache.get("bad") == {"text": "anew"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE entries SET created_at = 'abc'", "1 entry"),
        ("UPDATE entries SET created_at = 1e300", "1 entry"),
        ("UPDATE entries SET backbone = x'6162', model = 5", "1 entry"),
        ("UPDATE entries SET backbone = x'ff'", "It is damaged or not a cache. Move it away"),
        ("DROP TABLE entries", "It is damaged or not a cache. Move it away"),
        ("ALTER TABLE entries DROP COLUMN stage", "It is damaged or not a cache. Move it away"),
    ],
)
def test_what_stands_in_a_foreign_cache_ends_the_command_in_a_sentence(home, change, said):
    with Cache() as cache:
        cache.put("d", {"text": "x"}, META)
        cache.connection().execute(change)
    done = CliRunner().invoke(main, ["cache"])
    assert said in done.output and (done.exception is None or isinstance(done.exception, SystemExit))


def test_the_database_of_another_program_is_left_alone(path):
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks (url)")
    other.commit()
    other.close()
    with Cache(path) as cache, pytest.raises(CacheError, match="database of another program"):
        cache.get("d")


def test_a_newer_format_is_not_touched(path):
    with Cache(path) as cache:
        cache.put("d", {}, META)
        cache.connection().execute("PRAGMA user_version = 99")
    with Cache(path) as cache, pytest.raises(CacheError, match="written by a newer perslib"):
        cache.get("d")


def test_where_the_disk_has_no_shared_memory_the_older_journal_is_used(path, monkeypatch):
    """SQLite's dot-file locking, made for network disks, has no write-ahead log: as on NFS."""
    monkeypatch.setattr(store, "_URI", store._URI + "&vfs=unix-dotfile")
    with Cache(path) as cache:
        with pytest.warns(CacheWarning, match="offers no write-ahead log; the journal mode 'truncate'"):
            cache.put("d", LONG, META)
        assert cache.get("d") == LONG


def test_odd_letters_in_the_path(tmp_path):
    path = tmp_path / "a b#c?d%20 数据" / "cache.sqlite"
    with Cache(path) as cache:
        cache.put("d", {}, META)
    assert path.is_file()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_its_own_connection(path):
    with Cache(path) as cache:
        cache.put("parent", {"n": 1}, META)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of other tests
            child = os.fork()
        if child == 0:
            fine = cache.get("parent") == {"n": 1}
            cache.put("child", {"n": 2}, META)
            os._exit(0 if fine else 1)
        assert os.waitpid(child, 0)[1] == 0
        cache.put("parent2", {"n": 3}, META)
        assert cache.get("child") == {"n": 2} and len(cache) == 3


# -- what was sent -----------------------------------------------------------------------------------------

EVIDENCE = "She liked the short plan. " * 20


def body(question: str) -> dict:
    said = [{"role": "system", "content": "Judge."}, {"role": "user", "content": f"{EVIDENCE}\n\n\n\n{question}"}]
    return {"model": "m", "messages": said, "temperature": 0.0}


def test_what_was_sent_is_kept_with_the_answer(path):
    with Cache(path) as cache:
        cache.put_requests([(key, body(key)) for key in ("a", "b")])
        assert cache.read_request("a") == body("a")  # before it is written
        cache.put_many([(key, {"text": key}, {**META, "stage": key}) for key in ("a", "b")])
    with Cache(path, "only") as cache:
        assert cache.read_request("b") == body("b")
        assert cache.read_request("c") is None
        assert cache.connection().execute("SELECT COUNT(*) FROM texts").fetchone() == (1,)  # the evidence, once
    with Cache(path) as cache:
        cache.prune(stage="a")
        assert cache.read_request("a") is None and cache.read_request("b") == body("b")
        cache.prune(stage="b")
        assert cache.connection().execute("SELECT COUNT(*) FROM texts").fetchone() == (0,)


@given(texts=st.lists(st.text(max_size=20).map(lambda t: t * 12), max_size=3))
def test_any_text_comes_back_as_it_was_sent(texts):
    sent = {"messages": [{"role": "user", "content": "\n\n".join(texts)}], "stop": texts}
    assert encoding.unpack_request(*encoding.pack_request(sent)) == sent


def test_content_in_parts_comes_back(path):
    parts = [{"type": "text", "text": EVIDENCE}]
    sent = {"messages": [{"role": "user", "content": parts}]}
    assert encoding.unpack_request(*encoding.pack_request(sent)) == sent


def test_a_file_of_an_older_version_has_answers_alone(path):
    with Cache(path) as cache:
        cache.put("a", {"text": "a"}, META)
        cache.connection().executescript("DROP TABLE sent; DROP TABLE texts; PRAGMA user_version = 1")
    with Cache(path, "only") as cache:
        assert cache.get("a") and cache.read_request("a") is None
    with Cache(path) as cache:
        cache.put_requests([("b", body("b"))])
        cache.put("b", {"text": "b"}, META)
        assert cache.get("a") and cache.read_request("b") == body("b")
