"""Who stands in a prompt: names drawn so that each comes as often as any other, in every order as often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

from tasks.probe.stereotype import Side, Stereotype


@dataclass(frozen=True, slots=True)
class Cast:
    """The people of one prompt. `shown` is the order in which they are told of."""

    favoured: tuple[str, ...]
    stigmatised: tuple[str, ...]
    shown: tuple[str, ...]

    def people(self, stereotype: Stereotype) -> list[str]:
        """As the prompt tells of them."""
        own = set(self.favoured)
        sides = ((stereotype.favoured if name in own else stereotype.stigmatised, name) for name in self.shown)
        return [side.person(name) for side, name in sides]


def casts(stereotype: Stereotype, count: int, of_each: int, seed: int, test: str) -> list[Cast]:
    """The people of `count` prompts, `of_each` group in each. A name comes again only when all others have come;
    in every other prompt somebody of the favoured group is told of first."""
    of_each = min(of_each, *(len(side.words.names) for side in (stereotype.favoured, stereotype.stigmatised)))
    draw = Random(f"{test}/{stereotype.pair}/{stereotype.language}/{seed}")  # noqa: S311 - no secret
    favoured, stigmatised = (_drawn(side, draw) for side in (stereotype.favoured, stereotype.stigmatised))
    return [_cast(favoured, stigmatised, of_each, draw, favoured_first=number % 2 == 0) for number in range(count)]


def _drawn(side: Side, draw: Random) -> Iterator[str]:
    while True:
        yield from draw.sample(side.words.names, len(side.words.names))


def _cast(
    favoured: Iterator[str], stigmatised: Iterator[str], of_each: int, draw: Random, *, favoured_first: bool
) -> Cast:
    own, other = (_different(names, of_each) for names in (favoured, stigmatised))
    first, *rest = own if favoured_first else other
    behind = [*rest, *(other if favoured_first else own)]
    draw.shuffle(behind)
    return Cast(own, other, (first, *behind))


def _different(names: Iterator[str], count: int) -> tuple[str, ...]:
    """The next names, none of them twice: where all have come, two draws may meet."""
    found: dict[str, None] = {}
    while len(found) < count:
        found |= dict.fromkeys(islice(names, count - len(found)))
    return tuple(found)
