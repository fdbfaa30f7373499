"""The direct question, asked again in other words."""

from __future__ import annotations

from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Ask, Moves, Say, ask, say, unless_said


class Direct:
    """The attacker rewrites the last message with the same intent, turn by turn."""

    def moves(self, scene: Scene) -> Moves:
        sent = [scene.opening()]
        yield from say(Say(sent[0]))
        for turn in range(2, scene.limits.turns + 1):
            words = {"turn": str(turn), "turns": str(scene.limits.turns)}
            sent.append((yield from ask(Ask("direct", sent[-1], words, fault=unless_said(sent)))))
            yield from say(Say(sent[-1]))
