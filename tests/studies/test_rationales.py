"""Rationales: reasons against blind naming, what a rationale speaks of, the patterns, the page."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elsewhere import each_elsewhere
from endpoint import Endpoint
from histories import corpus_of
from made import shortened
from pages import run_cells
from said import rationale

from perslib.corpus import Corpus, coerce, load, save
from perslib.judge import JudgeSettings, LearnedJudge, Personal, evaluate, select_blocks
from perslib.judge.evaluate import fit_judge
from perslib.llm import Backbone, compute
from perslib.memory import MemorySystem, Statement, Structured, UserMemory
from perslib.memory.base import RecordingSystem
from perslib.report import begin, run_report
from perslib.report.show.html import render_cards
from perslib.stats import reason_confusion
from perslib.studies import cases
from perslib.studies import rationales as study
from perslib.studies.faithfulness import EDITS, MOST_ASKED
from perslib.studies.grounding import Grounding, Grounds, extract_terms, locate_terms
from perslib.worlds import world

KEYS = ["user", "scenario", "session", "turn"]


def verdicts_of(rows: list[tuple[Any, ...]], judge: str = "personal") -> pd.DataFrame:
    """Verdicts from (user, scenario, session, turn, raw, reason, rationale, evidence)."""
    frame = pd.DataFrame(rows, columns=[*KEYS, "raw", "reason", "rationale", "evidence"])
    return coerce(frame.assign(judge=judge), "verdicts")


# -- reasons -----------------------------------------------------------------------------------------------

DETAIL, UNMET, OTHER = "insufficient detail", "requirement not met", "other"


def reasoned() -> Corpus:
    """Two users to judge, who gave reasons, and a train user who gave three."""
    rows = [
        *(("ada", "gift", "0", "r", "a", s) for s in (2, 3, 1, 5)),
        *(("bo", "gift", "0", "r", "a", s) for s in (3, 2, 4)),
        *(("tess", "gift", "0", "r", "a", s) for s in (3, 3, 2, 5)),
    ]
    corpus = corpus_of(rows)
    given = [DETAIL, UNMET, DETAIL, None, UNMET, OTHER, None, UNMET, UNMET, DETAIL, None]
    turns = corpus.turns.assign(reason=given)
    splits = {"train": ["tess"], "test": ["ada", "bo"]}
    return Corpus("made", "en", corpus.users, corpus.sessions, turns, meta={"splits": splits})


def judged() -> pd.DataFrame:
    """ada: right, wrong, judge satisfied, both satisfied; bo: right, wrong, user alone satisfied."""
    said = [
        ("ada", 0, 2, DETAIL),
        ("ada", 1, 3, DETAIL),
        ("ada", 2, 4, "satisfied"),
        ("ada", 3, 5, "satisfied"),
        ("bo", 0, 3, UNMET),
        ("bo", 1, 2, DETAIL),
        ("bo", 2, 3, DETAIL),
    ]
    return verdicts_of([(u, "gift", "0", t, s, r, "", ()) for u, t, s, r in said])


def test_satisfied_is_a_reason_on_either_side():
    table = reason_confusion(judged(), reasoned()).set_index(["gold_reason", "reason"])["turns"]
    assert table[DETAIL, DETAIL] == 1 and table[DETAIL, "satisfied"] == 1
    assert table["satisfied", "satisfied"] == 1 and table["satisfied", DETAIL] == 1
    assert table.sum() == 7


def test_a_judge_beside_those_that_name_reasons_blindly():
    table = study.compare_to_blind(judged(), reasoned()).set_index("named_by")
    itself, commonest, drawn, own = (table.loc[n] for n in (study.ITSELF, *study.BLIND))
    # Both are dissatisfied on four turns: users say detail, unmet, unmet, other; the judge detail ×3, unmet.
    assert itself["turns"] == 4 and itself["accuracy"] == 0.5 and itself["found"] == pytest.approx(2 / 5)
    chance = (1 * 3 + 2 * 1) / 16
    assert itself["kappa"] == pytest.approx((0.5 - chance) / (1 - chance))
    assert commonest["accuracy"] == 0.5 and commonest["gain"] == 0.0 and commonest["kappa"] == 0.0
    # tess gives unmet two times in three, detail once: (1/3 + 2/3 + 2/3 + 0) / 4
    assert drawn["accuracy"] == pytest.approx(5 / 12) and drawn["gain"] == pytest.approx(1 / 12)
    assert own["accuracy"] == 0.5, "nobody has another scenario: the commonest stands in"


def test_how_much_too_often_a_reason_is_named():
    table = study.measure_bias(judged(), reasoned()).set_index("reason")
    assert tuple(table.loc[DETAIL, ["given", "named", "ratio"]]) == (1, 3, 3.0)
    assert tuple(table.loc[OTHER, ["given", "named", "ratio"]]) == (1, 0, 0.0)
    assert table[["ratio_low", "ratio_high"]].isna().all(axis=None), "two users are too few for an interval"
    detail = study.select_detail_bias(table.reset_index())
    assert list(detail.index) == ["personal"] and detail["ratio"].tolist() == [3.0]
    assert study.select_detail_bias(table.drop(DETAIL).reset_index()).empty


def test_without_reasons_there_is_nothing_to_compare_and_no_crash():
    corpus = reasoned()
    bare = Corpus("made", "en", corpus.users, corpus.sessions, corpus.turns.assign(reason=None))
    assert study.compare_to_blind(judged(), bare).empty and study.measure_bias(judged(), bare).empty
    found = study.classify_rationales(judged(), bare, {})
    assert found["pattern"].isna().all() and study.estimate_shares(found).empty
    assert set(cases.pick_cases(found)["pattern"]) == {cases.FARTHEST}


# -- what a rationale speaks of ----------------------------------------------------------------------------


def test_terms_are_words_less_their_endings_and_pieces_of_chinese():
    assert extract_terms("The hotels' prices, and learning 3 languages") == {"hotel", "pric", "learn", "languag"}
    assert extract_terms("没有酒店") == {"酒店"} and extract_terms("的了") == set()
    assert locate_terms("a 烤箱!")[0] == ("烤箱", 2, 4)


def two_scenarios(users: int = 12) -> Corpus:
    """Everybody once asked about hotels and once about gifts."""
    rows = []
    for u in range(users):
        rows.append((f"u{u:02}", "travel", "0", "Which hotel?", "A hotel by the harbour, by ferry.", 4))
        rows.append((f"u{u:02}", "gift", "0", "Which vase?", "A vase with a ribbon, wrapped.", 3))
    return corpus_of(rows)


def said_by_all(corpus: Corpus, text: str) -> pd.DataFrame:
    return pd.DataFrame([(u, "gift", text) for u in corpus.users["user"]], columns=["user", "scenario", "rationale"])


def test_words_at_home_in_another_scenario_are_far():
    corpus = two_scenarios()
    block = corpus.block("u00", "gift")
    (target,) = block
    grounding = Grounding(corpus, said_by_all(corpus, "The vase is dull."))
    unknown = grounding.trace_terms("It names no hotel near the harbour.", block, target)
    assert math.isnan(unknown.far), "the terms of a rationale that it was not made for weigh nothing"
    heard = pd.concat([said_by_all(corpus, "The vase is dull."), said_by_all(corpus, "no hotel near the harbour")[:1]])
    grounding = Grounding(corpus, heard)
    grounds = grounding.trace_terms("The vase has no hotel near the harbour.", block, target)
    assert grounds.terms == ("hotel", "harbour") and grounds.is_off_task and not grounds.is_grounded


def test_what_a_judge_says_of_everybody_is_how_it_talks():
    corpus = two_scenarios()
    block = corpus.block("u00", "gift")
    (target,) = block
    grounding = Grounding(corpus, said_by_all(corpus, "Neither hotel nor vase."))
    assert not grounding.trace_terms("Neither hotel nor vase.", block, target).is_off_task


def test_with_few_rationales_none_is_called_off_task():
    corpus = two_scenarios(users=5)
    block = corpus.block("u00", "gift")
    (target,) = block
    grounds = Grounding(corpus, said_by_all(corpus, "A hotel.")[:1]).trace_terms("A hotel.", block, target)
    assert grounds.far == 1.0 and not grounds.is_decided and not grounds.is_off_task


def known_origin(corpus: Corpus, seed: int = 0) -> tuple[pd.DataFrame, list[str]]:
    """Low turns of test users with the rationale that each deserves, and one of another scenario of the user."""
    rng = np.random.default_rng(seed)
    truth = corpus.extras["truth_turns"].merge(corpus.turns[[*KEYS, "score"]])
    low = truth[(truth["score"] <= 3) & truth["user"].isin(corpus.split()["test"])]
    rows, strange = [], []
    for row in low.to_dict("records"):
        others = truth[(truth["user"] == row["user"]) & (truth["scenario"] != row["scenario"])]
        other = others.iloc[int(rng.integers(len(others)))].to_dict()
        rows.append((*(row[k] for k in KEYS), rationale(row, corpus.language)))
        strange.append(rationale(other, corpus.language))
    return pd.DataFrame(rows, columns=[*KEYS, "rationale"]), strange


@pytest.mark.sample
@pytest.mark.parametrize(("name", "precision", "recall"), [("sample/en", 0.93, 0.85), ("sample/zh", 0.95, 0.78)])
def test_rationales_of_known_origin_are_told_apart(name, precision, recall):
    """Measured: en .96 and .89 (205 rationales of either kind), zh 1.00 and .82 (194)."""
    corpus = load(name)
    own, strange = known_origin(corpus)
    grounding, blocks = Grounding(corpus, own), {}
    called = {"own": 0, "strange": 0}
    for row, other in zip(own.to_dict("records"), strange):
        key = (row["user"], row["scenario"])
        if key not in blocks:
            block = corpus.block(*key)
            blocks[key] = block, {(t.session, t.turn): t for t in block}
        block, targets = blocks[key]
        target = targets[row["session"], row["turn"]]
        called["own"] += grounding.trace_terms(row["rationale"], block, target).is_off_task
        called["strange"] += grounding.trace_terms(other, block, target).is_off_task
    assert called["strange"] / (called["strange"] + called["own"]) >= precision
    assert called["strange"] / len(strange) >= recall


# -- patterns, citations, cases ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "grounds", "pattern"),
    [
        ({"gold": 5}, Grounds(1, 0), None),
        ({"score": 4, "reason": "satisfied"}, Grounds(1, 0), "judge satisfied"),
        ({"rationale": None}, Grounds(), "no rationale"),
        ({}, Grounds(0.5, 0.5, ("hotel",), 20), "off-task"),
        ({}, Grounds(0.5, 0.5, ("hotel",), 3), "matches the core"),
        ({"reason": OTHER}, Grounds(0.5, 0.0, (), 20), "real, not the core"),
        ({"reason": OTHER}, Grounds(0.1, 0.0, (), 20), "not grounded"),
        ({"reason": OTHER}, Grounds(), "not grounded"),
    ],
)
def test_patterns_in_their_order(row, grounds, pattern):
    usual = {"gold": 2, "gold_reason": DETAIL, "score": 3.0, "reason": DETAIL, "rationale": "so"}
    assert study._find_pattern({**usual, **row}, grounds) == pattern


def cited() -> tuple[Corpus, pd.DataFrame, dict[tuple[str, str, str], UserMemory]]:
    corpus = two_scenarios()
    statements = (
        Statement("M1", "scoring_style", "Strict.", ("travel/0/0",)),
        Statement("M2", "scoring_style", "Kind.", (), None, ("9",)),
        Statement("M3", "task_specific_observations", "Wants ferries.", ("travel/0/0",), "travel"),
    )
    memory = UserMemory("u00", "gift", "structured", (0, 0, 0, 1, 0), statements)
    said = verdicts_of([("u00", "gift", "0", 0, 2, DETAIL, "No ribbon.", ("M1", "m2", "M3", "M9"))])
    return corpus, said, {("personal", "u00", "gift"): memory}


def test_citations_of_nothing_and_of_statements_without_turns():
    corpus, said, memories = cited()
    found = study.classify_rationales(said, corpus, memories)
    table = study.count_citations(found, corpus, memories).iloc[0]
    assert tuple(table[["rationales", "citing", "citations"]]) == (1, 1, 4)
    assert tuple(table[["nonexistent", "unfounded", "other_task"]]) == (1, 1, 1)
    bare = study.count_citations(found.assign(evidence=[("travel/0/0", "travel/7/7")]), corpus, {}).iloc[0]
    assert (bare["citations"], bare["nonexistent"]) == (2, 1), "without a memory, turns of the history"


def test_a_case_names_what_it_cites_and_the_turns_behind_it(tmp_path):
    begin(tmp_path, "en")
    corpus, said, memories = cited()
    row = study.classify_rationales(said, corpus, memories).iloc[0].to_dict()
    record = cases.describe_case(row, corpus, memories)
    assert record["gold"] == record["messages"][-1]["score"] == 3 and record["why"] == {}
    html = render_cards("records.html.j2", [record])
    shown = (
        "too short",
        "Wants ferries.",
        "<b>M9</b>",
        "no such statement",
        "Which hotel?",
        "→ A hotel by the harbour",
    )
    assert all(text in html for text in shown) and "What would change its mind" not in html


def test_a_record_of_the_learned_judge_adds_up_and_says_what_would_change_its_mind(tmp_path):
    begin(tmp_path, "en")
    corpus = shortened(world(12, 3, "en"), sessions=2, turns=3)
    judge = LearnedJudge()
    verdicts, _ = study.judge_with_memories([judge], corpus, None, limit=None, seed=1)
    fit_judge(judge, corpus, select_blocks(corpus))
    examples = cases.pick_cases(study.classify_rationales(verdicts, corpus, {}))
    assert len(examples) == min(6, examples["user"].nunique()) and set(examples["pattern"]) <= {
        *cases.CLEAREST_BY,
        cases.FARTHEST,
    }
    for row in examples.to_dict("records"):
        record = cases.describe_case(row, corpus, {}, judge)
        points = [part["points"] for part in record["why"]["parts"]]
        assert record["why"]["mean"] + sum(points) == pytest.approx(row["score"], abs=1e-9)
        assert [abs(p) for p in points[:-1]] == sorted(map(abs, points[:-1]), reverse=True)
        html = render_cards("records.html.j2", [record])
        assert html.count("pl-why-row") == len(points) and "What would change its mind" in html


def test_a_memory_is_kept_as_it_was_built():
    _, _, memories = cited()
    (memory,) = memories.values()

    class Known(MemorySystem):
        name = "known"

        async def build(self, block, ask, judged=None):
            return memory

    kept = RecordingSystem(Known())
    assert compute(partial(kept.build, two_scenarios().block("u00", "gift"))) is memory
    assert kept.notes["u00", "gift", 0].memory == memory and kept.name == "known"


def test_memories_come_home_from_other_processes(model, server, monkeypatch):
    monkeypatch.setattr(Backbone, "each", each_elsewhere)
    server.reply = answer
    corpus = corpus_of([(u, s, "0", "Q", "A", 4) for u in ("ada", "bo") for s in ("gift", "travel", "food")])
    judge = Personal(Structured("en"), JudgeSettings("en"))
    verdicts, memories = study.judge_with_memories([judge], corpus, model(), limit=6, seed=1)
    shown = verdicts[["judge", "user", "scenario"]].itertuples(index=False, name=None)
    assert len(memories) > 2 and set(memories) == set(shown)
    assert all(memory.statements for memory in memories.values())


# -- the page ----------------------------------------------------------------------------------------------

BACKBONE = '[loop]\nbase_url = "{address}"\nmodel = "judge-of-all"\nstructured = "json"\n'
STATEMENT = {"statement": "Wants exact times for the hotel and the train.", "turns": [1, 2]}
MEMORY = {
    **dict.fromkeys(("scoring_style", "four_vs_five_distinction", "three_vs_four_distinction"), STATEMENT),
    "user_specific_requirements": [],
    "preferred_response_format": STATEMENT,
    "task_specific_observations": [],
}
SAID = ["The budget is ignored.", "No exact time is given.", "The hotel and the train are missing.", "没有写预算"]


def answer(body: dict[str, Any]) -> str:
    """A memory where one is asked for, else one of a few verdicts, always the same for the same question."""
    if "task_specific_observations" in json.dumps(body):
        return json.dumps(MEMORY)
    drawn = random.Random(body["messages"][-1]["content"])
    score = drawn.choice([2, 3, 3, 4])
    reason = "satisfied" if score > 3 else drawn.choice([DETAIL, DETAIL, UNMET])
    return json.dumps({"score": score, "reason": reason, "evidence": ["M1"], "rationale": drawn.choice(SAID)})


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """The beginnings of the English sample with a lively judge."""
    home = tmp_path_factory.mktemp("rationales")
    with pytest.MonkeyPatch.context() as patch, Endpoint(answer) as server:
        patch.setenv("PERSLIB_HOME", str(home))
        (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
        save(replace(shortened(load("sample/en"), sessions=2, turns=2), name="few"), home / "data" / "few")
        run_report("03_rationales", corpus="few", backbones="loop", limit=60)
        return home / "reports", len(server.bodies)


@pytest.mark.kernel
def test_the_page_of_beginnings_of_the_sample(rendered):
    folder, few = rendered[0] / "few" / "loop", load(rendered[0].parent / "data" / "few")
    made = json.loads((folder / "03_rationales.json").read_text("utf-8"))
    assert made["status"] == "success" and len(made["figures"]) == 3
    assert {"reason_agreement", "reason_bias", "patterns", "citations", "planted_truth"} <= set(made["tables"])
    listed = pd.read_csv(folder / "tables" / "rationales.csv")
    asked, learned = listed[listed["judge"] == "personal"], listed[listed["judge"] == "learned"]
    assert len(asked) == 60 and set(asked["rationale"]) <= set(SAID)
    assert len(learned) == few.of_users(few.split()["test"]).turns["score"].notna().sum()
    html = (folder / "03_rationales.html").read_text("utf-8")
    assert html.count("The judge gave") == 6
    assert (
        "Do rationales say why?" in html and "Wants exact times" in html and ">nan" not in html and "[nan" not in html
    )


@pytest.mark.kernel
def test_showing_memories_asks_nothing_again(rendered):
    folder = rendered[0] / "few" / "loop"
    made = json.loads((folder / "03_rationales.json").read_text("utf-8"))
    memories = len(load("sample/en").split()["test"])  # of each test user one scenario is judged
    edited = len(EDITS) * (MOST_ASKED + 10)  # whole blocks are edited
    assert made["ledger"]["total"]["calls"] == rendered[1] and rendered[1] <= 60 + memories + edited


@pytest.mark.page
@pytest.mark.parametrize(("limit", "figures"), [(32, {"reason_confusion"}), (4, set())])
def test_a_corpus_in_which_nobody_gave_a_reason_in_chinese(home, server, capsys, limit, figures):
    """Of four replies, cases are shown and no shares."""
    server.reply = answer
    bare = corpus_of([(f"u{i:02}", s, "0", "问", "答", 5) for i in range(20) for s in ("travel", "gift")], "bare", "zh")
    save(bare, home / "data" / "bare")
    (home / "backbones.toml").write_text(BACKBONE.format(address=server.base_url), "utf-8")
    out = str(home / "page")
    run_cells("03_rationales", corpus="bare", backbone="loop", judges="personal", limit=limit, out=out)
    said = capsys.readouterr().out
    assert {file.stem for file in (home / "page").rglob("*.png")} == figures
    if limit == 32:
        assert "没有用户给出原因" in said and "数量太少" in said
    else:
        assert "有分数的被评回复不足 30 条" in said
        assert {file.stem for file in (home / "page" / "tables").glob("*.csv")} == {"citations", "rationales"}


@pytest.mark.sample
def test_what_the_learned_judge_measures_in_a_reply_is_near():
    """Names of traits and assistants occur in other scenarios, too; they are no content from there."""
    corpus = shortened(load("sample/en"), sessions=2)
    verdicts = evaluate(LearnedJudge(), corpus, progress=False)
    found = study.classify_rationales(verdicts, corpus, {})
    assert found["rationale"].notna().all() and found["off_task"].mean() < 0.02
    named = verdicts.assign(backbone="a model")
    assert study.classify_rationales(named, corpus, {})["off_task"].mean() > 0.05


def test_what_decides_a_reason_is_counted_once_each():
    data = load("sample/en")
    judge = LearnedJudge()
    verdicts = evaluate(judge, data)
    sources = study.trace_reasons(judge, data, verdicts)
    low = (verdicts["raw"].astype(float).round() <= 3) & verdicts["reason"].notna()
    assert sources["named"] == low.sum() == sum(own for name, own in sources.items() if name != "named")
    assert sources["habit"] > 0 and sources["reply"] > 0
    judge.reasons._weights[:], judge.reasons._offsets[:] = 0, np.log(judge.reasons._shares)
    silent = study.trace_reasons(judge, data, verdicts)
    assert silent["reply"] == silent["neither"] == 0
