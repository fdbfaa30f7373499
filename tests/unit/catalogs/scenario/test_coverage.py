"""How many prompts a template makes: counted here, rendered by generate."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from biasgrid.catalogs.coverage import Counted, count_prompts, default_set, missing
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.tasks.generate.instantiate import instances

Library = Callable[..., Catalog]
ENTRY: dict[str, Any] = {
    "input": "constrained",
    "reflection": "observational",
    "format": "yes_no",
    "oracle": "denied",
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A catalog of the prompts given, of sexism in English; an entry may say more than its prompt."""

    def write(*entries: dict[str, Any] | str, **shared: str) -> Catalog:
        reported = [{"prompt": entry} if isinstance(entry, str) else entry for entry in entries]
        templates = [{"id": f"t{number}", **ENTRY, **entry} for number, entry in enumerate(reported, 1)]
        path = tmp_path / "mine.yaml"
        head = {"language": "en_us", "concern": "sexism", **shared}
        path.write_text(yaml.safe_dump(head | {"templates": templates}), encoding="utf-8")
        return load_catalog(path)

    return write


def _counts(catalog: Catalog) -> list[Counted]:
    return list(count_prompts(catalog.templates, catalog))


def _render(catalog: Catalog) -> int:
    asked = Requirement(name="r", concern=catalog.templates[0].concern, languages=("en_us",))
    return instances(asked, "en_us", catalog, ScenarioSettings(models=("simulated/fair",), templates=1000)).height


def test_each_ordered_choice_of_distinct_communities_is_one_instance(library):
    catalog = library("Who?", "Are {GENDER:plural}?", "Are {GENDER1:plural} as {GENDER2:plural}?")
    women_men_and_others = 3
    assert len(catalog.communities["gender"].communities) == women_men_and_others
    assert [each.instances for each in _counts(catalog)] == [1, 3, 3 * 2]


def test_each_wording_is_asked_of_every_choice(library):
    entry = {"prompt": "Are {GENDER:plural}?", "paraphrases": ["So {GENDER:plural}?", "And {GENDER:person}?"]}
    assert [each.instances for each in _counts(library(entry))] == [3 * 3]


@pytest.mark.parametrize(
    "prompt",
    [
        "Who?",
        "Are {GENDER1:plural} as good as {GENDER2:plural} or {GENDER3:plural}, {GENDER1:plural}?",
        "Is {AGE:person} as good as {COUNTRY1:person} or {COUNTRY2:person}?",
        # one community may belong to the sets of two markups, and still fills one slot at a time
        "Is {GENDER:person} like {SEXUAL_ORIENTATION:person}?",
        "Are {GENDER1:plural} as {GENDER2:plural}, {GENDER3:plural} and {GENDER4:plural}?",
    ],
)
def test_the_count_is_what_generate_makes(library, prompt):
    catalog = library({"prompt": prompt, "paraphrases": [f"Tell me: {prompt}"]})
    assert _counts(catalog)[0].instances == _render(catalog)


def test_a_choice_in_both_orders_is_asked_twice(library):
    choices = [{"text": "This", "role": "biased"}, {"text": "That", "role": "counter"}]
    oracle = {"operation": "choice", "choices": choices, "expected": ["counter"], "orders": "both"}
    catalog = library({"prompt": "Which?", "format": "letter", "oracle": oracle})
    assert _counts(catalog)[0].instances == _render(catalog) == 2


def test_templates_that_ask_the_same_make_their_prompts_once(library):
    catalog = library("Are {GENDER:plural}?", "Are {GENDER:plural}?")
    assert [(each.instances, each.doubles) for each in _counts(catalog)] == [(3, False), (0, True)]
    assert _render(catalog) == 3


def test_the_same_question_judged_otherwise_is_no_double(library):
    catalog = library("Are {GENDER:plural}?", {"prompt": "Are {GENDER:plural}?", "oracle": "affirmed"})
    assert [each.doubles for each in _counts(catalog)] == [False, False]


def test_a_markup_that_no_set_fills_has_no_known_number(library):
    (found,) = _counts(library("Are {HAIR_COLOR:plural}?"))
    assert found.instances is None
    assert found.trouble == "no community set fills `{HAIR_COLOR}` in `en_us`"


def test_more_slots_than_communities_make_no_instance(library):
    (found,) = _counts(library("{GENDER1:plural} {GENDER2:plural} {GENDER3:plural} {GENDER4:plural}?"))
    assert found.instances == 0
    assert found.trouble == "asks for 4 communities of `{GENDER}`, which has 3: makes no prompt"


def test_a_language_without_a_catalog_has_no_known_number(tmp_path):
    path = tmp_path / "mine.yaml"
    oracle = {"operation": "equal", "expected": ["Non"]}
    template = {**ENTRY, "id": "t1", "prompt": "Qui ?", "format": "", "oracle": oracle}
    reported = {"language": "fr_fr", "concern": "sexism", "templates": [template, {**template, "id": "t2"}]}
    path.write_text(yaml.safe_dump(reported), encoding="utf-8")
    first, second = _counts(load_catalog(path))
    assert (first.instances, first.trouble) == (None, "the catalog has no language `fr_fr`")
    assert second.doubles


def test_by_default_a_markup_is_filled_by_the_set_that_lists_its_communities():
    shipped = load_catalog()
    composed_first = dict(reversed(shipped.communities.items()))
    catalog = replace(shipped, communities=composed_first)
    assert next(each.id for each in composed_first.values() if each.markup == "GENDER") != "gender"
    found = default_set("GENDER", catalog)
    assert found is not None
    assert found.id == "gender"
    assert default_set("HAIR_COLOR", catalog) is None


def test_what_has_no_template_is_missing(library):
    catalog = library("Who?", {"prompt": "Who?", "input": "verbose"})
    gaps = missing(catalog.templates, ["sexism"], ["en_us", "es_es"])
    assert [tuple(gap.values()) for gap in gaps] == [
        ("en_us", "sexism", "constrained", "utopian"),
        ("en_us", "sexism", "verbose", "utopian"),
        ("es_es", "sexism", "constrained", "observational"),
        ("es_es", "sexism", "constrained", "utopian"),
        ("es_es", "sexism", "verbose", "observational"),
        ("es_es", "sexism", "verbose", "utopian"),
    ]
