"""Checks libraries as a whole: concerns, languages, duplicate ids and texts, cells with few templates."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from typing import get_args

from biasgrid.catalogs.choices import InputType, Reflection
from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.lint.language.language_rules import words
from biasgrid.catalogs.lint.subject import Finding, Rule, Subject, at, is_imported, on_template, warn
from biasgrid.catalogs.loading.catalog import Reading
from biasgrid.catalogs.loading.libraries import unknown_concerns
from biasgrid.catalogs.loading.template_files import no_catalog
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.wording import SLOT

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
"""Words that hardly change a question."""
TOKEN = re.compile(r"\{[A-Z_]+\d*\}|[^\W_]+")
LONGEST = 80
"""Maximum number of tokens of a text compared for spelling errors; each costs one look-up."""
Cell = tuple[str, ...]
Words = tuple[str, ...]
Spelled = dict[tuple[Cell, int, Words], list[tuple[Words, Template]]]
"""Earlier templates by cell, and by their words without the one at a position."""


def _repeated_questions(subject: Subject) -> Iterator[Finding]:
    """Warnings on templates that repeat an earlier one of the same cell."""
    exact: dict[tuple[Cell, str], Template] = {}
    near: dict[tuple[Cell, Words], Template] = {}
    spelled: Spelled = defaultdict(list)
    for template in subject.catalog.templates:
        cell = (template.language, template.concern, template.input, template.reflection, template.sector or "")
        text = " ".join(f"{_question(template)} {template.format}".split()).lower()
        how = "asks the same as"
        earlier = exact.setdefault((cell, text), template)
        if earlier is template and not is_imported(template):
            how = "asks nearly the same as"
            asked = _content_words(template)
            earlier = near.setdefault((cell, asked), template)
            if earlier is template:
                earlier = _one_letter_off(spelled, cell, asked, template)
        if earlier is not template:
            found = warn(f"{how} `{earlier.id}` ({at(earlier)})", COUNTS_TWICE)
            yield on_template(template, found)


COUNTS_TWICE = "change or remove one: asked twice, it counts twice"


def _question(template: Template) -> str:
    """The question with its choices, since benchmarks ask one question about many."""
    return " ".join([template.prefix, template.prompt, *(choice.text for choice in template.oracle.choices)])


def _content_words(template: Template) -> Words:
    """The question in lower case, without articles, plural endings and forms of slots."""
    tongue = template.language.partition("_")[0]
    light = LIGHT.get(tongue, frozenset())
    text = SLOT.sub(lambda slot: f"{{{slot['markup']}{slot['number']}}}", _question(template))
    tokens = (token if token[0] == "{" else token.lower() for token in TOKEN.findall(text))
    return tuple(_stem(token, tongue) for token in tokens if token not in light)


def _stem(token: str, tongue: str) -> str:
    """The token without an English plural ending `s`; third-person verbs lose theirs too."""
    if tongue == "en" and len(token) > 4 and token.endswith("s") and not token.endswith("ss"):
        return token[:-1]
    return token


def _one_letter_off(spelled: Spelled, cell: Cell, asked: Words, template: Template) -> Template:
    """The earlier template that differs in the spelling of one long word, else the template itself."""
    found = template
    if not 3 < len(asked) <= LONGEST:
        return found
    for place, word in enumerate(asked):
        if len(word) < 6 or not word.isalpha():
            continue
        known = spelled[cell, place, (*asked[:place], *asked[place + 1 :])]
        found = next((other for held, other in known if _is_misspelling(word, held[place])), found)
        known.append((asked, template))
    return found


def _is_misspelling(word: str, other: str) -> bool:
    """Whether words differ by one inserted, deleted, replaced or swapped letter, not at their start or end."""
    if word == other or word[:2] != other[:2] or word[-2:] != other[-2:] or abs(len(word) - len(other)) > 1:
        return False
    shorter = min(len(word), len(other))
    first = next((place for place in range(shorter) if word[place] != other[place]), shorter)
    rest, others = word[first:], other[first:]
    swapped = rest[:2] == others[1::-1] and rest[2:] == others[2:]
    return swapped or rest[1:] == others[1:] or rest[1:] == others or rest == others[1:]


FEW = 2
"""Minimum number of templates for a conclusion about a cell."""
KINDS = (get_args(InputType), get_args(Reflection))


def _library(subject: Subject) -> Iterator[Finding]:
    """Findings on a library; unknown concerns are only a warning in a foreign one."""
    catalog = subject.catalog
    yield from _languages_without_catalog(subject.reading)
    yield from _few_templates(catalog.templates)
    if catalog.library != "shipped":
        for mistake in (*unknown_concerns(catalog.templates, catalog.concerns), *subject.markups.own()):
            yield Finding("warning", mistake)
        yield from _repeated_ids(catalog.templates)


def _languages_without_catalog(reading: Reading) -> Iterator[Finding]:
    catalog = reading.catalog
    reported = {mistake.what for mistake in reading.mistakes}
    first: dict[tuple[str, str], Template] = {}
    for template in catalog.templates:
        first.setdefault((template.file, template.language), template)
    for template in first.values():
        problem = no_catalog(template.language, at(template))
        if template.language not in {*catalog.languages, *reading.unread} and problem.what not in reported:
            yield Finding("error", problem)


def _repeated_ids(templates: Iterable[Template]) -> Iterator[Finding]:
    first: dict[tuple[str, str], Template] = {}
    for template in templates:
        earlier = first.setdefault((template.language, template.id), template)
        if earlier is not template:
            what = f"of `{template.language}` stands at {at(earlier)} too"
            remedy = "give each its own id, so that findings can be traced"
            yield on_template(template, warn(what, remedy))


def _few_templates(templates: Iterable[Template]) -> Iterator[Finding]:
    """A finding per language and file on cells with few templates; sector sets are small by design."""
    spoken: dict[str, list[Template]] = defaultdict(list)
    for template in templates:
        if template.sector is None:
            spoken[template.language].append(template)
    for language, held in spoken.items():
        cells = product(sorted({template.concern for template in held}), *KINDS)
        counts = Counter((template.concern, template.input, template.reflection) for template in held)
        files = {template.concern: template.file for template in held}  # an overlay's are read last
        short: dict[str, list[str]] = defaultdict(list)
        for cell in cells:
            if counts[cell] < FEW:
                short[files[cell[0]]].append(f"{' · '.join(cell)} ({counts[cell]})")
        for file, named in short.items():
            what = f"fewer than {FEW} templates in `{language}` for {', '.join(named)}"
            remedy = "a run shows little about these cells: add templates or leave them out"
            yield Finding("warning", Problem(what, file, remedy))


LIBRARY_RULE, REPETITION_RULE = Rule("catalog", _library), Rule("catalog", _repeated_questions)
