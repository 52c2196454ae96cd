"""The PAL-Bench study: whose months, which memories, how much of both is put before a model, and what came of it.

    data, stands_in = pal_set(load(corpus), language)
    asked = months(data, model)                                    people, and how far their months were cut
    memories = memories_named("", data, first_look=asked.is_first_look)
    bench = single_turn(asked, memories, model, judge)             Table 2
    held, evaluations = multi_turn(asked, memories, model, user, judge)   Table 3

A model on this machine gets a first look. It could neither write a memory nor be waited for while it tries, so all
methods are compared with an answerer that is no model (`without_model`), H²Memory and its ablations written from the truth
of a synthetic set; the model talks over a single topic, its answers kept short by their form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, get_args

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem, UnknownName
from perslib.judge.extent import extent, listed
from perslib.llm import Backbone, Request
from perslib.llm.request import changed, digest
from perslib.memory.baselines import ConditionMem, MemoryBank, RecurSum, Vanilla, baselines
from perslib.memory.h2 import H2Dialogues, H2Memory, OfficialMapping
from perslib.memory.h2.recall import Part
from perslib.memory.long_term import LongTermMemory
from perslib.pal import (
    Dialogue,
    Faultless,
    Person,
    Served,
    begun,
    draw_templates,
    graded,
    judged,
    people,
    read_templates,
    run,
    scored,
    shortened,
    talked,
)
from perslib.pal.bench.comparisons import EVALUATIONS
from perslib.pal.bench.extractive import Extractive
from perslib.pal.bench.faultless import is_synthetic
from perslib.pal.bench.longmemeval import accuracies, answered, read_questions
from perslib.pal.bench.multi_turn import Template
from perslib.prompts import PromptSettings
from perslib.text import plural
from perslib.worlds import palset

OURS, FAULTLESS = "H²Memory", "faultless H²Memory"
PARTS = get_args(Part)
#: Those of the methods that hold dialogues (Mem-PAL, Table 3).
TALKING = (OURS, "vanilla (without log)", "vanilla (with log)", "RecurSum", "ConditionMem", "MemoryBank")
USERS, TOPICS = 2, 40
"""Users of a synthetic set, and topics asked about unless a limit is given: about five users of PAL-Set."""
#: Users of the synthetic set that is answered without a model.
ALL_USERS = 10
#: Tokens of text that every method hands over for a question answered without a model, and of each kind the texts looked
#: up: so many that no method lacks some to fill the budget with.
BUDGET, BUDGET_K = 500, 12
#: A first look: methods, what is asked about of a user's last month, texts recalled of each kind, evaluations of a pair.
LOOK = (FAULTLESS, "vanilla (without log)")
LOOK_QUERY, LOOK_K, LOOK_RUNS = {"query": 1, "topics": 1}, 1, 2
LOOK_TEMPLATE: Template = (("topic_inquiry", "solution_proposal"),)


# -- whose months ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Months:
    """The people that are asked about."""

    who: tuple[Person, ...]
    language: str
    is_first_look: bool
    left_out: int = 0
    """Users of the corpus beyond the limit."""

    @property
    def topics(self) -> int:
        """Topics asked about."""
        return sum(len(person.scenes) for person in self.who)

    @property
    def counts(self) -> dict[str, Any]:
        """How much is asked: users (in words), history, query, topics, logs."""
        heard = [s for person in self.who for s in person.history]
        query = [s for person in self.who for s in person.query]
        logs = sum(len(s.logs) for s in (*heard, *query))
        users = plural("{n} user", "{n} users", len(self.who))
        asked = {"query": len(query), "topics": self.topics}
        return {"users": users, "history": len(heard), "logs": logs, **asked}

    @property
    def digest(self) -> str:
        """What tells this set of questions from every other: runs with the same may be compared."""
        asked = [[s.topic.id, s.topic.requirement, len(p.history)] for p in self.who for s in p.scenes]
        return digest({"asked": asked})[:12]


def pal_set(corpus: Corpus, model: Backbone, language: str, seed: int = 42) -> tuple[Corpus, bool]:
    """The corpus if it has topics to ask about, else a synthetic PAL-Set, and whether that stands in.

    The synthetic one is in the page's language, or in one that the model reads.
    """
    if "topics" in corpus.extras:
        return corpus, False
    if model.entry.languages and language not in model.entry.languages:
        language = model.entry.languages[0]
    return palset(users=USERS, seed=seed, language=language), True


def months(corpus: Corpus, model: Backbone, *, limit: int = 0, history: int = 0, logs: int = 0) -> Months:
    """Whole users of the corpus until there are `limit` topics (0: `TOPICS`, -1: all).

    `history` sessions and `logs` of each session are kept, the last ones; 0 keeps all. A first look (see
    `perslib.judge.extent`) takes one topic of one user, where the truth of the corpus is known; elsewhere it takes as
    much as any model.
    """
    known = people(corpus)
    wanted = extent(model, limit, usual=TOPICS, look=1 if is_synthetic(corpus) else TOPICS)
    look = wanted.is_first_look and is_synthetic(corpus)
    who: list[Person] = []
    for person in known:
        if wanted.turns is not None and sum(len(p.scenes) for p in who) >= wanted.turns:
            break
        person = shortened(person, history=history, logs=logs)
        who.append(shortened(person, **LOOK_QUERY) if look else person)
    return Months(tuple(who), corpus.language, look, len(known) - len(who))


# -- which memories ----------------------------------------------------------------------------------------------


def memories_named(
    names: str,
    corpus: Corpus,
    embedder: str = "auto",
    *,
    first_look: bool = False,
    writes: bool = True,
    budget: int = 0,
) -> list[LongTermMemory]:
    """Methods by their names, all where none is named; the first is the one that others are compared with.

    All are H²Memory and its ablations (`H²Memory without situations`, background, outlines, principles), on synthetic
    sets also `faultless H²Memory`, and the baselines of Table 2. All look things up with the same embedder. Where no model
    `writes`, H²Memory and its ablations are the faultless ones. By name alone: either with ` (official mapping)`. With
    a `budget` all hand over so many tokens of text for a question; without one, what they recall.
    """
    if budget < 0:
        raise DataError(Problem("budget", f"is {budget}, expected a number of tokens, or 0 for the usual"))
    most = {"k": BUDGET_K} if budget else {"k": LOOK_K} if first_look else {}
    options: dict[str, Any] = {"embedder": embedder, **most}
    language = corpus.language
    ours: list[H2Memory] = [H2Memory(language, without=part, **options) for part in (None, *PARTS)]
    if is_synthetic(corpus):
        faultless: list[H2Memory] = [Faultless(corpus, without=part, **options) for part in (None, *PARTS)]
        ours = [*ours, faultless[0]] if writes else faultless
    known: dict[str, LongTermMemory] = {memory.name: memory for memory in (*ours, *baselines(language, **options))}
    who = people(corpus)
    mapped = [OfficialMapping(one, (who[-1].user, who[-1].history)) for one in ours if one.without is None]
    wanted = listed(names) or list(LOOK if first_look else known)
    chosen = _chosen(wanted, known | {memory.name: memory for memory in mapped})
    for memory in chosen:
        memory.budget = budget or None
    return chosen


def without_model(
    language: str, methods: str = "", seed: int = 42, budget: int = 0
) -> tuple[Corpus, Months, list[LongTermMemory]]:
    """Ten synthetic users, all about them asked, and every method, to be served by an answerer that is no model.

    The faultless memory also with the official mapping. All hand over as much text: `budget` tokens, or `BUDGET`.
    """
    options: dict[str, Any] = {"embedder": "tfidf", "writes": False, "budget": budget or BUDGET}
    corpus = palset(users=ALL_USERS, seed=seed, language=language)
    memories = memories_named(methods, corpus, **options)
    if not methods:
        memories += memories_named(f"{FAULTLESS} (official mapping)", corpus, **options)
    return corpus, Months(tuple(people(corpus)), corpus.language, False), memories


def _chosen(wanted: Iterable[str], known: Mapping[str, LongTermMemory]) -> list[LongTermMemory]:
    for name in wanted:
        if name not in known:
            raise UnknownName("memory", name, known)
    return [known[name] for name in dict.fromkeys(wanted)]


def talking(names: str, memories: Sequence[LongTermMemory], *, first_look: bool) -> list[LongTermMemory]:
    """Those of the memories that hold dialogues, the first always: the ones named, else those of Table 3.

    None for "none"; at a first look all.
    """
    known = {memory.name: memory for memory in memories}
    if names == "none":
        return []
    usual = [name for name in known if first_look or name in TALKING]
    return _chosen([memories[0].name, *(listed(names) or usual)], known)


def drawn(memories: Sequence[LongTermMemory]) -> H2Memory | None:
    """The memory that the page draws: the first H²Memory."""
    return next((memory for memory in memories if isinstance(memory, H2Memory)), None)


# -- short answers -----------------------------------------------------------------------------------------------

SHORT, ASIDE = 60, 20
_ASIDES = ("analysis", "assistant_1", "assistant_2", "overall")
_CANDIDATES = [f"S{i}" for i in range(1, 9)]


def brief(model: Backbone) -> Backbone:
    """Return the backbone with short answers: texts of `SHORT` characters, analyses of `ASIDE`, lists of two.

    So a very small model comes to an end, and says something that can be read.
    """

    def shortened(request: Request) -> Request:
        return replace(request, schema=_tightened(request.schema)) if request.schema else request

    own = copy(model)
    own.map = lambda method, items, **shown: model.map(  # type: ignore[method-assign]
        lambda item, ask: method(item, changed(ask, shortened)), items, **shown
    )
    return own


def _tightened(schema: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    own = dict(schema)
    if own.get("type") == "string" and "enum" not in own:
        longest = ASIDE if name in _ASIDES else SHORT
        own["maxLength"] = min(longest, own.get("maxLength", longest))
    if name == "selected_solutions":
        own["items"] = {"type": "string", "enum": _CANDIDATES}
    elif own.get("type") == "array":
        own["maxItems"] = min(2, own.get("maxItems", 2))
        own["items"] = _tightened(own["items"], name)
    if "properties" in own:
        own["properties"] = {key: _tightened(value, key) for key, value in own["properties"].items()}
    return own


# -- what came of it ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """Answers to the single-turn tasks, their scores, and the memories as they grew."""

    answers: pd.DataFrame
    samples: pd.DataFrame
    served: tuple[Served, ...]
    judge: str

    @property
    def copied(self) -> int | None:
        """How many questions the answerer that is no model answered; None where a model was asked."""
        if not self.answers["backbone"].eq(Extractive.name).all():
            return None
        return int(self.answers["calls"].sum() + sum(s.build["calls"] for s in self.served))

    @property
    def failures(self) -> dict[str, Any]:
        """What models did not give: n answers, failed, ungraded, pieces (of memories), and the most frequent error."""
        answers = self.answers
        why = answers["error"].dropna().astype(str).str.rsplit(":").str[-1].str.strip().value_counts()
        return {
            "n": len(answers),
            "failed": int(answers["said"].isna().sum()),
            "ungraded": int(answers["grade_error"].notna().sum()),
            "pieces": sum(len(s.failed) for s in self.served),
            "error": why.index[0][:70] if len(why) else "–",
        }

    def of(self, method: str, user: str) -> Served:
        """What a method made of a user."""
        return next(s for s in self.served if (s.method, s.user) == (method, user))


def single_turn(
    asked: Months,
    memories: Sequence[LongTermMemory],
    model: Backbone | None = None,
    judge: Backbone | None = None,
    seed: int = 42,
) -> Bench:
    """Requirements restated and graded, solutions proposed and selected, with every memory; without a model by copying."""
    form = PromptSettings(asked.language, seed=seed)
    if asked.is_first_look and model and judge:
        model, judge = brief(model), brief(judge)
    own: Any = model or Extractive(asked.language)
    grader: Any = judge or own
    answers, served = run(memories, asked.who, own, form)
    answers = graded(answers, asked.who, grader, form)
    return Bench(answers, scored(answers, asked.who), tuple(served), grader.name)


def count_misplaced(memories: Sequence[LongTermMemory], bench: Bench, who: Sequence[Person]) -> dict[str, int]:
    """How many outlines of the history the official mapping looks up in another cluster, and how many there are."""
    mapped = [memory for memory in memories if isinstance(memory, OfficialMapping)]
    counts = [m.misplaced(bench.of(m.name, person.user).stores[0]) for m in mapped for person in who]
    return {"misplaced": sum(n for n, _ in counts), "outlines": sum(n for _, n in counts)}


def multi_turn(
    asked: Months,
    memories: Sequence[LongTermMemory],
    model: Backbone,
    user: Backbone,
    judge: Backbone,
    *,
    templates: str = "",
    runs: int = 6,
    temperature: float = 0.7,
    seed: int = 42,
) -> tuple[list[Dialogue], pd.DataFrame]:
    """Dialogues on every topic with every memory, and all evaluations of the first memory's against the others'.

    `templates` is a file as published; without one they are drawn, at a first look a single turn. `user` may be
    `model` itself, which then plays both sides.
    """
    form = PromptSettings(asked.language, seed=seed)
    ids = [scene.topic.id for person in asked.who for scene in person.scenes]
    given: Mapping[str, Template] = read_templates(templates) if templates else draw_templates(ids, seed)
    if asked.is_first_look:
        same = user is model
        model, judge = brief(model), brief(judge)
        user, runs = model if same else brief(user), min(runs, LOOK_RUNS)
        given = given if templates else dict.fromkeys(ids, LOOK_TEMPLATE)
    held = talked(begun(memories, asked.who, model, given), user, model, form)
    name = memories[0].name if memories else ""
    if not any(d.method == name and not d.error for d in held):
        return held, pd.DataFrame(columns=EVALUATIONS)
    return held, judged(held, judge, replace(form, temperature=temperature), method=name, number_of_runs=runs)


def count_dialogues(held: Sequence[Dialogue], evaluations: pd.DataFrame) -> dict[str, int]:
    """Return how many dialogues were held and broke off, runs of each pair, and evaluations, in all and without scores."""
    return {
        "held": len(held),
        "broke": sum(d.error is not None for d in held),
        "runs": evaluations["run"].nunique(),
        "n": len(evaluations),
        "unscored": int(evaluations["ours"].isna().sum()),
    }


def others(table: pd.DataFrame) -> list[str]:
    """Return the methods that are neither H²Memory nor its ablations."""
    return [m for m in dict.fromkeys(table["method"]) if not m.startswith((OURS, FAULTLESS))]


def memories(embedder: str = "auto") -> list[LongTermMemory]:
    """The rows of Table 4: no memory, three rivals, and H²Memory of dialogues alone, whole and by halves."""
    options: dict[str, Any] = {"embedder": embedder}
    return [
        Vanilla("en", logs=False, name="vanilla"),
        *(kind("en", embedder=embedder) for kind in (RecurSum, ConditionMem, MemoryBank)),
        H2Dialogues("en", **options),
        H2Dialogues("en", without="principles", name="H²Memory, outlines only", **options),
        H2Dialogues("en", without="outlines", name="H²Memory, principles only", **options),
    ]


def preferences(path: str, model: Backbone, judge: Backbone, embedder: str = "auto", seed: int = 42) -> pd.DataFrame:
    """Accuracy in per cent with its interval: columns of `perslib.pal.bench.longmemeval.accuracies`."""
    questions = read_questions(path)
    table = accuracies(answered(memories(embedder), questions, model, judge, PromptSettings("en", seed=seed)))
    return table.drop(columns="backbone")
