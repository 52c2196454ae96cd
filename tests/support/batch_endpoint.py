"""An endpoint with OpenAI's batch interface that loses lines, mixes their order, fails them, and breaks off.

with BatchEndpoint(lambda body: '{"score": 4}') as server:
    server.treat = lambda number, line: None        # this line gets no result
    server.treat = lambda number, line: failed(429) # or this one instead of a completion
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

from aiohttp import web
from endpoint import Endpoint, Fault, completion


def failed(code: int, message: str = "no", **error: Any) -> dict[str, Any]:
    """The response of a line that failed."""
    return {"status_code": code, "request_id": "r", "body": {"error": {"message": message, **error}}}


class BatchEndpoint(Endpoint):
    """Answers the lines of a batch with `reply(body)` as well; a batch is done after `looks`."""

    def __init__(self, reply: Callable[[dict[str, Any]], Any] | None = None):
        super().__init__(reply)
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.looks, self.page = 2, 20
        self.troubles: dict[str, list[Fault]] = {}
        self.ends = "completed"
        self.errors: Any = []
        self.says: dict[str, Any] = {}
        """Fields of a batch in place of the right ones."""
        self.mangle: Callable[[str], bytes] = str.encode
        self.treat: Callable[[int, dict[str, Any]], dict[str, Any] | None] = lambda number, line: self.completed(line)

    def completed(self, line: dict[str, Any]) -> dict[str, Any]:
        """The response of a line that went well."""
        answer = self.reply(line["body"])
        body = completion(answer) if isinstance(answer, str) else answer
        return {"status_code": 200, "request_id": "r", "body": body}

    @property
    def lines(self) -> list[list[dict[str, Any]]]:
        """The lines of each batch, in the order of submission."""
        return [batch["lines"] for batch in self.batches.values()]

    def routes(self) -> list[web.RouteDef]:
        """Those of any endpoint, and files and batches."""
        return [
            *super().routes(),
            web.post("/v1/files", self.upload),
            web.get("/v1/files/{id}/content", self.content),
            web.post("/v1/batches", self.create),
            web.get("/v1/batches", self.list),
            web.get("/v1/batches/{id}", self.retrieve),
        ]

    async def trouble(self, phase: str, request: web.Request) -> web.StreamResponse | None:
        """What happens instead of an answer: before a batch is made or after, …; the last trouble of a phase stays."""
        faults = self.troubles.get(phase)
        if not faults:
            return None
        return await (faults.pop(0) if len(faults) > 1 else faults[0])(request, {})

    async def upload(self, request: web.Request) -> web.StreamResponse:
        if (trouble := await self.trouble("upload", request)) is not None:
            return trouble
        self.headers.append(dict(request.headers))
        form = await request.post()
        assert form["purpose"] == "batch"
        assert form["file"].filename.endswith(".jsonl")  # type: ignore[union-attr]
        name = f"file-{len(self.files)}"
        self.files[name] = form["file"].file.read().decode()  # type: ignore[union-attr]
        return web.json_response({"id": name, "object": "file"})

    async def create(self, request: web.Request) -> web.StreamResponse:
        if (trouble := await self.trouble("make", request)) is not None:
            return trouble
        asked = await request.json()
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].split("\n") if line]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert all((line["method"], line["url"]) == ("POST", "/v1/chat/completions") for line in lines)
        made = {"id": f"batch-{len(self.batches)}", "status": "validating", "looks": 0, "lines": lines}
        made |= {"created_at": int(time.time()), **{name: asked.get(name) for name in ("input_file_id", "metadata")}}
        self.batches[made["id"]] = made
        return await self.trouble("made", request) or web.json_response(self.shown(made))

    async def list(self, request: web.Request) -> web.StreamResponse:
        """The newest first, `page` at a time."""
        if (trouble := await self.trouble("list", request)) is not None:
            return trouble
        listed = [*map(self.shown, reversed(self.batches.values()))]
        after = request.query.get("after")
        begin = next((i + 1 for i, one in enumerate(listed) if one["id"] == after), 0)
        end = begin + min(self.page, int(request.query["limit"]))
        return web.json_response({"object": "list", "data": listed[begin:end], "has_more": end < len(listed)})

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        if self.faults:
            return await self.faults.popleft()(request, {})
        if (trouble := await self.trouble("retrieve", request)) is not None:
            return trouble
        if request.match_info["id"] not in self.batches:
            return web.json_response({"error": {"message": "No batch found with that id."}}, status=404)
        batch = self.batches[request.match_info["id"]]
        batch["looks"] += 1
        batch["status"] = "in_progress"
        if batch["looks"] >= self.looks:
            batch["status"] = self.ends
            if self.ends != "failed":
                self.finish(batch)
        return web.json_response(self.shown(batch))

    def shown(self, batch: dict[str, Any]) -> dict[str, Any]:
        done = sum(1 for name in ("output_file_id", "error_file_id") for _ in self.files.get(batch.get(name), ""))
        counts = {"total": len(batch["lines"]), "completed": min(done, len(batch["lines"])), "failed": 0}
        errors = {"data": self.errors} if self.errors else None
        known = {**{k: v for k, v in batch.items() if k != "lines"}, "request_counts": counts, "errors": errors}
        return known | (self.says if batch["looks"] >= self.looks else {})

    def finish(self, batch: dict[str, Any]) -> None:
        """Good lines into one file, in another order, and failed ones into another."""
        good, bad = [], []
        for number, line in enumerate(batch["lines"]):
            if (response := self.treat(number, line)) is None:
                continue
            is_expired = response == "expired"
            error = {"code": "batch_expired", "message": "not executed in time"} if is_expired else None
            result = {"id": "b", "custom_id": line["custom_id"], "error": error}
            result["response"] = None if is_expired else response
            (good if not is_expired and response["status_code"] == 200 else bad).append(result)
        random.Random(3).shuffle(good)
        for kind, results in (("output", good), ("error", bad)):
            if results:
                batch[f"{kind}_file_id"] = name = f"{batch['id']}-{kind}"
                self.files[name] = "".join(json.dumps(result, ensure_ascii=False) + "\n" for result in results)

    async def content(self, request: web.Request) -> web.StreamResponse:
        if (trouble := await self.trouble("content", request)) is not None:
            return trouble
        if request.match_info["id"] not in self.files:
            return web.json_response({"error": {"message": "No such File object."}}, status=404)
        return web.Response(body=self.mangle(self.files[request.match_info["id"]]))
