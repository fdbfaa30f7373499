"""Groups of a model's cells that share task runs, and what Prefect's UI calls them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from biasgrid.tasks.connectors.task import Label

Cell = dict[str, Any]
Group = Sequence[Cell]
"""Cells of one model, in their order."""

TASK_RUNS = 200
"""Task runs of one verb in one flow run, or one a model where there are more models. Each takes Prefect some 25 ms
of CPU here, and as much again in its server."""
COMPLETE_CELLS = 64
"""Cells without an open request that share a task run: their results are ready at once, together, and each group
compiles the patterns of its languages for itself."""
NAMED = ("concern", "language", "input", "reflection")


def shared_by(total: int) -> int:
    """Items of one group, such that all `total` are at most TASK_RUNS groups."""
    return -(-total // TASK_RUNS)


def group_cells(cells: Sequence[Cell], size: int) -> list[Group]:
    """The cells of one model in groups of `size` neighbours, of equal lengths as far as that goes."""
    count = -(-len(cells) // size)
    ends = [len(cells) * number // count for number in range(count + 1)]
    return [cells[start:end] for start, end in pairwise(ends)]


def cell_ids_of(group: Group) -> list[str]:
    return [cell["cell_id"] for cell in group]


def group_label(verb: str, group: Group, tags: Sequence[str] = ()) -> Label:
    """Label in the Prefect UI, of what the cells have in common: `prompt · gpt-4o · sexism · es_es · 12 cells`."""
    model = group[0]["model"]
    count = [f"{len(group):,} cells"] if len(group) > 1 else []
    common = (group[0][key] for key in NAMED if len({cell[key] for cell in group}) == 1)
    name = " · ".join((verb, str(model).partition("/")[2], *common, *count))
    own = dict.fromkeys(tag for cell in group for tag in (cell["concern"], cell["language"]))
    asked = dict.fromkeys(f"requirement:{cell['requirement']}" for cell in group)
    return Label(name, (*tags, model, *own, *asked))
