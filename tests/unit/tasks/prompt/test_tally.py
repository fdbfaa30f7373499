"""Cells in which nothing is left to ask are counted together, as each of them is alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, ConnectorError, Reply
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.rows import response_row
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.tasks.prompt.tally import tally_answered
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

RUN = "01M00000000000000000000003"
REPLY = Reply("No", input_tokens=7, output_tokens=2)


def land(lake: Lake, cases: pl.DataFrame, target: Target, answer: Answer) -> None:
    journal = Journal(lake, RUN, cases["cell_id"][0])
    for case in cases.to_dicts():
        journal.append(response_row(case, target, answer))
    journal.land()


def answer(reply: Reply | None = REPLY, error: ConnectorError | None = None) -> Answer:
    return Answer(reply, error, 1, 1.0, datetime(2026, 5, 10, 12, tzinfo=UTC))


@pytest.fixture
def cells(lake, planned, target) -> dict[str, pl.DataFrame]:
    """Cases of cells by state: with all replies, with some, with one that was not understood."""
    own = {name: target.model_copy(update={"model": f"own/{name}"}) for name in ("all", "some", "misread", "more")}
    asked = {name: planned(run_id=RUN, model=named) for name, named in own.items()}
    for name in ("all", "more"):
        land(lake, asked[name], own[name], answer())
    land(lake, asked["some"].head(2), own["some"], answer())
    land(lake, asked["misread"].slice(1), own["misread"], answer())
    misplaced = ErrorMapper(own["misread"]).misplace("another shape", b'{"candidates": []}')
    land(lake, asked["misread"].head(1), own["misread"], answer(None, misplaced))
    return asked


async def test_only_cells_with_every_reply_are_counted_and_their_events_are_one_file(lake, cells):
    ids = {name: cases["cell_id"][0] for name, cases in cells.items()}
    seen = []
    before = len(lake.files("cells", RUN))
    tallies = await tally_answered(lake, RUN, [*ids.values()], lambda *case: seen.append(case))
    assert set(tallies) == {ids["all"], ids["more"]}
    assert len(lake.files("cells", RUN)) == before + 1
    assert {(model, outcome) for model, outcome, _ in seen} == {("own/all", "kept"), ("own/more", "kept")}
    assert len(seen) == cells["all"].height + cells["more"].height


async def test_a_cell_counts_the_same_alone(lake, cells, target, model, open_pool):
    own = target.model_copy(update={"model": "own/all"})
    ids = [cases["cell_id"][0] for cases in cells.values()]
    together = (await tally_answered(lake, RUN, ids, None))[ids[0]]
    event = lake.newest("cells", RUN).filter(pl.col("cell_id") == ids[0])
    async with open_pool(silent := model()) as pool:
        alone = await prompt_cell(lake, cells["all"], own, pool, retries=0)
    assert silent.keys == []
    assert replace(alone, seconds=0.0) == replace(together, seconds=0.0)
    assert alone.seconds > together.seconds > 0  # of both passes
    again = lake.newest("cells", RUN).filter(pl.col("cell_id") == ids[0])
    assert event.drop(PASS).equals(again.drop(PASS))


PASS = ["event_id", "recorded_at", "seconds"]
"""Columns in which the events of two passes differ."""


async def test_one_cell_is_left_to_the_way_that_asks(lake, cells):
    assert await tally_answered(lake, RUN, [cells["all"]["cell_id"][0]], None) == {}
    assert lake.files("cells", RUN) == []
