"""Modules of the warehouse import one way: no circles, and no sub-room imports from one above it."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import biasgrid.warehouse

pytestmark = pytest.mark.drill

ROOT = Path(biasgrid.warehouse.__file__).resolve().parent
LEVELS = {"storage": 0, "build": 1, "queries": 2, "expectations": 3}
"""Sub-rooms, each above those with smaller numbers; modules of `warehouse` itself are below all."""


def _modules() -> dict[str, Path]:
    found = {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in ROOT.rglob("*.py")
    }
    return {name: path for name, path in found.items() if not name.endswith("__init__")}


def _imports(path: Path, modules: dict[str, Path]) -> set[str]:
    """Modules that a file imports anywhere: in functions and for type checkers too."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return {name.removeprefix("biasgrid.warehouse.") for name in named} & modules.keys()


def test_modules_import_without_circles():
    modules = _modules()
    assert len(modules) > 30
    TopologicalSorter({name: _imports(path, modules) for name, path in modules.items()}).prepare()


def test_rooms_import_from_those_below_alone():
    modules = _modules()
    upwards = {
        (name, other)
        for name, path in modules.items()
        for other in _imports(path, modules)
        if LEVELS.get(name.partition(".")[0], -1) < LEVELS.get(other.partition(".")[0], -1)
    }
    assert upwards == set()


def test_the_command_converts_without_pandas_and_frames_all_the_same():
    """In processes of their own: this one has imported it."""
    convert = (
        "from biasgrid.warehouse.schema_check import polars_schema; import pyarrow as pa; polars_schema('runs'); "
    )
    command = f"import sys, biasgrid; biasgrid.is_command = True; {convert}"
    run("assert 'pandas' not in sys.modules", command)
    run("assert pa.table({'a': [1]}).to_pandas()['a'].sum() == 1", command)
    run("import pandas as pd; assert pa.Table.from_pandas(pd.DataFrame({'a': [1]})).num_rows == 1", command)
    run("import pandas as pd; assert pa.array(pd.Series([1.5, None])).to_pylist() == [1.5, None]", convert)


def run(code: str, begin: str) -> None:
    subprocess.run([sys.executable, "-P", "-c", begin + code], check=True)
