"""One damaged run among good ones: every reader shows the good ones, and says of the damaged one where and what it is."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made import tiny_corpus
from test_leaderboard import row
from test_runs import JUDGING, written

import perslib
from perslib.corpus import save
from perslib.errors import DataError, ReportError
from perslib.report import run_report
from perslib.report.page.index import write_index
from perslib.report.run.manifest import write_manifest
from perslib.report.run.plan import backbone_folder, plan
from perslib.studies import compare

RUN = f"""{JUDGING}
import matplotlib.pyplot as plt, pandas as pd
fig, _ = plt.subplots()
report.save_figure(fig, "one", pd.DataFrame({{"a": [1]}}))
report.save_table(pd.DataFrame([{row("candidate", 4.0)!r}]), "leaderboard")
"""
GOOD, BAD = ("first", "second"), "third"
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Three runs that differ in their backbones' names."""
    home = tmp_path_factory.mktemp("damaged")
    save(tiny_corpus(), home / "data" / "tiny" / "en")
    run_report(written(home, "page", RUN), home / "data" / "tiny" / "en", out=home / "made")
    (one,) = (home / "made").glob("*/none")
    for name in (*GOOD, BAD):
        folder = home / "reports" / "tiny-en" / name
        shutil.copytree(one, folder)
        entry = json.loads((folder / "page.json").read_text("utf-8"))
        entry["backbone"]["name"] = name
        entry |= {kind: dict(list(entry[kind].items())[:3]) for kind in ("packages", "prompts")}  # to be quick
        entry["last_run"] = {**entry, "status": "failed", "failure": {"cell": 3, "error": "no luck", "line": None}}
        (folder / "page.json").write_text(json.dumps(entry), "utf-8")
        table = pd.read_csv(folder / "tables" / "leaderboard.csv").assign(candidate=name)
        table.to_csv(folder / "tables" / "leaderboard.csv", index=False)
    return home / "reports"


@pytest.fixture
def root(made, tmp_path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "reports"))


def warned(read: Callable[[], Any]) -> tuple[Any, str]:
    """What a reader gives back, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return read(), "\n".join(str(w.message) for w in caught if issubclass(w.category, UserWarning))


def read_all(root: Path) -> dict[str, str]:
    """Read everything that reads runs, the good ones' part of which is as if there was no other; what is said of the bad."""
    html, of_index = warned(lambda: write_index(root).read_text("utf-8"))
    runs, of_runs = warned(lambda: perslib.list_runs(root))
    verdicts, of_verdicts = warned(lambda: perslib.verdicts(runs))
    replies, of_replies = warned(lambda: perslib.replies(runs))
    board = (root / "leaderboard.html").read_text("utf-8")
    for name in GOOD:
        assert f'href="tiny-en/{name}/page.html"' in html and f">{name}</a>" in board
        assert len(runs[runs["backbone"] == name]) == 1
    assert "<script" not in html + board and "<img src=x" not in html + board
    assert len(verdicts) >= runs.loc[runs["backbone"].isin(GOOD), "judgments"].sum() > 0 and len(replies)
    return {"index": html + of_index, "runs": of_runs, "verdicts": of_verdicts, "replies": of_replies, "board": board}


def compared(root: Path, *names: str) -> compare.Runs:
    opened = compare.open_runs([root / "tiny-en" / name / "page" for name in names])
    assert not compare.list_settings(opened).empty and len(compare.sum_up_runs(opened)) == len(names)
    assert compare.pair_systems(opened.select_rated_replies("raw"))
    return opened


@pytest.mark.sample
def test_three_good_runs(root):
    said = read_all(root)
    assert not said["runs"] + said["verdicts"] + said["replies"] and "damaged" not in said["index"].split("<body")[1]
    assert len(perslib.list_runs(root)) == 3 and set(compared(root, *GOOD, BAD).pages) == {*GOOD, BAD}


# -- the manifest ------------------------------------------------------------------------------------------

