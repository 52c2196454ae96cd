"""What goes to a model and what comes back: `Request` and `Answer`, how a method asks, and one digest of what is asked.

A method that needs a model is an ordinary `async` function whose last argument without a default is `ask`:

    async def judge(self, block, ask):
        answers = await ask([self.request(target) for target in block], stage="judge")
        return [self.read(answer) for answer in answers]

`ask` is all that it knows of a model. `Backbone.work` gives it a live one, with the answer cache, for hundreds of
methods at the same time; a test gives it a script (`run_with_answers`); a method that asks nothing gets `no_model`. What can be
asked side by side goes into `asyncio.gather`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import NoneType
from typing import Any, Literal, NamedTuple, Protocol, TypedDict, TypeVar

import numpy as np

from perslib.errors import PerslibError
from perslib.llm.questions import Question, check_questions

T = TypeVar("T")
Message = dict[str, Any]
Mode = Literal["schema", "json", "text", "reask", "plain", "unscored", "decided", "token"]

NOT_IN_CACHE = "not in the cache"
"""The error of an answer that the policy `only` could not give."""
ROLES = ("system", "developer", "user", "assistant", "tool")


class TokenLogprob(TypedDict):
    """One token of a reply: natural-log probability, and the most likely tokens in its place."""

    token: str
    logprob: float
    top: list[tuple[str, float]]


@dataclass(frozen=True)
class Request:
    """One question to a model; whatever is None is left to the endpoint's default."""

    messages: Sequence[Message]
    """The conversation, as `{role, content}`; a plain text stands for one message of the user."""
    schema: Mapping[str, Any] | None = None
    """JSON schema of the wanted reply; with one, the structured-output ladder applies."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    top_logprobs: int | None = None
    """Ask for the log probabilities of this many alternatives at each token."""
    stop: Sequence[str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request body, such as `{"top_p": 0.9}`."""
    prompt: str | None = None
    """Where the words come from, `name@version:digest`; kept for the record, not sent."""
    sample: int = 0
    """Number of the draw when the same question is asked repeatedly; part of the address, not sent."""
    brief: bool = False
    """Only the first tokens are wanted, so a reply cut at `max_tokens` is an answer (score-only mode).
    With `max_tokens=1` this goes without saying."""
    questions: Sequence[Question] = ()
    """Typed questions on the messages (`perslib.llm.questions`), in place of a reply in words."""
    cache_key: str = ""
    """Requests with the same begin with the same text; sent where the endpoint takes it, in no address."""
    shown: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """What the prompt was filled in with, for answerers that are no model; not sent."""

    def __post_init__(self) -> None:
        if isinstance(self.messages, str):
            messages = [{"role": "user", "content": self.messages}] if self.messages.strip() else []
            object.__setattr__(self, "messages", messages)
        check_questions(self.questions)
        if not self.messages:
            raise ValueError("Request.messages is empty: give a text, or a list of {role, content}")
        for place, message in enumerate(self.messages):
            if not isinstance(message, Mapping) or "content" not in message:
                raise ValueError(f"Request.messages[{place}] has no content; expected {{role, content}}")
            if message.get("role") not in ROLES:
                raise ValueError(f"Request.messages[{place}].role is {message.get('role')!r}, expected one of {ROLES}")

    @classmethod
    def of(cls, what: Request | str | Sequence[Message]) -> Request:
        """Return a request from what people like to write: a text, a list of messages, or a request."""
        return what if isinstance(what, Request) else cls(what)  # type: ignore[arg-type]

    @property
    def accepts_truncation(self) -> bool:
        """Whether a reply that ends at `max_tokens` is complete all the same."""
        return self.brief or self.max_tokens == 1


@dataclass(frozen=True)
class Answer:
    """What came back, with everything needed to judge, repeat and pay for it.

    Never silently empty: `error` says in a few words why there is no usable answer, `raw` keeps what came.
    """

    text: str = ""
    """The reply without the model's reasoning."""
    raw: str = ""
    """The reply as it came; `perslib.llm.parse` can be run on it again."""
    reasoning: str = ""
    data: Any = None
    """The parsed and validated object, when the request had a schema."""
    mode: Mode = "plain"
    """What produced `data`: the rung of the ladder (schema, json, text, reask), an endpoint for decisions (decided), a
    token a question (token); unscored if none did."""
    error: str | None = None
    finish: str = ""
    logprobs: list[TokenLogprob] | None = None
    tokens_in: int = 0
    tokens_cached: int = 0
    """Part of `tokens_in` that the endpoint read from its prefix cache."""
    tokens_out: int = 0
    tokens_thought: int = 0
    """Part of `tokens_out` that went into the model's reasoning, where the endpoint counts it."""
    seconds: float = 0.0
    """Time the endpoint took, without our own waiting and queueing."""
    cost: float | None = None
    """In the currency of the price table; None when the backbone has no prices."""
    cached: bool = False
    """Read from the answer cache: nothing was asked and nothing was spent this time."""
    calls: int = 1
    """Replies that were asked for to get it, re-asks among them; `retries` are tries that brought none."""
    retries: int = 0
    backbone: str = ""
    model: str = ""
    digest: str = ""
    """Content address of the question; equal questions have equal digests."""
    earlier: tuple[str, ...] = ()
    """Raw replies that could not be used before this one (the ladder's re-ask)."""
    counts_cached: bool = False
    """Whether the endpoint says how many tokens came from its prefix cache, be it none."""
    is_made_up: bool = False
    """Whether no model gave it: a dry run did, to go on. Never stored."""
    sent: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The body that was sent, of an answer that the cache may keep; only on the way there. Stored apart."""

    @property
    def ok(self) -> bool:
        """Whether there is a usable answer."""
        return self.error is None

    @property
    def whole_text(self) -> str:
        """The text that a label or a score is read from: none where a reply in words was cut, filtered or refused."""
        return "" if self.mode == "plain" and not self.ok else self.text

    def to_record(self) -> dict[str, Any]:
        """Return the answer as plain JSON data, for the cache."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Answer:
        """Return an answer read from the cache; fields of other versions are ignored or defaulted."""
        known = {name: record[name] for name in _FIELDS if name in record}
        known.update(cached=True, retries=0, earlier=tuple(record.get("earlier") or ()))
        if known.get("logprobs"):
            known["logprobs"] = [
                {**token, "top": [(text, value) for text, value in token.get("top", ())]} for token in known["logprobs"]
            ]
        return cls(**known)

    def with_(self, **changes: Any) -> Answer:
        """Return a copy with some fields changed."""
        return replace(self, **changes)


