"""What a library covers, shown: a picture per language in the terminal, all of it as JSON, and as CSV its cells,
then those of each sector, whose name is in the column `sector` (empty for the general library)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, Literal

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.entries import LANGUAGE
from biasgrid.catalogs.schema.probes import tally
from biasgrid.catalogs.schema.scenes import tally as tally_of_scenes
from biasgrid.flows.catalog.coverage import Coverage, coverage
from biasgrid.flows.catalog.coverage_view import Picture
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.flows.terminal.progress import console
from biasgrid.warehouse.storage.export_files import defused


def stats(
    library: str,
    kind: Literal["table", "csv", "json"],
    concerns: Collection[str] = (),
    languages: Collection[str] = (),
    tolerance: float = 0.9,
) -> None:
    """Shows what a library covers. Raises UserError with all that is wrong with it or with what is asked."""
    if not library.strip():
        remedy = "name a file or directory of templates, or leave the option out"
        raise UserError(Problem("no library is named", "--library", remedy))
    catalog = load_catalog(library, language=_spoken(languages))
    found = coverage(catalog, tolerance, concerns, languages)
    if kind == "json":
        probes = [{"language": tag, **tally(catalog.probes, tag)} for tag in sorted(catalog.probing)]
        beside = {"probes": probes, "scenes": [*tally_of_scenes(catalog.scenes)]}
        write_data(json.dumps(as_json(found) | beside, indent=2) + "\n")
    elif kind == "csv":
        write_data(defused(found.rows).write_csv())
    else:
        Picture(found, catalog, console()).show()


def _spoken(languages: Collection[str]) -> str | None:
    """The language of a table whose name does not say: the one that is asked for, if it is one."""
    return next((each for each in languages if len(languages) == 1 and re.match(LANGUAGE, each)), None)


def as_json(found: Coverage) -> dict[str, Any]:
    """What `--format json` writes; templates of a sector count in `templates_by_sector` and `sectors` alone."""
    return {
        "library": found.library,
        "overlay": found.overlay,
        "tolerance": found.tolerance,
        "templates_by_language": _counts(found.cells, "language"),
        "templates_by_concern": _counts(found.cells, "concern"),
        "templates_by_sector": _counts(found.sectors, "sector"),
        "cells": found.cells.to_dicts(),
        "concerns": found.concerns.to_dicts(),
        "sectors": found.sectors.to_dicts(),
        "missing": found.missing.to_dicts(),
        "uncounted": found.uncounted.to_dicts(),
    }


def _counts(rows: pl.DataFrame, key: str) -> dict[str, int]:
    return dict(rows.group_by(key).agg(pl.col("templates").sum()).sort(key).iter_rows())
