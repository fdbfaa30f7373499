"""The data dictionary: fresh, whole, and the same on every machine."""

import os
import re
import subprocess
import sys

import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.queries.dictionary import DICTIONARY, as_markdown, column_meanings, table_meaning
from biasgrid.warehouse.schemas import TABLES
from support.paths import ROOT


@pytest.fixture(scope="module")
def dictionary() -> str:
    return as_markdown()


def section(dictionary: str, relation: str) -> str:
    return dictionary.partition(f"## {relation}\n")[2].partition("\n## ")[0]


def test_the_committed_dictionary_is_what_the_models_give(dictionary):
    assert (ROOT / DICTIONARY).read_text(encoding="utf-8") == dictionary, "run `make dictionary`"


@pytest.mark.drill
def test_it_does_not_hang_on_the_order_in_which_sets_happen_to_be_read():
    program = (
        "from biasgrid.warehouse.queries.dictionary import as_markdown\n"
        "print(hash(as_markdown()) and as_markdown()[:3000])"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1


@pytest.mark.parametrize("model", load_models(), ids=lambda model: model.relation)
def test_every_column_of_every_model_is_described_with_unit_and_values(dictionary, model):
    shown = section(dictionary, model.relation)
    for name, column in model.about.columns.items():
        (row,) = (line for line in shown.splitlines() if line.startswith(f"| `{name}` |"))
        cells = [cell.strip() for cell in row.replace("\\|", "¦").split("|")[1:-1]]
        assert len(cells) == 5
        assert cells[3] == column.unit
        assert ("never null" in cells[4]) == column.not_null
        assert all(f"`{value}`" in cells[4] for value in column.accepted)
    assert all(invariant in shown for invariant in model.about.invariants)
    assert all(f"[{relation}](#" in shown for relation in model.reads)


def test_marts_come_first_and_each_table_below_those_that_it_reads(dictionary):
    places = {line[3:]: number for number, line in enumerate(dictionary.splitlines()) if line.startswith("## ")}
    marts, intermediate, staging, lake = (
        [places[name] for name in places if name.startswith(part)] for part in PARTS
    )
    assert max(marts) < min(intermediate)
    assert max(intermediate) < min(staging)
    assert max(staging) < min(lake)
    for model in load_models():
        same = [read for read in model.reads if read.startswith(f"{model.schema}.")]
        assert all(places[read] < places[model.relation] for read in same)


PARTS = ("marts.", "intermediate.", "staging.", "lake.")


def test_what_it_names_outside_of_the_lake_can_be_queried(dictionary, lake):
    build(lake)
    relations = "select table_schema || '.' || table_name as name from information_schema.tables"
    names = set(re.findall(r"\b(?:marts|intermediate|staging|storage)\.\w+", dictionary))
    found = set(query(lake, relations)["name"])
    assert names - found == {"intermediate.int_", "staging.stg_"}
    assert {name for name in found if name.startswith("storage.")} <= names


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_the_lake_and_each_of_its_columns_has_a_meaning(table):
    assert table_meaning(table)
    untold = [name for name, column in column_meanings(table).items() if not column.description]
    assert untold == [], "say what it means behind the column, in warehouse/schemas.py"


def test_a_column_that_no_staging_model_passes_on_is_described_by_its_comment_in_the_schema():
    assert column_meanings("criteria")["coverage"].description.startswith("least share of planned cases")
    assert "input_file_id" in column_meanings("jobs")
