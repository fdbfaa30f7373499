"""Spans of runs and their requests, sent to an OpenTelemetry collector."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from biasgrid.flows.telemetry.events import FLUSH_MS, ReplyRow, RunEnd, span_of, trace_of

IDS = ("run_id", "cell_id", "case_id", "response_id", "request_key", "purpose", "attempts", "cost_usd")
"""Columns of `responses` that a span has under the same name, with `biasgrid.` before it."""
CONVENTIONS = {
    "gen_ai.provider.name": "provider",
    "gen_ai.response.model": "model_reported",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "server.address": "host",
    "error.type": "error_class",
}
"""OpenTelemetry's names for columns of `responses`. Texts are in no span."""


def resource() -> Resource:
    """This service; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES add to it."""
    return Resource.create({"service.name": "biasgrid", "service.version": version("biasgrid")})


class _GivenIds(RandomIdGenerator):
    """Generates the span and trace id that were given last, so that they follow from ids of the lake."""

    def __init__(self) -> None:
        self.span = self.trace = 0

    def generate_span_id(self) -> int:
        return self.span

    def generate_trace_id(self) -> int:
        return self.trace


class Traces:
    """A sink with one trace a run, to which all its processes add: the run, its requests and its builds."""

    def __init__(self) -> None:
        self._ids = _GivenIds()
        self._provider = TracerProvider(resource=resource(), id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("biasgrid")
        self._began = datetime.now(UTC)

    def on_reply(self, row: ReplyRow) -> None:
        if row["reused_from"]:
            return
        received = row["received_at"]
        sent = received - timedelta(milliseconds=row["latency_ms"] or 0)
        about = {name: row[column] for name, column in CONVENTIONS.items()}
        about |= {f"biasgrid.{column}": row[column] for column in IDS}
        about |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": row["model"].partition("/")[2]}
        about |= {"gen_ai.response.finish_reasons": [row["finish_reason"]] if row["finish_reason"] else None}
        times = sent, received
        self._end(f"chat {row['model']}", row["run_id"], row["response_id"], times, about, row["error_class"])

    def on_waiting(self, run_id: str, model: str, seconds: float) -> None:
        """Waiting is between spans."""

    def on_build(self, run_id: str, seconds: float) -> None:
        now = datetime.now(UTC)
        self._end("build warehouse", run_id, f"{run_id} build {now}", (now - timedelta(seconds=seconds), now), {})

    def on_end(self, end: RunEnd) -> None:
        about = {"biasgrid.run_id": end.run_id, "biasgrid.scenario": end.scenario, "biasgrid.state": end.state}
        self._end(f"{end.kind} {end.scenario}", end.run_id, "", (self._began, datetime.now(UTC)), about)

    def flush(self) -> None:
        self._provider.force_flush(FLUSH_MS)

    def _end(
        self,
        name: str,
        run_id: str,
        own_id: str,
        times: tuple[datetime, datetime],
        about: Mapping[str, object],
        failed: str | None = None,
    ) -> None:
        """Records a span that has ended; the one of the run itself has no `own_id`."""
        self._ids.trace, self._ids.span = trace_of(run_id), span_of(own_id or run_id)
        parent = SpanContext(trace_of(run_id), span_of(run_id), is_remote=True, trace_flags=TraceFlags(1))
        span = self._tracer.start_span(
            name,
            set_span_in_context(NonRecordingSpan(parent)) if own_id else None,
            SpanKind.CLIENT if own_id else SpanKind.INTERNAL,
            attributes={key: value for key, value in about.items() if value is not None},  # type: ignore[misc]
            start_time=int(times[0].timestamp() * 1e9),
        )
        if failed:
            span.set_status(StatusCode.ERROR, failed)
        span.end(int(times[1].timestamp() * 1e9))
