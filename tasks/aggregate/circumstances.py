"""What differs between two runs beside their replies: scenario, catalog files, packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
import polars as pl

from tasks.aggregate.chosen import Chosen

CIRCUMSTANCES: Final = {"what": pl.String, "name": pl.String, "earlier": pl.String, "later": pl.String}
"""One row per difference; `what` is `scenario`, `catalog`, `version`, `criterion`, `answered as` or `parameters`.
Null where a side has no such thing."""
ABSENT: Final = object()
DIGITS: Final = 12
"""Of a file's hash: enough to tell two apart."""
OF_EVALUATION: Final = frozenset(
    {"concern", "rationale", "tolerance", "delta", "refusals", "max_refusals", "coverage", "judge"}
)
"""Keys of a scenario that each evaluation has its own of."""


OF_KINDS: Final = frozenset({"probe", "redteam", "interaction"})
"""Kinds of runs whose files have a part of the kind's name, and SHARED: what they ask of, and how."""
SHARED: Final = {"target": "target: ", "asking": "asking: "}


def circumstances(earlier: Chosen, later: Chosen) -> pl.DataFrame:
    """The differences in what was asked and by what it was judged, columns as CIRCUMSTANCES. Requirements that one
    run alone has are not among them."""
    sides = [_settings(earlier), _settings(later)]
    shared = sides[0].keys() & sides[1].keys()
    rows = [
        row
        for part in sorted(shared)
        for row in _differences("scenario", sides[0][part], sides[1][part], prefix=part)
    ]
    rows += _differences("version", _told(earlier.versions), _told(later.versions))
    rows += _differences("catalog", _files(earlier), _files(later))
    return pl.DataFrame(rows, schema=CIRCUMSTANCES, orient="row")


def _differences(
    what: str, earlier: Mapping[str, Any], later: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str, str | None, str | None]]:
    for name in sorted(earlier.keys() | later.keys()):
        before, after = earlier.get(name, ABSENT), later.get(name, ABSENT)
        if before != after:
            yield what, f"{prefix}{name}", _said(before), _said(after)


def _said(value: object) -> str | None:
    if value is ABSENT:
        return None
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _told(recorded: str | None) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(recorded or "{}")
    return told


def _files(chosen: Chosen) -> dict[str, str]:
    return {file: content[:DIGITS] for file, content in _told(chosen.catalog_hashes).items()}


def _settings(chosen: Chosen) -> dict[str, dict[str, Any]]:
    """The keys of a scenario, and those of each requirement below its name and a colon."""
    told = _told(chosen.run.scenario_resolved)
    if chosen.run.kind in OF_KINDS:
        return {name: told.get(part) or {} for part, name in (*SHARED.items(), (chosen.run.kind, ""))}
    parts = {"": told.get("scenario") or {}}
    parts |= {f"{requirement['name']}: ": requirement for requirement in told.get("requirements") or ()}
    return {
        part: {key: value for key, value in keys.items() if key not in OF_EVALUATION | {"name"}}
        for part, keys in parts.items()
    }
