"""Reviews by `biasgrid review`: what a person types, the sheets, and what has landed."""

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.storage.lake import Lake


@pytest.fixture
def review(biasgrid: Callable[..., Any], lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Reviews with the lines that a person types: `review("ana", "p", "f", size=4)`."""

    def run(reviewer: str, *typed: str, **options: object) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        words = [word for name, value in options.items() for word in (f"--{name}", value) if word is not True]
        return biasgrid("review", "--data", lake.root, "--reviewer", reviewer, *words)

    return run


def landed_assessments(lake: Lake, reviewer: str) -> pl.DataFrame:
    """The assessments of a reviewer, in their order."""
    return lake.read("assessments").filter(pl.col("assessor") == reviewer).sort("assessed_at")


def export_sheet(review: Callable[..., Any], path: Path, **options: object) -> list[dict[str, str]]:
    """The rows of a sheet that is exported to `path`."""
    assert review("x", export=path, **options).code == 0
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines(keepends=True)))


def write_sheet(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path
