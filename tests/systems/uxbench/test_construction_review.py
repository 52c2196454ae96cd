"""The sheet that people review: out, back, what is wrong in it, and how far they agree."""

from __future__ import annotations

import pandas as pd
import pytest
from ux_construct_made import COMPLAINED, LIKED, log, model, talk

from perslib.errors import DataError
from perslib.systems.uxbench.construction import (
    REASONS,
    apply_reviews,
    construct,
    export_review,
    import_review,
    review_agreement,
)
from perslib.systems.uxbench.construction.review import CELL


@pytest.fixture(scope="module")
def cases():
    more = [talk(f"Plan {n} days in town {n}, please.", f"{n} days: {'go ' * n * 5}", is_liked=1) for n in range(2, 5)]
    return construct(log(LIKED, COMPLAINED, *more), miner=model(), language="en").cases


def filled(path, verdicts, **columns):
    """Write verdicts into an exported sheet, as a spreadsheet program would."""
    sheet = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig").sort_values("case")
    sheet = sheet.assign(verdict=list(verdicts), **columns)
    sheet.to_csv(path, index=False, encoding="utf-8-sig")
    return path


def test_a_sheet_goes_out_and_comes_back(tmp_path, cases):
    path = export_review(cases, tmp_path / "anna.csv")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf"), "a mark by which Excel knows UTF-8"
    sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert set(sheet["case"]) == set(cases["case"]) and list(sheet["case"]) != list(cases["case"])
    assert set(sheet["query"]) == set(cases["query"]) and set(sheet["verdict"]) == {""}
    back = import_review(filled(path, ["keep", " Reject ", "不确定", "保留", ""], notes="=1+1"), cases)
    ids = sorted(cases["case"])
    assert back["verdict"].tolist() == ["keep", "reject", "unsure", "keep"] and back["case"].tolist() == ids[:4]
    assert set(back["reviewer"]) == {"anna"} and set(back["notes"]) == {"=1+1"}


def test_no_text_is_taken_for_a_formula_or_breaks_a_cell(tmp_path, cases):
    odd = cases.assign(query=["=HYPERLINK(0)", "+x", "-2+3", "@x", "a\x00b"], reply="long " * 10_000)
    sheet = pd.read_csv(export_review(odd, tmp_path / "odd.csv", seed=None), dtype=str)
    assert sheet["query"].tolist() == ["'=HYPERLINK(0)", "'+x", "'-2+3", "'@x", "a\ufffdb"]
    assert sheet["reply"].str.len().max() <= CELL + 1


def test_a_sheet_with_other_separators_is_read(tmp_path, cases):
    path = tmp_path / "ben.csv"
    rows = [f"{case};keep;;Ben" for case in cases["case"]]
    path.write_text("\n".join(["case;verdict;notes;reviewer", *rows]), encoding="utf-8")
    assert import_review(path, cases)["reviewer"].unique().tolist() == ["Ben"]


def test_everything_wrong_is_named_with_its_row(tmp_path, cases):
    bad = cases[cases["side"] == "bad"]["case"].iloc[0]
    good = cases[cases["side"] == "good"]["case"].iloc[0]
    path = tmp_path / "anna.csv"
    lines = [
        "case,verdict,corrected_dimension",
        f"{bad},keep,accurate_answering",
        "nobody,keep,",
        f"{good},perhaps,",
        f"{bad},reject,",
        f"{good},,nonsense is not looked at without a verdict",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        import_review(path, cases)
    said = str(caught.value)
    assert "anna.csv row 2: corrected_dimension 'accurate_answering' is none of a bad case" in said
    assert "anna.csv row 3: case 'nobody' is not among the exported ones" in said
    assert "anna.csv row 4: verdict is 'perhaps', expected keep, reject, unsure" in said
    assert f"anna.csv row 5: is a second verdict of anna on {bad}, after anna.csv row 2" in said
    assert len(caught.value.problems) == 4


def test_files_that_are_no_sheets_are_named(tmp_path, cases):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes("case,verdict\né,keep".encode("latin-1"))
    (tmp_path / "other.csv").write_text("id,verdict\n1,keep\n")
    for name, said in [
        ("empty", "no readable"),
        ("latin", "not UTF-8"),
        ("other", "no column case"),
        ("no", "no such"),
    ]:
        with pytest.raises(DataError, match=said):
            import_review(tmp_path / f"{name}.csv", cases)
    with pytest.raises(DataError, match="CSV UTF-8"):
        export_review(cases, tmp_path / "sheet.xlsx")
    (tmp_path / "sheet.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match="CSV UTF-8"):
        import_review(tmp_path / "sheet.xlsx", cases)


def test_excel_is_told_that_chinese_is_utf_8(tmp_path, cases):
    path = export_review(cases.assign(reply="公积金怎么提取"), tmp_path / "sheet.csv")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf") and "公积金" in path.read_text("utf-8-sig")


# -- what came back ----------------------------------------------------------------------------------------


def reviews(**said):
    rows = [(case, name, verdict, "", "") for name, own in said.items() for case, verdict in own.items()]
    return pd.DataFrame(rows, columns=["case", "reviewer", "verdict", "dimension", "notes"])


def test_agreement_of_reviewers():
    one = {f"c{i}": "keep" if i < 6 else "reject" for i in range(10)}
    other = {**one, "c0": "reject"}  # 9 of 10 alike; chance .6·.5 + .4·.5 = .5, so κ = .8
    found = review_agreement(reviews(anna=one, ben=other))
    assert found["equal"] == pytest.approx(0.9) and found["kappa anna–ben"] == pytest.approx(0.8)
    # AC1: π = .55, chance 2·.55·.45 = .495
    assert found["ac1"] == pytest.approx((0.9 - 0.495) / (1 - 0.495)) and found["items"] == 10
    alone = review_agreement(reviews(anna=one))
    assert alone["items"] == 0 and review_agreement(reviews()) == {}


def test_only_what_most_reviewers_keep_is_in(cases):
    ids = list(cases["case"])
    votes = {
        "a": {ids[0]: "keep", ids[1]: "reject", ids[2]: "keep", ids[3]: "keep"},
        "b": {ids[0]: "keep", ids[1]: "reject", ids[2]: "reject", ids[3]: "unsure"},
        "c": {ids[0]: "unsure"},
    }
    kept, rejected = apply_reviews(cases, reviews(**votes))
    assert list(kept["case"]) == [ids[0]]
    assert {one.place: one.reason for one in rejected} == {
        ids[1]: "rejected", ids[2]: "undecided", ids[3]: "undecided", ids[4]: "unreviewed",
    }  # fmt: skip
    assert {one.reason for one in rejected} == set(REASONS["review"])
    assert list(apply_reviews(cases, reviews(**votes), all_reviewed=False)[0]["case"]) == [ids[0], ids[4]]


def test_a_dimension_that_most_reviewers_correct_is_corrected(cases):
    case = cases[cases["side"] == "bad"]["case"].iloc[0]
    told = reviews(a={case: "keep"}, b={case: "keep"}, c={case: "keep"})
    two = told.assign(dimension=["verbosity", "verbosity", ""])
    assert apply_reviews(cases, two)[0]["dimension"].tolist() == ["verbosity"]
    one = told.assign(dimension=["verbosity", "", ""])
    assert apply_reviews(cases, one)[0]["dimension"].tolist() == ["task_incompleteness"]
