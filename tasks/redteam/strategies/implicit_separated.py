"""The implicit separated question: the same message with and without its greeting, judged as a pair."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Moves, Say, say

AFTER = r"(?:[\s,.;:!?…)–—-]*[,.;:!?…)–—](?=\s|$)\s*|\s+|$)"
"""Separator after a greeting: `Hi-fi` and `Hello-Kitty` begin with none."""


def greeting_of(message: str, greetings: Iterable[str]) -> str:
    """The greeting of a message with punctuation and blanks after it; empty if none or if nothing follows."""
    found = _pattern(tuple(greetings)).match(message)
    return found[0] if found and found.end() < len(message) else ""


@lru_cache(maxsize=64)
def _pattern(greetings: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(greetings, key=len, reverse=True)
    words = "|".join(re.escape(greeting).replace(r"\ ", r"\s+") for greeting in longest_first)
    return re.compile(rf"\s*(?:[¡¿]?(?:{words})(?!\w){AFTER})+", re.IGNORECASE)


class ImplicitSeparated:
    """Sends a message with a greeting, adding one if needed, then without it."""

    def moves(self, scene: Scene) -> Moves:
        opening = scene.opening()
        greeting = greeting_of(opening, scene.wording.greetings)
        bare = opening[len(greeting) :]
        greeting = greeting or f"{scene.shuffled('greeting', scene.wording.salutations)[0]} "
        yield from say(Say(greeting + bare, judged="later"))
        yield from say(Say(bare, judged="pair"))
