"""The folder of a report: files that are whole or not there, and names that no data chose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from biasgrid.warehouse.storage.atomic_file import replacing
from biasgrid.warehouse.storage.export_files import writing


@dataclass(frozen=True, slots=True)
class Folder:
    root: Path

    def write(self, name: str, text: str) -> Path:
        """Writes one file in one step, if it holds another text. Raises UserError where it cannot be written."""
        path = self.root / name
        with writing(self.root):
            if path.is_file() and path.read_bytes() == text.encode():
                return path
            with replacing(path) as partial:
                partial.write_text(text, encoding="utf-8", newline="")
        return path
