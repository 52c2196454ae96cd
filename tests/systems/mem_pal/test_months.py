"""Synthetic PAL-Sets: the release's files, texts that carry what they claim, a truth that can be found again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pandas as pd
import pytest

from perslib.corpus import load
from perslib.systems.mem_pal.loaders.palset import averages, write_release
from perslib.systems.mem_pal.memory.long_term import list_user_sessions
from perslib.systems.mem_pal.world import palset
from perslib.systems.mem_pal.world.palset import palset_files
from perslib.systems.mem_pal.world.situations import draw_parts, draw_steps
from perslib.worlds.lives import Dice, book

LANGUAGES = ("en", "zh")


@pytest.fixture(scope="module", params=LANGUAGES)
def corpus(request):
    return palset(6, seed=7, language=request.param)


# -- the grammar -------------------------------------------------------------------------------------------


def test_a_topic_runs_as_the_grammar_says():
    for i in range(300):
        steps, solutions = draw_steps("history", 2, Dice(i))
        needs, m = sum(s.assistant == "requirement_prediction" for s in steps), len(solutions)
        told = [s for s in steps[needs + 1 :] if s.user == "solution_feedback"]
        talked = [s for s in steps if s.user == "solution_discussion"]
        assert len(steps) == 1 + needs + m + len(talked)
        assert steps[0] == ("topic_inquiry", "Q", "requirement_prediction", "N1")
        assert steps[needs] == ("requirement_confirmation", f"N{needs}", "solution_proposal", "S1")
        next_ones = [("solution_proposal", f"S{k + 1}") for k in range(1, m)] + [("feedback_response", f"S{m}")]
        assert told == [("solution_feedback", f"S{k}", *then) for k, then in enumerate(next_ones, start=1)]
        assert all(s.assistant == s.user and s.assistant_about == s.user_about for s in talked)
        assert all(steps[steps.index(s) + 1].user_about == s.user_about for s in talked)


def test_topics_take_as_many_turns_as_published():
    dice = Dice("turns")
    for part, expected in (("history", 5.8), ("query", 4.75)):
        drawn = [draw_steps(part, 2, dice) for _ in range(4000)]
        assert sum(len(steps) for steps, _ in drawn) / 4000 == pytest.approx(expected, abs=0.06)
        if part == "query":
            assert {side for _, solutions in drawn for side, _ in solutions} == {"pos"}
    assert all(
        steps[1].assistant == "solution_proposal" for steps in (draw_steps("history", 1, dice)[0] for _ in range(20))
    )


def test_six_of_ten_situations_lead_to_a_dialogue_and_never_four_in_a_row_do_not():
    dice = Dice("parts")
    parts = draw_parts([1] * 6000 + [12] * 3000, dice)
    assert sum(part is not None for part in parts) / 9000 == pytest.approx(0.6158, abs=0.015)
    assert set(parts[:6000]) == {"history", None} and set(parts[6000:]) == {"query", None}
    gaps = "".join("x" if part is None else "-" for part in parts)
    assert "xxx" in gaps and "xxxx" not in gaps
    assert all("query" in draw_parts([11, 12], dice) for _ in range(50))


# -- the files ---------------------------------------------------------------------------------------------


def test_the_files_are_read_without_a_single_irregularity(corpus):
    assert corpus.meta["irregularities"] == {}
    assert len(corpus.meta["files"]) == 7 and corpus.meta["synthetic"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_written_files_load_as_the_corpus_itself(tmp_path, language):
    written = load(write_release(tmp_path, palset_files(2, 7, language).files, language))
    made = palset(2, 7, language)
    assert written.language == language
    for frame in ("sessions", "turns", "events"):
        assert getattr(written, frame).equals(getattr(made, frame))
    assert written.extras["topics"].equals(made.extras["topics"])


def test_the_same_seed_gives_the_same_bytes_and_more_users_change_nothing():
    files = palset_files(1, 3, "zh").files
    more = palset_files(2, 3, "zh").files
    assert all(more[stem]["0000"] == content["0000"] for stem, content in files.items())
    assert palset_files(1, 4, "zh").files["input"] != files["input"]
    digest = hashlib.sha256(json.dumps(files, ensure_ascii=False).encode()).hexdigest()
    assert digest == hashlib.sha256(json.dumps(palset_files(1, 3, "zh").files, ensure_ascii=False).encode()).hexdigest()


@pytest.mark.simulation
@pytest.mark.parametrize("language", LANGUAGES)
def test_averages_are_near_the_published_ones(language):
    table = averages(palset(12, 42, language))
    for part in ("history", "query"):
        ours, published = table[part], table[f"{part}, published"]
        assert ((ours / published).between(0.75, 1.3)).all(), table


# -- the truth ---------------------------------------------------------------------------------------------


def test_candidates_follow_what_the_user_likes(corpus):
    tastes = corpus.extras["truth_preferences"].set_index(["user", "aspect"])
    kinds = corpus.extras["truth_candidates"].set_index(["user", "session", "topic"])["styles"]
    for row in corpus.extras["topics"].itertuples():
        taste = tastes.loc[(row.user, row.requirement_id.split("-")[0])]
        for style, label in zip(kinds[row.user, row.session, row.topic], row.labels, strict=True):
            wanted = "pos" if style in taste["liked"] else "neg" if style in taste["disliked"] else "neu"
            assert label == wanted


@pytest.mark.sample
def test_a_solution_says_of_which_kind_it_is(corpus):
    """Each kind's solutions share no wording with those of another, so that they can be told apart."""
    styles = book(corpus.language).palset.STYLES
    starts = {pattern: kind for kind, style in styles.items() for pattern in style["solutions"]}
    assert len(starts) == 24
    words = book(corpus.language).palset
    doing = sorted((t["do"] for themes in words.THEMES.values() for t in themes), key=len, reverse=True)
    kinds = corpus.extras["truth_candidates"]
    for styles_of, candidates in zip(kinds["styles"], corpus.extras["topics"]["candidates"]):
        for kind, text in zip(styles_of, candidates):
            found = {starts[p] for p in starts for do in doing if p.format(do=do).lower() == text.lower()}
            assert found == {kind}


