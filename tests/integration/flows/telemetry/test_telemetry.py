"""A run as a collector, Prometheus and a log reader see it: each reply is followed to its row in the warehouse."""

import gzip
import json
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from biasgrid.flows.telemetry.events import span_of, trace_of
from biasgrid.flows.telemetry.log_lines import LogLines
from biasgrid.flows.telemetry.metrics import COUNTERS, GAUGES
from biasgrid.flows.telemetry.metrics_server import serve_metrics
from biasgrid.warehouse.storage.lake import Lake
from support.http_server import address_of, listening
from support.paths import ROOT
from support.prefect_server import migrated_home
from support.processes import BIASGRID, clean_environment, free_port

SCENARIO = {
    "name": "observed",
    "scenario": {"models": ["simulated/fair", "simulated/refuser"], "templates": 2, "seed": 7},
    "requirements": [{"name": "ages", "concern": "ageism", "languages": ["en_us"], "tolerance": 0.9}],
}


@dataclass
class Observed:
    """What a collector received, what was logged, what was counted, and the warehouse."""

    spans: list[Any]
    points: dict[tuple[str, ...], float]
    lines: list[dict[str, Any]]
    samples: dict[tuple[str, ...], float]
    received: bytes
    replies: pl.DataFrame
    warehouse: duckdb.DuckDBPyConnection

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.warehouse.execute(sql).fetchall()


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("observed")
    (folder / "observed.json").write_text(json.dumps(SCENARIO))
    bodies: list[tuple[str, bytes]] = []

    def collect(handler: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        is_zipped = handler.headers.get("Content-Encoding") == "gzip"
        bodies.append((handler.path, gzip.decompress(body) if is_zipped else body))
        return 200, {}, b""

    port = free_port()
    with listening(collect) as collector, serve_metrics(folder / "metrics", "127.0.0.1", port):
        environment = clean_environment(
            OTEL_EXPORTER_OTLP_ENDPOINT=address_of(collector),
            BIASGRID_LOG_JSON=str(folder / "log.jsonl"),
            BIASGRID_METRICS=str(folder / "metrics"),
            PREFECT_HOME=str(migrated_home(folder / "home")),
        )
        command = [*BIASGRID, "run", "observed.json", "--data", str(folder / "data"), "--yes"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1, done.stderr  # a model that declines everything
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            text = page.read().decode()
    with duckdb.connect(str(folder / "data" / "biasgrid.duckdb"), read_only=True) as warehouse:
        yield Observed(
            [span for path, body in bodies if path == "/v1/traces" for span in spans_of(body)],
            {point: value for path, body in bodies if path == "/v1/metrics" for point, value in points_of(body)},
            [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()],
            dict(samples_of(text)),
            b"".join(body for _, body in bodies) + text.encode() + (folder / "log.jsonl").read_bytes(),
            Lake.at(folder / "data").read("responses"),
            warehouse,
        )


def spans_of(body: bytes) -> Iterator[Any]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def points_of(body: bytes) -> Iterator[tuple[tuple[str, ...], float]]:
    """Values by name and sorted labels; the newest comes last."""
    for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for metric in resource.scope_metrics[0].metrics:
            for point in (metric.gauge if metric.HasField("gauge") else metric.sum).data_points:
                labels = sorted((one.key, one.value.string_value) for one in point.attributes)
                yield (metric.name, *(value for _, value in labels)), point.as_double or point.as_int


def samples_of(text: str) -> Iterator[tuple[tuple[str, ...], float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = sorted((name, value) for name, value in sample.labels.items())
            name = sample.name.removeprefix("biasgrid_").removesuffix("_total")
            yield (f"biasgrid.{name}", *(value for _, value in labels)), sample.value


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@pytest.mark.drill
def test_every_reply_is_a_span_that_leads_to_its_row_and_verdict(observed):
    replies = {attributes(span)["biasgrid.response_id"]: span for span in observed.spans if "chat" in span.name}
    sql = "select response_id, run_id, case_id, input_tokens, model, latency_ms from staging.stg_responses"
    rows = observed.rows(sql)
    assert replies.keys() == {row[0] for row in rows}
    for response_id, run_id, case_id, tokens, model, latency_ms in rows:
        span, found = replies[response_id], attributes(replies[response_id])
        assert (found["biasgrid.run_id"], found["biasgrid.case_id"]) == (run_id, case_id)
        assert (found["gen_ai.usage.input_tokens"], span.name) == (tokens, f"chat {model}")
        assert (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6 == pytest.approx(latency_ms, abs=0.1)
    judged = observed.rows("select count(distinct response_id) from staging.stg_verdicts where level = 'instance'")
    assert judged == [(len(rows),)]


@pytest.mark.drill
def test_a_run_is_one_trace_with_its_build(observed):
    ((run_id,),) = observed.rows("select run_id from marts.runs")
    assert {span.trace_id for span in observed.spans} == {trace_of(run_id).to_bytes(16)}
    root = span_of(run_id).to_bytes(8)
    assert {span.name for span in observed.spans if span.span_id == root} == {"benchmark observed"}
    assert {span.parent_span_id for span in observed.spans if span.span_id != root} == {root}
    assert "build warehouse" in {span.name for span in observed.spans}


@pytest.mark.drill
def test_prometheus_and_a_collector_count_what_the_marts_count(observed):
    shared = "reused_from is null"
    requests = (
        f"select model, count(*), sum(input_tokens) from staging.stg_responses where {shared} group by model"
    )
    for counted in (observed.points, observed.samples):
        for model, replies, tokens in observed.rows(requests):
            assert counted["biasgrid.requests", model, "answered"] == replies
            assert counted["biasgrid.tokens", "input", model] == tokens
        assert counted["biasgrid.runs", "benchmark", "completed"] == 1
        assert counted["biasgrid.builds",] >= 1
        assert counted["biasgrid.build_seconds",] > 0


@pytest.mark.drill
def test_the_verdicts_of_the_last_run_are_those_of_the_warehouse(observed):
    sql = "select outcome, count(*) from staging.stg_verdicts where level = 'instance' group by outcome"
    for counted in (observed.points, observed.samples):
        verdicts: Counter[str] = Counter()
        for (name, *labels), value in counted.items():
            if name == "biasgrid.last_run_verdicts":
                assert labels[2] == "observed"
                verdicts[labels[1]] += int(value)
        assert verdicts == dict(observed.rows(sql))


@pytest.mark.drill
def test_a_log_line_of_a_reply_names_its_ids_and_its_span(observed):
    spans = {span.span_id.hex(): attributes(span) for span in observed.spans}
    lines = [line for line in observed.lines if line["event"] == "reply"]
    assert len(lines) == len(observed.rows("select 1 from staging.stg_responses where reused_from is null"))
    for line in lines:
        assert spans[line["span_id"]]["biasgrid.case_id"] == line["case_id"]
    assert [line["state"] for line in observed.lines if line["event"] == "run ended"] == ["completed"]


@pytest.mark.drill
def test_no_text_of_a_prompt_or_reply_leaves_the_lake(observed):
    texts = {part["content"] for messages in observed.replies["messages"] for part in messages}
    texts |= {text for text in observed.replies["text"] if len(text) > 10}
    assert len(texts) > 5
    assert [text for text in texts if text.encode() in observed.received] == []


def test_the_dashboard_asks_for_metrics_that_exist():
    dashboard = json.loads((ROOT / "deployments" / "grafana" / "biasgrid.json").read_text(encoding="utf-8"))
    asked = {
        name for panel in dashboard["panels"] for name in re.findall(r"biasgrid_\w+", panel["targets"][0]["expr"])
    }
    counted = {f"biasgrid_{name}_total": labels for name, (_, labels) in COUNTERS.items()}
    gauged = {f"biasgrid_{name}": labels for name, (_, labels) in GAUGES.items()}
    assert asked <= counted.keys() | gauged.keys()
    assert len(asked) > 8


def test_a_log_on_a_full_disk_is_one_warning(caplog):
    lines = LogLines("/dev/full")
    for _ in range(3):
        lines.on_build("run-1", 1.5)
    assert [record.getMessage() for record in caplog.records] == [
        "lines are missing in BIASGRID_LOG_JSON=/dev/full: [Errno 28] No space left on device"
    ]


def test_without_the_variables_nothing_is_imported():
    check = "import sys, biasgrid.flows.benchmark.flow; from biasgrid.flows.telemetry.observer import start"
    loaded = "print(start(), [name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    command = [sys.executable, "-c", f"{check}; {loaded}"]
    done = subprocess.run(command, env=clean_environment("OTEL_"), capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "() []", done.stderr


COUNT = """
import sys
from pathlib import Path
from biasgrid.flows.telemetry.log_lines import LogLines
from biasgrid.flows.telemetry.metrics import Metrics
counted = Metrics(sys.argv[1], otlp=False)
counted.on_waiting("run", "openai/m", 1.5)
print("counted", flush=True)
sys.stdin.read()
"""


def test_processes_count_together_and_the_next_ones_continue_their_files(tmp_path: Path):
    port = free_port()

    def count_at_once(processes: int) -> None:
        start = [sys.executable, "-c", COUNT, str(tmp_path)]
        running = [
            subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(processes)
        ]
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == b"counted\n"
        for process in running:
            process.communicate(timeout=60)

    with serve_metrics(tmp_path, "127.0.0.1", port):
        count_at_once(2)
        count_at_once(2)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            samples = dict(samples_of(page.read().decode()))
    assert samples["biasgrid.waiting_seconds", "openai/m"] == 6.0
    assert len(list(tmp_path.glob("counter_*.db"))) == 2


def test_a_log_file_that_cannot_be_written_is_a_user_s_mistake(tmp_path: Path):
    environment = clean_environment(BIASGRID_LOG_JSON=str(tmp_path / "absent" / "log.jsonl"))
    command = [*BIASGRID, "run", "starter", "--limit", "1", "--data", str(tmp_path / "data")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2
    assert "BIASGRID_LOG_JSON" in done.stderr
    assert "Traceback" not in done.stderr
