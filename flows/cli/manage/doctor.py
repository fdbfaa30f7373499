"""`doctor`: what works on this machine, and what to do about what does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from biasgrid.flows.cli.options import Data

if TYPE_CHECKING:
    from rich.table import Table

    from biasgrid.flows.operations.reachability import Check

STYLES = {"ok": "green", "note": "yellow", "broken": "bold red"}


def doctor(data: Data = None) -> None:
    """Check versions, storage, catalogs, keys and Prefect; say what to do about what does not work.

    Exit codes: 0 nothing is broken (a missing key is no break), 2 otherwise. Shows no key.
    """
    from rich.console import Console

    from biasgrid.flows.operations.doctor import diagnose, is_broken

    found = diagnose(data)
    Console(highlight=False).print(_table(found))
    if is_broken(found):
        raise typer.Exit(2)


def _table(checks: Sequence[Check]) -> Table:
    """State and part in words, so that it reads without color; what to do stands below what is wrong."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        told = f"{check.what}\n→ {check.remedy}" if check.remedy else check.what
        table.add_row(Text(check.state, style=STYLES[check.state]), Text(check.part), Text(told))
    return table
