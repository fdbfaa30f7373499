"""What the shipped probes promise beyond what `catalog check` finds: enough stereotypes, names and wordings, the
same in every language, and questions that lean to neither side. A red team's words are data: the same attacks in
every language, each placeholder filled by something.
"""

import re
from importlib import resources
from itertools import product
from pathlib import Path

import pytest

from biasgrid.catalogs.lint.rules.probe_rules import PLACE
from biasgrid.catalogs.loading.catalog import load_catalog, read_catalog
from biasgrid.catalogs.schema.attacks import AttackWording, Opening
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.probes import AttributePair, GroupWords, ProbeAxis, every_pair, tally
from support.paths import ROOT

CATALOG = load_catalog()
LANGUAGES = ("en_us", "es_es", "ca_es")
SEVEN = {"gender", "age", "ethnicity", "religion", "disability", "nationality", "standing"}
PAIRS = list(every_pair(CATALOG.probes))
WORDS = [
    (axis.id, group.id, language, words)
    for axis in CATALOG.probes.values()
    for group in axis.groups
    for language, words in group.words.items()
]
each_language = pytest.mark.parametrize("language", LANGUAGES)
each_group = pytest.mark.parametrize(
    ("axis", "words"), [pytest.param(a, words, id=f"{group}-{tag}") for a, group, tag, words in WORDS]
)


def languages_of(language: str) -> list[tuple[ProbeAxis, AttributePair]]:
    return [(axis, pair) for axis, pair in PAIRS if language in pair.attributes]


def test_seven_axes_and_more_are_shipped_with_ids_of_their_own():
    assert set(CATALOG.probes) == SEVEN | {"sexual_orientation"}
    assert len({pair.id for _, pair in PAIRS}) == len(PAIRS)


@each_language
def test_every_language_has_three_pairs_of_each_axis(language):
    axes = [axis.id for axis, _ in languages_of(language)]
    assert len(axes) >= 40
    assert all(axes.count(axis) >= 3 for axis in CATALOG.probes)


def test_a_pair_of_one_language_alone_is_of_groups_that_live_there():
    alone = {pair.stigmatised for _, pair in PAIRS if set(pair.attributes) != set(LANGUAGES)}
    assert alone == {"roma", "mexican", "moroccan"}


@each_language
def test_doctor_and_nurse_can_be_asked(language):
    (pair,) = [pair for axis, pair in languages_of(language) if (axis.id, pair.id) == ("gender", "doctor-nurse")]
    assert (pair.favoured, pair.stigmatised, pair.kind, pair.sectors) == ("men", "women", "role", ("healthcare",))
    words = {
        "en_us": ("doctor", "nurse"),
        "es_es": ("medicina", "enfermería"),
        "ca_es": ("medicina", "infermeria"),
    }
    assert pair.attributes[language] == words[language]


@each_group
def test_a_group_has_twenty_names_of_one_word_with_a_capital(axis, words):
    assert len(words.names) >= 20
    assert all(re.fullmatch(r"[^\W\d_]+", name) and name[0].isupper() for name in words.names)


@each_language
def test_no_name_is_within_another_of_its_axis_even_as_letters(language):
    for axis in CATALOG.probes:
        names = [n.lower() for a, _, tag, words in WORDS if (a, tag) == (axis, language) for n in words.names]
        assert [pair for pair in product(names, names) if pair[0] != pair[1] and pair[0] in pair[1]] == []


@each_language
def test_people_of_a_pair_are_introduced_alike(language):
    for axis, pair in languages_of(language):
        own, other = (axis.group(name).words[language] for name in (pair.favoured, pair.stigmatised))
        assert (own.introduction == "{name}") == (other.introduction == "{name}"), pair.id
        assert abs(len(own.introduction.split()) - len(other.introduction.split())) <= 2, pair.id
        assert len(own.also) == len(other.also), pair.id


def test_sectors_are_those_of_contexts_and_requirements():
    required = {r.sector for file in CATALOG.requirements.values() for r in file.requirements if r.sector}
    named = {sector for _, pair in PAIRS for sector in pair.sectors}
    assert named <= required | set(CATALOG.contexts)
    assert named >= required


def test_job_nouns_that_agree_are_not_asked_for_in_spanish_and_catalan():
    for _, pair in PAIRS:
        for language in ("es_es", "ca_es"):
            for attribute in pair.attributes.get(language, ()) if pair.kind == "role" else ():
                assert not re.search(r"(or|ora|ero|era|er|ista)$", attribute), attribute


def test_spanish_conjunctions_fit_every_attribute():
    assert not [a for _, pair in PAIRS for a in pair.attributes.get("es_es", ()) if re.match("h?[oó]", a)]
    wording = CATALOG.probing["es_es"]
    asked = [text for texts in (*wording.implicit.values(), *wording.statements.values()) for text in texts]
    assert not [text for text in asked if re.search(r"\by «?\{", text)]


def test_catalan_prepositions_that_contract_or_elide_stand_before_no_place():
    wording = CATALOG.probing["ca_es"]
    asked = [text for texts in (*wording.implicit.values(), *wording.statements.values()) for text in texts]
    asked += [each.prompt for each in wording.counterfactuals]
    assert not [text for text in asked if re.search(r"\b(a|de|per|el|la) «?\{", text)]


