"""Turns on which candidates differ, and what one of them shows when it is opened."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from histories import corpus_of

from perslib.corpus import Corpus
from perslib.errors import PerslibError
from perslib.llm import Cache
from perslib.memory import Statement, UserMemory
from perslib.replay import ORIGINAL, differing_turns
from perslib.report import begin
from perslib.report.page.markup import safe_html
from perslib.report.show.html import conversation_html, render_cards, score_chip
from perslib.studies.cases import describe_turn

HOSTILE = "<script>alert(1)</script> ![p](https://tracker.example/p.png) \x1b[31mred \u202eevil"


class Seen(HTMLParser):
    """The elements of some HTML, its text, and how deep its folds go."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.depth, self.deepest = "", 0, 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.depth += tag == "details"
        self.deepest = max(self.deepest, self.depth)

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "details"

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(autouse=True)
def english(tmp_path: Path) -> Any:
    begin(tmp_path, "en")
    yield
    begin(tmp_path, "en")


# -- which turns -----------------------------------------------------------------------------------------------


def scores(*rows: tuple[str, str, int, dict[str, float | None]]) -> pd.DataFrame:
    """Verdicts: user, scenario, turn, and each candidate's score."""
    return pd.DataFrame(
        [
            {"candidate": c, "judge": "j", "user": u, "scenario": s, "session": "0", "turn": t, "real": value}
            for u, s, t, given in rows
            for c, value in given.items()
        ]
    ).astype({"real": "Float64"})


def test_a_turn_has_its_spread_its_ends_and_its_unscored() -> None:
    made = scores(("ada", "gift", 3, {"a": 2, "b": 5, "c": None, "d": 5, ORIGINAL: 4}))
    row = differing_turns(made, "real").iloc[0]
    assert row[["user", "scenario", "session", "turn"]].tolist() == ["ada", "gift", "0", 3]
    assert (row["spread"], row["mean"], row["lowest"], row["highest"]) == (3, 4, 2, 5)
    assert row["deviation"] == pytest.approx(1.5**0.5)  # of 2, 5, 5, 4
    assert (row["best"], row["worst"]) == (("b", "d"), ("a",))
    assert (row["scored"], row["unscored"]) == (4, 1)


def test_the_widest_come_first_then_the_most_divided_then_the_keys() -> None:
    made = scores(
        ("eve", "gift", 0, {"a": 1, "b": 3, "c": 2}),
        ("dan", "gift", 0, {"a": 1, "b": 3, "c": 3}),
        ("cat", "gift", 0, {"a": 1.1, "b": 3.1, "c": 2.1}),  # the same but for rounding in the machine
        ("bob", "gift", 0, {"a": 1, "b": 5, "c": 3}),
    )
    assert differing_turns(made, "real")["user"].tolist() == ["bob", "dan", "cat", "eve"]


def test_every_block_gives_one_turn_before_any_gives_a_second() -> None:
    made = scores(
        ("ada", "gift", 0, {"a": 1, "b": 5}),
        ("ada", "gift", 1, {"a": 1, "b": 4.5}),
        ("ada", "gift", 2, {"a": 1, "b": 4}),
        ("ada", "travel", 0, {"a": 3, "b": 3.5}),
        ("bob", "gift", 0, {"a": 2, "b": 3}),
    )
    chosen = {n: differing_turns(made, "real", most=n)["spread"].tolist() for n in (2, 3, 4, 9)}
    assert chosen == {2: [4, 1], 3: [4, 1, 0.5], 4: [4, 3.5, 1, 0.5], 9: [4, 3.5, 3, 1, 0.5]}


def test_turns_that_tell_nothing_apart_are_no_cases() -> None:
    made = scores(
        ("ada", "gift", 0, {"a": 4, "b": 4}),
        ("ada", "gift", 1, {"a": 4, "b": None}),
        ("ada", "gift", 2, {"a": None, "b": None}),
    )
    found = differing_turns(made, "real")
    assert found.empty
    assert {"best", "worst", "unscored"} <= set(found)


