"""Defines the catalog under check, findings, and how rules are applied to its entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from biasgrid.catalogs.errors import Problem, close_names, place
from biasgrid.catalogs.lint.people_names import PeopleNames
from biasgrid.catalogs.loading.catalog import Catalog, Reading
from biasgrid.catalogs.loading.normal_form import exactly
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.entries import Community, Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.wording import SLOT, answer_format

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Error: would send a placeholder, change the meaning or never pass; warning: weakens a run's conclusions."""

    severity: Severity
    mistake: Problem

    def __str__(self) -> str:
        return str(replace(self.mistake, what=f"{self.severity}: {self.mistake.what}"))

    def as_json(self) -> dict[str, str | int | None]:
        """The finding as a JSON object: file, line, severity, what, remedy."""
        file, _, line = self.mistake.where.rpartition(":")
        known = line.isdecimal()
        return {
            "file": (file if known else self.mistake.where) or None,
            "line": int(line) if known else None,
            "severity": self.severity,
            "what": self.mistake.what,
            "remedy": self.mistake.remedy,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """A rule's finding on one entry: `what` continues the entry's title, `at` is the location within it."""

    severity: Severity
    what: str
    remedy: str
    at: Location = ()

    def within(self, title: str, *at: str | int) -> Found:
        """The finding as one on the entry that contains this one at a location."""
        return replace(self, what=title + self.what, at=(*at, *self.at))


def error(what: str, remedy: str, *at: str | int) -> Found:
    return Found("error", what, remedy, at)


def warn(what: str, remedy: str, *at: str | int) -> Found:
    return Found("warning", what, remedy, at)


def at(template: Template) -> str:
    """`file:line` of a template."""
    return place(template.file, template.line)


def on_template(template: Template, found: Found) -> Finding:
    """A finding on a template as a whole."""
    return Finding(found.severity, Problem(f"template `{template.id}` {found.what}", at(template), found.remedy))


OFTEN = 3
"""Templates of a concern from which a markup is the library's own rather than a typing error."""


@dataclass(frozen=True, slots=True)
class Markups:
    """Markups by concern; `owned` are those only in a foreign library, with the templates that contain them."""

    catalog: Catalog
    owned: Mapping[tuple[str, str], tuple[Template, ...]]

    @classmethod
    def of(cls, catalog: Catalog) -> Markups:
        return cls(catalog, {} if catalog.library == "shipped" else _owned_markups(catalog))

    def markups_of(self, template: Template) -> set[str]:
        """The markups that a template may contain."""
        own = {markup for concern, markup in self.owned if concern == template.concern}
        return _shipped_markups(self.catalog, template.concern) | own

    def own(self) -> Iterator[Problem]:
        """One line for each markup of a foreign library that no shipped concern has."""
        for (concern, markup), templates in self.owned.items():
            yield Problem(
                f"`{{{markup}}}` in {len(templates)} templates of `{concern}` is the library's own markup",
                at(templates[0]),
                f"name it in the requirement: `markup: {markup}`, with its `communities`",
            )


def _shipped_markups(catalog: Catalog, concern: str) -> set[str]:
    """Markups of a catalog concern; for a library's own concern, those of all community sets."""
    found = catalog.concerns.get(concern)
    return set(found.markups) if found else {each.markup for each in catalog.communities.values()}


def _owned_markups(catalog: Catalog) -> dict[tuple[str, str], tuple[Template, ...]]:
    holding: dict[tuple[str, str], list[Template]] = defaultdict(list)
    for template in catalog.templates:
        for markup in {slot["markup"] for slot in SLOT.finditer(template.prompt)}:
            holding[template.concern, markup].append(template)
    return {
        (concern, markup): tuple(templates)
        for (concern, markup), templates in holding.items()
        if len(templates) >= OFTEN and _is_own(concern, markup, holding, _shipped_markups(catalog, concern))
    }


def _is_own(concern: str, markup: str, holding: Collection[tuple[str, str]], shipped: set[str]) -> bool:
    """Whether a markup is neither shipped, nor a misspelling, nor a translation next to the original."""
    meant = exactly(markup, shipped)
    has_both = meant is not None and (concern, meant) in holding
    return markup not in shipped and not has_both and not close_names(markup, shipped)


@dataclass(frozen=True)
class Subject:
    """A catalog and the data that its rules share."""

    reading: Reading

    @property
    def catalog(self) -> Catalog:
        return self.reading.catalog

    @cached_property
    def markups(self) -> Markups:
        """The markups that templates may contain."""
        return Markups.of(self.catalog)

    @cached_property
    def people_names(self) -> PeopleNames:
        """Names of the people who appear in scenes."""
        return PeopleNames(self.catalog.people)

    @cached_property
    def communities(self) -> dict[str, tuple[Community, ...]]:
        """By markup: communities of all its sets, intersections included."""
        held: dict[str, dict[str, Community]] = defaultdict(dict)
        for found in self.catalog.communities.values():
            held[found.markup] |= {community.id: community for community in found.communities}
        return {markup: tuple(found.values()) for markup, found in held.items()}

    @cached_property
    def scene_files(self) -> dict[str, str]:
        """By scene: the first file that contains it."""
        files: dict[str, str] = {}
        for domain in self.catalog.scenes.values():
            for scene in domain.scenes:
                files.setdefault(scene.id, self.reading.documents["scenes", domain.id].name)
        return files

    @cached_property
    def spoken(self) -> tuple[Template, ...]:
        """Templates in languages that have a catalog."""
        return tuple(
            template for template in self.catalog.templates if template.language in self.catalog.languages
        )

    @cached_property
    def own(self) -> tuple[Template, ...]:
        """Templates in our own format: neither rows of a foreign table nor items of an imported benchmark."""
        return tuple(t for t in self.spoken if not in_table(t) and not is_imported(t))

    def language(self, template: Template) -> LanguageCatalog:
        """The language catalog of a template."""
        return self.catalog.languages[template.language]

    def offered_answers(self, template: Template) -> tuple[str, ...]:
        """The answers that the template's instruction offers."""
        return answer_format(template, self.language(template)).answers

    def on_entry(self, folder: str, name: str, found: Found) -> Finding:
        """A finding on an entry of a folder, with the line of its location."""
        where = self.reading.documents[folder, name].place(*found.at)
        return Finding(found.severity, Problem(found.what, where, found.remedy))

    def apply(self, rules: Iterable[Rule]) -> Iterator[Finding]:
        """Findings of each rule on every entry that it checks, in the order of the rules."""
        for rule in rules:
            if rule.checks == "catalog":
                yield from rule.check(self)
            elif rule.checks in TEMPLATES:
                for template in self.spoken if rule.checks == "spoken" else self.catalog.templates:
                    yield from (on_template(template, found) for found in rule.check(template, self))
            else:
                for entry in getattr(self.catalog, rule.checks).values():
                    for found in rule.check(entry, self):
                        yield self.on_entry(rule.checks, entry.id, found)


TEMPLATES = ("templates", "spoken")


@dataclass(frozen=True, slots=True)
class Rule:
    """A check of one kind of entry, or of the catalog as a whole."""

    checks: str
    """`catalog` (the check takes the subject, and yields `Finding`), `templates`, `spoken` (templates in languages
    with a catalog) or the name of a folder (the check takes an entry and the subject, and yields `Found`)."""
    check: Callable[..., Iterator[Any]]


def in_table(template: Template) -> bool:
    """Whether a template is a row of a foreign table, which declares neither answers nor keys."""
    return Path(template.file).suffix.lower() not in (".yaml", ".yml")


def is_imported(template: Template) -> bool:
    """Whether a template is an item of an imported benchmark with a design of its own."""
    return bool(template.facets) or template.oracle.answers in ("letter", "pairs")


def own_instruction(template: Template, language: LanguageCatalog) -> str:
    """The output instruction written in the template; empty if it names one of the language's."""
    return "" if template.format in language.formats else template.format


def own_texts(template: Template, language: LanguageCatalog) -> Iterator[tuple[str, str]]:
    """Each text written by the template's author, with its name."""
    yield "prefix", template.prefix
    yield "prompt", template.prompt
    for number, paraphrase in enumerate(template.paraphrases, 1):
        yield f"paraphrase {number}", paraphrase
    yield "format", own_instruction(template, language)
    for choice in template.oracle.choices:
        yield "choice", choice.text


def shorten(text: str, longest: int = 60) -> str:
    """The text on one line, with an ellipsis in place of what exceeds the limit."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def list_names(names: Collection[str], longest: int) -> str:
    """Names in backticks, at most `longest` of them."""
    return ", ".join(f"`{name}`" for name in list(names)[:longest]) + (", …" if len(names) > longest else "")
