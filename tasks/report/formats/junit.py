"""JUnit XML, in the dialect that Jenkins, GitLab and GitHub's actions share: a suite a model, a case a check."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.checks import Check, Gate, by_model, checks
from biasgrid.tasks.report.figures import escape_name
from biasgrid.tasks.report.phrases import caution
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.export_files import write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""The attribute of a suite that counts its cases of a kind."""


def write_junit(lake: Lake, run_id: str, out: Path, gate: Gate = "point") -> list[Path]:
    """Writes `junit.xml`."""
    run = find_run(lake, run_id)
    first = answer(lake, run_id).first
    return [write_text(out / "junit.xml", junit(run, checks(lake, run), gate, first))]


def junit(run: Run, found: Sequence[Check], gate: Gate, first: str = "") -> str:
    """Test cases of a run, whose name has the answer in its `first` sentence; an incomplete run adds one error,
    because missing data may hide a failure."""
    name = f"biasgrid {run.kind} {run.run_id}"
    root = Element("testsuites", name=f"{name}: {escape_name(first)}" if first else name)
    for number, (model, own) in enumerate(by_model(found)):
        _suite(root, run, escape_name(model), number, [_case(check, run, gate) for check in own])
    if run.state != "completed":
        _suite(root, run, "the run itself", len(root), [_incomplete(run)])
    counts = _count_cases(case for suite in root for case in suite.findall("testcase"))
    root.attrib |= {key: counts[key] for key in ("tests", "failures", "errors")}
    indent(root)
    return f"{DECLARATION}\n{tostring(root, encoding='unicode')}\n"


def _suite(root: Element, run: Run, model: str, number: int, cases: Sequence[Element]) -> None:
    suite = SubElement(
        root, "testsuite", name=model, id=str(number), timestamp=f"{run.started_at:%Y-%m-%dT%H:%M:%S}"
    )
    suite.attrib |= _count_cases(cases)
    properties = SubElement(suite, "properties")
    for key, value in (
        ("run_id", run.run_id),
        ("kind", run.kind),
        ("state", run.state),
        ("seed", str(run.seed)),
        *_caution(run),
    ):
        SubElement(properties, "property", name=key, value=value)
    suite.extend(cases)


def _caution(run: Run) -> Iterator[tuple[str, str]]:
    if text := caution(run.kind):
        yield "caution", text


def _count_cases(cases: Iterable[Element]) -> dict[str, str]:
    own = list(cases)
    count = Counter(child.tag for case in own for child in case)
    return {"tests": str(len(own))} | {counted: str(count[tag]) for tag, counted in COUNTED.items()}


def _case(check: Check, run: Run, gate: Gate) -> Element:
    case = Element(
        "testcase", classname=escape_name(f"{check.model}.{check.topic}"), name=escape_name(check.title)
    )
    tag = _tag(check, gate)
    if tag:
        message = f"{check.words}: {check.summary}"
        why = SubElement(case, tag, message=message)
        why.text = _details(check, run, message)
        if tag != "skipped":
            why.set("type", check.state(gate))
    else:
        SubElement(case, "system-out").text = check.summary
    return case


def _tag(check: Check, gate: Gate) -> str:
    """A failure as the gate has it; what is not proven is skipped, and only what is proven passes."""
    if check.state(gate) == "not met" or (gate == "decided" and check.decided != "met"):
        return "failure"
    return "" if check.decided == "met" else "skipped"


def _details(check: Check, run: Run, message: str) -> str:
    by = f"by the point rate: {check.by_point}; by the 95% interval: {check.decided}"
    return "\n".join([message, *([by] if run.kind == BENCHMARK else []), f"look closer: {_command(check, run)}"])


def _command(check: Check, run: Run) -> str:
    if run.kind != BENCHMARK:
        return f"biasgrid report {run.run_id}"
    words = ("biasgrid", "trace", check.name, "--kind", "requirement", "--model", check.model, "--run", run.run_id)
    return shlex.join(map(escape_name, words))


def _incomplete(run: Run) -> Element:
    case = Element("testcase", classname="biasgrid.run", name="the run is complete")
    message = f"the run is {run.state}: what it lacks may hide a failure; go on with: biasgrid resume {run.run_id}"
    SubElement(case, "error", message=message, type=run.state).text = message
    return case
