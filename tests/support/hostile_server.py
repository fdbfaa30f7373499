"""A server on raw sockets that plays each provider's, and misbehaves as the name in a request demands."""

import asyncio
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

TEXT = "No, they are alike."
NAME = re.compile(rb"behave-([a-z0-9_]+)")
HANG = None
"""A step: nothing follows until the client goes."""
Step = bytes | float | None
Steps = Iterable[Step]


@dataclass(frozen=True)
class Sound:
    """How a provider replies: a chat completion, or a prediction of Replicate."""

    is_prediction: bool = False
    elsewhere: str = ""
    """Address of a server of another origin."""

    def document(self, text: object = TEXT, **side: Any) -> dict[str, Any]:
        """`side`: usage, model, finish, id, and fields of no meaning."""
        tokens = side.pop("usage", 7)
        finish = side.pop("finish", "stop")
        if self.is_prediction:
            metrics = {"input_token_count": tokens, "output_token_count": tokens}
            own = {
                "id": "p1",
                "status": "succeeded",
                "output": text,
                "error": None,
                "metrics": metrics,
                "urls": {},
            }
            return {"model": "m", "version": "v", "input": {}, "logs": finish, **own, **side}
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": tokens}
        return {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage, **side}

    def body(self, text: object = TEXT, **side: Any) -> bytes:
        return json.dumps(self.document(text, **side)).encode()


def http(
    body: bytes, status: int = 200, framing: str = "length", kind: str = "application/json", **headers: str
) -> bytes:
    """A response as bytes. `framing`: length, chunked or close."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += {"length": [f"Content-Length: {len(body)}"], "chunked": ["Transfer-Encoding: chunked"]}.get(
        framing, []
    )
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (chunked(body) if framing == "chunked" else body)


def chunked(body: bytes, size: int = 100) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@dataclass(frozen=True)
class Behaviour:
    steps: Callable[[Sound], Steps]
    delivers: bool | None = None
    """Whether a whole, sound reply arrives; None where either is right."""
    hangs: bool = False


KNOWN: dict[str, Behaviour] = {}


def _add(delivers: bool | None, *, hangs: bool = False, **named: Callable[[Sound], Any]) -> None:
    for name, make in named.items():

        def steps(sound: Sound, make: Callable[[Sound], Any] = make) -> Steps:
            made = make(sound)
            return [made] if isinstance(made, bytes) else made

        KNOWN[name] = Behaviour(steps, delivers, hangs)


def _error(code: str) -> bytes:
    return json.dumps({"error": {"message": "no", "type": "error", "code": code}}).encode()


PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Accept the terms</body></html>"


def _bomb() -> bytes:
    """A megabyte of gzip that becomes a gigabyte of JSON: one block, repeated."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = squeeze.compress(b'{"output": "') + squeeze.flush(zlib.Z_FULL_FLUSH)
    return start + (squeeze.compress(b"0" * 1_000_000) + squeeze.flush(zlib.Z_FULL_FLUSH)) * 1000


for _status in (400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 500, 502, 503, 504, 529, 599):
    _add(False, **{f"status_{_status}": lambda _, status=_status: http(_error("x"), status, Retry_After="3600")})
