"""What a library covers: counts that add up, shares that a hand can check, what is missing, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.flows.catalog.coverage import coverage
from biasgrid.tasks.generate.instantiate import instances

Library = Callable[..., Catalog]
DENIED = {"operation": "allEqualExpected", "expected": ["No"]}
AFFIRMED = {"operation": "allEqualExpected", "expected": ["Yes"]}
SCORE = {"operation": "allSameValue", "key": "score"}


def _entry(number: int, **differing: Any) -> dict[str, Any]:
    plain = {"input": "constrained", "reflection": "observational", "format": "yes_no", "oracle": DENIED}
    return {"id": f"t{number}", "prompt": f"Are {{GENDER:plural}} like number {number}?", **plain, **differing}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A catalog of the entries given, of sexism in English."""

    def write(*entries: dict[str, Any], **shared: str) -> Catalog:
        path = tmp_path / "mine.yaml"
        content = {"language": "en_us", "concern": "sexism", **shared, "templates": list(entries)}
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return load_catalog(path)

    return write


def test_a_cell_shows_how_many_templates_of_each_kind_and_what_constant_answers_pass(library):
    reworded = _entry(2, paraphrases=["So {GENDER:plural}?"])
    reverse = _entry(3, oracle=AFFIRMED, reverse_keyed=True, format="no_yes")
    found = coverage(library(_entry(1), reworded, reverse, _entry(4, oracle=SCORE, format="score")))
    assert found.cells.to_dicts() == [
        {
            "language": "en_us",
            "concern": "sexism",
            "input": "constrained",
            "reflection": "observational",
            "templates": 4,
            "clusters": 4,
            "instances": 3 + 6 + 3 + 3,
            "instances_per_template": 15 / 4,
            "paraphrased": 1,
            "expected_value": 3,
            "same_value": 1,
            "reverse_keyed": 1,
            "constant_no": pytest.approx(2 / 3),
            "constant_yes": pytest.approx(1 / 3),
            "first_option": 0.0,
            "refuser": 0.0,
            "templates_needed": 38,
            "decidable": False,
            "met_at_98": 0.0,
            "not_met_at_80": pytest.approx(0.2**4 + 4 * 0.2**3 * 0.8),
        }
    ]


def test_a_cell_of_numbers_alone_has_no_baseline(library):
    (cell,) = coverage(library(_entry(1, oracle=SCORE, format="score"))).cells.to_dicts()
    names = ("constant_no", "constant_yes", "first_option", "refuser")
    assert [cell[name] for name in names] == [None] * 4


def test_concerns_pool_the_templates_of_their_cells(library):
    other = _entry(2, input="verbose", oracle=AFFIRMED)
    found = coverage(library(_entry(1), _entry(3), other))
    (concern,) = found.concerns.to_dicts()
    assert (concern["templates"], concern["instances"]) == (3, 9)
    assert concern["constant_no"] == pytest.approx(2 / 3)


def test_a_cell_with_as_many_templates_as_the_tolerance_needs_can_be_decided(library):
    catalog = library(*(_entry(number) for number in range(18)))
    content = {tolerance: coverage(catalog, tolerance).cells.row(0, named=True) for tolerance in (0.8, 0.81, 1)}
    assert {tolerance: cell["decidable"] for tolerance, cell in content.items()} == {
        0.8: True,
        0.81: False,
        1: False,
    }
    assert (content[0.8]["templates_needed"], content[1]["templates_needed"]) == (18, None)


def test_a_template_and_its_twin_are_one_cluster_of_a_decision(library):
    twins = [_entry(n, twin={"id": f"t{n}-v", "format": "", "answers": ["a"]}) for n in range(18)]
    alone = [_entry(number) for number in range(18, 38)]
    (concern,) = coverage(library(*twins, *alone)).concerns.to_dicts()
    assert (concern["templates"], concern["clusters"], concern["decidable"]) == (56, 38, True)
    assert concern["met_at_98"] == pytest.approx(0.98**38)
    (fewer,) = coverage(library(*twins, *alone[1:])).concerns.to_dicts()
    assert (fewer["templates"], fewer["decidable"], fewer["met_at_98"]) == (55, False, 0)