def test_preferences_name_the_liked_kinds(corpus):
    styles = book(corpus.language).palset.STYLES
    tastes = corpus.extras["truth_preferences"].set_index(["user", "aspect"])
    for row in corpus.extras["preferences"].itertuples():
        taste = tastes.loc[(row.user, row.aspect)]
        assert all(styles[kind]["name"] in row.pos for kind in taste["liked"])
        assert all(styles[kind]["name"] in row.neg for kind in taste["disliked"])


def test_the_logs_of_a_session_show_what_its_requirement_comes_from(corpus):
    logs = corpus.events.groupby("session")["content"].agg(set)
    for row in corpus.extras["needs"].itertuples():
        assert set(row.evidences) <= logs[row.session]


def test_history_dialogues_teach_what_the_query_needs(corpus):
    """Counting who liked what in the history finds most of the liked candidates of the query set."""
    styles = book(corpus.language).palset.STYLES
    heard: Counter[tuple[str, str]] = Counter()
    turns = corpus.turns[(corpus.turns["scenario"] == "history") & (corpus.turns["user_action"] == "solution_feedback")]
    liking = [p.split("{style}")[0] for p in book(corpus.language).palset.FEEDBACK["pos"]]
    for user, request in zip(turns["user"], turns["request"]):
        (kind,) = [k for k, style in styles.items() if style["name"] in request]
        heard[user, kind] += 1 if any(request.startswith(start) for start in liking if start) else -1
    kinds = corpus.extras["truth_candidates"]
    topics = corpus.extras["topics"]
    scores = []
    for user, labels, own, part in zip(topics["user"], topics["labels"], kinds["styles"], topics["scenario"]):
        if part == "query":
            picks = sorted(range(8), key=lambda i: -heard[user, own[i]])[:2]
            scores.append(sum({"pos": 1, "neg": -1, "neu": 0}[labels[i]] for i in picks))
    assert sum(scores) / len(scores) * 50 > 15  # chance is 0; tastes differ by aspect, which this does not know


def test_times_are_as_the_release_promises(corpus):
    for user in corpus.users["user"]:
        before = ""
        for session in list_user_sessions(corpus, user):
            assert session.at[14:] == "00:00" and 12 <= int(session.at[11:13]) <= 21
            assert before < session.logs[0].at and session.logs[-1].at < session.at
            assert len(session.logs) >= 15 and session.turns
            before = session.at
        query = list_user_sessions(corpus, user, "query")
        assert query and all(s.at.startswith("2024-12") for s in query)


def test_texts_are_filled_in(corpus):
    for column in (corpus.events["content"], corpus.turns["request"], corpus.turns["response"]):
        assert not column.str.contains(r"[{}]").any()
    if corpus.language == "zh":
        assert corpus.turns["request"].str.contains(r"[\u4e00-\u9fff]").all()


def test_what_is_said_can_be_so_and_is_not_said_twice(corpus):
    said = pd.concat([corpus.turns["request"], corpus.turns["response"], corpus.events["content"]])
    assert not said.str.contains(r"本周[89]天|on [89] days this week|hundred (?:photos )?(?:saved|moved)").any()
    assert not said.str.contains(r"的事(?:这件事|的同时)|我就是想|rather not have \w+ing").any()
    if corpus.language == "zh":
        assert (corpus.extras["preferences"]["pos"].str.count("用户") == 2).all()
        jobs = {p["occupation"].removeprefix("用户是").split("，")[0] for p in corpus.users["profile"]}
        told = corpus.extras["situations"]["situation"]
        assert not any(told.str.contains(job).any() for job in jobs), "the user is not called by their job"


def test_both_languages_have_the_same_material():
    zh, en = book("zh").palset, book("en").palset
    assert {n for n in vars(zh) if n.isupper()} == {n for n in vars(en) if n.isupper()}
    assert zh.OPPOSITES == en.OPPOSITES and list(zh.STYLES) == list(en.STYLES)
    for aspect, themes in zh.THEMES.items():
        assert [theme.keys() for theme in themes] == [theme.keys() for theme in en.THEMES[aspect]]
        assert all(len(t["needs"]) == 3 and len(t.get("logs", range(8))) == 8 for t in themes + en.THEMES[aspect])
