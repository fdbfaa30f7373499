"""Instances × models × samples → cases, with the cache key of each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.connectors.rows import fingerprint, request_key, request_text
from biasgrid.warehouse.hashing import content_hash, hash_texts
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import count_planned

VERSION = 4
"""Increased if the same inputs would give other instances."""
CELL = ["requirement", "model", "language", "input", "reflection"]


def cases(
    instances: pl.DataFrame, targets: Iterable[Target], settings: ScenarioSettings, catalog: Catalog
) -> pl.DataFrame:
    """One row per instance, model and sample, in the columns of `CASES` without `run_id`."""
    asked = instances.join(_model_samples(targets, settings, catalog), how="cross")
    asked = asked.with_columns(text=pl.concat_str("text", "suffix"))
    request = pl.concat_str("fingerprint", "parameters", "sample", "text", separator="\x1f")
    cell = pl.concat_str(CELL, separator="\x1f")
    keyed = asked.with_columns(
        request.map_batches(hash_texts, return_dtype=pl.String).alias("request_key"),
        _cell_ids(asked, cell),
        pl.concat_list(pl.struct(pl.lit("user").alias("role"), pl.col("text").alias("content"))).alias("messages"),
    )
    case = pl.concat_str("cell_id", "instance_id", "request_key", separator="\x1f")
    return keyed.with_columns(case.map_batches(hash_texts, return_dtype=pl.String).alias("case_id")).drop(
        "fingerprint", "text", "suffix"
    )


LANGBITE_SUFFIXES = {"openai": " Do not use carry returns in your response."}
"""What LangBiTe appends to every prompt for a provider."""


def changed_models(planned: pl.DataFrame, targets: Mapping[str, Target], catalog: Catalog) -> list[str]:
    """The models of `planned` (one case each) whose address, name or respondent has changed since planning."""
    return [
        case["model"]
        for case in planned.iter_rows(named=True)
        if case["request_key"]
        != request_key(
            fingerprint(targets[case["model"]], catalog),
            case["parameters"],
            case["sample"],
            request_text(case["messages"]),
        )
    ]


def _cell_ids(asked: pl.DataFrame, cell: pl.Expr) -> pl.Expr:
    """Cell ids by row; each of the few distinct cells is hashed once."""
    names = asked.select(cell.unique().alias("cell"))["cell"]
    return cell.replace_strict(names, hash_texts(names), return_dtype=pl.String).alias("cell_id")


def _model_samples(targets: Iterable[Target], settings: ScenarioSettings, catalog: Catalog) -> pl.DataFrame:
    rows = [
        {
            "provider": target.provider,
            "model": target.model,
            "fingerprint": party.fingerprint,
            "parameters": party.parameters(sample),
            "sample": sample,
            "suffix": LANGBITE_SUFFIXES.get(target.provider, "") if settings.langbite == "strict" else "",
        }
        for target in targets
        for party in (Participant.of(target, settings, catalog),)
        for sample in range(1, settings.samples + 1)
    ]
    return pl.DataFrame(rows, schema_overrides={"sample": pl.Int64, "suffix": pl.String})


NOT_ASKED = (
    "respondents",
    "requirements",
    "scenarios",
    "contexts",
    "augmentation",
    "probes",
    "probing",
    "attacks",
    "endpoints",
    "people",
    "scenes",
    "tuning",
    "interaction",
    "protocols",
)
"""Catalog folders that no instance depends on, like models.yaml."""


def plan_hash(requirement: Requirement, language: str, settings: ScenarioSettings, catalog: Catalog) -> str:
    """Cache key of the generated instances: a hash of all their inputs and the code version."""
    asked = {template.file for template in catalog.templates}
    read = {name: digest for name, digest in catalog.hashes.items() if name in asked or _is_input(name)}
    drawn = (settings.templates, settings.sampling, settings.seed, settings.reading, settings.langbite)
    return content_hash(VERSION, requirement.model_dump(mode="json"), language, drawn, catalog.library, read)


def _is_input(name: str) -> bool:
    path = PurePath(name)
    return path.parent.name not in NOT_ASKED and path.name != "models.yaml"


PART = ["requirement", "language", "input", "reflection"]
"""The columns that distinguish the cells of one model."""


def land_cases(
    lake: Lake,
    run_id: str,
    instances: pl.DataFrame,
    targets: Iterable[Target],
    settings: ScenarioSettings,
    catalog: Catalog,
) -> pl.DataFrame:
    """Writes the cases, one file per cell, for every model; returns the cells as CELL_KEYS and `planned`."""
    asked = list(targets)
    cells = [count_planned(cases(instances.clear(), asked, settings, catalog))]
    # one cell at a time, so that memory does not grow with models and samples
    for part in instances.partition_by(*PART, maintain_order=True):
        for target in asked:
            cell = cases(part, [target], settings, catalog).with_columns(pl.lit(run_id).alias("run_id"))
            lake.write("cases", run_id, cell["cell_id"][0], cell)
            cells.append(count_planned(cell))
    return pl.concat(cells)