def test_templates_that_ask_the_same_are_one_test(library):
    twice = [_entry(number, prompt="Are {GENDER:plural}?") for number in (1, 2)]
    (cell,) = coverage(library(*twice, _entry(3, oracle=AFFIRMED))).cells.to_dicts()
    assert (cell["templates"], cell["instances"], cell["constant_no"]) == (3, 6, 0.5)


def test_a_template_that_makes_no_prompt_is_no_test(library):
    crowd = _entry(1, prompt="{GENDER1} {GENDER2} {GENDER3} {GENDER4}?")
    found = coverage(library(crowd, _entry(2, oracle=AFFIRMED)))
    (cell,) = found.cells.to_dicts()
    assert (cell["templates"], cell["instances"], cell["constant_no"]) == (2, 3, 0)
    assert found.uncounted["templates"].to_list() == [1]


def test_instances_of_a_markup_that_no_one_fills_are_unknown_and_reported(library):
    found = coverage(library(_entry(1, prompt="Are {HAIR:plural}?"), _entry(2, prompt="Is {HAIR:person}?")))
    (cell,) = found.cells.to_dicts()
    assert (cell["templates"], cell["instances"], cell["instances_per_template"]) == (2, None, None)
    assert cell["constant_no"] == 1
    assert found.uncounted.to_dicts() == [
        {
            "language": "en_us",
            "concern": "sexism",
            "trouble": "no community set fills `{HAIR}` in `en_us`",
            "templates": 2,
        }
    ]


def test_templates_of_a_sector_stand_apart(library):
    found = coverage(library(_entry(1), _entry(2, sector="housing"), _entry(3, sector="housing")))
    assert found.cells["templates"].to_list() == [1]
    assert found.sector_sets.select("language", "sector", "templates").rows() == [("en_us", "housing", 2)]
    assert found.sectors.select("sector", "concern", "templates").rows() == [("housing", "sexism", 2)]


def test_a_foreign_library_misses_cells_of_its_own_concerns_only(library):
    found = coverage(library(_entry(1), _entry(2, input="verbose")))
    assert found.missing.rows() == [
        ("en_us", "sexism", "constrained", "utopian"),
        ("en_us", "sexism", "verbose", "utopian"),
    ]


def test_a_concern_and_language_that_are_asked_for_are_missing_where_the_library_has_none(library):
    found = coverage(library(_entry(1)), concerns=["Racism"], languages=["ca_es"])
    assert found.cells.height == 0
    assert found.missing.select("language", "concern").unique().rows() == [("ca_es", "racism")]


def test_every_mistake_in_what_is_asked_is_reported_at_once():
    with pytest.raises(UserError) as raised:
        coverage(load_catalog(), 90, ["sexsim", "ageism", "Xenophobie"], ["en_uk"])
    content = str(raised.value)
    assert len(raised.value.mistakes) == 4
    for part in ("tolerance `90`", "`en_uk` is unknown", "`en_us`", "`sexsim`", "`sexism`", "`xenophobia`"):
        assert part in content


def test_shipped_instances_are_those_that_generate_makes():
    catalog = load_catalog()
    found = coverage(catalog)
    settings = ScenarioSettings(models=("simulated/fair",), templates=100_000)
    general = found.concerns.select("language", "concern", pl.lit(None).alias("sector"), "instances")
    apart = found.sectors.group_by("language", "concern", "sector").agg(pl.col("instances").sum())
    for language, concern, sector, counted in (*general.iter_rows(), *apart.iter_rows()):
        asked = Requirement(name="r", concern=concern, languages=(language,), sector=sector)
        assert instances(asked, language, catalog, settings).height == counted, (language, concern, sector)


def test_the_shipped_library_adds_up():
    catalog = load_catalog()
    found = coverage(catalog)
    general = [template for template in catalog.templates if template.sector is None]
    assert found.cells["templates"].sum() == found.concerns["templates"].sum() == len(general)
    assert found.cells["instances"].sum() == found.concerns["instances"].sum()
    assert found.sectors["templates"].sum() == len(catalog.templates) - len(general)
    assert found.uncounted.height == 0
    kinds = found.cells["expected_value"] + found.cells["same_value"]
    assert (kinds == found.cells["templates"]).all()
