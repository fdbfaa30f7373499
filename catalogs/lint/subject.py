"""Defines the catalog under check, the templates that a rule applies to, and findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from biasgrid.catalogs.errors import Problem, close_names, place
from biasgrid.catalogs.loading.catalog import Catalog, Reading
from biasgrid.catalogs.loading.normal_form import exactly
from biasgrid.catalogs.schema.entries import LanguageCatalog, Template
from biasgrid.catalogs.schema.wording import SLOT, answer_format

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Error: would send a placeholder, change the meaning or never pass; warning: weakens a run's conclusions."""

    severity: Severity
    mistake: Problem

    def __str__(self) -> str:
        where = f"{self.mistake.where}: " if self.mistake.where else ""
        remedy = f"\n    → {self.mistake.remedy}" if self.mistake.remedy else ""
        return f"{where}{self.severity}: {self.mistake.what}{remedy}"

    def told(self) -> dict[str, str | int | None]:
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


def at(template: Template) -> str:
    """`file:line` of a template."""
    return place(template.file, template.line)


def error(template: Template, what: str, remedy: str) -> Finding:
    """Error finding on a template, which must not be sent; `what` continues the sentence after its id."""
    return Finding("error", Problem(f"template `{template.id}` {what}", at(template), remedy))


def warning(template: Template, what: str, remedy: str) -> Finding:
    """Warning finding on a template, which can still be sent; `what` continues the sentence after its id."""
    return Finding("warning", Problem(f"template `{template.id}` {what}", at(template), remedy))


OFTEN = 3
"""Templates of a concern from which a markup is the library's own rather than a typing error."""


@dataclass(frozen=True, slots=True)
class Markups:
    """Markups by concern; `owned` are those only in a foreign library, with the templates that contain them."""

    catalog: Catalog
    owned: Mapping[tuple[str, str], tuple[Template, ...]]

    @classmethod
    def of(cls, catalog: Catalog) -> Markups:
        return cls(catalog, {} if catalog.library == "shipped" else _owned(catalog))

    def known(self, template: Template) -> set[str]:
        """The markups that a template may contain."""
        own = {markup for concern, markup in self.owned if concern == template.concern}
        return _shipped(self.catalog, template.concern) | own

    def own(self) -> Iterator[Problem]:
        """One line for each markup of a foreign library that no shipped concern has."""
        for (concern, markup), templates in self.owned.items():
            yield Problem(
                f"`{{{markup}}}` in {len(templates)} templates of `{concern}` is the library's own markup",
                place(templates[0].file, templates[0].line),
                f"name it in the requirement: `markup: {markup}`, with its `communities`",
            )


def _shipped(catalog: Catalog, concern: str) -> set[str]:
    """Markups of a catalog concern; for a library's own concern, those of all community sets."""
    found = catalog.concerns.get(concern)
    return set(found.markups) if found else {each.markup for each in catalog.communities.values()}


def _owned(catalog: Catalog) -> dict[tuple[str, str], tuple[Template, ...]]:
    holding: dict[tuple[str, str], list[Template]] = defaultdict(list)
    for template in catalog.templates:
        for markup in {slot["markup"] for slot in SLOT.finditer(template.prompt)}:
            holding[template.concern, markup].append(template)
    return {
        (concern, markup): tuple(templates)
        for (concern, markup), templates in holding.items()
        if len(templates) >= OFTEN and _is_own(concern, markup, holding, _shipped(catalog, concern))
    }


def _is_own(concern: str, markup: str, holding: Collection[tuple[str, str]], shipped: set[str]) -> bool:
    """Whether a markup is neither shipped, nor a misspelling, nor a translation next to the original."""
    meant = exactly(markup, shipped)
    beside = meant is not None and (concern, meant) in holding
    return markup not in shipped and not beside and not close_names(markup, shipped)


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
    def spoken(self) -> tuple[Template, ...]:
        """Templates in languages that have a catalog."""
        return tuple(
            template for template in self.catalog.templates if template.language in self.catalog.languages
        )

    @cached_property
    def own(self) -> tuple[Template, ...]:
        """Templates in our own format: neither rows of a foreign table nor items of an imported benchmark."""
        return tuple(t for t in self.spoken if not in_table(t) and not imported(t))

    def language(self, template: Template) -> LanguageCatalog:
        """The language catalog of a template."""
        return self.catalog.languages[template.language]

    def offered(self, template: Template) -> tuple[str, ...]:
        """The answers that the template's instruction offers."""
        return answer_format(template, self.language(template)).answers


def in_table(template: Template) -> bool:
    """Whether a template is a row of a foreign table, which declares neither answers nor keys."""
    return Path(template.file).suffix.lower() not in (".yaml", ".yml")


def imported(template: Template) -> bool:
    """Whether a template is an item of an imported benchmark with a design of its own."""
    return bool(template.facets) or template.oracle.answers in ("letter", "pairs")


def own_instruction(template: Template, language: LanguageCatalog) -> str:
    """The output instruction written in the template; empty if it names one of the language's."""
    return "" if template.format in language.formats else template.format


def written(template: Template, language: LanguageCatalog) -> Iterator[tuple[str, str]]:
    """Each text written by the template's author, with its name."""
    yield "prefix", template.prefix
    yield "prompt", template.prompt
    for number, paraphrase in enumerate(template.paraphrases, 1):
        yield f"paraphrase {number}", paraphrase
    yield "format", own_instruction(template, language)
    for choice in template.oracle.choices:
        yield "choice", choice.text
