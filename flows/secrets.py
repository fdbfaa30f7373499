"""Keys from Prefect Secret blocks, for machines whose environment holds none."""

from __future__ import annotations

import os
from typing import cast

from tasks.connectors.keys import Secrets


def secret_blocks() -> Secrets | None:
    """A look-up of Secret blocks where a Prefect server is configured; None where only the environment counts:
    an ephemeral server would have to start to say that it has none."""
    return _read if os.environ.get("PREFECT_API_URL") else None


def _read(name: str) -> str | None:
    from prefect.blocks.system import Secret

    try:
        block = cast(Secret[str], Secret.load(name, _sync=True))  # type: ignore[call-arg]
    except ValueError:  # no such block
        return None
    return block.get()