def test_several_judges_are_refused_with_the_remedy() -> None:
    made = scores(("ada", "gift", 0, {"a": 4, "b": 2}))
    both = pd.concat([made, made.assign(judge="k")])
    with pytest.raises(PerslibError, match=r"several judges: j, k(.|\n)*verdicts\['judge'\] =="):
        differing_turns(both, "real")


# -- a case ----------------------------------------------------------------------------------------------------


def small() -> Corpus:
    past = [("ada", "travel", "0", f"where to sleep {i}", f"an inn {i}", s) for i, s in enumerate([5, 4, 4])]
    own = [("ada", "gift", "0", "what to give", "a book", 2), ("ada", "gift", "0", "where to buy", "there", 2)]
    return corpus_of([*past, *own])


REPLIES = {"low": "nothing", ORIGINAL: "there", "high": "at the inn", "none": None, "late": "too late"}
SCORES = {"low": 1.0, ORIGINAL: 3.5, "high": 5.0, "none": None, "late": None}


def case(
    texts: dict[str, str | None] | None = None, **more: Any
) -> tuple[Corpus, dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """A corpus, the second turn of its gift block, the replies and the verdicts."""
    at = {"user": "ada", "scenario": "gift", "session": "0", "turn": 1}
    texts = texts or REPLIES
    replies = pd.DataFrame(
        [
            {"candidate": c, **at, "response": text, "system": f"Be {c}.", "error": None if text else "time-out"}
            for c, text in texts.items()
        ]
    )
    spread = {f"p{s}": [0.05, 0.05, 0.1, 0.3, 0.5][s - 1] for s in range(1, 6)}
    verdicts = pd.DataFrame(
        [
            {"candidate": c, "judge": "j", **at, "raw": s, "expected": s, "reference_cdf": s, "evidence": ()}
            | ({"error": None, **spread} if s else {"error": "no number", **dict.fromkeys(spread)})
            for c, s in {c: SCORES.get(c, 2.0) for c in texts}.items()
        ]
    )
    return small(), at, replies, verdicts.assign(**more)


def shown(*given: Any, **more: Any) -> str:
    corpus, at, replies, verdicts = given
    return render_cards("replay_cases.html.j2", [describe_turn(at, corpus, replies, verdicts, **more)])


def test_candidates_stand_once_each_in_order_of_score_and_the_ends_are_open() -> None:
    body = shown(*case())
    names = re.findall(r'class="pl-case-name">([^<]+)<', body)
    assert names == ["high", "recorded reply", "low", "none", "late"]
    folds = [attrs for tag, attrs in Seen(body).elements if tag == "details"]
    assert folds[0] == {"class": "pl-case"}, "closed until asked for"
    assert ["open" in f for f in folds if f["class"] == "pl-case-reply"] == [True, False, True, False, False]


def test_the_line_of_a_case_says_where_and_between_which_scores() -> None:
    corpus, at, replies, verdicts = case()
    plain = describe_turn(at, corpus, replies, verdicts)["place"]
    assert plain == "ada · gift · session 0, reply 2"
    line = Seen(shown(corpus, at, replies, verdicts).split("</summary>")[0]).text
    assert " ".join(line.split()) == f"{plain} 1 low → 5 high 2 without score"


def test_what_a_model_thought_first_is_behind_a_fold(home: Path) -> None:
    about = {"backbone": "b", "model": "m", "prompt": None, "stage": "judge"}
    Cache().put("d1", {"text": "4", "raw": "4", "reasoning": "<b>Hm</b>, a book is fine."}, about)
    seen = Seen(shown(*case(asked=["d1", *["d2"] * 4])))
    assert seen.text.count("Thoughts before the verdict") == 1
    assert "<b>Hm</b>, a book is fine." in seen.text


def test_a_case_opens_down_to_prefix_reply_verdict_and_history() -> None:
    seen = Seen(shown(*case(reason="too short", rationale="It says little.")))
    for piece in (
        *("a gift task", "what to give", "a book", "where to buy", "at the inn", "Be high.", "too short"),
        *("It says little.", "5 0.50", "judged 3.50 → calibrated 3.50", "(no reply: time-out)", "no number"),
        *("The user's scores in other scenarios", "4 × 2", "5 × 1", "where to sleep 0", "→ an inn 0"),
    ):
        assert piece in seen.text, piece
    assert seen.deepest == 3


def test_what_a_verdict_cites_is_resolved_where_the_memory_is_given() -> None:
    made = case(evidence=[("M1", "travel/0/2", "M9")] * len(REPLIES))
    statement = Statement("M1", "scoring_style", "Likes inns.", ("travel/0/1",))
    memory = UserMemory("ada", "gift", "structured", (0, 0, 0, 2, 1), (statement,))
    with_it = Seen(shown(*made, memories={("j", "ada", "gift"): memory})).text
    first = with_it[with_it.index("Cited by the verdict") : with_it.index("The user's most similar rated turns")]
    assert "M1 Likes inns." in first and "an inn 1" in first and "an inn 2" in first
    assert first.count("there is no such statement") == 1
    without = Seen(shown(*made)).text
    assert "Likes inns." not in without and "no such statement" not in without
    assert "was not given" in without


def test_what_strangers_wrote_is_shown_as_text() -> None:
    corpus, at, replies, verdicts = case({HOSTILE: HOSTILE, "b": "fine"}, rationale=HOSTILE, reason=HOSTILE)
    sessions = corpus.sessions.assign(task=HOSTILE)
    corpus = Corpus("made", "en", corpus.users, sessions, corpus.turns.assign(request=HOSTILE))
    verdicts = verdicts.assign(judge=HOSTILE, evidence=[(HOSTILE,)] * 2)
    body = shown(corpus, at, replies.assign(system=HOSTILE), verdicts)
    seen = Seen(body)
    assert {tag for tag, _ in seen.elements} <= {
        *("div", "span", "details", "summary", "dl", "dt", "dd", "b", "ul", "li", "p")
    }
    assert seen.text.count("<script>alert(1)</script>") >= 10
    assert "![p](https://tracker.example/p.png)" in seen.text
    assert "⟨U+001B⟩[31mred" in seen.text and "\x1b" not in body and "\u202e" not in body


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("Replies, highest score first", "Evidence", "System message", "recorded reply")),
        ("zh", ("各候选的回复（评分从高到低）", "证据", "系统消息", "原回复", "会话 0，第 2 条回复")),
    ],
)
def test_a_case_passes_the_pages_sanitizer_as_it_is(tmp_path: Path, language: str, words: tuple[str, ...]) -> None:
    begin(tmp_path, language)
    body = shown(*case(rationale=HOSTILE))
    clean = Seen(safe_html(body))
    plain = Seen(body)
    assert clean.text == plain.text and all(word in clean.text for word in words)
    outline = [[(tag, a.get("class"), "open" in a) for tag, a in s.elements] for s in (clean, plain)]
    assert outline[0] == outline[1]


