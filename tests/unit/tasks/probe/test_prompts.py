import re
from collections import Counter
from functools import cache

import pytest

from biasgrid.catalogs.choices import ProbeTest
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.probes import ProbeWording
from biasgrid.catalogs.schema.target_file import Described, Probing
from biasgrid.tasks.probe.prompts import Prompt, casts, prompts
from biasgrid.tasks.probe.stereotype import Stereotype, draw_pairs, of_catalog, with_groups

TESTS: tuple[ProbeTest, ...] = ("implicit", "explicit", "decision", "counterfactual")
LANGUAGES = ("en_us", "es_es", "ca_es")


@cache
def catalog() -> Catalog:
    return load_catalog()


def stereotype(pair: str = "doctor-nurse", language: str = "en_us") -> Stereotype:
    return next(own for own in of_catalog(catalog(), language) if own.pair == pair)


def wording(language: str = "en_us") -> ProbeWording:
    return catalog().probing[language]


def made(test: ProbeTest, pair: str = "doctor-nurse", **probe: object) -> list[Prompt]:
    return prompts(stereotype(pair), test, wording(), Probing.model_validate(probe), seed=7)


def test_people_of_either_group_are_named_first_as_often():
    shown = casts(stereotype(), 20, 2, 7, "implicit")
    first = Counter(cast.shown[0] in cast.favoured for cast in shown)
    assert first == {True: 10, False: 10}
    assert all(sorted(cast.shown) == sorted((*cast.favoured, *cast.stigmatised)) for cast in shown)


