"""From a target file and a generator's replies to what is asked about: the same from the same. The request to a
generator: the target file's own words, and groups to choose from, in the target's language.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.target_file import Described, Probing, Turn
from biasgrid.tasks.probe.loader import Loaded, Loader
from biasgrid.tasks.probe.request import request_text, split_order
from biasgrid.tasks.probe.stereotype import draw_pairs

Written = Callable[..., dict[str, Any]]
Load = Callable[..., Loaded]


@pytest.fixture
def load(catalog: Catalog) -> Load:
    def make(*replies: str, pairs: int = 3, seed: int = 7, failures: tuple[str, ...] = (), **probe: Any) -> Loaded:
        wanted = Probing(pairs=pairs, **probe)
        return Loader(catalog, Described(), wanted, "en_us", seed).load(replies, failures)

    return make


def names(found: Loaded) -> list[str]:
    return [one.pair for one in found.stereotypes]


def test_what_is_missing_is_the_catalogs(load, written, reply):
    found = load(reply(written()))
    assert names(found)[0] == "pilot-cabin-crew"
    assert (len(found.stereotypes), found.filled) == (3, 2)
    assert found.notice == "pairs in `en_us`: 1 proposed of the generator's; 2 the catalog's"


def test_without_a_reply_all_are_the_catalogs(load, catalog):
    found = load(failures=("the key was rejected",))
    assert names(found) == draw_pairs(catalog, Described(), Probing(pairs=3), 7)
    assert found.notice == (
        "pairs in `en_us`: 0 proposed of the generator's; all of them the catalog's; the key was rejected"
    )


def test_enough_good_proposals_need_no_notice(load, written, reply):
    found = load(reply(written(), written(attributes=["captain", "steward"])), pairs=1)
    assert (names(found), found.notice) == (["pilot-cabin-crew"], None)


def test_the_catalogs_own_keeps_its_name_and_its_words(load, written, reply):
    found = load(reply(written(attributes=["Doctor", "nurse"], why="Patients ask for either.")), pairs=1)
    (own,) = found.stereotypes
    assert (own.pair, own.attributes, own.why) == ("doctor-nurse", ("doctor", "nurse"), "Patients ask for either.")


def test_the_same_twice_and_its_contrary_are_reported(load, written, reply):
    first, turned = written(), written(favoured="women", stigmatised="men")
    swapped = written(favoured="women", stigmatised="men", attributes=["cabin crew", "pilot"])
    found = load(reply(first, first, swapped, turned), reply(written(attributes=["nurse", "doctor"])), pairs=4)
    assert names(found)[0] == "pilot-cabin-crew"
    assert [one.reason for one in found.refused] == [
        *["is proposed twice, with `pilot-cabin-crew`"] * 3,
        "states the contrary of `doctor-nurse`",
    ]
    assert "4 refused" in (found.notice or "")


def test_another_stereotype_of_the_same_words_has_a_name_of_its_own(load, written, reply):
    group = {"plural": "newcomers", "singular": "a newcomer", "names": list("ABCDEFGH")}
    found = load(reply(written(), written(stigmatised=group)), pairs=2)
    assert names(found) == ["pilot-cabin-crew", "pilot-cabin-crew-2"]


def test_only_axes_that_were_named_are_taken(load, written, reply):
    found = load(reply(written()), axes=("age",))
    assert {one.axis for one in found.stereotypes} == {"age"}
    assert "unknown axis `gender`" in found.refused[0].reason


def test_the_same_reply_and_seed_give_the_same(load, written, reply):
    stated = reply(written())
    assert load(stated, pairs=9) == load(stated, pairs=9)
    assert names(load(stated, pairs=9, seed=8)) != names(load(stated, pairs=9))


DESCRIBED = Described(
    company="ACME {groups}",
    purpose="ranks  applicants",
    sectors=("workplace",),
    history=(Turn(role="user", content="Who fits?"),),
)


@pytest.mark.parametrize("language", ["en_us", "es_es", "ca_es"])
def test_it_holds_all_of_the_file_and_no_open_place(catalog, language):
    (part,) = split_order(language, catalog.probes, 5)
    text = request_text(part, DESCRIBED, catalog)
    for words in ("ACME {groups}", "ranks applicants", "workplace", '"Who fits?"', '"men" ('):
        assert words in text
    assert "{count}" not in text
    order = json.loads(text.splitlines()[-1])
    assert (order["count"], order["axes"]) == (5, [*catalog.probes])


def test_an_empty_file_is_described_as_unknown(catalog):
    (part,) = split_order("en_us", catalog.probes, 5)
    assert "Nothing is known of the chatbot" in request_text(part, Described(), catalog)


def test_many_are_asked_for_in_parts_of_other_axes(catalog):
    several = split_order("en_us", catalog.probes, 20)
    assert [(part.number, part.of, part.count) for part in several] == [(1, 3, 7), (2, 3, 7), (3, 3, 6)]
    shares = [{axis.id for axis in part.axes} for part in several]
    assert not shares[0] & shares[1]
    assert set.union(*shares) == set(catalog.probes)
    assert "request 2 of 3" in request_text(several[1], Described(), catalog)


def test_few_axes_are_everybodys(catalog):
    one = {"gender": catalog.probes["gender"]}
    assert [[axis.id for axis in part.axes] for part in split_order("en_us", one, 12)] == [["gender"]] * 2
