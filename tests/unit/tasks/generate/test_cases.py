"""Instances become cases: one per model and sample, under ids and request keys that say what is asked."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.generate.cases import cases, plan_hash
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.schemas import CASES

Library = Callable[..., Catalog]
Require = Callable[..., Requirement]
Settings = Callable[..., ScenarioSettings]
Asked = Callable[..., pl.DataFrame]
TARGET = Target(
    model="openai/m", provider="openai", name="m", connector="openai", base_url="http://127.0.0.1:9/v1"
)


@pytest.fixture
def asked(library: Library, require: Require, settings: Settings) -> Asked:
    """The cases of one template for one target."""

    def ask(target: Target = TARGET, prompt: str = "{GENDER}?", **differing: Any) -> pl.DataFrame:
        chosen, catalog = settings(**differing), library({"prompt": prompt})
        found = instances(require(), "en_us", catalog, chosen)
        return cases(found, [target], chosen, catalog)

    return ask


def keys(frame: pl.DataFrame) -> set[str]:
    return set(frame["request_key"])


def test_cases_have_the_columns_of_their_table_but_the_run(asked):
    assert set(asked().columns) | {"run_id"} == set(CASES.names)


def test_one_case_per_instance_model_and_sample(library, require, settings):
    catalog, chosen = library({"prompt": "{GENDER}?"}, {"prompt": "Nobody?"}), settings(samples=3)
    targets = [TARGET, TARGET.model_copy(update={"model": "openai/n", "name": "n"})]
    frame = cases(instances(require(), "en_us", catalog, chosen), targets, chosen, catalog)
    assert frame.height == 3 * 2 * 3
    assert frame["case_id"].is_unique().all()
    assert frame["request_key"].is_unique().all()
    assert frame["cell_id"].n_unique() == 2


def test_the_message_is_the_text_of_the_instance(asked):
    assert asked()["messages"].to_list()[0] == [{"role": "user", "content": "men?"}]


def test_samples_have_seeds_of_their_own_that_follow_the_scenarios(asked):
    frame = asked(samples=3, seed=7, prompt="Nobody?")
    assert [json.loads(sent)["seed"] for sent in frame["parameters"]] == [7, 8, 9]
    assert frame["sample"].to_list() == [1, 2, 3]


def test_the_last_seed_wraps_around(asked):
    frame = asked(samples=2, seed=2**31 - 1, prompt="Nobody?")
    assert [json.loads(sent)["seed"] for sent in frame["parameters"]] == [2**31 - 1, 0]


def test_more_samples_keep_the_keys_of_those_before(asked):
    assert keys(asked(samples=1)) < keys(asked(samples=2))


def test_only_parameters_that_a_model_takes_are_sent(asked):
    reasoning = TARGET.model_copy(update={"parameters": ("seed",)})
    sent = json.loads(asked(reasoning, temperature=0.5, max_tokens=9)["parameters"][0])
    assert sent == {"seed": 0}


@pytest.mark.parametrize(
    "change",
    [
        {"model": "openai/n"},
        {"name": "n"},
        {"provider": "vllm"},
        {"base_url": "http://127.0.0.1:10/v1"},
        {"deployment": "d"},
        {"api_version": "2"},
        {"parameters": ("temperature",)},
    ],
)
def test_what_reaches_another_model_has_another_key(asked, change):
    assert not keys(asked()) & keys(asked(TARGET.model_copy(update=change)))


@pytest.mark.parametrize("change", [{"temperature": 0.5}, {"max_tokens": 9}, {"seed": 1}, {"prompt": "{GENDER}!"}])
def test_what_asks_otherwise_has_another_key(asked, change):
    assert not keys(asked()) & keys(asked(**change))


def test_prices_limits_and_the_keys_name_change_nothing(asked):
    reported = {"prices": {"input": 1, "output": 2}, "limits": {"concurrency": 1}, "key_env": ["X"]}
    cheaper = Target.model_validate(TARGET.model_dump() | reported)
    assert asked().equals(asked(cheaper))


def test_a_respondent_that_is_defined_otherwise_has_another_key(tmp_path):
    settings = ScenarioSettings(models=("simulated/fair",), templates=1)
    requirement = Requirement(name="r", concern="sexism", languages=("en_us",), communities="gender")

    def key(catalog: Catalog) -> set[str]:
        found = instances(requirement, "en_us", catalog, settings)
        return keys(cases(found, [catalog.target("simulated/fair")], settings, catalog))

    fair = load_catalog().respondents["fair"]
    changed = Respondent.model_validate(fair.model_dump() | {"failures": {"default": 0.5}})
    (tmp_path / "respondents").mkdir()
    path = tmp_path / "respondents" / "fair.yaml"
    path.write_text(changed.model_dump_json(), encoding="utf-8")
    assert not key(load_catalog()) & key(load_catalog(overlay=tmp_path))
    path.write_text(fair.model_dump_json(), encoding="utf-8")
    assert key(load_catalog()) == key(load_catalog(overlay=tmp_path))


def test_a_case_of_another_requirement_is_another_case_under_the_same_key(library, require, settings):
    catalog, chosen = library({"prompt": "{GENDER}?"}), settings()
    first, second = (
        cases(instances(require(name=name), "en_us", catalog, chosen), [TARGET], chosen, catalog)
        for name in ("a", "b")
    )
    assert keys(first) == keys(second)
    assert not set(first["case_id"]) & set(second["case_id"])
    assert not set(first["cell_id"]) & set(second["cell_id"])


def test_a_plan_is_another_when_what_is_drawn_or_read_changes(library, require, settings):
    def plan(*entries: dict[str, Any], **differing: Any) -> str:
        return plan_hash(require(**differing.pop("asked", {})), "en_us", settings(**differing), library(*entries))

    base = plan({})
    assert base == plan({}) == plan({}, samples=5) == plan({}, temperature=0.5) == plan({}, models=["a/b"])
    changed = [
        plan({}, seed=1),
        plan({}, templates=3),
        plan({}, sampling="requirement"),
        plan({"prompt": "Other?"}),
    ]
    changed += [plan({}, asked={"delta": 0.5}), plan({}, asked={"name": "s"})]
    assert len({base, *changed}) == len(changed) + 1


def test_a_library_that_stands_next_to_scenarios_is_part_of_its_plan(tmp_path, require, settings):
    path = tmp_path / "scenarios" / "mine.yaml"
    path.parent.mkdir()
    text = (
        "language: en_us\nconcern: sexism\ntemplates:\n  - {id: a, input: verbose, reflection: utopian, "
        "prompt: 'WHO?', oracle: {operation: equal, expected: ['No']}}\n"
    )
    plans = set()
    for who in ("Who", "Which"):
        path.write_text(text.replace("WHO", who), encoding="utf-8")
        plans.add(plan_hash(require(), "en_us", settings(), load_catalog(path)))
    assert len(plans) == 2
