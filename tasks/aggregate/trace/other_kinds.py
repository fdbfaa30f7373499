"""Traces of probes and interactions: from an id to prompts, replies, readings and the SQL of the findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from biasgrid.tasks.aggregate.trace.benchmark import Rows, render_json, rows_by_key
from biasgrid.tasks.aggregate.trace.origin import OtherOrigin
from biasgrid.tasks.aggregate.trace.queries import select_rows
from biasgrid.tasks.transcripts.plays import Play
from biasgrid.warehouse.build.build import connect, fetch_rows
from biasgrid.warehouse.queries.lineage import script
from biasgrid.warehouse.storage.lake import Lake

PAIR = ("pair", "model", "language", "test")
"""Key of a finding."""
TRIAL = ("cell_id", "block")
"""Key of a trial."""
FINDINGS, TRIALS = "marts.probe_findings", "intermediate.int_probe_trials"


@dataclass(frozen=True, slots=True)
class ProbeTrace:
    """What an id leads to in one probe: rows of marts, staging models and the lake."""

    origin: OtherOrigin
    findings: Rows
    trials: Rows
    """Examples, stereotypical ones first, each with its `cases`; a case has `messages`, `responses` and all
    `verdicts` (`stands`: false for replaced ones)."""
    trials_in_all: int

    def as_json(self, sql: str | None = None) -> str:
        """One object: `asked`, `run`, `in_scope`, lists of findings and trials, and `sql` if any."""
        run = {name: getattr(self.origin.run, name) for name in ("run_id", "kind", "state")}
        scope = {"prompts": len(self.origin.case_ids), "trials": self.trials_in_all}
        return render_json(self.origin, run, scope, {"findings": self.findings, "trials": self.trials}, sql)

    def as_sql(self) -> str:
        """A DuckDB script that builds the findings and ends with them and their trials."""
        keys = [[row[name] for name in PAIR] for row in self.findings]
        selects = {relation: select_rows(relation, PAIR, keys) for relation in (FINDINGS, TRIALS)}
        return script(selects, self.origin.run.run_id, selects.values())


def trace_probe(lake: Lake, origin: OtherOrigin, examples: int, model: str | None = None) -> ProbeTrace:
    """The trace of an id of a probe with at most `examples` trials, of one model or of all; raises UserError if
    there is no warehouse."""
    given = [origin.run.run_id, list(origin.case_ids), model]
    with connect(lake) as warehouse:
        readings = fetch_rows(warehouse, READINGS, given)
        findings = fetch_rows(warehouse, OF_FINDINGS, given).to_dicts()
        trials = fetch_rows(warehouse, OF_TRIALS, given)
    shown = trials.head(examples)
    cases = _read_cases(lake, origin.run.run_id, readings.join(shown, on=TRIAL, how="semi"))
    with_cases = [
        trial | {"cases": [case for case in cases if all(case[name] == trial[name] for name in TRIAL)]}
        for trial in shown.to_dicts()
    ]
    return ProbeTrace(origin, findings, with_cases, trials.height)


def _read_cases(lake: Lake, run_id: str, readings: pl.DataFrame) -> Rows:
    """Readings with their prompts, replies and verdicts, in the order of their parts."""
    ids = readings["case_id"].to_list()
    asked, replies, verdicts = (
        _landed_rows(lake, run_id, name, ids) for name in ("cases", "responses", "verdicts")
    )
    return [
        row
        | _columns(asked[own][0], ("request_key", "messages"))
        | {"responses": [_columns(reply, REPLY) for reply in replies.get(own, ())]}
        | {
            "verdicts": [
                _columns(one, VERDICT) | {"stands": one["evaluation_id"] == row["evaluation_id"]}
                for one in verdicts.get(own, ())
            ]
        }
        for row in readings.to_dicts()
        for own in [(row["case_id"],)]
    ]


def _landed_rows(lake: Lake, run_id: str, table: str, case_ids: Sequence[str]) -> dict[tuple[Any, ...], Rows]:
    rows = lake.scan(table, run_id).filter(pl.col("case_id").is_in(list(case_ids))).collect()
    order = [name for name in ("evaluation_id", "received_at") if name in rows.columns]
    return rows_by_key(rows.sort(order) if order else rows, "case_id")


REPLY = (
    *("response_id", "model", "text", "finish_reason", "error_class", "error_message", "reused_from"),
    "received_at",
)
VERDICT = (
    *("verdict_id", "evaluation_id", "response_id", "assessor", "outcome", "parsed_text", "parsed_value"),
    *("reason", "judged_at"),
)


def _columns(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}


_SCOPE = """
    with scope as (
        select distinct run_id, cell_id, block, pair, model, language, test
        from intermediate.int_probe_readings
        where run_id = $1 and list_contains($2::varchar[], case_id) and ($3::varchar is null or model = $3)
    )
"""
OF_FINDINGS = f"""{_SCOPE}
    from {FINDINGS}
    semi join scope using (run_id, pair, model, language, test)
    order by model, language, test, pair
"""
OF_TRIALS = f"""{_SCOPE}
    from {TRIALS}
    semi join scope using (run_id, cell_id, block)
    order by list_position(['stereotypical', 'one-sided', 'unreadable', 'refused', 'error', 'counter', 'balanced'],
        fell), model, language, test, pair, block
"""
READINGS = f"""{_SCOPE}
    from intermediate.int_probe_readings
    semi join scope using (run_id, cell_id, block)
    order by cell_id, block, list_position(['stereotype', 'anti', 'reversed', 'favoured', 'stigmatised'], part),
        case_id
"""

SETTING = ("model", "language", "setting", "mitigation")
SCORES = {
    "assignment": ("marts.bias_scores", (*SETTING, "axis", "domain", "is_control", "held_out")),
    "choice": ("marts.choices", (*SETTING, "scene")),
    "understanding": ("marts.understanding", ("model", "language", "held_out")),
}
"""Mart and key of its rows, by the question of a play."""
REPLIES = {"understanding": "intermediate.int_understandings"}


def keep_model(lake: Lake, origin: OtherOrigin, model: str | None) -> OtherOrigin:
    """The origin with the plays of one model or cast alone, if it is named."""
    if model is None:
        return origin
    cases = lake.scan("cases", origin.run.run_id).filter(pl.col("model") == model).select("case_id").collect()
    own = set(cases["case_id"])
    return replace(origin, case_ids=tuple(case_id for case_id in origin.case_ids if case_id in own))


def scores_sql(run_id: str, plays: Sequence[Play]) -> str:
    """A DuckDB script that builds the scores of some plays, and ends with these scores and the replies."""
    selects: dict[tuple[str, str], str] = {}
    for question in dict.fromkeys(play.case["question"] for play in plays):
        own = [play.case for play in plays if play.case["question"] == question]
        mart, names = SCORES[question]
        replies = REPLIES.get(question, "intermediate.int_assignments")
        keys = dict.fromkeys(key for case in own for key in _score_keys(case, names))
        selects[mart, question] = select_rows(mart, names, list(keys))
        selects[replies, question] = select_rows(replies, ("play_id",), [(case["play_id"],) for case in own])
    return script(dict.fromkeys(relation for relation, _ in selects), run_id, selects.values())


def _score_keys(case: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """Keys of the rows that count a play: its domain's, and that of all domains."""
    for domain in dict.fromkeys((case["domain"], "all")):
        yield tuple(domain if name == "domain" else case[name] for name in names)
