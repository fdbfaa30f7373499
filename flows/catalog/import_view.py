"""What `catalog import` tells: rows read, imported and refused, why, and where everything lies."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.loading.catalog import OVERLAY
from biasgrid.catalogs.text_safety import escape
from biasgrid.flows.catalog.importer import Import
from biasgrid.flows.terminal.progress import console

SHOWN = 20
"""Refused rows told on the terminal; the file has all."""
CATALOG = ("scenes/", "tuning/")
"""Folders whose files are read as a catalog's."""


def show_import(done: Import) -> None:
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("file", overflow="fold")
    for heading in ("rows read", "imported", "refused"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in done.read:
        table.add_row(_plain(one.file), *(Text(f"{n:,}") for n in (one.rows, one.rows - one.lost, one.lost)))
    out.print(table)
    _show_refused(done)
    for notice in [notice for one in done.read for notice in one.notices][:SHOWN]:
        out.print(_plain(notice), soft_wrap=True)
    for path in done.written.values():
        out.print(Text(f"wrote {path}"), soft_wrap=True)
    for line in dict.fromkeys(_next(done)):
        out.print(Text(line), soft_wrap=True)


def _next(done: Import) -> Iterator[str]:
    """What to do with each file."""
    for name, path in done.written.items():
        if path.name.endswith(".scenario.yaml"):
            yield f"run it: biasgrid run {path}"
        elif path.suffix == ".parquet":
            yield f"play it back: --model replay/{path}"
        elif name.startswith(CATALOG):
            yield f"ask it: name it as your catalog, {OVERLAY}={path.parent.parent}"


def _show_refused(done: Import) -> None:
    out = console()
    refused = [mistake for one in done.read for mistake in one.refused]
    for mistake in refused[:SHOWN]:
        out.print(_plain(f"{mistake.where}: {mistake.what}"), soft_wrap=True)
    if len(refused) > SHOWN:
        where = next((path for name, path in done.written.items() if name.endswith(".refused.csv")), "")
        out.print(Text(f"… and {len(refused) - SHOWN:,} more in {where}"), soft_wrap=True)


def _plain(text: str) -> Text:
    """A text of a file of others, with nothing in it that steers a terminal."""
    return Text(escape(text))
