"""The implicit separated question: the same message without its greeting, and both replies beside each other."""

from __future__ import annotations

from tasks.attack.goal import Scene
from tasks.attack.greetings import greeting_of
from tasks.attack.moves import Moves, Say, say


class ImplicitSeparated:
    """A message without a greeting is sent with one first, so that there is one to leave out."""

    def moves(self, scene: Scene) -> Moves:
        opening = scene.opening()
        greeting = greeting_of(opening, scene.wording.greetings)
        bare = opening[len(greeting) :]
        greeting = greeting or f"{scene.shuffled('greeting', scene.wording.salutations)[0]} "
        yield from say(Say(greeting + bare, judged="later"))
        yield from say(Say(bare, judged="pair"))
