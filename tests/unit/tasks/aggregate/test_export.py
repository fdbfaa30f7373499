"""Any model as a file: every row, in types that survive, and nothing that a spreadsheet would run."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.aggregate.export import Kind, write_model
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake


def read(path: Path, kind: Kind) -> pl.DataFrame:
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet, "json": pl.read_ndjson}
    return readers[kind](path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_every_row_of_a_mart_is_there_and_numbers_are_numbers(landed, tmp_path, kind):
    count = write_model(landed, "deltas", kind, tmp_path / "deltas", run_id=None)
    reported = read(tmp_path / "deltas", kind)
    expected = query(landed, "from marts.deltas order by all")
    assert count == reported.height == expected.height > 0
    assert reported.columns == expected.columns
    assert [float(value) for value in reported["spread"].drop_nulls()] == [
        float(value) for value in expected["spread"].drop_nulls()
    ]


def test_one_run_alone_may_be_asked_for(landed, tmp_path):
    everything = write_model(landed, "pass_rates", "csv", tmp_path / "all.csv")
    one = write_model(landed, "pass_rates", "csv", tmp_path / "one.csv", run_id="R1")
    assert (everything, one) == (6, 2)
    assert set(pl.read_csv(tmp_path / "one.csv")["run_id"]) == {"R1"}


def test_a_reply_that_is_a_formula_is_defused_in_csv_and_kept_elsewhere(landed, tmp_path):
    write_model(landed, "stg_responses", "csv", tmp_path / "r.csv", "R1")
    write_model(landed, "stg_responses", "json", tmp_path / "r.jsonl", "R1")
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        defused = {row["text"] for row in csv.DictReader(file)}
    whole = {row["text"] for row in map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())}
    assert {"'-1", '\'=HYPERLINK("http://x","y")'} < defused
    assert {"-1", '=HYPERLINK("http://x","y")'} < whole


def test_nested_values_are_json_in_csv_and_themselves_elsewhere(landed, tmp_path):
    for kind in ("csv", "parquet", "json"):
        write_model(landed, "stg_cases", kind, tmp_path / kind, "R1")
    with (tmp_path / "csv").open(newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert json.loads(first["messages"])[0]["role"] == "user"
    assert pl.read_parquet(tmp_path / "parquet")["communities"].to_list()[0] == json.loads(first["communities"])
    assert isinstance(pl.read_ndjson(tmp_path / "json")["messages"][0][0], dict)


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_a_model_without_rows_is_a_file_without_rows(tmp_path, kind):
    lake = Lake.open(tmp_path / "data")
    build(lake)
    assert write_model(lake, "costs", kind, tmp_path / "costs") == 0
    if kind != "json":
        assert read(tmp_path / "costs", kind).columns == query(lake, "from marts.costs").columns


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("pas_rates", "did you mean `marts.pass_rates`"),
        ("marts.pass_rate", "`marts.pass_rates`"),
        ("respones", "`staging.stg_responses`"),
        ("pass_rates; drop table x", "`marts.pass_rates`"),
        ("zzz", "marts: `marts.assignments`, `marts.attack_judge_agreement`"),
    ],
)
def test_a_misspelt_model_names_the_nearest(landed, tmp_path, name, reported):
    with pytest.raises(UserError) as caught:
        write_model(landed, name, "csv", tmp_path / "x.csv")
    assert f"`{name}`" in str(caught.value)
    assert reported in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["pass_rates", "marts.pass_rates", "stg_cases", "cases", "staging.stg_cases"])
def test_a_model_may_be_named_with_or_without_its_schema(landed, tmp_path, name):
    assert write_model(landed, name, "csv", tmp_path / "x.csv") > 0


def test_a_folder_that_is_none_is_one_message(landed, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError) as caught:
        write_model(landed, "pass_rates", "csv", tmp_path / "file" / "x.csv")
    assert "--out" in str(caught.value)
