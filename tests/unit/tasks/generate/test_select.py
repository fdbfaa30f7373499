"""Which templates are drawn: all that fit, or a seeded sample undisturbed by other templates and languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.tasks.generate.instantiate import fitting_templates, select_templates

Library = Callable[..., Catalog]
Require = Callable[..., Requirement]
Settings = Callable[..., ScenarioSettings]
CELLS = list(product(["constrained", "verbose"], ["observational", "utopian"]))


def grid(count: int) -> list[dict[str, Any]]:
    """So many templates in each cell."""
    return [
        {"id": f"{kind[0]}{reflection[0]}-{number}", "input": kind, "reflection": reflection}
        for kind, reflection in CELLS
        for number in range(count)
    ]


def ids(
    catalog: Catalog, requirement: Requirement, settings: ScenarioSettings, language: str = "en_us"
) -> list[str]:
    return [template.id for template in select_templates(requirement, language, catalog, settings)]


def test_what_fits_is_of_the_requirements_concern_language_inputs_and_reflections(library, require):
    catalog = library(*grid(2))
    asked = require(inputs=["verbose"], reflections=["utopian"])
    assert [template.id for template in fitting_templates(asked, "en_us", catalog)] == ["vu-0", "vu-1"]
    assert fitting_templates(require(concern="racism"), "en_us", catalog) == ()
    assert fitting_templates(require(), "es_es", catalog) == ()


def test_templates_come_in_the_order_in_which_people_number_them(library, require):
    catalog = library(*({"id": name} for name in ["10", "9", "sexism-2", "sexism-10", "1"]))
    assert [template.id for template in fitting_templates(require(), "en_us", catalog)] == [
        "1",
        "9",
        "10",
        "sexism-2",
        "sexism-10",
    ]


def test_a_limit_above_what_there_is_takes_everything(library, require, settings):
    assert len(ids(library(*grid(3)), require(), settings(templates=3))) == 12


def test_sampling_per_cell_takes_as_many_of_each_and_per_requirement_as_many_in_all(library, require, settings):
    catalog = library(*grid(10))
    per_cell = ids(catalog, require(), settings(templates=4, sampling="cell"))
    in_all = ids(catalog, require(), settings(templates=4, sampling="requirement"))
    assert Counter(name[:2] for name in per_cell) == {"co": 4, "cu": 4, "vo": 4, "vu": 4}
    assert len(in_all) == 4


def test_the_same_seed_draws_the_same_and_another_draws_others(library, require, settings):
    catalog = library(*grid(20))
    first, again, other = (ids(catalog, require(), settings(templates=5, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_two_requirements_on_one_concern_draw_independently(library, require, settings):
    catalog = library(*grid(20))
    drawn = settings(templates=5)
    assert ids(catalog, require(name="a"), drawn) != ids(catalog, require(name="b"), drawn)


def test_templates_that_are_added_replace_at_most_as_many_of_the_draw(library, require, settings):
    drawn = settings(templates=5, sampling="requirement")
    before = set(ids(library(*grid(10)), require(), drawn))
    after = set(ids(library(*grid(10), {"id": "new-1"}, {"id": "new-2"}), require(), drawn))
    assert len(before - after) <= 2
    assert after - before <= {"new-1", "new-2"}


def test_libraries_that_are_parallel_across_languages_are_sampled_alike(library, require, settings):
    asked = require(languages=["en_us", "es_es"])
    english = ids(library(*grid(10)), asked, settings(templates=3))
    spanish = ids(library(*grid(10), language="es_es"), asked, settings(templates=3), "es_es")
    assert english == spanish


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_file_does_not_matter(library, require, settings, order):
    assert ids(library(*grid(6)[::order]), require(), settings(templates=2)) == ids(
        library(*grid(6)), require(), settings(templates=2)
    )


def test_twins_are_drawn_together(library, require, settings):
    pairs = [
        {"id": f"q-{n}", "format": "no_yes", "twin": {"id": f"q-{n}-v", "format": "reason"}} for n in range(20)
    ]
    catalog = library(*pairs)
    drawn = {
        template.id
        for template in select_templates(require(), "en_us", catalog, settings(templates=5, sampling="cell"))
    }
    assert len(drawn) == 10
    assert {name.removesuffix("-v") for name in drawn} == {name for name in drawn if not name.endswith("-v")}
