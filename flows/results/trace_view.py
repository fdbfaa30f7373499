"""A trace as a tree: requirement, finding, cell, template, test, prompt, response, verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from rich.text import Text
from rich.tree import Tree

from biasgrid.flows.terminal.console import STYLES, console, dollars, readable
from biasgrid.tasks.aggregate.trace import Kind
from biasgrid.tasks.aggregate.trace.benchmark import Rows, Trace
from biasgrid.tasks.aggregate.trace.origin import Origin, OtherOrigin
from biasgrid.tasks.report.figures import format_count, share
from biasgrid.tasks.report.verdicts import word_of

OUTCOMES = {"passed": "green", "failed": "red", "refused": "yellow", "unreadable": "yellow", "error": "yellow"}
ASKED = "← asked for"
EXPECTED = 6
"""Expected values of an oracle that are shown."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be traced, and how."""

    id: str
    kind: Kind | None = None
    run: str | None = None
    model: str | None = None
    examples: int = 3
    as_json: bool = False
    with_sql: bool = False
    data: str | Path | None = None


@dataclass(frozen=True, slots=True)
class Rendering:
    """A trace in each of its forms."""

    as_json: Callable[[str | None], str]
    """With its SQL, if any."""
    as_sql: Callable[[], str]
    show: Callable[[], None]


def print_trees(head: str, trees: Iterable[Tree]) -> None:
    out = console()
    out.print(Text(head), soft_wrap=True)
    for tree in trees:
        out.print(tree)


def print_lines(*lines: str) -> None:
    for line in lines:
        console().print(Text(line), soft_wrap=True)


def format_id_line(origin: Origin | OtherOrigin, id_: str | None, text: str) -> Text:
    """A line with an id, marked if it is the queried one."""
    line = Text(readable(text))
    if id_ == origin.id:
        line.append(f" {ASKED}", style="bold")
    return line


def format_reason(reason: str | None) -> str:
    return f" – {reason}" if reason else ""


def add_messages(branch: Tree, messages: Sequence[Mapping[str, Any]] | None) -> None:
    for message in messages or ():
        branch.add(Text(readable(f"{message['role']}: {message['content']}")))


def add_reply(branch: Tree, text: str | None, error: object) -> None:
    """A reply's text, or why there is none."""
    if text is None:
        branch.add(Text(readable(f"no reply – {error}"), style="yellow"))
    else:
        branch.add(Text(readable(text), style="bold"))


def demand(row: Mapping[str, Any]) -> str:
    """A requirement's criterion, from its finding's row."""
    if row["tolerance"] is None:
        return "nothing judged yet"
    return (
        f"at least {100 * row['tolerance']:g}% of tests pass, "
        f"spread at most {100 * row['delta']:g}% of the scale, refusals {row['refusals_rule']}"
    )


def oracle(test: Mapping[str, Any]) -> str:
    """By what a template's replies are judged."""
    expected = orjson.loads(test["oracle"] or "{}").get("expected") or []
    values = ", ".join(f"`{value}`" for value in expected[:EXPECTED])
    more = f" and {len(expected) - EXPECTED} more" if len(expected) > EXPECTED else ""
    return f"oracle {test['operation']}{': ' if values else ''}{values}{more}"


def why(test: Mapping[str, Any]) -> str:
    """Reason for the outcome of a template test; empty if none was recorded."""
    if test["spread"] is None:
        return format_reason(test["reason"])
    return (
        f" – {test['min_value']:f} ({test['communities_at_min']}) to {test['max_value']:f} "
        f"({test['communities_at_max']}): spread {test['spread']:f}, admissible {test['admissible_spread']:f}"
    )


def instances(test: Mapping[str, Any]) -> str:
    """How the prompts of a template test came out."""
    outcomes = ("passed", "failed", "refused", "unreadable", "errors")
    known = {name: test[name] for name in outcomes if test[name]}
    numbers = test["instances"] - sum(known.values())
    return counts({"numbers": numbers} | known if numbers else known)


