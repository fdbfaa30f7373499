"""What a comparison of probes, red teams or interactions tells people, in the sections of comparison_lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from biasgrid.flows.compare.rows import (
    DECIDED,
    UNTESTED,
    Key,
    Line,
    Row,
    Section,
    alone,
    by_importance,
    circumstances,
    difference,
    from_to,
    points,
    tested,
)
from biasgrid.tasks.aggregate.compare import Comparison
from biasgrid.tasks.report.figures import share, signed


@dataclass(frozen=True, slots=True)
class Compared:
    """How rows of one table are told."""

    title: str
    unit: str
    group: Key
    name: Key
    measure: str
    """Column of what is compared, after `earlier_` and `later_`."""
    note: str
    finding: str = ""
    told: Callable[[float | None], str] = signed
    moved: Callable[[float], str] = signed

    @property
    def decided(self) -> tuple[str, ...]:
        return (self.finding,) if self.finding else ()


def _joined(*names: str) -> Key:
    return lambda row: " · ".join(row[name] for name in names)


def _player(row: Row) -> str:
    kinds = ("controls" if row["is_control"] else "", "held out" if row["held_out"] else "")
    return " · ".join(part for part in (row["model"], row["language"], row["axis"], *kinds) if part)


def _play(row: Row) -> str:
    mitigation = "" if row["mitigation"] == "none" else row["mitigation"]
    stage = str(row.get("step") or row["stage"]).removeprefix("first to ")
    return " · ".join(part for part in (row["setting"], mitigation, "" if stage == "only" else stage) if part)


TOLD: Final[Mapping[str, Compared]] = {
    "probe_findings": Compared(
        "Differences",
        "pair × test × model",
        _joined("model", "language", "test"),
        _joined("pair"),
        "score",
        "before, after: mean score of the trials read in both, 1 with the stereotype, −1 against it. "
        f"Test: paired by trial; {DECIDED} finding: as of each whole run.",
        "finding",
    ),
    "attack_success": Compared(
        "Differences",
        "strategy × model",
        _joined("model", "language"),
        _joined("strategy"),
        "rate",
        "before, after: share that succeeds of the sessions that tell something in both; diff: points. "
        f"Test: McNemar; {DECIDED} finding: as of each whole run.",
        "finding",
        share,
        points,
    ),
    "bias_scores": Compared(
        "Differences",
        "score × player",
        _player,
        _play,
        "score",
        "before, after: mean score of the scenes in both; worse: further from what chance gives. "
        f"Test: paired by scene; {DECIDED} decision: as of each whole run. Domains: --format csv.",
        "decision",
    ),
    "escalation": Compared(
        "What talking and reflecting changed",
        "step × player",
        _player,
        _play,
        "moved",
        "before, after: by how much the score rose, in the scenes of both; worse: it rises further. "
        f"Test: paired by scene; {DECIDED}",
    ),
}
"""By table of the comparison."""


def summary(found: Comparison) -> Iterator[str]:
    """What comes of each table, a line each, and how many findings are others."""
    shown = {table: how for table, how in TOLD.items() if table in found.tables}
    if not found.is_of_one_run:
        for table, how in shown.items():
            yield f"{how.unit}: {tested(Counter(row['change'] for row in _rows(found, table)))}"
    for table, how in shown.items():
        if how.finding:
            yield _changed(_rows(found, table), how.finding)


def _changed(rows: list[Row], finding: str) -> str:
    both = [row for row in rows if row["presence"] == "both"]
    changed = sum(row[f"earlier_{finding}"] != row[f"later_{finding}"] for row in both)
    return f"findings that changed: {changed} of {len(both)}"


def _rows(found: Comparison, table: str) -> list[Row]:
    """Of domains their total."""
    return [row for row in found.tables[table].iter_rows(named=True) if row.get("domain", "all") == "all"]


def sections(found: Comparison) -> list[Section]:
    shown = [table for table in TOLD if table in found.tables]
    if found.is_of_one_run:
        return [*(_read_twice(found, table) for table in shown), circumstances(found)]
    return [part for table in shown for part in _of_runs(found, table)] + [circumstances(found)]


def _of_runs(found: Comparison, table: str) -> Iterator[Section]:
    how, rows = TOLD[table], _rows(found, table)
    ranked = by_importance(rows, how.group, how.decided)
    lines = [_line(row, how) for row in ranked if row["change"] != "not compared"]
    key = how.unit.partition(" ")[0]
    headings = (key, "before", "after", "diff", "95% interval", "q", "")
    yield Section(how.title, headings, lines, numbers=True, note=how.note, more=how.decided)
    untested = [row for row in ranked if row["why_not_compared"] and row["presence"] == "both"]
    told = [Line(how.group(row), (how.name(row), row["why_not_compared"])) for row in untested]
    yield Section(UNTESTED, (key, "why"), told)
    if how.finding:
        yield Section("In one run alone", ("where", "number", key), alone(rows, how.group, how.name))


def _line(row: Row, how: Compared) -> Line:
    cells = (how.name(row), *difference(row, how.measure, how.told, how.moved))
    return Line(how.group(row), cells, tuple(from_to(row, name) for name in how.decided))


def _read_twice(found: Comparison, table: str) -> Section:
    how = TOLD[table]
    lines = [_reading(row, how) for row in by_importance(_rows(found, table), how.group, how.decided)]
    headings = (how.unit.partition(" ")[0], "before", "after", *how.decided)
    return Section("Readings", headings, lines)


def _reading(row: Row, how: Compared) -> Line:
    sides = (how.told(row[f"{side}_{how.measure}"]) for side in ("earlier", "later"))
    return Line(how.group(row), (how.name(row), *sides, *(from_to(row, name) for name in how.decided)))
