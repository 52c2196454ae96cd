"""USS dialogues: hand-made lines always, the public files where they are at hand."""

from __future__ import annotations

import pytest
import real

from perslib.corpus import load, read_release
from perslib.corpus.uss import consensus
from perslib.errors import DataError

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
    ] == [
        4,
        None,
        1,
        None,
    ]
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
    assert "CCPE.txt:1: rating is '9', expected 1–5" in text
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


def test_the_chinese_file_is_imported_on_its_own(dialogues):
    (dialogues.parent / "JDDC.txt").write_text("USER\t在吗\tX\t3\nSYSTEM\t在的\tX\t\n", encoding="utf-8")
    with pytest.raises(DataError, match="mixes English with Chinese"):
        load(dialogues.parent)
    assert load(dialogues.parent / "JDDC.txt").language == "zh"


@real.needs("uss")
def test_the_public_files_give_the_published_counts():
    corpus = load(real.ROOT / "uss")
    assert corpus.sessions["scenario"].value_counts().to_dict() == {"SGD": 1000, "ReDial": 1000, "CCPE": 500}
    assert corpus.sessions["satisfaction"].notna().all()
    assert corpus.meta["irregularities"] == {}
