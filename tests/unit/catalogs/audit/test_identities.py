"""Identities are matched in all but the group, spread evenly, and enough."""

from collections import Counter

import pytest
from pydantic import ValidationError

from biasgrid.catalogs.audit.identities import Identities
from biasgrid.catalogs.audit.pairing import count_identities, draw_identities, shortlist_places, spread_pairs
from biasgrid.catalogs.loading.catalog import load_catalog

WORDS = load_catalog().identities
LEAST = 16


@pytest.mark.parametrize("language", WORDS)
def test_every_group_has_sixteen_identities_by_each_signal_and_as_many_of_each_class(language):
    words = WORDS[language]
    for name, group in words.groups.items():
        assert {count_identities(words, signal, name) for signal in words.signals_of(name)} == {LEAST}
        assert Counter(class_ for _, _, class_ in group.people) == {"middle": LEAST // 2, "working": LEAST // 2}
        assert group.source
        assert words.signals_of(name)[-1] == "affiliations"


@pytest.mark.parametrize("language", WORDS)
def test_no_name_shows_two_groups_of_an_axis(language):
    groups = WORDS[language].groups.values()
    for axis in {group.axis for group in groups}:
        names = [name for group in groups if group.axis == axis for name, _, _ in group.people]
        assert len(names) == len(set(names))


def test_groups_that_do_not_match_are_refused():
    own = WORDS["en_us"].model_dump(by_alias=True)
    own["groups"]["women"]["names"][0]["names"] = own["groups"]["women"]["names"][0]["names"][:3]
    with pytest.raises(ValidationError, match="differ in blocks, names or affiliations"):
        Identities.model_validate(own)


def test_identities_of_a_pair_differ_in_the_group_alone():
    drawn = draw_identities(WORDS["en_us"], "names", ("men", "women"), 8, seed=3)
    men, women = drawn[:8], drawn[8:]
    assert [one.pair for one in men] == [one.pair for one in women]
    assert [one.person.last for one in men] == [one.person.last for one in women]
    assert {one.person.gender for one in men} == {"male"}
    neutral = draw_identities(WORDS["en_us"], "affiliations", ("white", "black"), 16, seed=3)
    assert [one.person for one in neutral[:16]] == [one.person for one in neutral[16:]]


def test_half_of_the_drawn_names_are_of_each_class():
    people = {name: class_ for name, _, class_ in WORDS["en_us"].groups["black"].people}
    drawn = draw_identities(WORDS["en_us"], "names", ("black",), 8, seed=1)
    assert Counter(people[one.person.name] for one in drawn) == {"middle": 4, "working": 4}


def test_pairs_are_spread_so_that_each_occurs_equally_often():
    pairs = [f"p{number}" for number in range(16)]
    given = [*spread_pairs(20, pairs, 4, seed=5)]
    assert {len(own) for own in given} == {4}
    assert set(Counter(pair for own in given for pair in own).values()) == {5}


@pytest.mark.parametrize(("documents", "count", "size"), [(60, 8, 4), (13, 6, 2), (50, 16, 8), (6, 16, 4)])
def test_shortlists_hold_different_documents_and_pairs_and_a_document_has_each_pair_at_most_once(
    documents, count, size
):
    pairs = [f"names-{number:02}" for number in range(count)]
    lists = [*shortlist_places(documents, pairs, size, seed=3)]
    assert all(len({document for document, _ in own}) == len({pair for _, pair in own}) == size for own in lists)
    given = Counter(one for own in lists for one in own)
    assert set(given.values()) == {1}
    assert len(given) >= 0.8 * (documents - documents % size) * count
    assert lists == [*shortlist_places(documents, pairs, size, seed=3)]
