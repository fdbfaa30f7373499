from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.warehouse.build.build import build, connect, fetch_rows, query
from biasgrid.warehouse.build.macros import blank
from biasgrid.warehouse.build.model_tests import ModelTestFailed
from biasgrid.warehouse.build.models import NotOneSelect, UndeclaredRelation, load_models
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import LOG
from support.hand_made_runs import contents
from support.paths import ROOT

COUNT_RUNS = "select count(*) as runs from staging.stg_runs"


@pytest.fixture
def models(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Writes models: `{"marts/x": "select …"}`; a YAML text may follow after `---`."""

    def write(sources: dict[str, str]) -> Path:
        folder = tmp_path / "models"
        for schema in ("staging", "intermediate", "marts"):
            (folder / schema).mkdir(parents=True, exist_ok=True)
        for name, source in sources.items():
            sql, _, about = source.partition("---")
            (folder / f"{name}.sql").write_text(sql)
            (folder / f"{name}.yml").write_text(
                about or "{description: d, grain: [a], columns: {a: {description: d}}}"
            )
        return folder

    return write


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """An empty warehouse, and next to it a file that no query may read."""
    lake = Lake.open(tmp_path_factory.mktemp("built"))
    build(lake)
    (lake.root / "secret.csv").write_text("a\n1\n")
    return lake


def test_an_empty_lake_makes_an_empty_warehouse(lake):
    assert build(lake) == lake.database
    with connect(lake) as warehouse:
        for model in load_models():
            assert fetch_rows(warehouse, f"from {model.relation}").height == 0


def test_the_finished_file_stands_alone(lake, hand_made, cell, expected, tmp_path):
    hand_made.land("R1", [cell(expected("t", "passed"))])
    target = build(lake, tmp_path / "elsewhere" / "copy.duckdb")
    assert [path.name for path in target.parent.iterdir()] == ["copy.duckdb"]
    for path in lake.files("cases"):
        path.unlink()
    with duckdb.connect(target, read_only=True) as warehouse:
        assert warehouse.execute("select count(*) from marts.pass_rates").fetchall() == [(1,)]
        assert (
            warehouse.execute("select schema_name from duckdb_schemas() where schema_name = 'lake'").fetchall()
            == []
        )


def test_analysts_find_the_statistics_in_the_file(built):
    asked = "select statistics.templates_for_perfect_score(0.9), statistics.studentised_range_quantile(2, 6)"
    with duckdb.connect(built.database, read_only=True) as warehouse:
        found = warehouse.execute(asked).fetchone()
        assert found == (38, pytest.approx(3.4605))
    with connect(built) as warehouse:
        warehouse.execute("use biasgrid.marts")
        assert warehouse.execute(asked).fetchone() == found


def test_every_relation_and_every_column_of_a_model_has_a_comment(lake, hand_made):
    columns = "select schema_name || '.' || table_name as name, comment from duckdb_columns() where not internal"
    relations = "select table_name as name, comment from duckdb_tables() union all "
    relations += "select view_name, comment from duckdb_views() where not internal"
    models = {model.relation for model in load_models()}
    for run_id in ("R1", "R2", "R3"):
        hand_made.run(run_id, "completed")
        build(lake)
        assert query(lake, relations).filter(pl.col("comment").is_null())["name"].to_list() == []
        found = query(lake, columns).filter(pl.col("comment").is_null())["name"]
        assert models & {*found} == set()


MADE_FOR = "select tags['storage_version'] from duckdb_databases() where database_name = 'biasgrid'"
DEFINITIONS = """
    select macro_definition from duckdb_functions() where schema_name = 'statistics'
    union all select sql from duckdb_views() where not internal
"""


def test_the_file_and_what_is_added_to_it_are_for_duckdb_1_4(lake, hand_made):
    for run_id in ("R1", "R2"):
        hand_made.run(run_id, "completed")
        build(lake)
        with connect(lake) as warehouse:
            assert warehouse.execute(MADE_FOR).fetchall() == [("v1.4.0+",)]
            definitions = [sql for (sql,) in warehouse.execute(DEFINITIONS).fetchall()]
    assert len(definitions) > 100
    assert [sql for sql in definitions if re.search(r"(?<!\w)\"?if\"?\(", sql)] == []


def test_a_model_may_call_the_statistics_and_reads_nothing_of_them(lake, models):
    folder = models({"marts/a": "select statistics.normal_cdf(0) as a"})
    assert [model.reads for model in load_models(folder)] == [frozenset()]
    build(lake, models=folder)
    assert query(lake, "from marts.a")["a"].to_list() == [0.5]


def test_who_has_the_old_file_open_goes_on_reading_it(lake, hand_made):
    hand_made.run("R1", "completed")
    build(lake)
    with connect(lake) as reader:
        hand_made.run("R2", "completed")
        build(lake)
        assert reader.execute(COUNT_RUNS).fetchall() == [(1,)]
        assert query(lake, COUNT_RUNS)["runs"].to_list() == [2]


READER = """
import sys
from pathlib import Path
import duckdb
from biasgrid.warehouse.build.build import connect
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import LOG

lake = Lake(Path(sys.argv[1]))
reader = connect(lake) if sys.argv[2] == "ours" else duckdb.connect(lake.database, read_only=True)
for question in sys.stdin:
    print(reader.execute(question).fetchall(), flush=True)
"""


@pytest.mark.drill
@pytest.mark.parametrize("session", ["ours", "DuckDB's own"])
def test_another_process_keeps_its_view_while_the_warehouse_is_replaced(lake, hand_made, cell, expected, session):
    hand_made.land("R1", [cell(expected("t", "passed"))])
    build(lake)
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(lake.root), session],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        print(COUNT_RUNS, file=reader.stdin, flush=True)
        assert reader.stdout.readline() == "[(1,)]\n"
        hand_made.land("R2", [cell(expected("t", "failed"))])
        build(lake)
        for question, answer in (
            (COUNT_RUNS, [(1,)]),
            ("select passed, failed from marts.pass_rates", [(1, 0)]),
            ("select text from staging.stg_responses", [("No",)]),
        ):
            print(question, file=reader.stdin, flush=True)
            assert reader.stdout.readline() == f"{answer}\n"


def test_the_warehouse_can_be_deleted_and_built_again_row_by_row(lake, hand_made, cell, expected, numbers):
    replies = expected("t", "passed", "failed", "refused", "error") + numbers("n", 50, Decimal("51.5"), "refused")
    for run_id in ("R1", "R2"):
        models = (f"simulated/{number}" for number in range(8))
        hand_made.land(run_id, [cell(replies, model=model) for model in models])
    responses = lake.read("responses", "R1").with_row_index("n")
    odd = responses.with_columns(cost_usd=0.1 / (1 + pl.col("n")), latency_ms=1000 / (3 + pl.col("n"))).drop("n")
    lake.write("responses", "R1", "odd", odd.with_columns(response_id=pl.format("odd-{}", "response_id")))
    build(lake)
    before = contents(lake)
    lake.database.unlink()
    build(lake)
    assert [name for name, rows in contents(lake).items() if not rows.equals(before[name])] == []
    assert before["marts.deltas"].height == before["marts.pass_rates"].height == 16


def test_rows_that_landed_twice_count_once(lake, hand_made, cell, reply_makers):
    expected, numbers = reply_makers
    replies = expected("t", "passed", "failed", "refused", "error") + numbers("n", 50, Decimal("51.5"), "refused")
    for run_id in ("R1", "R2", "R3"):
        hand_made.land(run_id, [cell(replies, model=f"simulated/{number}") for number in range(3)])
    build(lake)
    once = contents(lake)
    for table in ("cases", "responses", "verdicts"):
        lake.write(table, "R1", "again", lake.read(table, "R1"))
    build(lake)
    assert [name for name, rows in contents(lake).items() if not rows.equals(once[name])] == []


def test_a_model_may_read_models_whatever_their_names(lake, models):
    folder = models(
        {
            "marts/a": "select a from marts.z",
            "marts/z": "with step as (select a from staging.m) select a from step",
            "staging/m": "select 1 as a",
        }
    )
    assert [model.relation for model in load_models(folder)] == ["staging.m", "marts.z", "marts.a"]
    build(lake, models=folder)
    assert query(lake, "from marts.a")["a"].to_list() == [1]


def test_intermediate_models_keep_their_previous_names_for_one_release(lake, models):
    build(lake, models=models({"intermediate/int_sums": "select 1 as a", "staging/stg_own": "select 2 as a"}))
    assert query(lake, "from staging.stg_sums")["a"].to_list() == [1]
    assert query(lake, "from staging.stg_own")["a"].to_list() == [2]


@pytest.mark.parametrize(
    ("sql", "relation"),
    [
        ("select 1 as a from lake.caess", "lake.caess"),
        ("select 1 as a from cases", "cases"),
        ("select 1 as a from staging.missing", "staging.missing"),
        ("with cases as (select * from lake.cases) select 1 as a from cases, somewhere.cases", "somewhere.cases"),
        ("select 1 as a from read_csv('/etc/passwd')", "read_csv"),
        ("select 1 as a where exists (select 1 from information_schema.tables)", "information_schema.tables"),
    ],
)
def test_an_undeclared_relation_is_an_error_that_names_file_and_relation(lake, models, sql, relation):
    with pytest.raises(UndeclaredRelation) as caught:
        build(lake, models=models({"marts/wrong": sql}))
    assert "marts/wrong.sql" in str(caught.value)
    assert relation in str(caught.value)
    assert not lake.database.exists()


@pytest.mark.parametrize(
    "sql", ["select 1 as a; select 2 as a", "drop table staging.stg_runs", "create table x (a int)"]
)
def test_a_model_is_exactly_one_select(lake, models, sql):
    with pytest.raises(NotOneSelect, match=r"marts/wrong\.sql"):
        build(lake, models=models({"marts/wrong": sql}))


DESCRIBED = "columns: {a: {description: d}, b: {description: d}, c: {description: d}}"
STRICT = (
    "columns: {a: {description: d}, b: {description: d, accepted: ['2']}, c: {description: d, not_null: true}}"
)


@pytest.mark.parametrize(
    ("about", "test"),
    [
        (f"grain: [a]\n{DESCRIBED}", "one row per"),
        (f"grain: [b]\n{STRICT}", "b is one of '2'"),
        (f"grain: [b]\n{STRICT.replace('accepted', 'unit').replace('[', '').replace(']', '')}", "c is not null"),
        (f"grain: [b]\n{DESCRIBED}\ninvariants: {{a is small: a < 1}}", "a is small"),
        (f"grain: [b]\n{DESCRIBED}\ninvariants: {{c is small: c < 9}}", "c is small"),
    ],
)
def test_a_failed_test_is_named_with_rows_and_leaves_the_old_file(lake, models, about, test):
    build(lake, models=models({"marts/odd": "select 1 as a"}))
    sql = "select * from (values (1, '1', 5), (1, '2', null)) as given (a, b, c)"
    with pytest.raises(ModelTestFailed) as caught:
        build(lake, models=models({"marts/odd": f"{sql}\n---\ndescription: d\n{about}"}))
    message = str(caught.value)
    assert "marts.odd" in message
    assert test in message
    assert "a=1" in message
    assert query(lake, "from marts.odd")["a"].to_list() == [1]
    assert sorted(path.name for path in lake.root.iterdir()) == ["biasgrid.duckdb", "locks"]


def test_the_columns_of_a_model_are_those_its_yaml_describes(lake, models):
    with pytest.raises(ModelTestFailed, match="its YAML describes a"):
        build(lake, models=models({"marts/odd": "select 1 as a, 2 as b"}))


def test_a_build_removes_what_a_killed_build_left(lake):
    build(lake)
    (lake.root / ".01KILLED.partial").write_bytes(b"x")
    (lake.root / ".01KILLED.partial.wal").write_bytes(b"x")
    build(lake)
    assert sorted(path.name for path in lake.root.iterdir()) == ["biasgrid.duckdb", "locks"]


def test_files_older_than_a_column_are_built_too(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell(expected("t", "passed"))])
    for path in lake.files("cases"):
        with duckdb.connect() as old:
            old.execute(f"create table cases as select * exclude (template_text) from '{path}'")
            old.execute(f"copy cases to '{path}' (format parquet)")
    (lake.manifest_folder("R1") / LOG).unlink()
    build(lake)
    assert query(lake, "from staging.stg_cases")["template_text"].to_list() == [None]


def test_a_root_with_odd_characters_is_built_from(tmp_path):
    lake = Lake.open(tmp_path / "it's [a] *b #1 100%20 añó")
    hand = {"run_id": "R1", "event_id": "1"}
    lake.write("runs", "R1", "1", pl.DataFrame([hand]))
    reply = {"run_id": "R1", "response_id": "r", "request_key": "k", "purpose": "subject", "model": "a/b"}
    lake.write("responses", "R1", "1", pl.DataFrame([reply]))
    build(lake)
    assert query(lake, COUNT_RUNS)["runs"].to_list() == [1]
    assert query(lake, "select response_id from staging.stg_responses", texts_of="R1").height == 1


def test_text_of_any_kind_reaches_the_warehouse_unchanged(lake):
    text = "'; drop table x; -- \0 « ñ » \U0001f600\n"
    response = {
        "run_id": "R1",
        "response_id": "r",
        "request_key": "k",
        "purpose": "subject",
        "model": "a/b",
        "text": text,
    }
    lake.write("responses", "R1", "x", pl.DataFrame([response]))
    build(lake)
    assert query(lake, "select text from staging.stg_responses where text = ?", [text])["text"].to_list() == [text]


@pytest.mark.parametrize(
    "statement",
    [
        "from read_csv('{root}/secret.csv')",
        "from '{root}/secret.csv'",
        "from read_text('{root}/secret.csv')",
        "from glob('{root}/*')",
        "copy staging.stg_runs to '{root}/out.csv'",
        "export database '{root}/out'",
        "attach '{root}/other.duckdb'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "create table staging.mine as select 1 as a",
        "drop table staging.stg_runs",
        "delete from staging.stg_runs",
        "from python_variable",
    ],
)
def test_what_is_asked_of_the_warehouse_can_neither_write_nor_reach_files(built, statement):
    lake = built
    python_variable = pl.DataFrame({"a": [1]})
    with connect(lake) as warehouse, pytest.raises(duckdb.Error):
        warehouse.execute(statement.format(root=lake.root)).fetchall()
    assert python_variable.height == 1
    assert sorted(path.name for path in lake.root.iterdir()) == ["biasgrid.duckdb", "locks", "secret.csv"]


def test_times_are_utc_on_every_machine(lake, hand_made):
    hand_made.run("R1", "completed")
    build(lake)
    assert query(lake, "select started_at::text as t from staging.stg_runs")["t"].to_list() == [
        "2026-03-01 04:30:00+00"
    ]


def test_before_the_first_build_the_message_names_the_command(lake):
    with pytest.raises(UserError, match="biasgrid warehouse build") as caught:
        connect(lake)
    assert str(lake.database) in str(caught.value)


def test_a_broken_file_is_named_with_its_remedy(lake):
    lake.database.write_bytes(b"not a database, for all its name" * 100)
    with pytest.raises(UserError, match="delete it") as caught:
        connect(lake)
    assert str(lake.database) in str(caught.value)


def test_what_a_killed_process_left_is_removed_by_the_next_one_once_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, new = tmp_path / "biasgrid-blank-old", tmp_path / "biasgrid-blank-new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "blank.duckdb").touch()
    os.utime(old, (0, 0))
    blank.cache_clear()
    assert blank()
    assert [*tmp_path.iterdir()] == [new]
