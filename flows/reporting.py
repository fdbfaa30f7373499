"""A run's reports by format."""

from __future__ import annotations

from pathlib import Path

from flows.preparation import open_lake
from tasks.aggregate.langbite import write_langbite
from tasks.aggregate.reports import write_csv, write_json
from warehouse.runs import find

WRITERS = {"csv": write_csv, "json": write_json, "langbite": write_langbite}


def write_report(run: str | None, kind: str, out: Path, data: str | Path | None = None) -> list[Path]:
    """The files written. Raises UserMistake for an unknown run, or where no warehouse has been built."""
    lake = open_lake(data)
    return WRITERS[kind](lake, find(lake, run).run_id, out)
