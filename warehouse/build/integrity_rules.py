"""What no lake may hold, as SQL over its tables.

Sums of hashes and counts tell which cells may hold it; only their rows are looked at one by one, mostly none.
"""

# ruff: noqa: S608 - names from our own schemas

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from biasgrid.warehouse.build.attach_lake import without_rows
from biasgrid.warehouse.schemas import KINDS, OF_KINDS, OUTCOMES, TABLES, UNITS

Row = dict[str, Any]
EVERYWHERE = "select true"
COUNTED = 1000
"""Rows that are counted of each flaw; what is broken by the million needs no exact number."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """`rows` of a table that cannot be, each with its `run_id` and the column `id`, which names it."""

    table: str
    id: str
    what: str
    rows: str
    doubted: str = EVERYWHERE
    """Which cells to look at: where there are none, `rows` is not asked for. They stand in `lake.doubted`."""
    lacking_to: str = ""
    """The relation to whose rows something is lacking, where it is absence that is told."""
    kind: str = KINDS[0]

    @property
    def rows_of(self) -> str:
        """The relation that `rows` stem from: none there, none here."""
        return _of(self.kind, self.lacking_to or f"lake.{self.table}")


def found_flaws(warehouse: duckdb.DuckDBPyConnection, flaws: Iterable[Flaw]) -> Iterator[tuple[Flaw, list[Row]]]:
    """Those that the attached lake has, with the rows that show them."""
    nothing = without_rows(warehouse)
    for flaw in flaws:
        if flaw.rows_of not in nothing and _is_doubted(warehouse, flaw) and (rows := _rows(warehouse, flaw)):
            yield flaw, rows


def _is_doubted(warehouse: duckdb.DuckDBPyConnection, flaw: Flaw) -> bool:
    if flaw.doubted == EVERYWHERE:
        return True
    (cells,) = warehouse.execute(f"create or replace table lake.doubted as {flaw.doubted}").fetchall()[0]
    return bool(cells)


def _rows(warehouse: duckdb.DuckDBPyConnection, flaw: Flaw) -> list[Row]:
    found = warehouse.execute(f"from ({flaw.rows}) order by all limit {COUNTED}")
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _differing(table: str, key: str, without: str = "") -> Flaw:
    """What a kill lands again is the same; another content under one id is not."""
    content = ", ".join(name for name in TABLES[table].names if name != without)
    unit = ", ".join(UNITS[table])
    hashed = f"select run_id, {key}, hash({content}) as content, hash({unit}) as unit from lake.{table}"
    repeated = f"from ({hashed}) semi join lake.doubted using (unit)"
    rows = f"select run_id, {key} {repeated} group by run_id, {key} having count(distinct content) > 1"
    return Flaw(table, key, "rows of one id differ", rows, f"from lake.repeated_{table}")


_SAME_RESPONSE_ID = """
    select run_id, response_id
    from lake.responses
    group by all
    having count(distinct hash(cell_id, case_id, request_key, purpose, session, turn, speaker)) > 1
"""

_DOUBTED_BY_CASE = """
    with judged as (
        select run_id, cell_id, evaluation_id, sum(hash(case_id)) as cases
        from lake.verdicts
        where level = 'instance' and supersedes is null
        group by all
    ),

    asked as (
        select run_id, cell_id, sum(hash(case_id)) as cases from lake.cases group by all
    )

    select run_id, cell_id
    from judged
    left join asked using (run_id, cell_id)
    where judged.cases is distinct from asked.cases
    union
    select run_id, cell_id from lake.verdicts where supersedes is not null
"""

_WITHOUT_CASE = """
    select run_id, verdict_id
    from (from lake.verdicts semi join lake.doubted using (run_id, cell_id))
    anti join (from lake.cases semi join lake.doubted using (run_id, cell_id)) using (run_id, cell_id, case_id)
    where level = 'instance'
"""

_WITHOUT_RESPONSE = """
    select run_id, verdict_id
    from (from lake.verdicts semi join lake.doubted using (run_id, cell_id))
    anti join (from lake.responses semi join lake.doubted using (run_id)) using (run_id, response_id)
    where response_id is not null
