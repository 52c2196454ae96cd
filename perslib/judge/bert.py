"""BERT fine-tuned on train users' scores (PersTurnBench, appendix C.2): a 5-way softmax or cumulative sigmoids.

Needs the extra `perslib[bert]`; nothing of it is imported before `fit`. A reply is read as one text: profile,
history in numbers, scenario, task, and the last twelve messages with the reply at the end. The published code
cuts that text at the right, so that of most replies nothing is left to judge; here the conversation is cut at
its left (`cut="right"` for comparison).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from perslib.corpus import Block, Corpus, Target
from perslib.corpus.corpus import group_shuffle_split
from perslib.errors import PerslibError
from perslib.judge.base import Judge, Sees, Verdict
from perslib.judge.history import Scores
from perslib.judge.supervised import distribution, lessons, no_lessons
from perslib.llm import Ask
from perslib.prompts import phrases

MESSAGES = 12


@dataclass(frozen=True)
class Training:
    """How a model is fine-tuned; the defaults are the paper's."""

    epochs: int = 5
    batch: int = 16
    rate: float = 2e-5
    """highest learning rate, reached after `warmup` and falling linearly to 0"""
    warmup: float = 0.06
    decay: float = 0.01
    dropout: float = 0.1
    clip: float = 1.0
    """longest gradient"""
    validation: float = 0.2
    """share of the train users by whom the epoch is chosen: the one with the least mean absolute error"""
    dsat_weight: float = 1.0
    """weight of turns with a score ≤ 3 (the authors' result files are named after 3)"""
    seed: int = 42


