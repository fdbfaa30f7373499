"""Reports replies, builds and ends of runs to the sinks that the environment asks for; without one, to none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from biasgrid.flows.telemetry.events import ReplyRow, RunEnd
from biasgrid.flows.telemetry.log_lines import LOG, LogLines
from biasgrid.warehouse.storage.journal import LISTENERS

COLLECTOR = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""An OpenTelemetry collector, such as http://127.0.0.1:4318."""
COUNTERS = "BIASGRID_METRICS"
"""A folder in which the processes of a machine count together for Prometheus; `serve --metrics-port` names one."""


class Sink(Protocol):
    """Receives what happens in this process."""

    def on_reply(self, row: ReplyRow) -> None:
        """A row of `responses`, as it was stored; an error in place of a reply, too."""
        ...

    def on_waiting(self, run_id: str, model: str, seconds: float) -> None:
        """Seconds for which requests to a model waited for limits, outages and retries, in a part of a run."""
        ...

    def on_build(self, run_id: str, seconds: float) -> None: ...

    def on_end(self, end: RunEnd) -> None: ...

    def flush(self) -> None:
        """Sends what is collected, within seconds: a command ends as soon as its output is written."""
        ...


@cache
def start() -> tuple[Sink, ...]:
    """The sinks of this process; from the first call on they receive every reply."""
    sinks: list[Sink] = []
    if where := os.environ.get(LOG):
        sinks.append(LogLines(where))
    if os.environ.get(COUNTERS) or os.environ.get(COLLECTOR):
        from biasgrid.flows.telemetry.metrics import Metrics  # imports the SDK or prometheus_client

        sinks.append(Metrics(os.environ.get(COUNTERS), otlp=bool(os.environ.get(COLLECTOR))))
    if os.environ.get(COLLECTOR):
        from biasgrid.flows.telemetry.traces import Traces

        sinks.append(Traces())
    LISTENERS.extend(sink.on_reply for sink in sinks)
    return tuple(sinks)


@contextmanager
def observe(run_id: str, waiting_s: Callable[[], Mapping[str, float]]) -> Iterator[None]:
    """Reports the requests of a run, or of a part of it, while it lasts; at its end, for how many seconds those of
    each model waited."""
    sinks = start()
    try:
        yield
    finally:
        for sink in sinks:
            for model, seconds in waiting_s().items():
                sink.on_waiting(run_id, model, seconds)
            sink.flush()


def report_build(run_id: str, seconds: float) -> None:
    for sink in start():
        sink.on_build(run_id, seconds)


def report_end(end: RunEnd) -> None:
    for sink in start():
        sink.on_end(end)
        sink.flush()
