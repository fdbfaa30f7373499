"""The marts of one run as files for other programs: CSV, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from biasgrid.tasks.report.findings import mart
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.verdicts import VERDICTS
from biasgrid.tasks.transcripts.sessions import OUTCOMES, SESSION
from biasgrid.warehouse.build.build import run_row
from biasgrid.warehouse.build.models import Column, Model, load_models
from biasgrid.warehouse.schemas import KINDS as RUN_KINDS
from biasgrid.warehouse.storage.export_files import as_number, write_table, write_text
from biasgrid.warehouse.storage.lake import Lake

VERSION = 1
"""Of the JSON report, as `report.schema.json` describes it."""
PARSED = ("scenario_resolved", "catalog_hashes", "versions")
"""Columns of a run that hold JSON."""


def write_csv(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """Writes `<run_id>_<mart>.csv` per mart of the kind of run. Raises UserError."""
    tables = _tables(lake, run_id, run_row(lake, run_id)["kind"])
    return [write_table(out / f"{run_id}_{name}.csv", rows) for name, rows in tables.items()]


def write_json(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """Writes `<run_id>.json` as in `report.schema.json`. Raises UserError."""
    run = {name: _parse_json(name, value) for name, value in run_row(lake, run_id).items()}
    tables = _tables(lake, run_id, run["kind"])
    report = {"schema": VERSION, "run": run} | {name: rows.to_dicts() for name, rows in tables.items()}
    text = orjson.dumps(report, default=as_number, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return [write_text(out / f"{run_id}.json", text.decode())]


def _tables(lake: Lake, run_id: str, kind: object) -> dict[str, pl.DataFrame]:
    own = report_kind(str(kind or RUN_KINDS[0]))
    found = {name: mart(lake, name, run_id) for name in (*own.tables, *own.tables_with_rows)}
    kept = {name: rows for name, rows in found.items() if name in own.tables or not rows.is_empty()}
    return kept | {name: read(lake, run_id) for name, read in own.other_tables.items()}


def _parse_json(name: str, value: object) -> object:
    if name in PARSED and isinstance(value, str):
        return orjson.loads(value)
    return value


DIALECT = "https://json-schema.org/draft/2020-12/schema"
KINDS = {
    "varchar": "string",
    "bigint": "integer",
    "double": "number",
    "boolean": "boolean",
    "timestamp with time zone": "string",
}


def report_schema() -> dict[str, Any]:
    """Of what `biasgrid report RUN --format json` writes."""
    models = {model.relation: model for model in load_models()}
    kinds = {kind: report_kind(kind) for kind in RUN_KINDS}
    names = dict.fromkeys(name for own in kinds.values() for name in own.tables)
    names |= dict.fromkeys(name for own in kinds.values() for name in own.tables_with_rows)
    rows = {name: _table(models[f"marts.{name}"]) for name in names}
    run = _row(models["staging.stg_runs"])
    run["properties"] |= {name: {"type": ["object", "null"]} for name in PARSED}
    return {
        "$schema": DIALECT,
        "title": "biasgrid report",
        "description": "What the marts say about one run; a row of a mart is an object.",
        "type": "object",
        "required": ["schema", "run"],
        "properties": {
            "schema": {"const": VERSION, "description": "Raised where a reader of reports must change."},
            "run": run,
            **rows,
            "sessions": _sessions(),
        },
        "additionalProperties": False,
        "allOf": [_of_kind(kind, (*own.tables, *own.other_tables)) for kind, own in kinds.items()],
    }


def _of_kind(kind: str, tables: Sequence[str]) -> dict[str, Any]:
    this = {"properties": {"run": {"properties": {"kind": {"const": kind}}}}}
    return {"if": this, "then": {"required": list(tables)}}


def _table(model: Model) -> dict[str, Any]:
    return {"type": "array", "description": model.about.description, "items": _row(model)}


def _row(model: Model) -> dict[str, Any]:
    columns = {name: _column(column) for name, column in model.about.columns.items()}
    return {"type": "object", "required": list(columns), "properties": columns}


def _column(column: Column) -> dict[str, Any]:
    kind_of_value = "number" if column.type.startswith("decimal") else KINDS[column.type]
    meaning = f"{column.description} ({column.unit})" if column.unit else column.description
    shape: dict[str, Any] = {
        "description": meaning,
        "type": kind_of_value if column.not_null else [kind_of_value, "null"],
    }
    if column.accepted:
        if words := [f"{VERDICTS[name].word} for {name}" for name in VERDICTS if name in column.accepted]:
            shape["description"] += f". Reports say: {', '.join(words)}"
        shape["enum"] = [*column.accepted] if column.not_null else [*column.accepted, None]
    return shape | ({"format": "date-time"} if column.type.startswith("timestamp") else {})


def _sessions() -> dict[str, Any]:
    """No mart: sessions of a red team, one by one."""
    texts = {name: {"type": "string"} for name in (*SESSION, "pair", "strategy")}
    more = {
        "sample": {"type": ["integer", "null"]},
        "outcome": {"enum": [*OUTCOMES]},
        "succeeded_at": {"type": ["number", "null"]},
    }
    columns = texts | more
    row = {"type": "object", "required": list(columns), "properties": columns}
    return {"type": "array", "description": "Conversations of a red team, and what each came to", "items": row}


def as_text() -> str:
    """The schema as its file holds it."""
    return json.dumps(report_schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write it where it is committed."""
    path = Path(str(resources.files("biasgrid.tasks.report") / "report.schema.json"))
    path.write_text(as_text(), encoding="utf-8")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
