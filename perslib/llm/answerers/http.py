"""One HTTP exchange with an endpoint. What comes of it is a reply, a `TransportError` worth another try, or a refusal for good."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perslib.errors import BackboneError, Refused, Unreachable
from perslib.llm import event_loop
from perslib.llm.answerers.hidden_keys import hide_keys
from perslib.llm.entries import BackboneEntry
from perslib.llm.request import json_or, plain_number, whole_characters

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

LARGEST = 32 * 2**20
"""Bytes of the largest reply that is read."""
LARGEST_FILE = 2**30
"""Bytes of the largest file of answers that is read."""
HEADROOM, A_TOKEN = 2**20, 2**14
"""Bytes that are read of a reply whose length was asked for: so many, and so many a token (with alternatives)."""
LONGEST_PAGE = 20_000
"""Characters of an error page that are searched for words."""
SECRET = 12
"""Characters from which a key is taken for a secret even in the text of a reply."""
WORDS = 400
"""Characters of a server's own words that are shown."""
AGAIN = {408, 409, 429}
NOT_IMPLEMENTED = 501
NAMING = {400, 401, 403, 422}
"""Refusals that may be about one field of the request."""
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}

Headers = Mapping[str, str]
Body = Mapping[str, Any] | None


@dataclass(eq=False)
class TransportError(Exception):
    """An exchange that failed and may go better next time."""

    words: str
    status: int = 0
    retry_after: float | None = None
    nobody: bool = False
    """Nothing answers at the address."""
    hopeless: bool = False
    """Another try would end the same way."""


