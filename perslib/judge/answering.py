"""Does this reply answer this request? A guard that needs no label, for judges that go by form.

    guard = Answering().fit(corpus)                    from train users' own turns, and the same turns with swapped replies
    guard.chances([read_exchange(target) …])           P(the reply belongs to its request) for each target

It is taught by contrast: a recorded reply stands where it was given, a swapped one comes from another task, from another user
of the same task, or from another turn of the conversation. It compares letters: n-grams of one, two and three characters and a
hundred latent dimensions of pairs, with the request, with what was asked and replied before, and with the last reply. Beside
it a second sense knows a reply that is not whole (`broken`). Of satisfaction they say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from perslib.corpus import Block, Corpus, Target
from perslib.errors import NotEnough
from perslib.judge.base import Judge, OnAnotherJudge, Verdict
from perslib.judge.broken import MARKED, Spelling, Wholeness, grow_trees, name_stub
from perslib.llm import Ask
from perslib.memory.ngrams import COLUMNS, count_ngrams, weigh_ngrams
from perslib.memory.retrieval import weigh_rows
from perslib.paths import read_toml
from perslib.stats import SEED, Floats
from perslib.stats.resample.leave_one_out import Bools
from perslib.text import translate

#: Other replies that stand in the place of the recorded one.
SWAPS = ("other task", "other user", "other turn")
#: A reply that fits any request, and letters that fit none.
ANY, NONSENSE = "any request", "nonsense"
#: Turns that it takes, and so many of them, drawn at random, that teach.
FEWEST, MOST = 60, 1500
DRAWS = 2
#: Trees that are grown.
TREES = 300
#: n-grams of one to three characters.
SIZES = (1, 2, 3)
#: Latent dimensions of the pairs, learned from so many texts.
DIMENSIONS, LATENT_TEXTS = 100, 3000
#: Characters of a text that are read; of what was said before, the last.
READ = 1500
BEGINS = 120
_PHRASES = read_toml(__file__, "answering.toml")


class Exchange(NamedTuple):
    """A reply, and what stands before it."""

    reply: str
    request: str
    asked: str
    """What the user said before the request."""
    replied: str
    """What the assistant replied before, the last reply included."""
    last: str
    whole: str
    """All of the conversation before the reply."""
    begins: str
    """How the reply begins."""

    def with_reply(self, reply: str) -> Exchange:
        """Return the exchange with another reply in the place of its own."""
        return self._replace(reply=reply, begins=reply[:BEGINS])


def read_exchange(target: Target) -> Exchange:
    """Return a target as an exchange."""
    texts = [m for m in target.prefix if isinstance(m["content"], str)]
    asked = [m["content"] for m in texts if m["role"] == "user"]
    replied = [m["content"] for m in texts if m["role"] == "assistant"]
    return Exchange(
        target.response,
        (asked[-1] if asked else "")[:READ],
        "\n".join(asked[:-1])[-READ:],
        "\n".join(replied)[-READ:],
        (replied[-1] if replied else "")[-READ:],
        "\n".join(m["content"] for m in texts)[-2 * READ :],
        target.response[:BEGINS],
    )


@dataclass
class Swapped:
    """Exchanges with a reply of their own or another's."""

    exchanges: list[Exchange]
    kinds: list[str]
    """"" where the reply is the recorded one, else one of `SWAPS`, `ANY` or `NONSENSE`."""

    @property
    def own_replies(self) -> list[Exchange]:
        """The exchanges with their own reply."""
        return [exchange for exchange, kind in zip(self.exchanges, self.kinds) if not kind]

    @property
    def can_teach(self) -> bool:
        """Whether there are enough recorded replies, and swapped ones."""
        return len(self.own_replies) >= FEWEST / 2 and any(kind in SWAPS for kind in self.kinds)


