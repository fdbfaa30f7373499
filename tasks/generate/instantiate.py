"""Templates × ordered choices of distinct communities → instances, in Polars."""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson
import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Requirement, ScenarioSettings, Template
from biasgrid.catalogs.schema.wording import SLOT, Slot, Wording, pattern, slot_of, slots, wordings
from biasgrid.tasks.generate.communities import CastCommunity, cast_communities
from biasgrid.warehouse.hashing import content_hash


def fitting_templates(requirement: Requirement, language: str, catalog: Catalog) -> tuple[Template, ...]:
    """The templates that fit a requirement in one language, in natural order of their ids."""
    found = (
        template
        for template in catalog.templates
        if template.language == language
        and template.concern in requirement.asked_concerns
        and template.sector == requirement.sector
        and template.input in requirement.inputs
        and template.reflection in requirement.reflections
    )
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
        key=lambda template: content_hash(settings.seed, requirement.name, twin_name(template)),
    ):
        cell = (template.input, template.reflection) if settings.sampling == "cell" else ()
        drawn.setdefault(cell, []).append(template)
    return _sort_templates(template for cell in drawn.values() for template in cell[: settings.templates])


def twin_name(template: Template) -> str:
    """The name that a template shares with its twin: both are drawn together, and are one cluster."""
    return min(template.id, template.twin or template.id)


def _sort_templates(templates: Iterable[Template]) -> tuple[Template, ...]:
    return tuple(sorted(templates, key=_natural_key))


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
    "oracle_type": pl.String,
    "operation": pl.String,
    "oracle": pl.String,
}
"""One row per instance; `text` is the message to send."""


def instances(
    requirement: Requirement, language: str, catalog: Catalog, settings: ScenarioSettings
) -> pl.DataFrame:
    """Every instance of a requirement in a language, columns as INSTANCES, sorted by template and communities."""
    groups: dict[tuple[Slot, ...], list[Template]] = {}
    chosen = select_templates(requirement, language, catalog, settings)
    for template in chosen:
        groups.setdefault(slots(pattern(template, catalog.languages[language])), []).append(template)
    rank = {template.id: position for position, template in enumerate(chosen)}
    filled = [_fill_group(group, requirement, templates, catalog) for group, templates in groups.items()]
    if not filled:
        return pl.DataFrame(schema=INSTANCES)
    order = pl.col("template").replace_strict(rank, return_dtype=pl.Int64)
    return (
        pl.concat(filled)
        .sort(order, "choice", "wording")
        # not by `instance_id`: a literal may contain its separators
        .unique(["template_id", "communities", "wording"], keep="first", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in INSTANCES.items())
    )


def _fill_group(
    group: tuple[Slot, ...], requirement: Requirement, templates: list[Template], catalog: Catalog
) -> pl.DataFrame:
    language = catalog.languages[templates[0].language]
    rows = [
        row
        for template in templates
        for row in _template_rows(template, requirement, wordings(template, language))
    ]
    holes = sorted({match[0] for row in rows for match in SLOT.finditer(str(row["pattern"]))})
    choices = _community_choices(group, holes, requirement, templates[0].language, catalog)
    frame = pl.DataFrame(rows, schema=ROWS).join(choices, how="cross")
    text = pl.col("pattern")
    for hole in holes:
        text = text.str.replace_all(hole, pl.col(hole), literal=True)
    chosen = pl.concat_str("template_id", pl.col("communities").list.join("·"), separator="/")
    reworded = pl.format("{}/{}", chosen, pl.col("wording"))
    named = pl.when(pl.col("wording") == 1).then(chosen).otherwise(reworded)
    return frame.with_columns(text.alias("text"), named.alias("instance_id")).drop("pattern", *holes)


ROWS: dict[str, pl.DataType | type[pl.DataType]] = {
    name: INSTANCES.get(name, pl.String)
    for name in (
        *("requirement", "concern", "language", "input", "reflection", "template_id", "template", "cluster"),
        *(
            "cluster",
            "template_text",
            "sector",
            "facets",
            "wording",
            "pattern",
            "oracle_type",
            "operation",
            "oracle",
        ),
    )
}


def _item_identity(template: Template) -> list[object]:
    """What distinguishes a benchmark's items whose texts are equal: each of its rows is asked."""
    return [template.facets, template.id] if template.facets else []


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
        "cluster": twin_name(template),
        "sector": template.sector,
        "facets": orjson.dumps(template.facets).decode() if template.facets else None,
        "oracle_type": template.oracle.type,
        "operation": template.oracle.operation,
    }
    prompts = (template.prompt, *template.paraphrases) * len(worded)
    return [
        shared | {"wording": number, "pattern": wording.text, "oracle": rule, "template_text": prompt}
        for number, (wording, rule, prompt) in enumerate(zip(worded, rules, prompts, strict=False), start=1)
    ]


def _community_choices(
    group: tuple[Slot, ...], holes: list[str], requirement: Requirement, language: str, catalog: Catalog
) -> pl.DataFrame:
    """Ordered choices of distinct communities: `communities`, `choice` (rank) and a column of text per
    placeholder."""
    chosen = pl.DataFrame({"communities": [[]]}, schema={"communities": pl.List(pl.String)})
    for slot in group:
        members = cast_communities(requirement, language, slot.markup, catalog)
        chosen = (
            chosen.join(_slot_column(slot, holes, members), how="cross")
            .filter(~pl.col("communities").list.contains(pl.col("community")))
            .with_columns(pl.concat_list("communities", "community").alias("communities"))
            .drop("community")
        )
    return chosen.with_row_index("choice")


def _slot_column(slot: Slot, holes: list[str], members: tuple[CastCommunity, ...]) -> pl.DataFrame:
    own = {hole: match["form"] for hole in holes if (match := SLOT.fullmatch(hole)) and slot_of(match) == slot}
    columns = {hole: [member.form(form) for member in members] for hole, form in own.items()}
    texts = {hole: pl.Series(values, dtype=pl.String) for hole, values in columns.items()}
    return pl.DataFrame({"community": pl.Series([member.id for member in members], dtype=pl.String), **texts})
