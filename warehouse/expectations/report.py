"""What an inspection found, and the messages about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.schemas import SHOWN
from biasgrid.warehouse.storage.errors import OldWarehouseStays
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class Failure:
    """An expectation that does not hold: which, of which table, for how many rows, and what names a few."""

    relation: str
    sentence: str
    rows: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspected:
    """One table: its rows, how much is expected of it, and what does not hold."""

    relation: str
    rows: int
    expectations: int
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Every table that was inspected, and the first of the pages about them."""

    tables: tuple[Inspected, ...]
    pages: Path

    @property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(failure for table in self.tables for failure in table.failures)


class ExpectationsFailed(OldWarehouseStays):
    """What does not hold, of which table, for how many rows, some of them, and what to do."""

    headline = "not everything is as expected"

    def __init__(self, mistakes: Problem | tuple[Problem, ...], report: Report | None = None) -> None:
        super().__init__(mistakes)
        self.report = report


def as_mistakes(report: Report, lake: Lake) -> Iterator[Problem]:
    """A message for each failure."""
    for failure in report.failures:
        shown = failure.relation.removeprefix("lake.")
        table, _ = SHOWN.get(shown, (shown, ""))
        where = str(lake.told(lake.root / "lake" / table))
        is_landed = failure.relation.startswith("lake.")
        yield Problem(
            f"`{failure.relation}`: {failure.sentence}: {_rows(failure)}",
            where if is_landed else "",
            f"see {lake.told(report.pages)}; {LANDED if is_landed else MADE}",
        )


LANDED = (
    "put back what belongs there, or take the run out of the lake (move its `run_id=…` folders elsewhere), then "
    "`biasgrid warehouse check`, or `biasgrid resume` where a run broke off"
)
MADE = "where the lake is whole, the mart's SELECT is wrong: please report it, with that page"


def _rows(failure: Failure) -> str:
    named = ", ".join(f"`{example}`" for example in failure.examples)
    others = failure.rows - len(failure.examples)
    more = f" and {others:,} more" if others else ""
    return f"{failure.rows:,} {'row' if failure.rows == 1 else 'rows'}: {named}{more}"
