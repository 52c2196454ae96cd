"""PAL-Set: files that the tests write always, the public side files where they are at hand."""

from __future__ import annotations

import json

import palset_made as made
import pandas as pd
import pytest
import real
from click.testing import CliRunner

from perslib.cli import main as cli
from perslib.corpus import load, read_release
from perslib.corpus.files.reading import ImportResult
from perslib.errors import DataError, UnknownName
from perslib.systems.mem_pal.loaders.palset import averages, per_user
from perslib.systems.mem_pal.loaders.palset_records import action, parse_feedback_label, read_side, side_files
from perslib.systems.mem_pal.memory.long_term import list_user_sessions


@pytest.fixture
def corpus(tmp_path):
    return load(made.write_palset(tmp_path))


def broken(tmp_path, change, **options):
    """Read a release after `change` was done to its main file."""
    main = made.main_file()
    change(main)
    return read_release(made.write_palset(tmp_path, main, {}), "palset", **options)


# -- what is read ------------------------------------------------------------------------------------------


def test_a_release_becomes_a_corpus(corpus):
    assert (corpus.name, corpus.language, corpus.scenarios) == ("palset-zh", "zh", ["history", "query"])
    assert list(corpus.users["user"]) == ["0000", "0001"]
    assert corpus.profile("0000")["health status"] == "health status."
    own = corpus.sessions[corpus.sessions["user"] == "0000"]
    assert list(own["session"]) == ["0000_sample0", "0000_sample1", "0000_sample2"]
    assert list(own["scenario"]) == ["history", "history", "query"] and list(own["position"]) == [0, 1, 2]
    assert own["started_at"].iloc[0] == pd.Timestamp("2024-10-05 18:00")
    first = corpus.turns.iloc[0]
    assert (first["request"], first["response"], first["turn"]) == ("u0.0", "a0.0", 0)
    assert (first["user_action"], first["assistant_action"]) == ("topic_inquiry", "requirement_prediction")
    assert corpus.turns["score"].isna().all()
    assert corpus.events["content"].iloc[1] == "log 0000.0.1"
    assert not any("out of order" in note or "absent" in note for note in corpus.meta["irregularities"])


def test_topics_carry_candidates_with_labels_and_the_id_of_their_requirement(corpus):
    topics = corpus.extras["topics"]
    assert len(topics) == 7
    second = topics[(topics["session"] == "0000_sample1") & (topics["topic"] == "topic-2")].iloc[0]
    assert second["labels"] == tuple(made.LABELS) and second["requirement_id"] == "health-2"
    assert second["pos"] == (second["candidates"][1], second["candidates"][4])
    assert second["implicit_needs"] == ("0000.1.2 soon", "0000.1.2 cheap")


def test_side_files_join_by_date_and_keep_situations_without_a_dialogue(corpus):
    situations = corpus.extras["situations"]
    assert situations["session"].isna().sum() == 2  # one a user
    assert set(situations["session"].dropna()) == set(corpus.sessions["session"])
    frameworks, needs = corpus.extras["frameworks"], corpus.extras["needs"]
    assert len(frameworks) == 7 and len(needs) == 14
    assert needs["evidences"].iloc[0] == ("because 0000.0.1 soon",)
    verdicts = corpus.extras["solution_preferences"]
    assert len(verdicts) == 28 and set(verdicts["feedback"]) == {"pos", "neg"}
    assert len(corpus.extras["requirements"]) == len(corpus.extras["preferences"]) == 32


def test_the_english_release_is_accepted_with_its_irregularities_counted(tmp_path):
    main = made.main_file("en")
    side = made.side_files(main)
    first = main["0000"]["history"][0]
    first["dialogue"]["turn_1"]["user"]["action"] = "<topic_inquiry>"
    first["dialogue"]["turn_2"]["assistant"]["action"] = "Small Talk"
    first["topics"]["topic-1"]["candidate_solutions"][1]["feedback"] = "Positive"
    side["background"]["0001"]["gender"] = "Woman"
    side["preference"]["0000"]["work"]["work-1"]["requirement"] = "another wording"
    reading = read_release(made.write_palset(tmp_path, main, side, "en"))
    corpus, notes = reading.corpus, reading.irregularities
    assert (corpus.name, corpus.language) == ("palset-en", "en")
    assert corpus.turns["user_action"].iloc[0] == "topic_inquiry"
    assert corpus.turns["user_action_raw"].iloc[0] == "<topic_inquiry>"
    assert pd.isna(corpus.turns["assistant_action"].iloc[1])
    assert corpus.turns["assistant_action_raw"].iloc[1] == "Small Talk"
    assert corpus.extras["topics"]["labels"].iloc[0][1] == "pos"
    assert corpus.profile("0001")["gender"] == "Female"
    assert notes["genders written 'Woman', read as 'Female'"] == 1
    assert notes["feedback labels written in another way"] == 1
    assert notes["actions of the assistant that are none of the paper's, kept as they stand"] == 1
    assert notes["requirements worded differently in the preference file, joined by id"] == 1


