"""Resolves an id: its kind, its run, and the prompts it leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import duckdb
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, close_names
from biasgrid.tasks.aggregate.trace import KINDS, Kind
from biasgrid.warehouse.build.build import fetch_rows
from biasgrid.warehouse.schemas import BENCHMARK, OTHER_KINDS
from biasgrid.warehouse.storage.lake import Lake, read_again_if_compacted
from biasgrid.warehouse.storage.runs import Run, all_runs

MIN_PREFIX = 6
"""Fewest characters to which an id may be cut short."""
HALF = 8
"""Characters at an id's start or end by which a mistyped id finds its neighbours."""
MAX_COMPARED = 1_000
"""Most ids that are compared character by character."""
MAX_LISTED = 6
"""Most candidates in an error message."""

_PLACES: tuple[tuple[Kind, str, str], ...] = (
    ("run", "runs", "run_id"),
    ("requirement", "cases", "requirement"),
    ("cell", "cases", "cell_id"),
    ("template", "cases", "template_id"),
    ("template", "cases", "template"),
    ("instance", "cases", "instance_id"),
    ("case", "cases", "case_id"),
    ("request", "cases", "request_key"),
    ("request", "responses", "request_key"),
    ("response", "responses", "response_id"),
    ("verdict", "verdicts", "verdict_id"),
)
"""Kind of id, its staging or lake table, and its column; a template is also known by its name in its library."""

_ANSWERED = """
    (run_id, cell_id, case_id) in (
        select (run_id, cell_id, case_id) from staging.stg_responses where {column} = $id
    )
"""
_CASES: dict[Kind, str] = {
    **{kind: f"{column} = $id" for kind, table, column in _PLACES if table in ("runs", "cases")},
    "template": "template_id = $id or template = $id",
    "request": f"request_key = $id or {_ANSWERED.format(column='request_key')}",
    "response": _ANSWERED.format(column="response_id"),
}
"""Prompts of an id, as a condition on staging.stg_cases; those of a verdict are the prompts it judges."""


@dataclass(frozen=True, slots=True)
class Origin:
    """An id of a benchmark, resolved to its kind and to one run: the newest that has it, or the named one."""

    kind: Kind
    id: str
    run_id: str
    other_runs: tuple[str, ...]
    """Further runs that have the id, newest first."""
    where: str
    """Its prompts: a condition on staging.stg_cases."""
    parameters: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OtherOrigin:
    """An id of a probe, red team or interaction, resolved like `Origin`."""

    kind: Kind
    id: str
    run: Run
    case_ids: tuple[str, ...]
    other_runs: tuple[str, ...] = ()
    """Further runs that have the id, newest first."""


def find_origin(
    warehouse: duckdb.DuckDBPyConnection,
    lake: Lake,
    asked: str,
    kind: Kind | None = None,
    run_id: str | None = None,
) -> Origin:
    """The origin of the id `asked`, matched exactly or else by its start (a run also by its end).

    Raises UserError for an id that nothing has, naming the nearest, and for an ambiguous one.
    """
    found = _candidates(warehouse, lake, asked, kind)
    if found.is_empty():
        raise UserError(_unknown_id(asked, kind, _similar_ids(warehouse, asked, kind)))
    own, id_, runs = _resolve(asked, found, found.select("kind", "id").unique(maintain_order=True), run_id)
    if own != "verdict":
        return Origin(own, id_, runs[0], runs[1:], _CASES[own], {"id": id_})
    standing = fetch_rows(warehouse, "from staging.stg_verdicts where verdict_id = $id", {"id": id_}).select(
        JUDGED
    )
    judged = standing if standing.height else _replaced_verdicts(lake, id_).select(JUDGED)
    unit = {name: value for name, value in judged.row(0, named=True).items() if value is not None}
    where = " and ".join(f"{name} = ${name}" for name in unit)
    return Origin(own, id_, runs[0], runs[1:], where, unit)


JUDGED = ("cell_id", "template_id", "sample", "case_id")


