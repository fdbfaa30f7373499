"""Contexts for which templates are ordered, and the request in three languages."""

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import read_catalog
from biasgrid.catalogs.schema.augmentation import OPENINGS, Augmentation, find_context, slug
from biasgrid.catalogs.schema.base import fill_placeholders

TEN = {
    "healthcare",
    "law_and_politics",
    "sports",
    "marketing",
    "driving",
    "workplace",
    "education",
    "media",
    "household",
    "technology",
}
LANGUAGES = {"en_us", "es_es", "ca_es"}


def test_ten_contexts_are_shipped_each_in_three_languages(catalog):
    assert set(catalog.contexts) == TEN
    for context in catalog.contexts.values():
        assert set(context.names) == set(context.descriptions) == set(context.scenarios) == LANGUAGES
        assert len({len(ideas) for ideas in context.scenarios.values()}) == 1
        assert all(len(ideas) >= 5 for ideas in context.scenarios.values())


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("healthcare", "healthcare"),
        ("Healthcare", "healthcare"),
        (" Sanidad ", "healthcare"),
        ("Law & Politics", "law_and_politics"),
        ("law_and_politics", "law_and_politics"),
        ("Technology and gaming", "technology"),
        ("Feina", "workplace"),
    ],
)
def test_a_context_is_found_by_id_and_by_its_name_in_any_language(catalog, given, found):
    assert find_context(given, catalog.contexts, "en_us").id == found


def test_a_few_words_describe_a_context_of_ones_own(catalog):
    own = find_context("the counter of a\n public library", catalog.contexts, "en_us")
    assert own.describe("en_us") == "the counter of a public library"
    assert own.id == "the-counter-of-a-public-library"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("helthcare", "did you mean `healthcare`?"),
        ("nowhere", "describe your own in a few words"),
        ("", "describe your own in a few words"),
        ("a " * 200, "at most 300 characters"),
        ("an office\x1b[2J of mine", "on one line"),
    ],
)
def test_a_single_unknown_word_and_what_is_no_description_are_refused(catalog, given, reported):
    with pytest.raises(UserError, match="--context") as refused:
        find_context(given, catalog.contexts, "en_us")
    assert reported in str(refused.value)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "name"), [("Únic/../x", "nic-x"), ("..", "own"), ("日本", "own"), ("a" * 90, "a" * 40)]
)
def test_a_context_of_any_words_becomes_a_part_of_a_files_name(text, name):
    assert slug(text) == name


def test_an_overlay_adds_and_replaces_contexts(tmp_path):
    (tmp_path / "contexts").mkdir()
    (tmp_path / "contexts" / "aviation.yaml").write_text("id: aviation\nnames: {en_us: Aviation}\n")
    (tmp_path / "contexts" / "mine.yaml").write_text("id: healthcare\nnames: {en_us: Care at home}\n")
    contexts = read_catalog(overlay=tmp_path).catalog.contexts
    assert contexts["aviation"].describe("ca_es") == "Aviation"
    assert contexts["healthcare"].describe("en_us") == "Care at home"


def test_the_requests_of_the_three_languages_use_the_same_formats_and_oracles(catalog):
    english = catalog.augmentation["en_us"]
    assert set(catalog.augmentation) == LANGUAGES
    for wording in catalog.augmentation.values():
        language = catalog.languages[wording.id]
        assert wording.formats == english.formats
        assert (set(wording.oracles), wording.reverse_keyed) == (set(english.oracles), english.reverse_keyed)
        assert set(wording.formats) <= set(language.formats)
        assert set(wording.oracles) <= set(language.oracles)
        twins = [asked for asked in wording.formats.values() if asked.twin]
        assert all(wording.formats[str(asked.twin)].input == "verbose" for asked in twins)


def test_a_request_that_leaves_something_out_is_refused(catalog):
    whole = catalog.augmentation["en_us"].model_dump()
    with pytest.raises(ValueError, match=r"lacks `\{order\}`"):
        Augmentation.model_validate(whole | {"prompt": whole["prompt"].replace("{order}", "")})
    with pytest.raises(ValueError, match=r"holds `\{conern\}`, which nothing fills"):
        Augmentation.model_validate(whole | {"prompt": whole["prompt"] + "{conern}"})
    reported = {name: reported for name, reported in whole["oracles"].items() if name != "denied"}
    with pytest.raises(ValueError, match="does not explain in `oracles` what `denied`"):
        Augmentation.model_validate(whole | {"oracles": reported})


def test_what_is_put_into_a_request_is_not_looked_at_again():
    parts = {name: f"<{name}>" for name in OPENINGS} | {"concern": "{order}"}
    assert (
        fill_placeholders("{concern} {order} {GENDER:plural} {other}", parts)
        == "{order} <order> {GENDER:plural} {other}"
    )


def test_a_mistake_in_a_context_is_reported_with_file_and_line(written, tmp_path):
    written("contexts/bad.yaml", "id: bad\nnames: {en_us: Bad}\nscenarois: {}\n")
    mistakes = [str(mistake) for mistake in read_catalog(overlay=tmp_path).mistakes]
    assert any(
        "contexts/bad.yaml:3" in reported and "`scenarois` is not a known key" in reported for reported in mistakes
    )


def test_a_context_is_named_in_the_language_of_the_order(catalog):
    english = catalog.contexts["healthcare"].model_copy(update={"names": {"en_us": "Clinic"}})
    with pytest.raises(UserError, match="has no name in `es_es`"):
        find_context("clinic", {"healthcare": english}, "es_es")
