"""A page that a corpus cannot feed says what is missing, and promises nothing more."""

from __future__ import annotations

import nbformat
import pytest

from perslib import report
from perslib.corpus import read_rows, save
from perslib.report.page.rendering import make_page_notebook
from perslib.report.run.plan import plan
from perslib.studies.verification import require_replies
from perslib.worlds import world
from tests.studies.test_people_compared import table


def page(*outputs: dict[str, str], tags: tuple[str, ...] = ()) -> nbformat.NotebookNode:
    """A notebook with two sections; the first shows these, each with its record, the second, whose heading has tags, nothing."""
    shown = [
        nbformat.v4.new_output("display_data", {"text/html": record["text"]}, metadata={"perslib": record})
        for record in outputs
    ]
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    cells = [
        text("# Title\n\nAbout."),
        code("x = 1"),
        text("## One"),
        code("y", outputs=shown),
        text("## Two", metadata={"tags": list(tags)}),
        code("z"),
    ]
    return make_page_notebook(nbformat.v4.new_notebook(cells=cells))


MISSING, ANSWER, OTHER = ({"kind": kind, "text": kind} for kind in ("missing", "answer", "figures"))


@pytest.mark.parametrize(
    ("outputs", "opening", "headings"),
    [
        ([MISSING, MISSING], ["missing"], ["One"]),
        ([MISSING, ANSWER, OTHER], ["answer"], ["One"]),
        ([OTHER], [], ["One", "Two"]),  # a notebook of the user's own may have sections that show nothing
    ],
)
def test_headings_over_nothing_are_left_out_where_something_is_missing(outputs, opening, headings):
    made = page(*outputs)
    assert [word for piece in made.metadata["opening"] for word in ("missing", "answer") if word in piece] == opening
    assert [name for name in ("One", "Two") if any(name in c.metadata.get("html", "") for c in made.cells)] == headings
    assert made.cells[0].metadata["html"].count("About") == 1


def test_an_optional_section_that_shows_nothing_is_left_out():
    for outputs in ([OTHER], []):
        made = page(*outputs, tags=("optional",))
        assert not any("Two" in c.metadata.get("html", "") for c in made.cells)
        assert any("One" in c.metadata.get("html", "") for c in made.cells)


@pytest.mark.parametrize("value", [float("nan"), "–", "10 [nan, nan]", "– [.1, .2]"])
def test_no_answer_states_a_number_that_is_not_defined(value, capsys):
    report.answer("r is {r} of {name}.", r=value, name="Nana")
    assert capsys.readouterr().out.startswith("This answer needs a number")
    report.answer("r is {r:.2f}.", r=0.5, not_said=value)
    assert capsys.readouterr().out == "r is 0.50.\n"
    report.answer("r is {r} of {name}.", r="−.03 [−.1, .2]", name="nanny")
    assert capsys.readouterr().out == "r is −.03 [−.1, .2] of nanny.\n"


def test_a_section_without_enough_goes_on(capsys):
    with report.section():
        require_replies(0)
    assert "Fewer than 30" in capsys.readouterr().out


def test_the_terminal_says_what_a_corpus_lacks_for_a_page(home):
    save(read_rows(list(table(candidates=["x"])), "mine").corpus, home / "mine")
    notes = {each.name[:2]: each.note for each in plan(["01", "06", "13"], corpus=home / "mine")}
    assert notes == {
        "01": "",
        "06": "",
        "13": "; nothing of this corpus is on it: no request has several rated replies",
    }
    save(world(3, 3, "en", candidates=0.5), home / "world")
    assert {each.note for each in plan(["01", "13"], corpus=home / "world")} == {""}
