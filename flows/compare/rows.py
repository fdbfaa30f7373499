"""Lines of a comparison: before, after, difference, interval and finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from biasgrid.flows.interaction.formatting import p_value
from biasgrid.flows.runs.kinds import find_kind
from biasgrid.tasks.aggregate.compare import Comparison
from biasgrid.tasks.report.figures import format_points
from biasgrid.tasks.report.model import Cell, Heading, Row, Section, Table, Text, headings, mark, numbers
from biasgrid.tasks.report.verdicts import word_of

Record = Mapping[str, Any]
Key = Callable[[Record], str]
CHANGES: Final = ("worse", "better", "no difference shown", "not compared")
"""What matters most comes first."""
UNTESTED: Final = "Not compared"
DECIDED: Final = "q: its p adjusted for all tests here; –: no difference shown at .05."
SHOWN: Final = 20
NAMED: Final = 3
"""Names in one line."""
BETWEEN: Final = "biased between groups"
"""The finding that needs the name of a group."""


def section(
    title: str,
    names: Sequence[str],
    rows: Sequence[Row],
    *,
    is_numeric: bool = False,
    note: str = "",
    more: Sequence[str] = (),
) -> Section:
    """The first SHOWN rows below their groups. `is_numeric`: all columns but the first hold numbers; `more`:
    headings of the last cells, shown where there is room."""
    if not rows:
        return Section(title)
    first = Heading(names[0])
    columns = numbers(*names[1:]) if is_numeric else headings(*names[1:])
    extra = tuple(Heading(name, is_extra=True) for name in more)
    shown = [_mark_cells(row, more) for row in rows[:SHOWN]]
    table = Table((first, *columns, *extra), shown, "grouped" if is_numeric else "wrapped")
    rest = len(rows) - SHOWN
    hidden = f"… and {rest:,} more: --format json has all" if rest > 0 else ""
    return Section(title, table, notes=[Cell(text, "faint") for text in (hidden, note) if text])


def _mark_cells(row: Row, more: Sequence[str]) -> Row:
    cells = tuple(mark(str(cell)) for cell in row.cells)
    return Row(cells, row.group, _below(row.cells[len(row.cells) - len(more) :], more))


def _below(cells: Sequence[Text], more: Sequence[str]) -> Text:
    """Of what has no finding of its own, such as a language, only what has changed."""
    text = "; ".join(f"{name}: {cell}" for name, cell in zip(more, cells, strict=True) if cell)
    has_changed = "→" in text
    if not text or not (has_changed or all(cells)):
        return ""
    return text if has_changed else Cell(text, "faint")


def format_changes(count: Mapping[str, int]) -> str:
    """Count of each change."""
    return ", ".join(f"{count.get(change, 0)} {change}" for change in CHANGES)


def by_importance(rows: Iterable[Record], group: Key, findings: Sequence[str]) -> list[Record]:
    """Group by group, the one with the worst row first; in each what is worse, better, or a finding that changed,
    the largest difference first."""

    def weight(row: Record) -> tuple[int, bool, float]:
        change = CHANGES.index(row.get("change") or "not compared")
        stayed = all(row[f"earlier_{name}"] == row[f"later_{name}"] for name in findings)
        return change, stayed, -abs(row.get("difference") or 0.0)

    ranked = sorted(rows, key=lambda row: (*weight(row), group(row)))
    places = {name: number for number, name in enumerate(dict.fromkeys(map(group, ranked)))}
    return sorted(ranked, key=lambda row: places[group(row)])


def difference(
    row: Record,
    measure: str,
    text: Callable[[float | None], str],
    moved: Callable[[float], str],
    p: str = "q_value",
) -> tuple[str, ...]:
    """Before, after, difference, its interval, the probability in column `p` and what it shows."""
    change = "–" if row["change"] in ("no difference shown", "not compared") else row["change"]
    sides = (text(row[f"{side}_{measure}"]) for side in ("earlier", "later"))
    low, high = row["low"], row["high"]
    interval = "–" if low is None or high is None else f"{moved(low)} to {moved(high)}"
    apart = "–" if row["difference"] is None else moved(row["difference"])
    return (*sides, apart, interval, p_value(row[p]), change)


def points(value: float) -> str:
    """A difference of shares in percentage points."""
    return format_points(100 * value)


def from_to(row: Record, name: str, whom: str = "") -> str:
    """The finding, with the name in column `whom` if it has any, followed by the new finding if it changed."""
    before, after = (_say_finding(row, f"{side}_{name}", f"{side}_{whom}") for side in ("earlier", "later"))
    return before if before == after else f"{before} → {after}"


def _say_finding(row: Record, name: str, whom: str) -> str:
    found = word_of(str(row[name]))
    return f"{found} (worst off: {row[whom]})" if row.get(whom) and found == BETWEEN else found


def findings(rows: Iterable[Record], group: Key, key: str, names: Sequence[str]) -> list[Row]:
    """Of everything that both sides have, those that changed first."""
    both = [row for row in rows if row["presence"] == "both"]
    return [
        Row((row[key], *(from_to(row, name) for name in names)), group(row))
        for row in by_importance(both, group, names)
    ]


def several(names: Sequence[str]) -> str:
    """The first few of them."""
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def alone(rows: Iterable[Record], group: Key, name: Key) -> list[Row]:
    """Rows that only one run has, one line per group and side."""
    lacking = sorted((row for row in rows if row["presence"] != "both"), key=lambda row: _side(row, group))
    lines = []
    for (own, where), among in groupby(lacking, key=lambda row: _side(row, group)):
        names = [name(row) for row in among]
        lines.append(Row((where, f"{len(names):,}", several(names)), own))
    return lines


def _side(row: Record, group: Key) -> tuple[str, str]:
    return group(row), "only in the earlier" if row["presence"] == "only earlier" else "only in the later"


def circumstances(found: Comparison) -> Section:
    """Differences other than replies and findings; last, catalog files that runs of the kind do not read."""
    kind = find_kind(found.kind)

    def is_unread(row: Record) -> bool:
        return row["what"] == "catalog" and not kind.reads(row["name"])

    lines = [
        Row((f"{row['what']} {row['name']}", row["earlier"] or "–", row["later"] or "–"))
        for row in sorted(found.circumstances.iter_rows(named=True), key=is_unread)
    ]
    return section("What else differs", ("", *ends(found)), lines)


def ends(found: Comparison) -> tuple[str, str]:
    """Headings of its two sides."""
    return ("first", "second") if found.is_of_models else ("before", "after")
