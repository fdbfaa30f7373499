"""Rows of the lake from the samples of a log: cases, responses and verdicts, a cell at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.schema.oracle import RECORDED
from biasgrid.tasks.evaluate.verdicts import in_table_form, template_verdicts, with_ids
from biasgrid.warehouse.hashing import hash_texts
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import CELL as CELL_KEYS
from biasgrid.warehouse.storage.runs import count_planned

ROW: Final[Mapping[str, Any]] = {
    "requirement": pl.String,
    "concern": pl.String,
    "model": pl.String,
    "language": pl.String,
    "prompt": pl.String,
    "chat": pl.String,
    "parameters": pl.String,
    "oracle": pl.String,
    "assessor": pl.String,
    "text": pl.String,
    "error_message": pl.String,
    "outcome": pl.String,
    "parsed_value": pl.Float64,
    "parsed_text": pl.String,
    "reason": pl.String,
    "template": pl.String,
    "cluster": pl.String,
    "given_sample": pl.Int64,
    "finish_reason": pl.String,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "cost_usd": pl.Float64,
    "latency_ms": pl.Float64,
    "received_at": pl.String,
}
"""Columns of a sample; `chat` is the JSON of its messages."""
CHAT: Final = pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
CELL: Final = ("requirement", "model", "language")
TEMPLATE: Final = ("template", "chat")
"""Columns that identify a prompt within a cell."""
MOST: Final = 50_000
"""Samples that are in memory at once while a log is read."""
MOST_LANDED: Final = 100_000
"""Samples that are in memory at once while a cell is stored, about."""
LARGEST: Final = 1e12
"""Of a score that fits into its column."""

Row = tuple[Any, ...]


def spool_cells(rows: Iterable[Row], folder: Path) -> list[Path]:
    """Writes the rows of each cell into a folder of its own; the folders, in order of appearance."""
    cells: dict[Row, Path] = {}
    for number, chunk in enumerate(_chunks(rows)):
        for key, own in chunk.partition_by(CELL, as_dict=True, maintain_order=True).items():
            cell = cells.setdefault(key, folder / f"{len(cells):06}")
            cell.mkdir(exist_ok=True)
            own.write_parquet(cell / f"{number:08}.parquet", compression="lz4")
    return list(cells.values())


def _chunks(rows: Iterable[Row]) -> Iterator[pl.DataFrame]:
    held: list[Row] = []
    for row in rows:
        held.append(row)
        if len(held) == MOST:
            yield _as_frame(held)
            held = []
    if held:
        yield _as_frame(held)


def _as_frame(rows: list[Row]) -> pl.DataFrame:
    columns = zip(*rows, strict=True)
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype=kind, strict=False)
            for (name, kind), values in zip(ROW.items(), columns, strict=True)
        ]
    )


def land_cell(lake: Lake, run_id: str, folder: Path, started_at: datetime) -> pl.DataFrame:
    """Stores cases, responses and verdicts of a cell; returns it as CELL_KEYS and `planned`."""
    rows = pl.scan_parquet(folder / "*.parquet")
    parts = -(-rows.select(pl.len()).collect().item() // MOST_LANDED)
    landed = [
        _land_part(lake, run_id, own, started_at, f"-{number}" * (number > 0))
        for number, own in enumerate(_split(rows, parts))
    ]
    return pl.concat(landed).group_by(CELL_KEYS, maintain_order=True).agg(pl.col("planned").sum())


def _split(rows: pl.LazyFrame, parts: int) -> Iterator[pl.DataFrame]:
    """The rows in parts of whole templates, whose repetitions are numbered together."""
    if parts == 1:
        yield rows.collect()
        return
    place = pl.concat_str(map(_as_text, TEMPLATE)).hash(seed=0) % parts
    for number in range(parts):
        own = rows.filter(place == number).collect(engine="streaming")
        if own.height:
            yield own


def _land_part(lake: Lake, run_id: str, rows: pl.DataFrame, started_at: datetime, part: str) -> pl.DataFrame:
    samples = _identify(rows, run_id, started_at)
    cell_id = samples["cell_id"][0]
    cases = samples.select(CASE)
    lake.write("cases", run_id, f"{cell_id}{part}", cases)
    lake.write("responses", run_id, f"{cell_id}-imported{part}", samples.select(RESPONSE))
    instances = with_ids(in_table_form(samples.select(VERDICT)), run_id, started_at)
    templates = with_ids(template_verdicts(instances, cases), run_id, started_at)
    lake.write("verdicts", run_id, f"{run_id}-{cell_id}{part}", pl.concat([instances, templates]))
    return count_planned(cases)


def _identify(rows: pl.DataFrame, run_id: str, started_at: datetime) -> pl.DataFrame:
    """With the ids of cells, templates, cases and responses; repetitions are numbered in their order."""
    sent = pl.col("chat").str.json_decode(CHAT)
    named = rows.sort("given_sample", maintain_order=True, nulls_last=True).with_columns(
        run_id=pl.lit(run_id),
        provider=pl.col("model").str.split("/").list.first(),
        input=pl.lit("verbose"),
        reflection=pl.lit("observational"),
        cell_id=_hash(*CELL),
        template_id=_hash(*TEMPLATE),
        messages=sent,
        operation=pl.lit(RECORDED),
        oracle_type=pl.lit("expected value"),
        received_at=_moment(started_at),
    )
    numbered = named.with_columns(
        sample=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("template_id"),
        instance_id=pl.col("template_id"),
        cluster=pl.coalesce("cluster", "template_id"),
    )
    keyed = numbered.with_columns(request_key=_hash(pl.lit("imported"), "model", "parameters", "sample", "chat"))
    cased = keyed.with_columns(case_id=_hash("cell_id", "template_id", "sample"))
    return cased.with_columns(response_id=_hash("run_id", "case_id"))


def _hash(*columns: str | pl.Expr) -> pl.Expr:
    """Of the texts of columns; a cell's own is computed once for all its rows."""
    text = pl.concat_str([_as_text(column) for column in columns], separator="\x1f")
    return text.map_batches(_hash_each, return_dtype=pl.String, returns_scalar=False)


