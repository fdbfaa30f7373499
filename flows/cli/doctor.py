"""`doctor`."""

from __future__ import annotations

from flows.cli.options import Data


def doctor(data: Data = None) -> None:
    """Check."""