"""

_WITHOUT_TEMPLATE = """
    with asked as (
        select distinct run_id, cell_id, template_id from lake.cases
    ),

    unknown as (
        select distinct run_id, cell_id, template_id
        from lake.verdicts
        anti join asked using (run_id, cell_id, template_id)
        where level = 'template'
    )

    select run_id, verdict_id
    from lake.verdicts
    semi join unknown using (run_id, cell_id, template_id)
    where level = 'template'
"""

# criteria are recorded last: beside an evaluation that has them, one without was broken off, and does not count
_WITHOUT_CRITERIA = """
    select distinct run_id, evaluation_id
    from lake.verdicts
    anti join lake.criteria using (run_id)
"""

_UNKNOWN_OUTCOME = f"""
    select run_id, verdict_id, outcome
    from lake.verdicts
    where outcome not in {OUTCOMES}
"""

_PLANNED = """
    with planned as (
        select run_id, cell_id, arg_max(planned, event_id) as planned from lake.cells group by all
    )
"""

UNSETTLED = f"""{_PLANNED},

    judged as (
        select run_id, cell_id, evaluation_id, sum(hash(response_id)) as replies
        from lake.verdicts
        where response_id is not null and supersedes is null
        group by all
    ),

    heard as (
        select run_id, cell_id, count(*) as landed, sum(hash(response_id)) as replies
        from lake.responses
        where purpose = 'subject'
        group by all
    )

    select run_id, cell_id
    from heard
    full join judged using (run_id, cell_id)
    left join planned using (run_id, cell_id)
    where judged.replies is distinct from heard.replies or heard.landed is distinct from planned.planned
    union
    select run_id, cell_id from lake.verdicts where supersedes is not null
"""
"""Cells in which not each planned case has one reply, and each of these replies one verdict."""

_WITHOUT_CASES = f"""{_PLANNED}
    select run_id, cell_id
    from planned
    left join (select run_id, cell_id, count(*) as landed from lake.cases group by all) using (run_id, cell_id)
    where coalesce(landed, 0) < planned
"""

# cells of a run that is under way, was interrupted or failed wait for their verdicts
_NEVER_JUDGED = f"""{_PLANNED},

    ended as (
        select run_id
        from lake.runs
        group by run_id
        having arg_max(state, event_id) in ('aggregating', 'completed', 'incomplete')
    )

    select run_id, cell_id
    from planned
    semi join ended using (run_id)
    anti join (select distinct run_id, cell_id from lake.verdicts) using (run_id, cell_id)
    where planned > 0
"""

_ASSESSED_WITHOUT_RESPONSE = """
    select run_id, assessment_id
    from lake.assessments
    anti join (from lake.responses semi join lake.doubted using (run_id)) using (run_id, response_id)
"""

_ASSESSED_WITHOUT_CASE = """
    select run_id, assessment_id
    from lake.assessments
    anti join (from lake.cases semi join lake.doubted using (run_id, cell_id)) using (run_id, cell_id, case_id)
"""

_UNKNOWN_ASSESSMENT = f"""
    select run_id, assessment_id
    from lake.assessments
    where outcome not in {OUTCOMES[:-1]} or (state = 'given') <> (outcome is not null)
"""

# of whatever level: a probe's verdicts are of replies, a red team's of replies and of sessions
_OTHERS_WITHOUT_CASE = """
    select run_id, verdict_id
    from lake.verdicts
    anti join lake.cases using (run_id, cell_id, case_id)
"""

_OTHERS_WITHOUT_RESPONSE = """
    select run_id, verdict_id
    from lake.verdicts
    anti join lake.responses using (run_id, response_id)
    where response_id is not null
