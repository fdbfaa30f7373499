"""A person's own SQL: what it answers, and how its rows are shown."""

import csv
import io
import json

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.results.sql import ask
from biasgrid.flows.terminal.tables import show_rows
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A warehouse in which nothing has landed."""
    lake = Lake.open(tmp_path_factory.mktemp("asking") / "data")
    build(lake)
    return lake


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("1 as a, 2 as a", ["a", "a_1"]),
        ("1 as a, 2 as a, 3 as a_1, 4 as a", ["a", "a_2", "a_1", "a_3"]),
        ("x.*, y.* from (select 1 as id) x, (select 2 as id) y", ["id", "id_1"]),
    ],
)
def test_columns_of_one_name_are_numbered(lake, columns, names):
    assert ask(lake, f"select {columns}").columns == names


def test_the_marts_are_listed_and_asked_with_or_without_their_schema(lake):
    assert {"pass_rates", "deltas"} <= set(ask(lake, "show tables")["name"])
    assert ask(lake, "from pass_rates").columns == ask(lake, "from marts.pass_rates").columns
    assert "case_id" in ask(lake, "from staging.stg_cases").columns


@pytest.mark.parametrize("value", ["interval 1 day", "[interval 1 day]", "'x'::blob", "union_value(a := 1)"])
def test_a_type_that_cannot_be_shown_is_a_mistake_that_names_the_column(lake, value):
    with pytest.raises(UserError) as caught:
        ask(lake, f"select {value} as odd")
    (mistake,) = caught.value.mistakes
    assert "`odd`" in mistake.what
    assert "varchar" in mistake.remedy


def test_nested_values_are_json_text_in_csv(lake, capsys):
    rows = ask(
        lake, "select ['é', 'b'] as names, {'at': date '2026-03-01'} as held, null::integer[] as none, 1 as n"
    )
    show_rows(rows, "csv")
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (json.loads(row["names"]), json.loads(row["held"])) == (["é", "b"], {"at": "2026-03-01"})
    assert (row["none"], row["n"]) == ("", "1")
    show_rows(ask(lake, "from staging.stg_cases"), "csv")
    assert "communities" in capsys.readouterr().out


@pytest.mark.parametrize("width", [1, 9], ids=["as a table", "in blocks"])
def test_a_reply_cannot_steer_the_terminal(width, capsys):
    reply = "a\x1b[2Jb\u202ec\x9bd"
    show_rows(pl.DataFrame({f"{name}\x1b": [reply] for name in range(width)}), "table")
    shown = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\x9b"} & set(shown)
    assert r"a\x1b[2Jb\u202ec\x9bd" in shown
    assert r"0\x1b" in shown


def test_a_reply_keeps_its_lines_and_its_letters(capsys):
    show_rows(pl.DataFrame({"reply": ["první\nдругий"]}), "table")
    assert [line.strip() for line in capsys.readouterr().out.splitlines()][1:3] == ["první", "другий"]
