"""A run's scenario, and the catalog files that still match their recorded hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.reader import SHIPPED
from biasgrid.catalogs.loading.text_files import read_text
from biasgrid.catalogs.text_safety import HIDDEN, UNSEEN, code_point
from biasgrid.warehouse.build.build import fetch_rows
from biasgrid.warehouse.build.models import Model, load_models
from biasgrid.warehouse.build.sql_quoting import quote
from biasgrid.warehouse.build.text_views import no_rows, of_files
from biasgrid.warehouse.queries.lineage import script
from biasgrid.warehouse.schema_check import declared_schema, refuse_newer
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.export_files import csv_header, csv_rows, flatten_nested
from biasgrid.warehouse.storage.lake import Lake

AT_ONCE = 1_000
"""Rows that are read together; each may be a megabyte long."""
TOGETHER = 16 << 20
"""Bytes that are written as one group of rows, or a little more."""
OVER_RUNS = frozenset({"leaderboard", "paired_differences", "regressions", "trend"})
"""Marts that change with every run: what they say of one is no evidence of it."""


def write_marts(
    warehouse: duckdb.DuckDBPyConnection, run_id: str, folder: Path, hidden: Mapping[str, str] | None = None
) -> list[str]:
    """A mart each that has rows of the run; returns their names. `hidden`: values of columns that follow from what
    the records hide; None where they hide nothing."""
    written = []
    for name in _marts(warehouse):
        rows = warehouse.sql(f"from marts.{name} where run_id = ? order by all", params=[run_id]).to_arrow_table()
        if rows.num_rows:
            batches = rows.combine_chunks().to_batches(AT_ONCE)
            write_rows(
                folder,
                name,
                rows.schema,
                batches if hidden is None else (_hide_documents(one, hidden) for one in batches),
            )
            written.append(name)
    return written


def _marts(warehouse: duckdb.DuckDBPyConnection) -> list[str]:
    """Marts with a column of runs, but for OVER_RUNS."""
    known = """
        select table_name
        from information_schema.columns
        where table_catalog = current_database() and table_schema = 'marts' and column_name = 'run_id'
        order by table_name
    """
    return [name for name in fetch_rows(warehouse, known)["table_name"] if name not in OVER_RUNS]


RECOMPUTE = """-- Recomputes the marts of run {run_id} from `records/`, and compares them with `marts/`.
-- In DuckDB 1.4 or later, in the folder of the unpacked bundle: .read recompute/recompute.sql
-- or in Python: duckdb.connect().execute(open("recompute/recompute.sql", encoding="utf-8").read()).fetchall()
-- The result has a row per mart; `differing` is 0 where all rows are the same. The view `findings` then has the
-- findings; their expected numbers are in recompute/findings.json.
set TimeZone = 'UTC';
create schema lake;
"""


def write_recomputation(
    folder: Path, run_id: str, records: Collection[str], marts: Collection[str], findings: str
) -> None:
    """Writes a script that recomputes `marts` from `records` with DuckDB alone, and compares them with those that
    the bundle has. `findings`: the SELECT of the record's findings."""
    read = {*(f"marts.{name}" for name in marts), *re.findall(r"\bmarts\.\w+", findings)}
    compared = [_compare(model) for model in load_models() if model.schema == "marts" and model.name in marts]
    views = (f"create view lake.{table} as\n{_read_record(table, records)};\n" for table in TABLES)
    ends = [f"create view findings as\n{findings.strip()}", "\nunion all\n".join(compared) + "\norder by mart"]
    head = RECOMPUTE.format(run_id=run_id) + "".join(views)
    _write(folder / "recompute.sql", script(sorted(read), run_id, ends if compared else ends[:1], head=head))


def _read_record(table: str, records: Collection[str]) -> str:
    return of_files(table, f"'records/{table}.parquet'") if table in records else no_rows(table)


def _compare(model: Model) -> str:
    """A SELECT that counts rows of a mart that differ from the bundle's; the last digits of doubles may differ."""
    grain = " and ".join(_is_same(quote(name)) for name in model.about.grain)
    same = " and ".join(_is_same(quote(name), column.type) for name, column in model.about.columns.items())
    counts = f"count(*) as rows, count(*) filter (where not coalesce({same}, false)) as differing"
    both = f"{model.relation} as ours full join 'marts/{model.name}.parquet' as expected on {grain}"
    return f"select '{model.name}' as mart, {counts}\nfrom {both}"


