"""A trace as a tree: requirement, finding, cell, template, test, prompt, response, verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.text import Text
from rich.tree import Tree

from biasgrid.flows.results.trace_labels import (
    assessed,
    circumstances,
    counts,
    demand,
    hints,
    instances,
    oracle,
    why,
)
from biasgrid.flows.terminal.console import STYLES, console, readable
from biasgrid.tasks.aggregate.trace.benchmark import Rows, Trace
from biasgrid.tasks.report.figures import format_count, share

OUTCOMES = {"passed": "green", "failed": "red", "refused": "yellow", "unreadable": "yellow", "error": "yellow"}
ASKED = "← asked for"


def show_trace(found: Trace) -> None:
    """The tree, then how to see more or less of it."""
    out = console()
    out.print(_head(found), soft_wrap=True)
    for requirement in dict.fromkeys(row["requirement"] for row in found.findings):
        out.print(_requirement(found, requirement))
    for hint in hints(found):
        out.print(Text(hint), soft_wrap=True)


def _head(found: Trace) -> Text:
    told = (
        f"{found.origin.kind} {found.origin.id} in run {found.run['run_id']} "
        f"({found.run['state']}, {found.run['started_at']:%Y-%m-%d %H:%M} UTC): "
        f"{format_count(found.prompts, 'prompt')}, "
        f"{format_count(found.tests, 'template test')} ({counts(found.outcomes)}), "
        f"{format_count(found.cells, 'cell')}"
    )
    return Text(readable(told))


def _requirement(found: Trace, requirement: str) -> Tree:
    findings = [row for row in found.findings if row["requirement"] == requirement]
    demanded = findings[0]
    tree = Tree(
        _line(
            found,
            requirement,
            f"requirement {requirement} · {demanded['concern']}: {demand(demanded)}",
        ),
        guide_style="dim",
    )
    if demanded["rationale"]:
        tree.add(Text(readable(f"rationale: {demanded['rationale']}")))
    for finding in findings:
        _add_finding(tree, found, finding)
    return tree


def _add_finding(tree: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    refused = f"{share(row['refusal_rate'])} of replies refused, " if row["refusal_rate"] else ""
    told = Text(f"finding {readable(row['model'])}: ")
    told.append(row["point_finding"], style=STYLES.get(row["point_finding"], ""))
    if row["decision"]:
        told.append(f", {row['decision']} by its interval")
    told.append(
        f" – {row['counted_passed']} of {row['counted_tests']} tests passed ({share(row['point_rate'])}), "
        f"{row['cells_met']} of {row['cells']} cells met, {refused}coverage {share(row['coverage'])}"
    )
    branch = tree.add(told)
    shown = [cell for cell in found.cell_rows if _of(row, cell)]
    for cell in shown:
        _add_cell(branch, found, cell)
    rest = Counter({each["point_finding"]: each["cells"] for each in found.cells_by_finding if _of(row, each)})
    rest.subtract(Counter(cell["point_finding"] for cell in shown))
    if +rest:
        branch.add(
            Text(
                f"… {format_count((+rest).total(), 'more cell' if shown else 'cell')}: {counts(+rest)}",
                style="dim",
            )
        )


def _of(finding: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return (finding["requirement"], finding["model"]) == (row["requirement"], row["model"])


def _add_cell(branch: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    grid = f"{row['language']} · {row['input']} · {row['reflection']}"
    told = _line(found, row["cell_id"], f"cell {row['cell_id']}", f" {grid}: ")
    told.append(row["point_finding"], style=STYLES.get(row["point_finding"], ""))
    told.append(f" – {row['counted_passed']} of {row['counted_tests']} tests passed ({share(row['point_rate'])})")
    below = branch.add(told)
    tests = [test for test in found.test_rows if test["cell_id"] == row["cell_id"]]
    for template in dict.fromkeys(test["template_id"] for test in tests):
        _add_template(below, found, [test for test in tests if test["template_id"] == template])
    rest = Counter(found.tests_by_cell.get(row["cell_id"], {}))
    rest.subtract(Counter(test["outcome"] or "not judged" for test in tests))
    if +rest:
        below.add(Text(f"… {format_count((+rest).total(), 'more template test')}: {counts(+rest)}", style="dim"))


def _add_template(below: Tree, found: Trace, tests: Rows) -> None:
    first = tests[0]
    told = _line(found, first["template_id"], f"template {first['template']}", f" ({first['template_id']})")
    if found.origin.id == first["template"]:
        told.append(f" {ASKED}", style="bold")
    branch = below.add(told)
    if first["template_text"]:
        branch.add(Text(readable(first["template_text"])))
    branch.add(Text(readable(oracle(first))))
    for test in tests:
        _add_test(branch, found, test)


def _add_test(branch: Tree, found: Trace, test: Mapping[str, Any]) -> None:
    told = Text(f"test, sample {test['sample']}: ")
    told.append(test["outcome"] or "not judged", style=OUTCOMES.get(test["outcome"], ""))
    told.append(readable(why(test)))
    if test["verdict_id"]:
        told.append(f" (verdict {readable(test['verdict_id'])})", style="dim")
        _mark(told, found, test["verdict_id"])
    below = branch.add(told)
    unit = ("cell_id", "template_id", "sample")
    cases = [case for case in found.cases if all(case[key] == test[key] for key in unit)]
    for case in cases:
        _add_case(below, found, case)
    if len(cases) < test["instances"]:
        below.add(Text(f"… {len(cases)} of its {test['instances']} prompts shown: {instances(test)}", style="dim"))


def _add_case(below: Tree, found: Trace, case: Mapping[str, Any]) -> None:
    label = f" {case['communities_label']}" if case["communities_label"] else ""
    branch = below.add(_line(found, case["case_id"], f"prompt, case {case['case_id']}", label))
    branch.add(_line(found, case["instance_id"], f"instance {case['instance_id']}"))
    branch.add(_line(found, case["request_key"], f"request {case['request_key']} {case['parameters'] or ''}"))
    for message in case["messages"] or ():
        branch.add(Text(readable(f"{message['role']}: {message['content']}")))
    for response in case["responses"]:
        _add_response(branch, found, response)
    for verdict in case["verdicts"]:
        _add_verdict(branch, found, verdict)
    for assessment in case["assessments"]:
        branch.add(Text(readable(assessed(assessment)), style="dim"))


def _add_response(branch: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    who = "response" if row["purpose"] == "subject" else f"response of the {row['purpose']} {row['model']}"
    told = _line(found, row["response_id"], f"{who} {row['response_id']}", circumstances(row))
    below = branch.add(told)
    for message in row["messages"] or ():
        if message["role"] != "system":  # what a judge is told each time
            below.add(Text(readable(f"{message['role']}: {message['content']}")))
    if row["error_class"]:
        below.add(Text(readable(f"no reply – {row['error_class']}: {row['error_message']}"), style="yellow"))
    else:
        below.add(Text(readable(row["text"]), style="bold"))


def _add_verdict(branch: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    outcome = row["outcome"] or f"read {row['parsed_value']:f}, which SQL compares"
    told = Text("verdict " if row["stands"] else "verdict, replaced: ")
    told.append(readable(outcome), style=OUTCOMES.get(row["outcome"] or "", "") if row["stands"] else "dim")
    reason = f" – {row['reason']}" if row["reason"] else ""
    by = " ".join(dict.fromkeys(str(row[name]) for name in ("assessor_kind", "assessor", "reviewer") if row[name]))
    told.append(readable(f"{reason} (by {by or 'nobody named'}; {row['verdict_id']})"))
    _mark(told, found, row["verdict_id"])
    branch.add(told)


def _line(found: Trace, id_: str, told: str, more: str = "") -> Text:
    line = Text(readable(told) + readable(more))
    _mark(line, found, id_)
    return line


def _mark(line: Text, found: Trace, id_: str) -> None:
    if found.origin.id == id_:
        line.append(f" {ASKED}", style="bold")
