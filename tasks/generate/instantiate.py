"""Templates × ordered choices of distinct communities → instances."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

import orjson
import polars as pl
import pyarrow as pa

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.catalogs.wording import SLOT, Slot, Wording, slot_of, slots, wordings
from biasgrid.tasks.generate.communities import CastCommunity, cast_communities
from biasgrid.warehouse.hashing import content_hash


def fitting_templates(requirement: Requirement, language: str, catalog: Catalog) -> tuple[Template, ...]:
    """The templates that fit a requirement in one language, in natural order of their ids."""
    found = (template for template in catalog.templates if requirement.fits(template, language))
    return tuple(sorted(found, key=_natural_key))


def select_templates(
    requirement: Requirement, language: str, catalog: Catalog, settings: ScenarioSettings
) -> tuple[Template, ...]:
    """At most `settings.templates` of the fitting templates, per cell or in all, as `settings.sampling` states.

    The draw depends only on seed, requirement and template id, so that parallel libraries and twins are sampled
    alike."""
    drawn: dict[tuple[str, ...], list[Template]] = {}
    for template in sorted(
        fitting_templates(requirement, language, catalog),
        key=lambda template: content_hash(settings.seed, requirement.name, template.cluster),
    ):
        cell = (template.input, template.reflection) if settings.sampling == "cell" else ()
        drawn.setdefault(cell, []).append(template)
    kept = (template for cell in drawn.values() for template in cell[: settings.templates])
    return tuple(sorted(kept, key=_natural_key))


def _natural_key(template: Template) -> list[tuple[int, str]]:
    """Sort key of ids with numbers in numerical order: `12` after `9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", template.id)]


INSTANCES: dict[str, pl.DataType | type[pl.DataType]] = {
    "requirement": pl.String,
    "concern": pl.String,
    "language": pl.String,
    "input": pl.String,
    "reflection": pl.String,
    "template_id": pl.String,
    "template": pl.String,
    "cluster": pl.String,
    "template_text": pl.String,
    "sector": pl.String,
    "facets": pl.String,
    "wording": pl.Int64,
    "instance_id": pl.String,
    "communities": pl.List(pl.String),
    "text": pl.String,
    "instance_text": pl.String,
    "oracle_type": pl.String,
    "operation": pl.String,
    "oracle": pl.String,
}
"""One row per instance; `text` is the message to send, `instance_text` the part of it that LangBiTe calls the
instance, where its wording is used."""


def instances(
    requirement: Requirement, language: str, catalog: Catalog, settings: ScenarioSettings
) -> pl.DataFrame:
    """Every instance of a requirement in a language, columns as INSTANCES, sorted by template and communities."""
    return all_instances([(requirement, language)], catalog, settings)


AT_ONCE = 50_000
"""Instances that are held as Python objects, which take five times the memory of a frame."""


def all_instances(
    asked: Iterable[tuple[Requirement, str]], catalog: Catalog, settings: ScenarioSettings
) -> pl.DataFrame:
    """As `instances`, of several requirements and languages one after the other."""
    # in one frame: one for each of thousands of requirements would take 100 kB and a millisecond
    frames, filled = [pl.DataFrame(schema=INSTANCES)], _Filled()
    for requirement, language in asked:
        filled.add(requirement, language, catalog, settings)
        if len(filled.texts) >= AT_ONCE:
            frames.append(filled.frame())
            filled = _Filled()
    return pl.concat([*frames, filled.frame()])


@dataclass(slots=True)
class _Filled:
    """Instances by column: the number of their row among `rows`, which hold what a wording's instances share."""

    rows: list[dict[str, object]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    communities: list[tuple[str, ...]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    questions: list[str | None] = field(default_factory=list)

    def add(self, requirement: Requirement, language: str, catalog: Catalog, settings: ScenarioSettings) -> None:
        choices: dict[tuple[Slot, ...], list[_Choice]] = {}
        seen: set[object] = set()
        for template in select_templates(requirement, language, catalog, settings):
            worded = wordings(template, catalog.languages[language])
            group = slots(worded[0].text)
            if group not in choices:
                choices[group] = _community_choices(group, requirement, language, catalog)
            rows = _template_rows(template, requirement, worded)
            if rows[0]["template_id"] not in seen:
                bare = str(rows[0]["template_text"]) if template.is_strict else None
                self._fill(rows, [wording.text for wording in worded], choices[group], bare)
            seen.add(rows[0]["template_id"])

    def _fill(
        self, rows: list[dict[str, object]], patterns: list[str], choices: list[_Choice], bare: str | None
    ) -> None:
        asked = list(SLOT.finditer(bare or ""))
        template_id, first = rows[0]["template_id"], len(self.rows)
        self.rows += rows
        holes = [list(SLOT.finditer(pattern)) for pattern in patterns]
        for ids, members in choices:
            named = f"{template_id}/{'·'.join(ids)}"
            for number, pattern in enumerate(patterns):
                self.numbers.append(first + number)
                self.ids.append(f"{named}/{number + 1}" if number else named)
                self.communities.append(ids)
                self.texts.append(_fill_slots(pattern, holes[number], members))
                self.questions.append(None if bare is None else _fill_slots(bare, asked, members))

    def frame(self) -> pl.DataFrame:
        shared = pl.DataFrame(self.rows, schema=ROWS)[self.numbers]
        return shared.with_columns(
            pl.Series("instance_id", self.ids, dtype=pl.String),
            # of lists, Polars takes 5 kB for each
            pl.Series("communities", pa.array(self.communities, pa.list_(pa.string()))),
            pl.Series("text", self.texts, dtype=pl.String),
            pl.Series("instance_text", self.questions, dtype=pl.String),
        ).select(*INSTANCES)


_Choice = tuple[tuple[str, ...], Mapping[Slot, CastCommunity]]
"""Ids of distinct communities in the order of their slots, and the communities by slot."""


def _community_choices(
    group: tuple[Slot, ...], requirement: Requirement, language: str, catalog: Catalog
) -> list[_Choice]:
    """Ordered choices of distinct communities, each once."""
    members = [cast_communities(requirement, language, slot.markup, catalog) for slot in group]
    choices: dict[tuple[str, ...], Mapping[Slot, CastCommunity]] = {}
    for cast in product(*members):
        ids = tuple(member.id for member in cast)
        if len({*ids}) == len(ids):
            choices.setdefault(ids, dict(zip(group, cast, strict=True)))
    return [*choices.items()]


def _fill_slots(pattern: str, holes: Iterable[re.Match[str]], members: Mapping[Slot, CastCommunity]) -> str:
    """The message. A form that a community lacks stays open: `check_requirement` reports it before."""
    for hole in holes:
        pattern = pattern.replace(hole[0], members[slot_of(hole)].form(hole["form"]) or hole[0])
    return pattern


ROWS = {
    name: kind
    for name, kind in INSTANCES.items()
    if name not in ("instance_id", "communities", "text", "instance_text")
}


def _item_identity(template: Template) -> list[object]:
    """What distinguishes items of others whose texts are equal: each of their rows is asked."""
    of_others = template.facets or template.part or template.is_strict
    return [template.facets, template.id] if of_others else []


def _template_rows(
    template: Template, requirement: Requirement, worded: tuple[Wording, ...]
) -> list[dict[str, object]]:
    """One row per wording of a template."""
    rules = [wording.oracle.model_dump_json(exclude_defaults=True) for wording in worded]
    cell = (template.language, template.concern, template.input, template.reflection)
    shared: dict[str, object] = {
        "requirement": requirement.name,
        "concern": template.concern,
        "language": template.language,
        "input": template.input,
        "reflection": template.reflection,
        "template_id": content_hash(
            *cell, *(wording.text for wording in worded), rules[0], *_item_identity(template)
        ),
        "template": template.id,
        "cluster": template.cluster,
        "sector": template.sector or template.part,
        "facets": orjson.dumps(template.facets).decode() if template.facets else None,
        "oracle_type": template.oracle.type,
        "operation": template.oracle.operation,
    }
    prompts = (template.prompt, *template.paraphrases) * len(worded)
    return [
        shared | {"wording": number, "oracle": rule, "template_text": prompt}
        for number, (rule, prompt) in enumerate(zip(rules, prompts, strict=False), start=1)
    ]
