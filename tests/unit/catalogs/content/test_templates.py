"""What the shipped catalogs promise beyond what `catalog check` finds: enough templates of every kind, parallel,
balanced, without loose ends."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import permutations, product
from pathlib import Path
from typing import get_args

import pytest
import yaml

from biasgrid.catalogs.choices import InputType, Reflection
from biasgrid.catalogs.lint.check import lint
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.entries import Community, CommunitySet, Template
from biasgrid.catalogs.schema.oracle import OPERATIONS
from biasgrid.catalogs.schema.requirements import Scenario
from biasgrid.catalogs.wording import SLOT, Slot, answer_format, slots, wordings
from biasgrid.tasks.generate.instantiate import fitting_templates

SEVEN = ("ageism", "lgtbiqphobia", "politics", "racism", "religion", "sexism", "xenophobia")
CONCERNS = (*SEVEN, "sexism_ambiguity")
LANGUAGES = ("en_us", "es_es", "ca_es")
SECTORS = ("education", "finance", "healthcare", "housing", "workplace")
WORKPLACE = ("ageism", "lgtbiqphobia", "racism", "religion", "sexism")
CELLS: tuple[tuple[InputType, Reflection], ...] = tuple(product(get_args(InputType), get_args(Reflection)))
LANGBITE_OPERATIONS = {"equal", "different", "notIncludesAny", "allEqualExpected", "allSameValue"}
LANGBITE_KEYS = {
    "OpenAIGPT35Turbo": "openai/gpt-3.5-turbo",
    "OpenAIGPT35Turbo0613": "openai/gpt-3.5-turbo-0613",
    "OpenAIGPT35Turbo1106": "openai/gpt-3.5-turbo-1106",
    "OpenAIGPT4": "openai/gpt-4",
    "OpenAIGPT40613": "openai/gpt-4-0613",
    "OpenAIGPT4Turbo": "openai/gpt-4-turbo",
    "OpenAIGPT4o": "openai/gpt-4o",
    "OpenAIGPT4oMini": "openai/gpt-4o-mini",
    "HuggingFaceFlanT5Base": "huggingface/google/flan-t5-base",
    "HuggingFaceMixtral8x7B01Instruct": "huggingface/mistralai/Mixtral-8x7B-Instruct-v0.1",
    "Llama27BChat": "replicate/meta/llama-2-7b-chat",
    "OLlamaMistral": "ollama/mistral",
}

CATALOG = load_catalog()
GENERAL = [template for template in CATALOG.templates if template.sector is None]
CUES = {"en_us": ("Yes", "No"), "es_es": ("Sí", "No"), "ca_es": ("Sí", "No")}


def of(language: str, concern: str) -> list[Template]:
    return [template for template in GENERAL if (template.language, template.concern) == (language, concern)]


def expect_values(templates: list[Template]) -> list[Template]:
    return [template for template in templates if template.oracle.type == "expected value"]


def answers(template: Template) -> tuple[str, ...]:
    return answer_format(template, CATALOG.languages[template.language]).answers


def texts(template: Template) -> list[str]:
    return [wording.text for wording in wordings(template, CATALOG.languages[template.language])]


def set_of(markup: str) -> CommunitySet:
    return next(found for found in CATALOG.communities.values() if found.markup == markup)


def form_of(community: Community, name: str, language: str) -> str:
    text = community.forms[language][name.lower()]
    return text[0].upper() + text[1:] if name[0].isupper() else text


def instances(template: Template) -> Iterator[str]:
    """The template as sent, in every wording and for every ordered choice of distinct communities."""
    for text in texts(template):
        wanted = slots(text)
        communities = set_of(wanted[0].markup).communities if wanted else ()
        for chosen in permutations(communities, len(wanted)):
            cast = dict(zip(wanted, chosen, strict=True))

            def fill(slot: re.Match[str], cast: dict[Slot, Community] = cast) -> str:
                return form_of(
                    cast[Slot(slot["markup"], int(slot["number"] or 0))], slot["form"], template.language
                )

            yield SLOT.sub(fill, text)


def accepts(template: Template, answer: str) -> bool:
    """Whether an answer, taken literally, passes."""
    listed = answer.lower() in {value.lower() for value in template.oracle.expected}
    return listed != (template.oracle.operation in ("different", "notIncludesAny"))


def share(kept: list[bool]) -> float:
    return sum(kept) / len(kept)


each_library = pytest.mark.parametrize(("language", "concern"), list(product(LANGUAGES, CONCERNS)))


def test_nothing_is_wrong_with_the_shipped_catalogs():
    assert [str(finding) for finding in lint().findings] == []


@each_library
def test_every_cell_holds_ten_templates_and_one_enough_to_decide_a_tolerance_of_nine_tenths(language, concern):
    cells = Counter((template.input, template.reflection) for template in of(language, concern))
    assert all(cells[cell] >= 10 for cell in CELLS), cells
    assert max(cells.values()) >= 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_library_holds_far_more_than_three_hundred_and_fifty_templates(language):
    held = [template for template in GENERAL if template.language == language]
    assert len(held) >= 640
    assert {template.concern for template in held} == set(CONCERNS)


@each_library
def test_languages_are_parallel(language, concern):
    def shape(template: Template) -> tuple[object, ...]:
        asked = sorted({(slot.markup, slot.number) for text in texts(template) for slot in slots(text)})
        kind = (template.input, template.reflection, template.oracle.operation, template.reverse_keyed)
        return (*kind, template.twin, len(template.paraphrases), len(template.answers), asked)

    english = {template.id: shape(template) for template in of("en_us", concern)}
    assert {template.id: shape(template) for template in of(language, concern)} == english


def test_langbites_operations_are_used_but_for_those_that_a_reply_can_slip_past():
    # a list of insults passes any insult that it lacks, and `equal` fails every longer answer
    used = {template.oracle.operation for template in CATALOG.templates}
    assert used == LANGBITE_OPERATIONS - {"equal", "notIncludesAny"}
    assert set(OPERATIONS) > LANGBITE_OPERATIONS


@each_library
def test_same_value_items_stand_in_every_cell(language, concern):
    same = {(t.input, t.reflection) for t in of(language, concern) if t.oracle.type == "same value"}
    assert same == set(CELLS)


@each_library
def test_about_half_of_the_expected_values_are_reverse_keyed(language, concern):
    assert 0.4 <= share([template.reverse_keyed for template in expect_values(of(language, concern))]) <= 0.6


@each_library
def test_answering_always_the_same_passes_about_half(language, concern):
    assert_same_answer_passes_about_half(expect_values(of(language, concern)), language)


def assert_same_answer_passes_about_half(asked: Sequence[Template], language: str) -> None:
    for cue in CUES[language]:
        assert share([accepts(template, cue) for template in asked]) <= 0.58
    firsts = [(template, (answers(template) or CUES[language])[0]) for template in asked]
    assert share([accepts(template, first) for template, first in firsts]) <= 0.58


@each_library
def test_both_orders_of_the_same_answers_are_offered(language, concern):
    formats = Counter(template.format for template in of(language, concern))
    for one, other in (("yes_no", "no_yes"), ("agree_disagree", "disagree_agree")):
        assert abs(formats[one] - formats[other]) <= 0.25 * (formats[one] + formats[other])


@each_library
def test_a_tenth_of_the_templates_have_two_paraphrases(language, concern):
    held = of(language, concern)
    assert share([len(template.paraphrases) == 2 for template in held]) >= 0.1
    assert not [t.id for t in held if t.paraphrases and t.oracle.type == "same value"]


def test_reverse_keyed_items_reject_a_no_and_same_value_items_are_never_reverse_keyed():
    keyed = [template for template in CATALOG.templates if template.reverse_keyed]
    assert all(not accepts(template, CUES[template.language][1]) for template in keyed)
    assert all(template.oracle.type == "expected value" for template in keyed)


@each_library
def test_every_instance_is_whole_and_no_two_are_the_same(language, concern):
    for template in of(language, concern):
        found = list(instances(template))
        assert len(set(found)) == len(found), template.id
        for text in found:
            assert not re.search(r"[{}]|\s{2,}| [.,;?]", text), text
            assert text[0].isupper() or text[0].isdigit() or text[0] in "¿¡«", text
            assert text[-1] in ".?»", text


def test_twins_ask_the_same_with_the_other_input():
    by_id = {(template.language, template.id): template for template in CATALOG.templates}
    twinned = [template for template in CATALOG.templates if template.twin]
    assert {template.concern for template in twinned} == set(CONCERNS)
    for template in twinned:
        twin = by_id[template.language, str(template.twin)]
        assert (twin.twin, twin.input != template.input) == (template.id, True)
        same = (template.concern, template.reflection, template.prompt, template.reverse_keyed)
        assert (twin.concern, twin.reflection, twin.prompt, twin.reverse_keyed) == same


@each_library
def test_constrained_items_offer_an_unbiased_answer_and_a_biased_one(language, concern):
    for template in expect_values(of(language, concern)):
        if template.input == "constrained":
            outcomes = {accepts(template, answer) for answer in answers(template)}
            assert outcomes == {True, False}, template.id


def test_same_value_items_ask_for_their_key_on_their_scale():
    for template in CATALOG.templates:
        if template.oracle.type == "same value":
            asked = answer_format(template, CATALOG.languages[template.language])
            low, high = template.oracle.scale.low, template.oracle.scale.high
            assert asked.key == template.oracle.key, template.id
            assert f'"{asked.key}"' in asked.text
            assert f"{low:.1f}" in asked.text, template.id
            assert f"{high:.1f}" in asked.text, template.id


def test_formats_are_named_or_quote_every_answer_they_offer():
    for template in CATALOG.templates:
        named = template.format in CATALOG.languages[template.language].formats
        assert named or all(re.search(rf'["«]{re.escape(a)}["»]', template.format) for a in template.answers)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_data_sheet_states_the_counts_there_are(language):
    held = [template for template in GENERAL if template.language == language]
    least = min(Counter((t.concern, t.input, t.reflection) for t in held).values())
    keyed = share([template.reverse_keyed for template in expect_values(held)])
    reworded = share([bool(template.paraphrases) for template in held])
    reported = f"| `{language}` | {len(held)} | {len(CONCERNS)} | {least} | {keyed:.0%} | {reworded:.0%} |"
    assert reported in Path(str(resources.files("biasgrid.catalogs") / "DATASHEET.md")).read_text(encoding="utf-8")


def distinct_questions(held: list[Template]) -> set[frozenset[str]]:
    """A template and its twin are one question."""
    return {frozenset({template.id, template.twin or template.id}) for template in held}


@pytest.mark.parametrize("sector", SECTORS)
def test_a_sector_set_holds_forty_questions_in_balance_and_a_requirement_for_each_concern(sector):
    held = [template for template in CATALOG.templates if template.sector == sector]
    asked = expect_values(held)
    english = [template for template in held if template.language == "en_us"]
    assert len(distinct_questions(english)) >= 40
    assert 0.4 <= share([template.reverse_keyed for template in asked]) <= 0.6
    for number in range(2):
        assert share([accepts(template, CUES[template.language][number]) for template in asked]) <= 0.6
    requirements = CATALOG.requirements[sector].requirements
    named = {concern for requirement in requirements for concern in requirement.asked_concerns}
    assert named == {template.concern for template in held}
    assert {requirement.sector for requirement in requirements} == {sector}


def workplace(language: str, concern: str) -> list[Template]:
    held = [template for template in CATALOG.templates if template.sector == "workplace"]
    return [template for template in held if (template.language, template.concern) == (language, concern)]


@pytest.mark.parametrize(("language", "concern"), list(product(LANGUAGES, WORKPLACE)))
def test_the_workplace_set_decides_each_concern_in_each_language(language, concern):
    held = workplace(language, concern)
    assert len(distinct_questions(held)) >= 40
    requirements = CATALOG.requirements["workplace"].requirements
    assert {language} <= {tag for r in requirements if r.concern == concern for tag in r.languages}
    cells = Counter((template.input, template.reflection) for template in held)
    assert min(cells[cell] for cell in CELLS) >= 9


@pytest.mark.parametrize(("language", "concern"), list(product(LANGUAGES, WORKPLACE)))
def test_the_workplace_set_is_balanced_in_each_concern_and_language(language, concern):
    asked = expect_values(workplace(language, concern))
    assert 0.4 <= share([template.reverse_keyed for template in asked]) <= 0.6
    assert_same_answer_passes_about_half(asked, language)


@pytest.mark.parametrize("concern", WORKPLACE)
def test_the_workplace_set_is_parallel_and_every_instance_of_it_is_whole(concern):
    shapes = []
    for language in LANGUAGES:
        held = workplace(language, concern)
        shapes.append({(t.id, t.format, t.oracle.operation, t.reverse_keyed, len(t.paraphrases)) for t in held})
        for text in (text for template in held for text in instances(template)):
            assert not re.search(r"[{}]|\s{2,}| [.,;?]", text), text
            assert text[-1] in ".?»", text
    assert shapes[0] == shapes[1] == shapes[2]


def test_full_asks_everything_and_includes_every_sector():
    full = CATALOG.requirements_in("full")
    assert {requirement.sector for requirement in full} == {None, *SECTORS}
    assert {r.concern for r in full if set(r.languages) == set(LANGUAGES)} == set(CONCERNS)
    named = [CATALOG.communities[r.communities] for r in full if isinstance(r.communities, str)]
    assert any(found.intersection for found in named)


def test_ready_made_requirements_state_their_measure():
    written = [requirement for file in CATALOG.requirements.values() for requirement in file.requirements]
    assert len(written) > 20
    assert [requirement.name for requirement in written if "measure" not in requirement.model_fields_set] == []


@pytest.mark.parametrize("sector", SECTORS)
def test_each_requirement_of_a_sector_has_templates_enough_to_be_met(sector):
    for requirement in CATALOG.requirements[sector].requirements:
        for language in requirement.languages:
            assert len(distinct_questions([*fitting_templates(requirement, language, CATALOG)])) >= 38


def test_political_views_come_as_opposites_and_every_two_view_item_asks_both_orders():
    views = {community.id for community in set_of("POLITICAL_VIEW").communities}
    assert views == {"left_wing", "right_wing", "progressive", "conservative"}
    for template in of("en_us", "politics"):
        assert not re.search(r"\b(?:left|right)-wing|\b(?:progressive|conservative)s?\b", template.prompt)


@pytest.mark.parametrize("found", CATALOG.communities.values(), ids=CATALOG.communities.keys())
def test_communities_of_a_set_have_the_same_forms_in_each_language(found):
    assert len(found.communities) >= 3
    assert len({community.id for community in found.communities}) == len(found.communities)
    for language in CATALOG.languages:
        assert len({frozenset(community.forms[language]) for community in found.communities}) == 1
        assert all(text.strip() for community in found.communities for text in community.forms[language].values())


def test_concerns_have_names_of_their_own_and_markups_that_a_set_fills():
    names = [
        name.lower()
        for c in CATALOG.concerns.values()
        for name in {c.id, c.name.lower(), *map(str.lower, c.aliases)}
    ]
    assert len(set(names)) == len(names)
    markups = {found.markup for found in CATALOG.communities.values()}
    assert all(set(concern.markups) <= markups for concern in CATALOG.concerns.values())


@pytest.mark.parametrize(
    ("spelling", "concern"),
    [("LGTBIQ+phobia", "lgtbiqphobia"), ("Political Preferences", "politics"), ("RACISM", "racism")],
)
def test_concerns_are_found_as_people_write_them(spelling, concern):
    assert CATALOG.concern(spelling) == concern


@pytest.mark.parametrize(("language", "least"), [("en_us", 40), ("es_es", 25), ("ca_es", 25)])
def test_refusals_are_many_lower_case_and_straightly_quoted(language, least):
    refusals = CATALOG.languages[language].refusals
    assert len(set(refusals)) == len(refusals) >= least
    assert all(phrase == phrase.lower().strip() and "’" not in phrase for phrase in refusals)


def test_no_offered_or_expected_answer_begins_with_a_refusal():
    english = [template for template in CATALOG.templates if template.language == "en_us"]
    offered = {answer for template in english for answer in answers(template)}
    refusals = CATALOG.languages["en_us"].refusals
    assert not [answer for answer in offered if answer.lower().startswith(refusals)]
    expected = {value for template in english for value in template.oracle.expected}
    # to a question of politics, having no side to take is the unbiased answer
    assert {value for value in expected if value.lower().startswith(refusals)} <= {"As an AI"}


def test_languages_offer_the_same_formats_with_as_many_answers_and_frame_in_triple_quotes():
    english = CATALOG.languages["en_us"].formats
    for language in CATALOG.languages.values():
        assert language.framing.count("{prefix}") == language.framing.count('"""{prompt}"""') == 1
        shapes = {name: (len(form.answers), form.key) for name, form in language.formats.items()}
        assert shapes == {name: (len(form.answers), form.key) for name, form in english.items()}


def test_the_starter_requirements_cover_every_concern_with_its_own_communities():
    starter = CATALOG.requirements["starter"].requirements
    assert sorted(requirement.concern for requirement in starter) == sorted(CONCERNS)
    for requirement in starter:
        assert requirement.rationale.endswith(".")
        assert (
            CATALOG.communities[str(requirement.communities)].markup
            in CATALOG.concerns[requirement.concern].markups
        )


def test_the_starter_scenario_names_known_requirements_and_respondents():
    text = Path(str(resources.files("biasgrid.catalogs") / "scenarios" / "starter.yaml")).read_text(
        encoding="utf-8"
    )
    starter = Scenario.model_validate(yaml.safe_load(text))
    assert starter.requirements in CATALOG.requirements
    targets = [CATALOG.target(model) for model in starter.scenario.models]
    assert len(targets) >= 3
    assert all(target.name in CATALOG.respondents for target in targets)


@pytest.mark.parametrize(("key", "model"), LANGBITE_KEYS.items())
def test_langbites_model_keys_are_aliases(key, model):
    assert CATALOG.target(key).model == model


def test_aliases_name_one_model_each():
    aliases = [alias.lower() for entry in CATALOG.models.models.values() for alias in entry.aliases]
    assert len(set(aliases)) == len(aliases)
    assert all(name.partition("/")[0] in CATALOG.models.providers for name in CATALOG.models.models)


@pytest.mark.parametrize("model", ["openai/o3", "openai/gpt-5", "openai/gpt-6-luna"])
def test_models_that_reason_are_sent_neither_temperature_nor_limit(model):
    assert not {"temperature", "max_tokens"} & set(CATALOG.target(model).parameters)


@pytest.mark.parametrize("provider", ["azure", "huggingface", "tgi", "replicate", "ollama", "vllm", "replay"])
def test_providers_of_any_model_reach_one_that_is_not_listed(provider):
    assert CATALOG.target(f"{provider}/somebody/some-model").name == "somebody/some-model"
