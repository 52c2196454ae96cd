"""The `openai` SDK as it speaks to one endpoint: with which connections, with whose credentials, and how failures read.

Importing the SDK takes longer than importing perslib, so this module is imported when the first call is made.
"""

from __future__ import annotations

import json
import ssl
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import certifi
import httpx2
import openai

from perslib.errors import BackboneError, MissingKey
from perslib.extras import import_extra
from perslib.llm.entries import BackboneEntry

CONNECT = 10.0
"""Seconds to open a connection."""
KEEP_ALIVE = 5.0
"""Seconds that an idle connection is kept; uvicorn, which vLLM runs on, closes it then."""
ERROR_PAGE = 2**17
"""Bytes that are read of what comes with a status other than 200."""
ENTRA = "https://cognitiveservices.azure.com/.default"
BROKEN = (openai.APIConnectionError, aiohttp.ClientError, OSError, EOFError, zlib.error, UnicodeError)
"""What an exchange raises that brings no whole reply; time-outs are an `OSError`, too, and error pages may be no text."""

_most: ContextVar[int] = ContextVar("bytes that the reply under way may have")
_parse = lru_cache(httpx2.URL)
#: What the SDK would work out for each call: how it may sign in, a time-out (`Transport` has its own), a random name.
_SETTLED: dict[str, Any] = {"security": {}, "timeout": None, "idempotency_key": ""}


class _Connections(aiohttp.TCPConnector):
    """Connections that are used again where nothing is left over: a second reply that nobody asked for answers no question."""

    async def _get(self, key: Any, traces: Any) -> Any:
        while connection := await super()._get(key, traces):
            if connection.protocol and not connection.protocol.should_close:
                break
            connection.close()
        return connection


