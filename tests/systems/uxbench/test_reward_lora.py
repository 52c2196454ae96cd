"""Fine-tuning is real training: a tiny model with random weights learns which replies are liked, and is the same after loading."""

from __future__ import annotations

import importlib

import pytest
from reward_made import ASIDES, ASKED, DISLIKED, LIKED, made

from perslib.errors import PerslibError
from perslib.prompts import read_phrases
from perslib.systems.uxbench.reward import lora
from perslib.systems.uxbench.reward.lora import Lora, Tuning, _without_middle
from perslib.systems.uxbench.reward.model import Reward

#: A notice of one library to another.
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")
QUICK = Tuning(epochs=6, batch=16, at_once=16, rate=2e-2, every=4, rank=4, alpha=8, dropout=0.0, length=160)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Two layers of 32 over whole words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("peft")
    tokenizers = pytest.importorskip("tokenizers")
    torch.set_num_threads(1)  # a tiny model is slowed by company
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("causal")
    text = [*ASKED, *LIKED, *DISLIKED, *ASIDES, *map(str, read_phrases("reward", "en").values()), "user assistant 0"]
    splitter = tokenizers.pre_tokenizers.Whitespace()
    words = sorted({word for t in text for word, _ in splitter.pre_tokenize_str(t)} | set("<>/:\n"))
    vocabulary = {token: i for i, token in enumerate(["[PAD]", "[UNK]", *words])}
    made_of = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    made_of.pre_tokenizer = splitter
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made_of, unk_token="[UNK]", pad_token="[PAD]")
    fast.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=256, initializer_range=0.2,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def model(tiny):
    return Reward(Lora(tiny, tuning=QUICK)).learn(made(16))


@pytest.mark.extra("torch", "transformers", "peft")
def test_it_learns_from_the_verdicts_place_alone(model):
    new = made(4, seed=9, prefix="new")
    assert (model.verdicts(new)["said"] == [c.gold for c in new]).mean() > 0.9
    history = model.backend.history_
    assert min(h["error"] for h in history) < 0.5 and history[0]["step"] == 4


@pytest.mark.extra("torch", "transformers", "peft")
def test_the_same_after_saving_and_loading(model, tmp_path):
    folder = model.save(tmp_path)
    assert (folder / "adapter" / "adapter_model.safetensors").stat().st_size < 200_000, "adapters only"
    new = made(2, seed=9, prefix="new")
    assert Reward.load(folder).scores(new) == pytest.approx(model.scores(new), abs=1e-5)


@pytest.mark.extra("torch", "transformers", "peft")
def test_company_in_a_batch_changes_nothing(model):
    new = made(2, seed=9, prefix="new")
    apart = [model.backend.logits([c])[0] for c in new]
    assert model.backend.logits(new) == pytest.approx(apart, abs=1e-4)


@pytest.mark.extra("torch", "transformers", "peft")
def test_parts_are_told(model):
    told = model.explain((), "how do I plan a trip", "clear steps and then prices").set_index("part")
    assert told.loc["reply", "contribution"] > abs(told.loc["query", "contribution"])
    assert told.loc["history", "contribution"] == 0


@pytest.mark.extra("torch", "transformers", "peft")
def test_the_history_gives_way_first(model):
    lora = model.backend
    long = [{"role": "user", "content": "today " * 500}, {"role": "assistant", "content": "often " * 500}]
    case = type(made(1)[0])("c", "which gift is right", tuple(long), "clear steps and then prices")
    ids = lora._encode_case(case)
    assert len(ids) == QUICK.length
    words = lora._tokens.decode(ids)
    assert "which gift is right" in words and "clear steps and then prices" in words and "Verdict" in words
    assert _without_middle(list(range(9)), 4) == [0, 1, 7, 8] and _without_middle([1, 2], 0) == []


@pytest.mark.extra("torch", "transformers", "peft")
def test_verdicts_that_look_alike_are_refused(tiny, monkeypatch):
    other = {**read_phrases("reward", "en"), "good": ["splendid"], "bad": ["dreadful"]}
    monkeypatch.setattr(lora, "read_phrases", lambda *_: other)
    with pytest.raises(PerslibError, match="do not tell splendid from dreadful"):
        Reward(Lora(tiny, tuning=QUICK)).learn(made(4))


def test_without_the_extra_the_remedy_is_named(monkeypatch):
    real = importlib.import_module

    def missing(name, *rest, **more):
        if name == "peft":
            raise ImportError("No module named 'peft'")
        return real(name, *rest, **more)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(PerslibError, match=r"pip install .*\[reward\]"):
        Reward(Lora("any")).learn(made(4))