def swap_replies(
    blocks: Iterable[Block], seed: int = SEED, most: int = MOST, draws: int = 1, language: str | None = None
) -> Swapped:
    """Return the replies of these blocks where they stand, and each with every kind of swap that there is for it.

    With a `language`, beginnings of replies, recorded and swapped, and phrases that fit any request are there too, so that no
    reply is taken for another's since it is short; and nonsense, which fits none.
    """
    rng = np.random.default_rng(seed)
    answered = [(block, target) for block in blocks for target in block if target.response]
    answered = [answered[i] for i in sorted(rng.permutation(len(answered))[:most])]
    users = np.array([block.user for block, _ in answered], object)
    tasks = np.array([target.task or block.scenario for block, target in answered], object)
    sessions = np.array([f"{b.user}\0{b.scenario}\0{t.session}" for b, t in answered], object)
    replies = np.array([target.response for _, target in answered], object)
    phrases = _PHRASES.get(language or "", [])
    pairs: list[tuple[Exchange, str]] = []
    for place, (_, target) in enumerate(answered):
        fits = {
            "other task": (tasks != tasks[place]) & (sessions != sessions[place]),
            "other user": (tasks == tasks[place]) & (users != users[place]),
            "other turn": (sessions == sessions[place]) & (replies != replies[place]),
        }
        kinds = [kind for kind in SWAPS for _ in range(draws)]
        others = [(kind, rng.choice(there)) for kind in kinds if len(there := np.flatnonzero(fits[kind]))]
        given = [("", target.response), *((kind, str(replies[other])) for kind, other in others)]
        own = read_exchange(target)
        pairs += [(own.with_reply(reply), kind) for kind, reply in given]
        if phrases and place % 4 == 0:
            pairs += [(own.with_reply(reply[: int(rng.integers(20, BEGINS))]), kind or ANY) for kind, reply in given]
            pairs.append((own.with_reply(phrases[rng.integers(len(phrases))]), ANY))
            letters = rng.permutation(list(target.response)) if place % 8 else [rng.choice(list("🎉😀.!?-*x0"))] * 40
            pairs.append((own.with_reply("".join(letters)), NONSENSE))
    return Swapped([exchange for exchange, _ in pairs], [kind for _, kind in pairs])


class Answering:
    """How likely it is that a reply belongs to its request: taught by exchanges with their own and with swapped replies.

    Two halves of the users teach two models, whose mean is taken; each tells of the other half how often a recorded reply would
    be taken for another's, which sets the `limit`.
    """

    limit = 0.0
    """The chance below which a reply is said not to answer: so low are `MARKED` of recorded replies."""

    def fit(self, corpus: Corpus, users: Iterable[str] | None = None, seed: int = SEED) -> Answering:
        """Learn from the train users' turns (from everybody's where there are none); labels are not looked at."""
        users = None if users is None else list(users)
        corpus = corpus.with_history("none")  # also who has a single scenario
        wanted = list(users if users is not None else corpus.split().get("train", [])) or list(corpus.users["user"])
        pairs = corpus.block_ids(wanted)
        groups = pd.factorize(np.array([user for user, _ in pairs], object))[0]
        groups = groups if len(set(groups)) > 1 else np.arange(len(pairs))
        halves = [[corpus.block(*pairs[i]) for i in np.flatnonzero(groups % 2 == side)] for side in (0, 1)]
        swapped = [swap_replies(blocks, seed, draws=DRAWS, language=corpus.language) for blocks in halves]
        teach = [own for own in swapped if own.can_teach]
        if not teach:
            raise NotEnough(
                "Whether a reply answers its request is learned from {least} replies or more of several conversations; there "
                "are {n}.",
                least=FEWEST,
                n=sum(len(own.own_replies) for own in swapped),
            )
        self._models = [_Model(own, seed) for own in teach]
        unseen = zip(self._models, reversed(teach)) if len(teach) == 2 else ()
        own = [model.chances(_Read(other.own_replies)) for model, other in unseen]
        self.limit = float(np.quantile(np.concatenate(own), MARKED)) if own else 0.0
        replies = [[exchange.reply for exchange in own.own_replies] for own in teach]
        phrases = _PHRASES.get(corpus.language, [])
        self._wholeness = Wholeness().fit(replies, phrases, seed)
        self._spelling = Spelling().fit(replies, phrases, seed)
        return self

    def chances(self, exchanges: Sequence[Exchange]) -> Floats:
        """Return the chance that each reply belongs to its request."""
        if not exchanges:
            return np.empty(0)
        read = _Read(exchanges)
        chances: Floats = np.mean([model.chances(read) for model in self._models], axis=0)
        return chances

    def find_broken(self, exchanges: Sequence[Exchange]) -> Bools:
        """Tell which replies are not whole, or no replies: cut off, out of order, an error message, a heading, nonsense."""
        replies = [exchange.reply for exchange in exchanges]
        stubs = np.array([bool(name_stub(reply)) for reply in replies], bool)
        return stubs | self._wholeness.find_broken(replies) | self._spelling.find_nonsense(replies)


