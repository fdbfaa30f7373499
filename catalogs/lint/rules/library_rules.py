"""What is wrong with a library as a whole: concerns, languages, ids, cells with little in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import get_args

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.lint.concern_names import unknown_concerns
from biasgrid.catalogs.lint.findings import Finding, at, warning
from biasgrid.catalogs.lint.subject import Subject
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import InputType, Reflection, Template

FEW = 2
"""Fewer templates than this in a cell say nothing about it."""
KINDS = (get_args(InputType), get_args(Reflection))


def library_findings(subject: Subject) -> Iterator[Finding]:
    """An unknown concern may be meant in a library of one's own; among ours the reader refuses it."""
    catalog = subject.catalog
    shipped = catalog.library == "shipped"
    yield from _unspoken(catalog)
    yield from _few(catalog.templates)
    if not shipped:
        strange = unknown_concerns(catalog.templates, catalog.concerns)
        yield from (Finding("warning", mistake) for mistake in strange)
        yield from (Finding("warning", mistake) for mistake in subject.markups.own())
        yield from _ids_twice(catalog.templates)


def _unspoken(catalog: Catalog) -> Iterator[Finding]:
    for template in _firsts(catalog.templates, lambda t: (t.file, t.language)):
        if template.language not in catalog.languages:
            what = f"language `{template.language}` has no catalog, so that its templates cannot be framed"
            remedy = f"add languages/{template.language}.yaml to a directory that BIASGRID_CATALOG names"
            yield Finding("error", Problem(what, at(template), remedy))


def _ids_twice(templates: Iterable[Template]) -> Iterator[Finding]:
    first: dict[tuple[str, str], Template] = {}
    for template in templates:
        earlier = first.setdefault((template.language, template.id), template)
        if earlier is not template:
            what = f"of `{template.language}` stands at {at(earlier)} too"
            yield warning(template, what, "give each its own id, so that findings can be traced")


def _few(templates: Iterable[Template]) -> Iterator[Finding]:
    """One finding per language: which cells a run would say little about. Sector sets are small by nature."""
    spoken: dict[str, list[Template]] = defaultdict(list)
    for template in templates:
        if template.sector is None:
            spoken[template.language].append(template)
    for language, held in spoken.items():
        cells = product(sorted({template.concern for template in held}), *KINDS)
        counts = Counter((template.concern, template.input, template.reflection) for template in held)
        short = [f"{' · '.join(cell)} ({counts[cell]})" for cell in cells if counts[cell] < FEW]
        if short:
            what = f"fewer than {FEW} templates in `{language}` for {', '.join(short)}"
            remedy = "a run says little about these cells: add templates or leave them out"
            yield Finding("warning", Problem(what, held[0].file, remedy))


def _firsts(templates: Iterable[Template], key: Callable[[Template], tuple[str, str]]) -> Iterator[Template]:
    """The first template of each key."""
    first: dict[tuple[str, str], Template] = {}
    for template in templates:
        first.setdefault(key(template), template)
    yield from first.values()
