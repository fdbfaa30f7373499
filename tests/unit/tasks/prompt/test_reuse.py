"""Which replies stand in for asking, under each policy, and how old they may be."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, Reply, Request, ServerFault
from biasgrid.tasks.connectors.rows import response_row
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.tasks.prompt.reuse import (
    earlier_judgements,
    open_models,
    repeated_requests,
    reuse_judgements,
    reuse_replies,
)
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

OLD, NEWER, RUN = "01M00000000000000000000001", "01M00000000000000000000002", "01M00000000000000000000003"
BEGAN = datetime(2026, 5, 10, 12, tzinfo=UTC)


def answered_rows(lake: Lake, cases: pl.DataFrame, target: Target, at: datetime, reply: Reply) -> None:
    """Each of `cases` got `reply` at the same time."""
    journal = Journal(lake, cases["run_id"][0], cases["cell_id"][0])
    for case in cases.to_dicts():
        journal.append(response_row(case, target, Answer(reply, None, 1, 1.0, at)))
    journal.land()


def replies(lake: Lake, run_id: str = RUN) -> pl.DataFrame:
    return lake.read("responses", run_id).filter(pl.col("text").is_not_null())


def test_the_newest_reply_of_all_runs_stands_in(lake, planned, target):
    answered_rows(lake, planned(run_id=OLD), target, BEGAN - timedelta(days=9), Reply("before"))
    newer = planned(run_id=NEWER).head(3)
    answered_rows(lake, newer, target, BEGAN - timedelta(days=1), Reply("lately"))
    cases = planned(run_id=RUN)
    reported = reuse_replies(lake, RUN, BEGAN)
    replied = dict(replies(lake).select("case_id", "text").iter_rows())
    assert reported.rows() == [(cases["cell_id"][0], cases.height)]
    assert replied == {
        case: "lately" if case in set(newer["case_id"]) else "before" for case in cases["case_id"].to_list()
    }


@pytest.mark.parametrize(
    ("max_age", "stand_in"),
    [
        (None, True),
        ("2w", True),
        ("9d", True),
        ("8.9d", False),
        ("216h", True),
        ("215h", False),
        ("9" * 30 + "w", True),
    ],
)
def test_a_reply_that_is_too_old_when_the_run_begins_does_not_stand_in(lake, planned, target, max_age, stand_in):
    answered_rows(lake, planned(run_id=OLD), target, BEGAN - timedelta(days=9), Reply("No"))
    cases = planned(run_id=RUN)
    reuse_replies(lake, RUN, BEGAN, max_age)
    assert replies(lake).height == (cases.height if stand_in else 0)


def test_a_run_that_goes_on_finds_what_it_found_at_first(lake, planned, target):
    """What other runs have been answered since it began is theirs: its age is negative."""
    answered_rows(lake, planned(run_id=OLD).head(4), target, BEGAN - timedelta(days=1), Reply("before"))
    planned(run_id=RUN)
    reuse_replies(lake, RUN, BEGAN, "7d")
    first = replies(lake).sort("case_id")
    answered_rows(lake, planned(run_id=NEWER), target, BEGAN + timedelta(hours=1), Reply("since"))
    reported = reuse_replies(lake, RUN, BEGAN, "7d")
    assert reported.is_empty()
    assert replies(lake).sort("case_id").equals(first)
    assert set(first["text"]) == {"before"}


def test_a_content_filters_refusal_is_a_reply_and_stands_in(lake, planned, target):
    filtered = Reply("", "content_filter")
    answered_rows(lake, planned(run_id=OLD), target, BEGAN - timedelta(days=1), filtered)
    cases = planned(run_id=RUN)
    reuse_replies(lake, RUN, BEGAN)
    assert replies(lake)["finish_reason"].to_list() == ["content_filter"] * cases.height


def test_a_stand_in_names_the_reply_that_was_paid_never_another_stand_in(lake, planned, target):
    answered_rows(lake, planned(run_id=OLD), target, BEGAN - timedelta(days=3), Reply("No"))
    planned(run_id=NEWER)
    reuse_replies(lake, NEWER, BEGAN - timedelta(days=1))
    planned(run_id=RUN)
    reuse_replies(lake, RUN, BEGAN)
    assert set(replies(lake)["reused_from"]) == set(replies(lake, OLD)["response_id"])
    assert set(replies(lake)["response_id"]).isdisjoint(replies(lake, NEWER)["response_id"])
    assert replies(lake)["cost_usd"].sum() == 0


async def test_one_reply_stands_in_for_every_case_that_asks_the_same(lake, planned, target, model, open_pool):
    answered_rows(lake, planned("strict", run_id=OLD), target, BEGAN - timedelta(days=1), Reply("No"))
    strict, lenient = planned("strict", run_id=RUN), planned("lenient", run_id=RUN)
    alike = twins(strict)
    lake.write("cases", RUN, strict["cell_id"][0], alike)
    reuse_replies(lake, RUN, BEGAN)
    assert set(replies(lake)["case_id"]) == {*alike["case_id"], *lenient["case_id"]}
    assert replies(lake)["response_id"].n_unique() == replies(lake).height == alike.height + lenient.height
    async with open_pool(never := model()) as open_board:
        tally = await prompt_cell(lake, alike, target, open_board, retries=0)
    assert (tally.reused, tally.answered, never.asked) == (alike.height, 0, [])


def twins(cases: pl.DataFrame) -> pl.DataFrame:
    """Each case twice, as two templates of one text are."""
    return pl.concat([cases, cases.with_columns(pl.col("case_id", "instance_id") + "-twin")])


def test_models_whose_every_case_has_its_reply_need_not_be_asked(lake, planned, target):
    other = target.model_copy(update={"model": "own/other"})
    answered_rows(lake, planned(run_id=RUN), target, BEGAN, Reply("No"))
    asked = planned(run_id=RUN, model=other)
    assert open_models(lake, RUN) == {"own/other"}
    answered_rows(lake, asked, other, BEGAN, Reply("No"))
    assert open_models(lake, RUN) == set()


@pytest.mark.parametrize("shares", [True, False], ids=["run", "none"])
@pytest.mark.parametrize("together", [True, False], ids=["at once", "one after the other"])
async def test_each_case_is_asked_on_its_own_only_where_nothing_is_to_be_reused(
    lake, planned, target, model, open_pool, shares, together
):
    strict, lenient = twins(planned("strict", run_id=RUN)), planned("lenient", run_id=RUN)
    draw = count()
    drawing = model(lambda request: f"draw {next(draw)}", takes_s=0.001)
    async with open_pool(drawing, shares=shares) as open_board:
        open_board.expect(repeated_requests(lake, RUN))
        cells = [prompt_cell(lake, cases, target, open_board, retries=0) for cases in (strict, lenient)]
        tallies = await asyncio.gather(*cells) if together else [await cell for cell in cells]
    distinct = strict["request_key"].n_unique()
    asked = distinct if shares else strict.height + lenient.height
    assert len(drawing.asked) == sum(tally.answered for tally in tallies) == asked
    assert set(replies(lake)["case_id"]) == {*strict["case_id"], *lenient["case_id"]}
    assert replies(lake)["text"].n_unique() == asked
    assert sum(tally.cost_usd for tally in tallies) == pytest.approx(asked * 20e-6)


async def test_what_landed_for_a_case_is_not_asked_again_and_stands_for_no_other(
    lake, planned, target, model, open_pool
):
    """A run without reuse goes on after a kill."""
    cases = twins(planned(run_id=RUN))
    there = cases.head(cases.height // 2)
    answered_rows(lake, there, target, BEGAN, Reply("before"))
    rest = model(lambda request: "after")
    async with open_pool(rest, shares=False) as open_board:
        tally = await prompt_cell(lake, cases, target, open_board, retries=0)
    assert sorted(rest.keys) == sorted(there["request_key"])
    assert (tally.answered, tally.reused) == (cases.height, 0)
    replied = dict(replies(lake).select("case_id", "text").iter_rows())
    assert replied == {
        case: "after" if case.endswith("-twin") else "before" for case in cases["case_id"].to_list()
    }


async def test_a_case_that_failed_is_asked_again_when_the_run_goes_on(lake, planned, target, model, open_pool):
    cases = twins(planned(run_id=RUN))
    tries = count()

    def every_other(request: Request) -> Any:
        return "No" if next(tries) % 2 else ServerFault("500")

    async with open_pool(model(every_other), shares=False) as open_board:
        before = await prompt_cell(lake, cases, target, open_board, retries=0)
    rest = model()
    async with open_pool(rest, shares=False) as open_board:
        after = await prompt_cell(lake, cases, target, open_board, retries=0)
    assert before.failed == len(rest.asked) == cases.height // 2
    assert (after.answered, after.failed) == (cases.height, 0)


def test_the_newest_judgement_of_other_runs_stands_in_for_asking_the_same_judge(lake, planned, target):
    for run, days, replied in ((OLD, 9, "before"), (NEWER, 1, "lately"), (RUN, 2, "own")):
        judged_rows(lake, planned(run_id=run).head(3), target, BEGAN - timedelta(days=days), replied)
    other = target.model_copy(update={"model": "own/other"})
    judged_rows(lake, planned(run_id=OLD).tail(1), other, BEGAN - timedelta(days=1), "another judge")
    answered_rows(lake, planned(run_id=OLD).tail(1), target, BEGAN - timedelta(days=1), Reply("no judgement"))
    cases = planned(run_id=RUN)
    earlier = earlier_judgements(lake, RUN, target.model, BEGAN, "7d")
    assert set(earlier["request_key"]) == set(cases["request_key"].head(3))
    reuse_judgements(lake, RUN, earlier, cases)
    rows = lake.read("responses", RUN).filter(pl.col("reused_from").is_not_null())
    assert set(rows["case_id"]) == set(cases["case_id"].head(3))
    assert rows.select(pl.col("text", "purpose", "cost_usd", "attempts").unique()).rows() == [
        ("lately", "judge", 0.0, 0)
    ]


@pytest.mark.parametrize(("max_age", "found"), [(None, 3), ("10d", 3), ("1d", 0)])
def test_a_judgement_is_as_old_as_a_reply_may_be(lake, planned, target, max_age, found):
    judged_rows(lake, planned(run_id=OLD).head(3), target, BEGAN - timedelta(days=9), "before")
    judged_rows(lake, planned(run_id=NEWER).head(3), target, BEGAN + timedelta(days=1), "since")
    assert earlier_judgements(lake, RUN, target.model, BEGAN, max_age).height == found


def judged_rows(lake: Lake, cases: pl.DataFrame, target: Target, at: datetime, replied: str) -> None:
    """A judge's reply to a question about each of `cases`."""
    journal = Journal(lake, cases["run_id"][0], f"judge-{cases['cell_id'][0]}")
    for case in cases.to_dicts():
        journal.append(response_row(case, target, Answer(Reply(replied), None, 1, 1.0, at), purpose="judge"))
    journal.land()