def test_a_name_comes_again_only_when_all_others_have_come():
    names = stereotype().favoured.words.names
    drawn = [name for cast in casts(stereotype(), len(names) // 2, 2, 7, "implicit") for name in cast.favoured]
    assert sorted(drawn) == sorted(names)


def test_more_people_than_a_group_has_names_are_not_made_up():
    own = stereotype()
    (cast,) = casts(own, 1, 500, 7, "implicit")
    assert len(cast.favoured) == len(set(cast.favoured)) == len(own.favoured.words.names)


def test_every_order_of_people_and_attributes_comes_with_every_form():
    asked = made("implicit", cases=20)
    orders = Counter(
        (prompt.form, prompt.offered, prompt.cast.shown[0] in prompt.cast.favoured) for prompt in asked
    )
    assert len(asked) == 20
    assert set(orders.values()) == {1}
    assert len({prompt.form for prompt in asked}) == 5


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_place_of_any_wording_is_left_open(test, language):
    for own in of_catalog(catalog(), language):
        for prompt in prompts(own, test, wording(language), Probing(cases=8), seed=1):
            assert "{" not in prompt.text.replace('{"score"', ""), prompt.text


def test_all_people_and_both_attributes_stand_in_a_prompt():
    for prompt in made("implicit", pair="doctor-nurse"):
        assert all(name in prompt.text for name in prompt.cast.shown)
        assert all(attribute in prompt.text for attribute in ("doctor", "nurse"))


def test_people_are_named_with_what_is_not_in_a_name():
    own = stereotype("contribution-burden")
    asked = prompts(own, "implicit", wording(), Probing(cases=5), seed=1)
    for prompt in asked:
        assert all(own.favoured.person(name) in prompt.text for name in prompt.cast.favoured)
        assert all(own.stigmatised.person(name) in prompt.text for name in prompt.cast.stigmatised)


def test_groups_are_stated_where_names_alone_do_not_indicate_them():
    own = list(of_catalog(catalog(), "es_es"))
    stated = {each.axis for each in own if each.signal == "stated"} - {"ethnicity"}
    assert stated == {"disability", "sexual_orientation", "standing"}
    assert {each.signal for each in own if each.axis in stated} == {"stated"}
    roma = {each.signal for each in own if each.stigmatised.group == "roma"}
    assert (roma, {each.signal for each in own if each.axis == "gender"}) == ({"stated"}, {"name"})


def test_the_anti_stereotype_is_the_stereotype_with_the_groups_swapped():
    asked = {(prompt.block, prompt.part): prompt.text for prompt in made("explicit")}
    other = {"men": "women", "women": "men"}
    swapped = re.sub(r"\b(men|women)\b", lambda group: other[group[0]], asked[0, "stereotype"])
    assert swapped == asked[0, "anti"] != asked[0, "stereotype"]


def test_the_scale_is_offered_from_either_end_as_often():
    asked = [prompt.text for prompt in made("explicit", statements=8) if prompt.part == "stereotype"]
    from_below = [text.index("Strongly disagree") < text.index("Strongly agree") for text in asked]
    assert Counter(from_below) == {True: 4, False: 4}
    assert len(set(asked)) == 8


def test_statements_beyond_all_wordings_are_asked_again_as_further_samples():
    asked = [prompt for prompt in made("explicit", statements=10) if prompt.part == "stereotype"]
    assert [prompt.sample for prompt in asked] == [1] * 8 + [2] * 2
    assert asked[8].text == asked[0].text


def test_a_counterfactual_pair_differs_in_the_person_alone():
    asked = made("counterfactual", cases=10)
    for own, other in zip(asked[::2], asked[1::2], strict=True):
        (name,), (other_name,) = own.cast.favoured, own.cast.stigmatised
        assert own.text.replace(name, other_name) == other.text


def test_of_a_decisions_two_people_each_is_named_first_as_often():
    asked = made("decision", cases=16)
    firsts = Counter(
        (prompt.form, min(prompt.cast.shown, key=prompt.text.index) in prompt.cast.favoured) for prompt in asked
    )
    assert set(firsts.values()) == {1}


def test_the_same_seed_gives_the_same_prompts_and_another_one_other_people():
    own, probe = stereotype(), Probing(cases=8)
    first, again, other = (prompts(own, "implicit", wording(), probe, seed) for seed in (1, 1, 2))
    assert first == again
    assert [prompt.cast for prompt in first] != [prompt.cast for prompt in other]


def test_pairs_are_drawn_over_all_axes_and_alike_in_every_language():
    one = draw_pairs(catalog(), Described(languages=("en_us",)), Probing(pairs=8), seed=3)
    axis = {pair.id: name for name, own in catalog().probes.items() for pair in own.pairs}
    assert len({axis[pair] for pair in one}) == 8
    several = draw_pairs(catalog(), Described(languages=LANGUAGES), Probing(pairs=12), seed=3)
    for language in LANGUAGES:
        assert set(several) <= {own.pair for own in of_catalog(catalog(), language)}


def test_pairs_of_a_sector_are_those_that_its_chatbots_meet():
    drawn = draw_pairs(catalog(), Described(sectors=("healthcare",)), Probing(pairs=50), seed=3)
    sectors = {pair.id: pair.sectors for own in catalog().probes.values() for pair in own.pairs}
    assert "doctor-nurse" in drawn
    assert all(not sectors[pair] or "healthcare" in sectors[pair] for pair in drawn)


AGES = ("young", "middle_aged", "old")


def of_ages(test: ProbeTest, language: str = "en_us") -> list[Prompt]:
    own = with_groups(stereotype("developer-archivist", language), catalog(), AGES)
    return prompts(own, test, wording(language), Probing(cases=18), seed=7)


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_of_three_groups_are_in_one_prompt_and_each_group_comes_first_as_often(language):
    asked = of_ages("implicit", language)
    groups = [(prompt.cast.favoured, prompt.cast.stigmatised, *prompt.cast.others) for prompt in asked]
    assert all(len(own) == 3 and {len(people) for people in own} == {2} for own in groups)
    first = Counter(
        next(place for place, people in enumerate(own) if prompt.cast.shown[0] in people)
        for own, prompt in zip(groups, asked, strict=True)
    )
    assert first == {0: 6, 1: 6, 2: 6}
    assert all(name in prompt.text for prompt in asked for name in prompt.cast.shown)


def test_a_message_is_sent_for_a_person_of_each_group_and_decisions_stay_between_two():
    assert Counter(prompt.part for prompt in of_ages("counterfactual")) == {
        "favoured": 18,
        "stigmatised": 18,
        "middle_aged": 18,
    }
    two = prompts(stereotype("developer-archivist"), "decision", wording(), Probing(cases=18), seed=7)
    assert [prompt.text for prompt in of_ages("decision")] == [prompt.text for prompt in two]
