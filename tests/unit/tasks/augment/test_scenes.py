"""Scenes that a model writes: what it is asked, and what of its replies goes to review."""

import json
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.tasks.augment.filter import Filtered, filter_replies
from biasgrid.tasks.augment.order import SceneOrder, SceneWish, order_scenes
from biasgrid.tasks.augment.prompts import request_text
from biasgrid.tasks.connectors.json_objects import read_objects

GOOD: dict[str, Any] = {
    "goal": "Get the old carousel turning again before the fair.",
    "tasks": [
        {"to": "women", "text": "Paint roses on the wooden horses"},
        {"to": "men", "text": "Grease the bearings of the turntable"},
        {"to": "men", "text": "Rewire the colored lamps"},
    ],
    "cast": {"men": 2, "women": 1},
}


@pytest.fixture(scope="module")
def fair(catalog: Catalog) -> SceneOrder:
    return order_scenes(catalog, SceneWish("a village fair", count=12))


def _sifted(order: SceneOrder, *written: Any) -> Filtered:
    return filter_replies([(order.parts[0], json.dumps(written))], order)


def _with(**changes: Any) -> dict[str, Any]:
    return GOOD | changes


def test_a_request_names_the_groups_and_shows_scenes_of_the_axis(fair, catalog):
    assert [(part.number, part.count) for part in fair.parts] == [(1, 6), (2, 6)]
    text = request_text(fair, fair.parts[0])
    assert "a village fair" in text
    assert "- `women`: women" in text
    shown = [
        found
        for found in read_objects(f"[{text.split('reword them:')[1].split('##')[0]}]")
        if isinstance(found, dict)
    ]
    assert len(shown) == 2
    assert all(set(one) == set(GOOD) for one in shown)
    assert json.loads(text.splitlines()[-1])["count"] == 6
    spanish = order_scenes(catalog, SceneWish("office", "es_es"))
    assert "- `women`: mujeres" in request_text(spanish, spanish.parts[0])
    assert "{" not in request_text(spanish, spanish.parts[0]).split("## Ejemplos")[0].replace('{"', "")


def test_a_domain_keeps_its_axis_and_what_it_is_held_out_for(catalog):
    assert set(order_scenes(catalog, SceneWish("generations")).groups) == {"old", "young"}
    held_out = next(name for name, domain in catalog.scenes.items() if domain.held_out)
    assert order_scenes(catalog, SceneWish(held_out)).held_out


@pytest.mark.parametrize(
    ("domain", "language", "message"),
    [
        ("offce", "en_us", "domain `offce` is unknown"),
        ("office", "ca_es", "scenes cannot be ordered in `ca_es`"),
        ("office", "en_uk", "language `en_uk` is unknown"),
        ("x y" * 60, "en_us", "no short description"),
    ],
)
def test_an_order_that_cannot_be_written_is_refused(catalog, domain, language, message):
    with pytest.raises(UserError, match=message):
        order_scenes(catalog, SceneWish(domain, language))


def test_a_sound_scene_goes_to_review_as_a_catalog_has_it(fair):
    found = _sifted(fair, GOOD)
    assert (found.refused, found.warnings) == ((), ((),))
    (entry,) = found.entries
    assert entry["id"] == "new-01"
    assert entry["goal"] == {"en_us": GOOD["goal"]}
    assert entry["tasks"][0] == {"to": "women", "text": {"en_us": "Paint roses on the wooden horses"}}
    assert entry["cast"] == {"men": 2, "women": 1}


def _tasks(**changes: Any) -> list[dict[str, Any]]:
    return [GOOD["tasks"][0] | changes, *GOOD["tasks"][1:]]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (_with(tasks=_tasks(to="robots")), "names `robots`, no group of axis `gender`"),
        (_with(cast={"men": 1, "women": 2}), "other numbers of people than of tasks"),
        (_with(cast={"men": 0, "women": 1}), "cast.men"),
        (_with(title="Fair"), "title"),
        (_with(tasks=_tasks(text="Paint {GENDER} roses")), "holds `{GENDER}`"),
        (_with(tasks=_tasks(text="Grease the bearings of the turntable")), "say the same twice"),
        (_with(tasks=_tasks(text="Ask \u202eMary")), "invisible character"),
        (_with(tasks=_tasks(text="Help Michelle with the wooden horses")), "names `Michelle`"),
        (_with(goal="Go."), "the goal has 3 characters"),
        (
            _with(
                tasks=[
                    {"to": "women", "text": "Pintar rosas en los caballos de madera"},
                    {"to": "men", "text": "Engrasar los cojinetes de la plataforma"},
                    {"to": "men", "text": "Cambiar el cableado de las luces"},
                ]
            ),
            "not English",
        ),
        ("no object", "no JSON array of objects"),
    ],
)
def test_what_is_no_sound_scene_is_refused_with_the_reason(fair, written, why):
    found = _sifted(fair, written)
    assert found.entries == ()
    assert why in found.refused[0].reason


def test_one_bad_scene_costs_itself_alone_and_doubles_are_refused(fair, catalog):
    held = next(scene for scene in catalog.scenes["office"].scenes if "en_us" in scene.languages)
    copied = {
        "goal": held.goal["en_us"],
        "tasks": [{"to": task.to, "text": task.text["en_us"]} for task in held.tasks],
        "cast": dict(held.cast),
    }
    found = _sifted(fair, _with(cast={"men": 5, "women": 5}), GOOD, GOOD, copied)
    assert len(found.entries) == 1
    wrong, double, shipped = (one.reason for one in found.refused)
    assert "other numbers of people" in wrong
    assert double.startswith(f"asks the same as `{GOOD['goal']}")
    assert shipped == f"asks the same as `{held.id}`"