def circumstances(row: Mapping[str, Any]) -> str:
    """When and how a response arrived, with a leading space; empty if unknown."""
    parts = [f"{row['received_at']:%Y-%m-%d %H:%M:%S} UTC"] if row["received_at"] else []
    if row["reused_from"]:
        run = f" of run {row['reused_from_run']}" if row["reused_from_run"] else ""
        parts.append(f"reused from {row['reused_from']}{run}")
    elif row["latency_ms"] is not None:
        parts.append(f"{row['latency_ms']:.0f} ms")
    if (row["attempts"] or 1) > 1:
        parts.append(f"{row['attempts']} attempts")
    if row["cost_usd"]:
        parts.append(dollars(row["cost_usd"]))
    if not row["is_answer"] and row["purpose"] == "subject":
        parts.append("another one counts")
    return f" {', '.join(parts)}" if parts else ""


def format_assessment(row: Mapping[str, Any]) -> str:
    """A judge's or reviewer's remarks on a reply, next to its verdict."""
    kind = "decision" if row["purpose"] == "decision" else "blind assessment"
    carried = ", from an earlier evaluation" if row["carried_from"] else ""
    outcome = row["outcome"] or f"none: {row['state']}"
    why = format_reason(row["reason"])
    return f"{kind}{carried}: {outcome}{why} (by {row['assessor_kind']} {row['assessor']}; {row['assessment_id']})"


def counts(outcomes: Mapping[str, int]) -> str:
    """Outcomes with how many have each."""
    return ", ".join(f"{count:,} {word_of(outcome)}" for outcome, count in outcomes.items()) or "none"


def hints(found: Trace) -> Iterable[str]:
    """How to see more of a trace, or less."""
    if found.stands_in:
        yield f"the reply was used again for {format_count(found.stands_in, 'further prompt')}"
    if found.origin.other_runs:
        runs = format_count(len(found.origin.other_runs), "other run")
        yield f"also in {runs}: --run {found.origin.other_runs[0]}"
    if not found.is_whole:
        yield (
            f"{len(found.cases)} of {format_count(found.prompts, 'prompt')} shown, those first that did not pass; "
            "for others trace an id from above, or add --model MODEL or --examples N"
        )
    yield "how the finding was computed: add --sql"


def show_trace(found: Trace) -> None:
    """The tree, then how to see more or less of it."""
    requirements = dict.fromkeys(row["requirement"] for row in found.findings)
    print_trees(_head(found), [_requirement(found, requirement) for requirement in requirements])
    print_lines(*hints(found))


def _head(found: Trace) -> str:
    run, tests = found.run, format_count(found.tests, "template test")
    return readable(
        f"{found.origin.kind} {found.origin.id} in run {run['run_id']} "
        f"({run['state']}, {run['started_at']:%Y-%m-%d %H:%M} UTC): {format_count(found.prompts, 'prompt')}, "
        f"{tests} ({counts(found.outcomes)}), {format_count(found.cells, 'cell')}"
    )


def _requirement(found: Trace, requirement: str) -> Tree:
    findings = [row for row in found.findings if row["requirement"] == requirement]
    first = findings[0]
    title = f"requirement {requirement} · {first['concern']}: {demand(first)}"
    tree = Tree(format_id_line(found.origin, requirement, title), guide_style="dim")
    if first["rationale"]:
        tree.add(Text(readable(f"rationale: {first['rationale']}")))
    for finding in findings:
        _add_finding(tree, found, finding)
    return tree


