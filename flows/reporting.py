"""A run's reports by format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flows.preparation import existing_lake
from tasks.aggregate.interaction_report import write_interaction_pages
from tasks.aggregate.langbite import write_langbite
from tasks.aggregate.probe_report import write_probe_page
from tasks.aggregate.red_team_report import write_red_team_page
from tasks.aggregate.reports import write_csv, write_json
from warehouse.lake import Lake
from warehouse.runs import find, refuse_other_kinds
from warehouse.schemas import KINDS

Writer = Callable[[Lake, str, Path], list[Path]]
PAGES: Mapping[str, Writer] = {
    "probe": write_probe_page,
    "redteam": write_red_team_page,
    "interaction": write_interaction_pages,
}
WRITERS: Mapping[str, Mapping[str, Writer]] = {
    "csv": dict.fromkeys(KINDS, write_csv),
    "json": dict.fromkeys(KINDS, write_json),
    "langbite": {"benchmark": write_langbite},
    "html": PAGES,
}
"""By format and kind of run."""
NAMES = {"langbite": "report in LangBiTe's format", "html": "report in HTML yet"}


def write_report(
    run: str | None, kind: str, out: Path | None = None, data: str | Path | None = None
) -> list[Path]:
    """The files written, into `reports/<run id>` by default: LangBiTe's file names do not tell runs apart.
    Raises UserMistake for an unknown run, for one of a kind that has no such report, or where no warehouse has
    been built."""
    lake = existing_lake(data)
    found = find(lake, run)
    refuse_other_kinds(found, NAMES.get(kind, "report"), *WRITERS[kind])
    return WRITERS[kind][found.kind](lake, found.run_id, out or Path("reports") / found.run_id)
