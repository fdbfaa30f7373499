"""Sections of a comparison of two runs that are no benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from biasgrid.flows.compare.rows import (
    DECIDED,
    UNTESTED,
    Key,
    Record,
    alone,
    by_importance,
    circumstances,
    difference,
    ends,
    format_changes,
    from_to,
    points,
    section,
)
from biasgrid.flows.interaction.formatting import p_value
from biasgrid.tasks.aggregate.compare import Comparison
from biasgrid.tasks.report.figures import format_points, format_score, share
from biasgrid.tasks.report.model import Row, Section


@dataclass(frozen=True, slots=True)
class Compared:
    """How rows of one table are shown."""

    title: str
    unit: str
    group: Key
    name: Key
    measure: str
    """Column of what is compared, after `earlier_` and `later_`."""
    note: str
    finding: str = ""
    p: str = "q_value"
    """Column of the probability that is shown."""
    show: Callable[[float | None], str] = format_score
    moved: Callable[[float], str] = format_score

    @property
    def decided(self) -> tuple[str, ...]:
        return (self.finding,) if self.finding else ()


def _join_columns(*names: str) -> Key:
    return lambda row: " · ".join(row[name] for name in names)


def _player(row: Record) -> str:
    kinds = ("controls" if row["is_control"] else "", "held out" if row["held_out"] else "")
    return " · ".join(part for part in (row["model"], row["language"], row["axis"], *kinds) if part)


def _play(row: Record) -> str:
    mitigation = "" if row["mitigation"] == "none" else row["mitigation"]
    stage = str(row.get("step") or row["stage"]).removeprefix("first to ")
    return " · ".join(part for part in (row["setting"], mitigation, "" if stage == "only" else stage) if part)


def _tested_groups(row: Record) -> str:
    about = (row["pair"], row["model"], row["language"], row["test"])
    found = (from_to(row, "test_finding", "worst_group"), *_over_all(row))
    return f"{' · '.join(about)}: {', '.join(found)}"


def _over_all(row: Record) -> Iterator[str]:
    if row.get("q_value") is not None:
        yield f"over all groups q {p_value(row['q_value'])}"


def _comparison(row: Record) -> str:
    design = "" if row["design"] == "solo" else row["design"]
    return " · ".join(part for part in (row["identity_group"], row["signal"], design) if part)


COMPARED: Final[Mapping[str, Compared]] = {
    "probe_findings": Compared(
        "Differences",
        "pair × test × model",
        _join_columns("model", "language", "test"),
        _join_columns("pair"),
        "score",
        "before, after: mean score of the trials read in both, 1 with the stereotype, −1 against it; "
        "worse: further from 0. "
        f"Test: paired by trial; {DECIDED} finding: as of each whole run.",
        "finding",
    ),
    "probe_group_pairs": Compared(
        "Differences between groups",
        "groups × test × model",
        _tested_groups,
        lambda row: f"{row['first_group']}, {row['second_group']}",
        "gap",
        "before, after: percentage points that the first group gets more, in the trials read in both; worse: "
        "further from 0. One test over all groups, then pairs (paired by trial, p by Holm), shown only where the "
        "first one is. Findings: as of each whole run.",
        "",
        "p_adjusted",
        lambda gap: "–" if gap is None else points(gap),
        points,
    ),
    "attack_success": Compared(
        "Differences",
        "strategy × model",
        _join_columns("model", "language"),
        _join_columns("strategy"),
        "rate",
        "before, after: share that succeeds of the sessions with a result in both; diff: points. "
        f"Test: McNemar; {DECIDED} finding: as of each whole run.",
        "finding",
        show=share,
        moved=points,
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
    "score_shifts": Compared(
        "Differences",
        "group × model",
        _join_columns("model", "language"),
        _comparison,
        "shift",
        "before, after: points of the group less those of the reference, over the pairs decided in both; "
        f"worse: further from 0. Test: clustered by document and identity; {DECIDED} "
        "finding: as of each whole run.",
        "finding",
        show=format_points,
        moved=format_points,
    ),
}
"""By table of the comparison."""
OTHER_GROUPS: Final = "asked about other groups"
BY_GROUP: Final = "compared group by group"
"""Of rows that another table compares."""


def summary(found: Comparison) -> Iterator[str]:
    """One summary line per table, and the number of changed findings."""
    shown = {table: COMPARED[table] for table in _list_tables(found)}
    if not found.is_of_one_run:
        for table, how in shown.items():
            rows = [row for row in _rows(found, table) if row["why_not_compared"] != BY_GROUP]
            yield f"{how.unit}: {format_changes(Counter(row['change'] for row in rows))}"
    for table, how in shown.items():
        if how.finding:
            yield _count_changed(_rows(found, table), how.finding)


def _count_changed(rows: list[Record], finding: str) -> str:
    both = [row for row in rows if row["presence"] == "both"]
    changed = sum(row[f"earlier_{finding}"] != row[f"later_{finding}"] for row in both)
    return f"findings that changed: {changed} of {len(both)}"


def _rows(found: Comparison, table: str) -> list[Record]:
    """Of domains their total."""
    return [row for row in found.tables[table].iter_rows(named=True) if row.get("domain", "all") == "all"]


def _list_tables(found: Comparison) -> list[str]:
    """Tables with rows; the first is always shown."""
    tables = [table for table in COMPARED if table in found.tables]
    return [*tables[:1], *(table for table in tables[1:] if found.tables[table].height)]


def sections(found: Comparison) -> list[Section]:
    shown = _list_tables(found)
    if found.is_of_one_run:
        return [*(_read_twice(found, table) for table in shown), circumstances(found)]
    return [part for table in shown for part in _of_runs(found, table)] + [circumstances(found)]


def _of_runs(found: Comparison, table: str) -> Iterator[Section]:
    how, rows = COMPARED[table], _rows(found, table)
    ranked = by_importance(rows, how.group, how.decided)
    lines = [_line(row, how) for row in ranked if row["change"] != "not compared"]
    key = how.unit.partition(" ")[0]
    headings = (key, *ends(found), "diff", "95% interval", how.p[0], "")
    yield section(how.title, headings, lines, is_numeric=True, note=how.note, more=how.decided)
    lines = [Row((how.name(row), _explain(row)), how.group(row)) for row in ranked if _is_untested(row)]
    yield section(UNTESTED, (key, "why"), lines)
    if how.finding:
        yield section("In one run alone", ("where", "number", key), alone(rows, how.group, how.name))


def _line(row: Record, how: Compared) -> Row:
    decisions = (from_to(row, name, "worst_group") for name in how.decided)
    moved = difference(row, how.measure, how.show, how.moved, how.p)
    return Row((how.name(row), *moved, *decisions), how.group(row))


def _is_untested(row: Record) -> bool:
    return row["why_not_compared"] not in (None, BY_GROUP) and row.get("presence", "both") == "both"


def _explain(row: Record) -> str:
    """Why a row is not compared, and which groups each run asked about where they differ."""
    why = str(row["why_not_compared"])
    if why != OTHER_GROUPS or "later_groups" not in row:
        return why
    before, after = (row[f"{side}_groups"] or "the stereotype's two" for side in ("earlier", "later"))
    return f"{why}: {before} → {after}"


def _read_twice(found: Comparison, table: str) -> Section:
    how = COMPARED[table]
    rows = [row for row in _rows(found, table) if not row.get("later_groups")]  # these are read by group
    lines = [_reading_row(row, how) for row in by_importance(rows, how.group, how.decided)]
    headings = (how.unit.partition(" ")[0], *ends(found), *how.decided)
    return section("Readings", headings, lines)


def _reading_row(row: Record, how: Compared) -> Row:
    sides = (how.show(row[f"{side}_{how.measure}"]) for side in ("earlier", "later"))
    return Row((how.name(row), *sides, *(from_to(row, name) for name in how.decided)), how.group(row))