class Bert(Judge):
    """A pretrained encoder with a head for scores 1–5, fine-tuned on train users.

    `classes`  softmax over five scores, cross-entropy; the score is the most probable one.
    `ordinal`  P(score > s) for s = 1 … 4, binary cross-entropy; the score is 1 + how many exceed `threshold`.
    """

    sees = Sees(reply=True, task=True, profile=True, history=True, train=True)

    def __init__(
        self,
        head: Literal["classes", "ordinal"] = "classes",
        model: str = "bert-base-chinese",
        *,
        cut: Literal["left", "right"] = "left",
        length: int = 512,
        threshold: float = 0.5,
        training: Training = Training(),
    ):
        self.head, self.model, self.cut = head, model, cut
        self.length, self.threshold, self.training = length, threshold, training
        self.name = ", ".join(
            [
                "BERT" if head == "classes" else "BERT ordinal",
                *(["cut at the right"] if cut == "right" else []),
            ]
        )
        self._net: Any = None

    # -- learning ------------------------------------------------------------------------------------------

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Fine-tune on the train users' rated targets; validation users choose the epoch."""
        torch, transformers = _packages()
        self._labels = phrases("bert", train.language)
        self._tokens = transformers.AutoTokenizer.from_pretrained(self.model)
        taken = [
            (block.user, self._encoded(block, target), score)
            for block, targets, scores in lessons(train)
            for target, score in zip(targets, scores)
        ]
        if not taken:
            raise no_lessons(self, train)
        users = {user for user, *_ in taken}
        held = _validation_users(users, self.training)
        learn = [(ids, score) for user, ids, score in taken if user not in held]
        check = [(ids, score) for user, ids, score in taken if user in held]
        with torch.random.fork_rng():
            torch.manual_seed(self.training.seed)
            self._train(torch, transformers, learn, check)

    def _train(self, torch: Any, transformers: Any, learn: list[Any], check: list[Any]) -> None:
        how = self.training
        config = transformers.AutoConfig.from_pretrained(self.model)
        config.num_labels = 5 if self.head == "classes" else 4
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = how.dropout
        # A head of another size, left by another task, is replaced like one that is missing.
        net = transformers.AutoModelForSequenceClassification.from_pretrained(
            self.model, config=config, ignore_mismatched_sizes=True
        )
        self._net = net.to("cuda" if torch.cuda.is_available() else "cpu")
        steps = how.epochs * -(-len(learn) // how.batch)
        optimizer = torch.optim.AdamW(self._net.parameters(), lr=how.rate, weight_decay=how.decay)
        schedule = transformers.get_linear_schedule_with_warmup(optimizer, int(how.warmup * steps), steps)
        order, best, kept = np.random.default_rng(how.seed), np.inf, None
        for _ in range(how.epochs):
            self._net.train()
            for batch in _batches(order.permutation(len(learn)), how.batch):
                scores = torch.tensor([learn[i][1] for i in batch], device=self._net.device)
                loss = self._loss(torch, self._logits(torch, [learn[i][0] for i in batch]), scores)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self._net.parameters(), how.clip)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if check and (error := self._error(torch, check)) < best:
                best, kept = error, copy.deepcopy(self._net.state_dict())
        if kept is not None:
            self._net.load_state_dict(kept)

    def _loss(self, torch: Any, logits: Any, scores: Any) -> Any:
        each = torch.nn.functional
        if self.head == "classes":
            losses = each.cross_entropy(logits, scores.long() - 1, reduction="none")
        else:
            above = (scores[:, None] > torch.arange(1, 5, device=scores.device)).to(logits.dtype)
            losses = each.binary_cross_entropy_with_logits(logits, above, reduction="none").mean(dim=1)
        weights = torch.where(scores <= 3, self.training.dsat_weight, 1.0).to(logits.dtype)
        return (weights * losses).sum() / weights.sum()

    def _error(self, torch: Any, check: list[Any]) -> float:
        said, _ = self._said(torch, [ids for ids, _ in check])
        return float(np.abs(said - np.array([score for _, score in check])).mean())

    # -- judging -------------------------------------------------------------------------------------------

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """One verdict a target, with the distribution the head gives."""
        if self._net is None:
            raise PerslibError(f"{self.name} learns from train users: run its fit(train) before judge(block)")
        if not block.evidence["score"].notna().any():
            error = "no score: the user has no rated turn in another scenario"
            return [Verdict(mode="computed", error=error)] * len(block)
        torch, _ = _packages()
        said, p = self._said(torch, [self._encoded(block, target) for target in block])
        means = p @ np.arange(1, 6)
        return [
            Verdict(raw=float(s), expected=float(m), p=tuple(map(float, row)), mode="computed")
            for s, m, row in zip(said, means, p)
        ]

    def _said(self, torch: Any, encoded: list[list[int]]) -> tuple[Scores, np.ndarray]:
        self._net.eval()
        with torch.no_grad():
            parts = [
                self._logits(torch, [encoded[i] for i in batch]).double().cpu().numpy()
                for batch in _batches(np.arange(len(encoded)), self.training.batch)
            ]
        logits = np.concatenate([*parts, np.zeros((0, self._net.config.num_labels))])
        if self.head == "ordinal":
            exceed = 1 / (1 + np.exp(-logits))
            return 1.0 + (exceed > self.threshold).sum(axis=1), distribution(exceed)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return 1.0 + logits.argmax(axis=1), odds / odds.sum(axis=1, keepdims=True)

    def _logits(self, torch: Any, encoded: list[list[int]]) -> Any:
        longest = max(map(len, encoded))
        pad, place = self._tokens.pad_token_id, self._net.device
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in encoded], device=place)
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in encoded], device=place)
        return self._net(input_ids=ids, attention_mask=mask).logits

    # -- the text ------------------------------------------------------------------------------------------

    def _encoded(self, block: Block, target: Target) -> list[int]:
        about, said = (
            self._tokens(text, add_special_tokens=False, verbose=False)["input_ids"]
            for text in (_about(block, target, self._labels), _conversation(target, self._labels))
        )
        room = self.length - 2
        if self.cut == "right":
            kept = [*about, *said][:room]
        else:  # the conversation gets at least half of the room, and all that the rest leaves
            about = about[: max(room // 2, room - len(said))]
            kept = [*about, *said[max(0, len(said) - (room - len(about))) :]]
        return [self._tokens.cls_token_id, *kept, self._tokens.sep_token_id]


def _validation_users(users: set[str], training: Training) -> set[str]:
    """Those who choose the epoch; none where nobody can be spared, and the last epoch stays."""
    if not training.validation:
        return set()
    parts = group_shuffle_split(users, 1 - training.validation, training.seed)
    return set(parts["test"]) if parts["train"] else set()


def _about(block: Block, target: Target, labels: Mapping[str, str]) -> str:
    """Profile, history in numbers, scenario and task."""
    scores = block.evidence.dropna(subset=["score"])
    counts = scores["score"].value_counts()
    tasks = scores.groupby("scenario", sort=False)["score"].mean()
    numbers = [
        *[f"n={len(scores)}", f"mean={scores['score'].mean():.2f}"],
        *[f"{s}:{int(counts.get(s, 0))}" for s in range(1, 6)],
        *[f"{scenario}={mean:.2f}" for scenario, mean in tasks.items()],
    ]
    profile = [
        f"{k}: {', '.join(map(str, v)) if isinstance(v, list | tuple) else v}"
        for k, v in block.profile.items()
    ]
    parts = {
        "profile": "; ".join(profile),
        "scores": " ".join(numbers),
        "scenario": target.scenario,
        "task": target.task or "",
    }
    return "".join(f"{labels[name]}: {part}\n" for name, part in parts.items())


def _conversation(target: Target, labels: Mapping[str, str]) -> str:
    """The last twelve messages, the reply at the end."""
    said = [*target.window(MESSAGES - 1), {"role": "assistant", "content": target.response}]
    return "\n".join(f"{labels[m['role']]}: {m['content']}" for m in said)


def _batches(places: np.ndarray, size: int) -> Iterator[np.ndarray]:
    return (places[i : i + size] for i in range(0, len(places), size))


def _packages() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise PerslibError(
            f"BERT needs torch and transformers ({error}); install them with: pip install 'perslib[bert]'"
        ) from error
    return torch, transformers