def _hash_each(texts: pl.Series) -> pl.Series:
    distinct = texts.unique(maintain_order=True)
    if len(distinct) == len(texts):
        return hash_texts(texts)
    return texts.replace_strict(distinct, hash_texts(distinct), return_dtype=pl.String)


def _as_text(column: str | pl.Expr) -> pl.Expr:
    found = pl.col(column) if isinstance(column, str) else column
    return found.cast(pl.String).fill_null("")


def _moment(started_at: datetime) -> pl.Expr:
    """When a reply came, as the log has it, else when it was imported."""
    given = pl.col("received_at").str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    return given.fill_null(pl.lit(started_at).cast(pl.Datetime("us", "UTC")))


KEYS: Final = (
    "run_id",
    "cell_id",
    "case_id",
    "request_key",
    "provider",
    "model",
    "messages",
    "parameters",
    "sample",
)
CASE: Final = [
    *KEYS,
    *("requirement", "concern", "language", "input", "reflection", "template_id", "template", "cluster"),
    *("instance_id", "oracle_type", "operation", "oracle"),
    pl.col("prompt").alias("template_text"),
    pl.lit(1, pl.Int64).alias("wording"),
    pl.lit([], pl.List(pl.String)).alias("communities"),
]
RESPONSE: Final = [
    *KEYS,
    *("response_id", "text", "finish_reason", "error_message", "input_tokens", "output_tokens", "cost_usd"),
    *("latency_ms", "received_at"),
    pl.lit("subject").alias("purpose"),
    pl.lit(1, pl.Int64).alias("attempts"),
    pl.when(pl.col("text").is_null()).then(pl.lit("LoggedError")).alias("error_class"),
]
VERDICT: Final = [
    *("run_id", "cell_id", "case_id", "template_id", "sample", "response_id", "assessor", "outcome", "reason"),
    "parsed_text",
    pl.when(pl.col("parsed_value").abs() < LARGEST).then(pl.col("parsed_value").round(6)).alias("parsed_value"),
    pl.lit("instance").alias("level"),
    pl.lit("oracle").alias("assessor_kind"),
]
