"""The suites of every table of the lake and of every mart."""

from __future__ import annotations

from functools import cache

from biasgrid.warehouse.expectations.expectation import Suite
from biasgrid.warehouse.expectations.lake_suites import lake_suites
from biasgrid.warehouse.expectations.mart_suites import mart_suites


@cache
def all_suites() -> tuple[Suite, ...]:
    """The lake's, then the marts'."""
    return (*lake_suites(), *mart_suites())
