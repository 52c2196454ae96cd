"""The memory explorer without a browser: what opens, what is hidden, how verdicts move, and text that is only text."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
import time
from functools import partial

import pandas as pd
import pytest
from asked import Asked
from judging_endpoint import judging
from made import shortened

import perslib.explorer.user_panel as see_module
import perslib.text
from perslib.corpus import TURN, import_release, load, save
from perslib.explorer import Explorer, ExplorerState, explore, users_panel
from perslib.explorer.app import Tabs
from perslib.explorer.change_panel import EditPanel
from perslib.explorer.controls import RequestStatus
from perslib.explorer.judge_panel import JudgePanel, pool_with_history
from perslib.explorer.past_turns import past_html, rated_turns
from perslib.explorer.user_panel import build_now, make_user_panel, memory_html
from perslib.explorer.users_panel import UsersPanel, judge_errors
from perslib.judge import Verdict
from perslib.llm import run_with_answers
from perslib.memory import Draft, EditedSystem, MeasuredSystem, ScoreCountSystem, Statement, UserMemory
from perslib.report import begin
from perslib.text import current_language

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m![pic](http://example.org/a.png)"


@pytest.fixture(scope="module")
def corpus():
    return load("sample/en")


@pytest.fixture
def state(model, server, corpus):
    server.reply = judging
    begin(language="en")
    found = ExplorerState(corpus, model(), "en")
    said = [
        Statement(f"M{i}", "user_specific_requirements", t) for i, t in enumerate(["Wants prices.", "Hates lists."], 1)
    ]
    found.draft = Draft.of(UserMemory(found.user, found.scenario, "structured", (0, 1, 2, 3, 4), tuple(said)))
    return found


def wait(asking, seconds=60.0):
    end = time.monotonic() + seconds
    while asking.busy and time.monotonic() < end:
        time.sleep(0.01)
    assert not asking.busy, "still asking"
    return asking._line.value


def expected(panel):
    _, _, mean = panel._seen[0]
    return mean


# -- what is open ----------------------------------------------------------------------------------------------


def test_another_user_closes_what_belonged_to_the_one_before(state):
    state.reply, state.verdict = "hello", Verdict(raw=3)
    other = state.corpus.users["user"][5]
    state.open(other)
    assert (state.user, state.reply, state.verdict, state.draft) == (other, None, None, None)
    assert state.target.user == other


def test_gold_is_hidden_until_asked_for_and_that_is_remembered(state, corpus):
    assert state.gold() == (None, None)
    assert not (rated_turns(state)["scenario"] == state.scenario).any()
    panel = JudgePanel(state)
    assert "pl-score" not in panel.gold.value
    panel.show_gold.click()
    score, _ = state.gold()
    assert f">{score}</span>" in panel.gold.value
    assert (rated_turns(state)["scenario"] == state.scenario).any()
    again = ExplorerState(corpus, state.backbone, "en")
    assert again.is_gold_shown() and again.gold()[0] == score
    again.open(again.user, again.scenarios[again.user][1])
    assert not again.is_gold_shown(), "another scenario is another matter"


def test_a_verdict_seen_is_remembered_but_not_on_a_pasted_reply(state):
    state.reply = "pasted"
    state.show_verdict(Verdict(raw=3))
    assert not state.is_verdict_shown()
    state.reply = None
    state.show_verdict(Verdict(raw=3))
    assert state.is_verdict_shown()


def test_a_rating_is_blind_only_where_the_past_was_not_in_view(state, corpus):
    tabs = Tabs(state)  # opens on the user's past
    elsewhere = state.scenarios[state.user][1]
    assert not state.is_label_seen()
    state.open(state.user, elsewhere)
    assert state.is_label_seen() and not state.is_gold_shown()
    tabs.selected_index = 3
    other = corpus.users["user"][7]
    state.open(other)
    state.open(other, state.scenarios[other][1])
    assert not state.is_label_seen(), "while rating, nothing of the past is in view"
    assert ExplorerState(corpus, state.backbone, "en").is_label_seen(
        (tabs.state.corpus.users["user"][0], elsewhere, "0", 0)
    )


def test_past_turns_are_grouped_by_score_and_searched_by_all_words(state):
    everything = past_html(state)
    assert everything.index(">5</span>") < everything.index(">4</span>")
    word = next(w for w in rated_turns(state)["response"][3].split() if len(w) > 8)
    found = past_html(state, word.upper())
    assert 0 < found.count("pl-turn") < everything.count("pl-turn")
    assert "pl-empty" in past_html(state, word + " zzzzzz")


# -- verdicts ----------------------------------------------------------------------------------------------------


def test_a_verdict_shows_raw_and_calibrated_and_marks_what_is_cited_from_nowhere(state):
    panel, change = JudgePanel(state), EditPanel(state)
    panel.write.click()
    wait(panel.asking)
    html = panel.shown.value
    assert "as the judge gives it" in html and "pooled with" in html
    assert "M99" in html and "does not occur in" in html
    assert "&lt;b&gt;bold" in html and "<b>bold" not in html
    rows = change.statements._rows
    assert "pl-cited" in rows[0]._dom_classes and "pl-cited" not in rows[1]._dom_classes


def test_pooling_moves_the_judge_towards_the_user_and_needs_both():
    verdict = Verdict(raw=3, expected=3.0, p=(0.05, 0.15, 0.6, 0.15, 0.05))
    p, mean = pool_with_history(verdict, (0, 0, 1, 4, 15))
    assert sum(p) == pytest.approx(1) and 3.0 < mean < 4.7
    assert pool_with_history(verdict, (0,) * 5) == (None, None)
    assert pool_with_history(Verdict(raw=3), (0, 0, 1, 4, 15)) == (None, None)


def test_editing_moves_the_verdict_and_what_is_known_costs_nothing(state, server):
    panel, change = JudgePanel(state), EditPanel(state)
    panel.score.click()
    assert "calls: 1" in wait(panel.asking)
    first = expected(panel)
    change.statements._rows[1].text.value = "Wants prices of everything."
    wait(panel.asking)
    assert expected(panel) > first + 0.3
    assert "reworded" in panel.shown.value and "as built" in panel.shown.value
    asked = len(server.bodies)
    change.undo.click()
    assert "answer from the cache" in wait(panel.asking)
    assert expected(panel) == first and len(server.bodies) == asked
    assert change.statements._rows[1].text.value == "Hates lists."


def test_a_stricter_user_changes_what_is_asked_and_the_calibrated_score(state):
    panel, change = JudgePanel(state), EditPanel(state)
    panel.score.click()
    wait(panel.asking)
    before = pool_with_history(state.verdict, state.draft.counts)[1]
    change.stricter.click()
    wait(panel.asking)
    assert pool_with_history(state.verdict, state.draft.counts)[1] < before
    assert "stricter user" in panel.shown.value


def test_leaving_out_shows_what_each_statement_does(state, server):
    change = EditPanel(state)
    change.leave_out.click()
    wait(change.asking)
    assert change.effects.value.count("pl-ef-id") == 2
    assert "+0." in change.effects.value, "without the prices the score falls"
    assert len(server.bodies) == 3


def test_an_unreadable_answer_is_told_and_leaves_no_score(state):
    panel = JudgePanel(state)
    state.reply = "please refuse"
    panel.write.click()
    wait(panel.asking)
    assert "No score could be read" in panel.shown.value


def test_a_backbone_that_is_gone_is_told_in_place_and_can_be_tried_again(state, server, monkeypatch):
    panel = JudgePanel(state)
    from perslib.llm import backbone

    state.backbone = backbone("vllm-qwen3-8b", base_url="http://127.0.0.1:9/v1", cache="off")
    panel.score.click()
    said = wait(panel.asking, 60)
    assert 'role="alert"' in said and "This did not work" in said
    state.backbone = backbone("vllm-qwen3-8b", base_url=server.base_url, cache="off", structured="schema")
    panel.asking._again.click()
    wait(panel.asking)
    assert panel._seen


def test_asking_can_be_stopped_and_a_late_answer_changes_nothing(state, server):
    server.latency = 0.5
    panel = JudgePanel(state)
    panel.score.click()
    assert panel.asking.busy and "pl-spinner" in panel.asking._line.value
    panel.asking._cancel.click()
    assert not panel.asking.busy and "Stopped" in panel.asking._line.value
    time.sleep(0.8)
    assert not panel._seen and panel.shown.value == ""


# -- keeping -----------------------------------------------------------------------------------------------------


def test_an_edited_memory_is_saved_and_found_by_studies(state):
    change = EditPanel(state)
    assert change.save.disabled
    change.statements._rows[0].on.value = False
    change.name.value = "no prices"
    change.save.click()
    assert "memories/no prices/" in change.saved.value and "edited: no prices" in change.saved.value
    memory = run_with_answers(partial(EditedSystem("no prices", otherwise=ScoreCountSystem()).build, state.block))
    assert memory.system == "structured, edited by hand" and [s.id for s in memory.statements] == ["M2"]
    change.name.value = "../up"
    change.statements._rows[0].on.value = True
    change.statements._rows[1].on.value = False
    change.save.click()
    assert "use letters" in change.saved.value


# -- untrusted text ------------------------------------------------------------------------------------------------


def every(widget):
    """The widget and all below."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def every_html(widget):
    """The HTML of all widgets below."""
    import ipywidgets as widgets

    return (w.value for w in every(widget) if isinstance(w, (widgets.HTML, widgets.HTMLMath)))


