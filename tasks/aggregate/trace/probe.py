"""From any id of a probe to prompt, reply, reading, trial and finding, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from biasgrid.tasks.aggregate.trace.other_origin import OtherOrigin
from biasgrid.warehouse.build.build import connect, selected
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.queries.lineage import script
from biasgrid.warehouse.storage.lake import Lake

Rows = list[dict[str, Any]]
KEY = ("pair", "model", "language", "test")
FINDINGS, TRIALS = "marts.probe_findings", "staging.stg_probe_trials"


@dataclass(frozen=True, slots=True)
class ProbeTrace:
    """What an id leads to in one probe. Rows are those of the marts, the staging models and the lake."""

    origin: OtherOrigin
    findings: Rows
    trials: Rows
    """Some of them, those that fell with the stereotype first; each has its `cases`, and each of these its
    `messages`, `responses` and `verdicts`, those that no longer count too (`stands`: false)."""
    trials_in_all: int

    def as_json(self, sql: str | None = None) -> str:
        """One object: `asked`, `run`, `in_scope`, lists of findings and trials, and `sql` if any."""
        own = self.origin
        report = {
            "asked": {"kind": own.kind, "id": own.id, "other_runs": own.other_runs},
            "run": {"run_id": own.run.run_id, "kind": own.run.kind, "state": own.run.state},
            "in_scope": {"prompts": len(own.case_ids), "trials": self.trials_in_all},
            "findings": self.findings,
            "trials": self.trials,
        }
        told = report | ({"sql": sql} if sql else {})
        return orjson.dumps(told, default=float, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

    def as_sql(self) -> str:
        """A script for DuckDB that builds what the findings are read from, and ends with them and their trials."""
        units = ",\n    ".join(f"({', '.join(literal(row[name]) for name in KEY)})" for row in self.findings)
        where = f"where ({', '.join(KEY)}) in (\n    {units}\n)\norder by all"
        selects = {name: f"select *\nfrom {name}\n{where}" for name in (FINDINGS, TRIALS)}
        return script(selects, self.origin.run.run_id, selects.values())


def trace_probe(lake: Lake, origin: OtherOrigin, examples: int, model: str | None = None) -> ProbeTrace:
    """Where an id of a probe leads; at most so many `examples` of trials, of one model if it is named. Raises
    UserError where no warehouse has been built."""
    given = [origin.run.run_id, list(origin.case_ids), model]
    with connect(lake) as warehouse:
        readings = selected(warehouse, READINGS, given)
        findings = selected(warehouse, OF_FINDINGS, given).to_dicts()
        trials = selected(warehouse, OF_TRIALS, given)
    shown = trials.head(examples).to_dicts()
    cases = _cases(lake, origin.run.run_id, readings.join(trials.head(examples), on=UNIT, how="semi"))
    told = [trial | {"cases": [case for case in cases if _same(case, trial)]} for trial in shown]
    return ProbeTrace(origin, findings, told, trials.height)


UNIT = ("cell_id", "block")


def _same(case: Mapping[str, Any], trial: Mapping[str, Any]) -> bool:
    return all(case[name] == trial[name] for name in UNIT)


def _cases(lake: Lake, run_id: str, readings: pl.DataFrame) -> Rows:
    """Readings with what their cases were asked and answered, in the order of their parts."""
    ids = readings["case_id"].to_list()
    asked, replies, verdicts = (_landed(lake, run_id, table, ids) for table in ("cases", "responses", "verdicts"))
    return [
        row
        | {name: asked[row["case_id"]][0][name] for name in ("request_key", "messages")}
        | {"responses": [_reply(reply) for reply in replies.get(row["case_id"], ())]}
        | {"verdicts": [_verdict(one, row["evaluation_id"]) for one in verdicts.get(row["case_id"], ())]}
        for row in readings.to_dicts()
    ]


def _landed(lake: Lake, run_id: str, table: str, case_ids: Sequence[str]) -> dict[str, Rows]:
    rows = lake.scan(table, run_id).filter(pl.col("case_id").is_in(list(case_ids))).collect()
    order = [name for name in ("evaluation_id", "received_at") if name in rows.columns]
    ordered = rows.sort(order) if order else rows
    return {str(key[0]): own.to_dicts() for key, own in ordered.group_by("case_id", maintain_order=True)}


REPLY = (
    *("response_id", "model", "text", "finish_reason", "error_class", "error_message", "reused_from"),
    "received_at",
)
VERDICT = (
    *("verdict_id", "evaluation_id", "response_id", "assessor", "outcome", "parsed_text", "parsed_value"),
    *("reason", "judged_at"),
)


def _reply(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in REPLY}


def _verdict(row: Mapping[str, Any], standing: str) -> dict[str, Any]:
    return {name: row[name] for name in VERDICT} | {"stands": row["evaluation_id"] == standing}


_SCOPE = """
    with scope as (
        select distinct run_id, cell_id, block, pair, model, language, test
        from staging.stg_probe_readings
        where run_id = $1 and list_contains($2::varchar[], case_id) and ($3::varchar is null or model = $3)
    )
"""
OF_FINDINGS = f"""{_SCOPE}
    select *
    from {FINDINGS}
    semi join scope using (run_id, pair, model, language, test)
    order by model, language, test, pair
"""  # noqa: S608 - names of ours
OF_TRIALS = f"""{_SCOPE}
    select *
    from {TRIALS}
    semi join scope using (run_id, cell_id, block)
    order by list_position(['stereotypical', 'one-sided', 'unreadable', 'refused', 'error', 'counter', 'balanced'],
        fell), model, language, test, pair, block
"""  # noqa: S608
READINGS = f"""{_SCOPE}
    select *
    from staging.stg_probe_readings
    semi join scope using (run_id, cell_id, block)
    order by cell_id, block, list_position(['stereotype', 'anti', 'reversed', 'favoured', 'stigmatised'], part),
        case_id
"""  # noqa: S608
