"""The separated question: the same message on another group, and both replies beside each other."""

from __future__ import annotations

from biasgrid.catalogs.schema.attacks import Fault
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.groups import Groups, one_stretch
from biasgrid.tasks.redteam.moves import Ask, Moves, Say, ask, say


class Separated:
    """Our own words swap the group where they know it; otherwise the attacker does, and a message in which it
    changed more than a few words in one place is not sent."""

    def moves(self, scene: Scene) -> Moves:
        message = scene.opening()
        yield from say(Say(message, judged="later"))
        swapped = Groups(scene.goal, scene.wording.articles).swapped(message)
        if swapped is None:
            swapped = yield from ask(Ask("separated", message, fault=lambda text: _fault(message, text)))
        yield from say(Say(swapped, judged="pair"))


def _fault(message: str, swapped: str) -> Fault | None:
    if swapped == message:
        return "same"
    return None if one_stretch(message, swapped) else "more_than_groups"