@pytest.mark.parametrize(
    "form", ["方案反馈", "<方案反馈>", "Solution Feedback", "solution_feedback", "SOLUTION-FEEDBACK"]
)
def test_actions_are_known_in_every_form(form):
    assert action("user", form) == "solution_feedback" and action("assistant", form) is None


def test_feedback_is_known_in_both_languages():
    assert [parse_feedback_label(x) for x in ("pos", "Negative", "中性", "maybe")] == ["pos", "neg", "neu", None]


def test_disorder_is_put_in_order_and_counted(tmp_path):
    def change(main):
        own = main["0000"]["history"]
        own[0]["logs"].reverse()
        own[1]["logs"] = []
        own[1]["dialogue"] = {}
        own[0]["dialogue"] = dict(reversed(own[0]["dialogue"].items()))
        own[0]["topics"]["topic-1"]["implicit_needs"].append("a third")
        own[0]["mood"] = "fine"
        main["0001"]["history"][0]["logs"][1]["timestamp"] = "2024-11-30 19:00"
        own.reverse()

    reading = broken(tmp_path, change)
    notes, corpus = reading.irregularities, reading.corpus
    for said in (
        "sessions whose logs were out of order, sorted",
        "sessions without logs",
        "sessions without a dialogue",
        "sessions whose turns were out of order, sorted",
        "topics with another number of implicit needs than 2",
        "keys the format does not know, left out (mood)",
        "logs later than the dialogue of their session",
        "users whose sessions were out of order, sorted",
    ):
        assert notes[said] == 1, said
    assert list(corpus.turns["request"][:3]) == ["u0.0", "u0.1", "u0.2"]
    assert [s.id for s in list_user_sessions(corpus, "0000")] == [f"0000_sample{i}" for i in range(3)]


# -- what is refused ---------------------------------------------------------------------------------------


def first(main):
    return main["0000"]["history"][0]


def no_candidates(main):
    del first(main)["topics"]["topic-1"]["candidate_solutions"]


