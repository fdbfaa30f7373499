"""Which templates a requirement asks in a language: all that fit, or a seeded sample of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Requirement, ScenarioSettings, Template
from biasgrid.warehouse.hashing import content_hash


def fitting(requirement: Requirement, language: str, catalog: Catalog) -> tuple[Template, ...]:
    """The templates of a requirement's concern, sector, inputs and reflections in one language, in order of their
    ids. A requirement without a sector asks the templates that belong to none."""
    found = (
        template
        for template in catalog.templates
        if template.language == language
        and template.concern == requirement.concern
        and template.sector == requirement.sector
        and template.input in requirement.inputs
        and template.reflection in requirement.reflections
    )
    return tuple(sorted(found, key=_natural))


def select(
    requirement: Requirement, language: str, catalog: Catalog, settings: ScenarioSettings
) -> tuple[Template, ...]:
    """At most `settings.templates` of them, per cell or in all, as `settings.sampling` says.

    The draw depends on the seed, the requirement and the template's id alone: libraries that are parallel
    across languages are sampled alike, and a library that grows keeps most of its draw. Twins are drawn alike, so
    that cells of both inputs compare the same questions where they can.
    """
    drawn: dict[tuple[str, ...], list[Template]] = {}
    for template in sorted(
        fitting(requirement, language, catalog),
        key=lambda template: content_hash(settings.seed, requirement.name, _pair(template)),
    ):
        cell = (template.input, template.reflection) if settings.sampling == "cell" else ()
        drawn.setdefault(cell, []).append(template)
    return _in_order(template for cell in drawn.values() for template in cell[: settings.templates])


def _pair(template: Template) -> str:
    """The name under which a template and its twin are drawn."""
    return min(template.id, template.twin or template.id)


def _in_order(templates: Iterable[Template]) -> tuple[Template, ...]:
    return tuple(sorted(templates, key=_natural))


def _natural(template: Template) -> list[tuple[int, str]]:
    """`12` after `9`, as people number templates."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", template.id)]
