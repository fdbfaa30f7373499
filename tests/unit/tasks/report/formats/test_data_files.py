import csv
import json

from biasgrid.tasks.report.formats.data_files import write_csv, write_json
from biasgrid.warehouse.build.build import query


def test_the_marts_of_a_run_are_written_as_csv(landed, tmp_path):
    paths = write_csv(landed, "R1", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(path.name for path in paths)
    assert {path.name for path in paths} >= {"R1_pass_rates.csv", "R1_requirement_findings.csv", "R1_deltas.csv"}
    with (tmp_path / "out" / "R1_pass_rates.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["run_id"], row["model"], float(row["tolerance"])) for row in rows] == [
        ("R1", "simulated/fair", 0.6),
        ("R1", "simulated/odd", 0.6),
    ]


def test_the_marts_of_a_run_are_written_as_json(landed, tmp_path):
    (path,) = write_json(landed, "R1", tmp_path)
    report = json.loads(path.read_text())
    assert report["run"]["run_id"] == "R1"
    assert report["run"]["scenario_resolved"] == {"name": "small"}
    assert [row["passed"] for row in report["pass_rates"]] == [3, 0]
    assert report["deltas"][0]["spread"] == 1.5
    everything = query(landed, "from marts.pass_rates where run_id = 'R1'")
    assert set(report["pass_rates"][0]) == set(everything.columns)
