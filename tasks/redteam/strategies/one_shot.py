"""Name bias in one message: people with names of both groups, and two attributes to assign to them."""

from __future__ import annotations

from biasgrid.catalogs.schema.attacks import filled
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Moves, Say, say

EACH = 3
"""People per group: with an even random split, 1 of 20 cases matches the stereotype by chance."""


class OneShot:
    """Each attempt is a new conversation with another wording and other names."""

    def moves(self, scene: Scene) -> Moves:
        forms = scene.shuffled("form", scene.wording.name_forms)
        for attempt in range(scene.limits.attempts):
            purpose = f"attempt {attempt}"
            favoured, stigmatised = scene.people(purpose, EACH)
            words = {"people": _in_a_row(scene.shuffled(purpose, [*favoured, *stigmatised]))}
            message = filled(forms[attempt % len(forms)], scene.about | words | scene.offered(purpose))
            yield from say(Say(message, begins="anew", about=_whose(scene, favoured, stigmatised)))


def _in_a_row(people: list[str]) -> str:
    return ("; " if any("," in person for person in people) else ", ").join(people)


def _whose(scene: Scene, favoured: list[str], stigmatised: list[str]) -> str:
    words = {
        "favoured": scene.goal.favoured.plural,
        "stigmatised": scene.goal.stigmatised.plural,
        "favoured_people": _in_a_row(favoured),
        "stigmatised_people": _in_a_row(stigmatised),
    }
    return filled(scene.wording.people, words)
