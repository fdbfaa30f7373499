"""A line of JSON for each reply, build and end of a run, and for each log record of Prefect's flows and tasks."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.telemetry.events import ReplyRow, RunEnd, span_of, trace_of

_LOGGER = logging.getLogger(__name__)
LOG = "BIASGRID_LOG_JSON"
"""A file that lines are appended to, or `-` for standard error."""
PREFECT = ("prefect.flow_runs", "prefect.task_runs")
OF_PREFECT = ("flow_run_id", "flow_run_name", "task_run_id", "task_run_name")
OF_REPLY = (
    *("run_id", "cell_id", "case_id", "response_id", "model", "purpose", "reused_from", "attempts", "latency_ms"),
    *("input_tokens", "output_tokens", "cost_usd", "finish_reason", "error_class"),
)
"""Columns of `responses`; texts of prompts and replies are in the lake alone."""


class LogLines:
    """A sink of lines."""

    def __init__(self, where: str) -> None:
        """Raises UserError if the file cannot be written."""
        self._stream = open_log(where)
        self._where, self._is_broken = where, False
        handler = _Handler(self._write)
        for name in PREFECT:
            logging.getLogger(name).addHandler(handler)

    def on_reply(self, row: ReplyRow) -> None:
        ids = {"trace_id": f"{trace_of(row['run_id']):032x}", "span_id": f"{span_of(row['response_id']):016x}"}
        outcome = {"outcome": row["error_class"] or "answered"}
        self._write("reply", {**{column: row[column] for column in OF_REPLY}, **outcome, **ids})

    def on_waiting(self, run_id: str, model: str, seconds: float) -> None:
        self._write("waited", {"run_id": run_id, "model": model, "seconds": round(seconds, 3)})

    def on_build(self, run_id: str, seconds: float) -> None:
        self._write("built", {"run_id": run_id, "seconds": round(seconds, 3)})

    def on_end(self, end: RunEnd) -> None:
        counts = [{"model": model, "outcome": outcome, "n": n} for (model, outcome), n in end.verdicts.items()]
        about = {"run_id": end.run_id, "kind": end.kind, "scenario": end.scenario, "state": end.state}
        self._write("run ended", about | {"verdicts": counts})

    def flush(self) -> None:
        """Lines are written as they come."""

    def _write(self, event: str, about: dict[str, Any]) -> None:
        line = {"at": datetime.now(UTC), "event": event, **about}
        try:
            self._stream.write(orjson.dumps(line, default=str).decode() + "\n")
            self._stream.flush()
        except (OSError, ValueError) as error:  # a full disk, a closed stream: the run itself goes on
            if not self._is_broken:
                _LOGGER.warning("lines are missing in %s=%s: %s", LOG, self._where, error)
            self._is_broken = True


class _Handler(logging.Handler):
    def __init__(self, write: Any) -> None:
        super().__init__(logging.INFO)
        self._write_line = write

    def emit(self, record: logging.LogRecord) -> None:
        about = {name: getattr(record, name) for name in OF_PREFECT if getattr(record, name, None)}
        about |= {"level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        self._write_line("log", about)


def open_log(where: str) -> TextIO:
    """Raises UserError if the file cannot be written."""
    if where == "-":
        return sys.stderr
    try:
        return Path(where).open("a", encoding="utf-8")  # until the process ends
    except OSError as error:
        what = f"no line can be written to `{where}`: {error.strerror}"
        raise UserError(Problem(what, LOG, "name a file in a directory that exists, or `-`")) from error
