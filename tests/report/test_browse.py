"""All verdicts of a page in one file: what is in it, and that a reader finds a verdict, its conversation, evidence and raw answer."""

from __future__ import annotations

import base64
import gzip
import json
import re

import nbformat
import pandas as pd

from perslib.llm import Cache
from perslib.report.page.browse import write_verdict_browser
from perslib.report.page.rendering import render_page
from perslib.report.show.html import table_html

HOSTILE = "</script><img src=x onerror=alert(1)> <b>bold</b>"


def make_turns():
    rows = [
        {"user": "ann", "scenario": "travel", "session": "1", "turn": 0, "request": "Where to?", "response": "To Rome.", "score": 4},
        {"user": "ann", "scenario": "travel", "session": "1", "turn": 1, "request": "Why?", "response": HOSTILE, "score": 2},
        {"user": "ann", "scenario": "gift", "session": "0", "turn": 0, "request": "A gift?", "response": "A book.", "score": 5},
        {"user": "bob", "scenario": "gift", "session": "0", "turn": 0, "request": "Else?", "response": "Flowers.", "score": None},
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"turn": "Int64", "score": "Int64"})


def make_verdicts():
    where = {"user": "ann", "scenario": "travel", "session": "1", "turn": 1, "table": "judges"}
    rows = [
        {**where, "judge": "learned", "raw": 4.5, "rationale": "It names a city.", "evidence": ["gift/0/0"]},
        {**where, "judge": "nearest", "raw": 2.0, "evidence": None},
        {**where, "judge": "learned", "raw": 3.0, "candidate": "other", "evidence": None},
        {**where, "turn": 0, "judge": "learned", "raw": 4.0, "evidence": None, "asked": "d1"},
    ]
    return pd.DataFrame(rows)


def write_page(folder):
    replies = pd.DataFrame(
        [{"candidate": "other", "user": "ann", "scenario": "travel", "session": "1", "turn": 1, "response": "Because."}]
    )
    return write_verdict_browser(
        folder / "page.verdicts.html", "A <title>", "en", make_verdicts(), replies, make_turns()
    )


def unpack(file):
    packed = re.search(r'id="data">([^<]*)</script>', file.read_text("utf-8"))
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def test_each_reply_has_its_verdicts_and_what_they_are_of(tmp_path):
    file = write_page(tmp_path)
    data = unpack(file)
    assert len(data["rows"]) == 3
    own, other, first = data["rows"]
    assert (own["gold"], own["reply"], [j["raw"] for j in own["judges"]]) == (2, None, [4.5, 2.0])
    assert own["judges"][0]["rationale"] == "It names a city." and own["judges"][0]["evidence"] == ["gift/0/0"]
    assert (other["gold"], other["reply"], other["candidate"]) == (None, "Because.", "other") and first["gold"] == 4
    assert set(data["sessions"]) == {"ann/travel/1", "ann/gift/0"}  # bob's is neither judged nor cited
    assert data["sessions"]["ann/travel/1"][1] == [1, "Why?", HOSTILE, 2]
    assert HOSTILE not in file.read_text("utf-8") and "A &lt;title&gt;" in file.read_text("utf-8")


def test_what_was_sent_and_came_back_is_there_where_the_cache_has_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    assert unpack(write_page(tmp_path))["answers"] == {}
    asked = [{"role": "system", "content": "Score it."}, {"role": "user", "content": "Where to?"}]
    with Cache() as cache:
        cache.put_requests([("d1", {"messages": asked, "model": "m"})])
        cache.put("d1", {"raw": "4", "text": "4"}, {"backbone": "mine", "model": "m", "stage": "judge"})
    data = unpack(write_page(tmp_path))
    assert data["answers"] == {"d1": ["system\nScore it.\n\nuser\nWhere to?", "4"]}
    assert data["rows"][2]["judges"][0]["asked"] == "d1"


def test_a_row_on_a_page_leads_to_its_reply():
    frame = make_verdicts()[["user", "scenario", "session", "turn", "judge"]].assign(user="<ann> & co").head(1)
    cells = [
        nbformat.v4.new_code_cell(
            "", outputs=[nbformat.v4.new_output("display_data", {"text/html": table_html(frame)})]
        )
    ]
    about = {"language": "en", "title": "T", "corpus": "tiny", "backbone": "none", "index": "index.html"}
    linked = render_page(nbformat.v4.new_notebook(cells=cells), {**about, "verdict_browser": "p.verdicts.html"})
    assert '<a href="p.verdicts.html#%3Cann%3E%20%26%20co%2Ftravel%2F1%2F1">&lt;ann&gt; &amp; co</a>' in linked
    assert "verdicts.html" not in render_page(nbformat.v4.new_notebook(cells=cells), about)
    assert "pl-turn" not in table_html(frame.drop(columns="turn"))


def test_replies_that_do_not_say_where_they_are_belong_to_no_verdict(tmp_path):
    bare = pd.DataFrame({"user": ["ann"], "response": ["Because."]})
    file = write_verdict_browser(tmp_path / "page.verdicts.html", "T", "en", make_verdicts(), bare, make_turns())
    assert [row["reply"] for row in unpack(file)["rows"]] == [None, None, None]