@pytest.mark.sample
def test_text_of_strangers_is_only_text_everywhere(state, corpus):
    users = corpus.users.assign(profile=[{**p, "occupation": NASTY} for p in corpus.users["profile"]])
    turns = corpus.turns.assign(request=NASTY, response=NASTY, reason=NASTY)
    nasty = ExplorerState(dataclasses.replace(corpus, users=users, turns=turns), state.backbone, "en")
    nasty.draft = Draft.of(UserMemory(nasty.user, nasty.scenario, NASTY, (1,) * 5, (Statement("M1", NASTY, NASTY, (NASTY,), NASTY, (NASTY,)),)))  # fmt: skip
    nasty.reply = NASTY
    tabs = Tabs(nasty)
    for place in range(5):
        tabs.selected_index = place
    nasty.show_gold()
    html = "".join(every_html(tabs))
    assert html.count("&lt;script&gt;") > 20
    assert "<script" not in html and "<img src=x" not in html and "\x1b" not in html


def test_the_whole_opens_in_both_languages_and_for_a_user_with_one_scenario(model, server, corpus):
    server.reply = judging
    one = corpus.users["user"][0]
    keep = corpus.turns["scenario"].eq(corpus.scenarios[0]) | corpus.turns["user"].ne(one)
    kept = corpus.sessions["scenario"].eq(corpus.scenarios[0]) | corpus.sessions["user"].ne(one)
    lonely = dataclasses.replace(corpus, turns=corpus.turns[keep], sessions=corpus.sessions[kept])
    for language in ("zh", "en"):
        shown = Explorer(lonely, model(), language)
        shown.state.open(one)
        assert "pl-empty" in "".join(every_html(shown))


