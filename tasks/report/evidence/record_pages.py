"""The coverage record as people read it: a page to print and sign, and the same in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from biasgrid.catalogs.text_safety import HIDDEN, code_point
from biasgrid.tasks.report.evidence.coverage import Coverage
from biasgrid.tasks.report.evidence.record_tables import Listing, RecordTables, Row
from biasgrid.tasks.report.html.page import write_page
from biasgrid.warehouse.storage.export_files import write_text

SIGNS = re.compile(r"([\\`*_{}\[\]<>|#~&@!:])")


def moment(when: datetime | None) -> str:
    return "–" if when is None else f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def write_record_page(path: Path, record: Coverage, findings: Sequence[Row]) -> Path:
    """One page that needs nothing else, with room for signatures."""
    given: dict[str, Any] = {
        "record": record,
        "run": record.run,
        "tables": RecordTables(record),
        "findings": findings,
    }
    wording = record.wording
    return write_page(path, "evidence.html.j2", wording.language, say=wording.text, moment=moment, **given)


def write_record_markdown(path: Path, record: Coverage, findings: Sequence[Row]) -> Path:
    return write_text(path, "\n\n".join(_markdown(record, findings)) + "\n")


def _markdown(record: Coverage, findings: Sequence[Row]) -> Iterator[str]:
    say, tables = record.wording.text, RecordTables(record)
    nothing = say("none")
    yield f"# {say('record', name=plain(record.run.name))}"
    yield "\n".join(f"- {line}" for line in _head(record))
    yield f"## {say('findings')}\n\n{table(tables.findings(findings), nothing)}"
    yield f"## {say('examined')}\n\n{table(tables.examined(), nothing)}"
    yield f"## {say('became')}\n\n{table(tables.models(), nothing)}"
    yield f"### {say('never.came')}\n\n{table(tables.errors(), nothing)}"
    yield f"## {say('cells')}\n\n{table(tables.cells(), say('cells.none'))}"
    if record.selection:
        yield f"## {say('selection')}\n\n{say('no.audit')}\n\n{table(tables.selection(), nothing)}"
    yield f"## {say('catalogs.missing')}\n\n{table(tables.lost_catalogs(), nothing)}"
    yield f"## {say('limits')}\n\n" + "\n".join(f"- {limit}" for limit in record.limits)
    yield f"## {say('serves')}\n\n{table(tables.points(), nothing)}"
    yield f"## {say('signatures')}\n\n{table(tables.signatures(), nothing)}"


def _head(record: Coverage) -> Iterator[str]:
    say, word, run = record.wording.text, record.wording.word, record.run
    if not record.is_complete:
        yield f"**{say('unfinished', state=plain(word(run.state)))}**"
    yield f"{say('run')} `{run.run_id}`, {plain(word(run.kind, 'kind'))}, {plain(word(run.state))}"
    dates = {"started": run.started_at, "ended": run.ended_at, "last.verdict": record.judged_at}
    yield ", ".join(f"{say(key)} {moment(when)}" for key, when in dates.items())
    yield f"{say('seed')} {'–' if run.seed is None else run.seed}"


def plain(text: object) -> str:
    """In one line, with every sign escaped that Markdown or HTML would read as more than itself."""
    shown = HIDDEN.sub(code_point, " ".join(str(text).split()))
    return SIGNS.sub(r"\\\1", shown)


def table(listing: Listing, nothing: str) -> str:
    """In Markdown; `nothing` where it has no rows."""
    if not listing.rows:
        return nothing
    rows = [listing.head, ["---"] * len(listing.head), *listing.rows]
    told = (row if number == 1 else [plain(one) for one in row] for number, row in enumerate(rows))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in told)
