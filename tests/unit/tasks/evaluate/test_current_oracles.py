import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.entries import Requirement, ScenarioSettings
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.current_oracles import find_changes, judged_otherwise, rules, with_rules
from biasgrid.tasks.generate.instantiate import instances


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


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
