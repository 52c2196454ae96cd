"""The stages of UXBench's construction that ask a model: what miner, judge and checkers may say, and what is made of it."""

from __future__ import annotations

import pytest
from ux_construct_made import COMPLAINED, LIKED, LONG, built, checked, extra, log, mined, model, numbers, of, talk

from perslib.systems.uxbench.construction import AXES, Rules
from perslib.systems.uxbench.construction.rules import quality

# -- the miner ---------------------------------------------------------------------------------------------


def test_a_reply_that_the_rules_missed_is_a_case_where_the_users_words_show_it():
    asked = []

    def change(step, data, request):
        asked.append(step)
        return extra(reply=1, shown_in=4, quote="not what I  ASKED")(step, data, request)

    made = built(log(COMPLAINED), change, rules=Rules(alike=1.0))
    beyond = made.cases[made.cases["signal"] == "said"].iloc[0]
    assert (beyond["reply_turn"], beyond["after_turn"], beyond["signal_confidence"]) == (1, 4, "low")
    assert beyond["complaint"] == COMPLAINED[4][1] and beyond["quote"] == "not what I  ASKED"
    assert asked[0] == "mine_bad" and len(made.cases) == 2


def test_a_number_that_is_no_reply_is_said_to_the_model_once():
    asked = []

    def change(step, data, request):
        asked.append((step, len(request.messages), request.sample))
        if step == "mine_bad" and len(request.messages) == 2:
            return extra(reply=2)(step, data, request)
        return data

    made = built(log(COMPLAINED), change)
    assert [a for a in asked if a[0] == "mine_bad"] == [("mine_bad", 2, 0), ("mine_bad", 4, 1)]
    assert len(made.cases) == 1 and not made.rejects


def test_a_quote_that_nobody_said_is_dropped():
    made = built(log(COMPLAINED), mined(quote="utterly useless", shown_in=4))
    assert made.cases["quote"].tolist() == [""]


def test_an_answer_has_no_more_cases_than_it_has_room_for():
    asked = []
    built(log(LIKED), lambda s, d, r: asked.append((s, r.schema["properties"])) or d)
    bounds = {step: own[kind]["maxItems"] for step, own in asked for kind in ("cases", "grades") if kind in own}
    assert bounds == {"mine_good": 2, "grade_good": 1}, "the miner may name one that the rules missed"


def test_an_answer_has_room_for_its_cases_and_models_that_think_get_more():
    asked = []
    remember = lambda step, data, request: asked.append((step, request.max_tokens)) or data  # noqa: E731
    built(log(LIKED), remember)
    assert asked == [("mine_good", 500), ("grade_good", 500), ("check_good", 150)]
    asked.clear()
    built(log(LIKED), remember, rules=Rules(room=20_000))
    assert {room for _, room in asked} == {20_000}


def test_long_sessions_are_asked_about_in_parts():
    said = [m for i in range(11) for m in talk(f"Plan {i} days in town number {i}.", f"{i} {LONG}", is_liked=1)[2:]]
    asked = []
    built(log(said), lambda s, d, r: asked.append((s, numbers(r))) or d, rules=Rules(dialogue=9_000))
    assert [len(n) for s, n in asked if s == "mine_good"] == [8, 3]


# -- the judge ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axes", "mean", "said"),
    [
        ((4, 4, 4, 4, 4), 4.0, "high"),
        ((5, 5, 5, 3, 2), 4.0, "medium"),
        ((3, 3, 3, 3, 3), 3.0, "medium"),
        ((5, 5, 5, 5, 1), 4.2, "low"),
        ((3, 3, 3, 3, 2), 2.8, "low"),
    ],
)
def test_quality_follows_from_mean_and_lowest_axis(axes, mean, said):
    assert quality(dict(zip(AXES, axes, strict=True)), Rules()) == (pytest.approx(mean), said)


def test_grades_are_counted_anew_whatever_the_model_claims():
    def change(step, data, request):
        if step == "grade_good":  # boasts
            return {"grades": [{**g, **dict.fromkeys(AXES, 2), "mean": 5, "quality": "high"} for g in data["grades"]]}
        if step == "grade_bad":  # talks down
            return {"grades": [{**g, **dict.fromkeys(AXES, 5), "mean": 1, "quality": "low"} for g in data["grades"]]}
        return data

    made = built(log(LIKED, COMPLAINED), change)
    assert made.cases[["side", "mean", "quality", "severity_tier"]].values.tolist() == [
        ["bad", 5.0, "high", "critical"]
    ]
    assert dict(of(made, "grade")) == {"low": made.rejects[0].place}
    honest = built(log(LIKED, COMPLAINED))
    assert honest.agreement["judge_consistent"] == 1.0
    assert made.agreement["judge_consistent"] == 0.0


def test_missing_grades_are_asked_for_by_themselves():
    said = [
        *LIKED,
        *talk("A letter to my landlord, please.", "Dear Sir, the roof leaks. Yours, a tenant.", is_liked=1)[2:],
    ]
    asked = []

    def change(step, data, request):
        if step != "grade_good":
            return data
        asked.append(numbers(request))
        return {"grades": data["grades"][:1]}

    made = built(log(said), change)
    assert asked == [[0, 1], [1]] and len(made.cases) == 2
    strict = built(log(said), change, rules=Rules(attempts=1))
    assert [r for r, _ in of(strict, "grade")] == ["unread"] and len(strict.cases) == 1


def test_grades_that_cannot_be_read_are_drawn_again():
    asked = []

    def change(step, data, request):
        if step.startswith("grade"):
            asked.append((request.sample, request.seed))
            return data if request.sample else None
        return data

    assert len(built(log(LIKED), change).cases) == 1 and asked == [(0, 42), (1, 43)]


def test_two_different_gradings_of_a_case_are_none():
    def change(step, data, request):
        grades = data.get("grades", [])
        return {"grades": [*grades, {**grades[0], "severity": 1}]} if grades else data

    assert [r for r, _ in of(built(log(LIKED), change), "grade")] == ["unread"]


# -- quality assurance -------------------------------------------------------------------------------------


def test_one_checker_that_does_not_keep_is_enough():
    kind, harsh = model(), model(checked(verdict="reject"), "harsh")
    made = built(log(LIKED, COMPLAINED), checkers=[kind, harsh])
    assert [r for r, _ in of(made, "check")] == ["doubtful"] * 2 and made.cases.empty
    assert len(made.doubtful) == 2 and made.agreement["checkers_alpha"] < 0
    both = built(log(LIKED, COMPLAINED), checkers=[harsh, harsh])
    assert [r for r, _ in of(both, "check")] == ["rejected"] * 2 and both.doubtful.empty
    assert made.models == {"miner": "scripted", "judge": "scripted", "checkers": ["scripted", "harsh"]}