def find_other_origin(
    lake: Lake, asked: str, kind: Kind | None = None, run_id: str | None = None
) -> OtherOrigin | None:
    """The origin of the id `asked` among runs that are no benchmarks, or None; matched as in `find_origin`.

    Raises UserError for an ambiguous id and for a run that does not have it.
    """
    runs = {run.run_id: run for run in all_runs(lake) if run.kind != BENCHMARK}
    matched = pl.concat([MATCHES.to_frame(), *(_matches_in(lake, run, asked, kind) for run in runs.values())])
    exact = matched.filter(pl.col("id").is_in([asked, asked.upper()]))
    found = exact if exact.height or len(asked) < MIN_PREFIX else matched
    if found.is_empty():
        return None
    # the replies of a session carry its id: the first place in the table decides its kind
    units = found.select("kind", "id").unique("id", keep="first", maintain_order=True)
    own, id_, known = _resolve(asked, found, units, run_id)
    cases = found.filter(run_id=known[0], kind=own)["case_id"].unique(maintain_order=True)
    return OtherOrigin(own, id_, runs[known[0]], tuple(cases), known[1:])


MATCHES = pl.Schema({"kind": pl.String, "id": pl.String, "run_id": pl.String, "case_id": pl.String})


def _resolve(
    asked: str, found: pl.DataFrame, units: pl.DataFrame, run_id: str | None
) -> tuple[Kind, str, tuple[str, ...]]:
    """Kind and id of the only unit, and the runs that have it: the chosen one, then the others, newest first."""
    if units.height > 1:
        raise UserError(_ambiguous_id(asked, units))
    kind, id_ = units.row(0)
    runs = sorted(set(found["run_id"]), reverse=True)
    if run_id is not None and run_id not in runs:
        raise UserError(_id_of_other_run(kind, id_, run_id, runs))
    chosen = run_id or runs[0]
    return kind, id_, (chosen, *(known for known in runs if known != chosen))


def _candidates(warehouse: duckdb.DuckDBPyConnection, lake: Lake, asked: str, kind: Kind | None) -> pl.DataFrame:
    """kind, id and run_id of the ids that `asked` may name; if some match exactly, only those."""
    exact = _find_ids(warehouse, kind, _equals, asked)
    if exact.height:
        return exact
    if kind in (None, "verdict") and (replaced := _replaced_verdicts(lake, asked)).height:
        return replaced.select(pl.lit("verdict").alias("kind"), pl.col("verdict_id").alias("id"), "run_id")
    return exact if len(asked) < MIN_PREFIX else _common_start(_find_ids(warehouse, kind, _starts_with, asked))


def _equals(kind: Kind, column: str) -> str:
    return f"{column} = {'upper($id)' if kind == 'run' else '$id'}"


def _starts_with(kind: Kind, column: str) -> str:
    if kind == "run":  # a ULID starts with the time: its end distinguishes better
        return f"starts_with({column}, upper($id)) or ends_with({column}, upper($id))"
    return f"starts_with({column}, $id)"


def _shares_half(kind: Kind, column: str) -> str:
    return f"starts_with({column}, $id[:{HALF}]) or ends_with({column}, $id[-{HALF}:])"


def _find_ids(
    warehouse: duckdb.DuckDBPyConnection, kind: Kind | None, test: Callable[[Kind, str], str], asked: str
) -> pl.DataFrame:
    """kind, id and run_id of every id that passes a test: SQL on its column and `$id`."""
    selects = (
        f"select distinct '{each}' as kind, {column} as id, run_id from staging.stg_{table} "  # noqa: S608 - from _PLACES
        f"where {test(each, column)}"
        for each, table, column in _PLACES
        if kind in (None, each)
    )
    return fetch_rows(warehouse, " union ".join(selects) + " order by all", {"id": asked})


def _common_start(found: pl.DataFrame) -> pl.DataFrame:
    """If all ids start with the shortest one, as an instance's does with its template's, only that one."""
    if found.is_empty():
        return found
    shortest = min(found["id"], key=len)
    return found.filter(pl.col("id") == shortest) if found["id"].str.starts_with(shortest).all() else found


