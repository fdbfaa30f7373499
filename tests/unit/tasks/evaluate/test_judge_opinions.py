"""A judge is asked as any model is: nothing twice, not for ever, and nothing lost."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prefect.states import Failed

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.tasks.connectors.api import ServerFault
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import PER_REQUEST, START, Backoff
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.tasks.evaluate.second_opinions import JudgeSession
from biasgrid.tasks.evaluate.task import evaluate
from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.lake import Lake
from support.oracle_replies import land_cell
from support.prompted_cells import Model

Rows = Callable[..., pl.DataFrame]
RETRIES = 50
DOUBTED = 30
PASSED = '{"verdict": "passed", "reason": "so it is"}'


@dataclass(frozen=True)
class Noting(Lake):
    """Notes which thread writes and reads what."""

    busy: list[str] = field(default_factory=list)

    def write(self, table: str, run_id: str, name: str, rows: Any) -> Path:
        self.busy.append(threading.current_thread().name)
        return super().write(table, run_id, name, rows)

    def scan(self, table: str, run_id: str | None = None, name: str | None = None) -> pl.LazyFrame:
        self.busy.append(threading.current_thread().name)
        return super().scan(table, run_id, name)


@pytest.fixture
def target() -> Target:
    return Target(model="own/judge", provider="own", name="judge", connector="own", limits=Limits(concurrency=4))


@pytest.fixture
def lake(tmp_path: Path, cases: Rows, responses: Rows) -> Noting:
    """A cell whose every reply failed its oracle, each in words of its own."""
    lake = Noting(tmp_path)
    land_cell(lake, cases, responses, (f"Of course, {n}" for n in range(DOUBTED)))
    lake.busy.clear()
    return lake


async def judge_replies(lake: Lake, catalog: Catalog, target: Target, judge: Model, **given: Any) -> pl.DataFrame:
    backoff = Backoff(first_s=0.0001, longest_s=0.0002, outage_s=0.05)
    async with ModelPool(catalog, backoff=backoff, connect=judge) as model_pool:
        session = JudgeSession(target, model_pool, RETRIES, **given)
        await evaluate_cells(lake, "run", ["cell"], Evaluation("evaluation", catalog, session))
    return lake.read("responses", "run", "judge-*")


async def test_a_judge_in_trouble_is_not_asked_for_ever(lake, catalog, target):
    judge = Model(lambda _: ServerFault("500"))
    rows = await judge_replies(lake, catalog, target, judge)
    assert rows.height == DOUBTED
    assert len(judge.asked) <= START + (1 + PER_REQUEST) * DOUBTED


async def test_judgements_are_read_and_written_off_the_event_loop(lake, catalog, target):
    own = threading.current_thread().name
    judge = Model(lambda _: PASSED)
    async with ModelPool(catalog, connect=judge) as model_pool:
        evaluation = Evaluation("evaluation", catalog, JudgeSession(target, model_pool))
        await evaluate_cells(lake, "run", ["cell"], evaluation)
    assert len(judge.asked) == DOUBTED
    assert own not in lake.busy


async def test_what_another_run_received_is_not_asked_again(lake, catalog, target):
    first = await judge_replies(lake, catalog, target, Model(lambda _: PASSED))
    half = first.sort("request_key").head(DOUBTED // 2)
    for path in lake.files("responses", "run", "judge-*"):
        path.unlink()
    questions: list[pl.DataFrame] = []

    def spare(asked: pl.DataFrame) -> None:
        questions.append(asked)
        lake.write("responses", "run", "judge-cell-reused", half)

    judge = Model(lambda _: PASSED)
    rows = await judge_replies(lake, catalog, target, judge, spare=spare)
    assert [set(asked["request_key"]) for asked in questions] == [set(first["request_key"])]
    assert {request.request_key for request in judge.asked} == set(first["request_key"]) - set(half["request_key"])
    assert set(rows["request_key"]) == set(first["request_key"])


@pytest.mark.parametrize(
    ("error", "again"), [(StorageTrouble(Path("lake"), errno.ENOSPC), False), (OSError(), True)]
)
def test_a_full_disk_is_not_tried_again_a_second_later(error, again):
    may = evaluate.retry_condition_fn
    assert may is None or may(evaluate, None, Failed(data=error)) is again
    assert may is not None
