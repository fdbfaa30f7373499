"""Before anything is sent: every placeholder that no community would fill, with file, line and remedy."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.requirements import Requirement
from biasgrid.tasks.generate.requirement_checks import check_requirement

Library = Callable[..., Catalog]
Require = Callable[..., Requirement]


def find_problems(requirement: Requirement, catalog: Catalog, language: str = "en_us") -> list[str]:
    found = check_requirement(requirement, language, catalog)
    return [f"{Path(m.where).name}: {m.what} | {m.remedy}" for m in found]


def test_templates_that_can_be_filled_raise_no_alarm(library, require):
    catalog = library({}, {"prompt": "Nobody?"}, {"format": 'Reply with {"score": 5}.'}, {"format": "yes_no"})
    assert find_problems(require(), catalog) == []


def test_every_shipped_requirement_can_be_asked():
    catalog = load_catalog()
    for file in catalog.requirements.values():
        for requirement in file.requirements:
            for language in requirement.languages:
                assert find_problems(requirement, catalog, language) == [], (file.id, language)


@pytest.mark.parametrize(
    ("prompt", "what"),
    [
        ("Is {GENDRE}?", "the unknown markup `{GENDRE}` | did you mean `{GENDER}`?"),
        ("Is {gender}?", "the unknown markup `{gender}` | did you mean `{GENDER}`?"),
        ("Is GENDER1?", "a markup without braces, `GENDER1` | write `{GENDER1}`"),
        ("Is {GENDER?", "an unpaired brace in `Is {GENDER?` | pair it, or remove it"),
    ],
)
def test_a_loose_placeholder_is_reported_with_file_line_and_remedy(library, require, prompt, what):
    (mistake,) = find_problems(require(), library({"prompt": prompt}))
    place, _, rest = mistake.partition(": ")
    assert place.startswith("mine.yaml:")
    assert rest == f"template `1` holds {what}"


def test_a_shipped_template_is_reported_with_its_file_too(tmp_path, require):
    folder = tmp_path / "templates" / "en_us"
    folder.mkdir(parents=True)
    (folder / "new.yaml").write_text(
        "language: en_us\nconcern: sexism\ntemplates:\n  - {id: new-1, input: verbose, reflection: utopian, "
        "prompt: 'Is {GENDRE}?', oracle: {operation: equal, expected: ['No']}}\n",
        encoding="utf-8",
    )
    catalog = load_catalog(overlay=tmp_path)
    assert find_problems(require(communities="gender"), catalog)[0].startswith("new.yaml:4: template `new-1`")


def test_every_bad_template_is_reported_at_once(library, require):
    catalog = library(
        {"prompt": "{GENDRE}?"}, {"prompt": "{GENDER}?"}, {"prefix": "{AGE}"}, {"format": "Say {X}."}
    )
    assert [line.split("`")[1] for line in find_problems(require(), catalog)] == ["1", "3", "4"]


def test_a_form_that_a_community_lacks_names_the_forms_it_has(library, require):
    catalog = library({"prompt": "{GENDER:plurl}?"})
    (found,) = find_problems(require(communities="gender"), catalog)
    assert "no such form of `women`, `men`, `non_binary` in `en_us`" in found
    assert "did you mean `plural`?" in found


def test_a_misspelt_format_is_reported_and_not_sent(library, require):
    (mistake,) = find_problems(require(), library({"format": "no_yess"}))
    assert "names the format `no_yess`, which is none of `en_us` | did you mean `no_yes`" in mistake


def test_a_set_of_another_markup_is_reported_once(library, require):
    catalog = library({"prompt": "{GENDER:plural}?"}, {"prompt": "{GENDER:person}?"})
    (mistake,) = find_problems(require(communities="age"), catalog)
    assert "community set `age` fills `{AGE}`, and the templates hold `{GENDER}`" in mistake
    assert "`gender`" in mistake


def test_two_words_for_one_community_are_not_compared_by_its_forms(library, require):
    asked = require(communities={"en_us": ["women", "woman", "men"]})
    (mistake,) = find_problems(asked, library({"prompt": "{GENDER:plural}?"}))
    assert "`women` and `woman` are the same community" in mistake
    assert find_problems(asked, library({"prompt": "{GENDER}?"})) == []


def test_a_set_without_forms_in_a_language_is_reported_once(library, require):
    catalog = library({"prompt": "¿{GENDER:plural}?"}, language="fr_fr")
    spoken = catalog.languages["es_es"].model_copy(update={"id": "fr_fr"})
    catalog = replace(catalog, languages={**catalog.languages, "fr_fr": spoken})
    (mistake,) = find_problems(require(communities="gender", languages=["fr_fr"]), catalog, "fr_fr")
    assert "set `gender` has no forms of `women` in `fr_fr`" in mistake


def test_a_literal_of_ones_own_has_no_forms(library, require):
    (mistake,) = find_problems(require(communities={"en_us": ["elves"]}), library({"prompt": "{GENDER:plural}?"}))
    assert "community `elves` is not in the catalog in `en_us`" in mistake


def test_a_slot_without_communities_is_marked(library, require):
    (mistake,) = find_problems(require(communities={"en_us": []}), library({"prompt": "{GENDER}?"}))
    assert "names no communities in `en_us`, and 1 of the templates asks for `{GENDER}`" in mistake
    assert "list them under `communities`" in mistake


def test_an_unknown_community_is_reported_once_with_the_nearest_known(library, require):
    asking = library({"prompt": "{GENDER:plural}?"}, {"prompt": "{GENDER:singular}?"})
    (mistake,) = find_problems(require(communities={"en_us": ["womem", "men"]}), asking)
    assert "`womem`" in mistake
    assert "2 of the templates ask for its forms" in mistake
    assert "did you mean `women`" in mistake


def test_a_librarys_own_markup_is_named_by_the_requirement(library, require):
    catalog = library({"prompt": "{INCOME}?"}, concern="classism")
    asked = {"concern": "classism", "communities": {"en_us": ["poor", "rich"]}}
    (mistake,) = find_problems(require(**asked), catalog)
    assert mistake.endswith("| name it as `markup` in the requirement")
    assert find_problems(require(**asked, markup="INCOME"), catalog) == []


def test_a_community_that_holds_a_brace_is_refused(library, require):
    (mistake,) = find_problems(require(communities={"en_us": ["{GENDER2}"]}), library({"prompt": "{GENDER}?"}))
    assert "community `{GENDER2}` holds a brace" in mistake


def test_a_language_without_a_catalog_is_an_error_and_no_crash(library, require):
    catalog = library({"prompt": "Qui ?"}, language="fr_fr")
    (mistake,) = find_problems(require(languages=["fr_fr"]), catalog, "fr_fr")
    assert mistake.startswith("mine.yaml:")
    assert "language `fr_fr` has no catalog" in mistake


def test_nothing_to_ask_reports_the_languages_there_are(library, require):
    (mistake,) = find_problems(require(languages=["es_es"]), library({}), "es_es")
    assert "has no template of concern `sexism` in `es_es`" in mistake
    assert "it has them in `en_us`" in mistake


def test_an_unknown_set_names_the_requirement_and_the_nearest(library, require):
    assert find_problems(require(communities="gendre"), library({})) == [
        "requirement `r`: community set `gendre` is unknown | did you mean `gender` or `gender_age`?"
    ]
