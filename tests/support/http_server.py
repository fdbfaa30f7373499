"""HTTP servers on loopback: one whose answers a function gives, and one of an aiohttp application."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiohttp import web

Answer = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body; status 0 drops the connection."""


@contextmanager
def listening(answer: Callable[[BaseHTTPRequestHandler, bytes], Answer]) -> Iterator[ThreadingHTTPServer]:
    """Answers each request by `answer(request, body)` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, headers, body = answer(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_PATCH = do_POST  # noqa: N815

        def handle(self) -> None:
            with suppress(OSError):  # the client has gone
                super().handle()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def address_of(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    """Serves an application until the block ends; its address."""
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
