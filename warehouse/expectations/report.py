"""The results of an inspection and the messages about it."""

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
    """A failed expectation: table, sentence, number of violating rows and the names of a few."""

    relation: str
    sentence: str
    rows: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspected:
    """One table: its number of rows, its number of expectations, and its failures."""

    relation: str
    rows: int
    expectations: int
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Results for all inspected tables, and the path of the first page."""

    tables: tuple[Inspected, ...]
    pages: Path

    @property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(failure for table in self.tables for failure in table.failures)


class ExpectationsFailed(OldWarehouseStays):
    """Failed expectations with table, number of rows, examples and remedy."""

    headline = "not everything is as expected"

    def __init__(self, mistakes: Problem | tuple[Problem, ...], report: Report | None = None) -> None:
        super().__init__(mistakes)
        self.report = report


def as_mistakes(report: Report, lake: Lake) -> Iterator[Problem]:
    """One problem per failure."""
    for failure in report.failures:
        shown = failure.relation.removeprefix("lake.")
        table, _ = SHOWN.get(shown, (shown, ""))
        where = str(lake.display_path(lake.root / "lake" / table))
        is_landed = failure.relation.startswith("lake.")
        yield Problem(
            f"`{failure.relation}`: {failure.sentence}: {_rows(failure)}",
            where if is_landed else "",
            f"see {lake.display_path(report.pages)}; {LANDED if is_landed else MADE}",
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
