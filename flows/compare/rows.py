"""Lines of a comparison, whatever was compared: before, after, the difference, its interval, what it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from biasgrid.flows.interaction.formatting import p_value
from biasgrid.tasks.aggregate.compare import Comparison

Row = Mapping[str, Any]
Key = Callable[[Row], str]
CHANGES: Final = ("worse", "better", "no difference shown", "not compared")
"""What matters most comes first."""
UNTESTED: Final = "Not compared"
DECIDED: Final = "q: its p adjusted for all tests here; –: no difference shown at .05."
SHOWN: Final = 20
NAMED: Final = 3
"""Names that one line tells."""


@dataclass(frozen=True, slots=True)
class Line:
    """What is told of one thing; `group` is mostly a model, and may be empty."""

    group: str
    cells: tuple[str, ...]
    more: tuple[str, ...] = ()
    """Cells below headings of their own where there is room for them, else a line below."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table. The first column is folded where it is too long; each line stands under its group."""

    title: str
    headings: tuple[str, ...]
    lines: list[Line]
    numbers: bool = False
    """Whether all columns but the first hold numbers."""
    note: str = ""
    more: tuple[str, ...] = ()
    """Headings of what lines have `more`."""

    @property
    def first(self) -> list[Line]:
        """Those that people are shown; programs get all."""
        return self.lines[:SHOWN]

    @property
    def rest(self) -> str:
        """That there are others, in words."""
        rest = len(self.lines) - SHOWN
        return f"… and {rest:,} more: --format json has all" if rest > 0 else ""


def tested(count: Mapping[str, int]) -> str:
    """Of how many each change can be said, in words."""
    return ", ".join(f"{count.get(change, 0)} {change}" for change in CHANGES)


def by_importance(rows: Iterable[Row], group: Key, findings: Sequence[str]) -> list[Row]:
    """Group by group, the one with the worst row first; in each what is worse, better, or a finding that changed,
    the largest difference first."""

    def weight(row: Row) -> tuple[int, bool, float]:
        change = CHANGES.index(row.get("change") or "not compared")
        stayed = all(row[f"earlier_{name}"] == row[f"later_{name}"] for name in findings)
        return change, stayed, -abs(row.get("difference") or 0.0)

    ranked = sorted(rows, key=lambda row: (*weight(row), group(row)))
    places = {name: number for number, name in enumerate(dict.fromkeys(map(group, ranked)))}
    return sorted(ranked, key=lambda row: places[group(row)])


def difference(
    row: Row, measure: str, told: Callable[[float | None], str], moved: Callable[[float], str]
) -> tuple[str, ...]:
    """Before, after, difference, its interval, q and what it shows."""
    change = "–" if row["change"] in ("no difference shown", "not compared") else row["change"]
    sides = (told(row[f"{side}_{measure}"]) for side in ("earlier", "later"))
    low, high = row["low"], row["high"]
    interval = "–" if low is None or high is None else f"{moved(low)} to {moved(high)}"
    apart = "–" if row["difference"] is None else moved(row["difference"])
    return (*sides, apart, interval, p_value(row["q_value"]), change)


def points(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{round(100 * value, 1) or 0.0:+.1f}".replace("-", "−")


def from_to(row: Row, name: str) -> str:
    """A finding, and what it has become where that is another."""
    before, after = row[f"earlier_{name}"], row[f"later_{name}"]
    return str(before) if before == after else f"{before} → {after}"


def findings(rows: Iterable[Row], group: Key, key: str, names: Sequence[str]) -> list[Line]:
    """Of everything that both sides have, those that changed first."""
    both = [row for row in rows if row["presence"] == "both"]
    return [
        Line(group(row), (row[key], *(from_to(row, name) for name in names)))
        for row in by_importance(both, group, names)
    ]


def several(names: Sequence[str]) -> str:
    """The first few of them."""
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def alone(rows: Iterable[Row], group: Key, name: Key) -> list[Line]:
    """What one of two runs has alone, in a line for each group and side."""
    lacking = sorted((row for row in rows if row["presence"] != "both"), key=lambda row: _side(row, group))
    lines = []
    for (own, where), among in groupby(lacking, key=lambda row: _side(row, group)):
        names = [name(row) for row in among]
        lines.append(Line(own, (where, f"{len(names):,}", several(names))))
    return lines


def _side(row: Row, group: Key) -> tuple[str, str]:
    return group(row), "only in the earlier" if row["presence"] == "only earlier" else "only in the later"


def circumstances(found: Comparison) -> Section:
    """What differs beside replies and findings."""
    lines = [
        Line("", (f"{row['what']} {row['name']}", row["earlier"] or "–", row["later"] or "–"))
        for row in found.circumstances.iter_rows(named=True)
    ]
    return Section("What else differs", ("", "earlier", "later"), lines)
