"""Texts, numbers and colours of the terminal."""

from __future__ import annotations

import os

from rich.console import Console

from biasgrid.catalogs.text_safety import escape, escape_line
from biasgrid.tasks.report.verdicts import COLOURS, TONES

STYLES = {finding: COLOURS[tone] for finding, tone in TONES.items()}
"""By finding or outcome."""


def console(*, stderr: bool = False) -> Console:
    """Standard output or error; with `NO_COLOR` without bold and dim, too."""
    if os.environ.get("NO_COLOR"):
        return Console(stderr=stderr, color_system=None)
    return Console(stderr=stderr)


def dollars(amount: float) -> str:
    """US dollars, to the cent or, below ten cents, to two digits."""
    return f"${amount:,.2f}" if amount >= 0.1 or not amount else f"${amount:.2g}" if amount >= 1e-4 else "<$0.0001"


def readable(value: object) -> str:
    """A value as a person reads it, on however many lines; nothing in it steers the terminal."""
    if value is None:
        return "–"
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return escape(text)


def one_line(value: object) -> str:
    """`readable` on one line: tabs and line breaks are escaped too."""
    return escape_line(readable(value))