"""

LACKING_CASES = Flaw(
    "cases", "cell_id", "cells that were planned lack cases", _WITHOUT_CASES, lacking_to="lake.cells"
)
NEVER_JUDGED = Flaw(
    "verdicts",
    "cell_id",
    "cells of a run that has ended were never judged",
    _NEVER_JUDGED,
    lacking_to="lake.cells",
)
UNKNOWN_OUTCOME = Flaw("verdicts", "verdict_id", f"the outcome is none of {', '.join(OUTCOMES)}", _UNKNOWN_OUTCOME)
OF_EVERY_KIND = (
    LACKING_CASES,
    Flaw("verdicts", "verdict_id", "the case that was judged is not there", _OTHERS_WITHOUT_CASE),
    Flaw("verdicts", "verdict_id", "the response that was judged is not there", _OTHERS_WITHOUT_RESPONSE),
    UNKNOWN_OUTCOME,
)
"""Looked for in runs that are no benchmarks, whose rows are fewer."""
OF_ASSESSMENTS = (
    Flaw(
        "assessments",
        "assessment_id",
        "the case that was assessed is not there",
        _ASSESSED_WITHOUT_CASE,
        "select distinct run_id, cell_id from lake.assessments",
    ),
    Flaw(
        "assessments",
        "assessment_id",
        "the response that was assessed is not there",
        _ASSESSED_WITHOUT_RESPONSE,
        "select distinct run_id from lake.assessments",
    ),
    Flaw(
        "assessments",
        "assessment_id",
        f"the outcome is none of {', '.join(OUTCOMES[:-1])}, or stands where none was given",
        _UNKNOWN_ASSESSMENT,
        "from lake.assessments limit 1",
    ),
)
"""Looked for in runs that people review."""
_OF_KIND = re.compile(rf"\blake\.({'|'.join(OF_KINDS)})\b")


def flaws_of(kind: str) -> tuple[Flaw, ...]:
    """Those of another kind of run than benchmarks. Sessions of a red team may still be open when its run ends."""
    own = (*OF_EVERY_KIND, NEVER_JUDGED) if kind == "probe" else (*OF_EVERY_KIND, *OF_ASSESSMENTS)
    return tuple(
        replace(flaw, rows=_of(kind, flaw.rows), doubted=_of(kind, flaw.doubted), kind=kind) for flaw in own
    )


def _of(kind: str, sql: str) -> str:
    return _OF_KIND.sub(rf"lake.{kind}_\1", sql) if kind != KINDS[0] else sql


FLAWS = (
    LACKING_CASES,
    NEVER_JUDGED,
    Flaw(
        "verdicts",
        "verdict_id",
        "the response that was judged is not there",
        _WITHOUT_RESPONSE,
        "from lake.unsettled",
    ),
    Flaw("verdicts", "verdict_id", "the template that was judged is not there", _WITHOUT_TEMPLATE),
    Flaw("verdicts", "evaluation_id", "the criteria of the evaluation are not there", _WITHOUT_CRITERIA),
    *OF_ASSESSMENTS,
    UNKNOWN_OUTCOME,
)
"""Looked for before each build, in benchmarks."""

FLAWS_OF_OTHERS = tuple(flaw for kind in KINDS[1:] for flaw in flaws_of(kind))
"""Looked for before each build, in all other runs."""

FLAWS_OF_REPEATS = (
    _differing("cases", "case_id"),
    _differing("responses", "response_id"),
    _differing("verdicts", "verdict_id", without="judged_at"),
)
"""Looked for among the rows that `lake.repeated_<table>` names."""

FLAWS_OF_CASES = (
    Flaw("verdicts", "verdict_id", "the case that was judged is not there", _WITHOUT_CASE, _DOUBTED_BY_CASE),
)
"""Looked for where what has been built does not show that there is none."""

FLAWS_BEHIND = (
    *FLAWS_OF_REPEATS,
    *FLAWS_OF_CASES,
    Flaw("responses", "response_id", "rows of one id answer several questions", _SAME_RESPONSE_ID),
)
"""Looked for where a model's own tests have failed."""

EVERY_CASE_IS_THERE = """
    with evaluations as (
        select distinct run_id, evaluation_id from lake.verdicts
    )

    select
        (select sum(judged) from intermediate.int_instance_outcomes)
            is not distinct from (select count(*) from lake.verdicts where level = 'instance')
        and not exists (from evaluations anti join staging.stg_criteria using (run_id, evaluation_id))
        and not exists (from lake.verdicts where supersedes is not null)
"""
"""Verdicts that count have been joined to cases: where none was lost and no others landed, none is without."""
