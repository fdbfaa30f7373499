"""A model's examples: `<model>.tests.yml` next to its SQL has rows of what it reads and expects rows of what it
makes.

`given` names relations, each with its rows or, for many, with a SELECT that makes them; columns left out are null,
and relations left out are empty. `expect` names only the columns that matter, in the order of the grain.
"""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml

from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.build.macros import define
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.schema_check import declared_schema
from biasgrid.warehouse.schemas import SHOWN
from biasgrid.warehouse.storage.lake import Lake

MODELS = {model.file.removesuffix(".sql"): model for model in load_models()}


def examples() -> Iterator[Any]:
    for name, model in MODELS.items():
        source = files("biasgrid.warehouse") / "models" / f"{name}.tests.yml"
        if source.is_file():
            for example in yaml.safe_load(source.read_text(encoding="utf-8"))["tests"]:
                yield pytest.param(model, example, id=f"{model.relation}: {example['name']}")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of nothing: it knows the types of every model's columns."""
    return build(Lake.open(tmp_path_factory.mktemp("empty")))


@pytest.fixture(scope="module")
def session(empty: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """With the statistics: reading them takes longer than most examples."""
    with duckdb.connect() as opened:
        opened.execute(f"attach '{empty}' as built (read_only)")
        define(opened)
        yield opened


@pytest.fixture
def warehouse(session: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Nothing of other examples is in it."""
    schemas = ("lake", "staging", "intermediate", "marts")
    for schema in schemas:
        session.execute(f"create schema memory.{schema}")
    yield session
    for schema in schemas:
        session.execute(f"drop schema memory.{schema} cascade")


@pytest.mark.parametrize(("model", "example"), [*examples()])
def test_a_model_makes_the_expected_rows_of_its_example(warehouse, model, example):
    assert set(example["given"]) <= model.reads, "the example gives what the model does not read"
    for relation in sorted(model.reads):
        _make(warehouse, relation)
        _fill(warehouse, relation, example["given"].get(relation, []))
    order = ", ".join(model.about.grain)
    made = warehouse.sql(f"from ({model.sql}) order by {order}").to_arrow_table().to_pylist()
    assert len(made) == len(example["expect"])
    for row, wanted in zip(made, example["expect"], strict=True):
        assert {name: row[name] for name in wanted} == {name: _about(value) for name, value in wanted.items()}


def _make(warehouse: duckdb.DuckDBPyConnection, relation: str) -> None:
    schema, _, name = relation.partition(".")
    if schema == "lake":
        landed, _ = SHOWN.get(name, (name, ""))
        warehouse.register("declared_rows", declared_schema(landed).empty_table())
        warehouse.execute(f"create table memory.{relation} as from declared_rows")
    else:
        warehouse.execute(f"create table memory.{relation} as from built.{relation} limit 0")


def _fill(warehouse: duckdb.DuckDBPyConnection, relation: str, rows: list[dict[str, Any]] | str) -> None:
    if isinstance(rows, str):
        warehouse.execute(f"insert into memory.{relation} by name {rows}")
    elif rows:
        warehouse.register("given_rows", pl.DataFrame(rows, infer_schema_length=None).to_arrow())
        warehouse.execute(f"insert into memory.{relation} by name from given_rows")


def _about(value: Any) -> Any:
    return pytest.approx(value, abs=1e-6) if isinstance(value, float) else value
