"""What stands before an app under test: it notes what passes, and does now and then what a test wants."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Step = Callable[[ASGIApp, Scope, Receive, Send], Any]


class Before:
    app: ASGIApp

    def meet(self, request: Request, body: bytes) -> Step | None:
        """Notes a call; what happens to it in place of the app."""
        raise NotImplementedError

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        step = self.meet(request, body)

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await (step(self.app, scope, again, send) if step else self.app(scope, again, send))


def answers(status: int, **error: Any) -> Step:
    """In place of what was asked for."""

    async def step(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        fields = {"message": "no", "type": "server_error", "code": None} | error
        await JSONResponse({"error": fields}, status)(scope, receive, send)

    return step


async def no_one(message: Message) -> None:
    """Receives an answer that is not passed on."""


def loses_the_answer() -> Step:
    """Does what was asked for, and does not say so."""

    async def step(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, no_one)
        await answers(502)(app, scope, receive, send)

    return step
