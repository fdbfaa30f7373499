"""Questions asked twice: word for word, or nearly so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from biasgrid.catalogs.lint.findings import Finding, at, warning
from biasgrid.catalogs.lint.language.language_detection import words
from biasgrid.catalogs.lint.subject import Subject, imported
from biasgrid.catalogs.scenario.wording import SLOT
from biasgrid.catalogs.schema.entries import Template

LIGHT = {
    "en": words(
        """a an the really actually truly generally usually simply just indeed please that overall typically
        also so quite rather very"""
    ),
    "es": words(
        """el la los las un una unos unas realmente verdaderamente generalmente normalmente simplemente por
        favor muy también bastante en general"""
    ),
    "ca": words(
        """el la els les l un una uns unes realment veritablement generalment normalment simplement si us plau
        molt també força en general"""
    ),
}
"""Words that change little in a question that is otherwise the same."""
TOKEN = re.compile(r"\{[A-Z_]+\d*\}|[^\W_]+")
LONGEST = 80
"""Tokens of a text that is compared for slips of spelling; each costs one look-up."""
Cell = tuple[str, ...]
Words = tuple[str, ...]


def double_findings(subject: Subject) -> Iterator[Finding]:
    """Each template that repeats an earlier one of its language, concern, input, reflection and sector."""
    exact: dict[tuple[Cell, str], Template] = {}
    near: dict[tuple[Cell, Words], Template] = {}
    spelt: dict[tuple[Cell, int, Words], list[tuple[Words, Template]]] = defaultdict(list)
    for template in subject.catalog.templates:
        cell = (template.language, template.concern, template.input, template.reflection, template.sector or "")
        text = " ".join(f"{_question(template)} {template.format}".split()).lower()
        earlier = exact.setdefault((cell, text), template)
        if earlier is not template:
            yield _told(template, earlier, "asks the same as")
        elif not imported(template):
            asked = _asked(template)
            earlier = near.setdefault((cell, asked), template)
            if earlier is template:
                earlier = _one_letter_off(spelt, cell, asked, template)
            if earlier is not template:
                yield _told(template, earlier, "asks nearly the same as")


def _told(template: Template, earlier: Template, how: str) -> Finding:
    what = f"{how} `{earlier.id}` ({at(earlier)})"
    return warning(template, what, "change or remove one: asked twice, it counts twice")


def _question(template: Template) -> str:
    """What is asked, its choices among it: benchmarks ask one question about many."""
    return " ".join([template.prefix, template.prompt, *(choice.text for choice in template.oracle.choices)])


def _asked(template: Template) -> Words:
    """What is asked, in lower case, without articles, plural endings and forms of slots."""
    tongue = template.language.partition("_")[0]
    light = LIGHT.get(tongue, frozenset())
    text = SLOT.sub(lambda slot: f"{{{slot['markup']}{slot['number']}}}", _question(template))
    tokens = (token if token[0] == "{" else token.lower() for token in TOKEN.findall(text))
    return tuple(_stem(token, tongue) for token in tokens if token not in light)


def _stem(token: str, tongue: str) -> str:
    """Without the ending of a plural; English `s` is one after nouns and none after verbs, and says as little."""
    if tongue == "en" and len(token) > 4 and token.endswith("s") and not token.endswith("ss"):
        return token[:-1]
    return token


def _one_letter_off(
    spelt: dict[tuple[Cell, int, Words], list[tuple[Words, Template]]],
    cell: Cell,
    asked: Words,
    template: Template,
) -> Template:
    """The earlier template that differs in the spelling of one long word; the template itself where none does."""
    found = template
    if not 3 < len(asked) <= LONGEST:
        return found
    for place, word in enumerate(asked):
        if len(word) < 6 or not word.isalpha():
            continue
        known = spelt[cell, place, (*asked[:place], *asked[place + 1 :])]
        found = next((other for held, other in known if _slip_of_the_pen(word, held[place])), found)
        known.append((asked, template))
    return found


def _slip_of_the_pen(word: str, other: str) -> bool:
    """One letter more, less, other or swapped, inside the word: beginnings and endings mean something."""
    if word == other or word[:2] != other[:2] or word[-2:] != other[-2:] or abs(len(word) - len(other)) > 1:
        return False
    shorter = min(len(word), len(other))
    first = next((place for place in range(shorter) if word[place] != other[place]), shorter)
    rest, others = word[first:], other[first:]
    swapped = rest[:2] == others[1::-1] and rest[2:] == others[2:]
    return swapped or rest[1:] == others[1:] or rest[1:] == others or rest == others[1:]
