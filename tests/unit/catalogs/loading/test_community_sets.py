"""Sets that take communities from other sets. Names that indicate a gender."""

from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.importers.interactions import gender_of, genders
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.scenes import GroupOfPeople, People

WrittenFile = Callable[[str, str], Path]
CROSSED = """\
id: crossed
markup: GENDER
intersection:
  of: [gender, age]
  forms:
    en_us:
      person: "{2:article_adjective} {1:singular}"
      plural: "{2:adjective} {1:plural}"
"""


@pytest.fixture
def overlaid(written: WrittenFile) -> Callable[[str], Path]:
    return lambda text: written("mine/communities/crossed.yaml", text).parents[1]


def test_every_community_of_one_set_meets_every_one_of_the_other(overlaid):
    catalog = load_catalog(overlay=overlaid(CROSSED))
    crossed = {community.id: community.forms["en_us"] for community in catalog.communities["crossed"].communities}
    gender, age = (catalog.communities[name].communities for name in ("gender", "age"))
    assert list(crossed) == [f"{one.id}+{other.id}" for one in gender for other in age]
    assert crossed["women+age_80"] == {"person": "an 80-year-old woman", "plural": "80-year-old women"}


@pytest.mark.parametrize(
    ("given", "instead", "what", "line"),
    [
        ("[gender, age]", "[gender, ages]", "`ages` is no set that lists its communities", 4),
        ("{1:plural}", "{1:plurals}", "has no form `plurals` in `en_us`", 8),
        ("{1:plural}", "{3:plural}", "holds a brace that composes nothing", 8),
    ],
)
def test_what_cannot_be_composed_is_reported_with_its_line(overlaid, given, instead, what, line):
    with pytest.raises(UserError) as wrong:
        load_catalog(overlay=overlaid(CROSSED.replace(given, instead)))
    first = wrong.value.mistakes[0]
    assert what in first.what
    assert first.where.endswith(f"crossed.yaml:{line}")


def test_a_set_without_communities_is_refused(overlaid):
    with pytest.raises(UserError, match="holds no communities"):
        load_catalog(overlay=overlaid("id: crossed\nmarkup: GENDER\n"))


def test_an_adjective_agrees_with_the_noun_of_the_other_set():
    crossed = load_catalog().communities["gender_skin_color"].communities
    spoken = {community.id: community.forms for community in crossed}
    assert spoken["men+black"]["es_es"]["to_article_plural"] == "a los hombres negros"
    assert spoken["women+black"]["ca_es"]["person"] == "una dona negra"
    assert spoken["women+latino"]["en_us"]["person"] == "a Latina woman"


def test_a_set_may_hold_those_of_another_and_more(overlaid):
    own = "{id: giants, forms: {en_us: {plural: giants}}}"
    text = f"id: crossed\nmarkup: GENDER\nincludes: [gender]\ncommunities: [{own}]\n"
    catalog = load_catalog(overlay=overlaid(text))
    ids = [community.id for community in catalog.communities["crossed"].communities]
    assert ids == ["women", "men", "non_binary", "giants"]


def test_a_form_that_holds_a_part_itself_is_a_mistake_and_no_endless_loop(written):
    own = "id: own\nmarkup: GENDER\ncommunities: [{id: a, forms: {en_us: {plural: '{1:plural}'}}}]\n"
    written("mine/communities/own.yaml", own)
    crossing = CROSSED.replace("[gender, age]", "[own, age]").replace("{2:article_adjective} {1:singular}", "x")
    with pytest.raises(UserError, match="the form of community `a` holds a brace"):
        load_catalog(overlay=written("mine/communities/crossed.yaml", crossing).parents[1])


def test_composed_ids_that_are_too_long_are_reported(written):
    for name in ("one", "two"):
        own = f"{{id: {name * 25}, forms: {{en_us: {{plural: x}}}}}}"
        written(f"mine/communities/{name}.yaml", f"id: {name}\nmarkup: GENDER\ncommunities: [{own}]\n")
    text = "id: crossed\nmarkup: GENDER\nintersection: {of: [one, two], forms: {en_us: {plural: '{1:plural}'}}}\n"
    with pytest.raises(UserError, match="composes ids of 151 characters, more than 120"):
        load_catalog(overlay=written("mine/communities/crossed.yaml", text).parents[1])


def test_a_set_does_not_meet_itself(overlaid):
    with pytest.raises(UserError, match="holds `age` more than once"):
        load_catalog(overlay=overlaid(CROSSED.replace("[gender, age]", "[age, age]")))


def test_a_community_that_two_included_sets_share_is_asked_once(overlaid):
    catalog = load_catalog(overlay=overlaid("id: crossed\nmarkup: GENDER\nincludes: [gender, gender]\n"))
    ids = [community.id for community in catalog.communities["crossed"].communities]
    assert ids == ["women", "men", "non_binary"]


def test_the_gender_of_a_noun_is_no_name_of_a_community():
    names = {
        name for community in load_catalog().communities["gender"].communities for name in community.names("en_us")
    }
    assert {"woman", "men"} <= names
    assert not {"f", "m"} & names


NAMES = tuple(f"Noname{number}" for number in range(6))


def test_a_name_of_both_genders_indicates_nothing():
    known = genders(None)
    assert gender_of("María López", known) == "women"
    assert {gender_of(name, known) for name in ("JOHN", "Dr. John")} == {"men"}
    assert {gender_of(name, known) for name in ("Alex", "Sam", "Chris", "")} == {None}


def test_names_of_the_catalogs_people_are_known_unless_they_contradict():
    groups = {
        group: {"en_us": GroupOfPeople(plural=group, names={"own": (f"Zed{group}", "Linda", *NAMES)})}
        for group in ("men", "women")
    }
    known = genders(People(id="gender", concern="sexism", source="made up", groups=groups))
    assert (gender_of("Zedmen", known), gender_of("Zedwomen", known)) == ("men", "women")
    assert gender_of("Linda", known) is None
