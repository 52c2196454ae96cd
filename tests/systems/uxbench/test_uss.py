"""USS dialogues: hand-made lines always, the public files where they are at hand."""

from __future__ import annotations

import json
import random

import pandas as pd
import pytest
import real
from click.testing import CliRunner
from judging_endpoint import judging

from perslib.cli import main
from perslib.corpus import load, read_release
from perslib.errors import DataError
from perslib.systems.uxbench.loaders.uss import consensus

LINES = """

USER\tFind me a train.\tINFORM\t3,3,3
SYSTEM\tWhere to?\tREQUEST\t
USER\tTo Delft.\tINFORM\t4,3,4
SYSTEM\tAt nine?\tOFFER\t
SYSTEM\tOr at ten?\tOFFER\t
USER\tNine.\tSELECT\t2,2,3
USER\tAnd a seat.\tINFORM\t1,1,1
SYSTEM\tDone.\tINFORM\t
USER\tOVERALL\tOTHER\t4,4,3

SYSTEM\tHello.\tGREET\t
USER\tBye.\tBYE\t5,5,5
"""


@pytest.fixture
def dialogues(tmp_path):
    file = tmp_path / "SGD.txt"
    file.write_text(LINES, encoding="utf-8")
    return file


def test_a_rating_belongs_to_the_system_turn_above_it(dialogues):
    corpus = load(dialogues)
    first = corpus.turns[corpus.turns["user"] == "SGD_0000"]
    assert list(first["response"]) == ["Where to?", "At nine?", "Or at ten?", "Done."]
    assert list(first["ratings"]) == [(4, 3, 4), (), (2, 2, 3, 1, 1, 1), ()]
    assert [
        None if s is None or s != s else int(s)
        for s in first["score"].astype(object).where(first["score"].notna(), None)
    ] == [4, None, 1, None]
    assert list(first["earlier"]) == [(), (), (), ("Nine.",)]
    assert first["request"].iloc[3] == "And a seat."
    assert first["request"].isna().tolist() == [False, False, True, False]


def test_whole_dialogue_ratings_and_what_was_said_around(dialogues):
    corpus = load(dialogues)
    session = corpus.sessions.iloc[0]
    assert session["satisfaction"] == pytest.approx(11 / 3)
    assert session["opening_ratings"] == (3, 3, 3)
    assert corpus.sessions["trailing"].iloc[1] == ("Bye.",)
    assert [m["content"] for m in corpus.messages("SGD_0001", "SGD", "0")] == ["Hello.", "Bye."]
    assert corpus.meta["irregularities"] == {"dialogues without an OVERALL rating": 1}


@pytest.mark.parametrize(
    ("ratings", "score"),
    [((3, 3, 4), 3), ((3, 4), 3), ((3, 3, 4, 4), 3), ((1, 5), 3), ((4, 5), 4), ((2, 3, 4, 5), 3), ((), None)],
)
def test_consensus_is_the_majority_and_on_a_tie_the_mean_rounded_towards_less(ratings, score):
    assert consensus(ratings) == score


