"""Serves what the processes of this machine have counted, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serve_metrics(folder: Path, host: str, port: int) -> Iterator[None]:
    """`http://host:port/metrics`, counted from zero: a scraper reads a restart from that."""
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.multiprocess import MultiProcessCollector

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.db"):
        old.unlink()
    counted = CollectorRegistry()
    MultiProcessCollector(counted, str(folder))  # type: ignore[no-untyped-call]
    server, thread = start_http_server(port, host, counted)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
