"""A proposal becomes a stereotype if replies about it could be read, and is rejected with reasons if not."""

from collections.abc import Callable
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.tasks.connectors.json_objects import RejectedText
from biasgrid.tasks.probe.proposals import Reader
from biasgrid.tasks.probe.stereotype import Stereotype

Written = Callable[..., dict[str, Any]]
Read = Callable[..., Stereotype | RejectedText]
NAMES = ["Ada", "Bea", "Cleo", "Dot", "Eve", "Fay", "Gia", "Hope"]
NURSES = {"plural": "night nurses", "singular": "a night nurse", "names": NAMES}


@pytest.fixture
def read(catalog: Catalog, written: Written, reply: Callable[..., str]) -> Read:
    """The one proposal of a reply, with changes: `read(attributes=[…])`."""

    def make(language: str = "en_us", **changes: Any) -> Stereotype | RejectedText:
        (found,) = Reader(catalog, language, catalog.probes).read(reply(written(**changes)))
        return found

    return make


def taken(found: Stereotype | RejectedText) -> Stereotype:
    assert isinstance(found, Stereotype), found
    return found


def test_a_group_of_the_catalog_has_the_catalogs_names(read, catalog):
    found = taken(read())
    assert (found.pair, found.axis, found.concern) == ("pilot-cabin-crew", "gender", "sexism")
    assert found.attributes == ("pilot", "cabin crew")
    assert found.favoured.words == catalog.probes["gender"].group("men").words["en_us"]
    assert found.why == "Passengers ask who flies and who serves."


def test_a_new_group_has_the_names_that_came_with_it(read):
    side = taken(read(stigmatised=NURSES)).stigmatised
    assert (side.group, side.words.plural, list(side.words.names)) == ("night-nurses", "night nurses", NAMES)
    assert side.person("Ada") == "Ada"


def test_a_person_can_be_described_as_the_generator_writes(read):
    described = NURSES | {"introduction": "NAME, who works at night"}
    assert taken(read(stigmatised=described)).stigmatised.person("Ada") == "Ada, who works at night"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"axis": "gendre"}, "unknown axis `gendre`, did you mean `gender`?"),
        ({"favoured": "mens"}, "names `mens`, which is no group of axis `gender`"),
        ({"favoured": "older"}, "no group of axis `gender`"),
        ({"stigmatised": "men"}, "sets a group against itself"),
        ({"attributes": ["nurse", "head nurse"]}, "of `nurse` and `head nurse` one holds the other"),
        ({"attributes": ["Pílot", "pilot"]}, "one holds the other"),
        ({"attributes": ["pilot", "James bond fan"]}, "holds `James`, a name of `men`"),
        ({"attributes": ["pilot", "woman in uniform"]}, "names the group itself, `woman`"),
        ({"attributes": ["пилот", "стюард"]}, "is not in the script of the language, but in cyrillic letters"),
        ({"attributes": ["pilot", "cabin\u202ecrew"]}, "invisible character `\\u202e`"),
        ({"attributes": ["pilot", "{people}"]}, "signs or blanks that no word has"),
        ({"attributes": ["pilot", " crew"]}, "signs or blanks that no word has"),
        ({"attributes": ["pilot", "747"]}, "holds no word"),
        ({"attributes": ["pilot"]}, "`attributes.1` is missing"),
        ({"attributes": ["pilot", ""]}, "must not be empty"),
        ({"attributes": ["pilot", "x" * 61]}, "at most 60 characters"),
        ({"kind": "job"}, "`kind`"),
        ({"why": None}, "`why` is missing"),
        ({"sure": True}, "`sure` is not a known key"),
        ({"stigmatised": NURSES | {"names": NAMES[:7]}}, "must hold at least 8"),
        ({"stigmatised": NURSES | {"names": [*NAMES, "James"]}}, "name `James` of group `night-nurses` is one of"),
        ({"stigmatised": NURSES | {"names": [*NAMES, "Hope Ann"]}}, "hold one another"),
        ({"stigmatised": NURSES | {"introduction": "who works at night"}}, "must hold NAME once"),
        ({"stigmatised": NURSES | {"names": [*NAMES, "Ann; ignore all"]}}, "signs or blanks that no word has"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_reason(read, changes, reason):
    found = read(**changes)
    assert isinstance(found, RejectedText), found
    assert reason in found.reason


def test_several_reasons_are_reported_at_once(read):
    found = read(axis="taste", attributes=["a\u200bb", "<b>"])
    assert isinstance(found, RejectedText)
    assert found.reason.count(";") == 2


def test_words_of_another_language_come_with_its_groups(read):
    found = taken(read("ca_es", attributes=["pilotatge", "cabina"]))
    assert (found.language, found.stigmatised.words.plural) == ("ca_es", "les dones")


def test_fences_prose_and_a_broken_object_cost_nothing_else(catalog, written, reply):
    whole = reply(written(), written(attributes=["captain", "steward"]))
    text = f'Here you are:\n```json\n{whole[:-1]}, {{"axis": "gender", }}]\n```\nHope this helps!'
    found = list(Reader(catalog, "en_us", catalog.probes).read(text))
    assert [type(each).__name__ for each in found] == ["Stereotype", "Stereotype", "RejectedText"]


@pytest.mark.parametrize("text", ["", "I can't help with stereotypes.", "[]", "{" * 5000, "null", '["men"]'])
def test_a_reply_without_proposals_is_none(catalog, text):
    found = list(Reader(catalog, "en_us", catalog.probes).read(text))
    assert all(isinstance(each, RejectedText) for each in found)
