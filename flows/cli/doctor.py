"""`doctor`: what works on this machine, and what to do about what does not."""

from __future__ import annotations

import typer

from flows.cli.options import Data


def doctor(data: Data = None) -> None:
    """Check versions, storage, catalogs, keys and Prefect; say what to do about what does not work.

    Exit codes: 0 nothing is broken (a missing key is no break), 2 otherwise. Shows no key. Needs no network.
    """
    from flows.diagnosis import diagnose, is_broken
    from flows.terminal import show_diagnosis

    found = diagnose(data)
    show_diagnosis(found)
    if is_broken(found):
        raise typer.Exit(2)
