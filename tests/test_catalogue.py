"""The Chinese catalogue has every text, no other, and the same placeholders."""

from __future__ import annotations

import re
import string

import nbformat
import polib
import pytest
from click.testing import CliRunner

from perslib import catalogue
from perslib.cli import main
from perslib.paths import find_bundled
from perslib.text import CATALOGUES, join, paragraph, plural, translate, translate_markdown, using_language

HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def chinese():
    return {
        ids(entry): (entry.msgstr_plural.get(0, entry.msgstr), entry.fuzzy)
        for entry in polib.pofile(str(CATALOGUES / "zh.po"))
    }


def ids(entry) -> tuple[str, ...]:
    return (entry.msgid, entry.msgid_plural) if entry.msgid_plural else (entry.msgid,)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.system("mem_pal", "deus", "uxbench")
def test_every_message_is_translated_and_every_translation_is_used(chinese):
    used = {message if isinstance(message, tuple) else (message,) for message, _ in catalogue.list_messages()}
    assert not sorted(used - set(chinese)), "run: python -m perslib.catalogue, then translate"
    assert not sorted(set(chinese) - used), "run: python -m perslib.catalogue"
    assert not [message for message, (text, is_fuzzy) in chinese.items() if is_fuzzy or not text]


def test_placeholders_are_the_same_in_both_languages(chinese):
    for message, (text, _) in chinese.items():
        try:
            wanted = set().union(*map(placeholders, message))
        except ValueError:  # braces that are no placeholders: a text that is never filled in
            continue
        if any(name and re.fullmatch(r"\w+", name) for name in wanted):
            given = placeholders(text)
            assert given <= wanted, message
            assert len(wanted - given - {"n"}) == 0, message


def test_a_catalogue_keeps_what_is_known_and_offers_what_resembles_it(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUES", tmp_path)
    messages = [("Scores of users", "a.py"), (("1 user", "{n} users"), "a.py")]
    monkeypatch.setattr(catalogue, "list_messages", lambda: iter(messages))
    assert catalogue.update("zh") == {"messages": 2, "untranslated": 2}
    entries = polib.pofile(str(tmp_path / "zh.po"))
    entries[0].msgstr, entries[1].msgstr_plural = "用户评分", {0: "{n} 位用户"}
    entries.save()
    messages[0] = ("Scores of the users", "b.py")
    messages.append(("Another thing", "c.py"))
    assert catalogue.update("zh") == {"messages": 3, "untranslated": 2}
    kept, near, new = polib.pofile(str(tmp_path / "zh.po"))
    assert kept.msgstr_plural == {0: "{n} 位用户"} and not kept.fuzzy
    assert near.msgstr == "用户评分" and near.fuzzy and near.occurrences == [("b.py", "")]
    assert not new.msgstr and not new.fuzzy


def test_no_message_is_chinese():
    assert not [message for message, _ in catalogue.list_messages() if HAN.search("".join(message))]


def test_translating_fills_in_values_and_falls_back_to_english():
    assert translate("Figure {n}.", n=3) == "Figure 3."
    assert translate("not in any {catalogue}") == "not in any {catalogue}"
    assert plural("1 figure", "{n} figures", 1) == "1 figure"
    assert paragraph("One.", "", "Two.") == "One. Two."
    with using_language("zh"):
        assert translate("Figure {n}.", n=3) == "图 3\u3000"
        assert plural("1 figure", "{n} figures", 1) == "1 幅图"
        assert join(["a", "b"]) == "a、b"
        assert translate("not in any catalogue") == "not in any catalogue"
        assert translate_markdown("## Models\n\nnot in any catalogue") == "## 模型\n\nnot in any catalogue"


def test_messages_are_found_in_code():
    source = """
say("a {n}", n=1)
report.save_table(frame, "name", caption="b" if x else "c")
report.save_figure(figure, "name", None, "d" " and e")
plural("one f", "{n} fs", k)
other("g")
say(f"h {n}")
"""
    found = ["a {n}", "b", "c", "d and e", ("one f", "{n} fs")]
    assert list(catalogue.in_code(source)) == found


@pytest.mark.parametrize("name", ["00", "01", "04", "12", "index", "my_study"])
def test_a_notebook_is_written_in_chinese(name, tmp_path):
    out = tmp_path / "copy.ipynb"
    done = CliRunner().invoke(main, ["notebook", name, "--language", "zh", "--out", str(out)])
    assert done.exit_code == 0, done.output
    nb = nbformat.read(out, as_version=4)
    nbformat.validate(nb)
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            assert HAN.search(cell.source), cell.source
        else:
            compile(cell.source, name, "exec")
        if "parameters" in cell.metadata.get("tags", []):
            assert 'language = "zh"' in cell.source
            assert all(HAN.search(line) for line in cell.source.splitlines())
    again = CliRunner().invoke(main, ["notebook", name, "--language", "zh", "--out", str(out)])
    assert again.exit_code == 1
    assert "is there already" in again.output


def test_the_source_notebooks_are_english():
    for file in find_bundled("notebooks").glob("*.ipynb"):
        assert not HAN.search(file.read_text("utf-8")), file
        tags = [tag for cell in nbformat.read(file, 4).cells for tag in cell.metadata.get("tags", [])]
        assert not [tag for tag in tags if tag.startswith("lang-")]
