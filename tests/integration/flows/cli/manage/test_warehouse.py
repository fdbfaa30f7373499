"""`biasgrid warehouse build` on a lake that is whole, and on one that is not."""

import polars as pl
import pytest

from biasgrid.warehouse.storage.lake import Lake

FINDINGS = "select model, point_finding from marts.requirement_findings order by all"


def duplicated_response(lake: Lake, run_id: str) -> str:
    rows = lake.read("responses", run_id).head(1)
    lake.write("responses", run_id, "again", rows.with_columns(text=pl.lit("something else")))
    return str(rows["response_id"][0])


def orphan_verdict(lake: Lake, run_id: str) -> str:
    rows = lake.read("verdicts", run_id).filter(pl.col("level") == "instance").head(1)
    lake.write("verdicts", run_id, "stray", rows.with_columns(case_id=pl.lit("gone"), verdict_id=pl.lit("stray")))
    return "stray.parquet"


def unknown_outcome(lake: Lake, run_id: str) -> str:
    path = lake.files("verdicts", run_id)[0]
    lake.write("verdicts", run_id, path.stem, pl.read_parquet(path).with_columns(outcome=pl.lit("perhaps")))
    return str(path)


def missing_cell(lake: Lake, run_id: str) -> str:
    cell_id = lake.files("cases", run_id)[0].stem
    for table in ("cases", "responses", "verdicts"):
        for path in lake.files(table, run_id, f"*{cell_id}*"):
            path.unlink()
    return cell_id


def truncated_file(lake: Lake, run_id: str) -> str:
    path = lake.files("responses", run_id)[0]
    path.write_bytes(path.read_bytes()[:-100])
    return str(path)


DAMAGES = [duplicated_response, orphan_verdict, unknown_outcome, missing_cell, truncated_file]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_one_clear_message_and_the_old_warehouse_still_answers(biasgrid, lake, finished, damage):
    before = biasgrid("sql", FINDINGS, "--data", lake.root)
    named = damage(lake, finished.run_id)
    result = biasgrid("warehouse", "build", "--data", lake.root)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("biasgrid: the lake is damaged, and the warehouse stays as it was\n")
    assert "Traceback" not in result.err
    for part in (named, finished.run_id, "biasgrid warehouse build"):
        assert part in result.err
    assert biasgrid("sql", FINDINGS, "--data", lake.root) == before
    assert before.code == 0


def test_a_whole_lake_is_built_again_and_states_where(biasgrid, lake):
    before = biasgrid("sql", FINDINGS, "--data", lake.root)
    lake.database.unlink()
    result = biasgrid("warehouse", "build", "--data", lake.root)
    assert (result.code, result.out) == (0, f"{lake.database}\n")
    assert biasgrid("sql", FINDINGS, "--data", lake.root) == before
