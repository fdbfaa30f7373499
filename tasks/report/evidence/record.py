"""The coverage record as Markdown and as a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.text_safety import HIDDEN, code_point
from biasgrid.tasks.report.evidence.coverage import ABSENT, Coverage, Wording
from biasgrid.tasks.report.evidence.dimensions import Dimension
from biasgrid.tasks.report.html.page import write_page
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.verdicts import BIASED, VERDICTS
from biasgrid.warehouse.storage.export_files import write_text

Row = Mapping[str, Any]
FINDINGS: Final = ("model", "what", "language", "measure", "value", "interval", "against", "finding")
EXAMINED: Final = ("what", "examined", "not.examined")
LOST: Final = ("refused", "unreadable", "errors", "other")
MODELS: Final = ("model", "of", "planned", *LOST)
SELECTION: Final = (*("rate.of", "model", "language", "what", "category", "counted", "chosen", "rate", "ratio"),)
COUNTS: Final = ("templates", "planned", "refused", "unreadable", "errors")
CELLS: Final = ("model", "what", "language", "input", "reflection", *COUNTS, "finding", "why")
ERRORS: Final = ("model", "asked.as", "error", "replies")
GONE: Final = ("file", "recorded", "today")
SERVES: Final = ("text", "about", "see")
SIGNATURE: Final = ("who", "name", "function", "date", "signature")
RATIO: Final = ("impact_ratio", "impact_ratio_low", "impact_ratio_high")
SIGNED_BY: Final = ("made", "looked", "approved")
UNBOUNDED: Final = ("model", "requirement")
"""No catalog has all of them."""
FORMS: Final = {"bias score": "score", "difference in points": "score", "impact ratio": "ratio"}
"""How measures that are no shares are written."""
STYLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("succeeded", *BIASED), "bad"),
    **{state: verdict.tone for state, verdict in VERDICTS.items()},
}


@dataclass(frozen=True, slots=True)
class Marked:
    """A finding in words, and how a page sets it off."""

    text: str
    style: str

    def __str__(self) -> str:
        return self.text


Shown = Sequence[str | Marked]


@dataclass(frozen=True, slots=True)
class Listing:
    head: Sequence[str]
    rows: Sequence[Shown]


@dataclass(frozen=True, slots=True)
class RecordTables:
    record: Coverage

    @property
    def wording(self) -> Wording:
        return self.record.wording

    def findings(self, rows: Iterable[Row]) -> Listing:
        return self._make_listing(FINDINGS, map(self._finding, rows))

    def dimensions_table(self) -> Listing:
        return self._make_listing(EXAMINED, map(self._dimension_row, self.record.dimensions))

    def models(self) -> Listing:
        return self._make_listing(MODELS, map(self._model, self.record.models))

    def errors(self) -> Listing:
        rows = ((one["model"], one["purpose"], one["error_class"], one["replies"]) for one in self.record.errors)
        word, count = self.wording.word, self.wording.count
        return self._make_listing(ERRORS, ((str(a), word(b, "purpose"), str(c), count(d)) for a, b, c, d in rows))

    def cells(self) -> Listing:
        return self._make_listing(CELLS, map(self._cell, self.record.cells))

    def selection(self) -> Listing:
        return self._make_listing(SELECTION, map(self._selection_row, self.record.selection))

    def lost_catalogs(self) -> Listing:
        gone, lost = self.wording.text("catalogs.gone"), self.record.lost_catalogs
        return self._make_listing(GONE, ((one.name, one.recorded, one.today or gone) for one in lost))

    def points(self) -> Listing:
        return self._make_listing(SERVES, self.record.points)

    def signatures(self) -> Listing:
        names = (self.wording.text(f"signed.{who}") for who in SIGNED_BY)
        return self._make_listing(SIGNATURE, ((name, *[""] * (len(SIGNATURE) - 1)) for name in names))

    def _make_listing(self, head: Sequence[str], rows: Iterable[Shown]) -> Listing:
        return Listing([self.wording.text(f"head.{name}") for name in head], [*rows])

    def _translate(self, value: str | None, column: str) -> str:
        return self.wording.words(value, report_kind(self.record.run.kind).parts.get(column, ()))

    def _finding(self, row: Row) -> Shown:
        number = getattr(self.wording, FORMS.get(row["measure"], "share"))
        low, high = number(row["low"]), number(row["high"])
        interval = ABSENT if row["low"] is None else self._range(low, high)
        texts = (row["model"], self._translate(row["what"], "tested"), row["language"] or ABSENT)
        measure = self.wording.word(row["measure"], "measure")
        return *texts, measure, number(row["value"]), interval, number(row["against"]), self._mark_finding(row)

    def _mark_finding(self, row: Row) -> Marked:
        texts = self.wording.word(row["finding"])
        if row.get("by_point"):
            texts = self.wording.text("by.point", point=self.wording.word(row["by_point"]), decision=texts)
        if row.get("worst_group"):
            share = self.wording.share(row["worst_rate"])
            texts = self.wording.text("worst.off", finding=texts, group=row["worst_group"], share=share)
        return Marked(texts, STYLES.get(row["finding"], ""))

    def _dimension_row(self, one: Dimension) -> Shown:
        name = self.wording.word(one.name, "dimension")
        return name, self._values(one.name, one.examined), self._not_examined(one)

    def _not_examined(self, one: Dimension) -> str:
        if one.not_examined is None:
            return ABSENT if one.name in UNBOUNDED else self.wording.text("not.known")
        return self._values(one.name, one.not_examined)

    def _values(self, name: str, values: Sequence[str]) -> str:
        return ", ".join(self.wording.words(value, (name,)) for value in values) or self.wording.text("nothing")

    def _model(self, row: Row) -> Shown:
        planned, count = row["planned"], self.wording.count
        shares = (row[name] / planned if planned else None for name in LOST)
        parts = (f"{count(row[name])} ({self.wording.share(own)})" for name, own in zip(LOST, shares, strict=True))
        return str(row["model"]), self.wording.word(row["unit"], "unit"), count(planned), *parts

    def _selection_row(self, row: Row) -> Shown:
        ratio = self.wording.text("too.few") if row["is_left_out"] else self._ratio(row)
        what = self._translate(row["what"], "chosen")
        texts = (self.wording.word(row["rate_of"], "rate"), str(row["model"]), str(row["language"]), what)
        counts = (self.wording.count(row["people"]), self.wording.count(row["chosen"]))
        return *texts, str(row["category"]), *counts, self.wording.share(row["rate"]), ratio

    def _ratio(self, row: Row) -> str:
        ratio, low, high = (self.wording.ratio(row[name]) for name in RATIO)
        return ratio if row["impact_ratio_low"] is None else f"{ratio} ({self._range(low, high)})"

    def _range(self, low: str, high: str) -> str:
        return self.wording.text("interval", low=low, high=high)

    def _cell(self, row: Row) -> Shown:
        column = "requirement" if row["requirement"] else "concern"
        named = (self._translate(row[name], name) for name in ("input", "reflection"))
        texts = (str(row["model"]), self._translate(row[column], column), row["language"] or ABSENT, *named)
        counts = (self.wording.count(row[name]) for name in COUNTS)
        return *texts, *counts, self._mark_finding(row), row["reason"] or ""


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
    yield f"## {say('examined')}\n\n{table(tables.dimensions_table(), nothing)}"
    yield f"## {say('became')}\n\n{table(tables.models(), nothing)}"
    yield f"### {say('never.came')}\n\n{table(tables.errors(), nothing)}"
    yield f"## {say('cells')}\n\n{table(tables.cells(), say('cells.none'))}"
    if record.selection:
        yield f"## {say('selection')}\n\n{say('selection.note')}\n\n{table(tables.selection(), nothing)}"
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
    texts = (row if number == 1 else [plain(one) for one in row] for number, row in enumerate(rows))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in texts)
