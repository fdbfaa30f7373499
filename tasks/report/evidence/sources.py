"""What a run went by: its scenario, and the catalog files whose content is still that of the hash it recorded."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.documents import read_text
from biasgrid.catalogs.loading.reader import SHIPPED
from biasgrid.warehouse.storage.lake import Lake

DIGITS = 12
"""Of a hash: enough to tell files of one name apart."""
LONGEST_NAME = 150
"""Letters: its end is kept, which tells what kind of file it is."""
ODD = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """A file that the run recorded the hash of."""

    name: str
    """As it was recorded."""
    recorded: str
    """SHA-256 of its text in UTF-8."""
    today: str | None
    """The same of what lies there now; None where nothing does."""

    @property
    def is_kept(self) -> bool:
        return self.today == self.recorded

    @property
    def path(self) -> str:
        """In the bundle: apart from shipped files, and from others of that name."""
        if self.name.startswith(SHIPPED):
            return f"catalogs/shipped/{'/'.join(_plain(part) for part in self.name.split('/')[1:])}"
        return f"catalogs/own/{self.recorded[:DIGITS]}-{_plain(Path(self.name).name)}"


def _plain(name: str) -> str:
    return ODD.sub("_", name)[-LONGEST_NAME:].strip(".") or "_"


def catalog_files(run: Mapping[str, Any], criteria: pl.DataFrame) -> list[CatalogFile]:
    """Those of the run and of each of its evaluations, by name."""
    recorded = [run["catalog_hashes"], *criteria["catalog_hashes"].unique(maintain_order=True)]
    pairs = {pair for told in recorded for pair in orjson.loads(told or "{}").items()}
    texts = {name: _text(name) for name, _ in pairs}
    return [CatalogFile(name, digest, _hash(texts[name])) for name, digest in sorted(pairs)]


def write_catalogs(files: Sequence[CatalogFile], stage: Path) -> Iterator[tuple[str, str]]:
    """Those that are as they were; yields where each lies below `stage`, and what the run called it."""
    for file in files:
        text = _text(file.name)
        if file.is_kept and text is not None:
            _write(stage / file.path, text)
            yield file.path, file.name


def kept_text(file: CatalogFile) -> str:
    """Of a file that is as it was."""
    return _text(file.name) or ""


def write_scenario(run: Mapping[str, Any], stage: Path) -> None:
    """As it was given, and as it was resolved."""
    given = str(run["scenario_given"] or "")
    _write(stage / f"scenario/given.{'json' if given.lstrip().startswith('{') else 'yaml'}", given)
    resolved = orjson.dumps(orjson.loads(run["scenario_resolved"] or "{}"), option=orjson.OPT_INDENT_2)
    _write(stage / "scenario/resolved.json", resolved.decode() + "\n")


def criteria_of(lake: Lake, run_id: str) -> pl.DataFrame:
    """What each evaluation of the run judged by, the newest last."""
    return lake.read("criteria", run_id).sort("evaluation_id", "requirement")


def _text(name: str) -> str | None:
    shipped = name.startswith(SHIPPED)
    path = Path(str(resources.files("biasgrid.catalogs"))) / name.removeprefix(SHIPPED) if shipped else Path(name)
    try:
        return read_text(path)
    except UserError:
        return None


def _hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
