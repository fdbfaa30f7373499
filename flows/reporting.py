"""A run's reports by format."""

from __future__ import annotations

from pathlib import Path

from flows.preparation import existing_lake
from tasks.aggregate.langbite import write_langbite
from tasks.aggregate.reports import write_csv, write_json
from warehouse.runs import find

WRITERS = {"csv": write_csv, "json": write_json, "langbite": write_langbite}


def write_report(
    run: str | None, kind: str, out: Path | None = None, data: str | Path | None = None
) -> list[Path]:
    """The files written, into `reports/<run id>` by default: LangBiTe's file names do not tell runs apart.
    Raises UserMistake for an unknown run, or where no warehouse has been built."""
    lake = existing_lake(data)
    run_id = find(lake, run).run_id
    return WRITERS[kind](lake, run_id, out or Path("reports") / run_id)