@pytest.mark.sample
def test_all_users_are_one_table_to_sort_search_and_open(model, corpus):
    corpus = shortened(corpus, sessions=2)
    state = ExplorerState(corpus, model(), "en")
    users = UsersPanel(state)
    wait(users.judging, 120)
    opens = [row.children[0] for row in users.rows.children]
    assert {b.description for b in opens} == set(corpus.users["user"])
    rated = corpus.turns.dropna(subset=["score"]).astype({"score": float}).groupby("user")["score"].mean()
    users.order.value = "mean"
    strictest = users.rows.children[0]
    assert strictest.children[0].description == rated.idxmin()
    assert f"mean {rated.min():.2f}" in strictest.children[1].value
    errors = judge_errors(corpus)
    assert set(errors.index) == set(corpus.split()["test"])
    assert errors.between(0.2, 1.2).all()
    users.order.value = "error"
    assert users.rows.children[0].children[0].description == errors.idxmax()
    assert f"error {errors.max():.2f}" in users.rows.children[0].children[1].value
    strictest.children[0].click()
    assert state.user == rated.idxmin()
    users.search.value = "list items"
    assert 0 < len(users.rows.children) < len(opens)
    assert all("list items" in row.children[1].value for row in users.rows.children)


def test_all_users_are_there_before_anything_is_read_or_judged(state, corpus, monkeypatch):
    may_go_on = threading.Event()
    monkeypatch.setattr(
        users_panel, "judge_errors", lambda _: may_go_on.wait(30) and pd.Series({corpus.users["user"][0]: 0.5})
    )
    users = UsersPanel(state)
    try:
        lines = [row.children[1].value for row in users.rows.children]
        assert len(lines) == len(corpus.users) and all("error …" in line and "mean" in line for line in lines)
        users.search.value = "list items"
        wait(users.reading)
        assert 0 < len(users.rows.children) < len(lines), "who is found is shown as soon as memories are read"
        users.search.value = ""
    finally:
        may_go_on.set()
    wait(users.judging)
    lines = [row.children[1].value for row in users.rows.children]
    assert (
        sum("error 0.50" in line for line in lines) == 1 and sum("error –" in line for line in lines) == len(lines) - 1
    )
    assert all("statements: …" not in line for line in lines)


