"""Draws a small static trend chart per requirement."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from prefect.artifacts import acreate_markdown_artifact

from biasgrid.flows.terminal.markdown import Markup, image, plain, table
from biasgrid.tasks.connectors.task import artifact_key
from biasgrid.tasks.report.figures import share
from biasgrid.warehouse.storage.lake import Lake

LARGEST = 1_000_000
"""Maximum characters of an artifact's image, which the browser loads as a whole."""


async def publish_pictures(lake: Lake, run_id: str, name: str) -> None:
    """Creates the artifact `pictures`; takes seconds because plotting libraries are loaded."""
    page = await asyncio.to_thread(pictures_page, lake, run_id)
    await acreate_markdown_artifact(
        page, artifact_key("pictures", name), f"{plain(name)}: pictures of run {run_id}"
    )


def pictures_page(lake: Lake, run_id: str) -> str:
    """Markdown with embedded images and their alternative texts."""
    from biasgrid.tasks.report.charts.pictures import pictures
    from biasgrid.tasks.report.checks import checks
    from biasgrid.warehouse.storage.runs import find_run

    run = find_run(lake, run_id)
    parts = [f"# Run `{run_id}` in pictures"]
    for one in pictures(lake, run, checks(lake, run)):
        shown = image(one.svg, one.alt) if len(one.svg) <= LARGEST else "Too large to be shown here."
        parts += [f"## {one.title}", shown, plain(one.alt)]
    return "\n\n".join([*parts, f"As files: `biasgrid report {run_id} --format pictures`"])


WIDTH, HEIGHT, EDGE = 180, 48, 5
"""Chart size in pixels, and its margin on all sides."""
LINE, DASHES, WORSE, BETTER = "#8a8f98", "#c58a1b", "#e5484d", "#30a46c"
"""Colours readable on light and dark backgrounds."""
BARS = "▁▂▃▄▅▆▇█"
SHOWN = 150
"""Maximum number of charts in one artifact, regressions first."""
LEGEND = (
    "Each chart runs from the oldest night (left) to this one (right) and from 0% (bottom) to 100% (top), so that "
    "they compare: the line is the rate, the dashes are the tolerance. A dot is a night "
    "that was **worse** (red) or **better** (green) than the one before by a test, a ring one below the floor of "
    "coverage."
)
HEADINGS = ("model", "requirement", "trend", "before → now", "change")


def trend_page(rows: Sequence[dict[str, Any]], title: str) -> str:
    """Markdown; `rows` as in `biasgrid.flows.benchmark.previous_runs.EarlierRuns.trend`."""
    more = len(rows) - SHOWN
    rest = f'\n… and {more:,} more: `biasgrid sql "from marts.trend"`\n' if more > 0 else ""
    return f"# {title}\n\n{LEGEND}\n\n{table(HEADINGS, map(_row, rows[:SHOWN]))}{rest}"


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    rates, change = row["rates"], row["changes"][-1]
    return (
        row["model"],
        row["requirement"],
        picture(row),
        f"{share(rates[-2])} → {share(rates[-1])}",
        Markup(f"**{change}**") if change in {"worse", "better"} else "",
    )


def picture(row: dict[str, Any]) -> Markup:
    """Chart of the rates, with bars and numbers as alternative text."""
    return image(chart(row), f"{bars(row['rates'])} {', '.join(map(share, row['rates']))}")


def bars(rates: Sequence[float | None]) -> str:
    """`▁▅█` from 0% to 100%; a dot if nothing was evaluated."""
    return "".join("·" if rate is None else BARS[min(int(rate * len(BARS)), len(BARS) - 1)] for rate in rates)


def chart(row: dict[str, Any]) -> str:
    """SVG line chart, interrupted at runs without a rate."""
    dashes = f'<path d="M{EDGE} {_down(row["tolerance"])}H{WIDTH - EDGE}" stroke="{DASHES}" stroke-dasharray="3"/>'
    line = f'<path d="{"".join(_strokes(row["rates"]))}" stroke="{LINE}" stroke-width="2"/>'
    size = f'width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} fill="none">{dashes}{line}{"".join(_dots(row))}</svg>'


def _strokes(rates: Sequence[float | None]) -> Iterator[str]:
    begun = False
    for number, rate in enumerate(rates):
        if rate is not None:  # a short stroke, so that a night alone is seen
            yield f"{'L' if begun else 'M'}{_right(number, len(rates))} {_down(rate)}{'' if begun else 'h1'}"
        begun = rate is not None


def _dots(row: dict[str, Any]) -> Iterator[str]:
    nights = zip(row["rates"], row["changes"], row["complete"], strict=True)
    for number, (rate, change, is_complete) in enumerate(nights):
        colour = {"worse": WORSE, "better": BETTER}.get(change)
        if rate is not None and (colour or not is_complete):
            paint = f'fill="{colour}"' if colour else f'stroke="{LINE}"'
            yield f'<circle cx="{_right(number, len(row["rates"]))}" cy="{_down(rate)}" r="4" {paint}/>'


def _right(number: int, nights: int) -> str:
    return f"{EDGE + number * (WIDTH - 2 * EDGE) / max(nights - 1, 1):.4g}"


def _down(rate: float) -> str:
    return f"{HEIGHT - EDGE - rate * (HEIGHT - 2 * EDGE):.4g}"
