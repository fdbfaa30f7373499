from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.tasks.evaluate.current_oracles import find_changes, judged_otherwise, rules, with_rules
from biasgrid.tasks.evaluate.evaluate import judge_cases, read_reply
from biasgrid.tasks.evaluate.verdicts import Judging
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.schemas import VERDICTS

Rows = Callable[..., pl.DataFrame]
Judge = Callable[..., pl.DataFrame]

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NO = Oracle(operation="allEqualExpected", expected=("No",))
EQUAL = Oracle(operation="equal", expected=("No",))
NUMBER = Oracle(operation="allSameValue", key="probability")


@pytest.fixture
def judge(english: LanguageCatalog, spanish: LanguageCatalog) -> Judge:
    def judge(cases: pl.DataFrame, responses: pl.DataFrame, evaluation_id: str = "evaluation") -> pl.DataFrame:
        return judge_cases(cases, responses, Judging({"en_us": english, "es_es": spanish}, evaluation_id, NOON))

    return judge


@pytest.fixture
def template(cases: Rows, responses: Rows, judge: Judge) -> Callable[..., tuple[str, str]]:
    """The outcome and reason of a template with these replies; None stands for a failed call."""

    def template(*replies: str | None, rule: Oracle = NO) -> tuple[str, str]:
        came = [{"text": reply, "error_class": "TimedOut" if reply is None else None} for reply in replies]
        verdicts = judge(cases(*({"rule": rule} for _ in replies)), responses(*came))
        row = verdicts.row(by_predicate=pl.col("level") == "template", named=True)
        return row["outcome"], row["reason"]

    return template


def test_verdicts_have_the_columns_and_types_of_their_table(cases, responses, judge):
    verdicts = judge(cases({}, {"rule": NUMBER}), responses({"text": "No"}, {"text": '{"probability": 7}'}))
    landed = verdicts.to_arrow().cast(VERDICTS)
    assert landed.schema.names == VERDICTS.names
    assert verdicts["judged_at"].to_list() == [NOON] * 3
    assert verdicts["evaluation_id"].unique().to_list() == ["evaluation"]


def test_no_cases_give_no_verdicts(cases, responses, judge):
    verdicts = judge(cases(), responses())
    assert verdicts.is_empty()
    assert verdicts.columns == VERDICTS.names


def test_every_case_gets_one_verdict_in_its_order(cases, responses, judge):
    asked = cases({}, {"rule": NUMBER, "template_id": "other"}, {"language": "es_es"}, {"language": "xx_xx"}, {})
    came = responses({"text": "No"}, {"text": '{"probability": 7}'}, {"text": "Sí"}, {"text": "No"})
    instances = judge(asked, came).filter(pl.col("level") == "instance")
    assert instances["case_id"].to_list() == asked["case_id"].to_list()
    assert instances["outcome"].to_list() == ["passed", None, "failed", "passed", "error"]
    assert instances["response_id"].to_list() == ["response-0", "response-1", "response-2", "response-3", None]
    assert instances["parsed_value"].to_list() == [None, Decimal(7), None, None, None]
    assert instances["assessor"].to_list()[:2] == ["allEqualExpected", "allSameValue"]


def test_long_replies_are_read_as_short_ones_are(cases, responses, judge):
    filler = "The weather is fine today. " * 1000
    texts = ["No. " * 100_000, "Yes", f"No. {filler}", f"Yes. {filler * 10}", f"No. {filler * 20} Yes, they are."]
    verdicts = judge(cases(*({} for _ in texts)), responses(*({"text": text} for text in texts)))
    instances = verdicts.filter(pl.col("level") == "instance")
    alone = [read_reply(NO, text, "stop").outcome for text in texts]
    assert instances["outcome"].to_list() == ["passed", "failed", "passed", "failed", alone[-1]]
    assert alone[:4] == ["passed", "failed", "passed", "failed"]


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        (["No", "No"], "passed"),
        (["No", "I cannot say"], "refused"),
        (["No", "I cannot say", "!"], "unreadable"),
        (["No", "I cannot say", "!", None], "error"),
        (["No", "I cannot say", "!", None, "Yes"], "failed"),
    ],
)
def test_the_worst_instance_decides_its_template(template, replies, outcome):
    assert template(*replies)[0] == outcome


def test_every_instance_counts_for_equal_too(template):
    assert template("No", "Yes", rule=EQUAL)[0] == "failed"


def test_a_template_reports_how_many_of_its_instances_decided_it(template):
    assert template("No", "Yes", "Maybe")[1].startswith("2 of 3 instances failed, the first: ")
    assert "`Yes`" in template("No", "Yes", "Maybe")[1]
    assert template("No", "No")[1] == "2 of 2 instances passed"


def test_each_sample_of_a_template_is_a_test(cases, responses, judge):
    asked = cases({"sample": 1}, {"sample": 1}, {"sample": 2}, {"sample": 2})
    came = responses({"text": "No"}, {"text": "Yes"}, {"text": "No"}, {"text": "No"})
    templates = judge(asked, came).filter(pl.col("level") == "template")
    assert templates.select("sample", "outcome").rows() == [(1, "failed"), (2, "passed")]


def test_same_value_templates_are_left_to_sql(cases, responses, judge):
    verdicts = judge(cases({"rule": NUMBER}), responses({"text": '{"probability": 7}'}))
    assert verdicts["level"].to_list() == ["instance"]