def make_error_answer(request: Request, reason: str) -> Answer:
    """Return the answer to a request that got no reply."""
    return Answer(mode="plain" if request.schema is None else "unscored", error=reason)


class QueuedRequest(NamedTuple):
    """A request on its way to an answerer; those of a lower rank come first, then those asked earlier."""

    rank: int
    number: int
    key: str
    """Content address."""
    request: Request
    stage: str
    follows_placeholder: bool = False
    """Whether the method that asks has gone on by answers that were made up."""


class Answerer(Protocol):
    """What stands behind `ask`: an endpoint, the embedded model, a dry run, a test's script."""

    async def answer(self, question: QueuedRequest) -> Answer:
        """Return the answer, with an error where there is none; raise only what ends the run."""


class Ask(Protocol):
    """Ask questions that can be asked at the same time."""

    def __call__(self, requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Awaitable[Sequence[Answer]]:
        """Return the answers, in order.

        `stage` is the line of the ledger that they count under. Questions go out in the order of asking, those of a
        lower `rank` first: a chain of questions need not wait for many that nothing else waits for.
        """


#: What `Backbone.work` works on.
Method = Callable[[Ask], Awaitable[T]]


def wrap_ask(
    ask: Ask,
    change: Callable[[Request], Request] = lambda request: request,
    *,
    hear: Callable[[Sequence[Answer]], object] = lambda answers: None,
    stage: str | None = None,
    rank: int | None = None,
) -> Ask:
    """Return `ask` with each request changed, its answers shown to `hear`, and a stage and rank of its own."""

    own_stage, own_rank = stage, rank

    async def ask_stage(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Sequence[Answer]:
        stage, rank = own_stage or stage, rank if own_rank is None else own_rank
        answers = await ask([change(request) for request in requests], stage, rank)
        hear(answers)
        return answers

    return ask_stage


async def no_model(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Sequence[Answer]:
    """Answer no question: the `ask` of methods that need no model."""
    if requests:
        raise PerslibError("A model is asked here; say which with backbone=backbone('…').")
    return []


_FIELDS = tuple(f.name for f in fields(Answer) if f.name not in ("is_made_up", "sent"))
_KINDS: dict[str, Any] = {f.name: type(f.default) for f in fields(Answer) if f.name in _FIELDS}
_KINDS |= {"data": object, "error": (str, NoneType), "logprobs": (list, NoneType), "earlier": list}
_KINDS |= {"seconds": (int, float), "cost": (int, float, NoneType)}


def check_stored_answer(record: Any) -> str | None:
    """Return why a value from the cache is not a stored answer; None where it is one, or a part of one."""
    if not isinstance(record, dict):
        return f"expected an object, found {repr(record)[:40]}"
    for name, kind in _KINDS.items():
        value = record.get(name)
        fits = isinstance(value, kind) and (type(value) not in (int, float) or read_amount(value) is not None)
        if name in record and not fits:
            return f"{name} is {repr(value)[:40]}"
    return None if all(map(_is_token, record.get("logprobs") or ())) else "logprobs hold what is no token"


def _is_token(item: Any) -> bool:
    """Return whether it is a `TokenLogprob`, as JSON gives it back."""
    try:
        pairs = [*item.get("top", []), [item["token"], item["logprob"]]]
        return all(isinstance(text, str) and isinstance(value, int | float) for text, value in pairs)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def json_or(text: str, otherwise: Any) -> Any:
    """Return what a text is as JSON, or something else where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def read_amount(value: Any, most: float = 10**12) -> float | None:
    """Return a number from 0 on that somebody else wrote (tokens, a price, a share); None for anything else, or beyond `most`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= most else None


def plain_number(value: Any) -> Any:
    """Return a number of numpy or pandas as JSON knows it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a request cannot hold a {type(value).__name__}: {value!r}")


def whole_characters(text: str) -> str:
    """Return JSON with the replacement character in place of every half of a character (an unpaired surrogate)."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], text)


_ESCAPE = re.compile(
    r"(?:\\[^u])++|\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)", re.S
)


def digest(parts: Mapping[str, Any]) -> str:
    """Return SHA-256 of the parts in canonical JSON: sorted keys, shortest numbers (1.0 is 1), no NaN, text as it is.

    In the sense of RFC 8785 (JSON canonicalization), for the values that occur in requests.
    """
    text = json.dumps(_canonical(parts), sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> Any:
    if type(value) is str or value is None:  # most of a request
        return value
    kind = type(value)
    if kind is dict or isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"keys must be text to be hashed, found {wrong[0]!r}")
        return {key: _canonical(item) for key, item in value.items()}
    if kind is list or isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value
