"""A run's pictures in the Prefect UI: those that `biasgrid report --format pictures` writes."""

from __future__ import annotations

import asyncio

from prefect.artifacts import acreate_markdown_artifact

from biasgrid.flows.terminal.markdown import image, plain
from biasgrid.warehouse.storage.lake import Lake

LARGEST = 1_000_000
"""Signs of a picture that an artifact holds: it is loaded as a whole whenever somebody looks."""


async def publish_pictures(lake: Lake, run_id: str, name: str) -> None:
    """Create the artifact `pictures`. Drawing takes seconds, most of them to load what draws."""
    page = await asyncio.to_thread(pictures_page, lake, run_id)
    await acreate_markdown_artifact(page, "pictures", f"{plain(name)}: pictures of run {run_id}")


def pictures_page(lake: Lake, run_id: str) -> str:
    """Markdown that needs no server: the pictures stand in it, with their words for who does not see them."""
    from biasgrid.tasks.report.charts.run_charts import pictures
    from biasgrid.tasks.report.checks import checks
    from biasgrid.warehouse.storage.runs import find

    run = find(lake, run_id)
    parts = [f"# Run `{run_id}` in pictures"]
    for one in pictures(lake, run, checks(lake, run)):
        shown = image(one.svg, one.alt) if len(one.svg) <= LARGEST else "Too large to be shown here."
        parts += [f"## {one.title}", shown, plain(one.alt)]
    return "\n\n".join([*parts, f"As files: `biasgrid report {run_id} --format pictures`"])
