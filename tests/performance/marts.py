"""Seconds to build the warehouse from a million verdicts, compared with the least that reading them can take.

    python tests/performance/marts.py [verdicts]

The floor is DuckDB counting outcomes over the same Parquet files, in as many threads.
"""

import sys
import tempfile
from pathlib import Path

import duckdb
import polars as pl
from rig.timing import seconds

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

INSTANCES, TEMPLATES, MODELS = 40, 60, 8
PER_CELL = INSTANCES * TEMPLATES


def land(lake: Lake, verdicts: int) -> None:
    """A run of as many cells as `verdicts` need: 60 templates of 40 instances each, one in five same-value."""
    lake.write("runs", "R1", "1", pl.DataFrame([{"run_id": "R1", "event_id": "1", "state": "completed"}]))
    for number in range(max(1, verdicts // PER_CELL)):
        _land_cell(lake, f"cell-{number}", f"requirement-{number // MODELS}", f"simulated/{number % MODELS}")


def _land_cell(lake: Lake, cell_id: str, requirement: str, model: str) -> None:
    rule = {"run_id": "R1", "evaluation_id": "E1", "requirement": requirement, "refusals": "separate"}
    shares = {"tolerance": 0.9, "delta": 0.02, "max_refusals": 0.5, "coverage": 0.95}
    lake.write("criteria", "R1", requirement, pl.DataFrame([rule | shares]))
    rows = _rows(cell_id, requirement, model)
    cases = rows.drop("outcome", "parsed_value").with_columns(messages=_messages())
    lake.write("cases", "R1", cell_id, cases)
    instances = rows.select(
        "run_id",
        "cell_id",
        "case_id",
        "template_id",
        "sample",
        "outcome",
        "parsed_value",
        level=pl.lit("instance"),
    )
    templates = (
        rows.filter(oracle_type="expected value")
        .group_by("run_id", "cell_id", "template_id", "sample")
        .agg(outcome=pl.col("outcome").min(), level=pl.lit("template"))
    )
    verdicts = pl.concat([instances, templates], how="diagonal").with_row_index("number")
    name = pl.format("{}-{}", pl.lit(cell_id), "number")
    lake.write(
        "verdicts",
        "R1",
        cell_id,
        verdicts.with_columns(verdict_id=name, evaluation_id=pl.lit("E1")).drop("number"),
    )


def _rows(cell_id: str, requirement: str, model: str) -> pl.DataFrame:
    number = pl.int_range(PER_CELL, eager=True)
    same_value = number // INSTANCES % 5 == 0
    frame = pl.DataFrame({"number": number, "same_value": same_value})
    case_id = pl.format("{}/{}", pl.lit(cell_id), "number")
    return frame.select(
        run_id=pl.lit("R1"),
        cell_id=pl.lit(cell_id),
        case_id=case_id,
        instance_id=case_id,
        request_key=case_id,
        template_id=pl.format("template-{}", pl.col("number") // INSTANCES),
        sample=pl.lit(1),
        requirement=pl.lit(requirement),
        concern=pl.lit("sexism"),
        model=pl.lit(model),
        language=pl.lit("en_us"),
        input=pl.lit("constrained"),
        reflection=pl.lit("utopian"),
        communities=pl.concat_list(pl.format("community-{}", pl.col("number") % INSTANCES)),
        oracle_type=pl.when("same_value").then(pl.lit("same value")).otherwise(pl.lit("expected value")),
        outcome=pl.when("same_value")
        .then(None)
        .when(pl.col("number") % 97 == 0)
        .then(pl.lit("failed"))
        .otherwise(pl.lit("passed")),
        parsed_value=pl.when("same_value").then(50 + pl.col("number") % 3).cast(pl.Decimal(18, 6)),
    )


def _messages() -> pl.Expr:
    content = pl.format("Is {} as good as any other? Answer Yes or No.", "case_id")
    return pl.concat_list(pl.struct(role=pl.lit("user"), content=content))


def count(lake: Lake) -> object:
    """The floor: outcomes of the same files, counted."""
    with duckdb.connect() as floor:
        return floor.execute(
            "select outcome, count(*) from read_parquet(?) group by all",
            [[str(path) for path in lake.files("verdicts")]],
        ).fetchall()


def copy(lake: Lake) -> None:
    """A warehouse holds its rows: cases and verdicts, copied into one file and nothing else."""
    target = lake.root / "copy.duckdb"
    with duckdb.connect(target) as warehouse:
        for table in ("cases", "verdicts"):
            paths = [str(path) for path in lake.files(table)]
            warehouse.execute(f"create table {table} as from read_parquet(?)", [paths])
    target.unlink()


def measure(verdicts: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder))
        landing = seconds(lambda: land(lake, verdicts), times=1)
        floor = seconds(lambda: count(lake))
        taken = {
            "floor: count": floor,
            "copy alone": seconds(lambda: copy(lake), times=2),
            "build": seconds(lambda: build(lake), times=2),
            "read a mart": seconds(lambda: query(lake, "from marts.pass_rates")),
            "land": landing,
        }
        landed = lake.scan("verdicts").select(pl.len()).collect().item()
        built = lake.database.stat().st_size / 1e6
        print(f"{landed:,} verdicts in {len(lake.files('verdicts'))} files, {built:.0f} MB built")
        for name, spent in taken.items():
            print(
                f"{name:>14} {spent:8.3f} s {spent / floor:8.1f} × floor {spent / taken['copy alone']:6.1f} × copy"
            )


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
