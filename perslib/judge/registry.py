"""Every judge by its name: what parameters, pages and the explorer take.

    make_judge("personal", JudgeSettings("zh"))                    with a model
    make_judge("nearest")                                   computed
    make_judge("H²Memory", JudgeSettings(), evidence="full")       the personal judge with this memory, and its options
    make_judge("edited: prices first")                      memories edited by hand in the explorer
    make_judge("blinded: learned")                          a judge without the texts: the control of what they add
    make_judge("BERT ordinal: MODEL")                       a fine-tuned encoder of Hugging Face
    make_judge("guarded: learned")                          a judge that gives a reply to another question the lowest score

`@judge("name")` adds one of your own (docs/extend.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from perslib.errors import UnknownName
from perslib.judge.answering import Guarded
from perslib.judge.asking.decide import Decide
from perslib.judge.asking.episodic import Episodic
from perslib.judge.asking.generic import PROMPTS, Generic
from perslib.judge.asking.personal import Personal
from perslib.judge.asking.settings import JudgeSettings
from perslib.judge.asking.spur import Spur
from perslib.judge.base import Judge
from perslib.judge.baselines import Nearest, UserMean
from perslib.judge.blinded import blind_judge
from perslib.judge.learned.learned_judge import LearnedJudge
from perslib.judge.learned.preferences import FromStatements
from perslib.judge.learned.supervised import Supervised
from perslib.judge.tuned.bert import Bert
from perslib.memory import MeasuredSystem, is_memory, make_memory
from perslib.memory import memory as memories
from perslib.registry import Registry

judge: Registry[Judge] = Registry("judge")
"""The judges that have a name; `@judge("name")` registers one."""


def _remembering(
    name: str,
    memory: str,
    settings: JudgeSettings,
    language: str = "en",
    kind: Callable[..., Judge] = Personal,
    **options: Any,
) -> Judge:
    return kind(make_memory(memory, language, **options), settings, name=name)


for _name, _memory in {
    "personal": "structured",
    "measured": "measured",
    "personal + measured": "structured + measured",
    "scores only": "scores",
}.items():
    judge(_name)(partial(_remembering, _name, _memory))
judge("no memory")(lambda settings: Personal(None, settings, name="no memory"))
for _name in PROMPTS:
    judge(_name)(lambda settings, variant=_name: Generic(variant, settings))
judge("decide")(lambda settings: Decide(None, settings))
for _name, _memory in {"decide + memory": "structured", "decide + measured": "measured"}.items():
    judge(_name)(partial(_remembering, _name, _memory, kind=Decide))
judge("RAG")(lambda settings: Episodic(settings=settings, name="RAG"))


# These two decide something else first and have no score alone to give.
judge("RAG boundary-first")(
    lambda settings: Episodic(
        boundary_first=True, settings=replace(settings, with_rationale=True), name="RAG boundary-first"
    )
)
judge("SPUR")(lambda settings: Spur(replace(settings, with_rationale=True)))
judge("learned + measured")(
    lambda settings: LearnedJudge([Personal(MeasuredSystem(settings.language), settings, name="measured")])
)
judge("learned")(lambda: LearnedJudge())
judge("from statements")(lambda language: FromStatements(language=language))
judge("supervised")(Supervised)
judge("nearest")(Nearest)
judge("user mean")(UserMean)


#: Fine-tuned encoders; the name of another encoder may follow after a colon.
_TUNED = {"BERT": partial(Bert, "classes"), "BERT ordinal": partial(Bert, "ordinal")}
for _name in _TUNED:
    judge(_name, extra="bert")(_TUNED[_name])
#: Before the name of a judge: without texts, and with a guard against replies that do not answer.
BLINDED, GUARDED = "blinded:", "guarded:"


def judge_names() -> list[str]:
    """Return the names that `make_judge` takes, those of memories included."""
    return [*judge, *(name for name in memories if name not in judge)]


def judge_choices() -> list[str]:
    """Return `judge_names`, and the beginnings (with a colon) of further names that `make_judge` takes."""
    return [*judge_names(), "edited:", BLINDED, GUARDED, *(f"{name}:" for name in _TUNED)]


def make_judge(name: str, settings: JudgeSettings | None = None, **memory: Any) -> Judge:
    """Make the judge of this name; `memory` are options of the memory that it has, see `make_memory`.

    A name of a memory is the personal judge with that memory.
    """
    settings = settings or JudgeSettings()
    if name.startswith((BLINDED, GUARDED)):
        made = make_judge(name.partition(":")[2].strip(), settings, **memory)
        return Guarded(made) if name.startswith(GUARDED) else blind_judge(made, settings.language)
    if (own := [part.strip() for part in name.split(":", 1)])[0] in _TUNED:
        return _TUNED[own[0]](*own[1:])
    if name in judge:
        return judge.make(name, settings=settings, language=settings.language, **memory)
    if is_memory(name):
        return _remembering(name, name, settings, settings.language, **memory)
    raise UnknownName("judge", name, judge_names())


def make_judges(
    names: str | Iterable[str | Judge], settings: JudgeSettings | None = None, **memory: Any
) -> list[Judge]:
    """Make the judges of a parameter, separated by commas, each once; "all" is every one that asks a model for 1 to 5.

    In a list, a judge stands for itself.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    if names == "all":
        wanted = [name for name in judge if asks_model(name) and make_judge(name).values == Judge.values]
    once = dict.fromkeys(name for name in wanted if name)
    return [one if isinstance(one, Judge) else make_judge(one, settings, **memory) for one in once]


def asks_model(name: str) -> bool:
    """Return whether the judge of this name asks a model."""
    return is_memory(name) or make_judge(name).inputs.model
