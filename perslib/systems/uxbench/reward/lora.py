"""A causal language model, fine-tuned to say good or bad after a reply (UXBench, section 5.1): LoRA by transformers +
peft.

    Reward(Lora("Qwen/Qwen3-0.6B")).learn(lessons)

Needs the extra `perslib[reward]`; nothing of it is imported before `fit`. The loss stands at one place, the verdict's
token: the probabilities of all ways to write good (with and without a blank, upper and lower case) are summed, and so
for bad; their ratio is P(good).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import PerslibError
from perslib.extras import import_extra
from perslib.judge.tuned.training import FineTuning, fine_tune, pad_batch, predict, validation_users
from perslib.prompts import fence, read_phrases
from perslib.stats import SEED
from perslib.systems.uxbench.reward.linear import sort_contributions
from perslib.systems.uxbench.tasks.cases import Case, owners

Floats = npt.NDArray[np.float64]
ADAPTER = "adapter"


@dataclass(frozen=True)
class Tuning(FineTuning):
    """How a model is fine-tuned."""

    epochs: int = 1
    batch: int = 128
    at_once: int = 4
    rate: float = 1e-4
    warmup: float = 0.05
    floor: float | None = 0.1
    decay: float = 0.0
    dropout: float = 0.05
    validation: float = 0.1
    every: int = 50
    smoothing: float = 0.05
    """of each label this share is given to the other: labels from behaviour are often wrong"""
    rank: int = 16
    alpha: int = 32
    length: int = 4_096
    """tokens; of longer conversations the middle is left out"""


class Lora:
    """Log odds of good at the verdict's token of a causal language model with low-rank adapters."""

    kind = "lora"

    def __init__(self, model: str, *, language: str = "en", tuning: Tuning | Mapping[str, Any] = Tuning()):
        self.model, self.language = model, "zh" if language == "zh" else "en"
        self.tuning = tuning if isinstance(tuning, Tuning) else Tuning(**tuning)
        self.name = f"reward, {Path(model).name} fine-tuned"
        self.history_: list[dict[str, float]] = []
        self._net: Any = None

    # -- learning --------------------------------------------------------------------------------------------

    def fit(self, cases: Sequence[Case], good: npt.NDArray[np.bool_], weight: Floats, seed: int = SEED) -> None:
        """Fine-tune; some users' cases say which step's weights are kept."""
        torch, transformers, peft, _ = import_extra("reward", "A fine-tuned reward model")
        how = self.tuning
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._open(torch, transformers)
            adapters = peft.LoraConfig(
                r=how.rank, lora_alpha=how.alpha, lora_dropout=how.dropout, target_modules="all-linear",
                task_type="CAUSAL_LM",
            )  # fmt: skip
            self._net = peft.get_peft_model(self._net, adapters)
        encoded, owner = [self._encode_case(case) for case in cases], owners(cases).astype(str)
        held = np.isin(owner, list(validation_users(owner.tolist(), how.validation, seed)))
        rows = [
            (encoded[i], 1 - how.smoothing if good[i] else how.smoothing, float(weight[i]))
            for i in np.flatnonzero(~held)
        ]

        def error() -> float:
            s = self._read([encoded[i] for i in np.flatnonzero(held)])
            losses = np.logaddexp(0, np.where(good[held], -s, s))
            return float(np.average(losses, weights=np.maximum(weight[held], 1e-9)))

        self.history_ = fine_tune(self._net, rows, self._loss, error if held.any() else None, how, seed)

    def _loss(self, encoded: list[list[int]], target: Any) -> Any:
        torch, *_ = import_extra("reward", "A fine-tuned reward model")
        logits = self._log_odds(encoded)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, target.to(logits.dtype), reduction="none")

    # -- reading ---------------------------------------------------------------------------------------------

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Return ln P(good) − ln P(bad) at the verdict's token."""
        if self._net is None:
            raise PerslibError("This reward model has not learned anything yet: run its fit first.")
        return self._read([self._encode_case(case) for case in cases])

    def _read(self, encoded: list[list[int]]) -> Floats:
        if not encoded:
            return np.zeros(0)
        return predict(self._net, self._log_odds, encoded, self.tuning.at_once)

    def _log_odds(self, encoded: list[list[int]]) -> Any:
        """Return the log odds at the last place alone: a whole conversation times a vocabulary would not fit."""
        torch, *_ = import_extra("reward", "A fine-tuned reward model")
        batch = pad_batch(torch, encoded, 0, self._net.device)
        mask = batch["attention_mask"]
        whole = self._net.get_base_model() if hasattr(self._net, "get_base_model") else self._net
        states = whole.base_model(**batch).last_hidden_state
        last = states[torch.arange(len(encoded)), mask.sum(dim=1) - 1]
        logits = whole.get_output_embeddings()(last).float()
        good, bad = self._labels
        return torch.logsumexp(logits[:, good], dim=1) - torch.logsumexp(logits[:, bad], dim=1)

    # -- the text --------------------------------------------------------------------------------------------

    def _open(self, torch: Any, transformers: Any) -> None:
        self._tokens = transformers.AutoTokenizer.from_pretrained(self.model)
        net = transformers.AutoModelForCausalLM.from_pretrained(self.model)
        self._net = net.to("cuda") if torch.cuda.is_available() else net.float()
        words = read_phrases("reward", self.language)
        files = [
            {ids[0] for way in words[side] for t in (way, " " + way) if (ids := self._ids(t))}
            for side in ("good", "bad")
        ]
        both = files[0] & files[1]
        self._labels = [sorted(side - both) for side in files]
        if not all(self._labels):
            raise PerslibError(
                f"The tokens of {self.model} do not tell {words['good'][0]} from {words['bad'][0]} by their first token; "
                "take another model, or the other language."
            )

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokens(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def _encode_case(self, case: Case) -> list[int]:
        """Return the question, conversation, reply, and the place of the verdict; the history gives way first."""
        words = read_phrases("reward", self.language)
        history = "\n".join(f"{words[m['role']]}: {m['content']}" for m in case.history)
        ask, say = self._ids(words["ask"]), self._ids(words["say"])
        before = self._ids(fence(history, words["before"]) + "\n") if history else []
        query = self._ids(fence(case.query, words["query"]) + "\n")
        reply = self._ids(fence(case.reply, words["reply"]))
        room = max(8, self.tuning.length - len(ask) - len(say))
        query = _without_middle(query, max(room // 4, room - len(reply)))
        reply = _without_middle(reply, room - len(query))
        before = _without_middle(before, room - len(query) - len(reply))
        return [*ask, *before, *query, *reply, *say]

    def explain(self, case: Case) -> pd.DataFrame:
        """Return what the verdict gains by each part: the log odds less those without it."""
        bare = {"history": (case.query, (), case.reply), "query": ("", case.history, case.reply), "reply": (case.query, case.history, "")}  # fmt: skip
        others = [Case(case.case, q, tuple(h), r) for q, h, r in bare.values()]
        whole, *less = self.logits([case, *others])
        rows = [(part, "left out", float(whole - without)) for part, without in zip(bare, less)]
        return sort_contributions(rows)

    # -- kept ------------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """Return how it was made."""
        return {"kind": self.kind, "model": self.model, "language": self.language, "tuning": asdict(self.tuning)}

    def write(self, folder: Path) -> dict[str, Any]:
        """Return the adapters, in files of their own; the model they change is found by its name."""
        if self._net is None:
            raise PerslibError("This reward model has not learned anything yet: run its fit first.")
        self._net.save_pretrained(folder / ADAPTER, save_embedding_layers=False)
        return {}

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Return what `write` wrote."""
        own = cls(**settings)
        torch, transformers, peft, _ = import_extra("reward", "A fine-tuned reward model")
        own._open(torch, transformers)
        own._net = peft.PeftModel.from_pretrained(own._net, folder / ADAPTER)
        return own


def _without_middle(ids: list[int], most: int) -> list[int]:
    if len(ids) <= most:
        return ids
    head = max(0, most) // 2
    tail = max(0, most) - head
    return ids[:head] + (ids[-tail:] if tail else [])
