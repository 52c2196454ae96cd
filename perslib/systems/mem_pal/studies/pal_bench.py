"""The PAL-Bench study: the users and memories, how much a model is shown of both, and the results.

    data, stands_in = choose_pal_set(load(corpus), model, language)
    asked = select_users(data, model)                                users, and how far their months were cut
    memories = make_memories("", data, first_look=asked.is_first_look)
    bench = run_single_turn(asked, memories, model, judge)           Table 2
    held, evaluations = run_multi_turn(asked, memories, model, user, judge)   Table 3

A model on this machine gets a first look, because it cannot write a memory and would be too slow. So all methods are
compared with an answerer that uses no model (`prepare_without_model`), and H²Memory and its ablations are written from the
truth of a synthetic set. The model talks about a single topic, and its answers are kept short by their form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, get_args

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem, UnknownName
from perslib.judge.scope import choose_scope, split_names
from perslib.llm import Backbone, Request
from perslib.llm.request import digest, wrap_ask
from perslib.prompts import PromptSettings
from perslib.registry import select_options, use_plugins
from perslib.systems.mem_pal.bench import (
    BenchDialogue,
    BenchUser,
    TrueMemory,
    UserAnswers,
    compare_dialogues,
    draw_templates,
    grade_answers,
    list_bench_users,
    read_templates,
    run,
    run_dialogues,
    score_samples,
    shorten_history,
    start_dialogues,
)
from perslib.systems.mem_pal.bench.comparisons import EVALUATIONS
from perslib.systems.mem_pal.bench.extractive import Extractive
from perslib.systems.mem_pal.bench.multi_turn import Template
from perslib.systems.mem_pal.bench.true_memory import is_synthetic
from perslib.systems.mem_pal.memory import BUILT_IN, LONG_TERM
from perslib.systems.mem_pal.memory.baselines import baselines
from perslib.systems.mem_pal.memory.h2 import H2Memory, OfficialMapping
from perslib.systems.mem_pal.memory.h2.recall import Part
from perslib.systems.mem_pal.memory.long_term import LongTermMemory
from perslib.systems.mem_pal.world import palset
from perslib.text import plural

OURS, FAULTLESS = "H²Memory", "faultless H²Memory"
PARTS = get_args(Part)
#: The methods that hold dialogues (Mem-PAL, Table 3).
TALKING_METHODS = (OURS, "vanilla (without log)", "vanilla (with log)", "RecurSum", "ConditionMem", "MemoryBank")
USERS, TOPICS = 2, 40
"""Default numbers of users of a synthetic set and of topics to ask about: about five users of PAL-Set."""
#: Number of users of the synthetic set that is answered without a model.
ALL_USERS = 10
#: Number of tokens of text that every method hands over for a question answered without a model, and number of texts of
#: each kind that are retrieved. The latter is large, so that every method can fill the budget.
BUDGET, BUDGET_K = 500, 12
#: A first look: methods, numbers of sessions and topics of a user's last month, of recalled texts of each kind, and of
#: evaluations of a pair.
FIRST_LOOK_METHODS = (FAULTLESS, "vanilla (without log)")
LOOK_QUERY, LOOK_K, LOOK_RUNS = {"query": 1, "topics": 1}, 1, 2
LOOK_TEMPLATE: Template = (("topic_inquiry", "solution_proposal"),)


# -- users -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BenchUsers:
    """The users whose topics are asked about, with their months."""

    persons: tuple[BenchUser, ...]
    language: str
    is_first_look: bool
    left_out: int = 0
    """Number of users of the corpus beyond the limit."""

    @property
    def topics(self) -> int:
        """Return the number of topics to ask about."""
        return sum(len(person.scenes) for person in self.persons)

    @property
    def counts(self) -> dict[str, Any]:
        """Return how much is asked: users (in words), history, query, topics, logs."""
        history = [s for person in self.persons for s in person.history]
        query = [s for person in self.persons for s in person.query]
        logs = sum(len(s.logs) for s in (*history, *query))
        users = plural("{n} user", "{n} users", len(self.persons))
        counted = {"query": len(query), "topics": self.topics}
        return {"users": users, "history": len(history), "logs": logs, **counted}

    @property
    def digest(self) -> str:
        """Return a digest of this set of questions; runs with the same digest may be compared."""
        questions = [[s.topic.id, s.topic.requirement, len(p.history)] for p in self.persons for s in p.scenes]
        return digest({"asked": questions})[:12]


def choose_pal_set(corpus: Corpus, model: Backbone | None, language: str, seed: int = 42) -> tuple[Corpus, bool]:
    """Return the corpus if it has topics to ask about, otherwise a synthetic PAL-Set; and whether that one stands in.

    The synthetic one is in a language that the model reads. Without a model it is always taken: its truth stands for a model.
    """
    if "topics" in corpus.extras and (model or is_synthetic(corpus)):
        return corpus, False
    if model and model.entry.languages and language not in model.entry.languages:
        language = model.entry.languages[0]
    return palset(users=USERS, seed=seed, language=language), True


def select_users(
    corpus: Corpus, model: Backbone | None, *, limit: int = 0, history: int = 0, logs: int = 0
) -> BenchUsers:
    """Return whole users of the corpus, up to `limit` topics (0: `TOPICS`, -1: all).

    The last `history` sessions and the last `logs` of each session are kept; 0 keeps all. A first look (see
    `perslib.judge.scope`) takes one topic of one user if the truth of the corpus is known; otherwise it takes as much
    as for any model.
    """
    everyone = list_bench_users(corpus)
    allowed = choose_scope(model, limit, usual=TOPICS, look=1 if is_synthetic(corpus) else TOPICS)
    is_look = model is None or (allowed.is_first_look and is_synthetic(corpus))
    who: list[BenchUser] = []
    for person in everyone:
        if allowed.turns is not None and sum(len(p.scenes) for p in who) >= allowed.turns:
            break
        person = shorten_history(person, history=history, logs=logs)
        who.append(shorten_history(person, **LOOK_QUERY) if is_look else person)
    return BenchUsers(tuple(who), corpus.language, is_look, len(everyone) - len(who))


# -- memories ----------------------------------------------------------------------------------------------------


def make_memories(
    names: str,
    corpus: Corpus,
    embedder: str = "auto",
    *,
    first_look: bool = False,
    writes: bool = True,
    budget: int = 0,
) -> list[LongTermMemory]:
    """Return the methods of these names, or all without a name; others are compared with the first.

    All are H²Memory and its ablations (`H²Memory without situations`, background, outlines, principles), on synthetic
    sets also `faultless H²Memory`, and the baselines of Table 2. All use the same embedder. If no model `writes`,
    H²Memory and its ablations are the faultless ones. Only by name: either with ` (official mapping)`. With a `budget`,
    all hand over this number of tokens of text for a question; without one, they hand over the texts that they recall.

    Raise UnknownName for other names, and DataError if the budget is negative.
    """
    if budget < 0:
        raise DataError(Problem("budget", f"is {budget}, expected a number of tokens, or 0 for the usual"))
    retrieval = {"k": BUDGET_K} if budget else {"k": LOOK_K} if first_look else {}
    options: dict[str, Any] = {"embedder": embedder, **retrieval}
    language = corpus.language
    ours: list[H2Memory] = [H2Memory(language, without=part, **options) for part in (None, *PARTS)]
    if is_synthetic(corpus):
        faultless: list[H2Memory] = [TrueMemory(corpus, without=part, **options) for part in (None, *PARTS)]
        ours = [*ours, faultless[0]] if writes else faultless
    by_name: dict[str, LongTermMemory] = {memory.name: memory for memory in (*ours, *baselines(language, **options))}
    everyone = list_bench_users(corpus)
    mapped = [OfficialMapping(one, (everyone[-1].user, everyone[-1].history)) for one in ours if one.without is None]
    wanted = split_names(names) or list(FIRST_LOOK_METHODS if first_look else by_name)
    known = by_name | {memory.name: memory for memory in mapped}
    known |= {name: _make_own(name, corpus.language, options) for name in wanted if name in find_own_memories()}
    chosen = _choose_by_name(wanted, known)
    for memory in chosen:
        memory.budget = budget or None
    return chosen


def prepare_without_model(
    language: str, methods: str = "", seed: int = 42, budget: int = 0
) -> tuple[Corpus, BenchUsers, list[LongTermMemory]]:
    """Return ten synthetic users, all questions about them, and every method for an answerer that uses no model.

    The faultless memory is also there with the official mapping. All hand over the same number of tokens: `budget`, or
    `BUDGET`.
    """
    options: dict[str, Any] = {"embedder": "tfidf", "writes": False, "budget": budget or BUDGET}
    corpus = palset(users=ALL_USERS, seed=seed, language=language)
    methods = ", ".join(name for name in split_names(methods) if name not in find_own_memories())
    memories = make_memories(methods, corpus, **options)
    if not methods:
        memories += make_memories(f"{FAULTLESS} (official mapping)", corpus, **options)
    return corpus, BenchUsers(tuple(list_bench_users(corpus)), corpus.language, False), memories


def find_own_memories() -> set[str]:
    """Return the names of the long-term memories that modules of the user register (docs/extend.md)."""
    use_plugins()
    return set(LONG_TERM) - BUILT_IN


def _make_own(name: str, language: str, options: Mapping[str, Any]) -> LongTermMemory:
    own = LONG_TERM[name](language, **select_options(LONG_TERM[name], dict(options)))
    own.name = name
    return own


def _choose_by_name(wanted: Iterable[str], by_name: Mapping[str, LongTermMemory]) -> list[LongTermMemory]:
    for name in wanted:
        if name not in by_name:
            raise UnknownName("memory", name, by_name)
    return [by_name[name] for name in dict.fromkeys(wanted)]


def choose_talking_memories(
    names: str, memories: Sequence[LongTermMemory], *, first_look: bool
) -> list[LongTermMemory]:
    """Return the memories that hold dialogues: the first one, and the ones named or else those of Table 3.

    "none" gives none; a first look takes all.
    """
    by_name = {memory.name: memory for memory in memories}
    if names == "none":
        return []
    usual = [name for name in by_name if first_look or name in TALKING_METHODS]
    return _choose_by_name([memories[0].name, *(split_names(names) or usual)], by_name)


def find_drawn_memory(memories: Sequence[LongTermMemory]) -> H2Memory | None:
    """Return the memory that the page draws: the first H²Memory, or None."""
    return next((memory for memory in memories if isinstance(memory, H2Memory)), None)


# -- short answers -----------------------------------------------------------------------------------------------

MOST_CHARACTERS, MOST_ASIDE_CHARACTERS = 60, 20
_ASIDE_FIELDS = ("analysis", "assistant_1", "assistant_2", "overall")
_CANDIDATES = [f"S{i}" for i in range(1, 9)]


def shorten_answers(model: Backbone) -> Backbone:
    """Return the backbone with short answers: texts of `MOST_CHARACTERS` characters, analyses of
    `MOST_ASIDE_CHARACTERS`, lists of two.

    A very small model then finishes its answers, and they can be read.
    """

    def shorten_request(request: Request) -> Request:
        return replace(request, schema=_tighten_schema(request.schema)) if request.schema else request

    limited = copy(model)
    limited.map = lambda method, items, **shown: model.map(  # type: ignore[method-assign]
        lambda item, ask: method(item, wrap_ask(ask, shorten_request)), items, **shown
    )
    return limited


def _tighten_schema(schema: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    tightened = dict(schema)
    if tightened.get("type") == "string" and "enum" not in tightened:
        longest = MOST_ASIDE_CHARACTERS if name in _ASIDE_FIELDS else MOST_CHARACTERS
        tightened["maxLength"] = min(longest, tightened.get("maxLength", longest))
    if name == "selected_solutions":
        tightened["items"] = {"type": "string", "enum": _CANDIDATES}
    elif tightened.get("type") == "array":
        tightened["maxItems"] = min(2, tightened.get("maxItems", 2))
        tightened["items"] = _tighten_schema(tightened["items"], name)
    if "properties" in tightened:
        tightened["properties"] = {key: _tighten_schema(value, key) for key, value in tightened["properties"].items()}
    return tightened


# -- results ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """Answers to the single-turn tasks, their scores, and the memories as they grew."""

    answers: pd.DataFrame
    samples: pd.DataFrame
    served: tuple[UserAnswers, ...]
    judge: str

    @property
    def extractive_calls(self) -> int | None:
        """Return how many questions the answerer without a model answered, or None if a model was asked."""
        if not self.answers["backbone"].eq(Extractive.name).all():
            return None
        return int(self.answers["calls"].sum() + sum(s.build["calls"] for s in self.served))

    @property
    def failures(self) -> dict[str, Any]:
        """Return the failures of models.

        Keys: n (answers), failed, ungraded, pieces (of memories), and the most frequent error.
        """
        answers = self.answers
        errors = answers["error"].dropna().astype(str).str.rsplit(":").str[-1].str.strip().value_counts()
        return {
            "n": len(answers),
            "failed": int(answers["said"].isna().sum()),
            "ungraded": int(answers["grade_error"].notna().sum()),
            "pieces": sum(len(s.failures) for s in self.served),
            "error": errors.index[0][:70] if len(errors) else "–",
        }

    def find_served(self, method: str, user: str) -> UserAnswers:
        """Return what a method made of a user."""
        return next(s for s in self.served if (s.method, s.user) == (method, user))


def run_single_turn(
    bench_users: BenchUsers,
    memories: Sequence[LongTermMemory],
    model: Backbone | None = None,
    judge: Backbone | None = None,
    seed: int = 42,
) -> Bench:
    """Run the single-turn tasks with every memory: requirements restated and graded, solutions proposed and selected.

    Without a model, answers are copied from the texts of the memory.
    """
    form = PromptSettings(bench_users.language, seed=seed)
    if bench_users.is_first_look and model and judge:
        model, judge = shorten_answers(model), shorten_answers(judge)
    answerer: Any = model or Extractive(bench_users.language)
    grader: Any = judge or answerer
    answers, served = run(memories, bench_users.persons, answerer, form)
    answers = grade_answers(answers, bench_users.persons, grader, form)
    return Bench(answers, score_samples(answers, bench_users.persons), tuple(served), grader.name)


def count_misplaced_outlines(
    memories: Sequence[LongTermMemory], bench: Bench, persons: Sequence[BenchUser]
) -> dict[str, int]:
    """Return how many outlines the official mapping takes from another cluster, and how many outlines there are."""
    mappings = [memory for memory in memories if isinstance(memory, OfficialMapping)]
    counts = [
        m.count_misplaced(bench.find_served(m.name, person.user).stores[0]) for m in mappings for person in persons
    ]
    return {"misplaced": sum(n for n, _ in counts), "outlines": sum(n for _, n in counts)}


def run_multi_turn(
    bench_users: BenchUsers,
    memories: Sequence[LongTermMemory],
    model: Backbone,
    user: Backbone,
    judge: Backbone,
    *,
    templates: str = "",
    runs: int = 6,
    temperature: float = 0.7,
    seed: int = 42,
) -> tuple[list[BenchDialogue], pd.DataFrame]:
    """Run dialogues on every topic with every memory; return them and evaluations of the first memory against others.

    `templates` is a file as published; without one they are drawn, and a first look has a single turn. `user` may be
    `model` itself, which then plays both sides.
    """
    form = PromptSettings(bench_users.language, seed=seed)
    ids = [scene.topic.id for person in bench_users.persons for scene in person.scenes]
    chosen_templates: Mapping[str, Template] = read_templates(templates) if templates else draw_templates(ids, seed)
    if bench_users.is_first_look:
        same = user is model
        model, judge = shorten_answers(model), shorten_answers(judge)
        user, runs = model if same else shorten_answers(user), min(runs, LOOK_RUNS)
        chosen_templates = chosen_templates if templates else dict.fromkeys(ids, LOOK_TEMPLATE)
    dialogues = run_dialogues(
        start_dialogues(memories, bench_users.persons, model, chosen_templates), user, model, form
    )
    name = memories[0].name if memories else ""
    if not any(d.method == name and not d.error for d in dialogues):
        return dialogues, pd.DataFrame(columns=EVALUATIONS)
    return dialogues, compare_dialogues(
        dialogues, judge, replace(form, temperature=temperature), method=name, number_of_runs=runs
    )


def count_dialogues(dialogues: Sequence[BenchDialogue], evaluations: pd.DataFrame) -> dict[str, int]:
    """Return the numbers of dialogues and evaluations.

    Keys: held and broke (dialogues, and those that broke off), runs (of each pair), n and unscored (evaluations, and
    those without scores).
    """
    return {
        "held": len(dialogues),
        "broke": sum(d.error is not None for d in dialogues),
        "runs": evaluations["run"].nunique(),
        "n": len(evaluations),
        "unscored": int(evaluations["ours"].isna().sum()),
    }
