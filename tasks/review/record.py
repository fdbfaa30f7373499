"""Stores a reviewer's answers at once (the last answer to a reply counts), and finds replies still in dispute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl
from ulid import ULID

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.text_safety import is_one_line, replace_invisible
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.assessments import (
    BLIND,
    GIVEN,
    TABLE,
    UNIT,
    assessments_of_people,
    newest_assessments,
    to_assessment_form,
)
from biasgrid.warehouse.storage.lake import Lake

SKIPPED: Final = "skipped"
LONGEST_NAME: Final = 80
Unit = tuple[str, ...]
"""Values of biasgrid.warehouse.storage.assessments.UNIT."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; `outcome` is None if the reviewer skipped the reply."""

    outcome: str | None
    reason: str | None = None

    @property
    def state(self) -> str:
        return GIVEN if self.outcome else SKIPPED


def reviewer_name(given: str) -> str:
    """The name as stored; raises UserError if it is empty, too long or unreadable."""
    name = " ".join(given.split())
    if name and len(name) <= LONGEST_NAME and is_one_line(name):
        return name
    what = (
        "the reviewer has no name" if not name else f"`{replace_invisible(name[:40], '?')}` is no reviewer's name"
    )
    remedy = f"name who reviews, in at most {LONGEST_NAME} letters: --reviewer NAME"
    raise UserError(Problem(what, "--reviewer or BIASGRID_REVIEWER", remedy))


def unit_of(row: Mapping[str, Any]) -> Unit:
    return tuple(str(row[name]) for name in UNIT)


def earlier_answers(lake: Lake, run_id: str, evaluation_id: str, reviewer: str) -> dict[Unit, Answer]:
    """A reviewer's blind answers in this evaluation, by reply and rule."""
    rows = assessments_of_people(lake, run_id).filter(
        (pl.col("evaluation_id") == evaluation_id)
        & (pl.col("assessor") == reviewer)
        & (pl.col("purpose") == BLIND)
    )
    return {
        unit_of(row): Answer(row["outcome"], row["reason"])
        for row in newest_assessments(rows).iter_rows(named=True)
    }


@dataclass(slots=True)
class Record:
    """A session of one reviewer, with its own file, so that several can run at once."""

    lake: Lake
    run_id: str
    evaluation_id: str
    reviewer: str
    purpose: str = BLIND
    sitting: str = field(default_factory=lambda: str(ULID()))
    rows: list[dict[str, Any]] = field(default_factory=list)

    def give(self, *answers: tuple[Mapping[str, Any], Answer]) -> None:
        """Stores answers to `reviewable` units, all or none."""
        self.rows += [self._row(unit, answer) for unit, answer in answers]
        types = pl.DataFrame(self.rows, infer_schema_length=None)
        self.lake.write(TABLE, self.run_id, f"review-{self.sitting}", to_assessment_form(types))

    def _row(self, unit: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
        kept = ("cell_id", "template_id", "sample", "case_id", "response_id", "rule_key", "stratum")
        return {
            **{name: unit[name] for name in kept},
            "run_id": self.run_id,
            "assessment_id": str(ULID()),
            "evaluation_id": self.evaluation_id,
            "purpose": self.purpose,
            "assessor_kind": "person",
            "assessor": self.reviewer,
            "state": answer.state,
            "outcome": answer.outcome,
            "reason": answer.reason or None,
            "probability": unit.get("probability"),
            "seed": unit.get("seed"),
            "assessed_at": datetime.now(UTC),
        }


DISPUTES = """
    with opinions as (
        select
            run_id,
            cell_id,
            case_id,
            list({'reviewer': assessor, 'outcome': outcome, 'reason': reason} order by assessor) as opinions,
            count(distinct outcome) as outcomes,
            any_value(outcome) as any_outcome,
            max(assessed_at) as assessed_at
        from staging.stg_assessments
        where run_id = ? and purpose = 'blind' and assessor_kind = 'person' and state = 'given'
        group by run_id, cell_id, case_id
    ),

    decisions as (
        select run_id, cell_id, case_id, max(assessed_at) as decided_at
        from staging.stg_assessments
        where run_id = ? and purpose = 'decision'
        group by run_id, cell_id, case_id
    ),

    standing as (
        select * from staging.stg_verdicts where run_id = ? and level = 'instance'
    )

    select
        opinions.cell_id,
        opinions.case_id,
        opinions.opinions,
        standing.outcome as stands,
        standing.assessor_kind,
        standing.assessor,
        standing.reason
    from opinions
    inner join standing using (run_id, cell_id, case_id)
    left join decisions using (run_id, cell_id, case_id)
    where
        (opinions.outcomes > 1 or opinions.any_outcome is distinct from standing.outcome)
        and (decisions.decided_at is null or opinions.assessed_at > decisions.decided_at)
    order by opinions.cell_id, opinions.case_id
"""

UNAPPLIED = """
    select distinct assessments.cell_id
    from staging.stg_assessments as assessments
    anti join intermediate.int_decisions as decisions
        on
            assessments.run_id = decisions.run_id
            and assessments.cell_id = decisions.cell_id
            and assessments.case_id = decisions.case_id
            and assessments.assessed_at <= decisions.decided_at
    where assessments.run_id = ? and assessments.purpose = 'decision'
    order by assessments.cell_id
"""
"""Cells whose decisions were not yet applied because the process was killed."""


def disputes(lake: Lake, run_id: str) -> pl.DataFrame:
    """One row per disputed reply: cell_id, case_id, `opinions` (reviewer, outcome, reason), the current verdict
    `stands` and its assessor. Raises UserError if no warehouse has been built."""
    return query(lake, DISPUTES, [run_id] * DISPUTES.count("?"), texts_of=run_id)


def find_unapplied(lake: Lake, run_id: str) -> list[str]:
    """Cells whose verdicts do not yet follow every decision."""
    return list(query(lake, UNAPPLIED, [run_id])["cell_id"])