class Transport:
    """The connections to one endpoint; lives on the background loop."""

    def __init__(self, entry: BackboneEntry, client: AsyncOpenAI | None = None):
        self.entry = entry
        self.base_url = entry.base_url.rstrip("/")
        self._of_user = self._client = client
        self._opening = asyncio.Lock()

    async def exchange(self, method: str, path: str, body: Body = None) -> dict[str, Any]:
        """Send one request and return the JSON object that comes back; `TransportError` or `Refused` otherwise."""
        started = time.perf_counter()
        content: dict[str, Any] = {} if body is None else {"content": encode_body(body)}
        reply = await self._request(method, path, _most(body), **content)
        seconds, size = time.perf_counter() - started, len(reply.content)
        return {
            **await event_loop.run_in_thread(size, self._decode_reply, reply, body),
            "seconds": seconds,
            "size": size,
        }

    async def upload(self, file: Path) -> dict[str, Any]:
        """Send a file of questions; returns what the endpoint says of it."""
        with file.open("rb") as content:
            files = {"file": (file.name, content, "application/jsonl")}
            reply = await self._request(
                "POST", "/files", kind="multipart/form-data", files=files, body={"purpose": "batch"}
            )
        return self._decode_reply(reply, None)

    async def download(self, path: str, decode: Callable[[bytes], str]) -> str:
        """Return the text of a file."""
        reply = await self._request("GET", path, LARGEST_FILE)
        return await asyncio.to_thread(self._text, reply, None, decode)

    async def _request(
        self, method: str, path: str, most: int = LARGEST, kind: str = "application/json", **sent: Any
    ) -> Response:
        """Return the reply to a request, whatever its status, of at most so many bytes."""
        await self.open()
        from perslib.llm.answerers import openai_client as sdk

        assert self._client is not None
        headers = {"Content-Type": kind, **self.entry.headers}
        try:
            async with asyncio.timeout(self.entry.timeout):
                reply = await sdk.request_reply(self._client, method, path, most, headers, self.entry.query, **sent)
        except sdk.BROKEN as error:
            raise self.fault(*sdk.find_cause(error)) from None
        except Exception as error:
            if type(error).__name__ == "InvalidURL":
                words = f"{self.entry.name}: {path[:80]}… is no address: {error}"
                raise Refused(words, backbone=self.entry.name, status=404) from None
            if self._of_user is None:
                raise
            key = self._of_user.api_key
            words = _clean(hide_keys(str(error), {key: "[key]"} if key else {}))
            problem = f"{type(error).__name__}: {words[:WORDS]}"
            remedy = "correct it where it is made, or leave `client` out"
            raise BackboneError(
                f"The client of backbone {self.entry.name!r} failed ({problem}): {remedy}.", backbone=self.entry.name
            ) from None
        if len(reply.content) > most:
            raise TransportError(f"the reply is larger than {most // 2**20} MB", hopeless=True)
        return reply

    async def open(self) -> None:
        """Make the connections ready."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
                event_loop.on_close(self._client.close)

    def _connect(self) -> AsyncOpenAI:
        from perslib.llm.answerers.openai_client import EndpointClient  # takes a second, once

        return EndpointClient(self.entry)

    async def close(self) -> None:
        """Close the connections, but not those of a client of the user's."""
        client, self._client = self._client, self._of_user
        if client is not None and client is not self._of_user:
            await client.close()

    def fault(self, error: BaseException, key: str | None = None, is_unreached: bool = False) -> TransportError:
        """Say what broke, without the key, which a server may have written where it does not belong."""
        if type(error) is TimeoutError:
            return TransportError(f"no complete reply within {self.entry.timeout:g} s")
        words = _clean(hide_keys(str(error), {key: "[key]"} if key else {})) or type(error).__name__
        if not is_unreached:
            return TransportError(f"the connection broke: {words}")
        if type(error).__name__ in ("ClientProxyConnectionError", "ProxyError"):
            return TransportError(f"the proxy that the environment names does not answer ({words})")
        return TransportError("connection refused" if isinstance(error, ConnectionRefusedError) else words, nobody=True)

    def _decode_reply(self, reply: Response, body: Body) -> dict[str, Any]:
        """Return the object in a reply with status 200; raises what anything else means."""
        text = self._text(reply, body)
        decoded = json_or(text, _UNREADABLE)
        if not isinstance(decoded, dict):
            wanted = "JSON" if decoded is _UNREADABLE else "a JSON object"
            raise TransportError(f"the reply is not {wanted}: {_clean(text[:LONGEST_PAGE])[:80]!r}")
        error = decoded.get("error")
        if error and not decoded.get("choices"):  # some gateways send their errors with status 200
            code = error.get("code") if isinstance(error, Mapping) else None
            raise self.failure(code if isinstance(code, int) and code >= 400 else 500, reply.headers, text, body)
        return decoded

    def _text(
        self,
        reply: Response,
        body: Body,
        decode: Callable[[bytes], str] = lambda content: content.decode("utf-8", "replace"),
    ) -> str:
        """Return the text of a reply with status 200, without the key; raises what another status means."""
        from perslib.llm.answerers.openai_client import find_key

        text, key = whole_characters(decode(reply.content)), find_key(reply.request)
        # A short key is a word (EMPTY, local …) that a reply may well contain; in an error it is hidden all the same.
        if key and (reply.status_code != 200 or len(key) >= SECRET):
            text = hide_keys(text, {key: "[key]"})
        if reply.status_code != 200:
            raise self.failure(reply.status_code, reply.headers, text, body)
        return text

    def failure(self, status: int, headers: Headers, text: str, body: Body) -> Exception:
        """Return what a status other than 200 means."""
        words, code = server_words(text)
        if (status in AGAIN or status >= 500) and status != NOT_IMPLEMENTED and code not in _NO_CREDIT:
            return TransportError(f"{status}: {words}", status=status, retry_after=retry_after(headers))
        field = refused_field(words, body or {}) if status in NAMING else ""
        return Refused(
            f"{self.entry.name}: the endpoint at {self.base_url} refused ({status}): {words}"
            + self._remedy(status, field, words),
            backbone=self.entry.name,
            status=status,
            field=field,
        )

    def _remedy(self, status: int, field: str, words: str) -> str:
        """Return what to change, after a dash; nothing where we do not know."""
        table = f"[{self.entry.name}]"
        if field:
            setting = _SETTINGS.get(field, f'omit = ["{field}"]')
            change = "take it out of extra_body in" if field in self.entry.extra_body else f"put {setting} into"
            return f" — it refused {field!r}: {change} {table} of backbones.toml."
        if status in (401, 403):
            return f" — {self._remedy_of_key()}."
        if 300 <= status < 400 or status == 404 or re.search(_NO_SUCH_MODEL, words, re.I):
            return f" — check base_url and model ({self.entry.model!r}) of {table} in backbones.toml."
        return ""

    def _remedy_of_key(self) -> str:
        if self._of_user is not None:
            return "check the credentials of the client"
        if self.entry.auth == "entra":
            return "whoever is signed in needs the role Cognitive Services OpenAI User"
        key = self.entry.key_env
        return f"check the key in {key}" if key else "the entry names no key_env; add one if the endpoint wants a key"

    def unreachable(self, words: str) -> Unreachable:
        """Return the error of a server that does not answer: which address was tried, and what to start."""
        start = f"Start it with `{self.entry.start}`" if self.entry.start else "Start the server"
        remedy = f"{start}, or correct base_url of [{self.entry.name}] in backbones.toml."
        return Unreachable(
            f"Nobody answers at {self.base_url} for backbone {self.entry.name!r} ({words}). {remedy}",
            backbone=self.entry.name,
        )