def test_other_turns_and_two_judges_are_errors_that_say_so() -> None:
    corpus, at, replies, verdicts = case()
    with pytest.raises(PerslibError, match="ada/gift/0/7"):
        describe_turn({**at, "turn": 7}, corpus, replies, verdicts)
    with pytest.raises(PerslibError, match="several judges"):
        describe_turn(at, corpus, replies, pd.concat([verdicts, verdicts.assign(judge="k")]))


# -- what cases are made of ------------------------------------------------------------------------------------


def test_a_score_between_two_has_the_colour_of_the_nearest() -> None:
    colour = {s: re.findall(r"#\w+", score_chip(s))[0] for s in (1, 2, 3, 4, 5)}
    assert colour[4] in score_chip(3.5) and ">3.50<" in score_chip(3.5)
    assert colour[2] in score_chip(2.5), "half to even"
    assert ">4<" in score_chip(4.0) and score_chip(4.0) == score_chip(4)
    assert "–" in score_chip(float("nan"))


def test_the_start_of_a_long_conversation_is_folded() -> None:
    said = [{"role": "user", "content": f"message {i}"} for i in range(7)]
    assert "<details" not in conversation_html(said)
    body = conversation_html(said, recent=5)
    folded, rest = body.split("</details>")
    assert "2 earlier messages" in folded and "message 1" in folded and "message 2" not in folded
    assert "<details" not in conversation_html(said, recent=7) and "message 6" in rest
