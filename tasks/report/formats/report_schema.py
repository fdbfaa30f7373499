"""JSON Schema of a run's report in JSON, from the marts' own columns: what reads a report can check it.

`python -m biasgrid.tasks.report.formats.report_schema` writes it to `tasks/report/report.schema.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from biasgrid.tasks.report.findings import BENCHMARKS, MARTS, OF_INTERACTIONS, OF_PROBES, OF_RED_TEAMS
from biasgrid.tasks.report.formats.data_files import PARSED, VERSION
from biasgrid.tasks.transcripts.sessions import OUTCOMES, SESSION
from biasgrid.warehouse.build.models import Column, Model, load_models

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TABLES: Mapping[str, Sequence[str]] = {
    "benchmark": MARTS,
    "probe": OF_PROBES,
    "redteam": (*OF_RED_TEAMS, "sessions"),
    "interaction": OF_INTERACTIONS,
}
"""What a report of each kind of run always has."""
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
    names = dict.fromkeys(name for tables in (*TABLES.values(), BENCHMARKS) for name in tables)
    rows = {name: _table(models[f"marts.{name}"]) for name in names if name != "sessions"}
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
        "allOf": [_of_kind(kind, tables) for kind, tables in TABLES.items()],
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
    told = "number" if column.type.startswith("decimal") else KINDS[column.type]
    meaning = f"{column.description} ({column.unit})" if column.unit else column.description
    shape: dict[str, Any] = {"description": meaning, "type": told if column.not_null else [told, "null"]}
    if column.accepted:
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
