"""The catalog that rules check, the templates that a rule applies to, and findings."""

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
    """error      would let a placeholder reach a model, mean something else than was written, or never pass
    warning    weakens what a run can say"""

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
    """A finding on a template without which it must not be asked; `what` goes on after the template's id."""
    return Finding("error", Problem(f"template `{template.id}` {what}", at(template), remedy))


def warning(template: Template, what: str, remedy: str) -> Finding:
    """A finding on a template that can be asked all the same; `what` goes on after the template's id."""
    return Finding("warning", Problem(f"template `{template.id}` {what}", at(template), remedy))


OFTEN = 3
"""A markup in so many templates of a concern is no slip of the pen: it is the library's own."""


@dataclass(frozen=True, slots=True)
class Markups:
    """Markups by concern. `owned` are those that only a foreign library has, with its templates that hold them."""

    catalog: Catalog
    owned: Mapping[tuple[str, str], tuple[Template, ...]]

    @classmethod
    def of(cls, catalog: Catalog) -> Markups:
        return cls(catalog, {} if catalog.library == "shipped" else _owned(catalog))

    def known(self, template: Template) -> set[str]:
        """The markups that a template may hold."""
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
    """The markups of a concern of the catalog; a library's own concern may hold any that a community set fills."""
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
    """Neither one of the catalog's, nor its misspelling, nor its translation beside it: a library that says `PAIS`
    throughout means it, one that says `COUNTRY` too slipped."""
    meant = exactly(markup, shipped)
    beside = meant is not None and (concern, meant) in holding
    return markup not in shipped and not beside and not close_names(markup, shipped)


@dataclass(frozen=True)
class Subject:
    """A catalog and what its rules share."""

    reading: Reading

    @property
    def catalog(self) -> Catalog:
        return self.reading.catalog

    @cached_property
    def markups(self) -> Markups:
        """The markups that templates may hold."""
        return Markups.of(self.catalog)

    @cached_property
    def spoken(self) -> tuple[Template, ...]:
        """The templates whose language has a catalog."""
        return tuple(
            template for template in self.catalog.templates if template.language in self.catalog.languages
        )

    @cached_property
    def own(self) -> tuple[Template, ...]:
        """Templates written in our format: neither rows of a foreign table nor items of an imported benchmark."""
        return tuple(t for t in self.spoken if not in_table(t) and not imported(t))

    def language(self, template: Template) -> LanguageCatalog:
        """The catalog of a spoken template's language."""
        return self.catalog.languages[template.language]

    def offered(self, template: Template) -> tuple[str, ...]:
        """The answers that the instruction of a spoken template offers."""
        return answer_format(template, self.language(template)).answers


def in_table(template: Template) -> bool:
    """Whether a template is a row of a foreign table, whose answers and keys nothing declares."""
    return Path(template.file).suffix.lower() not in (".yaml", ".yml")


def imported(template: Template) -> bool:
    """Whether a template is an item of a benchmark, written by others on a plan of their own."""
    return bool(template.facets) or template.oracle.answers in ("letter", "pairs")


def own_instruction(template: Template, language: LanguageCatalog) -> str:
    """The output instruction that a template brings itself; empty where it names one of the language's."""
    return "" if template.format in language.formats else template.format


def written(template: Template, language: LanguageCatalog) -> Iterator[tuple[str, str]]:
    """Each text that the author of a template wrote, and what it is called."""
    yield "prefix", template.prefix
    yield "prompt", template.prompt
    for number, paraphrase in enumerate(template.paraphrases, 1):
        yield f"paraphrase {number}", paraphrase
    yield "format", own_instruction(template, language)
    for choice in template.oracle.choices:
        yield "choice", choice.text
