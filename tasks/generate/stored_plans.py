"""Plans of requirements, stored under the hash of all that they are made from, sealed against damage."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

from biasgrid.warehouse.storage.lake import Lake, check_name

SEAL, UNSEALED = b"seal:", b"0" * 32


class DamagedPlan(ValueError):
    """The file of a plan is not what was written, or is another plan."""


def plan_path(lake: Lake, plan_hash: str) -> Path:
    return lake.root / "lake" / "plans" / f"{check_name(plan_hash)}.parquet"


def has_plan(lake: Lake, plan_hash: str) -> bool:
    """Whether the plan is stored, and neither damaged nor another one."""
    try:
        read_plan(lake, plan_hash)
    except (FileNotFoundError, DamagedPlan):
        return False
    return True


def write_plan(lake: Lake, plan_hash: str, frame: pl.DataFrame) -> Path:
    """Stores a generated plan, with any columns, under the hash of its inputs."""
    path = plan_path(lake, plan_hash)
    with lake.landing(path) as partial:
        frame.write_parquet(partial, compression="zstd", metadata={"seal": (SEAL + UNSEALED).decode()})
        head, _, tail = (blank := partial.read_bytes()).rpartition(SEAL + UNSEALED)
        partial.write_bytes(head + SEAL + _seal(plan_hash, blank) + tail)
    return path


def read_plan(lake: Lake, plan_hash: str) -> pl.DataFrame:
    """The plan stored under `plan_hash`; raises FileNotFoundError if there is none, and DamagedPlan."""
    path = plan_path(lake, plan_hash)
    if lake.shared and not path.exists():
        lake.shared.bring_file(path)
    stored = path.read_bytes()
    start = stored.rfind(SEAL) + len(SEAL)
    end = start + len(UNSEALED)
    if stored[start:end] != _seal(plan_hash, stored[:start] + UNSEALED + stored[end:]):
        raise DamagedPlan(str(path))
    return pl.read_parquet(stored)


def _seal(plan_hash: str, blank: bytes) -> bytes:
    """A hash of a plan's name and of its file, whose own place holds zeros."""
    return hashlib.blake2b(plan_hash.encode() + blank, digest_size=16).hexdigest().encode()
