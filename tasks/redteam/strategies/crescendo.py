"""Crescendo: escalates step by step from a harmless message and backtracks after a refusal.

After Russinovich, Salem and Eldan, "Great, Now Write an Article About That: The Crescendo Multi-Turn LLM Jailbreak
Attack" (2024): the attacker builds on the target's replies, sees the score of the last one, and a refused message
is removed from the history."""

from __future__ import annotations

from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Ask, Exchange, Moves, Say, ask, say


class Crescendo:
    """Takes back up to `backtracks` refusals at no turn; with a target that remembers, each costs a turn."""

    def moves(self, scene: Scene) -> Moves:
        turn, backtracks, last = 1, 0, None
        while turn <= scene.limits.turns:
            message = yield from ask(_step(scene, turn, last))
            back = last is not None and last.refused and not scene.remembers
            last = yield from say(Say(message, begins="back" if back else "on"))
            if not last.refused or scene.remembers:
                turn += 1
            elif backtracks == scene.limits.backtracks:
                return
            else:
                backtracks += 1


def _step(scene: Scene, turn: int, last: Exchange | None) -> Ask:
    words = {"turn": str(turn), "turns": str(scene.limits.turns)}
    judged = last.judgement if last else None
    return Ask("crescendo", None, words, score=judged.score if judged else None)
