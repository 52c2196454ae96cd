"""A reward model learns what is liked, says how sure it is, tells what it went by, and is the same after loading."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reward_made import made

from perslib.corpus import load
from perslib.errors import DataError, PerslibError, UnknownName
from perslib.judge import evaluate, make_judge
from perslib.systems.uxbench.bench import good_share, judge_each_case, judge_task_replies
from perslib.systems.uxbench.reward import Reward
from perslib.systems.uxbench.tasks.cases import WeightedCase, lessons_of


@pytest.fixture(scope="module")
def model():
    return Reward().learn(made())


def test_it_learns_what_is_liked(model):
    assert model.score((), "how do I plan a trip", "clear steps and then prices") > 0.8
    assert model.score((), "how do I plan a trip", "perhaps it depends on things") < 0.2
    new = made(4, seed=9, prefix="new")
    assert (model.verdicts(new)["said"] == [c.gold for c in new]).mean() > 0.95


def test_verdicts_are_those_of_any_ux_judge(model):
    found = Reward(alpha=0.4).learn(made()).verdicts(made(3, seed=5, prefix="new"))
    assert {"judge", "case", "gold", "said", "p_good", "error", "abstains", "sure"} <= set(found)
    assert found["error"].isna().all() and found["p_good"].between(0, 1).all()
    assert found["abstains"].mean() < 0.2, "cases this clear are seldom abstained from"
    few = Reward(alpha=0.05).learn(made(4)).verdicts(made(3, seed=5, prefix="new"))
    assert few["abstains"].all(), "four users cannot promise what holds nineteen times in twenty"


def test_what_it_went_by_is_told_in_words(model):
    told = model.explain((), "how do I plan a trip", "clear steps and then prices")
    by_name = told[told["part"] == "reply"].set_index("feature")["contribution"]
    assert by_name["steps"] > 0 and by_name["prices"] > 0
    case = WeightedCase("0", "how do I plan a trip", (), "clear steps and then prices")
    inside = model.intercept_ + told["contribution"].sum()
    assert inside == pytest.approx(model.logits([case])[0], abs=1e-6), "contributions add up to the log odds"


def test_the_same_after_saving_and_loading(model, tmp_path):
    new = made(3, seed=5, prefix="new")
    folder = model.save(tmp_path / "reward")
    again = Reward.load(folder)
    pd.testing.assert_frame_equal(again.verdicts(new), model.verdicts(new))
    card = json.loads((folder / "card.json").read_text("utf-8"))
    assert card["learned_from"]["users"] == 20 and card["learned_from"]["good"] == card["learned_from"]["bad"] == 80
    assert set(card["files"]) == {"weights.npz"} and len(card["learned_from"]["sha256"]) == 64


def test_learning_twice_gives_the_same(model):
    new = made(3, seed=5, prefix="new")
    assert (Reward().learn(made()).scores(new) == model.scores(new)).all()
    assert (model.copy_unfitted().learn(made()).scores(new) == model.scores(new)).all()


def test_a_changed_file_is_not_loaded(model, tmp_path):
    folder = model.save(tmp_path)
    (folder / "weights.npz").write_bytes(b"else")
    with pytest.raises(DataError, match=r"weights\.npz is not the file"):
        Reward.load(folder)
    with pytest.raises(DataError, match="no reward model can be read"):
        Reward.load(tmp_path / "nowhere")


def npy(shape: object, content: bytes = b"", kind: str = "<f8") -> bytes:
    """An array as a file, whose header claims what it likes."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + content


