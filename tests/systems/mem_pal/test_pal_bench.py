"""The PAL-Bench study: what a page asks about, its tables and sentences, a faultless memory, and the notebook."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from endpoint import Endpoint
from pal_made import Letters, Model, name_of, usual
from palset_made import write_palset
from prompt_fields_h2 import ANSWERS as MEMORIES
from prompt_fields_pal import ANSWERS

from perslib.corpus import load
from perslib.errors import DataError, UnknownName
from perslib.llm import run_with_answers
from perslib.report import run_report
from perslib.report.show.html import render_cards
from perslib.systems.mem_pal.bench import (
    TrueMemory,
    average_samples,
    compare_methods,
    list_bench_users,
    outcomes,
    shorten_history,
    win_tie_lose,
)
from perslib.systems.mem_pal.bench.tasks import build_session_stores
from perslib.systems.mem_pal.memory.baselines import Vanilla
from perslib.systems.mem_pal.memory.h2 import H2Memory
from perslib.systems.mem_pal.studies import pal_bench as study
from perslib.systems.mem_pal.studies import pal_bench_memory as grown
from perslib.systems.mem_pal.studies import pal_bench_tables as tables
from perslib.systems.mem_pal.world import palset

pytestmark = pytest.mark.filterwarnings("ignore:No font with Chinese glyphs")


class Known(Model):
    """A model with an entry, as a backbone has one."""

    def __init__(self, kind="openai", say=usual):
        super().__init__(say)
        small = kind == "embedded"
        self.entry = SimpleNamespace(languages=("en",) if small else (), is_asked_briefly=small)

    def map(self, method, items, **settings):
        """One method after another."""
        return self.work([partial(method, item) for item in items])


@pytest.fixture(scope="module")
def corpus():
    return palset(users=2, seed=7, language="en")


@pytest.fixture(scope="module")
def asked(corpus):
    whole = study.select_users(corpus, Known(), limit=-1, history=3, logs=8)
    return replace(whole, persons=tuple(shorten_history(p, query=1, topics=2) for p in whole.persons))


@pytest.fixture(scope="module")
def memories(corpus):
    few = [TrueMemory(corpus, embedder=Letters()), Vanilla("en", logs=False), Vanilla("en")]
    return few


@pytest.fixture(scope="module")
def bench(asked, memories):
    return study.run_single_turn(asked, memories, Known(), Known())


# -- what is asked about -----------------------------------------------------------------------------------------


def test_months_are_shortened_at_the_end_that_matters(corpus):
    one = list_bench_users(corpus)[0]
    cut = shorten_history(one, history=2, query=1, logs=5, topics=1)
    assert [s.id for s in cut.history] == [s.id for s in one.history[-2:]]
    assert [s.id for s in cut.query] == [one.query[0].id] and len(cut.scenes) == 1
    assert cut.history[0].logs == one.history[-2].logs[-5:]
    assert shorten_history(one) == one


def test_whole_users_are_asked_about_until_there_are_topics_enough(corpus):
    first, second = (len(p.scenes) for p in list_bench_users(corpus))
    assert study.select_users(corpus, Known(), limit=1).topics == first
    both = study.select_users(corpus, Known(), limit=first + 1)
    assert both.topics == first + second and both.left_out == 0
    assert study.select_users(corpus, Known(), limit=1).left_out == 1
    assert not study.select_users(corpus, Known()).is_first_look
    assert both.digest != study.select_users(corpus, Known(), limit=1).digest
    scope = study.select_users(corpus, Known("embedded"))
    assert scope.is_first_look and scope.topics == 1 and len(scope.persons[0].history) > 5
    assert not study.select_users(corpus, Known("embedded"), limit=-1).is_first_look


def test_another_corpus_is_stood_in_for_in_a_language_that_the_model_reads(corpus):
    sample = load("sample/zh")
    made, stands_in = study.choose_pal_set(sample, Known(), "zh")
    assert stands_in and made.language == "zh"
    assert study.choose_pal_set(sample, Known("embedded"), "zh")[0].language == "en"
    assert study.choose_pal_set(corpus, Known(), "zh") == (corpus, False)
    asked = study.select_users(made, Known(), limit=1)
    assert asked.counts["users"] and asked.counts["topics"] == asked.topics


@pytest.mark.sample
def test_methods_go_by_the_names_of_table_2(corpus):
    known = study.make_memories("", corpus, "tfidf")
    assert known[0].name == study.OURS
    assert {m.name for m in known} == {*tables.read_main_results()["method"], study.FAULTLESS}
    few = study.make_memories("MemoryBank, H²Memory without outlines", corpus, "tfidf")
    assert [m.name for m in few] == ["MemoryBank", "H²Memory without outlines"]
    assert study.find_drawn_memory(few) is few[1] and study.find_drawn_memory(few[:1]) is None
    assert [m.name for m in study.make_memories("", corpus, "tfidf", first_look=True)] == list(study.FIRST_LOOK_METHODS)
    assert {m.budget for m in known} == {None}
    fed = study.make_memories("", corpus, "tfidf", budget=300)
    assert {m.budget for m in fed} == {300} and {m.k for m in fed if hasattr(m, "k")} >= {study.BUDGET_K}
    with pytest.raises(DataError, match="budget: is -1"):
        study.make_memories("", corpus, "tfidf", budget=-1)
    with pytest.raises(UnknownName, match="Did you mean MemoryBank"):
        study.make_memories("MemoryBnk", corpus, "tfidf")
    assert study.FAULTLESS not in {m.name for m in study.make_memories("", replace(corpus, meta={}), "tfidf")}
    assert [m.name for m in study.choose_talking_memories("", known, first_look=False)] == list(study.TALKING_METHODS)
    assert study.choose_talking_memories("none", known, first_look=False) == []
    with pytest.raises(UnknownName):
        study.choose_talking_memories("nobody", known, first_look=False)


def test_answers_of_a_first_look_are_short_by_their_form(corpus):
    model = Known("embedded")
    scope = study.select_users(corpus, model)
    study.run_single_turn(scope, [Vanilla("en")], model, model)
    schemas = {name_of(r): r.schema["properties"] for r in model.asked}
    assert set(schemas) == {"pal_requirement", "pal_solution", "pal_selection", "pal_grade"}
    assert schemas["pal_solution"]["solution"]["maxLength"] == study.MOST_CHARACTERS
    assert schemas["pal_grade"]["analysis"]["maxLength"] == study.MOST_ASIDE_CHARACTERS
    assert schemas["pal_selection"]["selected_solutions"]["items"]["enum"][-1] == "S8"
    assert schemas["pal_grade"]["score"]["enum"] == [0, 0.5, 1, 1.5, 2]


# -- a memory without faults -------------------------------------------------------------------------------------


def test_a_faultless_memory_says_what_is_true(corpus):
    memory = TrueMemory(corpus, embedder=Letters())
    one = list_bench_users(corpus)[0]
    *_, store = run_with_answers(partial(build_session_stores, memory, one))
    assert [c.session for c in store.chapters] == [s.id for s in (*one.history, *one.query)]
    topics = corpus.extras["topics"].query("user == @one.user").set_index("session")
    assert [o.requirement for o in store.outlines] == topics["requirement"].tolist()
    for session, chapter in zip((*one.history, *one.query), store.chapters):
        spans = [o.turns for o in chapter.outlines]
        assert spans[0][0] == 1 and spans[-1][1] == len(session.turns)
        assert all(a[1] + 1 == b[0] for a, b in zip(spans, spans[1:]))  # noqa: RUF007
        assert all(e < r.log for r in chapter.relations for e in (*r.caused_by, *r.follows))
        for situation in chapter.situations:
            assert len(situation.logs) > 1 and len(situation.aspects) == 1
    needs = corpus.extras["needs"]
    chapter, session = store.chapters[0], one.history[0]
    causes = {(r.log, e) for r in chapter.relations for e in r.caused_by}
    pairs = [e for own in needs[needs["session"] == session.id]["evidences"] for e in [set(own)]]
    told = [{session.logs[a].content, session.logs[b].content} for a, b in causes]
    assert causes and sum(pair in told for pair in pairs) == len(pairs)
    assert all(p.requirement and p.preference for p in store.principles)
    assert len(store.snapshots) == 1 + len(one.query)
    assert {o.cluster for o in store.outlines} == set(range(len(store.principles)))
    with pytest.raises(DataError, match="no synthetic PAL-Set"):
        TrueMemory(load("sample/zh"))


def test_a_faultless_memory_recalls_what_is_liked_before_it_is_asked(corpus):
    memory = TrueMemory(corpus, embedder=Letters())
    one = list_bench_users(corpus)[0]
    first, *_ = run_with_answers(partial(build_session_stores, memory, one))
    topic = one.scenes[0].topic
    pieces = memory.recall(first, one.query[0].before(), topic.requirement, "solution")
    assert {p.field for p in pieces} == {"background", "situation", "principle", "outline"}
    assert not any(one.query[0].id in p.sessions for p in pieces if p.field == "outline")
    alone = H2Memory("en", embedder=Letters()).recall(first, one.query[0].before(), topic.requirement, "solution")
    assert alone == pieces  # one recall serves both


# -- tables and sentences ----------------------------------------------------------------------------------------


def test_table_2_in_halves_with_what_failed(bench):
    table = average_samples(bench.samples)
    one, two = (tables.widen_tasks(table, *own) for own in (["requirement"], ["solution", "selection"]))
    assert list(one.columns) == ["method", *(f"word_bleu_{n}" for n in range(1, 5)), "g_score", "failed"]
    assert list(two.columns)[-2:] == ["s_score", "failed"] and set(one["failed"]) == {0}
    assert one["g_score"].tolist() == ["25.00"] * 3  # half a point of two
    value = table.query("metric == 's_score'")["value"].iloc[0]
    assert two["s_score"].iloc[0] == f"{value:.2f}".replace("-", "−")
    assert bench.failures == {"n": len(bench.answers), "failed": 0, "ungraded": 0, "pieces": 0, "error": "–"}


def test_what_was_asked_of_a_model_is_known_from_the_answers(bench, asked):
    assert bench.extractive_calls is None, "a model was asked"
    n = asked.topics
    assert tables.measure_chance_spread(asked) == pytest.approx(1.96 * 50 * (24 / 28 / n) ** 0.5)


def test_few_users_have_neither_intervals_nor_tests_and_the_page_says_so(asked, bench):
    found = compare_methods(bench.samples, study.FAULTLESS)
    assert found[["difference_low", "difference_p", "difference_p_holm"]].isna().all(axis=None)
    assert tables.find_significant(found) is None


def drawn(users=12):
    """Samples of two methods over many users, the first better by one point everywhere."""
    rng = np.random.default_rng(3)
    rows = []
    for u in range(users):
        for t in range(3):
            base = int(rng.integers(-1, 2))
            about = {"backbone": "b", "user": f"u{u}", "session": f"u{u}_s", "topic": f"topic-{t}"}
            rows += [
                {**about, "method": m, "task": task, "metric": metric, "value": base + gain}
                for m, gain in ((study.OURS, 1), ("RecurSum", 0))
                for task, metric in (("requirement", "g_score"), ("selection", "s_score"))
            ]
    return pd.DataFrame(rows).astype({"value": "Float64"})


def test_with_enough_users_a_difference_has_an_interval_and_a_corrected_p():
    compared = compare_methods(drawn(), study.OURS)
    (row,) = compared[compared["metric"] == "s_score"].to_dict("records")
    assert row["difference"] == 50 and np.isnan(row["difference_low"])  # all alike say nothing of how others differ
    assert row["difference_p_holm"] < 0.01
    found = tables.find_significant(compared)
    better = "RecurSum (G-Score), RecurSum (S-Score)"
    assert found == {"method": "H²Memory", "better": better, "worse": "", "neither": ""}
    table = average_samples(drawn())
    assert [tables.find_leader(drawn(), table, m)["best"] for m in tables.SHORT_METRICS] == ["H²Memory"] * 2
    assert tables.list_baseline_methods(table) == ["RecurSum"]


def test_an_ablation_is_worse_better_or_within_chance_and_the_best_is_told_from_how_many():
    own = drawn().query("method == @study.OURS")
    gains = {"outlines": -1, "background": 0, "situations": 1}
    ablations = [own.assign(method=f"{study.OURS} without {p}", value=own["value"] + g) for p, g in gains.items()]
    samples = pd.concat([drawn(), *ablations], ignore_index=True)
    changes = tables.compare_ablations(compare_methods(samples, study.OURS), study.OURS)
    assert changes["change"].tolist() == [50 * gain for gain in gains.values()] * 2
    found = tables.sum_up_ablations(changes)
    assert {kind: one["parts"] for kind, one in found.items()} == {
        "lower": "outlines",
        "higher": "situations",
        "unclear": "background",
    }
    assert found["lower"]["changes"].count("−50.0") == 2 and found["lower"]["users"] == 12
    best = tables.find_leader(samples, average_samples(samples), "s_score")
    assert (best["best"], best["near"], best["others"]) == ("H²Memory – situations", 0, 4)
    assert tables.sum_up_ablations(changes.assign(change_p_holm=np.nan)) == {}


def test_a_memory_is_worth_what_it_gains_over_none_and_over_the_best_other():
    nothing = drawn().query("method == 'RecurSum'")
    samples = pd.concat([drawn(), nothing.assign(method=tables.NO_MEMORY, value=nothing["value"] - 1)])
    told = tables.describe_worth(compare_methods(samples, study.OURS), average_samples(samples))
    assert told["over_none"] == "G-Score 100.0, S-Score 100.0" and "S-Score 50.0 (RecurSum)" in told["over_best"]
    assert tables.describe_worth(compare_methods(drawn(), study.OURS), average_samples(drawn())) is None


def test_published_numbers_are_those_of_the_paper():
    own = tables.read_main_results()
    assert len(own) == 120
    best = own.query("metric == 's_score'").set_index("method")["published"]
    assert best.idxmax() == "H²Memory" and best.max() == 38.32
    counts = tables.read_published_table(3)
    assert (counts[["win", "tie", "lose"]].sum(axis=1) == 826).all() and len(counts) == 10
    assert tables.read_published_table(10).set_index("method").loc["H²Memory"].tolist() == [49.77, 40.40]
    beside = average_samples(drawn()).merge(own)
    assert set(beside["method"]) == {"H²Memory", "RecurSum"} and len(beside) == 4


def test_what_a_method_takes_stands_beside_what_it_reaches(bench):
    table = average_samples(bench.samples)
    taken = tables.compare_costs(bench, table).set_index("method")
    assert taken.loc["vanilla (with log)", "build_calls"] == 0
    assert taken.loc["vanilla (with log)", "answer_tokens"] == 110
    assert taken["answer_cost"].tolist() == pytest.approx([0.01] * 3)
    assert taken["g_score"].tolist() == [25.0] * 3 and taken["answers_failed"].sum() == 0
    assert "build_cost" not in taken  # nothing was asked for a memory


def test_runs_beside_this_one_are_found_where_they_asked_the_same(bench, asked, tmp_path):
    own = average_samples(bench.samples).assign(judge="judge", embedder="tfidf", asked=asked.digest)
    for folder, frame in (
        ("other", own.assign(backbone="other")),
        ("elsewhere", own.assign(backbone="elsewhere", asked="x")),
    ):
        (tmp_path / folder / "tables").mkdir(parents=True)
        frame.to_csv(tmp_path / folder / "tables" / "pal_run.csv", index=False)
    (tmp_path / "broken" / "tables").mkdir(parents=True)
    (tmp_path / "broken" / "tables" / "pal_run.csv").write_text("no,run\n")
    runs = tables.collect_runs(own, tmp_path / "mine")
    assert set(runs["backbone"]) == {"made", "other"} and len(runs) == 6
    assert len(tables.collect_runs(own, "")) == 3


def test_dialogues_are_compared_and_people_are_asked(asked, memories, tmp_path):
    few = replace(asked, persons=tuple(shorten_history(p, query=1, topics=1) for p in asked.persons))
    model = Known()
    held, evaluations = study.run_multi_turn(few, memories[:2], model, model, model, runs=2)
    assert len(held) == 4 and not any(d.error for d in held)
    assert len(evaluations) == 2 * 2 * 2 and evaluations["run"].nunique() == 2
    counts = {"held": 4, "broke": 0, "runs": 2, "n": 8, "unscored": 0}
    assert study.count_dialogues(held, evaluations) == counts
    pairs = outcomes(evaluations)
    table = win_tie_lose(pairs)
    assert table["dimension"].tolist() == list(tables.ASPECTS)
    assert table[["win", "tie", "lose"]].to_numpy().sum() == 4
    assert tables.sum_dialogue_costs(held)["dialogues"].tolist() == [2, 2]
    votes = pairs[["user", "session", "topic", "dimension", "method", "other"]].assign(rater="a", vote="win")
    votes.to_csv(tmp_path / "votes.csv", index=False)
    agreed = tables.compare_with_people(pairs, tmp_path / "votes.csv")
    assert agreed["people_votes"].tolist() == ["2 / 0 / 0"] * 2
    assert agreed["published_kappa"].tolist() == [0.54, 0.62]


@pytest.mark.parametrize("talking", ["none", study.FAULTLESS])
def test_without_a_second_method_no_dialogues_are_compared(asked, memories, talking):
    few, model = replace(asked, persons=asked.persons[:1]), Known()
    talkers = study.choose_talking_memories(talking, memories[:1], first_look=False)
    held, evaluations = study.run_multi_turn(few, talkers, model, model, model, runs=2)
    assert bool(held) == (talking != "none") and evaluations.empty
    assert win_tie_lose(outcomes(evaluations)).empty
    assert study.count_dialogues(held, evaluations)["n"] == 0


def test_topics_and_dialogues_open_to_what_each_method_said(asked, bench, memories):
    topics = list(tables.describe_topics(asked, bench))
    assert [t["topic"].user for t in topics[:2]] == [p.user for p in asked.persons] and len(topics) == 4
    html = render_cards("pal_cases.html.j2", topics)
    assert html.count('class="pl-case"') == 4 and html.count('class="pl-case-reply"') == 4 * 3
    selected = topics[0]["methods"][0][1][2]["said"]
    assert "0.5 of 2" in html and re.fullmatch(r"[✓✗–] S\d: .+\n[✓✗–] S\d: .+", selected)
    failed = bench.answers.assign(grade=None, error="HTTP <500>")
    failed.loc[failed["task"] != "solution", "said"] = None
    html = render_cards("pal_cases.html.j2", tables.describe_topics(asked, replace(bench, answers=failed)))
    assert html.count("(no answer: HTTP &lt;500&gt;)") == 4 * 3 * 2 and "of 2" not in html
    few, model = replace(asked, persons=asked.persons[:1]), Known()
    held, _ = study.run_multi_turn(few, memories[:2], model, model, model, runs=2)
    broken = [replace(held[0], error="no line"), *held[1:]]
    html = render_cards("pal_cases.html.j2", tables.describe_dialogues(broken, most=1))
    assert html.count('class="pl-case-reply"') == 2 and html.count("ended early") == 1


# -- the memory drawn --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def memory(asked, memories, bench):
    return bench.find_served(study.FAULTLESS, asked.persons[0].user).stores[-1], memories[0], asked.persons[0]


def test_growth_counts_what_was_heard_and_kept(memory):
    store, _, person = memory
    growth = grown.measure_growth(store, person)
    sessions = (*person.history, *person.query)
    assert growth["logs"].iloc[-1] == sum(len(s.logs) for s in sessions)
    assert growth["outlines"].iloc[-1] == len(store.outlines)
    assert growth["principles"].iloc[0] == 0 < growth["principles"].iloc[-1]
    assert (growth[["logs", "turns", "heard", "situations", "outlines"]].diff().dropna() >= 0).all(axis=None)
    kept = growth.filter(like="_size").iloc[-1].sum()
    assert kept > 0


def test_a_log_graph_has_a_number_for_each_group_of_related_logs(memory):
    store, _, person = memory
    graph = grown.build_log_graph(store, person)
    numbered = graph.logs[graph.logs["group"] > 0]
    assert set(numbered["log"]) == {*graph.edges["log"], *graph.edges["earlier"]}
    told = graph.situations
    assert told["logs"].sum() == len(numbered) and told["group"].iloc[0] == "1"
    named = grown.build_log_graph(store, person, person.query[0].id)
    assert named.session == person.query[0].id


def test_a_diff_strikes_out_what_went_and_underlines_what_came():
    parts = grown.compare_texts("They cook at home on <Mondays>.", "They cook at home on Fridays.", "en")
    assert parts == [("They cook at home on ", "They cook at home on "), ("<Mondays>.", "Fridays.")]
    assert grown.compare_texts("周末在家做饭。", "周末在家做饭。", "zh") == [("周末在家做饭。",) * 2]
    whole = ("cats purr in the sun", "a tax form is due")
    assert grown.compare_texts(*whole, "en") == [whole]
    changes = [("work", "s", "", "They cook at <Mondays>.", "They cook at Fridays.")]
    frame = pd.DataFrame(changes * 8, columns=["aspect", "session", "at", "before", "after"])
    html = render_cards("pal_revisions.html.j2", list(grown.describe_revisions(frame, "en")))
    assert re.search(r">They cook at <span [^>]*line-through[^>]*>&lt;Mondays&gt;\.</span> <span [^>]*underline", html)
    assert "8 versions" in html and "2 earlier versions" in html
    assert html.count("<ul") == 2 and html.count("<li>") == 8


def test_revisions_are_the_changes_of_the_background(memory):
    store, _, _ = memory
    changes = grown.list_revisions(store)
    for aspect, own in changes.groupby("aspect"):
        assert own["after"].iloc[-1] == store.chapters[-1].background[aspect]
        assert (own["before"].iloc[1:].to_numpy() == own["after"].iloc[:-1].to_numpy()).all()


def test_outlines_lie_in_the_plane_of_their_main_directions():
    points = np.array([[0.0, 0, 0], [4, 0, 0], [0, 2, 0], [4, 2, 0]])
    places = grown.project_to_plane(points)
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert np.allclose(distances, np.linalg.norm(points[:, None] - points[None], axis=-1))
    assert (places**2).sum(axis=0) == pytest.approx((16, 4))
    assert grown.project_to_plane(np.zeros((0, 3))).shape == (0, 2)
    assert grown.project_to_plane(np.ones((1, 3))).tolist() == [[0.0, 0.0]]


def test_panels_hold_bleu_1_and_the_two_scores(bench):
    panels = tables.select_short(average_samples(bench.samples))
    assert panels["panel"].nunique() == 4
    assert set(panels["metric"].str.replace("word_", "")) == {"bleu_1", "g_score", "s_score"}


# -- the notebook ------------------------------------------------------------------------------------------------

BACKBONE = '[loop]\nbase_url = "{address}"\nmodel = "m"\nconcurrency = 16\nstructured = "schema"\n'


def fitting(body):
    """A good answer to whatever schema is asked for."""
    wanted = set(body["response_format"]["json_schema"]["schema"]["properties"])
    return json.dumps(next(a for a in (MEMORIES | ANSWERS).values() if set(a) == wanted))


@pytest.mark.kernel
def test_the_page_on_a_small_release(home, tmp_path):
    folder = write_palset(tmp_path / "small", language="en")
    with Endpoint(fitting) as server:
        (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
        settings = {"methods": "H²Memory, vanilla (with log)", "embedder": "tfidf", "runs": 2}
        run_report("05_pal_bench", corpus=folder, backbones="loop", language="zh", **settings)
    (folder,) = (home / "reports").glob("*/loop")
    page = json.loads((folder / "05_pal_bench.json").read_text("utf-8"))
    assert page["status"] == "success" and len(page["figures"]) == 7 and "pal_log_graph" in page["tables"]
    scores = pd.read_csv(folder / "tables" / "pal_run.csv")
    assert set(scores["method"]) == {"H²Memory", "vanilla (with log)"} and set(scores["users"]) == {2}
    assert set(scores.query("metric == 'g_score'")["value"]) == {25.0} and set(scores["samples"]) == {3}
    costs = pd.read_csv(folder / "tables" / "pal_costs.csv").set_index("method")
    assert costs["build_calls"]["H²Memory"] > 5 and costs["memory_failed"].sum() >= 0
    assert len(pd.read_csv(folder / "tables" / "pal_votes.csv")) == 2 * 3
    html = (folder / "05_pal_bench.html").read_text("utf-8")
    shown = re.sub(r"<details class=.code.>.*?</details>", "", html, flags=re.DOTALL)
    assert "记忆在数月之后值多少" in shown and "没有区间，也不作检验" in shown and "Qwen-Max-0428" in shown
    assert ">nan" not in shown and "[nan" not in shown
    assert "初步一览" not in shown and "代替" not in shown and "无误" not in shown