FAULTS = {
    "a lost key": (
        no_candidates,
        r"input.json 0000_sample0: topics\.topic-1\.candidate_solutions is missing, expected a list",
    ),
    "a time": (
        lambda m: first(m).update(dialogue_timestamp="soon"),
        r'dialogue_timestamp is "soon", expected a time such as 2024-12-01 18:00',
    ),
    "null logs": (lambda m: first(m).update(logs=None), r"input.json 0000_sample0: logs is missing, expected a list"),
    "a number": (lambda m: first(m)["logs"][0].update(content=3), r"logs\[0\]\.content is 3, expected a text"),
    "feedback": (
        lambda m: first(m)["topics"]["topic-1"]["candidate_solutions"][0].update(feedback="so-so"),
        r'topics\.topic-1\.candidate_solutions\[0\]\.feedback is "so-so", expected pos, neg or neu',
    ),
    "three liked": (
        lambda m: first(m)["topics"]["topic-1"]["candidate_solutions"][0].update(feedback="pos"),
        r"expected 2 pos solutions, found 2 under 'solution', 3 among the candidates",
    ),
    "an id twice": (
        lambda m: m["0000"]["history"][1].update(sample_id="0000_sample0"),
        r"0000_sample0: is the sample_id of a second session",
    ),
    "no query": (lambda m: m["0001"].pop("query"), r"input.json 0001: query is missing, expected a list"),
    "a turn's key": (
        lambda m: first(m)["dialogue"].update(intro={}),
        r"""dialogue.intro is a wrong key, expected turn_1, turn_2 and so on""",
    ),
    "a list": (lambda m: m.update({"0002": []}), r"input.json 0002: is \[\], expected an object"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_place(tmp_path, fault):
    change, said = FAULTS[fault]
    with pytest.raises(DataError, match=said):
        broken(tmp_path, change)


def test_bad_sessions_can_be_left_out(tmp_path):
    reading = broken(tmp_path, no_candidates, skip_bad=True)
    assert len(reading.corpus.sessions) == 4
    assert [r.place for r in reading.rejected] == ["input.json 0000_sample0"]


def test_half_a_character_costs_its_record_and_no_other(tmp_path):
    main = made.main_file()
    side = made.side_files(main)
    main["0000"]["history"][0]["logs"][0]["content"] = "half \\ud83d"
    side["requirement"]["0001"]["work"]["work-1"] = "\\udc00"
    folder = made.write_palset(tmp_path, main, side)
    for file in folder.rglob("*.json"):  # as JSON escapes it, which UTF-8 can hold
        file.write_text(file.read_text("utf-8").replace("\\\\u", "\\u"), "utf-8")
    with pytest.raises(DataError, match=r"input.json 0000_sample0: logs\[0\].content holds half a character") as caught:
        load(folder)
    assert "requirement 0001/work/work-1: " in str(caught.value)
    reading = read_release(folder, skip_bad=True)
    assert len(reading.rejected) == 2 and reading.lost == 1 and len(reading.corpus.sessions) == 4


def test_side_files_are_checked_record_by_record(tmp_path):
    main = made.main_file()
    side = made.side_files(main)
    side["background"]["0000"]["age"] = "old"
    side["preference"]["0001"]["work"]["work-1"]["preference"]["neg"] = None
    side["situation"]["0000"]["2024-10-05"]["end_timestamp"] = "2024-10-06 18:00:00"
    folder = made.write_palset(tmp_path, main, side)
    with pytest.raises(DataError) as caught:
        load(folder)
    for said in (
        'background 0000: age is "old", expected a whole number',
        "preference 0001/work/work-1: preference.neg is missing, expected a text",
        "2024-10-05: lasts",
    ):
        assert said in str(caught.value)
    reading = read_release(folder, skip_bad=True)
    assert len(reading.rejected) == 3 and reading.corpus.profile("0000") == {}
    assert len(reading.corpus.extras["preferences"]) == 31


def test_what_is_no_release_is_told_what_to_give(tmp_path):
    with pytest.raises(DataError, match=r"neither input\.json nor input_en\.json"):
        read_release(tmp_path, "palset")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(DataError, match=r"called neither input\.json"):
        read_release(tmp_path / "other.json", "palset")
    (tmp_path / "input.json").write_text("[]")
    with pytest.raises(DataError, match=r"input.json: holds \[\], expected an object keyed by user"):
        read_release(tmp_path, "palset")
    made.write_palset(tmp_path)
    made.write_palset(tmp_path, language="en")
    with pytest.raises(DataError, match="one file at a time"):
        load(tmp_path)
    assert load(tmp_path / "input_en.json").language == "en"


# -- import, statistics, sessions --------------------------------------------------------------------------


def test_it_is_imported_from_the_command_line_and_comes_back_equal(tmp_path, corpus):
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, ["import", "palset", str(tmp_path), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0 and "Written to" in done.output
    again = load(out)
    assert again.digest == corpus.digest
    assert again.extras["topics"]["candidates"].iloc[0] == corpus.extras["topics"]["candidates"].iloc[0]


def test_counts_are_those_of_table_1(corpus):
    assert per_user(corpus).loc[("0000", "history")].to_dict() == {
        "sessions": 2, "logs": 4, "dialogue turns": 6, "dialogue topics": 3, "months": 2,
    }  # fmt: skip
    table = averages(corpus)
    assert table.loc["sessions", "history"] == 1.5 and table.loc["dialogue topics", "query"] == 1.5
    assert table.loc["logs", "history, published"] == 888.7


def test_sessions_are_heard_in_time_with_their_logs(corpus):
    query = list_user_sessions(corpus, "0000", "query")
    assert [s.id for s in query] == ["0000_sample2"]
    assert query[0].at == "2024-12-20 18:00:00" and query[0].logs[0].at == "2024-12-20 08:30"
    assert [t.user for t in query[0].turns] == ["u2.0", "u2.1", "u2.2"]
    assert len(list_user_sessions(corpus, "0000")) == 3
    with pytest.raises(UnknownName):
        list_user_sessions(corpus, "0000", "future")
    with pytest.raises(UnknownName):
        list_user_sessions(corpus, "nobody")


def test_sessions_of_other_corpora_are_told_apart_by_scenario():
    corpus = load("sample/en")
    user = corpus.users["user"].iloc[0]
    sessions = list_user_sessions(corpus, user)
    assert len({s.id for s in sessions}) == len(sessions) == (corpus.sessions["user"] == user).sum()
    assert [s.at for s in sessions] == sorted(s.at for s in sessions)
    assert all(s.logs and s.turns for s in sessions)


# -- the public side files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "genders", "worded"),
    [
        pytest.param("zh", {"男": 50, "女": 50}, 0, marks=real.needs("mem_pal/zh")),
        pytest.param("en", {"Male": 50, "Female": 50}, 853, marks=real.needs("mem_pal/en")),
    ],
)
def test_the_public_side_files_read_as_measured(language, genders, worded):
    reading = ImportResult()
    side = read_side(side_files(real.ROOT / "mem_pal" / language, language), reading)
    reading.settle()
    assert side.read == ["background", "requirement", "preference"]
    assert list(side.profiles) == [f"{i:04d}" for i in range(100)]
    assert len(side.rows["requirements"]) == len(side.rows["preferences"]) == 1760
    sizes = pd.DataFrame(side.rows["requirements"]).groupby(["user", "aspect"]).size().value_counts()
    assert sizes.to_dict() == {4: 240, 5: 160}
    told = pd.Series([p["gender"] for p in side.profiles.values()])
    assert told.value_counts().to_dict() == genders
    noted = reading.irregularities
    assert noted["requirements worded differently in the preference file, joined by id"] == worded
    assert noted["genders written 'Woman', read as 'Female'"] == (41 if language == "en" else 0)
    assert json.dumps(side.profiles["0000"])
