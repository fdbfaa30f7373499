"""The folder of a report: files that are whole or not there, and names that no data chose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from catalogs.mistakes import Mistake, UserMistake
from warehouse.atomic import replacing


@dataclass(frozen=True, slots=True)
class Folder:
    root: Path

    def write(self, name: str, text: str) -> Path:
        """Writes one file in one step, if it holds another text. Raises UserMistake where it cannot be written."""
        path = self.root / name
        try:
            if path.is_file() and path.read_bytes() == text.encode():
                return path
            with replacing(path) as partial:
                partial.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            what = f"the report cannot be written: {error.strerror or error}"
            remedy = "name a directory that you may write to"
            raise UserMistake(Mistake(what, f"--out {self.root}", remedy)) from error
        return path
