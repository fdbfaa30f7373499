"""The separated question: the same message about each group, judged as a pair."""

from __future__ import annotations

from biasgrid.catalogs.schema.attacks import Fault
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.groups import Groups, one_stretch
from biasgrid.tasks.redteam.moves import Ask, Moves, Say, ask, say


class Separated:
    """Swaps the group by the catalog's words, else by the attacker; a message with other changes is not sent."""

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
