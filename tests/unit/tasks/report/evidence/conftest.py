"""A bundle to be looked at, and to be tampered with."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from biasgrid.tasks.report.evidence.write import write_evidence
from biasgrid.warehouse.storage.lake import Lake


@pytest.fixture(scope="session")
def written(landed: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of run R1. Not to be changed."""
    (path,) = write_evidence(landed, "R1", tmp_path_factory.mktemp("bundles"))
    return path


@pytest.fixture
def bundle(written: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    path = tmp_path / written.name
    path.write_bytes(written.read_bytes())
    return path


@pytest.fixture
def unpacked(written: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(written) as opened:
        opened.extractall(folder)
    return folder
