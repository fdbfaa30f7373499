"""The house itself: what is installed, what the wheel carries, and who may import whom."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("catalogs", "deployments", "flows", "tasks", "warehouse")
VERBS = (
    *("generate", "prompt", "evaluate", "aggregate", "augment", "review"),
    *("probe", "redteam", "interaction", "finetuning", "report"),
)
BENEATH = ("connectors", "transcripts")
"""Rooms of `tasks` that every verb may use."""
SHARED = {"warehouse", "catalogs", *(f"tasks.{room}" for room in BENEATH)}
BELOW = {
    "catalogs": {"catalogs"},
    "warehouse": {"warehouse", "catalogs"},
    **{f"tasks.{room}": {f"tasks.{room}", "warehouse", "catalogs"} for room in BENEATH},
    **{f"tasks.{verb}": {f"tasks.{verb}", *SHARED} for verb in VERBS},
}
"""Which rooms each may import."""


@pytest.mark.parametrize("package", PACKAGES)
def test_each_top_level_package_is_this_projects(package: str) -> None:
    found = importlib.import_module(f"biasgrid.{package}").__file__
    assert found is not None
    assert Path(found).resolve() == ROOT / package / "__init__.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_every_data_file(wheel: zipfile.ZipFile) -> None:
    carried = set(wheel.namelist())
    data = [
        f"biasgrid/{path.relative_to(ROOT).as_posix()}"
        for package in PACKAGES
        for kind in ("*.sql", "*.yml", "*.yaml", "*.json", "*.j2", "*.html", "*.css", "*.js", "*.py")
        for path in (ROOT / package).rglob(kind)
    ]
    assert len(data) > 100
    assert set(data) - carried == set()


def test_the_wheel_holds_no_tests_and_cannot_be_published_by_accident(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert not [name for name in names if name.startswith("tests/")]
    metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert "Classifier: Private :: Do Not Upload" in metadata


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return {name.removeprefix("biasgrid.") for name in found if name.startswith("biasgrid.")}


def test_every_room_has_its_place() -> None:
    rooms = {path.parent.name for path in (ROOT / "tasks").glob("*/__init__.py")}
    assert rooms == {*VERBS, *BENEATH}


@pytest.mark.parametrize("room", BELOW)
def test_rooms_import_downwards_only(room: str) -> None:
    allowed = BELOW[room]
    upwards = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / room.replace(".", "/")).rglob("*.py")
        for name in _imports(path)
        if not any(name == other or name.startswith(f"{other}.") for other in allowed)
    }
    assert upwards == set()


def _third_party_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"biasgrid"}


def test_every_package_that_product_code_imports_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = [*project["dependencies"], *project["optional-dependencies"]["finetune"]]
    declared = {canonicalize_name(Requirement(one).name) for one in stated}
    imported = {
        name
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in _third_party_imports(path)
    }
    installed = importlib.metadata.packages_distributions()
    undeclared = {
        name for name in imported if not {canonicalize_name(one) for one in installed.get(name, [name])} & declared
    }
    assert len(imported) > 20
    assert undeclared == set()