def test_an_app_opens_the_user_that_its_address_names(model, corpus, monkeypatch):
    other = corpus.users["user"][3]
    monkeypatch.setenv("QUERY_STRING", f"token=x&user={other}")
    assert explore(corpus, model(), "en").state.user == other
    monkeypatch.setenv("QUERY_STRING", "user=nobody")
    assert explore(corpus, model(), "en").state.user == corpus.users["user"][0]


def scored_at_once(panel) -> float:
    wait(panel.asking, 60)
    wait(panel.changing)
    return expected(panel)


@pytest.mark.sample
def test_a_reply_is_scored_at_once_by_statements_and_follows_every_edit(state, server):
    panel = JudgePanel(state)
    panel.quick.click()
    by_its_own = scored_at_once(panel)
    assert "What the score is made of" in panel.shown.value and len(panel.edits.children) == 1
    state.draft = Draft.of(build_now(state, "preferences"))
    assert state.draft.lines[0].statement.trait == "level"
    panel.quick.click()
    before = scored_at_once(panel)
    assert before == pytest.approx(by_its_own) == state.verdict.raw
    shown, (first, *_) = panel.shown.value, state.draft.lines
    assert "The judge says" in shown and "pl-why-turns" in shown
    assert "What would change its mind" in panel.edits.children[0].value
    change = EditPanel(state)
    row = change.statements.children[0]
    assert row.points.value == pytest.approx(first.statement.points, abs=0.05)
    row.points.value = 1.5
    milder = scored_at_once(panel)
    row.points.value = -1.5
    stricter = scored_at_once(panel)
    assert milder > before > stricter and milder - stricter > 1
    change.undo.click()
    assert scored_at_once(panel) == pytest.approx(before), "moving a slider is one edit"
    row.on.value = False
    assert scored_at_once(panel) == pytest.approx(before - first.statement.points, abs=0.3)
    assert "Changes of the verdict" in panel.shown.value
    assert not server.bodies and state.is_verdict_shown() and state.verdict.p is not None


@pytest.mark.sample
def test_an_edit_that_would_change_the_verdict_is_made_by_a_click(state):
    state.draft = Draft.of(build_now(state, "preferences"))
    panel = JudgePanel(state)
    panel.quick.click()
    before = scored_at_once(panel)
    *_, offered = panel.edits.children
    assert 1 <= len(offered.children) <= 3
    button = offered.children[0]
    promised = float(re.search(r"→ (\d\.\d\d)", button.description)[1])
    button.click()
    assert state.draft.is_changed and scored_at_once(panel) == pytest.approx(promised, abs=0.006) != before


