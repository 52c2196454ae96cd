"""A causal language model, fine-tuned to say good or bad after a reply (UXBench, section 5.1): LoRA by transformers +
peft.

    Reward(Lora("Qwen/Qwen3-0.6B")).fit(lessons)

Needs the extra `perslib[reward]`; nothing of it is imported before `fit`. The loss stands at one place, the verdict's
token: the probabilities of all ways to write good (with and without a blank, upper and lower case) are summed, and so
for bad; their ratio is P(good).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.corpus.corpus import group_shuffle_split
from perslib.errors import PerslibError
from perslib.prompts import fence, phrases
from perslib.stats import SEED
from perslib.ux.cases import Case, owners

Floats = npt.NDArray[np.float64]
ADAPTER = "adapter"


@dataclass(frozen=True)
class Tuning:
    """How a model is fine-tuned."""

    epochs: int = 1
    batch: int = 128
    """cases a step; `at_once` of them go through the model together, gradients add up"""
    at_once: int = 4
    rate: float = 1e-4
    """highest learning rate: reached after `warmup` of the steps, then falling as a cosine to `floor` of it"""
    warmup: float = 0.05
    floor: float = 0.1
    smoothing: float = 0.05
    """of each label this share is given to the other: labels from behaviour are often wrong"""
    every: int = 50
    """validated after so many steps, and at the end; the weights with the least log loss are kept"""
    validation: float = 0.1
    """share of the users that validate"""
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    decay: float = 0.0
    clip: float = 1.0
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

    def fit(
        self, cases: Sequence[Case], good: npt.NDArray[np.bool_], weight: Floats, seed: int = SEED
    ) -> None:
        """Fine-tune; some users' cases say which step's weights are kept."""
        torch, transformers, peft = _packages()
        how = self.tuning
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._open(torch, transformers)
            adapters = peft.LoraConfig(
                r=how.rank, lora_alpha=how.alpha, lora_dropout=how.dropout, target_modules="all-linear",
                task_type="CAUSAL_LM",
            )  # fmt: skip
            self._net = peft.get_peft_model(self._net, adapters)
            encoded = [self._encoded(case) for case in cases]
            held = _validating(owners(cases), how.validation, seed)
            self._train(torch, encoded, good, weight, held, seed)

    def _train(
        self, torch: Any, encoded: list[list[int]], good: Any, weight: Floats, held: Any, seed: int
    ) -> None:
        how, learn = self.tuning, np.flatnonzero(~held)
        weights = [p for p in self._net.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=how.rate, weight_decay=how.decay)
        steps = how.epochs * -(-len(learn) // how.batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps, how))
        order, done, best = np.random.default_rng(seed), 0, math.inf
        kept: list[Any] = []
        self.history_ = []
        for _ in range(how.epochs):
            for batch in _some(order.permutation(learn), how.batch):
                self._net.train()
                whole = weight[batch].sum() or 1.0
                for part in _some(batch, how.at_once):
                    target = np.where(good[part], 1 - how.smoothing, how.smoothing)
                    loss = self._loss(torch, [encoded[i] for i in part], target, weight[part]).sum() / whole
                    loss.backward()
                torch.nn.utils.clip_grad_norm_(weights, how.clip)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                done += 1
                if held.any() and (done % how.every == 0 or done == steps):
                    loss_now = self._log_loss(torch, encoded, good, weight, np.flatnonzero(held))
                    self.history_.append({"step": float(done), "log_loss": loss_now})
                    if loss_now < best:
                        best, kept = loss_now, [w.detach().clone() for w in weights]
        with torch.no_grad():
            for now, then in zip(weights, kept):
                now.copy_(then)

    def _loss(self, torch: Any, encoded: list[list[int]], target: Floats, weight: Floats) -> Any:
        logits = self._log_odds(torch, encoded)
        wanted, counts = (
            torch.tensor(np.asarray(v), dtype=logits.dtype, device=logits.device) for v in (target, weight)
        )
        each = torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        return counts * each

    def _log_loss(
        self, torch: Any, encoded: list[list[int]], good: Any, weight: Floats, places: Any
    ) -> float:
        s = self._read(torch, [encoded[i] for i in places])
        losses = np.logaddexp(0, np.where(good[places], -s, s))
        return float(np.average(losses, weights=np.maximum(weight[places], 1e-9)))

    # -- reading ---------------------------------------------------------------------------------------------

    def logits(self, cases: Sequence[Case]) -> Floats:
        """ln P(good) − ln P(bad) at the verdict's token."""
        if self._net is None:
            raise PerslibError("This reward model has not learned anything yet: run its fit(cases) first.")
        torch, *_ = _packages()
        return self._read(torch, [self._encoded(case) for case in cases])

    def _read(self, torch: Any, encoded: list[list[int]]) -> Floats:
        self._net.eval()
        order = np.argsort([len(row) for row in encoded], kind="stable")
        out = np.zeros(len(encoded))
        with torch.no_grad():
            for part in _some(order, self.tuning.at_once):
                out[part] = self._log_odds(torch, [encoded[i] for i in part]).double().cpu().numpy()
        return out

    def _log_odds(self, torch: Any, encoded: list[list[int]]) -> Any:
        """Only the last place goes through the head: a whole conversation times a vocabulary would not fit."""
        longest, place = max(map(len, encoded)), self._net.device
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in encoded], device=place)
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in encoded], device=place)
        whole = self._net.get_base_model() if hasattr(self._net, "get_base_model") else self._net
        states = whole.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
        last = states[torch.arange(len(encoded)), mask.sum(dim=1) - 1]
        said = whole.get_output_embeddings()(last).float()
        good, bad = self._labels
        return torch.logsumexp(said[:, good], dim=1) - torch.logsumexp(said[:, bad], dim=1)

    # -- the text --------------------------------------------------------------------------------------------

    def _open(self, torch: Any, transformers: Any) -> None:
        self._tokens = transformers.AutoTokenizer.from_pretrained(self.model)
        net = transformers.AutoModelForCausalLM.from_pretrained(self.model)
        self._net = net.to("cuda") if torch.cuda.is_available() else net.float()
        words = phrases("reward", self.language)
        found = [
            {ids[0] for way in words[side] for t in (way, " " + way) if (ids := self._ids(t))}
            for side in ("good", "bad")
        ]
        both = found[0] & found[1]
        self._labels = [sorted(side - both) for side in found]
        if not all(self._labels):
            raise PerslibError(
                f"The tokens of {self.model} do not tell {words['good'][0]} from {words['bad'][0]} by their first token; "
                "take another model, or the other language."
            )

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokens(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def _encoded(self, case: Case) -> list[int]:
        """Question, conversation, reply, and the place of the verdict; the history gives way first."""
        words = phrases("reward", self.language)
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
        """What the verdict gains by each part: the log odds less those without it."""
        from perslib.ux.reward_words import explained

        bare = {"history": (case.query, (), case.reply), "query": ("", case.history, case.reply), "reply": (case.query, case.history, "")}  # fmt: skip
        others = [Case(case.case, q, tuple(h), r) for q, h, r in bare.values()]
        whole, *less = self.logits([case, *others])
        rows = [(part, "left out", float(whole - without)) for part, without in zip(bare, less)]
        return explained(rows)

    # -- kept ------------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """How it was made."""
        return {
            "kind": self.kind,
            "model": self.model,
            "language": self.language,
            "tuning": asdict(self.tuning),
        }

    def write(self, folder: Path) -> None:
        """The adapters; the model they change is found by its name."""
        if self._net is None:
            raise PerslibError("This reward model has not learned anything yet: run its fit(cases) first.")
        self._net.save_pretrained(folder / ADAPTER, save_embedding_layers=False)

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        """What `write` wrote."""
        own = cls(**settings)
        torch, transformers, peft = _packages()
        own._open(torch, transformers)
        own._net = peft.PeftModel.from_pretrained(own._net, folder / ADAPTER)
        return own


def _rate(step: int, steps: int, how: Tuning) -> float:
    """The share of the highest learning rate at a step."""
    warm = max(1, round(how.warmup * steps))
    if step < warm:
        return (step + 1) / warm
    part = (step - warm) / max(1, steps - warm)
    return how.floor + (1 - how.floor) * (1 + math.cos(math.pi * min(1.0, part))) / 2


def _without_middle(ids: list[int], most: int) -> list[int]:
    if len(ids) <= most:
        return ids
    head = max(0, most) // 2
    tail = max(0, most) - head
    return ids[:head] + (ids[-tail:] if tail else [])


def _validating(owner: npt.NDArray[np.object_], share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Whose cases validate; none where no user can be spared."""
    if not share or len(set(owner.tolist())) < 2:
        return np.zeros(len(owner), dtype=bool)
    parts = group_shuffle_split(owner.tolist(), 1 - share, seed)
    return ~np.isin(owner.astype(str), parts["train"])


def _some(places: npt.NDArray[np.intp], size: int) -> Iterator[npt.NDArray[np.intp]]:
    return (places[i : i + size] for i in range(0, len(places), size))


def _packages() -> tuple[Any, Any, Any]:
    try:
        import peft
        import torch
        import transformers
    except ImportError as error:
        raise PerslibError(
            f"Fine-tuning needs torch, transformers and peft ({error}); install them with: pip install 'perslib[reward]'"
        ) from error
    return torch, transformers, peft