def _replaced_verdicts(lake: Lake, verdict_id: str) -> pl.DataFrame:
    """Verdicts of that id in the lake, which also keeps those that no longer count."""
    return read_again_if_compacted(
        lambda: lake.scan("verdicts").filter(pl.col("verdict_id") == verdict_id).collect()
    )


def _matches_in(lake: Lake, run: Run, asked: str, kind: Kind | None) -> pl.DataFrame:
    """The cases of one run of another kind than benchmarks whose ids match, columns as MATCHES."""
    without = ("instance",) if OTHER_KINDS[run.kind].has_templates else ("instance", "template")
    places = [place for place in _PLACES if kind in (None, place[0]) and place[0] not in without]
    scenes_last = sorted(places, key=lambda place: (place[0] == "template", place[2] == "template_id"))
    return pl.concat(
        [MATCHES.to_frame(), *(_matches_of(lake, run.run_id, asked, *place) for place in scenes_last)]
    )


def _matches_of(lake: Lake, run_id: str, asked: str, kind: Kind, table: str, column: str) -> pl.DataFrame:
    id_ = pl.col(column)
    fits = id_.str.starts_with(asked)
    if kind == "run":
        fits = id_.str.starts_with(asked.upper()) | id_.str.ends_with(asked.upper())
    named = {"kind": pl.lit(kind), "id": id_, "run_id": pl.lit(run_id), "case_id": pl.col("case_id")}
    found = lake.scan("cases" if table == "runs" else table, run_id).filter(fits).select(**named)
    return found.unique(maintain_order=True).collect()


def _similar_ids(warehouse: duckdb.DuckDBPyConnection, asked: str, kind: Kind | None) -> list[str]:
    """Names close to `asked`; else ids of about its length that share its start or end."""
    names = fetch_rows(warehouse, NAMES)
    fitting = names.filter(pl.col("kind") == kind) if kind else names
    close = close_names(asked, fitting["name"])
    if close or len(asked) < HALF:
        return close
    found = _find_ids(warehouse, kind, _shares_half, asked)
    near = found.filter(pl.col("id").str.len_chars().is_between(len(asked) - 2, len(asked) + 2))
    return close_names(asked, near["id"].unique(maintain_order=True).head(MAX_COMPARED))


NAMES = """
    select distinct 'requirement' as kind, requirement as name from staging.stg_cases
    union
    select distinct 'template', template from staging.stg_cases where template is not null
    union
    select 'run', run_id from staging.stg_runs
"""


def _ambiguous_id(asked: str, units: pl.DataFrame) -> Problem:
    listed = ", ".join(f"{kind} `{id_}`" for kind, id_ in units.head(MAX_LISTED).iter_rows())
    more = f" and {units.height - MAX_LISTED} more" if units.height > MAX_LISTED else ""
    kinds = sorted(set(units["kind"]), key=KINDS.index)
    remedy = "write more of it" if len(kinds) == 1 else f"name its kind: --kind {' or --kind '.join(kinds)}"
    return Problem(f"`{asked}` may be {listed}{more}", "ID", remedy)


def _id_of_other_run(kind: Kind, id_: str, run_id: str, runs: Iterable[str]) -> Problem:
    listed = ", ".join(f"`{known}`" for known in list(runs)[:MAX_LISTED])
    return Problem(f"run `{run_id}` has no {kind} `{id_}`", "--run", f"runs that have it: {listed}")


def _unknown_id(asked: str, kind: Kind | None, close: Iterable[str]) -> Problem:
    what = f"{'nothing' if kind is None else f'no {kind}'} in the warehouse has the id `{asked}`"
    near = " or ".join(f"`{name}`" for name in close)
    return Problem(what, "ID", f"did you mean {near}?" if near else NAME_ONE)


NAME_ONE = (
    "name a requirement, a template, a scene, or an id of a run, cell, instance, case, play, request, response or "
    "verdict; `biasgrid warehouse build` brings in what has landed since"
)
