"""Traces an id of an audit: each decision with its prompt, reply, reading, and that about its pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.text import Text
from rich.tree import Tree

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.results.trace_view import (
    Asked,
    Rendering,
    add_messages,
    add_reply,
    format_id_line,
    print_lines,
    print_trees,
)
from biasgrid.tasks.aggregate.trace.benchmark import render_units
from biasgrid.tasks.aggregate.trace.origin import OtherOrigin
from biasgrid.tasks.aggregate.trace.other_kinds import keep_model
from biasgrid.warehouse.build.build import connect, fetch_rows
from biasgrid.warehouse.storage.lake import Lake

DECISIONS: Final = """
    with asked as (
        select *, row_number() over (order by model, signal, document, pair, identity_group, sample) as place
        from intermediate.int_audit_decisions
        where run_id = $run and list_contains($cases, case_id)
    ),

    others as (
        select run_id, model, signal, design, document_id, pair, sample, identity_group, identity, points, outcome
        from intermediate.int_audit_decisions
        where run_id = $run
    )

    select
        asked.* exclude (place),
        replies.text,
        replies.error_class,
        replies.error_message,
        list({
            'identity_group': others.identity_group, 'identity': others.identity, 'points': others.points,
            'outcome': others.outcome
        } order by others.identity_group) filter (where others.identity is not null) as matched
    from asked
    left join others
        on others.run_id = asked.run_id and others.model = asked.model and others.signal = asked.signal
        and others.design = asked.design
        and others.document_id = asked.document_id and others.pair = asked.pair and others.sample = asked.sample
        and others.identity_group <> asked.identity_group
    left join staging.stg_responses as replies
        on replies.run_id = asked.run_id and replies.response_id = asked.response_id
    group by all
    order by any_value(place)
    limit $examples
"""


def trace_decision(lake: Lake, origin: OtherOrigin, asked: Asked) -> Rendering:
    """Decisions of an audit, one by one. Raises UserError if SQL is wanted."""
    if asked.with_sql:
        what = "decisions are shown one by one; the SQL of the findings is that of marts.score_shifts"
        raise UserError(Problem(what, "--sql", "leave it out"))
    shown = keep_model(lake, origin, asked.model)
    rows = _rows(lake, shown, asked.examples)
    return Rendering(lambda _: render_units(shown, "decisions", rows), str, lambda: _show(shown, rows))


def _rows(lake: Lake, origin: OtherOrigin, examples: int) -> list[dict[str, Any]]:
    run_id, cases = origin.run.run_id, list(origin.case_ids)
    with connect(lake, texts_of=run_id) as warehouse:
        given = {"run": run_id, "cases": cases, "examples": examples}
        rows = fetch_rows(warehouse, DECISIONS, given).to_dicts()
    wanted = {row["case_id"] for row in rows}
    prompts = lake.scan("cases", run_id).select("case_id", "messages", "request_key").collect().to_dicts()
    messages = {one["case_id"]: one for one in prompts if one["case_id"] in wanted}
    return [row | {name: messages[row["case_id"]][name] for name in ("messages", "request_key")} for row in rows]


def _show(origin: OtherOrigin, rows: list[dict[str, Any]]) -> None:
    run = origin.run
    head = f"{origin.kind} {origin.id} in audit {run.run_id} ({run.state}): {len(origin.case_ids):,} decisions"
    print_trees(head, [_tree(origin, row) for row in rows])
    if len(rows) < len(origin.case_ids):
        print_lines(f"{len(rows)} of {len(origin.case_ids):,} decisions shown: --examples N for more")


def _tree(origin: OtherOrigin, row: Mapping[str, Any]) -> Tree:
    what = f"{row['document']} · {row['model']} · {row['signal']} · {row['identity_group']}: {row['identity']}"
    tree = Tree(format_id_line(origin, row["case_id"], f"{what}: {describe_decision(row)}"), guide_style="dim")
    prompt = tree.add(format_id_line(origin, row["request_key"], f"prompt, case {row['case_id']}"))
    add_messages(prompt, row["messages"])
    reply = tree.add(format_id_line(origin, row["response_id"], f"response {row['response_id']}"))
    add_reply(reply, row["text"], f"{row['error_class']}: {row['error_message']}")
    tree.add(Text(f"read: {row['reason']}"))
    for other in row["matched"] or ():
        tree.add(Text(f"matched with {other['identity_group']}, {other['identity']}: {describe_decision(other)}"))
    return tree


def describe_decision(row: Mapping[str, Any]) -> str:
    """In words: selected, a score, or why there is no decision."""
    if row["points"] is None:
        return str(row["outcome"])
    is_selection = row.get("decision", "yes_no") == "yes_no" and row["points"] in (0, 100)
    return ("selected" if row["points"] else "not selected") if is_selection else f"{row['points']:g} points"