def _add_finding(tree: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    refused = f"{share(row['refusal_rate'])} of replies refused, " if row["refusal_rate"] else ""
    line = Text(f"finding {readable(row['model'])}: ")
    append_state(line, row["point_finding"])
    if row["decision"]:
        line.append(f", {word_of(row['decision'])} by its interval")
    line.append(
        f" – {share(row['rate'])} of {row['measure']} passed over {row['counted_templates'] or 0} templates, "
        f"{row['cells_met']} of {row['cells']} cells met, {refused}coverage {share(row['coverage'])}"
    )
    branch = tree.add(line)
    shown = [cell for cell in found.cell_rows if _of(row, cell)]
    for cell in shown:
        _add_cell(branch, found, cell)
    rest = Counter({each["point_finding"]: each["cells"] for each in found.cells_by_finding if _of(row, each)})
    rest.subtract(Counter(cell["point_finding"] for cell in shown))
    _add_rest(branch, rest, "more cell" if shown else "cell")


def _add_rest(branch: Tree, rest: Counter[str], noun: str) -> None:
    """How many are not shown, by finding or outcome."""
    if +rest:
        branch.add(Text(f"… {format_count((+rest).total(), noun)}: {counts(+rest)}", style="dim"))


def append_state(line: Text, state: str) -> None:
    line.append(word_of(state), style=STYLES.get(state, ""))


def _of(finding: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return (finding["requirement"], finding["model"]) == (row["requirement"], row["model"])


def _add_cell(branch: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    grid = f"{row['language']} · {row['input']} · {row['reflection']}"
    line = _line(found, row["cell_id"], f"cell {row['cell_id']}", f" {grid}: ")
    append_state(line, row["point_finding"])
    line.append(f" – {share(row['rate'])} of {row['measure']} passed over {row['counted_templates']} templates")
    below = branch.add(line)
    tests = [test for test in found.test_rows if test["cell_id"] == row["cell_id"]]
    for template in dict.fromkeys(test["template_id"] for test in tests):
        _add_template(below, found, [test for test in tests if test["template_id"] == template])
    rest = Counter(found.tests_by_cell.get(row["cell_id"], {}))
    rest.subtract(Counter(test["outcome"] or "not judged" for test in tests))
    _add_rest(below, rest, "more template test")


def _add_template(below: Tree, found: Trace, tests: Rows) -> None:
    first = tests[0]
    line = _line(found, first["template_id"], f"template {first['template']}", f" ({first['template_id']})")
    if found.origin.id == first["template"]:
        line.append(f" {ASKED}", style="bold")
    branch = below.add(line)
    if first["template_text"]:
        branch.add(Text(readable(first["template_text"])))
    branch.add(Text(readable(oracle(first))))
    for test in tests:
        _add_test(branch, found, test)


def _add_test(branch: Tree, found: Trace, test: Mapping[str, Any]) -> None:
    line = Text(f"test, sample {test['sample']}: ")
    line.append(test["outcome"] or "not judged", style=OUTCOMES.get(test["outcome"], ""))
    line.append(readable(why(test)))
    if test["verdict_id"]:
        line.append(f" (verdict {readable(test['verdict_id'])})", style="dim")
        line.append_text(_line(found, test["verdict_id"], ""))
    below = branch.add(line)
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
    add_messages(branch, case["messages"])
    for response in case["responses"]:
        _add_response(branch, found, response)
    for verdict in case["verdicts"]:
        _add_verdict(branch, found, verdict)
    for assessment in case["assessments"]:
        branch.add(Text(readable(format_assessment(assessment)), style="dim"))


def _add_response(branch: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    who = "response" if row["purpose"] == "subject" else f"response of the {row['purpose']} {row['model']}"
    below = branch.add(_line(found, row["response_id"], f"{who} {row['response_id']}", circumstances(row)))
    # the system message of a judge is the same each time
    add_messages(below, [message for message in row["messages"] or () if message["role"] != "system"])
    text = None if row["error_class"] else row["text"]
    add_reply(below, text, f"{row['error_class']}: {row['error_message']}")


def _add_verdict(branch: Tree, found: Trace, row: Mapping[str, Any]) -> None:
    outcome = row["outcome"] or f"read {row['parsed_value']:f}, which SQL compares"
    line = Text("verdict " if row["stands"] else "verdict, replaced: ")
    line.append(readable(outcome), style=OUTCOMES.get(row["outcome"] or "", "") if row["stands"] else "dim")
    reason = format_reason(row["reason"])
    by = " ".join(dict.fromkeys(str(row[name]) for name in ("assessor_kind", "assessor", "reviewer") if row[name]))
    by_whom = f"{reason} (by {by or 'no one named'}; {row['verdict_id']})"
    branch.add(line.append_text(_line(found, row["verdict_id"], by_whom)))


def _line(found: Trace, id_: str, text: str, more: str = "") -> Text:
    return format_id_line(found.origin, id_, text + more)
