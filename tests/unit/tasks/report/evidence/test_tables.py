"""Rows as Parquet and CSV: whatever a model writes, a table stays a table."""

from __future__ import annotations

import csv
import io

import polars as pl
import pyarrow as pa

from biasgrid.tasks.report.evidence.sources import write_rows

TEXTS = {
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    "\n=1+1": "'\n=1+1",
    "\uff1d1+1": "'\uff1d1+1",
    "ends \u202egnippilf\u202c": "ends U+202EgnippilfU+202C",
    "hidden\x00rest\x1b[31m": "hiddenU+0000restU+001B[31m",
    "\ufeff=1": "U+FEFF=1",
    'a "b",\r\nc': 'a "b",\r\nc',
}
"""Replies, and how CSV has them."""


def test_csv_shows_what_hides_and_runs_nothing_and_parquet_has_it_as_it_was(tmp_path):
    rows = pa.table({"text": [*TEXTS, None], "of": [[text] for text in (*TEXTS, "x")]})
    write_rows(tmp_path, "replies", rows.schema, rows.to_batches())
    assert pl.read_parquet(tmp_path / "replies.parquet")["text"].to_list() == [*TEXTS, None]
    content = (tmp_path / "replies.csv").read_bytes().decode()
    read = csv.DictReader(io.StringIO(content, newline=""))
    assert [row["text"] for row in read] == [*TEXTS.values(), ""]
    assert not {"\x00", "\x1b", "\u202e"} & set(content)