@pytest.mark.sample
def test_another_users_preferences_are_put_in_the_place_of_this_ones(home, corpus):
    shown = Explorer(corpus, Asked(), "en")
    opened, state = shown.children[1], shown.state
    wait(opened.asking, 60)
    shown.children[2].selected_index = 1
    panel = next(w for w in every(shown) if isinstance(w, JudgePanel))
    opened.user.value = corpus.split()["test"][0]
    wait(opened.asking, 60)
    panel.quick.click()
    own, statements = scored_at_once(panel), state.draft.memory.statements
    others = [value for _, value in opened.whose.options if value]
    assert others and state.user not in others and not set(others) & set(corpus.split()["train"])
    scores = set()
    for other in others[:3]:
        opened.whose.value = other
        scores.add(round(scored_at_once(panel), 4))
        assert other in state.draft.memory.system and not any(s.turns for s in state.draft.memory.statements)
    assert len(scores) == 3 and round(own, 4) not in scores
    opened.whose.value = ""
    assert state.draft.memory.statements == statements and scored_at_once(panel) == pytest.approx(own)


@pytest.mark.sample
def test_who_taught_the_judge_is_judged_by_one_that_others_taught(state):
    trained = next(user for user in state.corpus.split()["train"] if user in state.scenarios)
    state.open(trained)
    panel = JudgePanel(state)
    panel.quick.click()
    scored_at_once(panel)
    assert any(trained not in learned_from for _, _, *learned_from in state._taught)


def test_a_memory_grows_with_the_sessions_and_marks_what_the_other_lacks(state):
    state.open(state.user)
    state.draft = None
    shown = make_user_panel(state)
    slider = next(w for w in every(shown) if w.__class__.__name__ == "IntSlider")
    state.draft = Draft.of(see_module.build_now(state, "measured"))
    assert slider.value == slider.max == len(see_module.list_past_sessions(state))
    whole = "".join(every_html(shown))
    slider.value = 2
    some = "".join(every_html(shown))
    assert sum(see_module.build_now(state, "measured", 2).counts) < sum(state.draft.memory.counts)
    assert some != whole and "only here" not in some
    next(w for w in every(shown) if w.__class__.__name__ == "Dropdown").value = "scores"
    assert "only here" in "".join(every_html(shown)) or not state.draft.memory.statements


def test_statements_that_mislead_are_those_that_wrong_verdicts_cite(state):
    """The judge of these tests cites M1 and always says the same, so M1 is as wrong as all verdicts."""
    change = EditPanel(state)
    change.mislead.click()
    wait(change.asking, 20)
    scores = state.corpus.turns.merge(state.block.targets[TURN].head(10), on=TURN)["score"].astype(float)
    said = state.judge(state.draft.memory)
    assert said.name == "personal" and state.is_gold_shown() and state.is_verdict_shown()
    rows = re.findall(
        r'pl-ef-id">(M\d)</div><div class="pl-ef-value">([^<]+)</div><div class="pl-small">cited (\d+)',
        change.effects.value,
    )
    wrong = (4 - scores).abs().mean()
    assert [(id, int(n)) for id, _, n in rows] == [("M1", len(scores)), ("M2", 0)] and rows[1][1] == "–"
    assert float(rows[0][1]) == pytest.approx(wrong, abs=0.35)


def test_nothing_written_about_one_user_is_offered_for_the_next(state):
    change = EditPanel(state)
    change.text.value, change.name.value = "Wants prices.", "mine"
    state.open(state.corpus.users["user"][4])
    assert change.text.value == change.name.value == ""


