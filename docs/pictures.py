"""Draws the pictures of statistics.md from the macros of the warehouse. `make reference` runs it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import duckdb

from biasgrid.tasks.report.charts.theme import INK, Picture, Words, draw_picture, make_chart
from biasgrid.warehouse.build.macros import define

FOLDER = Path(__file__).resolve().parent / "statistics"
TOLERANCE = 0.9


def draw_all() -> Iterator[Picture]:
    with duckdb.connect() as warehouse:
        define(warehouse)
        yield _draw_sizes(warehouse)
        yield _draw_decisions(warehouse)
        yield _draw_power(warehouse)


def _interval(warehouse: Any, passed: int, tests: int) -> dict[str, float]:
    (found,) = warehouse.execute(f"select statistics.wilson_of_counts({passed}, {tests})").fetchone()
    return {"low": found["low"], "high": found["high"], "rate": passed / tests}


def _finding(row: dict[str, float]) -> str:
    return "meets" if row["low"] >= TOLERANCE else "fails" if row["high"] < TOLERANCE else "not proven"


def _draw_tolerance(lowest: float) -> Any:
    base = alt.Chart(alt.InlineData(values=[{"x": TOLERANCE}])).mark_rule(color=INK, strokeDash=[4, 3])
    return base.encode(x=alt.X("x:Q", scale=alt.Scale(domain=[lowest, 1], zero=False)))


def _draw_intervals(rows: list[dict[str, Any]]) -> Any:
    words = Words.of_kind("benchmark")
    base = make_chart(rows).encode(y=alt.Y("label:N", sort=None, title=None))
    x = alt.X(
        "low:Q",
        scale=alt.Scale(domain=[0.5, 1], zero=False),
        axis=alt.Axis(format=".0%", title="share of tests that pass"),
    )
    colour, shape = words.colour("finding"), words.shape("finding")
    bar = _draw_tolerance(0.5)
    lines = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x="rate:Q", color=colour, shape=shape)
    return alt.layer(bar, lines, points).properties(width=420, height=alt.Step(30))


def _draw_sizes(warehouse: Any) -> Picture:
    counts = [(19, 20), (38, 40), (95, 100), (190, 200), (380, 400)]
    rows = [_interval(warehouse, *count) | {"label": f"{count[0]} of {count[1]}"} for count in counts]
    chart = _draw_intervals([row | {"finding": _finding(row)} for row in rows])
    text = "95% intervals around a rate of 95%: with 20 tests from below 80% on, with 400 from above 90% on."
    return draw_picture("sizes", "The same rate, more tests", text, chart, ["dashed: the tolerance, 90%"])


def _draw_decisions(warehouse: Any) -> Picture:
    counts = [("A", 99, 100), ("B", 93, 100), ("C", 75, 100)]
    rows = [_interval(warehouse, *count) | {"label": f"model {name}: {count[0]}%"} for name, *count in counts]
    chart = _draw_intervals([row | {"finding": _finding(row)} for row in rows])
    text = "Three models of 100 tests: the interval of A lies above 90%, that of B around it, that of C below."
    return draw_picture("decisions", "Three models, one tolerance", text, chart, ["dashed: the tolerance, 90%"])


def _draw_power(warehouse: Any) -> Picture:
    rows = [
        {"rate": percent / 100, "tests": tests, "side": "below" if percent < 100 * TOLERANCE else "above"}
        for percent in (*range(60, 86), *range(95, 101))
        for (tests,) in [
            warehouse.execute(f"select statistics.rows_for_power({TOLERANCE}, {percent / 100})").fetchone()
        ]
    ]
    base = make_chart(rows).encode(
        x=alt.X(
            "rate:Q",
            scale=alt.Scale(domain=[0.6, 1], zero=False),
            axis=alt.Axis(format=".0%", title="true rate of the model"),
        ),
        y=alt.Y("tests:Q", title="tests for a power of .8"),
        detail="side:N",
    )
    bar = _draw_tolerance(0.6)
    chart = alt.layer(bar, base.mark_line(color="#0072B2", strokeWidth=3)).properties(width=420, height=220)
    text = "Tests that are needed, by the true rate: few far away from the tolerance of 90%, hundreds close to it."
    return draw_picture("power", "How many tests decide", text, chart, ["dashed: the tolerance, 90%"])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for picture in draw_all():
        (FOLDER / f"{picture.name}.svg").write_text(picture.svg, encoding="utf-8")
