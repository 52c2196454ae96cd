"""One conversation: requests that follow from what the last reply lacked, and replies until needs or patience end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from perslib.worlds.chats import satisfaction
from perslib.worlds.chats.assistants import BY_NAME, plan_reply
from perslib.worlds.chats.replies import WrittenReply, write_reply
from perslib.worlds.chats.slots import draw_line_facts
from perslib.worlds.chats.tasks import Task, opening
from perslib.worlds.lives import MODEL, Book, Dice, Life

Rows: TypeAlias = dict[str, list[dict[str, Any]]]
MOST_TURNS = 12


@dataclass
class State:
    """Where the conversation stands: what the next reply has to answer."""

    request: str
    plain: str = ""  # the request without thanks and connecting words
    opening: bool = False
    earlier: tuple[str, ...] = ()
    demand: str | None = None
    missed: str | None = None


def converse(
    life: Life, task: Task, assistant: str, book: Book, key: tuple[object, ...], started: int, share: float
) -> Rows:
    """Let the user talk to the assistant about the task; rows by frame, without user, scenario and session.

    `started` counts seconds; a share of turns get candidates.
    """
    return _Talk(life, task, assistant, book, key, Dice(*key, "talk")).hold(started, share)


@dataclass
class _Talk:
    """A user with a task, an assistant, and what has happened between them."""

    life: Life
    task: Task
    assistant: str
    book: Book
    key: tuple[object, ...]
    dice: Dice
    rows: Rows = field(default_factory=lambda: {"turns": [], "truth_turns": [], "candidates": []})

    def hold(self, started: int, share: float) -> Rows:
        """Hold the conversation, from the first request to the last word."""
        life, dice, language = self.life, self.dice, self.book.language
        turns, truth = self.rows["turns"], self.rows["truth_turns"]
        needs = self.task.focuses[: int(dice.choose_weighted(MODEL["needs"]))]
        waiting, state = list(needs), self._first()
        clock, tries, spent = float(started), 0, 0.0
        while True:
            turn, focus = len(turns), waiting[0]
            reply = self._answer(self.assistant, focus, state, turn, self.assistant)
            value = satisfaction.utility(life, reply.qualities, turn)
            score = satisfaction.score(life, value, dice)
            reason = satisfaction.reason(life, reply.qualities, dice) if score <= 3 else None
            answered = clock + satisfaction.latency(reply.text, language, dice)
            reaction = satisfaction.react(life, score, reply.text, language, dice)
            row = {"request": state.request, "earlier": state.earlier, "response": reply.text}
            rated = {"score": score, "reason": self.book.talk.REASONS[reason] if reason else None}
            times = {"asked_at": int(clock), "answered_at": int(answered)}
            clicked = next((f for f in ("like", "dislike") if f in reaction), None)
            turns.append({"turn": turn, **row, **rated, **times, "ratings": (), "feedback": clicked})
            cost, drawn = satisfaction.cost(score), reply.plan
            treated = {wanted: drawn.list_constraints(wanted) for wanted in ("kept", "silent", "broken")}
            about = {"focus": focus, "off_topic": drawn.off_topic, "demand": state.demand, **treated}
            truth.append({"turn": turn, **self._truth(reply, value), "cost": cost, **about})
            if dice.chance(share):
                self._candidates(focus, state, turn)
            spent += cost
            tries = 0 if score >= 4 else tries + 1
            picky = score == 4 and dice.chance(0.22)
            if (score >= 4 and not picky) or tries > 2:
                waiting.pop(0)
                tries = 0
            exhausted = spent >= life.patience and score <= 3
            if not waiting or exhausted or turn + 1 >= MOST_TURNS:
                break
            if waiting[0] == focus:
                state = self._once_more(state, reply, score, picky, focus, reaction)
            else:
                state = self._next_topic(score, waiting[0], reaction)
            truth[-1]["behaviour"] = tuple(reaction)
            text = " ".join((*state.earlier, state.request))
            clock = answered + satisfaction.gap(reply.text, text, "skim" in reaction, language, dice)
        self.rows["sessions"] = [self._end(len(needs), waiting, reaction)]
        self.rows["truth_sessions"] = [{"needs": tuple(needs), "spent": spent}]
        return self.rows

    def _first(self) -> State:
        task, life, book, dice = self.task, self.life, self.book, self.dice
        text = opening(task, life, book, dice)
        draw = dice.random()
        if draw < 0.04:
            return State(text, plain=text, opening=True, earlier=(dice.pick(book.talk.GREETINGS),))
        limits = "".join(task.words.LIMITS[key][1].format(**task.slots) for key in task.spoken).strip()
        if draw < 0.075 and limits:
            bare = opening(task, life, book, dice, limits=False)
            return State(limits, plain=limits, opening=True, earlier=(bare,))
        return State(text, plain=text, opening=True)

    def _answer(self, assistant: str, focus: str, state: State, *key: object) -> WrittenReply:
        task, dice = self.task, Dice(*self.key, *key)
        others = [f for f in task.words.FOCUS if f != focus]
        drawn = plan_reply(BY_NAME[assistant], focus, task.due(focus), state.demand, state.missed, others, dice)
        return write_reply(task, drawn, self.book, dice)

    def _truth(self, reply: WrittenReply, value: float) -> dict[str, Any]:
        expected = satisfaction.compute_mean_score(self.life, value)
        return {**reply.qualities, "utility": round(value, 6), "expected": expected}

    def _candidates(self, focus: str, state: State, turn: int) -> None:
        """Write what every assistant would have said here; drawn apart from the conversation, so nothing else changes."""
        for assistant in BY_NAME:
            reply = self._answer(assistant, focus, state, turn, assistant, "candidate")
            truth = self._truth(reply, satisfaction.utility(self.life, reply.qualities, turn))
            row = {"turn": turn, "candidate": assistant, "response": reply.text, **truth}
            self.rows["candidates"].append(row)

    def _once_more(
        self, state: State, reply: WrittenReply, score: int, picky: bool, focus: str, reaction: list[str]
    ) -> State:
        """Return the next request on the same topic: what was missing, or the same again."""
        life, book, dice, talk = self.life, self.book, self.dice, self.book.talk
        short = len(state.plain) < MODEL["lengths"][book.language]["insisted"]
        if score <= 3 and state.demand is None and short and dice.chance(0.5 * life.insisting):
            return self._again(state, focus, reaction)
        gaps = satisfaction.shortfalls(life, reply.qualities)
        wrong = [*reply.plan.list_constraints("broken"), *reply.plan.list_constraints("silent")]
        if not wrong:
            gaps.pop("requirement")
        if reply.plan.off_topic:
            ask = book.finish(self._ask(focus))
            if picky:
                return State(ask, plain=ask)
            reaction.append("complain")
            return State(dice.pick(talk.COMPLAINTS["requirement"]) + book.space + ask, plain=ask)
        lacking = max(gaps, key=lambda q: gaps[q])
        missed = wrong[0] if lacking == "requirement" else None
        repeated = self.task.write_constraint(missed, book) if missed else ""
        text = book.finish(dice.pick(talk.DEMANDS[lacking]).format(said=repeated))
        if not picky and dice.chance(life.complaining * (0.7 if score <= 2 else 0.3)):
            reaction.append("complain")
            text = dice.pick(talk.COMPLAINTS[lacking]) + book.space + text
        return State(text, plain=text, demand=lacking, missed=missed)

    def _next_topic(self, score: int, focus: str, reaction: list[str]) -> State:
        life, book, dice = self.life, self.book, self.dice
        ask = self._ask(focus)
        ask = book.capital(ask) if life.tone == "terse" else book.finish(ask)
        if score >= 4 and dice.chance(life.thanking * (0.6 if score == 5 else 0.3)):
            reaction.append("thanks")
            return State(dice.pick(book.talk.THANKS_THEN).format(request=ask), plain=ask)
        bridge = dice.pick(book.talk.BRIDGES)
        return State(bridge + (_inner(ask, book) if bridge.endswith(", ") else ask), plain=ask)

    def _again(self, state: State, focus: str, reaction: list[str]) -> State:
        """Return the same request once more: word for word, or in other words."""
        book, dice = self.book, self.dice
        if dice.chance(0.5):
            reaction.append("repeat")
            return State(state.plain, plain=state.plain)
        reaction.append("rephrase")
        other = state.opening or dice.chance(0.6)
        words = state.plain if other else book.finish(self._ask(focus))
        inner = words if state.opening else _inner(words, book)
        return State(dice.pick(book.talk.REPHRASE).format(request=inner), plain=state.plain)

    def _ask(self, focus: str) -> str:
        task, dice = self.task, self.dice
        slot = draw_line_facts(task.scenario, task.slots, self.book, dice, set())
        slot["gift"] = task.slots.get("gift", "")
        return str(dice.pick(task.words.FOCUS[focus]["asks"]).format(**slot))

    def _end(self, needs: int, waiting: list[str], reaction: list[str]) -> dict[str, Any]:
        """Return how it ends: settled or given up, with a last word or none."""
        life, talk, dice = self.life, self.book.talk, self.dice
        scores = [row["score"] for row in self.rows["turns"]]
        settled, trailing = sum(score >= 4 for score in scores), tuple[str, ...]()
        success = not waiting and scores[-1] >= 4 and settled >= 0.6 * needs
        if success and dice.chance(life.thanking * 0.12):
            reaction.append("thanks")
            trailing = (dice.pick(talk.THANKS_LAST),)
        elif scores[-1] <= 3 and dice.chance(0.05 + 0.4 * life.complaining):
            reaction.append("dismiss")
            trailing = (dice.pick(talk.DISMISS),)
        self.rows["truth_turns"][-1]["behaviour"] = tuple(reaction)
        mean, bonus = sum(scores) / len(scores), 0.15 if success else -0.5
        felt = 0.55 * mean + 0.45 * scores[-1] + bonus + dice.normal(0.0, 0.3)
        rating = float(max(1, min(5, int(felt + 0.5))))
        return {"satisfaction": rating, "success": success, "trailing": trailing}


def _inner(request: str, book: Book) -> str:
    """Return a request as it stands inside another sentence."""
    if book.language == "zh" or request.startswith(("I ", "I'")):
        return request
    return request[:1].lower() + request[1:]