def _is_same(name: str, kind: str = "") -> str:
    same = f"ours.{name} is not distinct from expected.{name}"
    near = f"abs(ours.{name} - expected.{name}) <= 1e-9 * greatest(1, abs(expected.{name}))"
    return f"({same} or {near})" if kind == "double" else f"({same})"


def write_records(lake: Lake, run_id: str, folder: Path, *, texts: bool = True) -> list[str]:
    """Each table of the lake in which the run has landed anything, as it landed; returns their names. Without
    `texts`, those of prompts and replies are hashes, as are the names of documents."""
    written = []
    for table in TABLES:
        files = lake.files(table, run_id)
        refuse_newer(files)
        if files:
            schema = declared_schema(table)
            rows = (batch for file in files for batch in _read_batches(file, schema))
            write_rows(folder, table, schema, rows if texts else map(_hide_documents, rows))
            written.append(table)
    return written


TEXTS = ("template_text", "instance_text", "messages", "text", "raw", "note", "error_message", "reason")
"""Columns that may quote a prompt or a reply."""


def _hide_documents(rows: pa.RecordBatch, hidden: Mapping[str, str] = {}) -> pa.RecordBatch:
    """Hashes for texts, and for what names documents: their files and ids, and where they are."""
    names = set(rows.schema.names)
    for name in set(hidden) & names:
        rows = _replace(rows, name, [hidden[name]] * len(rows))
    for name in set(TEXTS) & names:
        rows = _replace(rows, name, map(_hash_text, rows.column(name).to_pylist()))
    if {"document", "document_id"} <= names:
        rows = _replace(rows, "document", rows.column("document_id").to_pylist())
    if "facets" in names:
        rows = _replace(rows, "template", rows.column("template_id").to_pylist())
        rows = _replace(rows, "facets", map(_name_by_hash, rows.column("facets").to_pylist()))
    if "scenario_resolved" in names:
        stated = rows.select(["scenario_given", "scenario_resolved"]).to_pylist()
        files = [hide_place(one["scenario_given"], one["scenario_resolved"]) for one in stated]
        rows = _replace(rows, "scenario_given", (given for given, _ in files))
        rows = _replace(rows, "scenario_resolved", (resolved for _, resolved in files))
    return rows


def _replace(rows: pa.RecordBatch, name: str, values: Iterable[Any]) -> pa.RecordBatch:
    at = rows.schema.get_field_index(name)
    field = rows.schema.field(at)
    return rows.set_column(at, field, pa.array(list(values), field.type))


def _name_by_hash(facets: str | None) -> str | None:
    """Facets of a case, in which the id of a document, a hash, is its name."""
    if facets is None:
        return None
    own = orjson.loads(facets)
    own["members"] = [one | {"document": one["document_id"]} for one in own.get("members", ())]
    return orjson.dumps(own).decode()


def hide_scenario_hash(run: Mapping[str, Any]) -> dict[str, str]:
    """The hash of the scenario as it is in a bundle that hides the place of documents."""
    resolved = hide_place(run["scenario_resolved"])[0]
    return {} if resolved is None else {"scenario_hash": hashlib.sha256(resolved.encode()).hexdigest()}


def hide_place(*files: str | None) -> list[str | None]:
    """A file as given and as resolved, in which the documents' directory is named without what it is in."""
    resolved = orjson.loads(files[-1] or "{}")
    parts = (part.get("documents") for part in resolved.values() if isinstance(part, dict))
    place = next((part["path"] for part in parts if isinstance(part, dict)), None)
    if not place:
        return [*files]
    written = (orjson.dumps(place).decode()[1:-1], place)
    return [
        None if file is None else reduce(lambda own, one: own.replace(one, Path(place).name), written, file)
        for file in files
    ]


def _hash_text(value: Any) -> Any:
    """Of messages each content."""
    if isinstance(value, list):
        return [one | {"content": _hash_text(one["content"])} for one in value]
    return None if value is None else f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"


