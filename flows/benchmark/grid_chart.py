"""Draws a run's grid as a heat map: requirement and language by model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

from biasgrid.flows.runs.outcome import read_rows
from biasgrid.flows.terminal.markdown import image
from biasgrid.tasks.report.figures import share
from biasgrid.warehouse.storage.lake import Lake

CELLS: Final = """
    select
        model,
        concat(requirement, ' · ', language) as test,
        min(rate) as rate,
        coalesce(arg_min(tolerance, rate), max(tolerance)) as tolerance
    from marts.pass_rates
    where run_id = ?
    group by model, requirement, language
    order by requirement, language, model
"""
"""The lowest rate of the inputs and reflections of each."""
ROWS, COLUMNS = 60, 24
"""As many as can still be read."""
SIDE, LABEL, HEAD, LETTER = 34, 300, 170, 42
"""Pixels of a cell and of the labels; letters of a label."""
BELOW, ABOVE, NONE, INK, NUMBER = "#e8894a", "#5ba3d0", "#8a8f98", "#8a8f98", "#1c1f24"
"""Colours readable on light and dark backgrounds."""
LEGEND = (
    "The lowest pass rate of each requirement in each language, in percent: orange is below the tolerance, blue "
    "is at or above it, the fuller the farther; grey was not evaluated."
)


def grid_page(lake: Lake, run_id: str) -> str:
    """Markdown with the heat map of a run, and its numbers as alternative text."""
    (rows,) = read_rows(lake, run_id, CELLS)
    tests, models = (list(dict.fromkeys(row[name] for row in rows)) for name in ("test", "model"))
    models.sort()
    shown = [row for row in rows if row["test"] in tests[:ROWS] and row["model"] in models[:COLUMNS]]
    hidden = len(rows) - len(shown)
    more = f'\n\n… and {hidden:,} more cells: `biasgrid sql "from marts.pass_rates"`' if hidden else ""
    numbers = ", ".join(f"{row['test']} of {row['model']} {share(row['rate'])}" for row in shown)
    drawn = image(chart(shown, tests[:ROWS], models[:COLUMNS]), numbers)
    return f"# The grid of run `{run_id}`\n\n{LEGEND}\n\n{drawn}{more}"


def chart(rows: Sequence[dict[str, Any]], tests: Sequence[str], models: Sequence[str]) -> str:
    """SVG with a square for each row, at its test and model."""
    size = f'width="{LABEL + SIDE * len(models) + HEAD}" height="{HEAD + SIDE * len(tests) + 4}"'
    squares = "".join(_square(row, models.index(row["model"]), tests.index(row["test"])) for row in rows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="{INK}">'
        f"{''.join(_labels(tests, models))}{squares}</svg>"
    )


def _labels(tests: Sequence[str], models: Sequence[str]) -> Iterator[str]:
    for down, test in enumerate(tests):
        at = f'x="{LABEL - 8}" y="{HEAD + SIDE * down + 21}"'
        yield f'<text {at} text-anchor="end">{_short(test)}</text>'
    for right, model in enumerate(models):
        x, y = LABEL + SIDE * right + 18, HEAD - 8
        name = _short(model.partition("/")[2] or model)
        yield f'<text x="{x}" y="{y}" transform="rotate(-35 {x} {y})">{name}</text>'


def _short(text: str) -> str:
    return escape(text if len(text) <= LETTER else f"{text[: LETTER - 1]}…")


def _square(row: dict[str, Any], right: int, down: int) -> str:
    x, y, rate = LABEL + SIDE * right, HEAD + SIDE * down, row["rate"]
    title = f"<title>{escape(row['test'])}, {escape(row['model'])}: {share(rate)}</title>"
    place = f'x="{x}" y="{y}" width="{SIDE - 2}" height="{SIDE - 2}" rx="3"'
    if rate is None:
        return f'<rect {place} fill="{NONE}" fill-opacity="0.3">{title}</rect>'
    paint = BELOW if rate < row["tolerance"] else ABOVE
    opacity = 0.15 + 0.75 * min(abs(rate - row["tolerance"]) / 0.5, 1)
    square = f'<rect {place} fill="#fff"/><rect {place} fill="{paint}" fill-opacity="{opacity:.2f}"/>'
    middle = f'x="{x + SIDE / 2 - 1:g}" y="{y + 21}" text-anchor="middle"'
    return f'<g>{square}<text {middle} fill="{NUMBER}">{100 * rate:.0f}</text>{title}</g>'
