"""What was examined of all that the run could have: its own cells and the catalog files that it read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import polars as pl
import yaml

from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.warehouse.storage.lake import Lake

FILE = re.compile(r"(?:^|/)([a-z_]+)/([^/]+)\.ya?ml$")
FACETS = ("favoured", "stigmatised")
Texts = Mapping[tuple[str, str], str]
"""Of catalog files, by folder and name."""


@dataclass(frozen=True, slots=True)
class Dimension:
    name: str
    examined: Sequence[str]
    not_examined: Sequence[str] | None
    """Further values of the catalog; None if its files were not recorded or have changed, or it has no limit."""


def dimensions(lake: Lake, run: Mapping[str, Any], names: Iterable[str], texts: Texts) -> list[Dimension]:
    """`names`: of every catalog file that the run recorded; `texts`: those that are as they were."""
    kind, run_id = str(run["kind"]), str(run["run_id"])
    asked, known = _examined_values(lake, run_id, kind), _known_values(kind, names, texts)
    return [
        Dimension(name, sorted(examined), sorted(others - examined) if (others := known.get(name)) else None)
        for name, examined in asked.items()
    ]


def _examined_values(lake: Lake, run_id: str, kind: str) -> dict[str, set[str]]:
    cases = lake.scan("cases", run_id)
    requirement, input_, reflection = report_kind(kind).names
    columns = {
        "model": "model",
        "concern": "concern",
        "language": "language",
        requirement: "requirement",
        input_: "input",
        **({} if reflection == requirement else {reflection: "reflection"}),
    }
    found = {
        name: set(cases.select(pl.col(own).unique()).collect()[own].drop_nulls()) for name, own in columns.items()
    }
    return found | {"community": _groups(cases)}


def _groups(cases: pl.LazyFrame) -> set[str]:
    """Of the slots of templates, and of the pairs that probes compare."""
    listed = cases.select(pl.col("communities").explode().unique()).collect().to_series().drop_nulls()
    facets = cases.select(pl.col("facets").str.json_path_match(f"$.{name}").alias(name) for name in FACETS)
    paired = facets.unique().collect()
    return set(listed) | {group for name in FACETS for group in paired[name].drop_nulls()}


def _known_values(kind: str, names: Iterable[str], texts: Texts) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = {}
    for folder, name in (found.groups() for found in map(FILE.search, names) if found):
        folders.setdefault(folder, set()).add(name)
    own = report_kind(kind)
    requirement, input_, reflection = own.names
    known = {
        "concern": folders.get("concerns", set()),
        "language": folders.get("languages", set()),
        "community": _declared_names(texts, own.groups, ("communities", "groups")),
        input_: set(get_args(own.inputs)),
    }
    if own.reflections:
        known[reflection] = set(get_args(own.reflections))
    if requirement == "pair":
        known["pair"] = _declared_names(texts, "probes", ("pairs",))
    if requirement == "group":
        known["group"] = known["community"]
    if requirement == "domain":
        known["domain"] = _ids(texts, "scenes")
    return known


def _declared_names(texts: Texts, folder: str, keys: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for (kind, _), text in texts.items():
        if kind == folder:
            read = _parse(text)
            found |= {name for key in keys for name in _names(read.get(key))}
    return found


def _ids(texts: Texts, folder: str) -> set[str]:
    found = (_parse(text).get("id") for (kind, _), text in texts.items() if kind == folder)
    return {str(name) for name in found if name is not None}


def _names(listed: object) -> set[str]:
    """Of a list of entries with an id, or of a mapping by id."""
    if isinstance(listed, Mapping):
        return set(map(str, listed))
    entries = listed if isinstance(listed, list) else []
    return {str(entry["id"]) for entry in entries if isinstance(entry, Mapping) and "id" in entry}


def _parse(text: str) -> Mapping[str, Any]:
    try:
        read = load_yaml(text)
    except yaml.YAMLError:
        return {}
    return read if isinstance(read, Mapping) else {}


def folder_and_name(name: str) -> tuple[str, str]:
    """Of a catalog file by its recorded name: its folder in the catalog, and its own name."""
    found = FILE.search(name)
    return (found[1], found[2]) if found else ("", name)
