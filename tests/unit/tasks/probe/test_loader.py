"""From a target file and a generator's replies to what is asked about: the same from the same."""

from collections.abc import Callable
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.target_file import Described, Probing
from biasgrid.tasks.probe.loader import Loaded, Loader
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