def tour(shown):
    """Open every tab, and do what the panels offer."""
    state, tabs = shown.state, shown.children[2]
    candidate = state.corpus.extras["candidates"].iloc[0]
    state.open(candidate["user"], candidate["scenario"])
    state.at = (candidate["session"], int(candidate["turn"]))
    for place in range(5):
        tabs.selected_index = place
    seen, judged, compared, rating, users = (panel.children[0] for panel in tabs.children)
    next(w for w in every(seen) if w.__class__.__name__ == "Dropdown").value = "structured"
    buttons = {w.icon: w for w in every(judged) if hasattr(w, "icon")}
    buttons["pencil"].click()
    next(w for w in every(judged) if "pl-row" in w._dom_classes).text.value = "Wants prices of everything."
    for icon in ("minus", "bar-chart", "save", "eye"):
        buttons[icon].click()
    state.reply = "pasted"
    state.reply = None
    two, memories, replayed = compared.children
    two.memories[1].value = "draft"
    for panel in (two, replayed):
        panel.write.click()
    memories.score.click()
    buttons["bolt"].click()
    users.search.value = "list"
    replayed.file.value = "nowhere.jsonl"
    for name, score, reason in (("", None, None), ("Ann", None, None), ("Ann", 2, None), ("Ann", 2, 1)):
        rating.rater.value, rating.form.score.value = name, score
        rating.form.reason.value = rating.form.reason.options[reason][1] if reason else None
        rating.save.click()
    rating.so_far.show.click()
    rating.so_far.ask.click()
    state.backbone.down = ConnectionError("0")
    buttons["tachometer"].click()
    for system in ("structured", "scores"):
        shown.children[1].system.value = system


HAN = re.compile("[\u4e00-\u9fff]")


@pytest.mark.sample
def test_every_text_of_the_interface_is_in_its_language(home, corpus, monkeypatch):
    untranslated = set()

    class Recorded(dict):
        def get(self, message, default):
            if message not in self:
                untranslated.add(message)
            return super().get(message, default)

    chinese = Recorded(perslib.text._texts("zh", home / "locale"))
    monkeypatch.setattr(perslib.text, "_texts", lambda language, own: chinese)
    for language in ("zh", "en"):
        shown = Explorer(corpus, Asked(), language)
        tour(shown)
        assert len(rated_turns(shown.state)) and shown.children[1].failed.value == ""
        own = [
            text
            for w in every(shown)
            for text in (getattr(w, name, None) for name in ("description", "tooltip", "placeholder"))
            if text and not re.fullmatch(r"[Mu]\d+|\u200b", text)
        ]
        assert len(own) > 60 and [text for text in own if bool(HAN.search(text)) != (language == "zh")] == []
        assert language == "zh" or not HAN.search("".join(every_html(shown)))
    assert untranslated == set()


def test_two_explorers_in_one_kernel_write_each_in_its_own_language(home, corpus):
    chinese, english = Explorer(corpus, Asked(waits=True), "zh"), Explorer(corpus, Asked(), "en")
    assert current_language() == "en"
    for shown in (chinese, english):
        shown.children[1].system.value = "measured"
        shown.children[2].selected_index = 1
    judged = chinese.children[2].children[1].children[0]
    asking = next(w for w in every(judged) if isinstance(w, RequestStatus))
    next(w for w in every(judged) if getattr(w, "icon", "") == "pencil").click()
    assert "评判者正在阅读并撰写" in asking._line.value
    chinese.state.backbone.answer()  # what comes back does not come from a click
    assert "完成" in asking._line.value
    assert any("评判者给出" in html for html in every_html(judged))
    chinese.state.open("u003")
    english.state.open("u003")
    for shown, said in ((chinese, "全体平均"), (english, "mean of all users")):
        assert any(said in html for html in every_html(shown))
    assert not HAN.search("".join(every_html(english)))


def test_memories_stand_side_by_side(state):
    state.system = "measured"
    panel = make_user_panel(state)
    state.draft = Draft.of(run_with_answers(partial(MeasuredSystem("en").build, state.block)))
    both = [w for w in every_html(panel) if "pl-memory-head" in w]
    assert len(both) == 1
    statement = state.draft.memory.statements[0]
    assert statement.turns and "Based on" in memory_html(state, state.draft.memory)


