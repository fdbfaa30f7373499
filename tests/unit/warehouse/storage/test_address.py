import csv

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.warehouse.storage.export_files import write_table, write_text
from biasgrid.warehouse.storage.objects.address import Address


@pytest.mark.parametrize("named", ["data", "/tmp/data", "./s3/x", "C:/data", "a:b"])
def test_a_path_is_no_address(named):
    assert Address.of(named) is None


@pytest.mark.parametrize(
    ("named", "address"),
    [
        ("s3://lakes", Address("lakes")),
        ("s3://lakes/", Address("lakes")),
        ("s3://lakes/team/nightly/", Address("lakes", "team/nightly")),
        ("S3://lakes/team", Address("lakes", "team")),
        ("gs://lakes_of.us/team", Address("lakes_of.us", "team", "gs")),
        ("az://lakes/team", Address("lakes", "team", "az")),
    ],
)
def test_an_address_is_a_bucket_and_a_prefix(named, address):
    assert Address.of(named) == address


def test_objects_below_an_address_have_a_whole_url():
    assert Address("lakes", "team").url("lake/runs") == "s3://lakes/team/lake/runs"
    assert Address("lakes").url("lake/runs") == "s3://lakes/lake/runs"
    assert str(Address("lakes")) == "s3://lakes"
    assert Address("lakes", "team", "az").url("lake/runs") == "az://lakes/team/lake/runs"


@pytest.mark.parametrize(
    ("named", "form"),
    [
        ("s3:/lakes/team", "s3://bucket/prefix"),
        ("s3a://lakes", "s3://bucket/prefix"),
        ("gcs://lakes", "gs://bucket/prefix"),
        ("azure://lakes", "az://container/prefix"),
        ("az:/lakes", "az://container/prefix"),
        ("az://lakes_of.us", "az://container/prefix"),
        ("https://host/lakes", "s3://bucket/prefix"),
        ("s3://", "s3://bucket/prefix"),
        ("s3://L", "s3://bucket/prefix"),
        ("s3://lakes/a//b", "s3://bucket/prefix"),
        ("s3://lakes/../x", "s3://bucket/prefix"),
    ],
)
def test_what_is_meant_as_an_address_and_is_none_is_a_mistake(named, form):
    with pytest.raises(UserError, match=f"write `{form}`"):
        Address.of(named)


@pytest.mark.parametrize(
    "named", ["s3://anna:swordfish@lakes/x", "s3://lakes/x?secret_key=swordfish", "gcs://anna:swordfish@lakes"]
)
def test_a_key_in_an_address_is_refused_and_not_repeated(named):
    with pytest.raises(UserError) as refused:
        Address.of(named)
    assert "swordfish" not in str(refused.value)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum(a1)", "\tx", "\rx", '=cmd|"/c calc"!a0'])
def test_what_a_spreadsheet_would_run_is_only_shown(tmp_path, text):
    path = write_table(tmp_path / "a.csv", pl.DataFrame({"reply": [text], "delta": [-0.5]}))
    with path.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["reply", "delta"], ["'" + text, "-0.5"]]


@pytest.mark.parametrize("text", ["No", "a=b", " =1", 'quote " and, comma', "two\nlines", "«Sí»", ""])
def test_other_text_is_written_as_it_is(tmp_path, text):
    path = write_table(tmp_path / "a.csv", pl.DataFrame({"reply": [text], "n": [1]}))
    with path.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file))[1] == [text, "1"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError) as caught:
        write_text(tmp_path / "file" / "report.csv", "x")
    assert str(tmp_path / "file") in str(caught.value)
    assert "--out" in str(caught.value)
