"""Tables as spreadsheets and scripts write them."""

import csv

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.tables import read_table
from biasgrid.catalogs.loading.text_files import read_table_text


def cells(text: str) -> list[tuple[int, dict[str, str]]]:
    return [(row.line, row.cells) for row in read_table(text, "f").rows()]


def test_rows_know_the_line_they_begin_on():
    assert cells('a,B\n"x\ny",1\n\n , \nz,2\n') == [(2, {"a": "x\ny", "b": "1"}), (6, {"a": "z", "b": "2"})]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_the_separator_is_the_headers(separator):
    assert cells(f"a{separator}b\r\n1{separator}2\r\n") == [(2, {"a": "1", "b": "2"})]


@pytest.mark.parametrize(
    ("before", "lines"), [("sep=;\n", 1), ('"sep=;"\n', 1), ("\n", 1), (";;\n", 1), ("SEP=;\n\n", 2)]
)
def test_lines_that_a_spreadsheet_writes_before_the_header_are_none_of_it(before, lines):
    assert cells(f"{before}a;b,c;d\n1;2;3\n") == [(lines + 2, {"a": "1", "b,c": "2", "d": "3"})]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_is_read_in_the_encoding_that_a_spreadsheet_saved(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("naïve;año\r\n“1”;2 €\r\n".encode(encoding))
    assert cells(read_table_text(tmp_path / "a.csv")) == [(2, {"naïve": "“1”", "año": "2 €"})]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("año, niño, €, ".encode() * 9 + b"\xf1", "is not UTF-8 text"),
        (b"\xf1\x81", "is not UTF-8 text"),
        (b"PK\x03\x04\x81\x8d", "is no text: it is an Excel workbook or a zip"),
        (b"a,b\n\x00\xf1,1\n", "is not UTF-8 text"),
    ],
)
def test_what_is_damaged_is_not_taken_for_another_encoding(tmp_path, given, reason):
    (tmp_path / "a.csv").write_bytes(given)
    with pytest.raises(UserError, match=reason):
        read_table_text(tmp_path / "a.csv")


def test_a_short_row_lacks_its_last_cells():
    [row] = read_table("a,b\n1\n", "f").rows()
    assert (row.text("a"), row.text("b")) == ("1", "")


def test_a_very_long_reply_is_a_cell_and_the_limit_of_others_stays():
    limit = csv.field_size_limit()
    [(_, found)] = cells(f"a,b\n{'x' * 200_000},1\n")
    assert len(found["a"]) == 200_000
    assert csv.field_size_limit() == limit


def test_a_cell_beyond_all_measure_is_a_mistake_with_its_line():
    with pytest.raises(UserError, match="f:3: cannot be read"):
        cells(f"a\n1\n{'x' * 10_000_001}\n")
