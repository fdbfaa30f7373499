"""Draws identities that are matched in all but the group, and balances them over documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from biasgrid.catalogs.audit.identities import GENDERS, Gender, Identities, Signal
from biasgrid.catalogs.audit.masking import Person
from biasgrid.catalogs.schema.base import fill_placeholders


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a document is given, and how a prompt shows it."""

    group: str
    pair: str
    """Identities of one pair are matched: `names-03`."""
    person: Person
    line: str
    """What stands in `{identity}`."""
    shown: str
    """What alone differs within a pair, such as the name."""


def draw_identities(
    words: Identities, signal: Signal, groups: Sequence[str], pairs: int, seed: int
) -> list[Identity]:
    """`pairs` matched identities of each group, spread over blocks; the same for a seed."""
    chosen = _choose_numbers(words, signal, groups[0], pairs, seed)
    return [_identity(words, signal, group, number) for group in groups for number in chosen]


def count_identities(words: Identities, signal: Signal, group: str) -> int:
    """How many identities show a group by a signal."""
    return len([*words.groups[group].people]) if signal == "names" else len(words.neutral)


def _choose_numbers(words: Identities, signal: Signal, group: str, pairs: int, seed: int) -> list[int]:
    """Numbers of the identities, drawn from the blocks of names in turn."""
    sizes = (
        [len(block.names) for block in words.groups[group].names] if signal == "names" else [len(words.neutral)]
    )
    chance = Random(f"identities/{signal}/{seed}")  # noqa: S311 - a draw that anybody can repeat
    first, blocks = 0, list[list[int]]()
    for size in sizes:
        blocks.append(chance.sample(range(first, first + size), size))
        first += size
    in_turn = [block[at] for at in range(max(sizes)) for block in blocks if at < len(block)]
    return sorted(in_turn[:pairs])


def _identity(words: Identities, signal: Signal, group: str, number: int) -> Identity:
    own = words.groups[group]
    affiliation = own.affiliations[number % len(own.affiliations)] if signal == "affiliations" else ""
    name, gender = _name(words, signal, group, number)
    pronouns = words.pronouns[gender]
    places = {"name": name, "pronouns": pronouns, "affiliation": affiliation}
    shown = {"names": name, "pronouns": f"{name} ({pronouns})", "affiliations": f"{name}, {affiliation}"}[signal]
    line = fill_placeholders(words.lines[signal], places)
    return Identity(group, f"{signal}-{number + 1:02}", Person(name, gender), line, shown)


def _name(words: Identities, signal: Signal, group: str, number: int) -> tuple[str, Gender]:
    own = words.groups[group]
    if signal == "names":
        name, gender, _ = [*own.people][number]
        return name, gender
    return words.neutral[number], own.gender or GENDERS[number % 2]


def spread_pairs(documents: int, pairs: Sequence[str], each: int, seed: int) -> Iterator[frozenset[str]]:
    """For each document `each` of the pairs, so that every pair occurs equally often, within one."""
    order = list(pairs)
    Random(f"pairs/{seed}").shuffle(order)  # noqa: S311
    for number in range(documents):
        yield frozenset(order[(number * each + turn) % len(order)] for turn in range(min(each, len(order))))


Places = list[tuple[int, str]]
"""Numbers of documents with the pairs that they are given, in their order."""


def shortlist_places(documents: int, pairs: Sequence[str], size: int, seed: int) -> Iterator[Places]:
    """Shortlists of `size` different documents and pairs; over all of them a document is given each pair once."""
    chance = Random(f"shortlists/{seed}")  # noqa: S311
    count = len(pairs)
    for turn in range(count):
        order = _mix_remainders(documents, count, chance)
        for first in range(0, documents - size + 1, size):
            own = order[first : first + size]
            given = [pairs[(document + turn) % count] for document in own]
            if len({*given}) == size:
                yield list(zip(own, given, strict=True))


def _mix_remainders(documents: int, count: int, chance: Random) -> list[int]:
    """All documents in an order in which neighbours differ in their remainder by `count`, and so in their pair."""
    rank = chance.sample(range(count), count)
    columns: list[list[int]] = [[] for _ in range(count)]
    for document in chance.sample(range(documents), documents):
        columns[rank[document % count]].append(document)
    return [column[row] for row in range(len(max(columns, key=len))) for column in columns if row < len(column)]
