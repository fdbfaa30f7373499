"""How rows of the lake hang together: the grid that a run has planned, its replies and its verdicts."""

# ruff: noqa: S608 - names from our own schemas

from __future__ import annotations

from collections.abc import Mapping

from biasgrid.warehouse.expectations.expectation import Expectation, RowRule, Rows, referring, unique
from biasgrid.warehouse.schemas import EVENTS, SHOWN, UNITS

IDS: Mapping[str, tuple[str, ...]] = {
    **{table: (*key, "event_id") for table, key in EVENTS.items()},
    "cases": UNITS["cases"],
    "responses": ("run_id", "response_id"),
    "criteria": ("run_id", "evaluation_id", "requirement"),
    "verdicts": ("run_id", "verdict_id"),
    "assessments": ("run_id", "assessment_id"),
    "rules": ("run_id", "evaluation_id", "cell_id", "template", "language", "wording", "template_text", "oracle"),
}
"""What a row of each table has to itself."""

_ENDED = """
    select run_id
    from lake.runs
    group by run_id
    having arg_max(state, event_id) in ('aggregating', 'completed', 'incomplete')
"""
_PROMPTED = f"""
    select run_id, cell_id
    from lake.cells
    semi join ({_ENDED}) using (run_id)
    group by run_id, cell_id
    having arg_max(state, event_id) = 'prompted'
"""
_ASKED_AND_HEARD = """
    with asked as (
        select run_id, cell_id, sum(hash(case_id)) as cases from lake.cases group by all
    ),

    heard as (
        select run_id, cell_id, sum(hash(case_id)) as cases
        from lake.responses
        where purpose = 'subject'
        group by all
    )
"""
_PERHAPS_UNANSWERED = f"""{_ASKED_AND_HEARD}
    select run_id, cell_id
    from asked
    semi join ({_PROMPTED}) using (run_id, cell_id)
    left join heard using (run_id, cell_id)
    where asked.cases is distinct from heard.cases
"""
_UNANSWERED = """
    select run_id, cell_id, case_id
    from (from lake.cases semi join lake.doubted using (run_id, cell_id))
    anti join (
        select run_id, cell_id, case_id
        from lake.responses
        semi join lake.doubted using (run_id, cell_id)
        where purpose = 'subject'
    ) using (run_id, cell_id, case_id)
"""
_OF_EVERY_KIND = " union all ".join(
    f"select run_id, cell_id, case_id from lake.{name}" for name, (table, _) in SHOWN.items() if table == "cases"
)
_UNASKED = f"""
    select run_id, response_id
    from (from lake.responses semi join lake.doubted using (run_id, cell_id))
    anti join (from ({_OF_EVERY_KIND}) semi join lake.doubted using (run_id, cell_id))
        using (run_id, cell_id, case_id)
    where purpose = 'subject'
"""
_PERHAPS_UNASKED = f"""{_ASKED_AND_HEARD}
    select run_id, cell_id
    from heard
    left join asked using (run_id, cell_id)
    where asked.cases is distinct from heard.cases
"""
_PARTS = "requirement, language, input, reflection"
_ABSENT_CELLS = f"""
    with models as (
        select distinct run_id, model from lake.cells
    ),

    parts as (
        select distinct run_id, {_PARTS} from lake.cells
    )

    select run_id, model, {_PARTS}
    from models
    inner join parts using (run_id)
    anti join lake.cells using (run_id, model, {_PARTS})
"""
_SUPERSEDING_NOTHING = """
    select run_id, verdict_id
    from (from lake.verdicts where supersedes is not null) as later
    anti join lake.verdicts as earlier
        on later.run_id = earlier.run_id and later.supersedes = earlier.verdict_id
"""

TOGETHER: Mapping[str, tuple[Expectation, ...]] = {
    "runs": (RowRule("a run ends after it began", "ended_at < started_at"),),
    "cells": (
        RowRule("no more is answered than was planned", "answered + reused + failed > planned"),
        Rows("every model of a run has the same cells", _ABSENT_CELLS, ("run_id", "model", *_PARTS.split(", "))),
    ),
    "cases": (referring("lake.cases", IDS["cases"], ("run_id", "cell_id"), "lake.cells"),),
    "responses": (
        RowRule("a reply has a text, or a reason why there is none", "text is null and error_class is null"),
        Rows("every response answers a case", _UNASKED, IDS["responses"], _PERHAPS_UNASKED),
        Rows(
            "every case of a prompted cell has a reply or a failure",
            _UNANSWERED,
            ("run_id", "cell_id", "case_id"),
            _PERHAPS_UNANSWERED,
        ),
    ),
    "verdicts": (
        unique("lake.verdicts", UNITS["verdicts"], "supersedes is null", "one verdict per judged unit"),
        Rows("a verdict that is superseded is there", _SUPERSEDING_NOTHING, IDS["verdicts"]),
    ),
}
"""Beside what `biasgrid.warehouse.build.integrity_rules` looks for before each build."""
