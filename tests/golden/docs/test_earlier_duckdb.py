"""The warehouse file in DuckDB 1.4: it opens, and holds the same as in ours."""

import json
from pathlib import Path
from shutil import copytree

import pytest

from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.queries.example_queries import worked_queries
from biasgrid.warehouse.storage.lake import Lake
from support.earlier_duckdb import run_program

pytestmark = pytest.mark.drill

PROGRAM = """
import json, re, sys, duckdb

warehouse = duckdb.connect(sys.argv[1], read_only=True)
warehouse.execute("set TimeZone = 'UTC'")
listed = "select schema_name, table_name from duckdb_tables() where not internal union all "
listed += "select schema_name, view_name from duckdb_views() where not internal"
relations = sorted(".".join(names) for names in warehouse.execute(listed).fetchall())
macros = "select function_name, len(parameters) from duckdb_functions() "
macros += "where schema_name = 'statistics' and function_type = 'macro'"
arguments = [f"{number}::double" for number in (0.6, 0.9, 0.1, 30, 0.9, 2, 2, 2, 2)]

def read(sql):
    return warehouse.execute(sql).fetchall()

def call(name, arity):
    try:
        ((answer,),) = read(f"select to_json(statistics.{name}({', '.join(arguments[:arity])}))::varchar")
    except duckdb.Error as error:
        return type(error).__name__
    return answer and re.sub(r"-?[0-9]+[.][0-9e-]+", lambda number: f"{float(number[0]):.10g}", answer)

comments = "select schema_name || '.' || table_name || '.' || column_name, comment from duckdb_columns() "
comments += "where not internal order by all"
rows = "select to_json(answer)::varchar from ({}) as answer"
answers = {
    "relations": {name: read(f"select count(*), bit_xor(hash(row_)) from {name} as row_") for name in relations},
    "queries": {name: read(rows.format(sql)) for name, sql in json.loads(sys.argv[2]).items()},
    "comments": dict(read(comments)),
    "macros": {name: call(name, arity) for name, arity in sorted(read(macros))},
}
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def of_all_kinds(analysed: Lake, probed, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A benchmark and a probe."""
    lake = Lake(Path(copytree(analysed.root, tmp_path_factory.mktemp("kinds") / "data")))
    copytree(probed.data / "lake", lake.root / "lake", dirs_exist_ok=True)
    build(lake)
    return lake


def test_it_reads_every_relation_and_answers_as_ours_does(of_all_kinds, earlier_duckdb):
    queries = {name: query.sql.strip().removesuffix(";") for name, query in worked_queries().items()}
    given = (PROGRAM, of_all_kinds.database, json.dumps(queries))
    found, expected = (json.loads(run(*given)) for run in (earlier_duckdb, run_program))
    for part, answers in expected.items():
        assert [name for name, answer in answers.items() if answer != found[part][name]] == [], part
    assert len(expected["relations"]) > 100
    assert sum("Exception" not in (answer or "Exception") for answer in expected["macros"].values()) > 60
    assert all(expected["queries"].values())
    assert expected["comments"]["marts.runs.cost_usd"].startswith("What was paid in this run")
