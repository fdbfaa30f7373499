"""Chat completions of a fixed latency, in a process of their own, which keeps count of what it is asked.

    python -m rig.endpoint '{"latency_s": 0.1}'

Prints its port. `GET /count` counts what came; `POST /reset` forgets it. The reply is made once: this process
shares two cores with whatever it measures.
"""

from __future__ import annotations

import asyncio
import bisect
import json
import random
import sys
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field

from aiohttp import web

MINUTE_S = 60.0
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "loopback",
    "usage": {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22},
}


def completion(reply_bytes: int) -> list[bytes]:
    """A chat completion in parts whose text, about so many bytes, has a number between them."""
    text = "No." + (f" # depends on each.{' It depends on each of them.' * 200}" * (reply_bytes // 5600))
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps(COMPLETION | {"choices": [choice]}).encode().split(b"#")


@dataclass(frozen=True)
class Behaviour:
    """How it answers. Shares are of the requests, drawn at random."""

    latency_s: float = 0.1
    rate_limited: float = 0.0
    server_faults: float = 0.0
    retry_after_s: float = 1.0
    reply_bytes: int = 0
    yes: float = 0.0
    """Share of the replies that are Yes; the others are No."""
    per_minute: int | None = None
    """Stated in x-ratelimit headers; what goes beyond it within a minute gets a 429."""


@dataclass
class Book:
    """When each request came (seconds of the machine's monotonic clock) and what it got."""

    arrivals: array[float] = field(default_factory=lambda: array("d"))
    admitted: array[float] = field(default_factory=lambda: array("d"))
    statuses: Counter[int] = field(default_factory=Counter)
    last: float = 0.0

    def admitted_lately(self, now: float) -> int:
        return len(self.admitted) - bisect.bisect_left(self.admitted, now - MINUTE_S)

    def busiest_minute(self) -> int:
        """The most requests of any minute that begins when the first minute is over."""
        first = bisect.bisect_left(self.arrivals, self.arrivals[0] + MINUTE_S) if self.arrivals else 0
        ends = (bisect.bisect_left(self.arrivals, came + MINUTE_S) for came in self.arrivals[first:])
        return max((end - start for start, end in enumerate(ends, first)), default=0)

    def summary(self) -> dict[str, object]:
        return {
            "received": len(self.arrivals),
            "statuses": self.statuses,
            "first": self.arrivals[0] if self.arrivals else None,
            "last": self.last,
            "busiest_minute": self.busiest_minute(),
        }


@dataclass
class Endpoint:
    behaviour: Behaviour
    book: Book = field(default_factory=Book)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def __post_init__(self) -> None:
        self.parts = completion(self.behaviour.reply_bytes)

    async def complete(self, request: web.Request) -> web.Response:
        now = time.monotonic()
        self.book.arrivals.append(now)
        await request.read()
        reply = self._refusal(now)
        if reply is None:
            await asyncio.sleep(self.behaviour.latency_s)
            headers = self._limit_headers(now)
            # no two long replies are alike, so that no table can store them once
            body = (b"%d" % len(self.book.arrivals)).join(self.parts)
            if self.chance.random() < self.behaviour.yes:
                body = body.replace(b'"No.', b'"Yes.', 1)
            reply = web.Response(body=body, content_type="application/json", headers=headers)
        self.book.statuses[reply.status] += 1
        self.book.last = time.monotonic()
        return reply

    def _refusal(self, now: float) -> web.Response | None:
        """A fault where one is due, at once."""
        if self._is_exhausted(now):
            return self._too_many(self.book.admitted[-self.behaviour.per_minute] + MINUTE_S - now)  # type: ignore[operator]
        self.book.admitted.append(now)
        drawn = self.chance.random()
        if drawn < self.behaviour.rate_limited:
            return self._too_many(self.behaviour.retry_after_s)
        if drawn < self.behaviour.rate_limited + self.behaviour.server_faults:
            return web.json_response({"error": {"message": "out of order"}}, status=500)
        return None

    def _is_exhausted(self, now: float) -> bool:
        limit = self.behaviour.per_minute
        return limit is not None and self.book.admitted_lately(now) >= limit

    def _too_many(self, retry_after_s: float) -> web.Response:
        headers = {"Retry-After": f"{retry_after_s:g}"} | self._limit_headers(time.monotonic())
        return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)

    def _limit_headers(self, now: float) -> dict[str, str]:
        limit = self.behaviour.per_minute
        if limit is None:
            return {}
        left = limit - self.book.admitted_lately(now)
        return {
            "x-ratelimit-limit-requests": str(limit),
            "x-ratelimit-remaining-requests": str(max(0, left)),
            "x-ratelimit-reset-requests": f"{MINUTE_S * (limit - left) / limit:.3f}s",
        }

    async def count(self, request: web.Request) -> web.Response:
        return web.json_response(self.book.summary())

    async def reset(self, request: web.Request) -> web.Response:
        self.book, self.chance = Book(), random.Random(7)
        return web.json_response({})


async def serve(behaviour: Behaviour) -> None:
    endpoint, app = Endpoint(behaviour), web.Application()
    app.router.add_post("/v1/chat/completions", endpoint.complete)
    app.router.add_get("/count", endpoint.count)
    app.router.add_post("/reset", endpoint.reset)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Behaviour(**json.loads(sys.argv[1]))))
