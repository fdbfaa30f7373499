"""A bundle's numbers, computed again by DuckDB alone from the records in the bundle."""

import json
from pathlib import Path
from shutil import copytree
from zipfile import ZipFile

import polars as pl
import pytest

from biasgrid.tasks.report.evidence.write import write_evidence
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from support.earlier_duckdb import run_program

pytestmark = pytest.mark.drill

PROGRAM = """
import json, os, sys, duckdb

os.chdir(sys.argv[1])
session = duckdb.connect()
compared = session.execute(open("recompute/recompute.sql", encoding="utf-8").read()).fetchall()
rows = session.execute("select to_json(found)::varchar from findings as found").fetchall()
findings = [json.loads(row) for (row,) in rows]
assert "biasgrid" not in sys.modules and "polars" not in sys.modules
print(json.dumps([compared, findings]))
"""


@pytest.mark.parametrize("kind", ["landed", "probed", "attacked", "talked"])
@pytest.mark.parametrize("version", ["this", "earlier"])
def test_every_finding_and_every_mart_comes_out_as_it_stands_in_the_bundle(kind, version, request, tmp_path):
    run = request.getfixturevalue("earlier_duckdb") if version == "earlier" else run_program
    source = request.getfixturevalue(kind)
    lake, run_id = (source, "R1") if isinstance(source, Lake) else (Lake(source.data), source.run_id)
    (path,) = write_evidence(lake, run_id, tmp_path)
    compared, findings = recompute(path, tmp_path / "unpacked", run)
    expected = json.loads((tmp_path / "unpacked" / "recompute" / "findings.json").read_bytes())
    assert [without_last_digits(row) for row in findings] == [without_last_digits(row) for row in expected]
    assert len(findings) > 0
    marts = {file.stem for file in (tmp_path / "unpacked" / "marts").glob("*.parquet")}
    assert {mart for mart, _, _ in compared} == marts
    assert [mart for mart, rows, differing in compared if differing or not rows] == []


def recompute(bundle: Path, folder: Path, run=run_program):
    with ZipFile(bundle) as opened:
        opened.extractall(folder)
    return json.loads(run(PROGRAM, folder))


def without_last_digits(row):
    return {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}


def test_a_verdict_that_was_changed_in_the_records_changes_what_is_compared(written, tmp_path):
    recompute(written, tmp_path)
    verdicts = pl.read_parquet(tmp_path / "records" / "verdicts.parquet")
    turned = pl.when(pl.col("outcome") == "failed").then(pl.lit("passed")).otherwise("outcome").alias("outcome")
    verdicts.with_columns(turned).write_parquet(tmp_path / "records" / "verdicts.parquet")
    compared, _ = json.loads(run_program(PROGRAM, tmp_path))
    assert {"pass_rates", "requirement_findings"} <= {mart for mart, _, differing in compared if differing}


def test_a_file_that_is_not_as_it_was_written_is_in_no_bundle(landed, tmp_path):
    lake = Lake(Path(copytree(landed.root, tmp_path / "data")))
    path = lake.files("verdicts", "R1")[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(LakeDamaged, match="verdicts"):
        write_evidence(lake, "R1", tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.zip"))
