"""Each kind of expectation finds what breaks it, counts it and names some, and nothing else."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import polars as pl
import pytest

from biasgrid.warehouse.build.attach_lake import attach_lake
from biasgrid.warehouse.build.reading import OFFLINE
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.expectations.expectation import Between, OneOf, RowRule, Suite, expect_reference, unique
from biasgrid.warehouse.expectations.narrow import Narrowed, narrow_table
from biasgrid.warehouse.expectations.suites import all_suites
from biasgrid.warehouse.storage.lake import Lake

Change = Callable[..., None]


@pytest.fixture
def session() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config=OFFLINE) as connected:
        connected.execute("attach ':memory:' as lake")
        yield connected


@pytest.fixture
def of_values(session: duckdb.DuckDBPyConnection) -> Callable[..., Narrowed]:
    """Narrows a table of one column and its id: `of_values(expectation, "passed", None)`."""

    def narrow(expectation: Any, *values: object) -> Narrowed:
        rows = pl.DataFrame({"id": [f"r{n}" for n in range(len(values))], "it": list(values)}, strict=False)
        session.register("given", rows.to_arrow())
        return narrow_table(session, Suite("given", ("id",), (expectation,)))

    return narrow


def test_unknown_values_come_first_and_are_counted(of_values):
    found = of_values(OneOf("it", ("passed", "failed")), "passed", "perhaps", None, "perhaps", "failed")
    assert found.shown["it"] == ["perhaps", "failed", "passed"]
    (breach,) = found.breaches.values()
    assert (breach.rows, breach.examples) == (2, ("r1", "r3"))


@pytest.mark.parametrize(
    ("values", "shown", "rows"),
    [
        ((0.0, 1.0, None), [0.0, 1.0], 0),
        ((0.2, 1.00000000001), [0.2, 1.0], 0),
        ((-0.1, 0.5, 1.5), [-0.1, 1.5], 2),
        ((0.5, math.nan), [0.5, -math.inf], 1),
        ((0.5, math.inf), [0.5, math.inf], 1),
    ],
)
def test_least_and_greatest_show_a_range(of_values, values, shown, rows):
    found = of_values(Between("it", 0, 1), *values)
    assert found.shown["it"] == shown
    assert [breach.rows for breach in found.breaches.values()] == [rows]


def test_an_open_range_has_a_least_number_alone(of_values):
    assert [breach.rows for breach in of_values(Between("it", 0), 0.0, 1e12).breaches.values()] == [0]
    assert [breach.rows for breach in of_values(Between("it", 0), -1.0, math.nan).breaches.values()] == [2]


def test_many_rows_are_counted_and_a_few_are_named(of_values):
    found = of_values(RowRule("it is even", "it % 2 = 1"), *range(40))
    assert found.shown["it is even"] == ["20 rows, such as r1; r11; r13; r15; r17"]


def test_a_repeated_key_is_named_once(of_values):
    assert [b.rows for b in of_values(unique("given", ["it"]), "a", "b").breaches.values()] == [0]
    (breach,) = of_values(unique("given", ["it"]), "a", "b", "a", "a").breaches.values()
    assert (breach.rows, breach.examples) == (1, ("a",))


def test_a_reference_to_nothing_is_named_and_null_is_none(session, of_values):
    session.execute("create table known as select 'a' as it")
    (breach,) = of_values(expect_reference("given", ["id"], ["it"], "known"), "a", "gone", None).breaches.values()
    assert (breach.rows, breach.examples) == (1, ("r1",))


def test_names_hold_nothing_that_a_terminal_would_run(of_values):
    found = of_values(OneOf("it", ("passed",)), "\x1b]0;x\x07" + "y" * 400)
    (shown,) = found.shown["it"]
    assert shown.isprintable()
    assert len(shown) == 160


def test_an_empty_table_breaks_nothing(of_values):
    for expectation in (OneOf("it", ("a",)), Between("it", 0), RowRule("it is there", "it is null")):
        found = of_values(expectation)
        assert (found.rows, [breach.rows for breach in found.breaches.values()]) == (0, [0])


@pytest.fixture
def broken(session: duckdb.DuckDBPyConnection) -> Callable[..., dict[tuple[str, str], int]]:
    """What does not hold of a lake and its warehouse, or of some tables: rows by relation and sentence."""

    def look(lake: Lake, part: str = "") -> dict[tuple[str, str], int]:
        session.execute("detach lake")
        attach_lake(session, lake)
        session.execute(f"attach {literal(lake.database)} as biasgrid (read_only); use biasgrid")
        tables = [narrow_table(session, suite) for suite in all_suites() if suite.relation.startswith(part)]
        return {
            (table.suite.relation, sentence): breach.rows
            for table in tables
            for sentence, breach in table.breaches.items()
            if breach.rows
        }

    return look


def test_a_finished_run_is_as_expected(finished, broken):
    assert broken(finished) == {}


RULES: list[tuple[str, dict[str, Any], str, str]] = [
    ("runs", {"state": "perhaps"}, "lake.runs", "state is one of planning, running"),
    ("cells", {"state": "perhaps"}, "lake.cells", "state is one of planned"),
    ("cells", {"input": "perhaps"}, "lake.cells", "input is one of"),
    ("cells", {"cost_usd": -1.0}, "lake.cells", "cost_usd is 0 at least"),
    ("cells", {"answered": 9, "reused": 0, "failed": 0}, "lake.cells", "no more is answered"),
    ("cells", {"cell_id": "gone"}, "lake.cases", "run_id × cell_id is there in lake.cells"),
    ("cells", {"planned": 9}, "lake.cases", "never: cells that were planned lack cases"),
    ("cases", {"oracle_type": "perhaps"}, "lake.cases", "oracle_type is one of"),
    ("cases", {"sample": 0}, "lake.cases", "sample is 1 at least"),
    ("cases", {"case_id": "gone"}, "lake.responses", "every response answers a case"),
    ("cases", {"case_id": "gone"}, "lake.verdicts", "never: the case that was judged is not there"),
    ("cases", {"case_id": "gone"}, "lake.responses", "every case of a prompted cell has a reply or a failure"),
    ("responses", {"purpose": "perhaps"}, "lake.responses", "purpose is one of subject"),
    ("responses", {"latency_ms": -1.0}, "lake.responses", "latency_ms is 0 at least"),
    ("responses", {"text": None}, "lake.responses", "a reply has a text, or a reason"),
    ("responses", {"purpose": "judge"}, "lake.responses", "every case of a prompted cell has a reply"),
    ("criteria", {"tolerance": 1.5}, "lake.criteria", "tolerance is 0 at least and 1 at most"),
    ("criteria", {"refusals": "perhaps"}, "lake.criteria", "refusals is one of"),
    ("verdicts", {"outcome": "perhaps"}, "lake.verdicts", "outcome is one of"),
    ("verdicts", {"outcome": None}, "lake.verdicts", "it has an outcome, or a number that SQL compares"),
    ("verdicts", {"level": "perhaps"}, "lake.verdicts", "level is one of"),
    ("verdicts", {"assessor_kind": "perhaps"}, "lake.verdicts", "assessor_kind is one of"),
    ("verdicts", {"response_id": "gone"}, "lake.verdicts", "never: the response that was judged is not there"),
    ("verdicts", {"supersedes": "gone"}, "lake.verdicts", "a verdict that is superseded is there"),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_what_breaks_a_rule_of_the_lake_is_found(whole, broken, rewritten, rule):
    table, change, relation, sentence = rule
    rewritten(whole, table, **change)
    assert [found for found in broken(whole, relation) if found[1].startswith(sentence)]


def test_verdicts_of_a_run_without_criteria_are_found(whole, broken):
    for file in whole.files("criteria", "R1"):
        file.unlink()
    wanted = "never: the criteria of the evaluation are not there"
    assert [found for found in broken(whole, "lake.verdicts") if found[1].startswith(wanted)]


AGAIN: list[tuple[str, dict[str, Any], set[tuple[str, str]]]] = [
    ("responses", {}, {("lake.responses", "one row per run_id × response_id")}),
    ("cases", {}, {("lake.cases", "one row per run_id × cell_id × case_id")}),
    (
        "verdicts",
        {},
        {("lake.verdicts", "one row per run_id × verdict_id"), ("lake.verdicts", "one verdict per judged unit")},
    ),
    ("verdicts", {"verdict_id": "stray"}, {("lake.verdicts", "one verdict per judged unit")}),
    ("verdicts", {"verdict_id": "judged", "supersedes": f"E1/{'{case}'}"}, set()),
    ("responses", {"response_id": "judged", "purpose": "judge"}, set()),
]


@pytest.mark.parametrize("example", AGAIN)
def test_what_landed_twice_is_found_and_what_may_stands(whole, broken, landed_again, rewritten, example):
    table, change, found = example
    named = {name: value.format(case=rewritten.case) for name, value in change.items()}
    landed_again(whole, table, **named)
    assert set(broken(whole, "lake")) == found


def test_a_cell_that_one_model_was_never_asked_is_found(whole, broken):
    away = "fairness-simulated-two-en_us-constrained-observational"
    other = pl.read_parquet(whole.files("cells", "R1", away)[0]).with_columns(
        input=pl.lit("verbose"), cell_id=pl.lit("other"), planned=pl.lit(0, pl.Int64), state=pl.lit("planned")
    )
    whole.write("cells", "R1", "other", other)
    assert broken(whole, "lake.cells")["lake.cells", "every model of a run has the same cells"] == 1


def test_a_run_under_way_may_wait_for_replies(whole, broken, rewritten):
    for path in whole.files("responses", "R1") + whole.files("verdicts", "R1"):
        path.unlink()
    rewritten(whole, "runs", state="running")
    assert broken(whole, "lake") == {}


MARTS = [
    ("update marts.pass_rates set test_rate = 1.2", "marts.pass_rates", "test_rate is 0 at least and 1 at most"),
    ("update marts.pass_rates set tests = -1", "marts.pass_rates", "tests is 0 at least"),
    ("update marts.pass_rates set decision = 'perhaps'", "marts.pass_rates", "decision is one of"),
    ("update marts.pass_rates set model = null", "marts.pass_rates", "model is not null"),
    ("update marts.pass_rates set passed = passed + 1", "marts.pass_rates", "every planned test has one outcome"),
    (
        "update marts.pass_rates set interval_low = .9, interval_high = .1",
        "marts.pass_rates",
        "the interval has two ends",
    ),
    ("insert into marts.pass_rates from marts.pass_rates", "marts.pass_rates", "one row per run_id × cell_id"),
    ("update marts.costs set run_id = 'gone'", "marts.costs", "run_id is there in staging.stg_runs"),
    (
        "update marts.pass_rates set cell_id = 'gone'",
        "marts.pass_rates",
        "run_id × cell_id is there in intermediate.int_planned_cells",
    ),
    ("delete from marts.pass_rates", "marts.pass_rates", "a row for each planned run_id × cell_id"),
    ("delete from marts.requirement_findings", "marts.requirement_findings", "a row for each planned"),
]


@pytest.mark.parametrize(("change", "relation", "sentence"), MARTS)
def test_what_breaks_a_rule_of_a_mart_is_found(whole, broken, change, relation, sentence):
    with duckdb.connect() as writing:
        writing.execute(f"attach {literal(whole.database)} as biasgrid; use biasgrid; {change}")
    assert [found for found in broken(whole, relation) if found[1].startswith(sentence)]
