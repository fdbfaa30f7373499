"""What a kind of run supplies to reports: its SQL, its marts and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name
from typing import Any

import polars as pl

from biasgrid.tasks.report.verdicts import Tone
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportKind:
    """In SELECTs, `$1` or `?` is the run."""

    title: str
    """Of the picture of its checks."""
    marks: Sequence[tuple[str, Tone, str]]
    """Findings in pictures: word, tone and shape."""
    is_higher_better: bool = False
    """Whether its rates are of what is wanted; the others measure bias."""
    tables: Sequence[str]
    """Marts in its data files."""
    tables_with_rows: Sequence[str] = ()
    """Marts that are in its data files only where they have rows."""
    other_tables: Mapping[str, Callable[[Lake, str], pl.DataFrame]] = field(default_factory=dict)
    """Tables of its data files that are no marts."""
    checks: str
    """SELECT of `checks.Check`."""
    headlines: str = ""
    """The same for first screens, where checks are per language."""
    examples: str
    """SELECT of replies that show what is wrong: of each failing check the one with the largest effect."""
    harms: str
    """SELECT of a model and `checks.Harm`, the largest first."""
    findings: str
    """SELECT of `evidence.write.record_findings`."""
    cells: str
    """SELECT of `evidence.cells.COLUMNS`."""
    rates: str = ""
    """SELECT of how often each category of people is chosen; empty where no people are chosen."""
    names: tuple[str, str, str]
    """What requirement, input and reflection are."""
    groups: str
    """Folder of a catalog with the groups of people."""
    inputs: Any
    """Literal type of inputs."""
    reflections: Any = None
    """Literal type of reflections, if any."""
    parts: Mapping[str, Sequence[str]]
    """What the parts of a text in a column of the coverage record are; `` or nothing: names of a catalog."""
    limits: Sequence[str] = ()
    """Keys of texts on what its coverage record does not show."""


@cache
def report_kind(name: str) -> ReportKind:
    """Raises ModuleNotFoundError for a kind without reports."""
    found: ReportKind = resolve_name(f"biasgrid.tasks.report.kinds.{name}:REPORT")
    return found
