"""What a run and its bundle were made with: versions that were recorded, packages installed, our own code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import orjson
import polars as pl

PACKAGES = ("catalogs", "flows", "tasks", "warehouse")
LOCK = Path(str(resources.files("tasks"))).parent / "requirements.lock"
SUFFIXES = frozenset({".py", ".sql", ".yml", ".yaml", ".json", ".j2", ".css", ".js"})


def write_environment(run: Mapping[str, Any], criteria: pl.DataFrame, folder: Path) -> None:
    """`recorded.json`: versions by the run, and by each evaluation; `installed.txt`: what is installed where the
    bundle is written; `requirements.lock`: what should be, where biasgrid runs from its repository; `code.json`:
    biasgrid's version there, and a hash of its files. None of the environment's
    variables is among them."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {"run": orjson.loads(run["versions"] or "{}"), "evaluations": _evaluations(criteria)}
    (folder / "recorded.json").write_bytes(_json(told))
    (folder / "installed.txt").write_text("".join(f"{line}\n" for line in installed()), encoding="utf-8")
    if LOCK.is_file():
        (folder / LOCK.name).write_bytes(LOCK.read_bytes())
    code = {"biasgrid": metadata.version("biasgrid"), "sha256_of_files": code_digest()}
    (folder / "code.json").write_bytes(_json(code))


def _evaluations(criteria: pl.DataFrame) -> dict[str, Any]:
    rows = criteria.select("evaluation_id", "versions").unique(maintain_order=True).rows()
    return {evaluation: orjson.loads(versions or "{}") for evaluation, versions in rows}


def installed() -> list[str]:
    """`name==version` of every distribution, by name."""
    told = (one.metadata for one in metadata.distributions())
    found = {str(own["Name"]).lower(): own["Version"] for own in told if own["Name"]}
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def code_digest() -> str:
    """SHA-256 of the sums of biasgrid's own files, in order of their names."""
    return hashlib.sha256("".join(_sums()).encode()).hexdigest()


def _sums() -> Iterator[str]:
    for package in PACKAGES:
        root = Path(str(resources.files(package)))
        files = [path for path in root.rglob("*") if path.suffix in SUFFIXES and path.is_file()]
        for path in sorted(files, key=lambda path: path.relative_to(root).as_posix()):
            name = f"{package}/{path.relative_to(root).as_posix()}"
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n"


def _json(told: object) -> bytes:
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