def _read_batches(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a file; columns younger than it are null."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=AT_ONCE):
            there = set(batch.schema.names)
            columns = (
                batch.column(one.name).cast(one.type) if one.name in there else pa.nulls(len(batch), one.type)
                for one in schema
            )
            yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def write_rows(folder: Path, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Writes `<name>.parquet` and `<name>.csv`, which is safe for spreadsheets and shows hidden characters."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        parquet = files.enter_context(pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd"))
        lines = files.enter_context((folder / f"{name}.csv").open("w", encoding="utf-8", newline=""))
        lines.write(csv_header(schema.names))
        for group in _groups(batches):
            rows = pa.Table.from_batches(group, schema)
            parquet.write_table(rows, row_group_size=rows.num_rows or None)
            rows = pl.from_arrow(rows)
            assert isinstance(rows, pl.DataFrame)  # noqa: S101 - a table becomes a frame, never a series
            flat = flatten_nested(rows)
            shown = (_visible(column) for column in flat.iter_columns() if column.dtype == pl.String)
            lines.write(csv_rows(flat.with_columns(shown)))


def _visible(texts: pl.Series) -> pl.Series:
    if not texts.str.contains(f"[{UNSEEN}]").any():
        return texts
    rows = (None if text is None else HIDDEN.sub(_show_character, text) for text in texts)
    return pl.Series(texts.name, rows, dtype=pl.String)


def _show_character(found: re.Match[str]) -> str:
    """The code point of a hidden character; a carriage return stays."""
    return "\r" if found[0] == "\r" else code_point(found)


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[Sequence[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += batch.nbytes
        if size >= TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group


DIGITS = 12
"""Of a hash, to distinguish files of one name."""
LONGEST_NAME = 150
"""Characters; the end is kept, with the suffix."""
ODD = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """A file that the run recorded the hash of."""

    name: str
    """As it was recorded."""
    recorded: str
    """SHA-256 of its text in UTF-8."""
    today: str | None
    """Of the file as it is now; None if it is gone."""

    @property
    def is_kept(self) -> bool:
        return self.today == self.recorded

    @property
    def path(self) -> str:
        """In the bundle: apart from shipped files, and from others of that name."""
        if self.name.startswith(SHIPPED):
            return f"catalogs/shipped/{'/'.join(_plain(part) for part in self.name.split('/')[1:])}"
        return f"catalogs/own/{self.recorded[:DIGITS]}-{_plain(Path(self.name).name)}"


def _plain(name: str) -> str:
    return ODD.sub("_", name)[-LONGEST_NAME:].strip(".") or "_"


def catalog_files(run: Mapping[str, Any], criteria: pl.DataFrame) -> list[CatalogFile]:
    """Those of the run and of each of its evaluations, by name."""
    recorded = [run["catalog_hashes"], *criteria["catalog_hashes"].unique(maintain_order=True)]
    pairs = {pair for rows in recorded for pair in orjson.loads(rows or "{}").items()}
    texts = {name: _text(name) for name, _ in pairs}
    return [CatalogFile(name, digest, _hash(texts[name])) for name, digest in sorted(pairs)]


def write_catalogs(files: Sequence[CatalogFile], stage: Path) -> Iterator[tuple[str, str]]:
    """Writes unchanged files; yields the path below `stage` and the recorded name of each."""
    for file in files:
        text = _text(file.name)
        if file.is_kept and text is not None:
            _write(stage / file.path, text)
            yield file.path, file.name


def kept_text(file: CatalogFile) -> str:
    """Of a file that is as it was."""
    return _text(file.name) or ""


def write_scenario(run: Mapping[str, Any], stage: Path, *, texts: bool = True) -> None:
    """As it was given, and as it was resolved; without `texts`, without the place of documents."""
    stated = run["scenario_given"] or "", run["scenario_resolved"] or "{}"
    given, content = map(str, stated if texts else hide_place(*stated))
    _write(stage / f"scenario/given.{'json' if given.lstrip().startswith('{') else 'yaml'}", given)
    resolved = orjson.dumps(orjson.loads(content), option=orjson.OPT_INDENT_2)
    _write(stage / "scenario/resolved.json", resolved.decode() + "\n")


def criteria_of(lake: Lake, run_id: str) -> pl.DataFrame:
    """What each evaluation of the run judged by, the newest last."""
    return lake.read("criteria", run_id).sort("evaluation_id", "requirement")


def _text(name: str) -> str | None:
    shipped = name.startswith(SHIPPED)
    path = Path(str(resources.files("biasgrid.catalogs"))) / name.removeprefix(SHIPPED) if shipped else Path(name)
    try:
        return read_text(path)
    except UserError:
        return None


def _hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
