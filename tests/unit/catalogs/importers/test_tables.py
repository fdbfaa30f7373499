"""Tables as spreadsheets and scripts write them."""

import csv

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.tables import read_table


def cells(text: str) -> list[tuple[int, dict[str, str]]]:
    return [(row.line, row.cells) for row in read_table(text, "f").rows()]


def test_rows_know_the_line_they_begin_on():
    assert cells('a,B\n"x\ny",1\n\n , \nz,2\n') == [(2, {"a": "x\ny", "b": "1"}), (6, {"a": "z", "b": "2"})]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_the_separator_is_the_headers(separator):
    assert cells(f"a{separator}b\r\n1{separator}2\r\n") == [(2, {"a": "1", "b": "2"})]


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