@pytest.mark.sample
def test_corpus_and_language_can_be_changed_in_place(model, server, corpus):
    server.reply = judging
    shown = Explorer(corpus, model(), "en")
    opened = shown.children[1]
    assert opened.corpus.value == "sample/en" and "sample/zh" in [v for _, v in opened.corpus.options]
    opened.language.value = "zh"
    assert shown.state.language == "zh" and shown.state.prompts == "en"
    assert shown.children[2].titles[0] == "用户"
    shown.children[1].corpus.value = "sample/zh"
    assert shown.state.corpus.name == "sample/zh" and shown.state.prompts == "zh"
    shown.children[1].system.value = "structured"
    assert shown.state.draft is None and "生成" in shown.children[1].message.value
    shown.children[1].system.value = "scores"
    assert shown.state.draft is not None
    shown.children[1].scenario.value = shown.state.scenarios[shown.state.user][2]
    assert shown.state.scenario == shown.children[1].scenario.value and shown.state.draft is not None


# -- choosing a corpus ---------------------------------------------------------------------------------------------


def imported(home, name, rows):
    """A table of one's own, imported under a name."""
    table = home / f"{name}.jsonl"
    table.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return import_release("table", table, name)


def unrated(scenarios):
    return [
        {"user": f"person{u}", "scenario": s, "session": s, "request": f"Ask {u}.", "response": f"Reply {u}."}
        for u in range(3)
        for s in scenarios
    ]


def head_of(shown):
    """What the head names: corpus and user."""
    return shown.children[1].corpus.value, shown.children[1].user.value


@pytest.mark.parametrize("scenarios", [["travel"], ["travel", "code"]])
def test_a_corpus_without_scores_is_explored(model, server, home, corpus, scenarios):
    server.reply = judging
    imported(home, "unrated", unrated(scenarios))
    shown = Explorer(corpus, model(), "en")
    shown.children[1].corpus.value = "unrated"
    assert head_of(shown) == ("unrated", "person0") and shown.state.corpus.name == "unrated"
    assert shown.children[1].failed.value == ""
    html = "".join(every_html(shown))
    assert "person0" in html and "u000" not in html
    for place in (1, 2, 3):
        shown.children[2].selected_index = place
    assert "Reply 0." in "".join(every_html(shown)) and shown.children[1].failed.value == ""


def test_a_corpus_that_cannot_be_shown_is_refused_and_the_old_one_keeps_its_name(model, home, corpus):
    imported(home, "broken", unrated(["travel"]))
    (home / "data" / "broken" / "turns.parquet").write_bytes(b"no parquet")
    silent = dataclasses.replace(corpus, name="silent", turns=corpus.turns.iloc[:0])
    save(silent, home / "data" / "silent")
    shown = Explorer(corpus, model(), "en")
    before, panels = head_of(shown), shown.children
    for name, why in (("broken", "is not the file that corpus.json was written with"), ("silent", "has no replies")):
        shown.children[1].corpus.value = name
        said = shown.children[1].failed.value
        assert 'role="alert"' in said and why in said, said
        assert head_of(shown) == before and shown.children is panels
        assert shown.state.corpus.name == "sample/en"
    shown.children[1].corpus.value = "sample/zh"
    assert head_of(shown)[0] == "sample/zh" and shown.children[1].failed.value == ""


def test_what_no_panel_can_show_is_told_and_what_was_open_stays(model, home, corpus, monkeypatch):
    shown = Explorer(corpus, model(), "en")
    opened, draft = shown.children[1], shown.state.draft
    drawn = see_module.profile_html

    def failing(profile, title):
        if title == "u003":
            raise KeyError(0.25)
        return drawn(profile, title)

    monkeypatch.setattr(see_module, "profile_html", failing)
    opened.user.value = "u003"
    assert "KeyError(0.25)" in opened.failed.value and 'role="alert"' in opened.failed.value
    assert opened.user.value == shown.state.user == "u000" and shown.state.draft is draft
    assert "u003" not in "".join(w for w in every_html(shown.children[2]) if "pl-profile" in w)
    opened.user.value = "u004"
    assert opened.failed.value == "" and shown.state.user == "u004"
    shown.children[2].selected_index = 1
    monkeypatch.setattr(ExplorerState, "show_gold", lambda self: 1 / 0)
    next(w for w in every(shown) if getattr(w, "icon", "") == "eye").click()
    assert "division by zero" in opened.failed.value
