"""Counters and gauges of runs, for Prometheus, for an OpenTelemetry collector, or both."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

from biasgrid.flows.telemetry.events import FLUSH_MS, ReplyRow, RunEnd

COUNTERS = {
    "requests": ("Requests with their last outcome: answered, or the class of the error", ("model", "outcome")),
    "retries": ("Attempts after the first", ("model",)),
    "tokens": ("Tokens as providers count them", ("model", "direction")),
    "cost_usd": ("US dollars, at the prices of models.yaml", ("model",)),
    "request_seconds": ("Seconds of the last attempts", ("model",)),
    "waiting_seconds": ("Seconds for which requests waited for limits, outages and retries", ("model",)),
    "builds": ("Builds of the warehouse", ()),
    "build_seconds": ("Seconds of builds of the warehouse", ()),
    "runs": ("Runs whose marts are built, by the state in which they ended", ("kind", "state")),
}
GAUGES = {"last_run_verdicts": ("Verdicts of the last run of a scenario", ("scenario", "model", "outcome"))}
"""Name, description and labels; Prometheus' names begin with `biasgrid_`, OpenTelemetry's with `biasgrid.`."""
Record = Callable[[str, float, dict[str, str]], None]
"""Adds to a counter, or sets a gauge."""


class Metrics:
    """A sink that counts."""

    def __init__(self, folder: str | None, *, otlp: bool) -> None:
        """`folder`: of Prometheus' counters; `otlp`: whether a collector gets them."""
        self._records: list[Record] = []
        self._flush: Callable[[], object] = lambda: None
        if folder:
            self._records.append(_prometheus(Path(folder)))
        if otlp:
            record, self._flush = _otlp()
            self._records.append(record)

    def on_reply(self, row: ReplyRow) -> None:
        if row["reused_from"]:
            return
        model = {"model": row["model"]}
        self._record("requests", 1, model | {"outcome": row["error_class"] or "answered"})
        self._record("retries", max(row["attempts"] - 1, 0), model)
        self._record("request_seconds", (row["latency_ms"] or 0) / 1000, model)
        self._record("cost_usd", row["cost_usd"] or 0, model)
        for direction in ("input", "output"):
            self._record("tokens", row[f"{direction}_tokens"] or 0, model | {"direction": direction})

    def on_waiting(self, run_id: str, model: str, seconds: float) -> None:
        self._record("waiting_seconds", seconds, {"model": model})

    def on_build(self, run_id: str, seconds: float) -> None:
        self._record("builds", 1, {})
        self._record("build_seconds", seconds, {})

    def on_end(self, end: RunEnd) -> None:
        self._record("runs", 1, {"kind": end.kind, "state": end.state})
        for (model, outcome), number in end.verdicts.items():
            labels = {"scenario": end.scenario, "model": model, "outcome": outcome}
            self._record("last_run_verdicts", number, labels)

    def flush(self) -> None:
        self._flush()

    def _record(self, name: str, value: float, labels: dict[str, str]) -> None:
        for record in self._records:
            record(name, value, labels)


def _prometheus(folder: Path) -> Record:
    from prometheus_client import CollectorRegistry, Counter, Gauge, values

    # A file for each process would leave thousands after a year of nights: each continues one that is free. The
    # variable is set here, since Prefect's own counters of every process would be files there, too.
    slot = _take_slot(folder)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: slot)  # type: ignore[no-untyped-call]
    own = CollectorRegistry()
    counters = {
        name: Counter(f"biasgrid_{name}", text, labels, registry=own) for name, (text, labels) in COUNTERS.items()
    }
    gauges = {
        name: Gauge(f"biasgrid_{name}", text, labels, registry=own, multiprocess_mode="mostrecent")
        for name, (text, labels) in GAUGES.items()
    }

    def record(name: str, value: float, labels: dict[str, str]) -> None:
        if name in counters:
            (counters[name].labels(**labels) if labels else counters[name]).inc(value)
        else:
            gauges[name].labels(**labels).set(value)

    return record


def _take_slot(folder: Path) -> int:
    """The first number that no living process has; taken until this process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    for slot in count():
        held = os.open(folder / f"slot-{slot}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
        else:
            return slot
    raise AssertionError


def _otlp() -> tuple[Record, Callable[[], object]]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    from biasgrid.flows.telemetry.traces import resource

    provider = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource())
    meter = provider.get_meter("biasgrid")
    counters = {name: meter.create_counter(f"biasgrid.{name}", "", text) for name, (text, _) in COUNTERS.items()}
    gauges = {name: meter.create_gauge(f"biasgrid.{name}", "", text) for name, (text, _) in GAUGES.items()}

    def record(name: str, value: float, labels: dict[str, str]) -> None:
        if name in counters:
            counters[name].add(value, labels)
        else:
            gauges[name].set(value, labels)

    return record, lambda: provider.force_flush(FLUSH_MS)