def test_bad_lines_are_named_and_their_dialogue_rejected(tmp_path):
    file = tmp_path / "CCPE.txt"
    file.write_bytes(
        b"USER\thi\tX\t3,9\nSYSTEM\tyes\tX\t\n\nBOT\thi\tX\t\n\nUSER\t\xff\tX\t3\n\nUSER\tok\tX\t3\nSYSTEM\tgood\tX\t\n"
    )
    with pytest.raises(DataError) as error:
        load(file)
    text = str(error.value)
    assert 'CCPE.txt:1: rating is "9", expected 1–5' in text
    assert "CCPE.txt:4: starts with 'BOT', expected USER or SYSTEM" in text
    assert "CCPE.txt:6: is not UTF-8" in text
    reading = read_release(file, "uss", skip_bad=True)
    assert len(reading.corpus.sessions) == 1 and len(reading.rejected) == 3
    file.write_bytes(b"USER\tq\tX\t3\nSYSTEM\t\xff\tX\t\nUSER\tr\tX\t3\nSYSTEM\ts\tX\t\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        read_release(file, "uss", skip_bad=True)


def test_an_empty_or_foreign_file_is_refused(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    with pytest.raises(DataError, match="holds no dialogue"):
        read_release(empty, "uss")
    empty.write_text("")
    with pytest.raises(DataError, match="is empty"):
        read_release(empty, "uss")


@pytest.fixture
def published(dialogues):
    """The folder as it is published: five files of dialogues and two others."""
    folder = dialogues.parent
    for name in ("CCPE", "MWOZ", "ReDial"):
        (folder / f"{name}.txt").write_text(f"USER\tHi {name}\tX\t\nSYSTEM\tHello\tX\t\nUSER\tBye\tX\t3,4,4\n")
    chinese = "SYSTEM\t在的\t\t\t\nUSER\t谢谢\tOTHER\t3,3,4\t\nUSER\tOVERALL\t\t3,3,3\t好;行;可以\n"
    (folder / "JDDC.txt").write_text("\n" + chinese, encoding="utf-8")
    (folder / "JDDC-ActionList.txt").write_text("配送     ['配送周期', '物流全程跟踪']\n", encoding="utf-8")
    (folder / "ReDial-action.txt").write_text("\nUSER\tHi ReDial\t\t\nSYSTEM\tHello\t\t\nUSER\tBye\t\t\n")
    return folder


def test_the_published_folder_is_read_and_what_it_leaves_out_is_said(published):
    corpus = load(published)
    assert (corpus.name, corpus.language) == ("uss", "en")
    assert corpus.scenarios == ["CCPE", "MWOZ", "ReDial", "SGD"]
    assert corpus.sessions["scenario"].value_counts()["ReDial"] == 1, "no doubles from ReDial-action.txt"
    noted = [n for n in corpus.meta["irregularities"] if n.startswith("files ")]
    assert noted == [
        "files in Chinese beside English ones, left out (JDDC.txt: import it by itself)",
        "files without a dialogue, left out (JDDC-ActionList.txt)",
        "files without a rating, left out (ReDial-action.txt)",
    ]


def test_the_chinese_file_is_a_corpus_of_its_own(published):
    corpus = load(published / "JDDC.txt")
    assert (corpus.name, corpus.language) == ("uss-zh", "zh")
    assert corpus.turns["score"].tolist() == [3]
    assert corpus.sessions["explanations"].tolist() == [("好", "行", "可以")]


def test_a_damaged_first_line_does_not_hide_a_file(dialogues):
    dialogues.write_bytes(b"\xff\n" + LINES.encode())
    with pytest.raises(DataError, match=r"SGD.txt:1: is not UTF-8"):
        read_release(dialogues.parent, "uss")


def test_a_byte_order_mark_is_no_part_of_the_first_line(dialogues):
    dialogues.write_text(LINES.strip(), encoding="utf-8-sig")
    assert len(load(dialogues).sessions) == 2


@real.needs("uss")
def test_the_public_files_give_the_published_counts():
    corpus = load(real.ROOT / "uss")
    assert corpus.sessions["scenario"].value_counts().to_dict() == {"SGD": 1000, "ReDial": 1000, "CCPE": 500}
    assert corpus.sessions["satisfaction"].notna().all()
    assert corpus.meta["irregularities"] == {}


BACKBONE = """[loop]
base_url = "{address}"
model = "m"
prices = {{ in = 0, out = 0 }}
"""


@pytest.mark.kernel
def test_the_page_on_judges_takes_dialogues_that_are_their_own_users(home, server):
    """USS has one scenario a user: the page says so, and with `-p history=none` it judges without a history."""
    drawn = random.Random(1)
    lines = []
    for number in range(30):
        for turn in range(4):
            lines += [
                f"USER\tTrain {number} at {turn}?\tINFORM\t{drawn.randint(1, 5)}",
                f"SYSTEM\tYes, {turn}.\tOFFER\t",
            ]
        lines += ["USER\tThanks.\tBYE\t4", "USER\tOVERALL\tOTHER\t4", ""]
    (home / "SGD.txt").write_text("\n".join(lines), encoding="utf-8")
    server.reply = judging
    (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
    run = CliRunner().invoke
    assert run(main, ["import", "uss", str(home / "SGD.txt"), "--name", "sgd"]).exit_code == 0
    report = ["report", "01", "--corpus", "sgd", "--backbone", "loop", "--limit", "6"]
    refused = run(main, report)
    assert refused.exit_code != 0 and "one scenario only ('SGD')" in refused.output
    assert "-p history=none" in refused.output
    done = run(main, [*report, "-p", "history=none"])
    assert done.exit_code == 0, done.output
    folder = home / "reports" / "sgd" / "loop"
    agreed = pd.read_csv(folder / "tables" / "agreement.csv").set_index(["judge", "calibration"])
    judged = agreed.xs("real", level="calibration")["turns"]
    assert judged["learned"] == judged["random"] == 30 * 4 and judged["user mean"] == 0
    page = (folder / "01_verification.html").read_text("utf-8")
    assert "Without any score: user mean, user median" in page
    assert "Fewer than 30 rated replies were scored by: " in page, "no correlation of six replies"
    assert not list(folder.rglob("*_with_model.csv"))
    scores = pd.read_csv(folder / "tables" / "scores.csv")
    assert len(scores) == 5 and scores["gold"].between(1, 5).all() and scores["zero-shot"].notna().all()
    assert pd.read_csv(folder / "tables" / "costs.csv")["pearson"].isna().all()
    made = json.loads((folder / "01_verification.json").read_text("utf-8"))
    assert made["status"] == "success"