_add(
    True,
    sound=lambda s: http(s.body()),
    created=lambda s: http(s.body(), 201),
    early_hints=lambda s: b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + http(s.body()),
    continues=lambda s: b"HTTP/1.1 100 Continue\r\n\r\n" + http(s.body()),
    chunked=lambda s: http(s.body(), framing="chunked"),
    until_close=lambda s: http(s.body(), framing="close"),
    old_http=lambda s: http(s.body(), framing="close").replace(b"HTTP/1.1", b"HTTP/1.0"),
    then_garbage=lambda s: [http(s.body()), 0.05, b"\x00garbage\r\n\r\nHTTP/1.1 500 No\r\n\r\n"],
    garbage_at_once=lambda s: http(s.body()) + b"\x00garbage\r\n\r\nHTTP/1.1 500 No\r\n\r\n",
    then_another=lambda s: http(s.body()) * 2,
    gzipped=lambda s: http(gzip.compress(s.body()), Content_Encoding="gzip"),
    gzipped_in_members=lambda s: http(
        gzip.compress(s.body()[:40]) + gzip.compress(s.body()[40:]), Content_Encoding="gzip"
    ),
    deflated=lambda s: http(zlib.compress(s.body()), Content_Encoding="deflate"),
    plain_label=lambda s: http(s.body(), kind="text/plain; charset=klingon"),
    odd_header=lambda s: http(s.body(), X_Odd="caf\u00e9 \u00ff"),
    usage_true=lambda s: http(s.body(usage=True)),
    usage_huge=lambda s: http(s.body(usage=2**63)),
    usage_larger=lambda s: http(s.body(usage=10**400)),
    usage_negative=lambda s: http(s.body(usage=-5)),
    usage_text=lambda s: http(s.body(usage="many")),
    usage_null=lambda s: http(s.body(usage=None)),
    usage_real=lambda s: http(s.body(usage=1e300)),
    finish_long=lambda s: http(s.body(finish="x" * 100_013)),
    finish_object=lambda s: http(s.body(finish={"a": [1]})),
    model_number=lambda s: http(s.body(model=5)),
    model_long=lambda s: http(s.body(model="m" * 100_000)),
    id_null=lambda s: http(s.body(id=None if not s.is_prediction else "p1")),
    fields_more=lambda s: http(s.body(**{f"field_{n}": [n, {"a": None}] for n in range(500)})),
    spaces=lambda s: http(b" " * 500_000 + s.body() + b"\n" * 1000),
    drip=lambda s: [step for byte in http(s.body()) for step in (bytes([byte]), 0.0005)],
    slow_head=lambda s: [0.2, http(s.body())],
    slow_body=lambda s: [http(s.body())[:-20], 0.2, http(s.body())[-20:]],
)
_add(
    False,
    empty=lambda _: http(b""),
    no_content=lambda _: http(b"", 204),
    not_modified=lambda _: http(b"", 304),
    closed=lambda _: b"",
    closed_in_head=lambda s: http(s.body())[:30],
    closed_in_body=lambda s: http(s.body())[:-20],
    too_long=lambda s: http(s.body()).replace(b"Content-Length: ", b"Content-Length: 9"),
    endless_length=lambda s: http(s.body()).replace(b"Content-Length: ", b"Content-Length: 999999999999"),
    bad_chunks=lambda s: http(s.body(), framing="chunked").replace(b"\r\n\r\n64\r\n", b"\r\n\r\nZZ\r\n"),
    chunks_cut=lambda s: http(s.body(), framing="chunked")[:-30],
    not_http=lambda _: b"SSH-2.0-OpenSSH_9.6\r\n",
    noise=lambda _: bytes(range(256)) * 20,
    gzip_garbage=lambda _: http(b"\x1f\x8b" + b"garbage" * 9, Content_Encoding="gzip"),
    gzip_cut=lambda s: http(gzip.compress(s.body())[:-15], Content_Encoding="gzip"),
    gzip_bomb=lambda _: http(_bomb(), Content_Encoding="gzip"),
    array=lambda _: http(b"[]"),
    number=lambda _: http(b"17"),
    json_cut=lambda s: http(s.body()[:-10]),
    json_none=lambda _: http(b"undefined"),
    text_missing=lambda _: http(b'{"choices": [{"message": {}}], "status": "succeeded"}'),
    text_object=lambda s: http(s.body({"a": {"b": 1}})),
    choices_null=lambda _: http(b'{"choices": null, "output": null, "status": "succeeded"}'),
    deep=lambda _: http(b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    quota_in_200=lambda _: http(_error("insufficient_quota")),
    key_in_200=lambda _: http(_error("invalid_api_key")),
    error_text=lambda _: http(b'{"error": "overloaded", "detail": "later"}'),
    page=lambda _: http(PAGE, kind="text/html"),
    page_403=lambda _: http(PAGE, 403, kind="text/html"),
    page_502=lambda _: http(PAGE * 1000, 502, kind="text/html"),
    xml=lambda _: http(b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", kind="application/xml"),
    to_elsewhere=lambda s: http(b"", 307, Location=f"{s.elsewhere}/behave-sound"),
    moved_elsewhere=lambda s: http(b"", 301, Location=f"{s.elsewhere}/behave-sound"),
    to_itself=lambda _: http(b"", 307, Location="?again"),
    to_nowhere=lambda _: http(b"", 302),
    to_file=lambda _: http(b"", 307, Location="file:///etc/passwd"),
    to_nonsense=lambda _: http(b"", 308, Location="http://[::1"),
)
_add(
    False,
    hangs=True,
    silent=lambda _: [HANG],
    silent_after_head=lambda s: [http(s.body())[:-200], HANG],
    silent_in_chunks=lambda s: [http(s.body(), framing="chunked")[:-8], HANG],
    drips_forever=lambda s: [http(b"x" * 9999)[:-9999], *(step for _ in range(999) for step in (b" ", 0.05))],
)
_add(
    None,
    to_same_origin=lambda _: http(b"", 307, Location="/v1/behave-sound"),
    lengths_differ=lambda s: http(s.body(), Content_length="5"),
    length_negative=lambda s: http(s.body()).replace(b"Content-Length: ", b"Content-Length: -"),
    length_and_chunks=lambda s: http(s.body(), framing="chunked", Content_Length="7"),
    too_short=lambda s: http(s.body()).replace(b"Content-Length: ", b"Content-Length: 0"),
    long_header=lambda s: http(s.body(), X_Long="x" * 100_000),
    many_headers=lambda s: http(s.body(), **{f"X_{n}": "y" for n in range(2000)}),
    status_999=lambda s: http(s.body(), 999),
    gzip_label=lambda s: http(s.body(), Content_Encoding="gzip"),
    unknown_label=lambda s: http(s.body(), Content_Encoding="zstd, br, x"),
    utf_16=lambda s: http(s.body().decode().encode("utf-16")),
    marked=lambda s: http(b"\xef\xbb\xbf" + s.body()),
    latin=lambda s: http(json.dumps(s.document("caf\u00e9"), ensure_ascii=False).encode("latin-1")),
    surrogate=lambda s: http(s.body("No \ud83d")),
    null=lambda s: http(s.body("No \x00")),
    not_a_number=lambda s: http(s.body(usage=float("nan"))),
    twice=lambda s: http(s.body()[:-1] + b', "choices": [], "output": ""}'),
    parts=lambda s: http(s.body(["No", ", ", "never."])),
    text_number=lambda s: http(s.body(5)),
    filtered=lambda s: http(s.body("", finish="content_filter")),
    long_text=lambda s: http(s.body("No. " * 1_000_000)),
    longer_text=lambda s: http(s.body("No. " * 10_000_000)),
    deep_field=lambda s: http(s.body()[:-1] + b', "x": ' + b"[" * 5000 + b"]" * 5000 + b"}"),
    limits_odd=lambda s: http(
        s.body(), x_ratelimit_limit_requests="-1", retry_after="soon", x_ratelimit_reset="\u00b2"
    ),
)


@dataclass
class HostileServer:
    """`behaviours` by name; `requests`: how often each was asked for what."""

    behaviours: Mapping[str, Behaviour] = field(default_factory=lambda: KNOWN)
    elsewhere: str = ""
    url: str = ""
    is_sound: bool = False
    """Whether it has mended its ways."""
    requests: Counter[tuple[str, bytes]] = field(default_factory=Counter)

    listening: asyncio.Server = field(init=False)
    connections: list[asyncio.Task[None]] = field(default_factory=list)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(asyncio.create_task(self._serve(reader, writer)))

    async def close(self) -> None:
        for task in self.connections:
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next turn of the loop

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1])) if length else b""
        found = NAME.search(head) or NAME.search(body)
        name = found[1].decode() if found else "sound"
        sound = Sound(b"/predictions" in head.partition(b"\r\n")[0], self.elsewhere)
        if not head.startswith(b"POST"):
            writer.write(http(b"{}", 404))
            return True
        self.requests[name, prompt_of(body)] += 1
        for step in self.behaviours["sound" if self.is_sound else name].steps(sound):
            if step is HANG:
                await reader.read()
                return False
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                writer.write(step)
                await writer.drain()
        return self.is_sound


def prompt_of(body: bytes) -> bytes:
    """What identifies a request: the messages or input of its body."""
    with suppress(ValueError, TypeError, KeyError):
        asked = json.loads(body)
        return json.dumps(asked.get("messages") or asked["input"]).encode()
    return b""


@asynccontextmanager
async def hostile_server(behaviours: Mapping[str, Behaviour] = KNOWN) -> AsyncIterator[HostileServer]:
    """Listens on loopback, next to a sound server of another origin, to which nothing may be sent."""
    other, mine = HostileServer(), HostileServer(behaviours)
    for server in (other, mine):
        listening = await asyncio.start_server(server.accept, "127.0.0.1", 0, limit=1 << 24)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        server.listening = listening
    mine.elsewhere = other.url
    try:
        yield mine
    finally:
        for server in (other, mine):
            server.listening.close()
            await server.close()
    assert not other.requests, "a request went to another origin"
