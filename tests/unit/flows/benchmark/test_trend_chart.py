"""A chart shows the rates on one scale and the result of a test; its text states the same."""

import base64
import re
from typing import Any
from xml.etree import ElementTree

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