@each_language
def test_a_language_has_four_forms_of_each_task_and_eight_of_the_others(language):
    wording = CATALOG.probing[language]
    assert set(wording.implicit) == {"role", "trait", "object", "place"}
    assert all(len(forms) >= 4 for forms in wording.implicit.values())
    assert {len(texts) for texts in wording.statements.values()} == {4}
    assert len(wording.decisions) == len(wording.counterfactuals) == 8
    assert [each.better for each in wording.counterfactuals].count("lower") == 4


@each_language
def test_the_statement_with_groups_swapped_is_the_same_sentence(language):
    statements = CATALOG.probing[language].statements
    swap = {"favoured": "stigmatised", "stigmatised": "favoured"}
    for stated, anti in zip(statements["stereotype"], statements["anti"], strict=True):
        assert PLACE.sub(lambda place: f"{{{swap.get(place[1], place[1])}}}", stated) == anti


@each_language
def test_wordings_have_the_same_ids_as_in_english(language):
    own, english = CATALOG.probing[language], CATALOG.probing["en_us"]
    assert [each.id for each in own.decisions] == [each.id for each in english.decisions]
    assert [(e.id, e.better) for e in own.counterfactuals] == [(e.id, e.better) for e in english.counterfactuals]


@each_language
def test_no_question_gives_away_a_gender_or_what_it_is_for(language):
    wording = CATALOG.probing[language]
    asked = [form for forms in wording.implicit.values() for form in forms]
    asked += [each.prompt for each in (*wording.decisions, *wording.counterfactuals)]
    gendered = (
        r"(?i)\b(he|she|his|her|man|woman|él|ella|hombre|mujer|home|dona|stereotyp\w*|estereotip\w*|prejudic\w*)\b"
    )
    assert [text for text in asked if re.search(gendered, text)] == []


def test_the_data_sheet_states_how_many_there_are():
    sheet = (Path(str(resources.files("biasgrid.catalogs"))) / "DATASHEET.md").read_text(encoding="utf-8")
    for language in LANGUAGES:
        counts = tally(CATALOG.probes, language).values()
        assert f"| `{language}` | {' | '.join(map(str, counts))} |" in sheet, counts


SHIPPED = ROOT / "catalogs" / "attacks" / "en_us.yaml"


def test_the_attacks_are_parallel_in_all_languages(catalog):
    assert set(catalog.attacks) == {"en_us", "es_es", "ca_es"}
    wordings = list(catalog.attacks.values())
    for wording in wordings:
        assert [opening.id for opening in wording.openings] == [one.id for one in wordings[0].openings]
        assert [one.kinds for one in wording.openings] == [one.kinds for one in wordings[0].openings]
        assert [(one.id, one.plays) for one in wording.personas] == [
            (one.id, one.plays) for one in wordings[0].personas
        ]
        assert len(wording.settings) == len(wordings[0].settings)
        assert len(wording.name_forms) == len(wordings[0].name_forms)


def test_every_kind_of_attribute_has_openings(catalog):
    for wording in catalog.attacks.values():
        for kind in ("role", "trait", "object", "place"):
            assert sum(not one.kinds or kind in one.kinds for one in wording.openings) >= 4


def test_braces_that_are_no_placeholder_stay():
    assert (
        fill_placeholders('say {goal}: {"message": "…"} {other}', {"goal": "it"})
        == 'say it: {"message": "…"} {other}'
    )


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("I ask about {groups}, {first} and {second}", "begins with `{greeting} `"),
        ("{greeting} Do {groups} like {first}?", "lacks `{second}`"),
        ("{greeting} Do they like {first} or {second}?", "names no group"),
        ("{greeting} Do {groups} of {town} like {first} or {second}?", "holds `{town}`, which nothing fills"),
    ],
)
def test_an_opening_that_could_not_be_sent_is_reported(message, why):
    with pytest.raises(ValueError, match=r"message") as reported:
        Opening(id="mine", message=message)
    assert why in str(reported.value)


def test_a_mistake_in_an_overlay_is_reported_with_its_line(tmp_path):
    (tmp_path / "attacks").mkdir()
    text = SHIPPED.read_text(encoding="utf-8")
    wrong = text.replace("towards this: {setting}", "towards this: {seting}")
    (tmp_path / "attacks" / "en_us.yaml").write_text(wrong, encoding="utf-8")
    reported = [str(mistake) for mistake in read_catalog(overlay=tmp_path).mistakes]
    line = 1 + wrong.splitlines().index("  strategies:")
    assert len(reported) == 1
    assert f"attacks/en_us.yaml:{line}" in reported[0]
    assert "`attacker.strategies`: `selection` lacks `{setting}`" in reported[0]


def test_an_overlay_replaces_a_language(tmp_path):
    (tmp_path / "attacks").mkdir()
    text = SHIPPED.read_text(encoding="utf-8").replace("- Howdy", "- G’day")
    (tmp_path / "attacks" / "mine.yaml").write_text(text, encoding="utf-8")
    mine: AttackWording = read_catalog(overlay=tmp_path).catalog.attacks["en_us"]
    assert "G’day" in mine.greetings


def test_an_introduction_under_its_previous_name_is_read_with_a_warning():
    with pytest.warns(FutureWarning, match="`told` of a group is now `introduction`"):
        words = GroupWords.model_validate({"plural": "men", "singular": "a man", "told": "{name}, who rides"})
    assert words.introduction == "{name}, who rides"
