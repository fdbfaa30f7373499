"""Replies in the lake that answer a run's cases: its own, and reusable ones of other runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from biasgrid.catalogs.choices import duration_s
from biasgrid.tasks.connectors.api import Answer, Reply
from biasgrid.tasks.connectors.rereading import CAME, files_of_replies
from biasgrid.warehouse.hashing import hash_texts
from biasgrid.warehouse.storage.lake import Lake, read_again_if_compacted
from biasgrid.warehouse.storage.verification import refuse_damaged


def repeated_requests(lake: Lake, run_id: str) -> dict[str, Answer | None]:
    """Request keys shared by several cases of the run, each with its reply if that has landed."""
    keys = lake.scan("cases", run_id).group_by("request_key").len().filter(pl.col("len") > 1)
    known: dict[str, Answer | None] = dict.fromkeys(keys.collect()["request_key"])
    if known:
        landed = lake.scan("responses", run_id).join(keys, on="request_key", how="semi")
        paid = landed.filter(pl.col("text").is_not_null(), pl.col("reused_from").is_null()).collect()
        known |= {row["request_key"]: _read_answer(row) for row in paid.iter_rows(named=True)}
    return known


def _read_answer(row: dict[str, Any]) -> Answer:
    reply = Reply(
        text=row["text"],
        finish_reason=row["finish_reason"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        model_reported=row["model_reported"],
    )
    return Answer(reply, None, row["attempts"], row["latency_ms"], row["received_at"])


AT_ONCE = 20_000
"""Replies copied together: few reads of the lake, bounded memory."""
JUDGE_PREFIX = "judge-"
"""Prefix of files with a judge's replies to a cell."""
CASE_COLUMNS = ["request_key", "case_id", "cell_id"]
REPLY_COLUMNS = [
    "case_id",
    "request_key",
    "reused_from",
    "error_class",
    "input_tokens",
    "output_tokens",
    "cost_usd",
]


def read_landed(lake: Lake, run_id: str, *cell_ids: str) -> pl.DataFrame:
    """The cases of cells with a reply in this run, understood or not, one row each, with their cost."""
    own = lake.scan("responses", run_id, files_of_replies(cell_ids))
    replies = own.filter(CAME, pl.col("purpose") == "subject")
    came = replies.select(*REPLY_COLUMNS, "received_at", not_understood=pl.col("text").is_null())
    # texts are dropped as they are read: those of a cell may be more than fits into memory
    ordered = came.collect(engine="streaming").sort("not_understood", "received_at")
    return ordered.unique("case_id", keep="first", maintain_order=True).select(REPLY_COLUMNS)


def reuse_replies(
    lake: Lake, run_id: str, began: datetime | None = None, max_age: str | None = None
) -> pl.DataFrame:
    """Lands the newest matching reply of other runs for each open case; returns counts (cell_id, reused).

    Ignores replies after the run `began` or older than `max_age` (such as `7d`). Runs once, before the cells."""
    began = began or datetime.now(UTC)
    cases = _unanswered_cases(lake, run_id)
    oldest = earliest_arrival(began, max_age)
    chosen = (
        read_again_if_compacted(lambda: _find_newest(lake, run_id, cases, oldest, began))
        if cases.height
        else cases.clear()
    )
    for part in _split_cells(chosen):
        _land_copies(lake, run_id, part)
    return chosen.group_by("cell_id", maintain_order=True).len("reused")


def earlier_judgements(
    lake: Lake, run_id: str, judge: str, began: datetime, max_age: str | None = None
) -> pl.DataFrame:
    """The newest reply of a judge in other runs per request: request_key, response_id, of_run, of_cell."""
    oldest = earliest_arrival(began, max_age)

    def find() -> pl.DataFrame:
        judgements = lake.scan("responses", name=f"{JUDGE_PREFIX}*").filter(pl.col("model") == judge)
        reusable = _reusable_replies(judgements, run_id, "judge", oldest, began)
        return _select_newest(reusable).collect(engine="streaming")

    return read_again_if_compacted(find)


def reuse_judgements(lake: Lake, run_id: str, earlier: pl.DataFrame, questions: pl.DataFrame) -> None:
    """Lands the replies that `earlier_judgements` found for `questions` (request_key, case_id, cell_id)."""
    chosen = questions.select(CASE_COLUMNS).join(earlier, on="request_key", maintain_order="left")
    if chosen.height:
        _land_copies(lake, run_id, chosen, JUDGE_PREFIX)


def open_models(lake: Lake, run_id: str) -> set[str]:
    """Models of a run with at least one case without a reply."""
    return set(_unanswered_cases(lake, run_id)["model"])