def zipped(members: dict[str, bytes], *changes: tuple[bytes, bytes]) -> bytes:
    """A zip file, some bytes of which are replaced."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return functools.reduce(lambda found, change: found.replace(*change), changes, buffer.getvalue())


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, coef=np.array([{"any": "object"}], dtype=object))
    return buffer.getvalue()


def claimed(size: int) -> bytes:
    """A directory that claims so many bytes of a small array."""
    content = npy((3,), b"x" * 24)
    return zipped({"coef.npy": content}, (len(content).to_bytes(4, "little"), size.to_bytes(4, "little")))


WHOLE = zipped({"coef.npy": npy((300,), np.random.default_rng(0).bytes(2400))})
WEIGHTS = {
    "no zip": b"nonsense",
    "empty": b"",
    "cut off": WHOLE[:-40],
    "damaged": WHOLE[:150] + bytes(400) + WHOLE[550:],
    "no array": zipped({"coef.npy": b"text"}),
    "745 GB": zipped({"coef.npy": npy((10**11,))}),
    "more than any machine": zipped({"coef.npy": npy((10**30,))}),
    "less than it holds": zipped({"coef.npy": npy((2,), b"x" * 24)}),
    "negative": zipped({"coef.npy": npy((-3,), b"x" * 24)}),
    "directory of 3 GB": claimed(3 * 2**30),
    "a pickle": pickled(),
    "a pickle's name": zipped({"coef.npy": npy((1,), b"x" * 8, "|O")}),
    "a long header": zipped({"coef.npy": npy("(" * 5000)}),
}
DEVICE = {"/dev/zero": "0"}
CARDS = {
    "null": {"files": None},
    "list": {"files": ["weights.npz"]},
    "text": {"files": "weights.npz"},
    "device": {"files": DEVICE},
    "absolute": {"files": {"/etc/hostname": "0"}},
    "drive": {"files": {"C:\\x": "0"}},
    "above": {"files": {"../x": "0"}},
    "above, as on Windows": {"files": {"a\\..\\..\\x": "0"}},
    "folder": {"files": {".": "0"}},
    "pipe": {"files": {"pipe": "0"}},
    "link to a device": {"files": {"zero": "0"}},
    "NUL": {"files": {"\0": "0"}},
    "too large": {"files": {"sparse": "0"}},
    "no list of words": {"learned": []},
    "another format": {"format": {}},
}


@pytest.mark.parametrize("cause", [*WEIGHTS, *CARDS, "no object", "nested", "large card", "pipe as card", "not UTF-8"])
def test_a_folder_that_is_broken_or_lies_is_refused_with_a_sentence(model, tmp_path, cause):
    """Its hashes are right: who changed the file changed the card with it."""
    folder = model.save(tmp_path / "reward")
    card = json.loads((folder / "card.json").read_text("utf-8"))
    (tmp_path / "x").write_text("outside")
    if cause in WEIGHTS:
        (folder / "weights.npz").write_bytes(WEIGHTS[cause])
        card["files"]["weights.npz"] = hashlib.sha256(WEIGHTS[cause]).hexdigest()
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**40)
    (folder / "card.json").write_text(json.dumps(card | CARDS.get(cause, {})))
    if cause == "pipe as card":
        (folder / "pipe").replace(folder / "card.json")
    elif other := {"no object": b"[]", "nested": b"[" * 10**5, "not UTF-8": b"\xff", "large card": b" "}.get(cause):
        (folder / "card.json").write_bytes(other)
        os.truncate(folder / "card.json", 2**40 if cause == "large card" else len(other))
    tracemalloc.start()
    with pytest.raises(DataError, match="no reward model can be read here") as caught:
        Reward.load(folder)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.problems[0].place == str(folder) and most < 2**26


def test_what_is_known_of_the_user_counts():
    """Where users differ in what they call good and replies do not, the level tells; nobody knows the level of a new user."""
    rng = np.random.default_rng(0)
    cases = []
    for u in range(40):
        strict = u % 2
        for i in range(8):
            gold = 1 if rng.random() < (0.2 if strict else 0.8) else -1
            cases.append(
                WeightedCase(f"{u}/{i}", "q", (), "the same", gold=gold, user=f"u{u}", past=(2 if strict else 8, 10))
            )
    model = Reward().learn(cases)
    kind, strict, new = model.scores([replace(cases[0], past=past) for past in ((8, 10), (2, 10), (0, 0))])
    assert kind > 0.65 and strict < 0.35 and strict < new < kind


def test_lessons_know_a_user_from_other_scenarios_alone():
    lessons = lessons_of(load("sample/en"))
    user = lessons[0].user
    own = [c for c in lessons if c.user == user]
    for case in own:
        others = [c for c in own if c.scenario != case.scenario]
        assert case.past == (sum(c.gold == 1 for c in others), len(others))


def test_weights_count():
    """Two sources that contradict each other: the one that is trusted wins."""
    right = made()
    wrong = [replace(c, case=c.case + "x", gold=-c.gold) for c in made(seed=3)]
    for trusted, other, sign in ((right, wrong, 1), (wrong, right, -1)):
        cases = [WeightedCase(**vars(c) | {"weight": w}) for of, w in ((trusted, 1.0), (other, 0.05)) for c in of]
        model = Reward().learn(cases)
        good, bad = (
            model.score((), "how", reply) for reply in ("clear steps and then prices", "it depends on many things")
        )
        assert sign * (good - bad) > 0.1


@pytest.mark.sample
def test_a_few_users_are_enough_for_a_promise():
    model = Reward(alpha=0.2).learn(made(10))
    assert model.abstention_.users == 10
    assert np.isfinite([model.abstention_.good_misfit, model.abstention_.bad_misfit]).all()
    new = made(3, seed=5, prefix="new")
    assert (model.verdicts(new)["said"] == [c.gold for c in new]).mean() > 0.9


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Reward(alpha=0).learn(made()), "alpha"),
        (lambda: Reward().learn([c for c in made() if c.gold == 1]), "0 bad"),
        (lambda: Reward().learn(made(1)), "calibrated on users that it was not trained on"),
        (lambda: Reward().learn([]), "is trained on good and bad"),
        (lambda: Reward().score((), "a", "b"), "run its learn"),
        (lambda: Reward().save("x"), "run its learn"),
        (lambda: WeightedCase("c", "q", weight=-1.0), "expected 0 or more"),
    ],
)
def test_what_is_wrong_is_said(make, match):
    with pytest.raises((DataError, PerslibError, UnknownName), match=match):
        make()


def test_odd_cases_get_a_score(model):
    history = ({"role": "user", "content": "x"}, {"role": "assistant", "content": ""})
    for query, reply in (("", ""), ("?", "x" * 50_000), ("旅行", "先列步骤，再列价格"), ("\ud800", "\x00🙂")):
        assert 0 <= model.score(history, query, reply) <= 1


def test_lessons_of_a_corpus():
    corpus = load("sample/zh")
    found = lessons_of(corpus)
    scores = corpus.turns.dropna(subset=["score", "request"])["score"]
    assert len(found) == len(scores) and sum(c.gold == 1 for c in found) == (scores >= 4).sum()
    assert {c.source for c in found} == {"score"}
    first, second = found[:2]
    assert first.history == () and [m["content"] for m in second.history] == [first.query, first.reply]


def test_lessons_of_weak_labels():
    from perslib.systems.uxbench.signals.behavioural import behavioural

    corpus = load("sample/en")
    weak = behavioural(corpus.of_users(corpus.users["user"].head(4)))
    found = lessons_of(weak)
    assert {c.source for c in found} >= {"continue", "complain"} and all(0 < c.weight <= 1 for c in found)
    row = weak.turns[weak.turns["score"].notna()].iloc[0]
    assert found[0].weight == row["weak_weight"] and found[0].gold == (1 if row["score"] >= 4 else -1)


def test_it_scores_generated_replies():
    model, cases = Reward().learn(made(prefix="elsewhere")), made(3, prefix="asked")
    texts = ["clear steps and then prices" if i % 4 else "it depends on many things" for i in range(len(cases))]
    about = {"case": [c.case for c in cases], "user": [c.user for c in cases], "scenario": "s"}
    replies = pd.DataFrame({**about, "reply": texts, "model": "m", "how": "baseline"})
    found = judge_task_replies(replies, cases, model)
    model.threshold = 0.0
    assert (judge_task_replies(replies, cases, model)["said"] == 1).all(), "the model's own threshold counts"
    assert good_share(found)["percent"].iloc[0] == pytest.approx(75)
    assert found["judge"].unique().tolist() == ["reward"]


@pytest.mark.sample
def test_it_judges_a_corpus_by_its_name():
    """Learned from train users, it judges test users' replies as any judge does; cases get the same verdicts either way."""
    corpus = load("sample/en")
    judge = make_judge("reward model")
    found = evaluate(judge, corpus, limit=30, progress=False)
    assert found["raw"].isin([1, 5]).all() and found["expected"].between(1, 5).all()
    some = [replace(case, past=(0, 0)) for case in lessons_of(corpus) if case.user in set(found["user"])][:5]
    one, whole = judge_each_case(judge, some, progress=False), judge.verdicts(some)
    assert one["p_good"].to_numpy(float) == pytest.approx(whole["p_good"].to_numpy(float))
    assert one["said"].equals(whole["said"]) and one["judge"].equals(whole["judge"])
