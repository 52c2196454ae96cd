"""An OpenAI-compatible server on loopback that can misbehave in every way real ones do.

    with Endpoint() as server:
        server.next(status(429, retry_after="1"), html(502))   # the next two calls; then `server.reply` again
        ask(server.base_url)
        server.bodies                                          # what was sent

Run as a program it serves until its standard input closes, in a process of its own:
`python endpoint.py --latency 0.05` prints its base URL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from perslib.llm import RetryPolicy

#: A client's retries as in life, a hundred times faster.
HASTY = RetryPolicy(tries=4, backoff=0.01, longest=0.05, total=2.0)

Fault = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


def completion(content: str | None = "ok", *, finish: str = "stop", model: str = "m", **message: Any) -> dict[str, Any]:
    """The body of an ordinary chat completion; further keywords go into its message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish,
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}},
    }


def status(number: int, message: str = "no", /, *, retry_after: str | None = None, **error: Any) -> Fault:
    """An error status with a JSON body as OpenAI words it."""

    async def fault(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        headers = {"Retry-After": retry_after} if retry_after is not None else {}
        return web.json_response({"error": {"message": message, **error}}, status=number, headers=headers)

    return fault


def html(code: int) -> Fault:
    """A gateway's error page."""

    async def fault(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        page = "<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>"
        return web.Response(text=page, status=code, content_type="text/html")

    return fault


def says(content: str | None, **options: Any) -> Fault:
    """An ordinary completion with this content."""

    async def fault(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(completion(content, **options))

    return fault


def raw(text: str, content_type: str = "application/json") -> Fault:
    """Status 200 with this text, whatever it is."""

    async def fault(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type)

    return fault


def empty() -> Fault:
    """A completion without choices."""
    return raw('{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 0}}')


def reset() -> Fault:
    """Half a body, then the connection is torn down."""

    async def fault(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "5000"})
        await response.prepare(request)
        await response.write(b'{"choices": [{"message": {"content": "half')
        assert request.transport is not None
        request.transport.abort()
        return response

    return fault


def endless(pause: float = 0.005, chunk: bytes = b" " * 64) -> Fault:
    """A body that never ends."""

    async def fault(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(chunk)
            await asyncio.sleep(pause)

    return fault


def silent(seconds: float = 60.0) -> Fault:
    """Takes the request and says nothing."""

    async def fault(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response(completion())

    return fault


class Endpoint:
    """The server: answers with `reply(body)`, but first with whatever was queued by `next`."""

    def __init__(self, reply: Callable[[dict[str, Any]], Any] | None = None, latency: float = 0.0):
        self.reply = reply or (lambda body: "ok")
        self.latency = latency
        self.faults: deque[Fault] = deque()
        self.models: list[dict[str, Any]] = [{"id": "m", "object": "model"}]
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.queries: list[dict[str, str]] = []
        self.times: list[float] = []
        self.in_flight = self.most_in_flight = 0
        self.base_url = ""

    def next(self, *faults: Fault) -> None:
        """Answer the next calls with these."""
        self.faults.extend(faults)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(request.headers)
        self.queries.append(dict(request.query))
        self.times.append(time.monotonic())
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.faults:
                return await self.faults.popleft()(request, body)
            if self.latency:
                await asyncio.sleep(self.latency)
            answer = self.reply(body)
            if callable(answer):
                return await answer(request, body)
            return web.json_response(completion(answer) if isinstance(answer, str) else answer)
        finally:
            self.in_flight -= 1

    async def embed(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        if self.faults:
            return await self.faults.popleft()(request, body)
        # Each text becomes (its length, 1), in no particular order.
        rows = [{"index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(body["input"])]
        return web.json_response({"data": rows[::-1], "usage": {"prompt_tokens": 3}})

    async def list_models(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"object": "list", "data": self.models})

    def routes(self) -> list[web.RouteDef]:
        """What it answers to."""
        return [
            web.post("/v1/chat/completions", self.chat),
            web.get("/v1/models", self.list_models),
            web.post("/v1/embeddings", self.embed),
        ]

    async def serve(self, started: Callable[[], object], stop: asyncio.Event) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes(self.routes())
        # A call that its client gave up on ends here too, or the endless ones would keep the server.
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        started()
        await stop.wait()
        # A connection that is accepted while its server closes gets no transport, and its socket nobody to close it.
        for listening in site._server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(5):
            await asyncio.sleep(0)
        await runner.cleanup()
        # What was closed says so to its socket in the next rounds of the loop; what came in meanwhile nobody else closes.
        for rounds in range(50):
            await asyncio.sleep(0)
            known = list(getattr(asyncio.get_running_loop(), "_transports", {}).values())
            live = [one for one in known if getattr(one, "_sock", None) is not None]
            if rounds > 5 and not live:
                break
            for one in live:
                one.abort()

    def __enter__(self) -> Endpoint:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        ready = threading.Event()

        def run() -> None:
            self._loop.run_until_complete(self.serve(ready.set, self._stop))
            self._loop.close()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options.add_argument("--content", default="ok", help="what every answer says")
    chosen = options.parse_args()
    server = Endpoint(lambda body: chosen.content, latency=chosen.latency)

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        # The parent closes our standard input, by intent or by dying: either way we end.
        threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(stop.set)), daemon=True).start()
        await server.serve(lambda: print(json.dumps(server.base_url), flush=True), stop)

    asyncio.run(run())


if __name__ == "__main__":
    main()


def reasoner(body):
    """A hosted reasoning model, in such models' published words."""
    if "logprobs" in body:
        return status(403, "You are not allowed to request logprobs from this model")
    if "max_tokens" in body:
        return status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    if body.get("temperature", 1) != 1:
        return status(400, "Unsupported value: 'temperature' does not support 0.6. Only the default (1) is supported.")
    if body["messages"][0]["role"] == "system":
        return status(400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.")
    is_cut = body.get("max_completion_tokens", 10**6) < 100
    reply = completion("" if is_cut else "4", finish="length" if is_cut else "stop")
    reply["usage"] |= {"completion_tokens": 64, "completion_tokens_details": {"reasoning_tokens": 60}}
    return reply
