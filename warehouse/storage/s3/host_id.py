"""This machine, as others that share its storage know it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import orjson
from ulid import ULID


@dataclass(frozen=True, slots=True)
class Machine:
    """One per mirror: two mirrors on one computer are two machines."""

    id: str

    @classmethod
    def of(cls, root: Path) -> Machine:
        """The machine whose mirror lies at `root`."""
        path = root / "machine"
        try:
            root.mkdir(parents=True, exist_ok=True)
            written = path.with_name(f".{ULID()}.partial")
            written.write_text(str(ULID()), encoding="ascii")
            os.link(written, path)  # the first one stays
        except FileExistsError:
            pass
        finally:
            written.unlink(missing_ok=True)
        return cls(path.read_text(encoding="ascii"))

    def as_json(self) -> bytes:
        """Its name and this process, for people who wonder who holds a lease."""
        return orjson.dumps({"host": platform.node(), "process": os.getpid()})