class BoundedClient(httpx2.AsyncClient):
    """The connections of the SDK: aiohttp's, without the layers between (0.15 ms a call).

    A reply is read up to a bound, counted after decompression: a small one may unpack to a large one. No connection is
    taken for ever by a reply that was not read to its end (openai-python#2688), and a redirect is not followed.
    """

    def __init__(self, base_url: str):
        super().__init__(transport=httpx2.AsyncBaseTransport(), trust_env=False)
        # `trust_env` of aiohttp would also send passwords from ~/.netrc.
        self._proxy = _find_proxy(base_url)
        is_secure = "https:" in f"{base_url} {self._proxy}"
        self._certificates = _read_certificates() if is_secure else True
        self._session: aiohttp.ClientSession | None = None

    def build_request(self, method: str, url: Any, *, timeout: Any = None, **sent: Any) -> httpx2.Request:
        """Return a request that holds what the SDK gives, and no more: there are no defaults and cookies to be merged."""
        return httpx2.Request(method, _parse(url), **sent)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and return its reply, read and decoded; what is longer than its bound lacks its end."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=_Connections(
                    limit=0,  # `limits.ConcurrencyLimit` bounds the calls in flight
                    keepalive_timeout=KEEP_ALIVE,
                    ssl=self._certificates,
                ),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
                proxy=self._proxy,
            )
        is_whole = isinstance(request.stream, httpx2.ByteStream)  # not so the parts of a form
        data = (request.content or None) if is_whole else request.stream
        headers = {name.decode(): value.decode() for name, value in request.headers.raw}
        sent = self._session.request(
            request.method, str(request.url), headers=headers, data=data, allow_redirects=False
        )
        received = bytearray()
        try:
            async with sent as response:
                most = _most.get() if 200 <= response.status < 300 else ERROR_PAGE
                async for part in response.content.iter_any():
                    received += part
                    if len(received) > most:
                        break
        except BROKEN as error:
            raise openai.APIConnectionError(request=request) from error
        # How the content was packed, and how long it was then, is no longer so; the SDK would log the id as it came.
        gone = (b"content-", b"x-request-id")
        kept_headers = [pair for pair in response.raw_headers if not pair[0].lower().startswith(gone)]
        return httpx2.Response(response.status, headers=kept_headers, content=bytes(received), request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
        await super().aclose()


class EndpointClient(openai.AsyncOpenAI):
    """The client of one entry, for one event loop; tries anew are the business of `limits.Client`.

    It takes nothing from the environment but a proxy and the key, which is read for each call and held by nothing.
    """

    def __init__(self, entry: BackboneEntry):
        self._entry = entry
        self._entra = _Entra(entry) if entry.auth == "entra" else None
        try:
            http_client = BoundedClient(entry.base_url)
            super().__init__(base_url=entry.base_url, api_key="of each call", max_retries=0, http_client=http_client)
        except (ValueError, httpx2.InvalidURL) as error:
            raise BackboneError(
                f"No connection to {entry.base_url} can be made: {error}. Correct base_url in backbones.toml."
            ) from None

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        """The headers of every request; OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID and the like have no effect."""
        kind = "application/json"
        return {"Accept": kind, "Content-Type": kind, "User-Agent": f"AsyncOpenAI/Python {openai.__version__}"}

    def _prepare_url(self, url: str) -> httpx2.URL:
        return _parse(url)  # it is whole: see `request_reply`

    async def authorize(self) -> str | openai.Omit:
        """Return the header that says who asks."""
        key = await self._entra.read() if self._entra else self._entry.key()
        return f"Bearer {key}" if key else openai.Omit()

    async def close(self) -> None:
        """Close the connections, those to Entra ID too."""
        await super().close()
        if self._entra:
            await self._entra.close()


async def request_reply(
    client: openai.AsyncOpenAI,
    method: str,
    path: str,
    most: int,
    headers: Mapping[str, str],
    query: Mapping[str, str],
    **sent: Any,
) -> httpx2.Response:
    """Return the reply to one request, whatever its status; one that has more than `most` bytes may lack its end.

    A client of the user's has its own credentials, and reads a reply to its end.
    """
    options: dict[str, Any] = {"params": query, "max_retries": 0, "follow_redirects": False}
    options["headers"] = {**headers, "Accept-Encoding": "identity"}
    if isinstance(client, EndpointClient):
        path = f"{client.base_url}{path[1:]}"  # joined and read anew by the SDK it would cost a tenth of the call
        options |= _SETTLED
        options["headers"] |= {"Authorization": await client.authorize(), "X-Stainless-Retry-Count": openai.Omit()}
    elif content := sent.pop("content", None):
        sent["body"] = json.loads(content)  # in which a client for Azure finds the name of the deployment
    _most.set(most)
    try:
        call: Any = client.get if method == "GET" else client.post
        reply: httpx2.Response = await call(path, cast_to=httpx2.Response, options=options, **sent)
    except openai.APIStatusError as error:
        reply = error.response
    return reply


def find_key(request: httpx2.Request) -> str | None:
    """Return the key that a request carries."""
    key = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("api-key")
    return key and key.strip()


def find_cause(error: BaseException) -> tuple[BaseException, str | None, bool]:
    """Return what broke, which SDK and HTTP client wrap, the key that was sent, and whether nobody could be reached."""
    key = find_key(error.request) if isinstance(error, openai.APIConnectionError) else None
    is_unreached = _is_unreached(error)
    is_of_proxy = False
    while isinstance(error.__cause__, Exception) and type(error.__cause__) is not TimeoutError and not is_of_proxy:
        error = error.__cause__
        is_of_proxy = isinstance(error, aiohttp.ClientProxyConnectionError)
        is_unreached |= _is_unreached(error)
    return error, key, is_unreached


def _is_unreached(error: BaseException) -> bool:
    # httpx and httpx2 share no class, and users' clients may have either.
    return isinstance(error, aiohttp.ClientConnectorError) or type(error).__name__ == "ConnectError"


def check_client(client: Any, entry: BackboneEntry, scheduler: object) -> str:
    """Return the base URL of a user's client; refuse one that perslib cannot use."""
    kind = type(client).__name__
    if not isinstance(client, openai.AsyncOpenAI):
        remedy = f"Async{kind} with the same arguments" if isinstance(client, openai.OpenAI) else "an AsyncOpenAI"
        raise BackboneError(f"backbone(client=…) takes an asynchronous client, not {kind}: make {remedy}.")
    if entry.kind == "embedded":
        raise BackboneError(f"Backbone {entry.name!r} is run by perslib itself: leave client out, or name an endpoint.")
    if scheduler is not None:
        raise BackboneError("A client cannot be sent to the workers of a cluster: leave client out, or scheduler.")
    address = str(client.base_url).rstrip("/")
    return entry.base_url if entry.base_url.rstrip("/") == address else address


class _Entra:
    """The token of Microsoft Entra ID that this machine may have: by `az login`, a managed identity, or the environment."""

    def __init__(self, entry: BackboneEntry):
        (azure,) = import_extra("azure", f"Backbone {entry.name!r}, which signs in with Microsoft Entra ID,")
        self._name, self._credential = entry.name, azure.DefaultAzureCredential()
        self.close = self._credential.close
        self._provide = azure.get_bearer_token_provider(
            self._credential, ENTRA
        )  # holds the token, and renews it in time

    async def read(self) -> str:
        """Return the token."""
        try:
            return str(await self._provide())
        except Exception as error:  # azure-identity has tried all that it knows, more than once
            words = " ".join(str(error).split())[:400]
            raise MissingKey(
                f"Backbone {self._name!r} has no token of Microsoft Entra ID: {words}", backbone=self._name
            ) from None


def _read_certificates() -> ssl.SSLContext:
    """Return the system's certificates and those of certifi: Python finds no system certificates on some systems."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _find_proxy(url: str) -> str | None:
    """Return the proxy that the environment names for an address; none for our own machine."""
    place = urlsplit(url)
    host = place.hostname or ""
    if host in ("127.0.0.1", "localhost", "::1") or proxy_bypass(host):
        return None
    known = getproxies()
    proxy = known.get(place.scheme) or known.get("all")
    if proxy and urlsplit(proxy).scheme.startswith("socks"):
        raise BackboneError(
            f"The environment names a SOCKS proxy for {host}, and only HTTP proxies are spoken to. Name one in HTTPS_PROXY, "
            f"put {host} into NO_PROXY, or give a client of your own: backbone(…, client=…)."
        )
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"
