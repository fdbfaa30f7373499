"""What an id is the id of, in which run, and which prompts it leads to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import duckdb
import polars as pl

from biasgrid.catalogs.errors import UserError, close_names
from biasgrid.tasks.aggregate.trace.errors import ambiguous, elsewhere, unknown
from biasgrid.tasks.aggregate.trace.kinds import Kind
from biasgrid.warehouse.build.build import selected
from biasgrid.warehouse.storage.lake import Lake

FEWEST_SIGNS = 6
"""An id may be cut short to so many signs."""
_PLACES: tuple[tuple[Kind, str, str], ...] = (
    ("run", "staging.stg_runs", "run_id"),
    ("requirement", "staging.stg_cases", "requirement"),
    ("cell", "staging.stg_cases", "cell_id"),
    ("template", "staging.stg_cases", "template_id"),
    ("template", "staging.stg_cases", "template"),
    ("instance", "staging.stg_cases", "instance_id"),
    ("case", "staging.stg_cases", "case_id"),
    ("request", "staging.stg_cases", "request_key"),
    ("request", "staging.stg_responses", "request_key"),
    ("response", "staging.stg_responses", "response_id"),
    ("verdict", "staging.stg_verdicts", "verdict_id"),
)
"""Where each kind of id stands; a template is also known by its name in its library."""

_CASES: dict[Kind, str] = {
    "run": "run_id = $id",
    "requirement": "requirement = $id",
    "cell": "cell_id = $id",
    "template": "template_id = $id or template = $id",
    "instance": "instance_id = $id",
    "case": "case_id = $id",
    "request": """
        request_key = $id
        or (run_id, cell_id, case_id) in (
            select (run_id, cell_id, case_id) from staging.stg_responses where request_key = $id
        )
    """,
    "response": """
        (run_id, cell_id, case_id) in (
            select (run_id, cell_id, case_id) from staging.stg_responses where response_id = $id
        )
    """,
}
"""The prompts that an id leads to, as a condition on staging.stg_cases; a verdict's are those it judges."""


@dataclass(frozen=True, slots=True)
class Origin:
    """An id, what it is the id of, and the newest of the runs that know it, or the one that was named."""

    kind: Kind
    id: str
    run_id: str
    other_runs: tuple[str, ...]
    """Further runs that know the id, newest first."""
    where: str
    """The prompts that it leads to: a condition on staging.stg_cases."""
    parameters: dict[str, object] = field(default_factory=dict)


def find_origin(
    warehouse: duckdb.DuckDBPyConnection,
    lake: Lake,
    asked: str,
    kind: Kind | None = None,
    run_id: str | None = None,
) -> Origin:
    """What `asked` is the id of: exactly, else cut short at its end (a run's at its beginning too).

    Raises UserError for an id that nothing has, with the nearest, and for one that several have, with these.
    """
    found = _candidates(warehouse, lake, asked, kind)
    if found.is_empty():
        raise UserError(unknown(asked, kind, _close(warehouse, asked, kind)))
    units = found.select("kind", "id").unique(maintain_order=True)
    if units.height > 1:
        raise UserError(ambiguous(asked, units))
    found_kind, id_ = units.row(0)
    runs = sorted(set(found["run_id"]), reverse=True)
    if run_id is not None and run_id not in runs:
        raise UserError(elsewhere(found_kind, id_, run_id, runs))
    chosen = run_id or runs[0]
    others = tuple(known for known in runs if known != chosen)
    return _origin(warehouse, lake, found_kind, id_, chosen, others)


def _origin(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, kind: Kind, id_: str, run_id: str, others: tuple[str, ...]
) -> Origin:
    if kind != "verdict":
        return Origin(kind, id_, run_id, others, _CASES[kind], {"id": id_})
    standing = selected(warehouse, "from staging.stg_verdicts where verdict_id = $id", {"id": id_}).select(JUDGED)
    judged = standing if standing.height else _replaced_verdicts(lake, id_).select(JUDGED)
    unit = judged.row(0, named=True)
    names = [name for name in JUDGED if unit[name] is not None]
    where = " and ".join(f"{name} = ${name}" for name in names)
    return Origin(kind, id_, run_id, others, where, {name: unit[name] for name in names})


