"""Pairings in JSON, by whatever keys: names to attributes, attributes to lists of names, lists of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from biasgrid.tasks.evaluate.readers.claims import Claim, Said
from biasgrid.tasks.evaluate.readers.loose_json import Object, Value, values_in
from biasgrid.tasks.evaluate.readers.mentions import Tokens, Vocabulary
from biasgrid.tasks.evaluate.readers.pairings.words import LABELS

_TRUE: Final = frozenset({"true", "yes", "1", "x", "si"})
_PERSON: Final = re.compile(r"[A-Z][a-z'-]+(?: [A-Z][a-z'-]+){0,2}\Z")


def read_objects(flat_text: str, vocabulary: Vocabulary) -> tuple[list[Said], list[str]]:
    """What each outermost value says, and the sentences found in any, which are to be read as text."""
    sentences: list[str] = []
    said = []
    for value in values_in(flat_text):
        invented: list[str] = []
        claims = list(_claims(value, vocabulary, sentences, invented))
        said.append(Said(claims, invented))
    return [one for one in said if one.claims], sentences


def _claims(value: Value, vocabulary: Vocabulary, sentences: list[str], invented: list[str]) -> Iterator[Claim]:
    if isinstance(value, Object):
        yield from _of_object(value, vocabulary, sentences, invented)
    elif isinstance(value, list):
        yield from _of_list(value, vocabulary, sentences, invented)
    elif value:
        sentences.append(value)


def _of_list(
    items: list[Value], vocabulary: Vocabulary, sentences: list[str], invented: list[str]
) -> Iterator[Claim]:
    """`["James", "doctor"]` is a pair; longer lists of words are none."""
    names, attributes = _scalars(items, vocabulary)
    if len(items) == 2 and len(names) == 1 and len(attributes) == 1:
        yield Claim(attributes[0], (names[0],))
        return
    for item in items:
        yield from _claims(item, vocabulary, sentences, invented)


def _of_object(
    value: Object, vocabulary: Vocabulary, sentences: list[str], invented: list[str]
) -> Iterator[Claim]:
    values = [held for _, held in value.members]
    names, attributes = _scalars(values, vocabulary)
    listed = [name for held in values if isinstance(held, list) for name in _scalars(held, vocabulary)[0]]
    if len(set(attributes)) == 1 and (names or listed) and not _keyed(value, vocabulary):
        yield Claim(attributes[0], tuple(dict.fromkeys([*names, *listed])))
        return
    for key, held in value.members:
        yield from _member(key, held, vocabulary, sentences, invented)


def _keyed(value: Object, vocabulary: Vocabulary) -> bool:
    """Whether a key is itself a name or an attribute."""
    return any(_name_of(key, vocabulary) or vocabulary.attribute_in(key) for key, _ in value.members)


def _member(
    key: str, held: Value, vocabulary: Vocabulary, sentences: list[str], invented: list[str]
) -> Iterator[Claim]:
    name, attribute = _name_of(key, vocabulary), vocabulary.attribute_in(key.replace("_", " "))
    if name:
        yield from (Claim(given, (name,)) for given in dict.fromkeys(_attributes(held, vocabulary)))
    elif attribute:
        yield from (Claim(attribute, (given,)) for given in _names(held, vocabulary, invented))
    elif isinstance(held, str) and vocabulary.attribute_in(held):
        invented.extend([key] if _PERSON.match(key) and not LABELS.match(f"{key}: {held}") else [])
    else:
        yield from _claims(held, vocabulary, sentences, invented)


def _attributes(held: Value, vocabulary: Vocabulary) -> Iterator[str]:
    """The attributes under a name: the value itself, those of a list or under any key, or keys that are true."""
    if isinstance(held, str):
        given = vocabulary.attribute_in(held)
        yield from [given] if given else []
    elif isinstance(held, list):
        for item in held:
            yield from _attributes(item, vocabulary)
    elif held:
        for key, value in held.members:
            of_key = vocabulary.attribute_in(key)
            if of_key:
                yield from [of_key] if isinstance(value, str) and value.casefold() in _TRUE else []
            else:
                yield from _attributes(value, vocabulary)


def _names(held: Value, vocabulary: Vocabulary, invented: list[str]) -> Iterator[str]:
    """The names under an attribute: of a list, of a row of names, or under any key of objects."""
    if isinstance(held, str):
        name = vocabulary.name_in(held)
        row = [vocabulary.name_in(part) for part in re.split(r",| and | y | i |;|\n", held)]
        yield from [name] if name else [one for one in row if one] if all(row) else []
        invented.extend([held] if not name and _PERSON.match(held) and not any(row) else [])
    elif isinstance(held, list):
        for item in held:
            yield from _names(item, vocabulary, invented)
    elif held:
        keys = [vocabulary.name_in(key) for key, _ in held.members]
        yield from [key for key in keys if key]
        for _, value in held.members if not any(keys) else ():
            yield from _names(value, vocabulary, [])


def _scalars(values: list[Value], vocabulary: Vocabulary) -> tuple[list[str], list[str]]:
    texts = [value for value in values if isinstance(value, str)]
    names = [name for name in map(vocabulary.name_in, texts) if name]
    attributes = [attribute for attribute in map(vocabulary.attribute_in, texts) if attribute]
    return names, attributes


def _name_of(key: str, vocabulary: Vocabulary) -> str | None:
    """The name that a key is, or the only one that it mentions: `role_of_James`."""
    name = vocabulary.name_in(key)
    if name or vocabulary.attribute_in(key):
        return name
    mentions = vocabulary.mentions(Tokens.of(key.replace("_", " ")))
    return mentions[0].value if len(mentions) == 1 and mentions[0].kind == "name" else None
