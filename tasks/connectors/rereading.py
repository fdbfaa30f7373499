"""Reads stored bodies of replies that could not be understood, by the reader of today; nothing is asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, cast

import polars as pl
from ulid import ULID

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import Answer, ConnectorError, Reply
from biasgrid.tasks.connectors.rows import response_row
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.lake import Lake

BodyReader = Callable[[Target, bytes], Reply]
READERS = {
    **dict.fromkeys(("openai", "azure", "huggingface"), f"{registry.PROVIDERS}.chat:read_body"),
    "replicate": f"{registry.PROVIDERS}.replicate:read_body",
    "http": f"{registry.PROVIDERS}.endpoint_format:read_body",
}
"""Function that reads a body of each shipped connector; one of a user's own is the attribute `read_body` of its
factory."""

KEYS = ["case_id", "session", "turn", "speaker", "purpose"]
CAME = pl.col("text").is_not_null() | (pl.col("raw").is_not_null() & (pl.col("error_class") == "ReplyMisplaced"))
"""A reply came and was paid for; one of another shape is stored, and is read again rather than asked for again."""


def reread(lake: Lake, run_id: str, cell_ids: Sequence[str], find_target: Callable[[str], Target]) -> int:
    """Lands the replies of cells that can be understood now, as rows next to their errors, and counts them."""
    own = lake.scan("responses", run_id, files_of_replies(cell_ids)).filter(pl.col("raw").is_not_null())
    unread = own.select("cell_id").unique().collect(engine="streaming")["cell_id"]
    return sum(_reread_cell(lake, run_id, cell_id, find_target) for cell_id in unread.sort())


def files_of_replies(cell_ids: Iterable[str]) -> list[str]:
    """Names of the files of `responses` of cells."""
    return [f"{cell_id}-*" for cell_id in cell_ids]


def _reread_cell(lake: Lake, run_id: str, cell_id: str, find_target: Callable[[str], Target]) -> int:
    own = lake.scan("responses", run_id, f"{cell_id}-*")
    read = own.filter(pl.col("text").is_not_null()).select(KEYS)
    unread = (
        own.filter(pl.col("raw").is_not_null())
        .sort("received_at", descending=True)
        .unique([*KEYS, "request_key"], keep="first", maintain_order=True)
        .join(read, on=KEYS, how="anti", nulls_equal=True)
    )
    rows = list(_read_rows(unread.collect().iter_rows(named=True), find_target))
    if rows:
        lake.write("responses", run_id, f"{cell_id}-{ULID()}", pl.DataFrame(rows, infer_schema_length=None))
    return len(rows)


def _read_rows(unread: Iterator[dict[str, Any]], find_target: Callable[[str], Target]) -> Iterator[dict[str, Any]]:
    for row in unread:
        try:
            target = find_target(row["model"])
            read = _reader(target.connector)
            reply = read(target, row["raw"].encode()) if read else None
        except (ConnectorError, UserError, ValueError):  # still not understood, or its model is no longer known
            continue
        if reply is not None:
            answer = Answer(reply, None, 0, row["latency_ms"], row["received_at"] or datetime.now(UTC))
            kept = {name: row[name] for name in ("session", "turn", "speaker", "host")}
            new_id = content_hash(row["response_id"], "reread")
            yield response_row(row, target, answer, purpose=row["purpose"]) | kept | {"response_id": new_id}


def _reader(connector: str) -> BodyReader | None:
    if connector not in READERS:
        return cast(BodyReader | None, getattr(registry.factory(connector), "read_body", None))
    module, _, name = READERS[connector].partition(":")
    return cast(BodyReader, getattr(import_module(module), name))
