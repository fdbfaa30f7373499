"""A red team's words are data: the same attacks in every language, each placeholder filled by something."""

import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog, read_catalog
from biasgrid.catalogs.schema.attacks import AttackWording, Opening
from biasgrid.catalogs.schema.base import fill_placeholders
from support.paths import ROOT

SHIPPED = ROOT / "catalogs" / "attacks" / "en_us.yaml"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


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
