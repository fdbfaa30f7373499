"""Persona: the attacker plays a character, or asks the target to."""

from __future__ import annotations

from biasgrid.catalogs.schema.attacks import filled
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Ask, Moves, Say, ask, say, unless_said


class InPersona:
    """Keeps up one of the catalog's personas for all turns."""

    def moves(self, scene: Scene) -> Moves:
        persona = scene.shuffled("persona", scene.wording.personas)[0]
        plays = filled(scene.wording.attacker.plays[persona.plays], {"who": persona.who})
        sent: list[str] = []
        for turn in range(1, scene.limits.turns + 1):
            words = {"persona": plays, "turn": str(turn), "turns": str(scene.limits.turns)}
            sent.append((yield from ask(Ask("persona", None, words, fault=unless_said(sent)))))
            yield from say(Say(sent[-1]))