class Guarded(OnAnotherJudge):
    """A judge whose score of a reply that does not answer is the lowest that the user gave in other scenarios."""

    def __init__(self, judge: Judge, *, has_learned: bool = False):
        super().__init__(deepcopy(judge), "guarded")
        self._has_learned = has_learned
        self.inputs, self._guard = replace(judge.inputs, train=True), Answering()

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Let the guard learn, and the judge if it has not."""
        if not self._has_learned:
            await super().fit(train, ask)
        self._guard.fit(train, train.users["user"])

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return the judge's verdicts, but for replies that do not answer."""
        verdicts = await self.judge_itself.judge(block, ask)
        rated = block.evidence["score"].dropna()
        lowest = float(rated.min()) if len(rated) else 1.0
        exchanges = [read_exchange(target) for target in block]
        astray, broken = self._guard.chances(exchanges) < self._guard.limit, self._guard.find_broken(exchanges)
        low = Verdict(raw=lowest, mode="computed", rationale=translate("The reply does not answer the request."))
        cut = replace(low, rationale=translate("The reply is broken: cut off, out of order, or no reply at all."))
        return [
            v if v.score is None else low if is_astray else cut if is_broken else v
            for v, is_astray, is_broken in zip(verdicts, astray, broken)
        ]


class _Read:
    """The texts of some exchanges, each counted once: `at` is where each part of an exchange is among them."""

    def __init__(self, exchanges: Sequence[Exchange]):
        place: dict[str, int] = {}
        read = [exchange._replace(reply=exchange.reply[:READ]) for exchange in exchanges]
        self.at = np.array([[place.setdefault(text, len(place)) for text in exchange] for exchange in read]).T
        self.texts = list(place)
        self.counts = {size: count_ngrams(self.texts, size) for size in SIZES}


class _Model:
    """What one half of the users teaches."""

    def __init__(self, swapped: Swapped, seed: int):
        read = _Read(swapped.exchanges)
        used = np.unique(read.at[:2])
        self._idf = {size: weigh_ngrams(read.counts[size][used]) for size in SIZES}
        few = np.random.default_rng(seed).permutation(used)[:LATENT_TEXTS]
        pairs = weigh_rows(read.counts[2][few], self._idf[2], sublinear=True)
        self._columns = np.flatnonzero(np.bincount(pairs.indices, minlength=COLUMNS) > 2)
        dimensions = min(DIMENSIONS, len(few) - 1, len(self._columns) - 1)
        self._latent = TruncatedSVD(dimensions, random_state=seed).fit(pairs[:, self._columns])
        self._trees = grow_trees(self.compare(read), [kind in ("", ANY) for kind in swapped.kinds], TREES, seed)

    def chances(self, read: _Read) -> Floats:
        """Return the chance that each reply belongs to its request."""
        chances: Floats = self._trees.predict_proba(self.compare(read))[:, 1]
        return chances

    def compare(self, read: _Read) -> Floats:
        """Return how alike each reply, and its beginning, is to the rest of its exchange, a row an exchange."""
        reply, *others, begins = read.at
        columns = []
        for size in SIZES:
            counts, idf = read.counts[size], self._idf[size]
            rows = weigh_rows(counts, idf, sublinear=True)
            columns += [_product(rows[part], rows[other]) for part in (reply, begins) for other in others]
            if size == 1:
                continue
            there = sparse.csr_array((idf[counts.indices], counts.indices, counts.indptr), counts.shape)
            is_there = sparse.csr_array((np.ones(len(counts.indices)), counts.indices, counts.indptr), counts.shape)
            whole = np.maximum(there.sum(axis=1), 1e-9)
            for other in others:
                common = _product(there[reply], is_there[other])
                columns += [common / whole[reply], common / whole[other]]
            if size == 2:
                latent = self._latent.transform(rows[:, self._columns])
                latent /= np.maximum(np.linalg.norm(latent, axis=1, keepdims=True), 1e-9)
                columns += [(latent[part] * latent[other]).sum(axis=1) for part in (reply, begins) for other in others]
        lengths = np.log1p(np.array([len(text) for text in read.texts], float))[read.at]
        return np.column_stack([*columns, *lengths, lengths[0] - lengths[4], lengths[0] - lengths[1]])


def _product(one: sparse.csr_array, other: sparse.csr_array) -> Floats:
    """Return the scalar product of each row with that of the other."""
    products: Floats = np.asarray(one.multiply(other).sum(axis=1), float).ravel()
    return products