def _unanswered_cases(lake: Lake, run_id: str) -> pl.DataFrame:
    answered = lake.scan("responses", run_id).filter(CAME, pl.col("purpose") == "subject")
    cases = lake.scan("cases", run_id).select(*CASE_COLUMNS, "model")
    return cases.join(answered, on=["case_id", "cell_id"], how="anti").collect()


def earliest_arrival(began: datetime, max_age: str | None) -> datetime:
    """The earliest arrival time of a reusable reply."""
    if max_age is None:
        return datetime.min.replace(tzinfo=UTC)
    try:
        return began - timedelta(seconds=duration_s(max_age))
    except OverflowError:  # older than datetime can represent
        return datetime.min.replace(tzinfo=UTC)


def _find_newest(lake: Lake, run_id: str, cases: pl.DataFrame, oldest: datetime, began: datetime) -> pl.DataFrame:
    """The cases with response_id, run and cell of a reusable reply; reads only files of their models."""
    replies = lake.scan("responses").filter(pl.col("model").is_in(cases["model"].unique().to_list()))
    asked = cases.lazy().select("request_key").unique()
    paid = _reusable_replies(replies, run_id, "subject", oldest, began).join(asked, on="request_key", how="semi")
    newest = _select_newest(paid)
    return cases.join(newest.collect(engine="streaming"), on="request_key", maintain_order="left")


def _reusable_replies(
    replies: pl.LazyFrame, run_id: str, purpose: str, oldest: datetime, began: datetime
) -> pl.LazyFrame:
    """Reusable replies of other runs, with the columns needed to choose one."""
    return replies.filter(
        pl.col("received_at").is_between(oldest, began),
        pl.col("run_id") != run_id,
        pl.col("purpose") == purpose,
        pl.col("error_class").is_null(),
        pl.col("reused_from").is_null(),
    ).select("request_key", "response_id", "received_at", "run_id", "cell_id")


def _select_newest(paid: pl.LazyFrame) -> pl.LazyFrame:
    named = (("response_id", "response_id"), ("run_id", "of_run"), ("cell_id", "of_cell"))
    newest = (pl.col(column).max_by("received_at").alias(name) for column, name in named)
    return paid.group_by("request_key").agg(newest)


def _split_cells(chosen: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Groups of whole cells with about AT_ONCE replies each."""
    sizes = chosen.group_by("cell_id", maintain_order=True).len()
    part = (sizes["len"].cum_sum() - 1) // AT_ONCE
    numbered = chosen.join(sizes.select("cell_id", part.alias("part")), on="cell_id", maintain_order="left")
    yield from numbered.partition_by("part", maintain_order=True, include_key=False)


def _land_copies(lake: Lake, run_id: str, chosen: pl.DataFrame, kind: str = "") -> None:
    refuse_damaged(lake, (path for own in chosen["of_run"].unique() for path in lake.files("responses", own)))
    names = {cell_id: f"{kind}{cell_id}-reused" for cell_id in chosen["cell_id"].unique()}
    before = lake.read("responses", run_id, [*names.values()])
    rows = pl.concat([before, _copy_rows(lake, run_id, chosen, kind).select(before.columns)])
    for (cell_id,), own in rows.partition_by("cell_id", as_dict=True).items():
        lake.write("responses", run_id, names[cell_id], own)


def _copy_rows(lake: Lake, run_id: str, chosen: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Rows of `responses` with no cost that name the original reply in `reused_from`."""
    own = chosen.select("response_id", "case_id", "cell_id")
    rows = _read_chosen(lake, chosen, kind).drop("case_id", "cell_id").join(own, on="response_id")
    response_id = pl.concat_str(pl.lit(run_id), "case_id", "response_id", separator="\x1f")
    return rows.with_columns(
        pl.lit(run_id).alias("run_id"),
        pl.col("response_id").alias("reused_from"),
        response_id.map_batches(hash_texts, return_dtype=pl.String).alias("response_id"),
        pl.lit(0.0).alias("cost_usd"),
        pl.lit(0, dtype=pl.Int64).alias("attempts"),
    )


def _read_chosen(lake: Lake, chosen: pl.DataFrame, kind: str) -> pl.DataFrame:
    """The chosen replies as landed, each once, read from the files of their cells."""
    files = chosen.select("of_run", "of_cell").unique().sort("of_run", "of_cell").rows()
    ids = chosen.select("response_id").unique().lazy()
    cells = [lake.scan("responses", of_run, f"{kind}{of_cell}-*") for of_run, of_cell in files]
    return (
        pl.concat(cells)
        .join(ids, on="response_id", how="semi")
        .unique("response_id", keep="any")
        .collect(engine="streaming")
    )
