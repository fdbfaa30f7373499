"""What earlier versions of biasgrid left is read, built and trusted; what later ones write is refused."""

import hashlib
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from biasgrid.flows.runs.prepare import existing_lake, open_lake
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.integrity import LakeDamaged
from biasgrid.warehouse.schema_check import KEY, LakeTooNew, version_of
from biasgrid.warehouse.schemas import SCHEMA_VERSION, TABLES
from biasgrid.warehouse.storage.runs import all_runs

FINDINGS = "select model, requirement, tests, passed, point_finding from marts.requirement_findings"
FINDINGS_BEFORE = {
    "first": [("simulated/biased", "equal-treatment-of-genders", 4, 1, "not met")],
    "second": [("simulated/biased", "equal-treatment-of-genders", 4, 4, "met")],
}
"""What the versions that wrote these lakes found in them themselves."""
FINGERPRINTS = {**dict.fromkeys((1, 2), "491f241f6240"), 3: "8d4bd99f1050", 4: "f71186002112", 5: "5a61e3b1b531"}
FINGERPRINTS[6] = "12da488deb3b"
FINGERPRINTS[7] = "5e844dd87c84"
FINGERPRINTS[8] = "b42b00863c1f"
"""Of the columns and their types, by version."""
RUN = {"run_id": "R1", "event_id": "1", "state": "completed"}


def newer(path: Path) -> Path:
    """The file as a later biasgrid would write it: with a column that is unknown here."""
    rows = pq.read_table(path)
    rows = rows.append_column("weight", [["heavy"] * len(rows)])
    stamp = {**(rows.schema.metadata or {}), KEY: str(SCHEMA_VERSION + 1)}
    pq.write_table(rows.replace_schema_metadata(stamp), path)
    return path


@pytest.mark.parametrize("version", FINDINGS_BEFORE)
def test_a_lake_of_an_earlier_version_states_what_it_reported_then(earlier, version):
    build(earlier)
    assert query(earlier, FINDINGS).rows() == FINDINGS_BEFORE[version]
    (run,) = all_runs(earlier)
    assert run.state == "completed"


@pytest.mark.parametrize("version", FINDINGS_BEFORE)
def test_what_lands_next_to_files_of_an_earlier_version_reads_with_them(earlier, version):
    (run,) = all_runs(earlier)
    again = earlier.read("responses").head(1).with_columns(run_id=pl.lit("R2"))
    assert version_of(earlier.files("responses", run.run_id)[0]) == "0"
    assert version_of(earlier.write("responses", "R2", "again", again)) == str(SCHEMA_VERSION)
    assert set(earlier.read("responses")["run_id"]) == {run.run_id, "R2"}


def test_what_a_newer_biasgrid_wrote_is_refused_by_name_and_both_versions(lake):
    path = newer(lake.write("runs", "R1", "1", pl.DataFrame([RUN])))
    with pytest.raises(LakeTooNew) as refused:
        lake.read("runs")
    for entry in (str(path), f"`{SCHEMA_VERSION + 1}`", f"knows {SCHEMA_VERSION}", "upgrade"):
        assert entry in str(refused.value)
    for opening in (open_lake, existing_lake):
        with pytest.raises(LakeTooNew):
            opening(lake.root)


@pytest.mark.parametrize("version", ["first"])
def test_no_warehouse_is_built_of_what_cannot_be_known_and_the_old_one_answers(earlier, version):
    build(earlier)
    newer(earlier.files("verdicts")[-1])
    with pytest.raises(LakeTooNew):
        build(earlier)
    assert query(earlier, FINDINGS).rows() == FINDINGS_BEFORE[version]


def test_a_version_that_is_no_number_is_not_guessed_at(lake):
    path = lake.write("runs", "R1", "1", pl.DataFrame([RUN]))
    pq.write_table(pq.read_table(path).replace_schema_metadata({KEY: "2-beta"}), path)
    with pytest.raises(LakeTooNew, match="2-beta"):
        lake.read("runs")


def test_a_file_that_is_cut_off_is_damaged_not_new(lake):
    path = lake.write("runs", "R1", "1", pl.DataFrame([RUN]))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LakeDamaged, match="no whole Parquet file"):
        build(lake)


def test_tables_change_together_with_their_version():
    """Raise SCHEMA_VERSION with a change to the tables, and note the new fingerprint next to it."""
    columns = [(table, field.name, str(field.type)) for table, schema in TABLES.items() for field in schema]
    written = "\n".join(map(" ".join, columns))
    fingerprint = hashlib.sha256(written.encode()).hexdigest()[:12]
    assert FINGERPRINTS.get(SCHEMA_VERSION) == fingerprint
    assert max(FINGERPRINTS) == SCHEMA_VERSION