#: A value of every kind. A field of another kind is at fault; what each field may hold of its own kind, DAMAGES knows.
ODD = ["<script>", [], {}, ["x"], {"x": "x"}, 5, True, None]
INSIDE = [
    ("corpus", "label"), ("corpus", "digest"), ("corpus", "synthetic"), ("backbone", "name"),
    ("parameters", "corpus"), ("ledger", "stages"), ("ledger", "total"), ("ledger", "total", "calls"),
    ("figures", "one"), ("figures", "one", 0), ("verdicts", "means"), ("tables", "leaderboard", 1), ("answer", 0),
    ("last_run", "status"), ("last_run", "failure"), ("last_run", "failure", "cell"), ("last_run", "started"),
]  # fmt: skip
FIELDS = [
    "title", "status", "language", "started", "finished", "seconds", "seed", "parameters", "corpus", "backbone",
    "notebook", "code", "packages", "prompts", "answer", "figures", "tables", "verdicts", "replies", "judgments",
    "unscored", "ledger", "failure", "last_run", "drawn",
]  # fmt: skip


def kind(value: object) -> str:
    names = {str: "text", list: "list", dict: "table", bool: "bool", type(None): "none"}
    return names.get(type(value), "number")


@pytest.mark.kernel
@pytest.mark.parametrize("names", [FIELDS[n::6] for n in range(6)], ids=", ".join)
def test_a_field_of_another_kind(root, names):
    folder = root / "tiny-en" / BAD
    good = json.loads((folder / "page.json").read_text("utf-8"))
    assert set(FIELDS) == set(good)  # none is forgotten
    damaged: list[tuple[Path, str]] = []
    for path in [*((name,) for name in names), *(path for path in INSIDE if path[0] in names)]:
        for value in ODD:
            entry = part = copy.deepcopy(good)
            for key in path[:-1]:
                part = part[key]
            if kind(value) == kind(part[path[-1]]) or (path[-1] == "failure" and value in (None, {"x": "x"}, {})):
                continue
            part[path[-1]] = value
            damaged.append((folder / f"odd{len(damaged)}.json", path[0]))
            damaged[-1][0].write_text(json.dumps(entry), "utf-8")
    said = read_all(root)
    for file, name in damaged:
        for reader in ("index", "runs"):
            assert re.search(rf"{BAD}/{file.name}: .*{name}.*\. Delete it, and run", said[reader]), (file, reader)
    assert {name for _, name in damaged} == set(names)
    for file, name in damaged[::9]:
        with pytest.raises(DataError, match=rf"{file.name}: .*{name}(.|\n)*Delete it"), pytest.warns(UserWarning):
            compare.open_runs([folder / "page", file])


def field(name: str, value: object, within: str = "") -> Damage:
    def change(folder: Path) -> None:
        entry = json.loads((folder / "page.json").read_text("utf-8"))
        (entry[within] if within else entry)[name] = value
        (folder / "page.json").write_text(json.dumps(entry), "utf-8")

    return change


def manifest(content: bytes) -> Damage:
    return lambda folder: (folder / "page.json").write_bytes(content)