def encode_body(body: Body) -> bytes:
    """Encode what is sent; half of a character that data may hold becomes a question mark, not the end of the run."""
    return json.dumps(body, ensure_ascii=False, default=plain_number).encode("utf-8", "replace")


_UNREADABLE = object()
#: How a model without a system role says so.
_SYSTEM = r"role.{0,40}system|system.{0,40}role|(system|developer) (message|instruction|prompt)"
#: How gateways say with status 400 that they do not have the model.
_NO_SUCH_MODEL = r"(invalid|unknown|no such|not a valid) model|model .{0,60}not (exist|found)"
#: What keeps a field out of requests, for those that have a setting of their own.
_SETTINGS = {
    "logprobs": "logprobs = false",
    "response_format": 'structured = "text"',
    "max_tokens": 'max_tokens_as = "max_completion_tokens"',
}


def _most(body: Body) -> int:
    """Return bytes that the reply to a request may have."""
    wanted = (body or {}).get("max_tokens") or (body or {}).get("max_completion_tokens")
    return min(LARGEST, HEADROOM + A_TOKEN * wanted) if isinstance(wanted, int) else LARGEST


def retry_after(headers: Headers) -> float | None:
    """Return seconds the server asks to wait: `Retry-After` as seconds or as a date (RFC 9110, 10.2.3).

    A date is compared with the server's own clock, where the answer tells it.
    """
    delay = headers.get("retry-after", "").strip()
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(delay)) if delay else None
    except ValueError:
        pass
    until, now = _moment(delay), _moment(headers.get("date", "")) or datetime.now(UTC)
    try:
        return max(0.0, (until - now).total_seconds()) if until else None
    except OverflowError:  # an offset that no clock has
        return None


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def refused_field(words: str, body: Mapping[str, Any]) -> str:
    """Return the field of a request that a refusal names, empty if it names none."""
    if {"logprobs", "top_logprobs"} & body.keys() and re.search(r"log[ _-]?prob", words, re.I):
        return "logprobs"  # before those that it may name beside
    if any(m.get("role") == "system" for m in body.get("messages", ())) and re.search(_SYSTEM, words, re.I):
        return "system"
    for name in body:
        if name in ("model", "messages", "max_completion_tokens", "logprobs", "top_logprobs"):
            continue
        if name == "max_tokens":  # may be named where a prompt is too long
            named = re.search("max_completion_tokens", words)
        elif name == "temperature" or "_" in name:
            named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words)
        else:  # words of their own, too: seed, stop, user
            word = re.escape(name)
            pattern = rf"[`'\"]{word}[`'\"]|(?:parameter|argument|field):? {word}\b|(?<![\w-]){word}: extra inputs"
            named = re.search(pattern, words, re.I)
        if named:
            return name
    return ""


def server_words(text: str) -> tuple[str, str]:
    """Return what a server says is wrong, readable and short, and its error code if it gives one."""
    text, code = text[:LONGEST_PAGE], ""
    value = json_or(text, text)
    for name in ("error", "message", "detail", "msg"):
        if isinstance(value, Mapping) and value.get(name):
            value = value[name]
            if isinstance(value, Mapping):
                code = str(value.get("code") or value.get("type") or "")
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "<" in words:
        words = re.sub(r"(?is)<(script|style).*?(?:</\1>|\Z)|<[/!a-z][^<>]*(?:>|\Z)", " ", words)
    return _clean(words)[:WORDS] or "(no words)", code


def _clean(text: str) -> str:
    """Return one line without control characters, and without anything that looks like a key."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", " ", text)  # a blank: what stood apart does not become a key
    text = "".join(c if c.isprintable() else " " for c in text)
    text = re.sub(r"\bsk-[\w*-]{4,}", "[key]", text)
    return " ".join(text.split())