JUDGED = ("cell_id", "template_id", "sample", "case_id")


def _candidates(warehouse: duckdb.DuckDBPyConnection, lake: Lake, asked: str, kind: Kind | None) -> pl.DataFrame:
    """kind, id and run_id of what an id may be; exact ones alone where there are any."""
    exact = matching(warehouse, kind, _exactly, asked)
    if exact.height:
        return exact
    if kind in (None, "verdict") and (replaced := _replaced_verdicts(lake, asked)).height:
        return replaced.select(pl.lit("verdict").alias("kind"), pl.col("verdict_id").alias("id"), "run_id")
    return exact if len(asked) < FEWEST_SIGNS else _whole(matching(warehouse, kind, _cut_short, asked))


def _exactly(kind: Kind, column: str) -> str:
    return f"{column} = {'upper($id)' if kind == 'run' else '$id'}"


def _cut_short(kind: Kind, column: str) -> str:
    if kind == "run":  # a ULID begins with the time: its end tells more
        return f"starts_with({column}, upper($id)) or ends_with({column}, upper($id))"
    return f"starts_with({column}, $id)"


def matching(
    warehouse: duckdb.DuckDBPyConnection, kind: Kind | None, test: Callable[[Kind, str], str], asked: str
) -> pl.DataFrame:
    """kind, id and run_id of every id that passes a test, which is SQL on its column and `$id`."""
    selects = (
        f"select distinct '{each}' as kind, {column} as id, run_id from {relation} "  # noqa: S608 - from _PLACES
        f"where {test(each, column)}"
        for each, relation, column in _PLACES
        if kind in (None, each)
    )
    return selected(warehouse, " union ".join(selects) + " order by all", {"id": asked})


def _whole(found: pl.DataFrame) -> pl.DataFrame:
    """Of ids that begin with one of them, as an instance's does with its template's, that one alone."""
    if found.is_empty():
        return found
    shortest = min(found["id"], key=len)
    within = bool(found["id"].str.starts_with(shortest).all())
    return found.filter(pl.col("id") == shortest) if within else found


def _replaced_verdicts(lake: Lake, verdict_id: str) -> pl.DataFrame:
    """Verdicts of that id in the lake, where those stand too that no longer count."""
    return lake.scan("verdicts").filter(pl.col("verdict_id") == verdict_id).collect()


def _close(warehouse: duckdb.DuckDBPyConnection, asked: str, kind: Kind | None) -> list[str]:
    """Names that are nearly `asked`; else ids of about its length that share its beginning or its end."""
    names = selected(warehouse, NAMES)
    fitting = names.filter(pl.col("kind") == kind) if kind else names
    close = close_names(asked, fitting["name"])
    if close or len(asked) < HALF:
        return close
    found = matching(warehouse, kind, _half, asked)
    near = found.filter(pl.col("id").str.len_chars().is_between(len(asked) - 2, len(asked) + 2))
    return close_names(asked, near["id"].unique(maintain_order=True).head(COMPARED))


def _half(kind: Kind, column: str) -> str:
    return f"starts_with({column}, $id[:{HALF}]) or ends_with({column}, $id[-{HALF}:])"


NAMES = """
    select distinct 'requirement' as kind, requirement as name from staging.stg_cases
    union
    select distinct 'template', template from staging.stg_cases where template is not null
    union
    select 'run', run_id from staging.stg_runs
"""
COMPARED = 1_000
"""Ids that are compared sign by sign at most."""
HALF = 8
"""Signs of an id by whose beginning or end those are found that it was mistyped from."""
