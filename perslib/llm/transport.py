"""One HTTP exchange with an endpoint, told apart into: a reply, a fault worth another try, a refusal.

The connection is the `openai` SDK's aiohttp client, one floor below its `AsyncOpenAI`: building the SDK's
request and response objects costs about a millisecond of processor time a call, which at 64 calls in flight
is what a run would wait for (`benchmarks/throughput.py` measures both).
"""

from __future__ import annotations

import asyncio
import errno
import json
import re
import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import numpy as np

from perslib.errors import BackboneError, Refused, Unreachable
from perslib.llm import loop
from perslib.llm.estimate import is_rehearsal
from perslib.llm.registry import Entry

CONNECT = 10.0
"""Seconds to open a connection."""
LARGEST = 32 * 2**20
"""Bytes of the largest reply that is read."""
HEADROOM, A_TOKEN = 2**20, 2**14
"""Bytes that are read of a reply whose length was asked for: so many, and so many a token (with alternatives)."""
LONGEST_PAGE = 20_000
"""Characters of an error page that are searched for words."""
SECRET = 12
"""Characters from which a key is taken for a secret even in the text of a reply."""
WORDS = 400
"""Characters of a server's own words that are shown."""
AGAIN = {408, 409, 429}
NAMING = {400, 401, 403, 422}
"""Refusals that may be about one field of the request."""
_BROKEN = (aiohttp.ClientError, OSError, EOFError, zlib.error)
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}


class Fault(Exception):
    """An exchange that failed and may go better next time."""

    def __init__(
        self,
        words: str,
        *,
        status: int = 0,
        retry_after: float | None = None,
        nobody: bool = False,
        hopeless: bool = False,
    ):
        self.words, self.status, self.retry_after = words, status, retry_after
        self.nobody, self.hopeless = nobody, hopeless
        super().__init__(words)


