import csv

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.warehouse.storage.export_files import write_table, write_text


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
