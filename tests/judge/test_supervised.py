"""Judges that learn from train users: they learn what is there to learn, and judge odd blocks without a crash."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
from histories import Row, corpus_of

from perslib.corpus import load
from perslib.errors import PerslibError
from perslib.extras import install_command
from perslib.judge import Bert, Supervised, Training, make_judge, make_judges
from perslib.judge.learned.supervised import distribution, list_training_blocks, summarize_history
from perslib.llm import run_with_answers
from perslib.report.run.plan import plan

PRAISED, BLAMED = ("clear steps and prices", "clear steps for all"), ("vague advice again", "vague and short")


def schooled(users: int = 8) -> list[Row]:
    """Users who give a clear reply 5 and a vague one 2, in two scenarios."""
    return [
        (f"u{u}", scenario, str(k), "how?", text, score)
        for u in range(users)
        for scenario in ("travel", "gift")
        for k, (texts, score) in enumerate([(PRAISED, 5), (BLAMED, 2)])
        for text in texts
    ]


def told(*replies: str, request: str | None = "how?"):
    rows = [("new", "travel", "0", "how?", "fine", s) for s in (5, 2, 5, 2)]
    rows += [("new", "gift", "0", request, reply, None) for reply in replies]
    return corpus_of(rows).block("new", "gift")


def fitted(judge, corpus=None):
    run_with_answers(partial(judge.fit, corpus or corpus_of(schooled())))
    return judge


def judged(judge, block):
    return run_with_answers(partial(judge.judge, block))


def test_lessons_are_rated_targets_of_users_with_a_rated_history():
    rows = [
        ("a", "travel", "0", "q", "r1", 5),
        ("a", "travel", "0", "q", "r2", None),
        ("a", "gift", "0", "q", "r3", 2),
        ("b", "travel", "0", "q", "r4", 3),
        ("c", "travel", "0", "q", "r5", 3),
        ("c", "gift", "0", "q", "r6", None),
    ]
    found = [
        (block.id, [t.response for t in targets], list(scores))
        for block, targets, scores in list_training_blocks(corpus_of(rows))
    ]
    # b has one scenario only; c's history for travel is unrated, and c's gift reply is.
    assert found == [("a__travel", ["r1"], [5]), ("a__gift", ["r3"], [2])]


def test_a_history_in_seven_numbers():
    assert summarize_history(np.array([5.0, 5, 2, 4])) == pytest.approx([np.log(5), 4, 0, 0.25, 0, 0.25, 0.5])


def test_distributions_from_cumulative_probabilities():
    """P(> 2) above P(> 1) is brought down to it."""
    exceed = np.array([[0.9, 0.8, 0.5, 0.1], [0.6, 0.7, 0.5, 0.0]])
    assert distribution(exceed) == pytest.approx(np.array([[0.1, 0.1, 0.3, 0.4, 0.1], [0.4, 0.0, 0.1, 0.5, 0.0]]))


def test_words_that_train_users_reward_are_rewarded():
    judge = fitted(Supervised())
    good, bad = judged(judge, told("clear steps and prices", "vague advice again"))
    assert 1 <= bad.raw < 3.5 < good.raw <= 5


def test_the_history_counts():
    """Where replies say nothing, users who gave much before are expected to give much again."""
    rows = [
        (f"u{u}", scenario, "0", "q", "same reply", 5 if u % 2 else 3)
        for u in range(12)
        for scenario in ("travel", "gift")
    ]
    judge = fitted(Supervised(), corpus_of(rows))
    new = [("x", "travel", "0", "q", "same reply", s) for s in (5,)]
    old = [("y", "travel", "0", "q", "same reply", s) for s in (3,)]
    corpus = corpus_of([*new, *old, *((u, "gift", "0", "q", "same reply", 1) for u in "xy")])
    (high,), (low,) = (judged(judge, corpus.block(user, "gift")) for user in "xy")
    assert high.raw - low.raw > 1.5


@pytest.mark.sample
@pytest.mark.parametrize("language", ["zh", "en"])
def test_learned_and_applied_on_the_sample(language):
    corpus = load(f"sample/{language}")
    train = corpus.of_users(corpus.split()["train"])
    judge = fitted(Supervised(), train)
    block = next(corpus.blocks("test"))
    verdicts = judged(judge, block)
    assert len(verdicts) == len(block) and all(1 <= v.raw <= 5 and v.error is None for v in verdicts)
    shuffled = dataclasses.replace(block, evidence=block.evidence.sample(frac=1, random_state=0))
    assert [v.raw for v in judged(judge, shuffled)] == pytest.approx([v.raw for v in verdicts])
    assert [v.raw for v in judged(fitted(Supervised(), train), block)] == [v.raw for v in verdicts]


def test_odd_replies_get_a_score():
    block = told("", "x" * 50_000, "Это другой язык", "旅行计划", request=None)
    assert all(1 <= v.raw <= 5 for v in judged(fitted(Supervised()), block))


def test_no_history_is_unscored():
    block = corpus_of([("solo", "gift", "0", "q", "r", 5)]).block("solo", "gift")
    (verdict,) = judged(fitted(Supervised()), block)
    assert verdict.raw is None and "no rated turn" in verdict.error


def test_nothing_to_learn_from_is_said():
    with pytest.raises(PerslibError, match="nothing to learn"):
        fitted(Supervised(), corpus_of([("solo", "gift", "0", "q", "r", 5)]))
    for judge in (Supervised(), Bert()):
        with pytest.raises(PerslibError, match=r"fit\(train\)"):
            judged(judge, told("a"))


def test_train_users_of_one_mind_and_a_single_one():
    same = [(f"u{u}", s, "0", "q", "reply", 4) for u in range(3) for s in ("travel", "gift")]
    (verdict,) = judged(fitted(Supervised(), corpus_of(same)), told("reply"))
    assert verdict.raw == pytest.approx(4)
    assert 1 <= judged(fitted(Supervised(), corpus_of(schooled(1))), told("reply"))[0].raw <= 5


# -- BERT: a tiny model with weights nobody trained ---------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Two layers of 32, and a vocabulary of whole words and single letters."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # a tiny model is slowed by company
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bert")
    words = sorted({w for *_, text, _ in schooled(1) for w in text.split()})
    letters = [chr(c) for c in range(33, 127)]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters, *("##" + c for c in letters)]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(tokens)), "utf-8")
    config = transformers.BertConfig(
        vocab_size=len(dict.fromkeys(tokens)),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
        initializer_range=0.2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)  # from some weights twenty epochs are too few
        transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


QUICK = Training(epochs=20, rate=5e-3, batch=8)


@pytest.mark.extra("torch", "transformers")
@pytest.mark.parametrize("head", ["classes", "ordinal"])
def test_bert_learns_what_is_rewarded(tiny, head):
    judge = fitted(Bert(head, tiny, length=48, training=QUICK))
    good, bad = judged(judge, told("clear steps and prices", "vague advice again"))
    assert (good.raw, bad.raw) == (5, 2)
    assert sum(good.p) == pytest.approx(1) and good.expected > bad.expected
    again = fitted(Bert(head, tiny, length=48, training=QUICK))
    assert judged(again, told("clear steps and prices"))[0].p == pytest.approx(good.p, abs=1e-5), "seeded"


@pytest.mark.extra("torch", "transformers")
def test_bert_keeps_the_reply_where_the_text_is_too_long(tiny):
    once = dataclasses.replace(QUICK, epochs=1, rate=0.0)
    block = told("steps " * 300 + "vague advice again")
    target = next(iter(block))
    judge = fitted(Bert(model=tiny, length=64, training=once))
    encoded = judge._encode_reply(block, target)
    assert judge._tokens.decode(encoded).endswith("vague advice again [SEP]") and len(encoded) == 64


@pytest.mark.extra("torch", "transformers")
def test_bert_on_odd_blocks(tiny):
    judge = fitted(Bert("ordinal", tiny, length=64, training=dataclasses.replace(QUICK, epochs=1)))
    verdicts = judged(judge, told("", "x " * 25_000, "Это другой язык", "旅行计划", request=None))
    assert all(1 <= v.raw <= 5 and v.error is None for v in verdicts)
    (verdict,) = judged(judge, corpus_of([("solo", "gift", "0", "q", "r", 5)]).block("solo", "gift"))
    assert verdict.raw is None and "no rated turn" in verdict.error
    (verdict,) = judged(fitted(Bert(model=tiny, training=QUICK), corpus_of(schooled(1))), told("clear steps"))
    assert verdict.raw is not None, "a single train user cannot be held out"


def test_bert_without_its_packages_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(PerslibError, match=r"needs torch.*\[bert\]"):
        fitted(Bert())


def test_bert_has_a_name_and_its_base_model_too():
    names = ["BERT", "BERT ordinal", "BERT ordinal: hfl/chinese-roberta-wwm-ext"]
    for name, judge in zip(names, make_judges(names)):
        assert judge.name == name
    base = make_judge("BERT ordinal: hfl/chinese-roberta-wwm-ext")
    assert (base.head, base.model) == ("ordinal", "hfl/chinese-roberta-wwm-ext")


@pytest.mark.parametrize("name", ["BERT", "BERT ordinal: some/model", "guarded: BERT"])
def test_no_page_starts_with_a_judge_whose_packages_are_missing(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda module, *_: None)
    with pytest.raises(PerslibError, match=r"needs torch, transformers, accelerate.*pip install .*\[bert\]\""):
        plan("01", judges=f"user mean, {name}")


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ('{"dir_info": {"editable": true}, "url": "file:///my%20work/perslib"}', '--editable "/my work/perslib[dask]"'),
        ('{"dir_info": {}, "url": "file:///x"}', '"perslib[dask]"'),
        (None, '"perslib[dask]"'),
    ],
)
def test_the_command_is_that_of_the_perslib_that_runs(origin, command, monkeypatch):
    found = type("Found", (), {"read_text": lambda self, name: origin})
    monkeypatch.setattr("perslib.extras.distribution", lambda name: found())
    assert install_command("dask").endswith(command)
