"""One conversation: requests that follow from what the last reply lacked, and replies until needs or patience end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from perslib.corpus.synthetic import behaviour, satisfaction, slots
from perslib.corpus.synthetic.assistants import ASSISTANTS, BY_NAME, plan
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import QUALITIES, Life
from perslib.corpus.synthetic.replies import Reply, write
from perslib.corpus.synthetic.tasks import Task, opening
from perslib.corpus.synthetic.words.books import Book

MOST_TURNS = 12
INSISTED = {"zh": 70, "en": 170}  # longest request, in characters, that a user sends once more
NEEDS = {2: 0.12, 3: 0.32, 4: 0.33, 5: 0.23}  # how many things a user wants to settle


@dataclass
class State:
    """Where the conversation stands: what the next reply has to answer."""

    request: str
    plain: str = ""  # the request without thanks and connecting words
    opening: bool = False
    earlier: tuple[str, ...] = ()
    demand: str | None = None
    missed: str | None = None


@dataclass
class Conversation:
    """What happened: rows for the frames, without user, scenario and session."""

    turns: list[dict[str, Any]] = field(default_factory=list)
    truth: list[dict[str, Any]] = field(default_factory=list)
    candidates: list[dict[str, Any]] = field(default_factory=list)
    trailing: tuple[str, ...] = ()
    satisfaction: float = 3.0
    success: bool = False
    spent: float = 0.0
    needs: tuple[str, ...] = ()


def converse(
    life: Life, task: Task, assistant: str, book: Book, key: tuple[object, ...], started: int, share: float
) -> Conversation:
    """Let the user talk to the assistant about the task; `started` counts seconds, `share` of turns get candidates."""
    dice = Dice(*key, "talk")
    conversation = Conversation()
    focuses = task.focuses[: dice.weighted(NEEDS)]
    conversation.needs = tuple(focuses)
    state = _first(life, task, book, dice)
    clock, waiting, met, tries = float(started), list(focuses), 0, 0
    while True:
        turn = len(conversation.turns)
        focus = waiting[0]
        reply = _answer(task, assistant, focus, state, book, Dice(*key, turn, assistant))
        value = satisfaction.utility(life, reply.qualities, turn)
        score = satisfaction.score(life, value, dice)
        reason = satisfaction.reason(life, reply.qualities, dice) if score <= 3 else None
        answered = clock + behaviour.latency(reply.text, book.language, dice)
        reaction = behaviour.react(life, score, reply.text, book.language, dice)
        _record(
            conversation, life, book, state, reply, value, score, reason, clock, answered, reaction, focus
        )
        if dice.chance(share):
            _candidates(conversation, life, task, focus, state, book, key, turn)
        conversation.spent += behaviour.cost(score)
        met, tries = (met + 1, 0) if score >= 4 else (met, tries + 1)
        picky = score == 4 and dice.chance(0.22)
        if (score >= 4 and not picky) or tries > 2:
            waiting.pop(0)
            tries = 0
        exhausted = conversation.spent >= life.patience and score <= 3
        if not waiting or exhausted or turn + 1 >= MOST_TURNS:
            break
        state = _next(life, task, state, reply, score, picky, waiting[0], focus, reaction, book, dice)
        conversation.truth[-1]["behaviour"] = tuple(reaction)
        text = " ".join((*state.earlier, state.request))
        clock = answered + behaviour.gap(reply.text, text, "skim" in reaction, book.language, dice)
    _end(conversation, life, book, waiting, reaction, dice)
    return conversation


def _first(life: Life, task: Task, book: Book, dice: Dice) -> State:
    text = opening(task, life, book, dice)
    draw = dice.random()
    if draw < 0.04:
        return State(text, plain=text, opening=True, earlier=(dice.pick(book.talk.GREETINGS),))
    said = "".join(task.words.LIMITS[key][1].format(**task.slots) for key in task.spoken).strip()
    if draw < 0.075 and said:
        return State(said, plain=said, opening=True, earlier=(opening(task, life, book, dice, limits=False),))
    return State(text, plain=text, opening=True)


def _answer(task: Task, assistant: str, focus: str, state: State, book: Book, dice: Dice) -> Reply:
    others = [f for f in task.words.FOCUS if f != focus]
    drawn = plan(BY_NAME[assistant], focus, task.due(focus), state.demand, state.missed, others, dice)
    return write(task, drawn, book, dice)


def _truth(life: Life, reply: Reply, value: float) -> dict[str, Any]:
    return {
        **{q: reply.qualities[q] for q in QUALITIES},
        "utility": round(value, 6),
        "expected": satisfaction.expected(life, value),
    }


def _record(
    conversation: Conversation,
    life: Life,
    book: Book,
    state: State,
    reply: Reply,
    value: float,
    score: int,
    reason: str | None,
    asked: float,
    answered: float,
    reaction: list[str],
    focus: str,
) -> None:
    turn = len(conversation.turns)
    feedback = next((f for f in ("like", "dislike") if f in reaction), None)
    conversation.turns.append(
        {
            "turn": turn,
            "request": state.request,
            "earlier": state.earlier,
            "response": reply.text,
            "score": score,
            "reason": book.talk.REASONS[reason] if reason else None,
            "ratings": (),
            "asked_at": int(asked),
            "answered_at": int(answered),
            "feedback": feedback,
        }
    )
    kept, silent, broken = (
        tuple(k for k, s in reply.plan.limits if s == state) for state in ("kept", "silent", "broken")
    )
    conversation.truth.append(
        {
            "turn": turn,
            **_truth(life, reply, value),
            "cost": behaviour.cost(score),
            "focus": focus,
            "off_topic": reply.plan.off_topic,
            "demand": state.demand,
            "kept": kept,
            "silent": silent,
            "broken": broken,
            "behaviour": tuple(reaction),
        }
    )


def _candidates(
    conversation: Conversation,
    life: Life,
    task: Task,
    focus: str,
    state: State,
    book: Book,
    key: tuple[object, ...],
    turn: int,
) -> None:
    """What every assistant would have said here; drawn apart from the conversation, so nothing else changes."""
    for assistant in ASSISTANTS:
        reply = _answer(
            task, assistant.name, focus, state, book, Dice(*key, turn, assistant.name, "candidate")
        )
        value = satisfaction.utility(life, reply.qualities, turn)
        conversation.candidates.append(
            {"turn": turn, "candidate": assistant.name, "response": reply.text, **_truth(life, reply, value)}
        )


def _next(
    life: Life,
    task: Task,
    state: State,
    reply: Reply,
    score: int,
    picky: bool,
    focus: str,
    last: str,
    reaction: list[str],
    book: Book,
    dice: Dice,
) -> State:
    """The next request: the next topic when satisfied; otherwise what was missing, or the same again."""
    talk = book.talk
    if focus != last:
        return _next_topic(life, task, score, focus, reaction, book, dice)
    insists = score <= 3 and state.demand is None and len(state.plain) < INSISTED[book.language]
    if insists and dice.chance(0.5 * life.insisting):
        return _again(task, state, focus, reaction, book, dice)
    gaps = satisfaction.shortfalls(life, reply.qualities)
    wrong = [k for wanted in ("broken", "silent") for k, s in reply.plan.limits if s == wanted]
    if not wrong:
        gaps.pop("requirement")
    if reply.plan.off_topic:
        ask = book.finish(_ask(task, focus, book, dice))
        if picky:
            return State(ask, plain=ask)
        reaction.append("complain")
        return State(dice.pick(talk.COMPLAINTS["requirement"]) + book.space + ask, plain=ask)
    lacking = max(gaps, key=lambda q: gaps[q])
    missed = wrong[0] if lacking == "requirement" else None
    said = task.said(missed, book) if missed else ""
    text = book.finish(dice.pick(talk.DEMANDS[lacking]).format(said=said))
    if not picky and dice.chance(life.complaining * (0.7 if score <= 2 else 0.3)):
        reaction.append("complain")
        text = dice.pick(talk.COMPLAINTS[lacking]) + book.space + text
    return State(text, plain=text, demand=lacking, missed=missed)


def _next_topic(
    life: Life, task: Task, score: int, focus: str, reaction: list[str], book: Book, dice: Dice
) -> State:
    ask = _ask(task, focus, book, dice)
    ask = book.capital(ask) if life.tone == "terse" else book.finish(ask)
    if score >= 4 and dice.chance(life.thanking * (0.6 if score == 5 else 0.3)):
        reaction.append("thanks")
        return State(dice.pick(book.talk.THANKS_THEN).format(request=ask), plain=ask)
    bridge = dice.pick(book.talk.BRIDGES)
    return State(bridge + (_inner(ask, book) if bridge.endswith(", ") else ask), plain=ask)


def _again(task: Task, state: State, focus: str, reaction: list[str], book: Book, dice: Dice) -> State:
    """The same request once more: word for word, or in other words."""
    if dice.chance(0.5):
        reaction.append("repeat")
        return State(state.plain, plain=state.plain)
    reaction.append("rephrase")
    other = state.opening or dice.chance(0.6)
    words = state.plain if other else book.finish(_ask(task, focus, book, dice))
    inner = words if state.opening else _inner(words, book)
    return State(dice.pick(book.talk.REPHRASE).format(request=inner), plain=state.plain)


def _inner(request: str, book: Book) -> str:
    """A request as it stands inside another sentence."""
    if book.language == "zh" or request.startswith(("I ", "I'")):
        return request
    return request[:1].lower() + request[1:]


def _ask(task: Task, focus: str, book: Book, dice: Dice) -> str:
    slot = slots.fresh(task.scenario, task.slots, book, dice, set())
    return str(
        dice.pick(task.words.FOCUS[focus]["asks"]).format(**{**slot, "gift": task.slots.get("gift", "")})
    )


def _end(
    conversation: Conversation, life: Life, book: Book, waiting: list[str], reaction: list[str], dice: Dice
) -> None:
    """How it ends: settled or given up, with a last word or none."""
    scores = [row["score"] for row in conversation.turns]
    settled = sum(score >= 4 for score in scores)
    conversation.success = not waiting and scores[-1] >= 4 and settled >= 0.6 * len(conversation.needs)
    if conversation.success and dice.chance(life.thanking * 0.12):
        reaction.append("thanks")
        conversation.trailing = (dice.pick(book.talk.THANKS_LAST),)
    elif scores[-1] <= 3 and dice.chance(0.05 + 0.4 * life.complaining):
        reaction.append("dismiss")
        conversation.trailing = (dice.pick(book.talk.DISMISS),)
    conversation.truth[-1]["behaviour"] = tuple(reaction)
    mean = sum(scores) / len(scores)
    felt = 0.55 * mean + 0.45 * scores[-1] + (0.15 if conversation.success else -0.5) + dice.normal(0.0, 0.3)
    conversation.satisfaction = float(max(1, min(5, int(felt + 0.5))))
