"""The scenes that interactions play, as the terminal shows them: readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.scenes import tally
from biasgrid.flows.terminal.responsive_table import Column, show_folded

Row = dict[str, Any]


def show_scenes(out: Console, catalog: Catalog) -> None:
    """A row per domain and axis: scenes in each language, tasks by the group to which a stereotype gives them."""
    rows = [*tally(catalog.scenes)]
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
    told = (f"{sum(r['scenes'] for r in rows if r['language'] == tag):,} in {tag}" for tag in languages)
    return f"Scenes of interactions: {', '.join(told)}"


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
        Column("\nplayed", [Text(_played(row)) for row in whole], "left"),
    ]


def _tasks(row: Row, place: int) -> str:
    named = [f"{count} {group}" for group, count in row["tasks"].items()]
    return "–" if not any(row["tasks"].values()) or place >= len(named) else named[place]


def _played(row: Row) -> str:
    kind = "held out" if row["held_out"] else "by name" if row["by_name"] else "by default"
    return f"{kind}, control" if row["controls"] == row["scenes"] else kind
