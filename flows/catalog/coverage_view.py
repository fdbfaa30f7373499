"""Terminal view of a library's coverage, readable at 80 columns and without colour."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Literal

import polars as pl
from rich.console import Console
from rich.text import Text

from biasgrid.catalogs.coverage import CELLS
from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import OVERLAY, Catalog, load_catalog
from biasgrid.catalogs.schema.base import LANGUAGE
from biasgrid.catalogs.schema.probes import tally
from biasgrid.catalogs.schema.scenes import tally as tally_of_scenes
from biasgrid.flows.catalog.coverage import Coverage, coverage
from biasgrid.flows.terminal.console import console, one_line
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.flows.terminal.tables import Column, show_folded
from biasgrid.warehouse.storage.export_files import defuse_formulas

Row = dict[str, Any]


def show_scenes(out: Console, catalog: Catalog) -> None:
    """A row per domain and axis: scenes in each language, tasks by the group to which a stereotype gives them."""
    rows = [*tally_of_scenes(catalog.scenes)]
    if not rows:
        return
    languages = sorted({row["language"] for row in rows})
    domains = [[*own] for _, own in groupby(rows, key=lambda row: (row["domain"], row["axis"]))]
    out.print(Text(_headline(rows, languages), style="bold"))
    key = Column("\ndomain", [Text(own[0]["domain"]) for own in domains], "left")
    show_folded(out, key, [*_scenes(domains, languages), *_about(domains)])
    out.print(Text("Held out, by name: played where a run names the domain, and nowhere else."))
    out.print()


def _headline(rows: Sequence[Row], languages: Sequence[str]) -> str:
    parts = (f"{sum(r['scenes'] for r in rows if r['language'] == tag):,} in {tag}" for tag in languages)
    return f"Scenes of interactions: {', '.join(parts)}"


def _scenes(domains: Sequence[Sequence[Row]], languages: Sequence[str]) -> list[Column]:
    return [
        Column(
            f"\n{tag}",
            [Text(str(next((r["scenes"] for r in own if r["language"] == tag), "–"))) for own in domains],
        )
        for tag in languages
    ]


def _about(domains: Sequence[Sequence[Row]]) -> list[Column]:
    """What the languages have in common: of the one with the most scenes."""
    whole = [max(own, key=lambda row: row["scenes"]) for own in domains]
    return [
        Column("\naxis", [Text(row["axis"]) for row in whole], "left"),
        Column("tasks of\none group", [Text(_tasks(row, 0)) for row in whole], "left"),
        Column("tasks of\nthe other", [Text(_tasks(row, 1)) for row in whole], "left"),
        Column("\nplayed", [Text(_format_playing(row)) for row in whole], "left"),
    ]


def _tasks(row: Row, place: int) -> str:
    named = [f"{count} {group}" for group, count in row["tasks"].items()]
    return "–" if not any(row["tasks"].values()) or place >= len(named) else named[place]


def _format_playing(row: Row) -> str:
    kind = "held out" if row["held_out"] else "by name" if row["by_name"] else "by default"
    return f"{kind}, control" if row["controls"] == row["scenes"] else kind


HIGH: Final = 0.6
"""Share of a concern's tests that a constant answer passes above which a score proves little."""
HIGH_IN_CELL: Final = 2 / 3
"""The same of a cell, where one test of a dozen is eight points."""
CONSTANT: Final = ("constant_no", "constant_yes", "first_option")
_CELL_WIDTH: Final = 12
_ALWAYS: Final = ("always\nno", "always\nyes", "first\noption")


