"""All pictures of a run, by its kind, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from biasgrid.tasks.report.charts.differences import contrasts, escalation, trend
from biasgrid.tasks.report.charts.draw import Picture
from biasgrid.tasks.report.charts.heat_map import grid, leaderboard
from biasgrid.tasks.report.charts.measures import measures
from biasgrid.tasks.report.checks import Check
from biasgrid.tasks.report.escape import escape_markdown
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

MORE = {"benchmark": (leaderboard, grid, contrasts, trend), "interaction": (escalation,)}
"""Beside the measures, which every kind of run has."""


def pictures(lake: Lake, run: Run, found: Sequence[Check]) -> list[Picture]:
    """Those that have anything to show. Raises UserError where no warehouse has been built."""
    made = [measures(run.kind, found), *(draw(lake, run.run_id) for draw in MORE.get(run.kind, ()))]
    return [picture for picture in made if picture]


def files(run: Run, made: Iterable[Picture]) -> dict[str, str | bytes]:
    """By name: SVG and PNG of each, and a page of Markdown that shows them and says in words what they show."""
    told: dict[str, str | bytes] = {}
    page = [f"# {run.kind} `{run.run_id}`"]
    for picture in made:
        told |= {f"{picture.name}.svg": picture.svg, f"{picture.name}.png": picture.png()}
        words = escape_markdown(picture.alt)
        page += [f"## {picture.title}", f"![{words}]({picture.name}.svg)", words]
    return told | {"pictures.md": "\n\n".join(page) + "\n"}