def other(name: str, make: Callable[[Path], object]) -> Damage:
    """Something else in the place of a file."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


MANIFESTS: dict[str, Damage] = {
    "cut": lambda folder: os.truncate(folder / "page.json", 2000),
    "empty": manifest(b""),
    "a list": manifest(b"[]"),
    "null": manifest(b"null"),
    "of another version": manifest(b'{"version": 2, "pages": {"page": {"status": "success"}}}'),
    "not UTF-8": manifest(b'{"status": "success", "title": "\xff\xfe"}'),
    "deep": manifest(b"[" * 100_000),
    "large": manifest(b'{"status": "success", "title": "' + b"x" * 50_000_000 + b'"}'),
    "a folder": other("page.json", Path.mkdir),
    "a pipe": other("page.json", os.mkfifo),
    "a broken link": other("page.json", lambda path: path.symlink_to("nowhere")),
    "half a character": field("title", "half \ud83d"),
    "a number without end": field("seconds", float("inf")),
    "a number of 400 digits": field("seed", 10**400),
    "a name of 300 characters": field("one", [f"figures/{'a' * 300}.png"], "figures"),
    "a name that no file has": field("one", ["figures/a\0.png"], "figures"),
    "an impossible time": field("started", "0001-01-01T00:00:00"),
    "another language": field("language", "xx"),
    "another status": field("status", "<img src=x>"),
    "a number below 0": field("judgments", -1),
}


@pytest.mark.kernel
@pytest.mark.parametrize("damage", MANIFESTS.values(), ids=MANIFESTS)
def test_a_damaged_manifest(root, damage):
    damage(root / "tiny-en" / BAD)
    said = read_all(root)
    for name in ("index", "runs"):
        assert re.search(rf"{BAD}/page\.json: \S.+\. Delete it, and run its page again", said[name])
    html = said["index"].split("</html>")[0]
    assert html.count('class="card damaged"') == 1 and f"Delete tiny-en/{BAD}/page.json" in html
    assert str(root) not in html and html.count('<section class="corpus">') == 1  # beside what it belongs to
    with pytest.raises(DataError, match=rf"{BAD}/page\.json"), pytest.warns(UserWarning):
        compared(root, GOOD[0], BAD)
    compared(root, *GOOD)


# -- files of a run ----------------------------------------------------------------------------------------

OUT = {
    "up": "../../../outside",
    "absolute": "/{root}/outside",
    "into another run": "../first/verdicts/means",
    "a link": "verdicts/link",
    "through a linked folder": "linked/outside",
}


@pytest.mark.kernel
@pytest.mark.parametrize("name", OUT.values(), ids=OUT)
def test_a_path_that_leads_out_of_the_folder_is_not_opened(root, name):
    folder, name = root / "tiny-en" / BAD, name.format(root=root.parent)
    endings = {"figures": "png", "tables": "csv", "verdicts": "parquet", "replies": "parquet"}
    secret = pd.DataFrame([row("secret", 4.0)])
    secret.to_parquet(root.parent / "outside.parquet")
    secret.to_csv(root.parent / "outside.csv")
    (root.parent / "outside.png").write_bytes(b"secret")
    (folder / "linked").symlink_to(root.parent)
    for kept, ending in endings.items():
        field("leaderboard", [f"{name}.{ending}"], kept)(folder)
        (folder / f"verdicts/link.{ending}").unlink(missing_ok=True)
        (folder / f"verdicts/link.{ending}").symlink_to(root.parent / f"outside.{ending}")
    said = read_all(root)
    for reader in ("index", "runs"):
        assert f"{BAD}/page.json: " in said[reader] and "leads out of the page" in said[reader]
        assert all(f"{name}.{ending}"[:40] in said[reader] for ending in endings.values())
    runs, _ = warned(lambda: perslib.list_runs(root))
    assert runs.set_index("backbone").loc[BAD, ["verdicts", "replies"]].map(len).tolist() == [1, 1]
    assert "secret" not in said["board"] and not any("secret" in text for text in said.values())
    assert "candidate" not in perslib.replies(runs)


def parquet(frame: pd.DataFrame) -> Callable[[Path], object]:
    return lambda path: frame.to_parquet(path)


PARQUETS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.touch(),
    "an HTML page": lambda path: path.write_text("<html>404</html>"),
    "its last bytes only": lambda path: path.write_bytes(b"\x10\x00\x00\x00PAR1"),
    "other columns": parquet(pd.DataFrame({"a": [1]})),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link in a circle": lambda path: path.symlink_to(path.name),
}


@pytest.mark.kernel
@pytest.mark.parametrize("make", PARQUETS.values(), ids=PARQUETS)
def test_a_file_of_rows_that_is_damaged(root, make):
    for name in ("verdicts/means.parquet", "replies/said.parquet"):
        other(name, make)(root / "tiny-en" / BAD)
        kept = name.split("/")[0]
        assert re.search(rf"{BAD}/{name} is left out: \S(.|\n)*\. Delete it, and run", read_all(root)[kept])
        bad = perslib.list_runs(root).set_index("backbone").loc[BAD]
        with pytest.raises(DataError, match=f"{BAD}/{name}"), pytest.warns(UserWarning):
            getattr(perslib, kept)(bad.rename_axis(None).to_frame().T.assign(backbone=BAD))
    with pytest.warns(UserWarning, match=f"{BAD}/verdicts/means.parquet"):
        assert set(compared(root, *GOOD, BAD).verdicts["run"]) == {*GOOD}


@pytest.mark.kernel
def test_rows_with_a_few_bytes_cut_off_or_changed(root):
    file = root / "tiny-en" / BAD / "verdicts" / "means.parquet"
    content, runs = file.read_bytes(), perslib.list_runs(root).set_index("backbone", drop=False)
    for place in range(1, len(content), len(content) // 25):
        for damaged in (content[:place], content[place:], content[:place] + b"\xff\x00" + content[place + 2 :]):
            file.write_bytes(damaged)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    perslib.verdicts(runs.loc[BAD])
                except DataError as error:
                    assert f"{BAD}/verdicts/means.parquet" in str(caught[0].message) and str(file) in str(error)


TABLES = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "turns without end": lambda path: pd.DataFrame([row("x", 4.0, turns=float("inf"))]).to_csv(path, index=False),
    "a score beyond all": lambda path: pd.DataFrame([row("x", 1e308)]).to_csv(path, index=False),
}


@pytest.mark.kernel
@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_of_standings_that_is_damaged(root, make):
    other("tables/leaderboard.csv", make)(root / "tiny-en" / BAD)
    assert re.search(rf"<code>tiny-en/{BAD}/tables/leaderboard\.csv</code> cannot be read", read_all(root)["board"])


# -- names of folders ---------------------------------------------------------------------------------------


def folders(home: Path, *names: str) -> list[str]:
    return [plan("00", name, out=home / "out")[0].folder.parent.name for name in names]


def test_two_corpora_never_share_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    save(tiny_corpus(), tmp_path / "data" / "a" / "b")
    assert folders(tmp_path, "a/b", "sample/zh", "sample/en") == ["a-b", "sample-zh", "sample-en"]
    save(tiny_corpus(), tmp_path / "data" / "a-b")
    one, other = folders(tmp_path, "a/b", "a-b")  # nothing was rendered yet, and either could be first
    assert one != other and one.startswith("a-b-") and other.startswith("a-b-")
    entry = {"status": "success", "corpus": {"label": "a/b"}}
    write_manifest(tmp_path / "out" / "a-b" / "none" / "page.json", entry)
    assert folders(tmp_path, "a/b", "a-b") == ["a-b", other]  # what was rendered stays where it is
    write_manifest(tmp_path / "out" / "sample-zh" / "none" / "page.json", {"status": "odd"})
    with pytest.warns(UserWarning, match="status is"):
        assert folders(tmp_path, "sample/zh") == ["sample-zh"]  # to be replaced


@pytest.mark.kernel
def test_a_folder_that_another_corpus_took_meanwhile_is_not_written_to(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    save(tiny_corpus(), tmp_path / "data" / "a-b")
    study, out = written(tmp_path, "page", "1"), tmp_path / "out"

    def slow(*named: object, **asked: object) -> list[object]:
        pages = plan(*named, **asked)
        write_manifest(out / "a-b" / "none" / "page.json", {"status": "success", "corpus": {"label": "a/b"}})
        return pages

    monkeypatch.setattr("perslib.report.run.runner.plan", slow)
    with pytest.raises(ReportError, match="a-b has pages of another corpus"):
        run_report(study, "a-b", out=out)
    assert [json.loads(file.read_text("utf-8"))["status"] for file in out.rglob("*.json")] == ["success"]


def test_backbones_never_share_a_folder():
    assert backbone_folder("a-b") == "a-b" and backbone_folder("a", "b") == "a-vs-b"
    lists = [["a-b"], ["a/b"], ["a b"], ["a", "b"], ["b", "a"], ["a-vs-b"], ["x" * 300], ["x" * 301], ["x" * 90, "y"]]
    names = [backbone_folder(*names) for names in lists]
    assert len(set(names)) == len(lists) and max(map(len, names)) < 100


@pytest.mark.kernel
def test_runs_that_nothing_but_their_folder_tells_apart_are_all_compared(root):
    shutil.copytree(root / "tiny-en", root / "copy")
    opened = compare.open_runs([root / corpus / GOOD[0] / "page" for corpus in ("tiny-en", "copy")])
    assert len(opened.pages) == 2 and opened.verdicts["run"].nunique() == 2
