"""Every loader is given records that are odd in one field: it ends with a corpus or with problems that have places."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import prism_made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from releases_made import RELEASES, Files, merged, prism, rubric, write

from perslib.corpus import import_release, loader, read_release, read_rows
from perslib.corpus.files.records import COLUMNS, LONGEST
from perslib.errors import DataError

MISSING = "no such field"
#: What stands in place of each field.
ODD = [
    MISSING, None, [], {}, "", 0, -1, 1e999, float("nan"), True, "x", "\ud800", 10**30, [[["x"]]], [None], {"x": None},
]  # fmt: skip
#: In cells of tables: all of CSV are texts; what Parquet holds beside a number or a text.
CELLS = [MISSING, "", 0, -1, 1e999, True, "x", 10**30, [[["x"]]], {"x": None}]
ODD_CELLS = {".csv": CELLS, ".tsv": CELLS, ".parquet": [MISSING, "x", b"\xff", [1], date(2026, 1, 31)]}
#: Good records beside odd ones, and odd ones read at once.
GOOD, BATCH = 12, 50
#: Odd records of a release, about: of more, some of each field are taken.
MOST = 300


@pytest.fixture(autouse=True, scope="module")
def mine():
    """A loader of one's own, which looks at nothing itself."""

    @loader("mine")
    def read_mine(path, *, skip_bad=False, name="mine"):
        def row_of(line):
            own = json.loads(line)
            talk = {"request": own["talk"]["asked"], "response": own["talk"]["answered"]}
            return {"user": own["who"], **talk, "score": int(own["stars"])}

        return read_rows(path.read_text("utf-8").splitlines(), name, skip_bad=skip_bad, row_of=row_of)

    yield
    del loader._factories["mine"]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field of a JSON value, of lists those of the first item."""
    if path:
        yield path
    items = (
        list(value.items()) if isinstance(value, dict) else [(0, value[0])] if isinstance(value, list) and value else []
    )
    for key, item in items:
        yield from paths(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """The value with something odd at a path."""
    new = copy.copy(value)
    key, *deeper = path
    if deeper:
        new[key] = changed(value[key], tuple(deeper), odd)
    elif odd is MISSING:
        del new[key]
    else:
        new[key] = odd
    return new


def variants(made: Callable[[int], Files]) -> list[tuple[str, Files]]:
    """Files of one record each: with one field odd, or twice."""
    every: list[tuple[int, tuple[Any, ...], Any]] = []
    for i, (name, content) in enumerate(made(0).items()):
        known = ODD_CELLS.get(Path(name).suffix)
        every += [(i, path, odd) for path in paths(content) if not known or len(path) > 1 for odd in known or ODD]
        every += [(i, (), MISSING)]
    found: list[tuple[str, Files]] = []
    for i, path, odd in every[:: len(every) // MOST | 1]:
        files = made(GOOD + len(found))
        name = list(files)[i]
        own = files[name]
        twice = own * 2 if isinstance(own, list) else None
        files[name] = changed(own, as_in(own, path), odd) if path else twice
        found.append((f"{name} {path} {odd!r}", files))
    return found


def as_in(value: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """A path in this value, in whose objects the first keys may be others (the user of PAL-Set)."""
    if not path:
        return ()
    key = path[0] if isinstance(value, list) or path[0] in value else next(iter(value))
    return key, *as_in(value[key], path[1:])


def ends_well(path: Path, kind: str, skip_bad: bool, out: Path | None = None) -> bool:
    """Whether a reading ends with a corpus; any other end than this and problems with places is an error."""
    try:
        if out:
            reading = import_release(kind, path, out=out, skip_bad=skip_bad)
        else:
            reading = read_release(path, kind, skip_bad=skip_bad)
    except DataError as error:
        assert error.problems and all(problem.place and problem.message for problem in error.problems), error
        return False
    assert len(reading.corpus.sessions) and all(own.place and own.reason for own in reading.rejected)
    return True


def wrong_ends(
    made: Callable[[int], Files], kind: str, given: str, odd: list[tuple[str, Files]], folder: Path
) -> list[str]:
    """What a loader makes of good and odd records together other than it should; where it reads none, by halves."""
    good = [made(n) for n in range(GOOD)]
    out = folder.with_name("out") if len(odd) > BATCH // 2 else None  # halves are read only, which is quicker
    orders = {True: [*good, *(files for _, files in odd)], False: [*(files for _, files in odd), *good]}
    for skip_bad, parts in orders.items():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            write(folder, merged(parts))
        except (pa.ArrowException, ArithmeticError, UnicodeError):  # Parquet cannot hold it
            has_ended = False
            break
        try:
            has_ended = ends_well(folder / given, kind, skip_bad, out)
        except Exception as error:
            if len(odd) == 1:
                return [f"{odd[0][0]}, {skip_bad=}: {error!r}"[:300]]
            has_ended = False
        if not has_ended:
            break
    if len(odd) == 1 or has_ended or not skip_bad:
        return []
    half = len(odd) // 2
    return [wrong for part in (odd[:half], odd[half:]) for wrong in wrong_ends(made, kind, given, part, folder)]


@pytest.mark.simulation
@pytest.mark.parametrize("name", RELEASES)
def test_odd_records_are_read_or_named(tmp_path, name):
    kind, made, given = RELEASES[name]
    write(tmp_path / "good", merged(made(n) for n in range(GOOD)))
    assert ends_well(tmp_path / "good" / given, kind, False)
    odd = variants(made)
    batches = [odd[i :: len(odd) // BATCH + 1] for i in range(len(odd) // BATCH + 1)]
    wrong = [one for batch in batches for one in wrong_ends(made, kind, given, batch, tmp_path / "odd")]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(odd)}", *wrong[:30]])


@pytest.mark.system("readers", "mem_pal", "uxbench")
def test_every_kind_is_tried():
    assert {kind for kind, *_ in RELEASES.values()} == set(loader)


def wide(folder: Path, ending: str) -> None:
    columns = ["user", "request", "response", "cid", "role", *(f"c{i}" for i in range(20_000))]
    if ending == "parquet":
        pq.write_table(pa.table({column: ["x"] for column in columns}), folder / "t.parquet")
    elif ending == "csv":
        (folder / "t.csv").write_text(",".join(columns) + "\n" + ",".join("x" * len(columns)))
    else:
        (folder / "t.jsonl").write_text(
            "".join(json.dumps({"user": i, column: 1}) + "\n" for i, column in enumerate(columns))
        )


def long(folder: Path, ending: str) -> None:
    with (folder / f"t.{ending}").open("wb") as stream:
        stream.write(b"user,request,response\nu,q,r\n")
        stream.seek(LONGEST + (2 << 20))  # a hole: it takes no room on the disk
        stream.write(b"\n")


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("kind", "ending", "make", "bound"),
    [
        *((kind, ending, wide, COLUMNS) for kind in ("table", "uxbench") for ending in ("csv", "parquet")),
        ("table", "jsonl", wide, COLUMNS),
        *(("table", ending, long, LONGEST) for ending in ("csv", "jsonl")),
        ("uxbench", "csv", long, LONGEST),
        ("uss", "txt", long, LONGEST),
    ],
)
def test_what_no_record_is_as_large_as_is_refused(tmp_path, kind, ending, make, bound):
    make(tmp_path, ending)
    with pytest.raises(DataError, match=f"{bound:,}") as error:
        read_release(tmp_path / f"t.{ending}", kind)
    (problem,) = error.value.problems
    assert problem.place.startswith(f"t.{ending}") and error.value.remedy


def test_an_error_that_no_loader_foresaw_is_named(tmp_path):
    @loader("broken")
    def read_broken(path, *, skip_bad=False):
        rows = ({"user": "u", "request": "q", "response": {"a": 1}[key]} for key in "aab")
        return read_rows(rows, "broken") if path.name == "rows" else {}["way"]

    try:
        for name, place in (("rows", "row 3"), ("other", str(tmp_path / "other"))):
            (tmp_path / name).write_text("x")
            with pytest.raises(DataError, match=r"KeyError: .*\n.*data/README\.md") as error:
                read_release(tmp_path / name, "broken", skip_bad=True)
            assert error.value.problems[0].place == place and isinstance(error.value.__cause__, KeyError)
        with pytest.raises(TypeError):
            read_release(tmp_path / "rows", "broken", no_such_option=1)
    finally:
        del loader._factories["broken"]


@pytest.mark.system("readers")
@pytest.mark.parametrize("skip_bad", [True, False])
def test_what_is_left_of_a_bad_conversation_is_not_read_from_elsewhere(tmp_path, skip_bad):
    """PRISM has each reply twice; of a rating by two people the first counts."""
    files = merged(prism(n) for n in range(3))
    files["conversations.jsonl"][0]["conversation_history"][0]["turn"] = None
    files["utterances.jsonl"] += prism_made.utterances(prism(0)["conversations.jsonl"][0])
    files["utterances.jsonl"][0]["model_name"] = ""
    write(tmp_path / "prism", files)
    write(tmp_path / "rubric", merged([*map(rubric, range(3)), {k: v for k, v in rubric(1).items() if "human" in k}]))
    if not skip_bad:
        for kind, place in (("prism", "conversations.jsonl:1"), ("rubric", "human_judges_real_convs_FIXED_ANON.tsv:5")):
            with pytest.raises(DataError, match=place):
                read_release(tmp_path / kind)
        return
    reading = read_release(tmp_path / "prism", skip_bad=True)
    assert set(reading.corpus.sessions["session"]) == {"c1.0", "c1.1", "c2.0", "c2.1"} and len(reading.rejected) == 2
    assert len(read_release(tmp_path / "rubric", skip_bad=True).corpus.sessions) == 3
