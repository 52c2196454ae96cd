"""An answerer without a model: every answer is copied out of what the question shows.

    answers, served = run(memories, people, Extractive("en"), PromptSettings("en"))

It writes what baselines keep (summaries, records, portraits: the sentences nearest to the whole), restates a requirement and
proposes a solution by the recalled sentences nearest to the question, and selects the candidates that are like what was
recalled as liked and unlike what was recalled as disliked. It knows nothing but what a memory hands over, so that
differences between memories are differences in what they hand over: as much text for each, where they have a budget.
A restatement is as long for each, so that nobody gains by handing over little. G-Scores are the share of each need's words that a
restatement has. Nearness is the cosine over words, rare ones counting more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from math import fsum, log, sqrt
from typing import Any

import numpy as np

from perslib.errors import PerslibError
from perslib.llm import Answer, Request
from perslib.llm.event_loop import compute
from perslib.llm.tokens import count_tokens
from perslib.paths import read_toml
from perslib.text import check_language

_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*|\n+")
_DATE = re.compile(r"^(\[[^\]]*\]|[-–•])\s*")
_WORD = re.compile(r"[a-z]{3,}")
#: Sentences of a summary, records of a dialogue, and tokens that a restatement copies, whatever was handed over.
SUMMARY, RECORDS, RESTATED = 8, 8, 150
#: What says that something was not liked, by language.
DISLIKED: dict[str, list[str]] = read_toml(__file__, "extractive.toml")


class Extractive:
    """What `run` and `grade_answers` take for a backbone, where nobody is asked."""

    name = model = "extractive"

    def __init__(self, language: str):
        self.language = check_language(language)
        self._disliked = re.compile("|".join(DISLIKED[self.language]), re.I)
        self._known: dict[str, frozenset[str]] = {}

    def map(self, method: Callable[[Any, Any], Any], items: Iterable[Any], **shown: Any) -> list[Any]:
        """Return the results of a method for each item."""
        return [compute(partial(method, item), self.ask) for item in items]

    async def ask(self, requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> list[Answer]:
        """Return an answer to each question."""
        return [Answer(data=self.answer(request), mode="schema") for request in requests]

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the answer to one of PAL-Bench's questions, from what its prompt was filled in with."""
        name = (request.prompt or "").partition("@")[0].rpartition("/")[2]
        shown = request.shown or {}
        if name.startswith("pal_"):
            answers = {
                "pal_requirement": self._restate,
                "pal_solution": self._propose,
                "pal_selection": self._select,
                "pal_grade": self._grade,
            }
            if name in answers:
                return answers[name](shown)
        texts = [f"{turn['user']} {turn['assistant']}" for turn in shown.get("turns", ())]
        texts += [one.get("text") or one["content"] for kind in ("days", "logs") for one in shown.get(kind, ())]
        if name == "conditionmem_records":
            return {"records": [*self._records(shown["turns"])][:RECORDS]}
        schema = request.schema or {}
        if not texts or len(schema.get("required", ())) != 1:
            raise PerslibError(f"{name or 'this question'} cannot be answered by copying; name a backbone for it")
        ((key, form),) = schema["properties"].items()
        return {key: self._summary([shown.get("summary", ""), *texts])[: form.get("maxLength")]}

    # -- what memories write ----------------------------------------------------------------------------------

    def _summary(self, texts: Sequence[str]) -> str:
        """Return the sentences nearest to all of them together, in their order."""
        sentences = self._sentences(texts)
        near = self._nearness([" ".join(sentences)], sentences)[0] if sentences else np.array([])
        shortest = sorted(np.argsort(-near, kind="stable")[:SUMMARY])
        return "\n".join(sentences[i] for i in shortest) or "–"

    def _records(self, turns: Sequence[Mapping[str, str]]) -> Iterator[dict[str, str]]:
        """Yield what was proposed and how the user took it, turn by turn."""
        for turn, following in pairwise(turns):
            proposed = self._sentences([turn["assistant"]])
            if proposed and following["user"]:
                yield {"condition": " ".join(proposed)[:380], "content": following["user"][:380]}

    # -- the tasks ---------------------------------------------------------------------------------------------

    def _restate(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        recalled = self._recall_sentences(shown)
        near = self._nearest(shown["query"], recalled, len(recalled))
        ends = accumulate(map(count_tokens, near))
        copied = [text for text, end in zip(near, ends) if end <= RESTATED]
        return {"requirement": " ".join([shown["query"], *copied])[:790]}

    def _propose(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        liked = [text for text, sign in self._opinions(shown) if sign > 0]
        (near,) = self._nearest(shown["requirement"], liked, 1) or [shown["requirement"]]
        return {"solution": near[:790]}

    def _select(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        ids, texts = zip(*((one["id"], one["text"]) for one in shown["candidates"]))
        opinions = self._opinions(shown)
        score = np.zeros(len(ids))
        if opinions:
            near = self._nearness(texts, [text for text, _ in opinions])
            near = near - near.mean(axis=0)  # what is like every candidate speaks for none
            sign = np.array([sign for _, sign in opinions])
            for side in (1, -1):
                if (sign == side).any():
                    score += side * near[:, sign == side].max(axis=1)
        # Equals in an order that has nothing to do with theirs: who knows nothing picks at random.
        lot = np.random.default_rng([*"".join(texts).encode()[:64]]).permutation(len(ids))
        best = lot[np.argsort(-score[lot], kind="stable")[:2]]
        return {"analysis": "–", "selected_solutions": [ids[i] for i in best]}

    def _grade(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        prediction, asked = self._words(shown["prediction"]), self._words(shown["query"])
        points = 0.0
        for need in shown["needs"]:
            words = self._words(need["need"]) - asked
            met = len(words & prediction) / len(words) if words else 0.0
            points += 1.0 if met >= 0.6 else 0.5 if met >= 0.3 else 0.0
        return {"analysis": "–", "score": min(points, 2.0)}

    # -- texts -------------------------------------------------------------------------------------------------

    def _words(self, text: str) -> frozenset[str]:
        """Return the beginnings of its words; of Chinese, pairs of characters."""
        if text not in self._known:
            if self.language == "zh":
                parts = re.findall(r"[\u4e00-\u9fff]+", text)
                self._known[text] = frozenset(part[i : i + 2] for part in parts for i in range(len(part) - 1))
            else:
                self._known[text] = frozenset(word[:6] for word in _WORD.findall(text.lower()))
        return self._known[text]

    def _sentences(self, texts: Iterable[str]) -> list[str]:
        sentences = (_DATE.sub("", part.strip()) for text in texts for part in _SENTENCE.split(text))
        return list(dict.fromkeys(part for part in sentences if len(part) > 3))

    def _recall_sentences(self, shown: Mapping[str, Any]) -> list[str]:
        return self._sentences(text for block in shown["blocks"] for text in block["texts"])

    def _opinions(self, shown: Mapping[str, Any]) -> list[tuple[str, int]]:
        """Return every recalled line, with 1, or −1 where it, or the heading that it stands under, says that it was
        disliked.
        """
        opinions = []
        for block in shown["blocks"]:
            for text in block["texts"]:
                heading = 1
                for line in text.splitlines():
                    sign = -1 if self._disliked.search(line) else 1
                    if line.rstrip().endswith((":", "\uff1a")):
                        heading = sign
                    elif line.strip():
                        opinions.append((_DATE.sub("", line.strip()), min(sign, heading)))
        return opinions

    def _nearest(self, query: str, texts: Sequence[str], count: int) -> list[str]:
        if not texts:
            return []
        return [texts[i] for i in np.argsort(-self._nearness([query], texts)[0], kind="stable")[:count]]

    def _nearness(self, queries: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        """Return the cosine of each query with each text over words that count the more, the fewer of these have them."""
        every = [self._words(text) for text in (*queries, *texts)]
        have = Counter(chain.from_iterable(every))
        weight = {word: log((1 + len(every)) / count) ** 2 for word, count in have.items()}
        norm = [sqrt(fsum(weight[word] for word in words)) or 1.0 for words in every]
        n = len(queries)
        return np.array(
            [
                [fsum(weight[word] for word in every[i] & every[j]) / norm[i] / norm[j] for j in range(n, len(every))]
                for i in range(n)
            ]
        )
