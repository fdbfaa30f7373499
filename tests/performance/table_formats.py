"""Parquet with a manifest, and Delta Lake, at ten million rows on S3 (moto on loopback): seconds, requests, bytes.

    python tests/performance/table_formats.py [--rows 10000000] [--files 100]

Delta Lake is measured if deltalake can be imported, for instance from a folder of its own:

    pip install --target /tmp/delta deltalake && PYTHONPATH=/tmp/delta python tests/performance/table_formats.py
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from rig import options
from rig.table import table

sys.path.append(str(Path(__file__).parents[1]))

from biasgrid.warehouse.storage.objects.address import Address
from biasgrid.warehouse.storage.objects.mirror import SharedStorage
from support.s3_server import S3Server

RATES = "select cell_id, avg((outcome = 'passed')::int), count(*) from {} group by cell_id"
STEPS = ("write", "compact", "read at another machine", "read again", "read one run")
LARGE = 2_500_000
"""Rows of a compacted file."""


def make_batches(rows: int, files: int) -> Iterator[pa.Table]:
    """Verdicts of as many runs as files, narrow as those of the lake."""
    size = rows // files
    for number in range(files):
        ids = pl.int_range(number * size, (number + 1) * size, eager=True)
        verdicts = pl.DataFrame({"case_id": ids.hash(7).cast(pl.String), "cell_id": (ids % 50).cast(pl.String)})
        outcome = pl.when(pl.col("case_id").str.ends_with("7")).then(pl.lit("failed")).otherwise(pl.lit("passed"))
        yield verdicts.with_columns(outcome.alias("outcome"), run_id=pl.lit(f"R{number:04}")).to_arrow()


class ParquetWithManifest:
    """A file per run, compacted files in its place, and a manifest of them that is replaced last."""

    def __init__(self, server: S3Server, folder: Path) -> None:
        self.folder = folder
        self.writer = SharedStorage(Address("lakes", "parquet"), folder / "writer")
        self.reader = SharedStorage(Address("lakes", "parquet"), folder / "reader")

    def write(self, batches: Iterator[pa.Table]) -> None:
        for number, batch in enumerate(batches):
            self._publish(batch, f"{number:04}")

    def compact(self) -> None:
        lake = self.writer.root / "lake"
        small = sorted(lake.glob("*.parquet"))
        rows = pa.concat_tables(pq.read_table(path) for path in small)
        large = [self._publish(rows[at : at + LARGE], f"large-{at}") for at in range(0, len(rows), LARGE)]
        manifest = {path.name: [path.stat().st_size, _sha256(path), _runs(path)] for path in large}
        self.writer.bucket.put_bytes(json.dumps(manifest).encode(), "manifest.json")
        for path in small:
            path.unlink()
            self.writer.bucket.remove(self.writer.name(path))

    def read(self, where: str = "true") -> int:
        self.reader.bring(self.reader.root / "lake")
        files = str(self.reader.root / "lake" / "*.parquet")
        return len(duckdb.sql(f"{RATES.format(f'(from read_parquet({files!r}) where {where})')}").fetchall())

    def read_run(self) -> int:
        return self.read("run_id = 'R0007'")

    def _publish(self, rows: pa.Table, name: str) -> Path:
        path = self.writer.root / "lake" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path, compression="zstd", write_page_checksum=True)
        self.writer.publish(path, path)
        return path


class DeltaLake:
    """A Delta table with one commit per run."""

    def __init__(self, server: S3Server, folder: Path) -> None:
        self.uri = "s3://lakes/delta"
        self.options = {"AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": server.url}

    @property
    def table(self) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self.uri, storage_options=self.options)

    def write(self, batches: Iterator[pa.Table]) -> None:
        from deltalake import write_deltalake

        for batch in batches:
            write_deltalake(self.uri, batch, mode="append", storage_options=self.options)

    def compact(self) -> None:
        opened = self.table
        opened.optimize.compact(target_size=128 * 2**20)
        opened.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    def read(self, where: str = "true") -> int:
        rows = self.table.to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name
        return len(duckdb.sql(RATES.format(f"(from rows where {where})")).fetchall())

    def read_run(self) -> int:
        return self.read("run_id = 'R0007'")


def measure(kind: Callable[[S3Server, Path], Any], rows: int, files: int) -> list[tuple[float, int, float]]:
    """Seconds, requests and megabytes in the bucket after each step."""
    with S3Server().listening() as server, tempfile.TemporaryDirectory() as folder:
        os.environ.update(server.environment(Path(folder)))
        server.empty()
        lake, found = kind(server, Path(folder)), []
        batches = list(make_batches(rows, files))
        for work in (lambda: lake.write(iter(batches)), lake.compact, lake.read, lake.read, lake.read_run):
            server.requests.clear()
            begun = time.perf_counter()
            work()
            bucket = SharedStorage(Address("lakes"), Path(folder)).bucket
            taken, requests = time.perf_counter() - begun, len(server.requests)
            found.append((taken, requests, sum(one.size for one in bucket.list_objects("").values()) / 2**20))
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _runs(path: Path) -> list[str]:
    return sorted(pq.read_table(path, columns=["run_id"])["run_id"].unique().to_pylist())


def main() -> None:
    given = options(__doc__, rows=10_000_000, files=100)
    kinds: list[Any] = [ParquetWithManifest]
    try:
        import deltalake  # noqa: F401
    except ImportError:
        print("deltalake is not installed: only Parquet with a manifest is measured")
    else:
        kinds.append(DeltaLake)
    measured = [measure(kind, given.rows, given.files) for kind in kinds]
    columns = [
        "step",
        *(f"{kind.__name__} {unit}" for kind in kinds for unit in ("s", "requests", "MB")),
        "ratio of s",
    ]
    rows = []
    for step, *results in zip(STEPS, *measured, strict=True):
        rows.append([step, *(value for result in results for value in result), results[-1][0] / results[0][0]])
    print(table(f"{given.rows:,} rows in {given.files} runs", columns, rows))


if __name__ == "__main__":
    main()
