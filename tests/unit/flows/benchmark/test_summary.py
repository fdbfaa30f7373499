"""The page of a finished run: what became worse first, and commands that can be copied as they are. A chart shows
the rates on one scale and the result of a test; its text states the same.
"""

import base64
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.benchmark.summary import NightTables, changed_page, summary
from biasgrid.flows.benchmark.trend_chart import (
    EDGE,
    HEIGHT,
    SHOWN,
    WIDTH,
    WORSE,
    bars,
    chart,
    picture,
    trend_page,
)
from biasgrid.flows.terminal.markdown import Markup

ODD = "equal *treatment*, it's |all|"


def finding(requirement: str = "alike", point: str = "met") -> dict[str, Any]:
    rates = {"rate": 0.5, "measure": "tests", "tolerance": 0.9}
    return {"model": "a/x", "requirement": requirement, "point_finding": point, "decision": point, **rates}


def change(finding: str, requirement: str = "alike") -> dict[str, Any]:
    rates = {"rate": 0.75, "earlier_rate": 0.9, "templates": 1200, "test": "McNemar", "q_value": 0.0012}
    return {"model": "a/x", "requirement": requirement, "finding": finding, "earlier_run_id": "R0", **rates}


def page(*findings: dict[str, Any], before: EarlierRuns | None = None, **more: Any) -> str:
    found = Outcome(run_id="R1", findings=[*findings], incomplete=False, failures=[], places={"lake": Path()})
    return summary(found, "mine", "/my data", before, **more)


def commands(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.splitlines() if line.startswith("biasgrid ")]


def test_what_became_worse_comes_first_in_words_with_its_test():
    text = page(finding(), before=EarlierRuns([change("worse", ODD), change("better")], []))
    sentence = (
        r"- **equal \*treatment\*, it's \|all\|** of a/x passes 75.0% over the 1,200 templates that both "
        "runs judged, 90.0% before (McNemar, q = 0.0012)"
    )
    assert sentence in text
    assert text.index(sentence) < text.index("## Requirements")
    assert text.count("that both runs judged") == 1


def test_a_command_that_is_copied_names_the_finding_the_run_and_the_data():
    text = page(finding(ODD, "not met"), finding("other"), before=EarlierRuns([change("better")], []))
    report, compare, sql, trace = commands(text)
    assert report == ["biasgrid", "report", "R1", "--data", "/my data"]
    assert compare == ["biasgrid", "compare", "R0", "R1", "--data", "/my data"]
    assert sql[2] == "from marts.requirement_findings where run_id = 'R1'"
    wanted = ["trace", ODD, "--kind", "requirement", "--model", "a/x", "--run", "R1", "--data", "/my data"]
    assert trace == ["biasgrid", *wanted]


def test_a_first_run_is_compared_with_nothing():
    text = page(finding())
    assert "compare" not in text
    assert "Worse" not in text


def test_of_many_that_are_not_met_the_first_get_a_command_and_the_rest_is_counted():
    text = page(*(finding(f"r{number}", "not met") for number in range(20)))
    assert [words[2] for words in commands(text) if words[1] == "trace"] == [f"r{number}" for number in range(12)]
    assert "and 8 more" in text


def test_a_night_links_who_asked():
    text = page(finding(), night=NightTables([("shard · x_*y*", "Completed", Markup("[open](/runs/flow-run/1)"))]))
    assert r"| shard · x\_\*y\* | Completed | [open](/runs/flow-run/1) |" in text


def test_the_comparison_page_states_that_nothing_is_worse():
    text = changed_page(EarlierRuns([change("no difference shown")], []), "R1")
    assert "Run `R1` against `R0`" in text
    assert "Nothing is worse by a test." in text
    assert "| a/x | alike | no difference shown | 90.0% → 75.0% | 1,200 | 0.0012 | McNemar |" in text


SVG = "{http://www.w3.org/2000/svg}"


def row(*rates: float | None, changes: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    about = {"model": "a/x", "requirement": "alike", "tolerance": 0.5, "finding": "met"}
    changed = [*changes] or ["no difference shown"] * len(rates)
    return about | {"rates": [*rates], "changes": changed, "complete": [True] * len(rates)} | more


def line_of(svg: str) -> list[tuple[str, float, float]]:
    """Commands of the line: move or line, to the right, down."""
    _, line = ElementTree.fromstring(svg).findall(f"{SVG}path")
    found = re.findall(r"([ML])([\d.]+) ([\d.]+)", line.attrib["d"])
    return [(command, float(right), float(down)) for command, right, down in found]


def test_all_charts_run_from_nothing_at_the_bottom_to_all_at_the_top():
    assert line_of(chart(row(0.0, 1.0))) == [("M", EDGE, HEIGHT - EDGE), ("L", WIDTH - EDGE, EDGE)]


def test_the_dashes_are_at_the_tolerance():
    dashes, _ = ElementTree.fromstring(chart(row(0.0, 1.0))).findall(f"{SVG}path")
    assert dashes.attrib["d"] == f"M{EDGE} {HEIGHT // 2}H{WIDTH - EDGE}"


def test_a_night_without_a_rate_breaks_the_line():
    assert [command for command, *_ in line_of(chart(row(0.5, 0.5, None, 0.5)))] == ["M", "L", "M"]


def test_a_night_that_was_worse_has_a_red_dot_and_others_have_none():
    svg = ElementTree.fromstring(chart(row(0.9, 0.4, changes=("not compared", "worse"))))
    (dot,) = svg.findall(f"{SVG}circle")
    assert (dot.attrib["fill"], float(dot.attrib["cx"])) == (WORSE, WIDTH - EDGE)


def test_a_night_below_the_floor_of_coverage_has_a_ring():
    svg = ElementTree.fromstring(chart(row(0.9, 0.9, complete=[True, False])))
    (ring,) = svg.findall(f"{SVG}circle")
    assert "fill" not in ring.attrib


def test_bars_have_the_same_text():
    assert bars([0.0, 0.5, None, 1.0]) == "▁▅·█"
    assert picture(row(0.25, None)).startswith("![▃· 25.0%, –](data:image/svg+xml;base64,")


def test_the_page_documents_its_scale_and_shows_rates_and_change_next_to_each_chart():
    page = trend_page([row(0.9, 0.4, changes=("not compared", "worse"), requirement="a|b")], "Nights")
    assert "0% (bottom) to 100% (top)" in page
    *_, last = page.strip().splitlines()
    assert last.startswith(r"| a/x | a\|b | ![")
    assert last.endswith("| 90.0% → 40.0% | **worse** |")
    assert base64.b64decode(last.partition("base64,")[2].partition(")")[0]).startswith(b"<svg")


def test_of_very_many_the_rest_is_counted():
    assert "and 2 more" in trend_page([row(0.5, 0.5)] * (SHOWN + 2), "Nights")
