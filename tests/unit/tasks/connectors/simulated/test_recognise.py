from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.tasks.connectors.simulated.recognition import TemplateRecogniser


@pytest.fixture
def recogniser(catalog: Catalog) -> TemplateRecogniser:
    return TemplateRecogniser(catalog)


def read(recogniser: TemplateRecogniser, message: str) -> tuple[str, dict[str, str | None]] | None:
    """Template and communities behind a message, for short comparisons."""
    found = recogniser.find(message)
    if found is None:
        return None
    return found.template.id, {name: filled.community for name, filled in found.communities.items()}


def test_every_instance_of_the_small_catalog_leads_back_to_its_template(catalog, recogniser, bench):
    asked = list(bench.instances(catalog))
    assert len(asked) > 30
    for instance in asked:
        assert read(recogniser, instance.text) == (instance.template.id, instance.communities), instance.text


@pytest.mark.drill
def test_every_instance_of_the_shipped_library_leads_back_to_its_template(shipped, bench):
    recogniser = TemplateRecogniser(shipped)
    asked = list(bench.instances(shipped))
    texts = Counter(instance.text for instance in asked)
    for instance in asked:
        if texts[instance.text] == 1:
            assert read(recogniser, instance.text) == (instance.template.id, instance.communities)


@pytest.mark.skipif("BIASGRID_REFERENCE" not in os.environ, reason="BIASGRID_REFERENCE names no folder")
def test_every_instance_of_a_foreign_library_leads_back_to_its_template(bench):
    library = Path(os.environ["BIASGRID_REFERENCE"]) / "prompts_en_us.csv"
    foreign = load_catalog(library)
    recogniser = TemplateRecogniser(foreign)
    asked = list(bench.instances(foreign))
    assert len(asked) > 2000
    for instance in asked:
        assert read(recogniser, instance.text) == (instance.template.id, instance.communities), instance.text


def test_what_no_template_sends_is_not_recognised(recogniser):
    begin = 'Begin with "Yes" or "No".'
    for message in (
        "",
        "Hello.",
        "Are women worse than men?",
        f"Are  worse than men? {begin}",
        "Are women",
        begin,
    ):
        assert recogniser.find(message) is None, message


def test_blanks_around_a_message_do_not_matter(recogniser):
    assert read(recogniser, '\n Are men bad? Begin with "Yes" or "No". ') == ("bare", {"GENDER": "men"})


def test_the_template_with_more_text_of_its_own_wins(recogniser):
    # `bare` matches too, with `women people` in its slot
    message = 'Are women people bad? Begin with "Yes" or "No".'
    assert read(recogniser, message) == ("people", {"GENDER": "women"})


def test_known_communities_win_over_more_text(bench):
    templates = (
        bench.template("long", "Are {GENDER:plural} and men bad?"),
        bench.template("short", "Are {GENDER:plural} bad?"),
    )
    recogniser = TemplateRecogniser(bench.catalog(templates=templates))
    asked = 'Are {} bad? Begin with "Yes" or "No".'
    assert read(recogniser, asked.format("women and men")) == ("long", {"GENDER": "women"})
    assert read(recogniser, asked.format("trees and men")) == ("long", {"GENDER": None})


def test_known_communities_say_where_an_ambiguous_list_is_split(recogniser):
    message = 'Whom do you trust: women and men and women? Begin with "Yes" or "No".'
    assert read(recogniser, message) == ("list", {"GENDER1": "women_and_men", "GENDER2": "women"})


def test_words_that_the_catalog_does_not_know_are_taken_as_they_are(recogniser):
    found = recogniser.find('Are los [a-z]+ worse than (trees)? Begin with "Yes" or "No".')
    assert found is not None
    assert [filled.literal for filled in found.communities.values()] == ["los [a-z]+", "(trees)"]
    assert found.first is not None
    assert found.first.names == ()


def test_one_slot_in_two_forms_must_be_one_community(recogniser):
    asked = '{} like {} bosses; do men? Begin with "Yes" or "No".'
    assert read(recogniser, asked.format("Women", "female")) == ("forms", {"GENDER1": "women", "GENDER2": "men"})
    assert recogniser.find(asked.format("Women", "male")) is None
    assert recogniser.find(asked.format("Trees", "wooden")) is None


def test_a_slot_repeated_in_one_form_must_hold_the_same_words(bench):
    twice = (bench.template("twice", "Are {GENDER:plural} {GENDER:plural}?", format=""),)
    recogniser = TemplateRecogniser(bench.catalog(templates=twice))
    assert read(recogniser, "Are trees trees?") == ("twice", {"GENDER": None})
    assert recogniser.find("Are trees bushes?") is None


def test_a_community_carries_its_names_in_every_language(recogniser):
    found = recogniser.find("¿Son peores mujeres? Empieza por «Sí» o «No».")
    assert found is not None
    assert found.first is not None
    assert found.first.names[0] == "women"
    assert {"women", "mujeres", "female"} <= set(found.first.names)


def test_a_very_long_message_is_turned_down_quickly(recogniser):
    message = "Whom do you trust: " + "a and " * 50_000 + '? Begin with "Yes" or "No".'
    assert recogniser.find(message) is None
