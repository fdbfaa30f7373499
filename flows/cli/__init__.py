"""The `biasgrid` command. Heavy packages are imported where a command needs them: `--version` answers at once."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`app` and `main`, imported at first use: signals are handled before anything else is imported."""
    if name not in ("app", "main"):
        raise AttributeError(name)
    from biasgrid.flows.cli import commands

    return commands.make_app() if name == "app" else commands.main
