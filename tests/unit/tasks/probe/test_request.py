"""The request to a generator: the target file's own words, and groups to choose from, in the target's language."""

import json

import pytest

from biasgrid.catalogs.schema.target_file import Described, Turn
from biasgrid.tasks.probe.request import request_text, split_order

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
