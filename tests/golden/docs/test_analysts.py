"""The steps of the analysts' guide, done as it describes them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copyfile, copytree
from typing import Any

import duckdb
import polars as pl
import pytest

from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.queries.lineage import as_script
from biasgrid.warehouse.storage.lake import Lake

CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def blocks(docs: Path) -> list[str]:
    return CODE.findall((docs / "guides" / "analysts.md").read_text(encoding="utf-8"))


def in_a_process_of_its_own(program: str, folder: Path, **settings: str) -> str:
    """Standard output of a program that can import no pytz, which DuckDB uses for times but does not require."""
    command = [sys.executable, "-c", f"import sys\nsys.modules['pytz'] = None\n{program}"]
    own = {**os.environ, **settings}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_in_the_guide_runs_as_it_stands(analysed, docs, tmp_path):
    (tmp_path / "data").symlink_to(analysed.root)
    (tmp_path / "lake.sql").write_text(as_script(analysed), encoding="utf-8")
    assert len(blocks(docs)) == 3
    result = in_a_process_of_its_own("\n".join([*blocks(docs), "print(answers.write_csv())"]), tmp_path)
    (run_id,) = analysed.runs()
    assert f"{run_id},simulated/refuser,refused," in result


@pytest.fixture
def contested(analysed: Lake, tmp_path: Path) -> Lake:
    """Three verdicts that a person replaced, and files that landed twice."""
    lake = Lake(Path(copytree(analysed.root, tmp_path / "data")))
    (run_id,) = lake.runs()
    verdicts = lake.read("verdicts", run_id).filter(level="instance", outcome="failed").head(3)
    new = pl.format("{}-reviewed", "verdict_id").alias("verdict_id")
    person = {"assessor_kind": "person", "assessor": "ana", "reviewer": "ana", "outcome": "passed"}
    changed = {"supersedes": pl.col("verdict_id"), **{name: pl.lit(value) for name, value in person.items()}}
    lake.write("verdicts", run_id, "review", verdicts.with_columns(new, **changed))
    for table in ("verdicts", "responses"):
        path = lake.files(table, run_id)[0]
        copyfile(path, path.with_name(f"{path.stem}-again.parquet"))
    build(lake)
    return lake


def test_polars_counts_what_the_warehouse_counts(contested, docs, tmp_path):
    (polars,) = (block for block in blocks(docs) if "scan_parquet" in block)
    program = f"{polars}\nanswers.write_parquet('answers.parquet')"
    in_a_process_of_its_own(program, tmp_path)
    with duckdb.connect(contested.database, read_only=True) as warehouse:
        expected = warehouse.sql("""
            select replies.run_id, replies.model, verdicts.outcome, count(*) as replies
            from staging.stg_verdicts as verdicts
            inner join staging.stg_responses as replies using (run_id, response_id)
            where verdicts.level = 'instance'
            group by all
            order by all
        """).fetchall()
    found = pl.read_parquet(tmp_path / "answers.parquet").rows()
    assert sorted(found, key=str) == sorted(expected, key=str)


def notebook(docs: Path) -> dict[str, Any]:
    return dict(json.loads((docs / "guides" / "analysis.ipynb").read_text(encoding="utf-8")))


def test_the_notebook_is_small_and_holds_no_outputs(docs):
    result = notebook(docs)
    cells = result["cells"]
    assert (result["nbformat"], len({cell["id"] for cell in cells})) == (4, len(cells))
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if "outputs" in cell)
    assert (docs / "guides" / "analysis.ipynb").stat().st_size < 8_000


def test_the_notebook_runs_from_top_to_bottom_without_jupyter(analysed, docs):
    code = ["".join(cell["source"]) for cell in notebook(docs)["cells"] if cell["cell_type"] == "code"]
    shown = "print(findings.height, weakest.height, contrasts.height, chart['failed'][0], chart.height)"
    result = in_a_process_of_its_own("\n".join([*code, shown]), docs, BIASGRID_DATA=str(analysed.root))
    *counts, last = result.split()
    assert all(int(count) > 0 for count in counts[:3])
    assert counts[3].startswith("█")
    assert last == counts[2]
