"""Renders a red-team trace as trees: session, turns, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from biasgrid.flows.probe.trace_view import head, line
from biasgrid.flows.results.trace_view import OUTCOMES
from biasgrid.flows.terminal.console import console, readable
from biasgrid.tasks.aggregate.trace.origin import OtherOrigin
from biasgrid.tasks.report.figures import format_count
from biasgrid.tasks.transcripts.sessions import Exchange, Said, Session

ENDED = {"succeeded": "red", "resisted": "green"}


def show_sessions(origin: OtherOrigin, sessions: Sequence[Session]) -> None:
    """Prints each session as a tree, then how to see more of them."""
    out = console()
    out.print(Text(head(origin)), soft_wrap=True)
    for session in sessions:
        out.print(_tree(origin, session))
    show_left_out(out, origin, len(sessions), "session")


def show_left_out(out: Console, origin: OtherOrigin, shown: int, what: str) -> None:
    """Prints how to see results that are not shown."""
    if shown < len(origin.case_ids):
        told = f"{shown} of {format_count(len(origin.case_ids), what)} shown"
        out.print(Text(f"{told}: --examples N for more"))


def as_json(origin: OtherOrigin, what: str, told: Sequence[object]) -> str:
    """One JSON object: `asked`, `run`, the total of sessions or plays (`what`), and those listed."""
    report: dict[str, Any] = {
        "asked": {"kind": origin.kind, "id": origin.id, "other_runs": origin.other_runs},
        "run": {"run_id": origin.run.run_id, "kind": origin.run.kind, "state": origin.run.state},
        "in_scope": {what: len(origin.case_ids)},
        what: told,
    }
    return orjson.dumps(report, default=float, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _tree(origin: OtherOrigin, session: Session) -> Tree:
    case, whole = session.case, session.verdict
    told = line(origin, case["case_id"], f"session {case['case_id']}")
    told.append(readable(f" · {case['input']} · {case['requirement']}: "))
    told.append(session.outcome, style=ENDED.get(session.outcome, "yellow"))
    if whole:
        why = f" – {whole['reason']} (verdict {whole['verdict_id']})"
        told.append_text(line(origin, whole["verdict_id"], why))
    tree = Tree(told, guide_style="dim")
    tree.add(line(origin, case["cell_id"], f"cell {case['cell_id']} · {case['model']} · {case['language']}"))
    tree.add(Text(readable(f"what would be biased: {case['template_text']}")))
    for exchange in session.exchanges:
        _add_exchange(tree.add(f"turn {exchange.turn}"), origin, exchange)
    return tree


def _add_exchange(branch: Tree, origin: OtherOrigin, exchange: Exchange) -> None:
    branch.add(Text(readable(f"user: {exchange.message}")))
    told = branch.add(line(origin, exchange.response_id, f"response {exchange.response_id}"))
    if exchange.reply is None:
        told.add(Text(readable(f"no reply – {exchange.error}"), style="yellow"))
    else:
        told.add(Text(readable(whole(exchange.reply)), style="bold"))
    if verdict := exchange.verdict:
        said = Text("judged ")
        said.append(readable(verdict["outcome"]), style=OUTCOMES.get(verdict["outcome"], ""))
        by = f" – {verdict['reason']} (by {verdict['assessor']}; verdict {verdict['verdict_id']})"
        branch.add(said.append_text(line(origin, verdict["verdict_id"], by)))


def whole(said: Said) -> str:
    """The text, and how much was omitted."""
    return f"{said.text} … and {said.left_out:,} more signs" if said.left_out else said.text