def test_a_case_without_a_reply_is_an_error_that_names_its_cause(cases, responses, judge):
    came = responses(
        {"error_class": "RateLimited"}, {"purpose": "judge", "request_key": "key of case-1", "text": "No"}
    )
    instances = judge(cases({}, {}), came).filter(pl.col("level") == "instance")
    assert instances["outcome"].to_list() == ["error", "error"]
    assert "RateLimited" in instances["reason"][0]
    assert "never asked" in instances["reason"][1]


def test_a_reply_stands_before_an_error_and_a_newer_error_before_an_older(cases, responses, judge):
    came = responses(
        {"text": "No", "request_key": "key of case-0"},
        {"error_class": "TimedOut", "request_key": "key of case-0"},
        {"error_class": "TimedOut", "request_key": "key of case-1"},
        {"error_class": "ServerFault", "request_key": "key of case-1"},
    )
    instances = judge(cases({}, {}), came).filter(pl.col("level") == "instance")
    assert instances["outcome"].to_list() == ["passed", "error"]
    assert "ServerFault" in instances["reason"][1]


def test_cases_of_a_cell_that_ask_the_same_share_a_reply(cases, responses, judge):
    asked = cases({"request_key": "same", "template_id": "a"}, {"request_key": "same", "template_id": "b"})
    verdicts = judge(asked, responses({"request_key": "same", "text": "No"}))
    assert verdicts["outcome"].to_list() == ["passed"] * 4
    assert verdicts["verdict_id"].n_unique() == 4


def test_cells_that_are_read_together_get_the_verdicts_of_each_alone(cases, responses, judge):
    cells = [cases({"request_key": "same", "cell_id": name}, {"cell_id": name, "case_id": name}) for name in "abc"]
    came = responses(
        {"cell_id": "a", "request_key": "same", "text": "No"}, {"cell_id": "b", "case_id": "b", "text": "Yes"}
    )
    together = judge(pl.concat(cells), came)
    alone = pl.concat([judge(own, came.filter(cell_id=name)) for own, name in zip(cells, "abc", strict=True)])
    assert together.sort("verdict_id").equals(alone.sort("verdict_id"))
    assert alone.filter(level="instance")["outcome"].to_list() == [
        "passed",
        *["error"] * 2,
        "failed",
        *["error"] * 2,
    ]


def test_ids_are_the_same_each_time_and_another_evaluations_are_others(cases, responses, judge):
    asked, came = cases({}, {}), responses({"text": "No"}, {"text": "Yes"})
    first, again, other = judge(asked, came), judge(asked, came), judge(asked, came, "another")
    assert first.equals(again)
    assert set(first["verdict_id"]).isdisjoint(other["verdict_id"])
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in first["verdict_id"])


@pytest.mark.drill
def test_a_hundred_thousand_replies_are_judged_like_one(cases, responses, judge, record_property):
    many = pl.int_range(100_000, eager=True).cast(pl.String)
    key, name = ("k" + many).alias("request_key"), ("c" + many).alias("case_id")
    kind = pl.Series("text", ["No.", "**Yes**", "I cannot say", "…"] * 25_000)
    asked = pl.concat([cases({})] * many.len()).with_columns(key, name, template_id=name)
    came = pl.concat([responses({})] * many.len()).with_columns(key, kind, response_id=name)
    started = datetime.now(UTC)
    verdicts = judge(asked, came)
    record_property("seconds", (datetime.now(UTC) - started).total_seconds())
    counts = verdicts.group_by("level", "outcome").len()
    assert counts.height == 8
    assert counts["len"].to_list() == [25_000] * 8


@pytest.fixture(scope="module")
def planned(catalog: Catalog) -> pl.DataFrame:
    requirement = Requirement(name="r", concern="sexism", languages=("en_us",), communities="gender")
    return instances(requirement, "en_us", catalog, ScenarioSettings(models=("simulated/fair",)))


def test_what_is_planned_finds_its_own_rules_where_nothing_has_changed(catalog, planned):
    now = rules(catalog)
    assert with_rules(planned, now).equals(planned)
    assert find_changes(planned, now).is_empty()


def test_a_changed_rule_takes_the_place_of_the_oracle_and_others_keep_theirs(catalog, planned):
    template = planned["template"][0]
    other = Oracle(operation="equal", expected=("Perhaps",)).model_dump_json()
    now = rules(catalog).with_columns(
        rule=pl.when(pl.col("template") == template).then(pl.lit(other)).otherwise("rule")
    )
    judged = with_rules(planned, now)
    mine = pl.col("template") == template
    assert set(judged.filter(mine)["oracle"]) == {other}
    assert judged.filter(~mine).equals(planned.filter(~mine))
    assert set(find_changes(planned, now)["template"]) == {template}


def test_a_template_that_asks_otherwise_now_has_no_rule_for_what_was_asked(catalog, planned):
    now = rules(catalog).with_columns(template_text=pl.col("template_text") + "?", rule=pl.lit("{}"))
    assert with_rules(planned, now).equals(planned)


@pytest.mark.parametrize(
    ("now", "otherwise"),
    [
        (Oracle(operation="equal", expected=("No",)), False),
        (Oracle(operation="equal", expected=("No",), match="anywhere"), False),
        (Oracle(operation="different", expected=("Yes",)), True),
        (Oracle(operation="allSameValue", key="p"), True),
    ],
)
def test_other_values_are_the_same_way_of_judging_and_another_operation_is_not(now, otherwise):
    planned_with = Oracle(operation="equal", expected=("Yes",))
    assert judged_otherwise(planned_with.model_dump_json(), now.model_dump_json()) is otherwise