class Picture:
    """Per language: how full each cell is, what its concerns and sectors are worth, and what is missing."""

    def __init__(self, found: Coverage, catalog: Catalog, out: Console) -> None:
        self._found, self._catalog, self._out = found, catalog, out
        self._parts: dict[str, list[Row]] = {
            name: getattr(found, name).to_dicts()
            for name in ("cells", "concerns", "sectors", "sector_sets", "missing")
        }
        largest = max((cell["templates"] for cell in self._parts["cells"]), default=1)
        self._full = found.needed or largest
        self._digits = max(3, len(f"{largest:,}"))

    def show(self) -> None:
        for language in sorted({row["language"] for rows in self._parts.values() for row in rows}):
            self._language(language)
            self._out.print()
        show_scenes(self._out, self._catalog)
        for line in self._legend():
            self._out.print(line)

    def _language(self, language: str) -> None:
        own = {name: [row for row in rows if row["language"] == language] for name, rows in self._parts.items()}
        self._out.print(Text(self._headline(language, own["concerns"], own["sector_sets"]), style="bold"))
        if own["concerns"]:
            key = _key("concern", own["concerns"])
            show_folded(self._out, key, self._grid(own["concerns"], own["cells"]))
            self._out.print()
            show_folded(self._out, key, _measures(own["concerns"]))
        if own["sector_sets"]:
            self._out.print()
            templates = _templates("tem-\nplates", own["sector_sets"])
            show_folded(self._out, _key("sector", own["sector_sets"]), [templates, *_measures(own["sector_sets"])])
        for line in (*_gaps(own["missing"]), *self._too_few(own["concerns"])):
            self._out.print(line)

    def _headline(self, language: str, concerns: list[Row], sectors: list[Row]) -> str:
        spoken = self._catalog.languages.get(language)
        named = one_line(f"{language} · {spoken.name}" if spoken else language)
        templates, of_sectors = (sum(row["templates"] for row in rows) for rows in (concerns, sectors))
        instances = sum(row["instances"] or 0 for row in (*concerns, *sectors))
        apart = f" + {of_sectors:,} of sectors" if of_sectors else ""
        return f"{named}: {templates:,} templates{apart}, {instances:,} instances"

    def _grid(self, rows: list[Row], cells: list[Row]) -> list[Column]:
        found = {(cell["concern"], cell["input"], cell["reflection"]): cell for cell in cells}
        columns = []
        for kind, reflection in CELLS:
            shown = [self._cell(found.get((row["concern"], kind, reflection))) for row in rows]
            columns.append(Column(f"{kind}\n{reflection}", shown, "left"))
        return [*columns, _templates("all", rows)]

    def _cell(self, cell: Row | None) -> Text:
        count, length = cell["templates"] if cell else 0, _CELL_WIDTH - self._digits - 1
        filled = min(length, max(length * count // self._full, count > 0))
        bar = "█" * filled + "·" * (length - filled)
        mark = "!" if cell and any(_is_high(cell[name], HIGH_IN_CELL) for name in CONSTANT) else ""
        return Text(f"{f'{count:,}' if count else '–':>{self._digits}} {bar}{mark}")

    def _too_few(self, rows: list[Row]) -> Iterator[Text]:
        """Which concerns have too few templates, all cells taken together."""
        parts = [f"{row['concern']} ({row['clusters']:,})" for row in rows if not row["decidable"]]
        if parts and self._found.needed:
            few = f"too few for a tolerance of {self._found.tolerance:g}, all cells together"
            yield Text(one_line(f"{few}: {', '.join(parts)}"), style="yellow")

    def _legend(self) -> Iterator[Text]:
        needed, tolerance = self._found.needed, f"a tolerance of {self._found.tolerance:g}"
        if needed:
            yield Text(f"A full bar is {needed:,} templates: fewer never decide {tolerance} as met.")
            yield Text("Met at 98%: chance of `met` for a model that passes 98% of tests. Twins are one.")
        else:
            yield Text(f"No number of templates decides {tolerance} as met; a full bar is {self._full:,}.")
        yield Text(f"! a constant answer passes over {HIGH:.0%} of a concern's tests, or 2/3 of a cell's.")
        yield Text("Reverse-keyed, always … and first option are shares of the expected-value tests.")
        yield Text("A run's constant respondents also say 50 to every number: same-value tests pass.")
        yield Text("Who declines every question passes none of them.")
        yield Text("Instances are those of the catalog's own communities, in every wording.")
        yield from self._probes()
        for row in self._found.uncounted.iter_rows(named=True):
            where = f"{row['templates']:,} of {row['language']} · {row['concern']} not counted"
            yield Text(f"{where}: {one_line(row['trouble'])}", style="yellow")
        overlay = f", overlaid by {self._found.overlay} ({OVERLAY})" if self._found.overlay else ""
        yield Text(f"library: {one_line(self._found.library + overlay)}")

    def _probes(self) -> Iterator[Text]:
        """What bias probes can ask about, in each language that has questions."""
        for language in sorted(self._catalog.probing):
            counts = tally(self._catalog.probes, language)
            parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
            yield Text(f"Bias probes in {language}: {parts}.")


def _key(name: str, rows: list[Row]) -> Column:
    return Column(f"\n{name}", [Text(one_line(row[name])) for row in rows], "left")


def _templates(heading: str, rows: list[Row]) -> Column:
    return Column(heading, [Text(f"{row['templates']:,}") for row in rows])


def _measures(rows: list[Row]) -> list[Column]:
    always = zip(_ALWAYS, CONSTANT, strict=True)
    return [
        Column("\ninstances", [_number(row["instances"], ",.0f") for row in rows]),
        Column("per\ntemplate", [_number(row["instances_per_template"], ",.1f") for row in rows]),
        Column("reverse-\nkeyed", [_number(_reverse_keyed(row), ".0%") for row in rows]),
        *(Column(heading, [_mark_high(row[name]) for row in rows]) for heading, name in always),
        Column("met at\n98%", [_number(row["met_at_98"], ".0%") for row in rows]),
    ]


def _reverse_keyed(row: Row) -> float | None:
    return row["reverse_keyed"] / row["expected_value"] if row["expected_value"] else None


def _gaps(gaps: list[Row]) -> Iterator[Text]:
    """Which cells are empty."""
    parts = []
    for concern, cells in groupby(gaps, key=itemgetter("concern")):
        named = [f"{cell['input']} · {cell['reflection']}" for cell in cells]
        parts.append(concern if len(named) == len(CELLS) else f"{concern} ({', '.join(named)})")
    if parts:
        yield Text(f"missing: {'; '.join(parts)}", style="yellow")


def _mark_high(share: float | None) -> Text:
    high = _is_high(share)
    return Text(f"{_number(share, '.0%')}{'!' if high else ' '}", style="yellow" if high else "")


def _is_high(share: float | None, high: float = HIGH) -> bool:
    return share is not None and share > high


def _number(value: float | None, form: str) -> Text:
    return Text("–" if value is None else format(value, form))


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
    catalog = load_catalog(library, language=_only_language(languages))
    found = coverage(catalog, tolerance, concerns, languages)
    if kind == "json":
        probes = [{"language": tag, **tally(catalog.probes, tag)} for tag in sorted(catalog.probing)]
        extra = {"probes": probes, "scenes": [*tally_of_scenes(catalog.scenes)]}
        write_data(json.dumps(as_json(found) | extra, indent=2) + "\n")
    elif kind == "csv":
        write_data(defuse_formulas(found.rows).write_csv())
    else:
        Picture(found, catalog, console()).show()


def _only_language(languages: Collection[str]) -> str | None:
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
