"""Renders a probe trace as a tree: pair, finding, trial, prompt, response, reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text
from rich.tree import Tree

from biasgrid.flows.results.trace_view import ASKED, OUTCOMES
from biasgrid.flows.terminal.console import STYLES, console, readable
from biasgrid.tasks.aggregate.trace.origin import OtherOrigin
from biasgrid.tasks.aggregate.trace.other_kinds import PAIR, TRIAL, ProbeTrace
from biasgrid.tasks.report.figures import format_count, share

FALLEN = {"stereotypical": "red", "counter": "green", "balanced": "green"}
CALLED = {"interaction": {"requirement": "domain", "template": "scene", "case": "play"}}
"""Labels of ids by run kind; by default a requirement is a pair."""


def show_probe_trace(found: ProbeTrace) -> None:
    """Prints the tree, then how to see more of it."""
    out = console()
    out.print(Text(head(found.origin) + f", {format_count(found.trials_in_all, 'trial')}"), soft_wrap=True)
    for finding in found.findings:
        own = [trial for trial in found.trials if all(trial[name] == finding[name] for name in PAIR)]
        if own or len(found.findings) == 1:
            out.print(_finding(found, finding, own))
    if len(found.trials) < found.trials_in_all:
        shown = f"{len(found.trials)} of {format_count(found.trials_in_all, 'trial')} shown"
        out.print(Text(f"{shown}: --examples N for more"))
    out.print(Text("how the finding was computed: add --sql"))


def head(origin: OtherOrigin) -> str:
    """The id queried and its run."""
    run = origin.run
    also = f"; also in {format_count(len(origin.other_runs), 'other run')}" if origin.other_runs else ""
    called = CALLED.get(run.kind, {"requirement": "pair"})
    kind = called.get(origin.kind, origin.kind)
    state = f"{run.state}, {run.started_at:%Y-%m-%d %H:%M} UTC"
    told = f"{kind} {origin.id} in {run.kind} {run.run_id} ({state}){also}"
    return readable(f"{told}: {format_count(len(origin.case_ids), called.get('case', 'case'))}")


def line(origin: OtherOrigin, id_: str | None, told: str) -> Text:
    """A line with an id, marked if it is the queried one."""
    text = Text(readable(told))
    if id_ == origin.id:
        text.append(f" {ASKED}", style="bold")
    return text


def _finding(found: ProbeTrace, row: Mapping[str, Any], trials: list[dict[str, Any]]) -> Tree:
    told = line(found.origin, row["pair"], row["pair"])
    told.append(readable(f" · {row['model']} · {row['language']} · {row['test']}: "))
    told.append(row["finding"], style=STYLES.get(row["finding"], ""))
    told.append(
        f" – {row['stereotypical']} of {row['stereotypical'] + row['counter']} with the stereotype "
        f"({share(row['stereotypical_share'])}), {row['balanced']} neither way, {row['one_sided']} one-sided, "
        f"{row['refused']} refused, {row['unreadable']} unreadable, {row['errors']} without a reply"
    )
    tree = Tree(told, guide_style="dim")
    for trial in trials:
        below = tree.add(_trial(found, trial))
        for case in trial["cases"]:
            _add_case(below, found, case)
    return tree


def _trial(found: ProbeTrace, trial: Mapping[str, Any]) -> Text:
    told = Text(f"trial {trial['block'] + 1}: ")
    told.append(trial["fell"], style=FALLEN.get(trial["fell"], "yellow"))
    score = "" if trial["score"] is None else f", score {trial['score']:+.2f}"
    return told.append_text(line(found.origin, trial[TRIAL[0]], f"{score} (cell {trial[TRIAL[0]]})"))


def _add_case(below: Tree, found: ProbeTrace, case: Mapping[str, Any]) -> None:
    part = f" ({case['part']})" if case["part"] else ""
    branch = below.add(line(found.origin, case["case_id"], f"prompt, case {case['case_id']}{part}"))
    branch.add(line(found.origin, case["request_key"], f"request {case['request_key']}"))
    for message in case["messages"] or ():
        branch.add(Text(readable(f"{message['role']}: {message['content']}")))
    for reply in case["responses"]:
        told = branch.add(line(found.origin, reply["response_id"], f"response {reply['response_id']}"))
        if reply["text"] is None:
            why = f"no reply – {reply['error_class']}: {reply['error_message']}"
            told.add(Text(readable(why), style="yellow"))
        else:
            told.add(Text(readable(reply["text"]), style="bold"))
    for verdict in case["verdicts"]:
        branch.add(_verdict(found, verdict))


def _verdict(found: ProbeTrace, row: Mapping[str, Any]) -> Text:
    told = Text("read as " if row["stands"] else "read before as ")
    read = row["parsed_text"] or row["outcome"] or f"{row['parsed_value']:g}"
    told.append(readable(read), style=OUTCOMES.get(row["outcome"] or "", "") if row["stands"] else "dim")
    reason = f" – {row['reason']}" if row["reason"] else ""
    return told.append_text(line(found.origin, row["verdict_id"], f"{reason} (verdict {row['verdict_id']})"))