class Transport:
    """The connections to one endpoint; lives on the background loop."""

    def __init__(self, entry: Entry):
        self.entry = entry
        self.base_url = entry.base_url.rstrip("/")
        self._client: Any = None
        self._urls: dict[str, Any] = {}
        self._opening = asyncio.Lock()

    async def exchange(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and return the JSON object that comes back; `Fault` or `Refused` otherwise."""
        if is_rehearsal():
            raise BackboneError(f"In a rehearsal backbone {self.entry.name!r} is not asked.")
        await self.open()
        key = self.entry.key()
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.entry.timeout):
                status, headers, content = await self._send(method, path, body, key)
        except TimeoutError:
            raise Fault(f"no complete reply within {self.entry.timeout:g} s") from None
        except Exception as error:
            fault = self._fault(error)
            if isinstance(fault, Fault) and fault.nobody and self.entry.kind == "embedded":
                self._client, self._urls = None, {}  # its server died: the next try starts another
            raise fault from None
        seconds = time.perf_counter() - started
        reply = await loop.apart(len(content), self._decoded, status, headers, content, key, body)
        return {**reply, "seconds": seconds, "size": len(content)}

    def _decoded(
        self,
        status: int,
        headers: Mapping[str, str],
        content: bytes,
        key: str | None,
        body: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        text = whole_characters(content.decode("utf-8", "replace"))
        # A short key is a word (EMPTY, local …) that a reply may well contain; in an error it is hidden all the same.
        if key and (status != 200 or len(key) >= SECRET):
            text = without_key(text, key)
        if status != 200:
            raise self._failure(status, headers, text, body)
        return self._object(text, status, headers, body)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def open(self) -> None:
        """Make the connections ready; starts the server of an embedded model."""
        if self._client is not None:
            return
        async with self._opening:
            if self._client is not None:
                return
            if self.entry.kind == "embedded":
                from perslib.llm.embedded import serve

                self.base_url = await asyncio.to_thread(serve, gguf(self.entry), context=self.entry.context)
            self._client = await asyncio.to_thread(self._connected)
            loop.on_close(self.close)

    def _connected(self) -> Any:
        from openai import DefaultAioHttpClient  # takes half a second, and not every use of perslib asks

        local = urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")
        return DefaultAioHttpClient(
            timeout=(CONNECT, self.entry.timeout, self.entry.timeout, None),
            trust_env=not local,  # a proxy set for the outer world is not asked for our own machine
            follow_redirects=False,
        )

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, key: str | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Accept-Encoding": "identity"}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            # Data may hold half a surrogate pair; it becomes a question mark rather than the end of the run.
            content = json.dumps(body, ensure_ascii=False, default=_plain).encode("utf-8", "replace")
        if key:
            headers["Authorization"] = f"Bearer {key}"
        if path not in self._urls:  # taking an address apart is a fifth of building a request
            self._urls[path] = self._client.build_request(method, self.base_url + path).url
        request = self._client.build_request(method, self._urls[path], content=content, headers=headers)
        wanted = (body or {}).get("max_tokens") or (body or {}).get("max_completion_tokens")
        most = min(LARGEST, HEADROOM + A_TOKEN * wanted) if isinstance(wanted, int) else LARGEST
        response = await self._client.send(request, stream=True)
        try:
            received = bytearray()
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > most:
                    raise Fault(f"the reply is larger than {most // 2**20} MB", hopeless=True)
            return response.status_code, response.headers, bytes(received)
        finally:
            await response.aclose()

    def _fault(self, error: Exception) -> Exception:
        """A broken connection as a fault; anything else is a mistake of ours and stays what it is."""
        if isinstance(error, Fault):
            return error
        chain = _chain(error)
        for cause in chain:
            if isinstance(cause, aiohttp.ClientConnectorError):
                refused = cause.os_error.errno == errno.ECONNREFUSED
                return Fault("connection refused" if refused else _clean(str(cause.os_error)), nobody=True)
        for cause in chain:
            if isinstance(cause, _BROKEN):
                return Fault(f"the connection broke: {_clean(str(cause)) or type(cause).__name__}")
        return error

    def _failure(
        self, status: int, headers: Mapping[str, str], text: str, body: Mapping[str, Any] | None
    ) -> Exception:
        """What a status other than 200 means."""
        words, code = server_words(text)
        if (status in AGAIN or status >= 500) and code not in _NO_CREDIT:
            return Fault(f"{status}: {words}", status=status, retry_after=retry_after(headers))
        field = refused_field(words, body or {}) if status in NAMING else ""
        remedy = self._leaving_out(field) if field else self._remedy(status)
        return Refused(
            f"{self.entry.name}: the endpoint at {self.base_url} refused ({status}): {words}{remedy}",
            backbone=self.entry.name,
            status=status,
            field=field,
        )

    def _leaving_out(self, field: str) -> str:
        """How a field that the endpoint does not take is left out of the requests to it."""
        setting = {
            "logprobs": "logprobs = false",
            "response_format": 'structured = "text"',
            "max_tokens": 'max_tokens_as = "max_completion_tokens"',
        }.get(field, f'omit = ["{field}"]')
        change = "take it out of extra_body in" if field in self.entry.extra_body else f"put {setting} into"
        return f" — it refused {field!r}: {change} [{self.entry.name}] of backbones.toml."

    def _remedy(self, status: int) -> str:
        if status in (401, 403) and self.entry.key_env:
            return f" — check the key in {self.entry.key_env}."
        if status in (401, 403):
            return " — the entry names no key_env; add one if the endpoint wants a key."
        if 300 <= status < 400 or status == 404:
            return f" — check base_url and model ({self.entry.model!r}) of [{self.entry.name}] in backbones.toml."
        return ""

    def _object(
        self, text: str, status: int, headers: Mapping[str, str], body: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            raise Fault(f"the reply is not JSON: {_clean(text[:LONGEST_PAGE])[:80]!r}") from None
        if not isinstance(reply, dict):
            raise Fault(f"the reply is not a JSON object: {_clean(text[:LONGEST_PAGE])[:80]!r}")
        error = reply.get("error")
        if error and not reply.get("choices"):  # some gateways send their errors with status 200
            code = error.get("code") if isinstance(error, Mapping) else None
            raise self._failure(code if isinstance(code, int) and code >= 400 else 500, headers, text, body)
        return reply

    def unreachable(self, words: str) -> Unreachable:
        """Nobody is there: where we looked, and what to start."""
        start = f"Start it with `{self.entry.start}`" if self.entry.start else "Start the server"
        remedy = f"{start}, or correct base_url of [{self.entry.name}] in backbones.toml."
        return Unreachable(
            f"Nobody answers at {self.base_url} for backbone {self.entry.name!r} ({words}). {remedy}",
            backbone=self.entry.name,
        )


def _plain(value: Any) -> Any:
    """A number from numpy or pandas as JSON knows it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a request cannot hold a {type(value).__name__}: {value!r}")


def gguf(entry: Entry) -> str | None:
    """The model file of an embedded entry; None for the bundled one."""
    is_file = entry.model.endswith(".gguf") or entry.model.startswith("hub:")
    return entry.model if is_file else None


def whole_characters(text: str) -> str:
    """JSON with the replacement character in place of every half of a character (an unpaired surrogate)."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda found: "\\ufffd" if found[1] else found[0], text)


_ESCAPE = re.compile(
    r"(?:\\[^u])++|\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.S,
)


def without_key(text: str, key: str) -> str:
    """The text without the key, also where JSON escapes characters of it (`\\/`, `\\u003c`), in JSON in JSON too."""
    if max(re.findall(r"\w+", key) or [""], key=len) not in text:
        return text  # what no JSON escapes is not there
    spelled = (rf"(?:\\{{0,8}}{re.escape(c)}|(?i:\\{{1,8}}u{ord(c):04x}))" for c in key)
    return re.sub("".join(spelled), "[key]", text)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: `Retry-After` as seconds or as a date (RFC 9110, 10.2.3).

    A date is compared with the server's own clock, where the answer tells it.
    """
    told = headers.get("retry-after", "").strip()
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(told)) if told else None
    except ValueError:
        pass
    until, now = _moment(told), _moment(headers.get("date", "")) or datetime.now(UTC)
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
    """The field of a request that a refusal names, empty if it names none."""
    if {"logprobs", "top_logprobs"} & body.keys() and re.search(r"log[ _-]?prob", words, re.I):
        return "logprobs"  # before those that it may name beside
    for name in body:
        if name in ("model", "messages", "max_completion_tokens", "logprobs", "top_logprobs"):
            continue
        if name == "max_tokens":  # may be named where a prompt is too long
            named = re.search("max_completion_tokens", words)
        elif name == "temperature" or "_" in name:
            named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words)
        else:  # words of their own, too: seed, stop, user
            named = re.search(rf"[`'\"]{re.escape(name)}[`'\"]", words)
        if named:
            return name
    return ""


def server_words(text: str) -> tuple[str, str]:
    """What a server says is wrong, readable and short, and its error code if it gives one."""
    text, code = text[:LONGEST_PAGE], ""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = text
    for name in ("error", "message", "detail", "msg"):
        if isinstance(found, Mapping) and found.get(name):
            found = found[name]
            if isinstance(found, Mapping):
                code = str(found.get("code") or found.get("type") or "")
    words = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    words = (
        re.sub(r"(?is)<(script|style).*?(?:</\1>|\Z)|<[/!a-z][^<>]*(?:>|\Z)", " ", words)
        if "<" in words
        else words
    )
    return _clean(words)[:WORDS] or "(no words)", code


def _clean(text: str) -> str:
    """One line without control characters, and without anything that looks like a key."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    text = "".join(c if c.isprintable() else " " for c in text)
    text = re.sub(r"\bsk-[\w*-]{4,}", "[key]", text)
    return " ".join(text.split())


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
