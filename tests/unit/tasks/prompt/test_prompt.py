"""A cell is prompted: what lands, what it cost, what is not asked again."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from biasgrid.tasks.connectors.api import KeyRejected, Reply, ReplyMisplaced, Request, RequestRejected, ServerFault
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.model_pool import Answer
from biasgrid.tasks.connectors.rows import response_row, to_request
from biasgrid.tasks.connectors.workers import request_slots
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.tasks.prompt.prompt import CellSlots, prompt_cell
from biasgrid.tasks.prompt.reuse import repeated_requests, reuse_replies
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

RUN, LATER = "01M00000000000000000000001", "01M00000000000000000000002"


def landed_rows(lake: Lake, run_id: str = RUN) -> pl.DataFrame:
    return lake.read("responses", run_id)


async def test_every_case_lands_once_with_what_was_sent_and_received(lake, planned, target, model, open_pool):
    cases, echo = planned(), model(lambda request: f"No, {request.request_key}")
    async with open_pool(echo) as open_board:
        tally = await prompt_cell(lake, cases, target, open_board, retries=0)
    rows = landed_rows(lake).join(cases, on="case_id", suffix="_asked")
    assert rows.height == cases.height == len(echo.asked) > 10
    assert rows["response_id"].n_unique() == rows.height
    for row in rows.iter_rows(named=True):
        assert row["text"] == f"No, {row['request_key_asked']}"
        assert (row["messages"], row["parameters"]) == (row["messages_asked"], row["parameters_asked"])
        assert (row["attempts"], row["error_class"], row["purpose"]) == (1, None, "subject")
        assert (row["model_reported"], row["finish_reason"]) == ("as-reported", "stop")
    assert (tally.planned, tally.answered, tally.reused, tally.failed) == (rows.height, rows.height, 0, 0)
    assert list(lake.journal_folder(RUN).iterdir()) == []


async def test_the_cells_event_counts_tokens_money_and_time(lake, planned, target, model, open_pool):
    cases = planned()
    async with open_pool(model()) as open_board:
        await prompt_cell(lake, cases, target, open_board, retries=0)
    (cell,) = lake.newest("cells", RUN).to_dicts()
    count = cases.height
    assert (cell["state"], cell["planned"], cell["answered"]) == ("prompted", count, count)
    assert (cell["input_tokens"], cell["output_tokens"]) == (10 * count, 2 * count)
    # ten tokens at a dollar and two at five dollars a million
    assert cell["cost_usd"] == pytest.approx(count * 20 / 1e6)
    assert landed_rows(lake)["cost_usd"].sum() == pytest.approx(cell["cost_usd"])
    assert 0 <= cell["seconds"] < 10


async def test_a_price_that_is_unknown_is_unknown_never_zero(lake, planned, target, model, open_pool):
    unpriced = target.model_copy(update={"prices": None})
    async with open_pool(model()) as open_board:
        tally = await prompt_cell(lake, planned(), unpriced, open_board, retries=0)
    assert tally.cost_usd is None
    assert landed_rows(lake)["cost_usd"].null_count() == landed_rows(lake).height


async def test_who_watches_is_described_every_case(lake, planned, target, model, open_pool):
    cases, reported = planned(), Counter[tuple[str, str]]()
    first = cases["request_key"][0]
    partly = model(lambda request: RequestRejected("too long") if request.request_key == first else "No")
    async with open_pool(partly) as open_board:
        slots = CellSlots(request_slots(target), watch=lambda *seen: reported.update([seen[:2]]))
        await prompt_cell(lake, cases, target, open_board, retries=0, under_way=slots)
    assert reported == {("own/m", "answered"): cases.height - 1, ("own/m", "failed"): 1}


async def test_a_request_that_is_refused_is_a_row_and_the_others_are_asked(
    lake, planned, target, model, open_pool
):
    cases = planned()
    first = cases["request_key"][0]
    partly = model(lambda request: RequestRejected("too long") if request.request_key == first else "No")
    async with open_pool(partly) as open_board:
        tally = await prompt_cell(lake, cases, target, open_board, retries=3)
    failed = landed_rows(lake).filter(pl.col("error_class").is_not_null())
    assert failed.select("request_key", "error_class", "error_message", "text", "attempts").rows() == [
        (first, "RequestRejected", "too long", None, 1)
    ]
    assert (tally.answered, tally.failed, tally.stopped) == (cases.height - 1, 1, None)


async def test_a_fault_that_passes_is_one_row_with_all_its_attempts(lake, planned, target, model, open_pool):
    cases, seen = planned(), Counter[str]()

    def twice_broken(request: Request) -> Any:
        seen[request.request_key] += 1
        return "No" if seen[request.request_key] > 2 else ServerFault("500")

    async with open_pool(model(twice_broken)) as open_board:
        tally = await prompt_cell(lake, cases, target, open_board, retries=2)
    assert set(landed_rows(lake)["attempts"]) == {3}
    assert landed_rows(lake)["text"].null_count() == 0
    assert tally.answered == landed_rows(lake).height == cases.height


async def test_a_rejected_key_stops_the_cell_and_every_case_still_has_its_row(
    lake, planned, target, model, open_pool
):
    cases, keyless = planned(), model(lambda request: KeyRejected("the key is not valid"))
    async with open_pool(keyless) as open_board:
        tally = await prompt_cell(lake, cases, target, open_board, retries=3)
    assert 1 <= len(keyless.asked) <= target.limits.concurrency < cases.height
    assert (tally.stopped, tally.failed) == ("the key is not valid", cases.height)
    rows = landed_rows(lake)
    assert set(rows["error_class"]) == {"KeyRejected"}
    assert set(rows["request_key"]) == set(cases["request_key"])
    assert rows.filter(pl.col("attempts") > 0).height == len(keyless.asked)
    assert lake.newest("cells", RUN)["state"].to_list() == ["stopped"]


async def test_a_cell_that_goes_on_asks_only_what_is_missing(lake, planned, target, model, open_pool):
    cases = planned()
    there = cases.head(5)
    some = set(there["request_key"])
    half = model(lambda request: "No" if request.request_key in some else ServerFault("500"))
    async with open_pool(half) as open_board:
        before = await prompt_cell(lake, cases, target, open_board, retries=0)
    assert (before.answered, before.failed) == (5, cases.height - 5)
    rest = model()
    async with open_pool(rest) as open_board:
        after = await prompt_cell(lake, cases, target, open_board, retries=0)
    assert set(rest.keys) == set(cases["request_key"]) - some
    assert len(rest.keys) == cases.height - 5
    assert (after.answered, after.failed, after.cost_usd) == (cases.height, 0, pytest.approx(cases.height * 20e-6))
    answers = landed_rows(lake).filter(pl.col("text").is_not_null())
    assert answers["request_key"].n_unique() == answers.height == cases.height


async def test_a_journal_that_a_kill_left_behind_is_answered_already(lake, planned, target, model, open_pool):
    """A resumed run lands left-over journals first; the cell then finds its replies."""
    cases = planned()
    journal = Journal(lake, RUN, cases["cell_id"][0])
    for case in cases.head(3).to_dicts():
        reply = Answer(Reply("No"), None, 1, 1.0, datetime.now(UTC))
        journal.append(response_row(case, target, reply))
    journal.land()
    rest = model()
    async with open_pool(rest) as open_board:
        await prompt_cell(lake, cases, target, open_board, retries=0)
    assert set(rest.keys) == set(cases["request_key"][3:])


async def test_what_has_arrived_lands_when_the_cell_is_cancelled(lake, planned, target, model, open_pool):
    cases, enough = planned(), asyncio.Event()

    def counted(request: Request) -> str:
        if len(counting.asked) >= 6:
            enough.set()
        return "No"

    counting = model(counted, takes_s=0.01)
    async with open_pool(counting) as open_board:
        work = asyncio.create_task(prompt_cell(lake, cases, target, open_board, retries=0))
        await enough.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert 0 < landed_rows(lake).height == len(counting.asked) < cases.height


@pytest.mark.parametrize(("reuses", "asks"), [(False, True), (True, False)])
async def test_replies_of_another_run_stand_in_only_where_all_are_reused(
    lake, planned, target, model, open_pool, reuses, asks
):
    first = planned()
    async with open_pool(model()) as open_board:
        await prompt_cell(lake, first, target, open_board, retries=0)
    later, again = planned(run_id=LATER), model()
    if reuses:
        reuse_replies(lake, LATER)
    async with open_pool(again) as open_board:
        tally = await prompt_cell(lake, later, target, open_board, retries=0)
    count = later.height
    assert len(again.asked) == (count if asks else 0)
    assert (tally.answered, tally.reused) == ((count, 0) if asks else (0, count))
    if not asks:
        assert tally.cost_usd == 0
        assert set(landed_rows(lake, LATER)["reused_from"]) == set(landed_rows(lake, RUN)["response_id"])
        assert landed_rows(lake, LATER)["text"].to_list() == ["No"] * count


async def test_failures_of_another_run_never_stand_in(lake, planned, target, model, open_pool):
    async with open_pool(model(lambda request: ServerFault("500"))) as open_board:
        await prompt_cell(lake, planned(), target, open_board, retries=0)
    again = model()
    later = planned(run_id=LATER)
    reuse_replies(lake, LATER)
    async with open_pool(again) as open_board:
        tally = await prompt_cell(lake, later, target, open_board, retries=0)
    assert (tally.answered, tally.reused) == (len(again.asked), 0)


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one after the other"])
async def test_what_two_cells_ask_alike_is_sent_once_and_lands_in_both(
    lake, planned, target, model, open_pool, together
):
    strict, lenient, shared = planned("strict"), planned("lenient"), model()
    async with open_pool(shared) as open_board:
        open_board.expect(repeated_requests(lake, RUN))
        cells = [prompt_cell(lake, cases, target, open_board, retries=0) for cases in (strict, lenient)]
        tallies = await asyncio.gather(*cells) if together else [await cell for cell in cells]
    assert sorted(shared.keys) == sorted(strict["request_key"])
    assert sum(tally.answered for tally in tallies) == sum(tally.reused for tally in tallies) == strict.height
    assert sum(tally.cost_usd for tally in tallies) == pytest.approx(strict.height * 20e-6)
    rows = landed_rows(lake)
    assert set(rows["case_id"]) == {*strict["case_id"], *lenient["case_id"]}
    paid = rows.filter(pl.col("reused_from").is_null())
    assert set(rows["reused_from"].drop_nulls()) == set(paid["response_id"])
    assert paid.height == strict.height
    assert set(rows.filter(pl.col("reused_from").is_not_null())["cost_usd"].drop_nulls()) <= {0.0}


async def test_a_shared_reply_that_landed_before_a_kill_is_not_asked_again(
    lake, planned, target, model, open_pool
):
    strict, lenient, never = planned("strict"), planned("lenient"), model()
    async with open_pool(model()) as open_board:
        await prompt_cell(lake, strict, target, open_board, retries=0)
    async with open_pool(never) as open_board:
        open_board.expect(repeated_requests(lake, RUN))
        tally = await prompt_cell(lake, lenient, target, open_board, retries=0)
    assert never.asked == []
    assert (tally.reused, tally.answered) == (lenient.height, 0)


async def test_a_respondent_in_process_answers_like_any_other_model(lake, planned, catalog, open_pool):
    refuser = catalog.target("simulated/refuser")
    cases = planned(model=refuser)
    async with open_pool() as open_board:
        tally = await prompt_cell(lake, cases, refuser, open_board, retries=0)
    assert (tally.answered, tally.cost_usd) == (cases.height, 0)
    assert landed_rows(lake)["text"].null_count() == 0


def test_a_case_becomes_the_request_that_it_describes(planned):
    case = planned().to_dicts()[0]
    request = to_request(case)
    assert [(message.role, message.content) for message in request.messages] == [
        (message["role"], message["content"]) for message in case["messages"]
    ]
    assert (request.parameters.temperature, request.parameters.seed) == (0.5, 7)
    assert (request.request_key, request.sample) == (case["request_key"], 1)


BODY = b'{"choices": [{"finish_reason": "stop", "message": {"content": "No"}}], "usage": {"prompt_tokens": 3}}'


async def test_a_reply_that_was_not_understood_is_read_later_and_not_asked_again(
    lake, planned, target, model, open_pool, catalog
):
    named = target.model_copy(update={"model": "openai/gpt-4o-mini", "connector": "openai"})
    cases = planned(model=named)

    def misread(request: Request) -> ReplyMisplaced | str:
        if request.request_key != cases["request_key"][0]:
            return "No"
        return ErrorMapper(named).misplace("another shape", body)

    body = b'{"candidates": []}'
    for asked in (cases.height, 0):
        own = model(misread)
        async with open_pool(own) as pool:
            tally = await prompt_cell(lake, cases, named, pool, retries=3)
        assert len(own.asked) == asked
        assert (tally.answered, tally.failed) == (cases.height - 1, 1)
    (kept,) = landed_rows(lake).filter(pl.col("raw").is_not_null()).to_dicts()
    assert (kept["raw"], kept["text"], kept["error_class"]) == (body.decode(), None, "ReplyMisplaced")
    # a better reader comes: here the body becomes one that today's reader understands
    (path,) = [path for path in lake.files("responses") if "raw" in pl.read_parquet(path).columns]
    rows = pl.read_parquet(path).with_columns(raw=pl.when(pl.col("raw").is_not_null()).then(pl.lit(BODY.decode())))
    lake.write("responses", RUN, path.stem, rows)
    await evaluate_cells(lake, RUN, [cases["cell_id"][0]], Evaluation("01E", catalog))
    read = landed_rows(lake).filter(pl.col("case_id") == kept["case_id"], pl.col("text").is_not_null())
    assert read.select("text", "input_tokens", "attempts", "error_class").row(0) == ("No", 3, 0, None)
    verdicts = lake.read("verdicts", RUN).filter(pl.col("case_id") == kept["case_id"])
    assert "error" not in verdicts["outcome"].to_list()
    async with open_pool(own) as pool:
        tally = await prompt_cell(lake, cases, named, pool, retries=3)
    assert (own.asked, tally.answered, tally.failed) == ([], cases.height, 0)
