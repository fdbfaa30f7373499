"""What is wrong with an id that cannot be traced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from biasgrid.catalogs.errors import Problem
from biasgrid.tasks.aggregate.trace.kinds import KINDS, Kind

SHOWN = 6
"""Candidates that are told of an id that may be several."""


def ambiguous(asked: str, units: pl.DataFrame) -> Problem:
    """An id that is that of several `units` (kind, id)."""
    told = [f"{kind} `{id_}`" for kind, id_ in units.head(SHOWN).iter_rows()]
    more = f" and {units.height - SHOWN} more" if units.height > SHOWN else ""
    kinds = sorted(set(units["kind"]), key=KINDS.index)
    remedy = "write more of it" if len(kinds) == 1 else f"say which: --kind {' or --kind '.join(kinds)}"
    return Problem(f"`{asked}` may be {', '.join(told)}{more}", "ID", remedy)


def elsewhere(kind: Kind, id_: str, run_id: str, runs: Sequence[str]) -> Problem:
    """An id that the run that was named does not know, and `runs` do."""
    remedy = f"runs that do: {', '.join(f'`{known}`' for known in runs[:SHOWN])}"
    return Problem(f"run `{run_id}` knows no {kind} `{id_}`", "--run", remedy)


def unknown(asked: str, kind: Kind | None, close: Iterable[str]) -> Problem:
    """An id that nothing has; `close` are those that come nearest."""
    what = f"{'nothing' if kind is None else f'no {kind}'} in the warehouse has the id `{asked}`"
    near = " or ".join(f"`{name}`" for name in close)
    return Problem(what, "ID", f"did you mean {near}?" if near else ANY)


ANY = (
    "name a requirement, a template, a scene, or an id of a run, cell, instance, case, play, request, response or "
    "verdict; "
    "`biasgrid warehouse build` brings in what has landed since"
)
