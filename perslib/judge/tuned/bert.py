"""BERT fine-tuned on train users' scores (PersTurnBench, appendix C.2): a 5-way softmax or cumulative sigmoids.

Needs the extra `perslib[bert]`; nothing of it is imported before `fit`. A reply is read as one text: profile,
history in numbers, scenario, task, and the last twelve messages with the reply at the end. The published code
cuts that text at the right, so that of most replies nothing is left to judge; here the conversation is cut at
its left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import expit, softmax

from perslib.corpus import Block, Corpus, Target
from perslib.extras import import_extra
from perslib.judge.base import Judge, JudgeInputs, Verdict, make_unfitted_error
from perslib.judge.baselines import NO_HISTORY, Scores, history_scores, list_training_blocks
from perslib.judge.learned.supervised import distribution, no_lessons
from perslib.judge.tuned.training import Training, fine_tune, pad_batch, predict, validation_users
from perslib.llm import Ask
from perslib.memory import score_counts
from perslib.prompts import read_phrases

MESSAGES = 12
#: The encoder that is fine-tuned, by language.
ENCODERS = {"zh": "bert-base-chinese", "en": "bert-base-uncased"}


class Bert(Judge):
    """A pretrained encoder with a head for scores 1–5, fine-tuned on train users.

    `classes`  softmax over five scores, cross-entropy; the score is the most probable one.
    `ordinal`  P(score > s) for s = 1 … 4, binary cross-entropy; the score is 1 + how many exceed one half.

    Without a `model`, it is that of the corpus's language in `ENCODERS`; the paper's is the Chinese one.
    """

    inputs = JudgeInputs(reply=True, task=True, profile=True, history=True, train=True)

    def __init__(
        self,
        head: Literal["classes", "ordinal"] = "classes",
        model: str = "",
        *,
        length: int = 512,
        training: Training | None = None,
    ):
        self.head, self.model, self.length, self.training = head, model, length, training or Training()
        self.name = ("BERT" if head == "classes" else "BERT ordinal") + f": {model}" * bool(model)
        self._net: Any = None

    # -- learning ------------------------------------------------------------------------------------------

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Fine-tune on the train users' rated targets; validation users choose the epoch."""
        torch, transformers, _ = import_extra("bert", f"The judge {self.name}")
        self._labels = read_phrases("bert", train.language)
        self._encoder = self.model or ENCODERS[train.language]
        self._tokens = transformers.AutoTokenizer.from_pretrained(self._encoder)
        rated = [
            (block.user, self._encode_reply(block, target), score)
            for block, targets, scores in list_training_blocks(train)
            for target, score in zip(targets, scores)
        ]
        if not rated:
            raise no_lessons(self, train)
        how = self.training
        held = validation_users({user for user, *_ in rated}, how.validation, how.seed)
        rows = [(ids, score, how.dsat_weight if score <= 3 else 1.0) for user, ids, score in rated if user not in held]
        check = [(ids, score) for user, ids, score in rated if user in held]
        with torch.random.fork_rng():
            torch.manual_seed(how.seed)
            self._net = self._open(torch, transformers)
        fine_tune(self._net, rows, self._loss, (lambda: self._error(check)) if check else None, how, how.seed)

    def _open(self, torch: Any, transformers: Any) -> Any:
        config = transformers.AutoConfig.from_pretrained(self._encoder)
        config.num_labels = 5 if self.head == "classes" else 4
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = self.training.dropout
        # A head of another size, left by another task, is replaced like one that is missing.
        net = transformers.AutoModelForSequenceClassification.from_pretrained(
            self._encoder, config=config, ignore_mismatched_sizes=True
        )
        return net.to("cuda" if torch.cuda.is_available() else "cpu")

    def _loss(self, encoded: list[list[int]], scores: Any) -> Any:
        torch, *_ = import_extra("bert", f"The judge {self.name}")
        each, logits = torch.nn.functional, self._logits(encoded)
        if self.head == "classes":
            return each.cross_entropy(logits, scores.long() - 1, reduction="none")
        above = (scores[:, None] > torch.arange(1, 5, device=scores.device)).to(logits.dtype)
        return each.binary_cross_entropy_with_logits(logits, above, reduction="none").mean(dim=1)

    def _error(self, check: list[Any]) -> float:
        predicted, _ = self._predict_scores([ids for ids, _ in check])
        return float(np.abs(predicted - np.array([score for _, score in check])).mean())

    # -- judging -------------------------------------------------------------------------------------------

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one verdict a target, with the distribution the head gives."""
        if self._net is None:
            raise make_unfitted_error(self)
        if not len(history_scores(block)):
            return [NO_HISTORY] * len(block)
        predicted, p = self._predict_scores([self._encode_reply(block, target) for target in block])
        means = p @ np.arange(1, 6)
        return [
            Verdict(raw=float(s), expected=float(m), p=tuple(map(float, row)), mode="computed")
            for s, m, row in zip(predicted, means, p)
        ]

    def _predict_scores(self, encoded: list[list[int]]) -> tuple[Scores, np.ndarray]:
        if not encoded:
            return np.zeros(0), np.zeros((0, 5))
        logits = predict(self._net, self._logits, encoded, self.training.at_once)
        if self.head == "ordinal":
            exceed = expit(logits)
            return 1.0 + (exceed > 0.5).sum(axis=1), distribution(exceed)
        return 1.0 + logits.argmax(axis=1), softmax(logits, axis=1)

    def _logits(self, encoded: list[list[int]]) -> Any:
        torch, *_ = import_extra("bert", f"The judge {self.name}")
        return self._net(**pad_batch(torch, encoded, self._tokens.pad_token_id, self._net.device)).logits

    # -- the text ------------------------------------------------------------------------------------------

    def _encode_reply(self, block: Block, target: Target) -> list[int]:
        about, reply = (
            self._tokens(text, add_special_tokens=False, verbose=False)["input_ids"]
            for text in (_about(block, target, self._labels), _conversation(target, self._labels))
        )
        room = self.length - 2
        about = about[
            : max(room // 2, room - len(reply))
        ]  # the conversation gets half of the room, or all that is left
        reply = reply[max(0, len(reply) - (room - len(about))) :]
        return [self._tokens.cls_token_id, *about, *reply, self._tokens.sep_token_id]


def _about(block: Block, target: Target, labels: Mapping[str, str]) -> str:
    """Return the profile, history in numbers, scenario and task."""
    scores = block.evidence.dropna(subset=["score"])
    tasks = scores.groupby("scenario", sort=False)["score"].mean()
    numbers = [
        f"n={len(scores)}",
        f"mean={scores['score'].mean():.2f}",
        *(f"{score}:{n}" for score, n in enumerate(score_counts(scores), 1)),
        *(f"{scenario}={mean:.2f}" for scenario, mean in tasks.items()),
    ]
    profile = [f"{k}: {', '.join(map(str, v)) if isinstance(v, list | tuple) else v}" for k, v in block.profile.items()]
    parts = {
        "profile": "; ".join(profile),
        "scores": " ".join(numbers),
        "scenario": target.scenario,
        "task": target.task or "",
    }
    return "".join(f"{labels[name]}: {part}\n" for name, part in parts.items())


def _conversation(target: Target, labels: Mapping[str, str]) -> str:
    """Return the last twelve messages, the reply at the end."""
    messages = [*target.window(MESSAGES - 1), {"role": "assistant", "content": target.response}]
    return "\n".join(f"{labels[m['role']]}: {m['content']}" for m in messages)
