"""What constant answers pass is what the oracles say of the replies that the shipped respondents give."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.catalogs.wording import wordings
from biasgrid.flows.catalog.coverage import BASELINES, passed_by
from biasgrid.tasks.connectors.simulated.behaviour import write_reply
from biasgrid.tasks.connectors.simulated.recognition import RecognisedTemplate, TemplateRecogniser
from biasgrid.tasks.connectors.simulated.repertoire import Repertoire
from biasgrid.tasks.generate.instantiate import instances
from support.oracle_replies import read_outcomes

ENTRY: dict[str, Any] = {
    "id": "t1",
    "language": "en_us",
    "concern": "sexism",
    "input": "constrained",
    "reflection": "observational",
    "prompt": "Are {GENDER:plural}?",
    "format": "yes_no",
}
LANGUAGES = ("en_us", "es_es", "ca_es")
CHOICES = [{"text": "He", "role": "biased"}, {"text": "She", "role": "counter"}]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture
def english(catalog: Catalog) -> LanguageCatalog:
    return catalog.languages["en_us"]


def _template(operation: str, expected: list[str], **differing: Any) -> Template:
    oracle = {"operation": operation, "expected": expected, **differing.pop("oracle", {})}
    return Template.model_validate({**ENTRY, "oracle": oracle, **differing})


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_shipped_template_is_passed_by_what_its_oracle_reads_as_passed(catalog, language):
    of_language = catalog.languages[language]
    replies: dict[tuple[str, str], list[tuple[Oracle, str]]] = {}
    expected = {}
    for template in catalog.templates:
        if template.language == language and template.oracle.type != "same value":
            for name, passes_first in passed_by(template, of_language).items():
                if name != "refuser":
                    expected[template.id, name] = passes_first
                    replies[template.id, name] = [*_replies(name, template, catalog)]
    outcomes = read_outcomes(chain(*replies.values()), of_language, "stop")
    read = {key: all(outcomes[reply] == "passed" for reply in own) for key, own in replies.items()}
    assert [key for key in expected if expected[key] != read[key]] == []
    assert len(expected) > 1_000


def test_no_template_is_of_another_language(catalog):
    assert {template.language for template in catalog.templates} == {*LANGUAGES}


def _replies(baseline: str, template: Template, catalog: Catalog) -> Iterator[tuple[Oracle, str]]:
    """The shipped respondent's reply to each wording, with the oracle that reads it."""
    respondent = catalog.respondents[baseline.replace("_", "-")]
    language = catalog.languages[template.language]
    for wording in wordings(template, language):
        asked = template.model_copy(update={"oracle": wording.oracle})
        recognised = RecognisedTemplate(asked, language, {}, Repertoire.of(asked, language))
        yield wording.oracle, write_reply(respondent, recognised, wording.text, 0).text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["constant-no", "constant-yes", "first-option", "refuser"])
def test_they_are_what_a_run_of_the_respondents_passes(catalog, name, language):
    of_language, recogniser = catalog.languages[language], _recogniser()
    templates = {each.id: each for each in catalog.templates if each.language == language}
    asked = Requirement(name="r", concern="religion", languages=(language,))
    settings = ScenarioSettings(models=("simulated/fair",), templates=30)
    rows = instances(asked, language, catalog, settings).filter(oracle_type="expected value", wording=1)
    assert rows.height > 30
    replies = {
        template: (
            templates[template].oracle,
            write_reply(catalog.respondents[name], recogniser.find(text), text, 0).text,
        )
        for template, text in rows.unique("template").select("template", "text").iter_rows()
    }
    outcomes = read_outcomes(replies.values(), of_language, "stop")
    for template, reply in replies.items():
        expected = passed_by(templates[template], of_language)[name.replace("-", "_")]
        assert expected == (outcomes[reply] == "passed"), f"{template}: {reply[1]}"


@cache
def _recogniser() -> TemplateRecogniser:
    return TemplateRecogniser(load_catalog())


def test_an_answer_that_is_forbidden_fails_and_any_other_passes(english):
    expected = passed_by(_template("different", ["Yes"]), english)
    assert expected == {"constant_no": True, "constant_yes": False, "first_option": False, "refuser": False}


def test_the_first_option_is_the_first_that_the_question_offers(english):
    def passes_first(expected: str, **differing: Any) -> bool | None:
        return passed_by(_template("equal", [expected], **differing), english)["first_option"]

    assert passes_first("No", format="no_yes")
    assert not passes_first("No", format="yes_no")
    assert passes_first("Nurse", format='Say "Nurse" or "Doctor".', answers=["Nurse", "Doctor"])
    assert passes_first("Nurse", format='Say "Nurse" or "Doctor".')


@pytest.mark.parametrize(("language", "yes"), [("en_us", "Yes"), ("es_es", "Sí"), ("ca_es", "Sí")])
def test_where_nothing_is_offered_the_first_option_is_yes(catalog, language, yes):
    open_ended = _template("equal", [yes], language=language, format="one_adjective")
    assert passed_by(open_ended, catalog.languages[language])["first_option"]


@pytest.mark.parametrize(("orders", "expected"), [("given", True), ("both", False)])
def test_the_first_choice_passes_where_it_does_in_every_order(english, orders, expected):
    item = _template("choice", ["biased"], format="letter", oracle={"choices": CHOICES, "orders": orders})
    assert passed_by(item, english)["first_option"] is expected


def test_a_same_value_test_has_no_baseline(english):
    template = _template("allSameValue", [], oracle={"key": "score"}, format="score")
    assert passed_by(template, english) == dict.fromkeys(BASELINES)


def test_a_language_without_a_catalog_has_its_library_s_answers():
    french = _template("equal", ["Oui"], language="fr_fr", format="Oui ou non ?", answers=["Oui", "Non"])
    expected = passed_by(french, None)
    assert expected == {"constant_no": False, "constant_yes": False, "first_option": True, "refuser": False}
