"""Pairings in tables: a row per person, a column per attribute, a column per person, or cells that are ticked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from biasgrid.tasks.evaluate.readers.claims import Claim
from biasgrid.tasks.evaluate.readers.mentions import Tokens, Vocabulary
from biasgrid.tasks.evaluate.readers.pairings.words import LISTED

_RULE: Final = re.compile(r"^[\s|:+=-]*$")
_TICKS: Final = re.compile(r"(?i)^\W*(?:✓|✔|✅|☑|●|yes|si|true|1)\W*$|^\W*[✓✔✅☑●]\W*$")
_CROSS: Final = re.compile(r"(?i)^\W*x\W*$")
_REFUTED: Final = re.compile(r"[✗✘❌☐✖]")


def cells_of(line: str) -> list[str] | None:
    """The cells of a row between bars or tabs, none for a rule; None where the line is no row."""
    if "|" not in line and "\t" not in line.strip():
        return None
    if _RULE.match(line):
        return []
    mark = "|" if "|" in line else "\t"
    row = line.strip().removeprefix(mark).removesuffix(mark)
    return [cell.strip() for cell in row.split(mark)]


def read_table(rows: Sequence[list[str]], vocabulary: Vocabulary) -> Iterator[Claim]:
    """`rows` without rules; the first may be a header."""
    header: list[str] = []
    for row in rows:
        attributes, names = _attributes(row, vocabulary), _names(row, vocabulary)
        if _is_header(attributes, names) and not _fits(attributes, names, header, vocabulary):
            header = row
        else:
            yield from _of_row(row, attributes, names, header, vocabulary)


def _is_header(attributes: dict[int, str], names: dict[int, tuple[str, ...]]) -> bool:
    several = len(set(attributes.values())) > 1 or len(names) > 1
    return several and not (attributes and names)


def _fits(
    attributes: dict[int, str], names: dict[int, tuple[str, ...]], header: list[str], vocabulary: Vocabulary
) -> bool:
    """Whether a row of names stands below attributes, or the other way round."""
    over, above = _attributes(header, vocabulary), _names(header, vocabulary)
    return bool((names and set(names) <= set(over)) or (attributes and set(attributes) <= set(above)))


def _of_row(
    row: list[str],
    attributes: dict[int, str],
    names: dict[int, tuple[str, ...]],
    header: list[str],
    vocabulary: Vocabulary,
) -> Iterator[Claim]:
    if names and len(set(attributes.values())) == 1:
        yield from _in_pairs(attributes, names)
        return
    over = _attributes(header, vocabulary)
    above = _names(header, vocabulary)
    if names and set(names) <= set(over) and not attributes:
        yield from (Claim(over[place], given) for place, given in names.items())
    elif attributes and set(attributes) <= set(above) and not names:
        yield from (Claim(given, above[place]) for place, given in attributes.items())
    elif len(names) == 1 and over and not attributes:
        yield from _ticked(row, next(iter(names.values())), over)


def _in_pairs(attributes: dict[int, str], names: dict[int, tuple[str, ...]]) -> Iterator[Claim]:
    attribute = next(iter(attributes.values()))
    if len(names) == 1:
        yield Claim(attribute, next(iter(names.values())))


def _ticked(row: list[str], names: tuple[str, ...], over: dict[int, str]) -> Iterator[Claim]:
    yield from (Claim(over[place], names) for place in ticked(row, over))


def ticked(row: Sequence[str], among: Iterable[int]) -> list[int]:
    """The cells that are ticked, or crossed where none is, by their places."""
    under = [place for place in among if place < len(row) and not _REFUTED.search(row[place])]
    ticks = [place for place in under if _TICKS.match(row[place])]
    return ticks or [place for place in under if _CROSS.match(row[place])]


def _attributes(row: list[str], vocabulary: Vocabulary) -> dict[int, str]:
    found = {place: vocabulary.attribute_in(cell) for place, cell in enumerate(row)}
    return {place: attribute for place, attribute in found.items() if attribute}


def _names(row: list[str], vocabulary: Vocabulary) -> dict[int, tuple[str, ...]]:
    found = {place: _listed(cell, vocabulary) for place, cell in enumerate(row)}
    return {place: names for place, names in found.items() if names}


def _listed(cell: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The names of a cell that holds nothing else."""
    whole = vocabulary.name_in(cell)
    if whole or not cell:
        return (whole,) if whole else ()
    tokens = Tokens.of(cell)
    mentions = vocabulary.mentions(tokens)
    inside = {place for mention in mentions for place in range(mention.start, mention.end)}
    others = [word for place, word in enumerate(tokens.words) if place not in inside]
    small = all(word in LISTED or not word.isalnum() for word in others)
    only = small and all(mention.kind == "name" for mention in mentions)
    return tuple(mention.value for mention in mentions) if only else ()
