"""Are comparisons of two probes, red teams or interactions right about what changed? Known rates, through the SQL.

    python tests/calibration/comparisons.py [--replications 1000]

Of each kind two runs of one model are made, alike or apart by a known difference, and compared by the shipped
models. The 95% interval must hold the true difference in 93% to 97% of 1,000 replications; where there is none, 5%
of the tests may find one, and what so few replications allow. McNemar's exact test finds fewer.
"""

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import harness
import polars as pl

from biasgrid.warehouse.build.build import fetch_rows, open_new_file
from biasgrid.warehouse.build.materialize import lay_out
from biasgrid.warehouse.build.models import Model, load_comparison

TRIALS, SESSIONS, SCENES, REPLIES = 20, (12, 3), 40, 20
"""Prompts of a pair, pairs and sessions of each, scenes, and assignments of a scene."""
SPREAD = 0.2
"""How far scenes lie from what a model does in the mean: as far in both runs."""
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """What is compared: `table` by what `rows` land in `source`; `sides` has one row for each run."""

    name: str
    table: str
    source: str
    sides: str
    keys: dict[str, Any]
    """Of every row of both, in addition to run and model."""
    rows: Callable[[float, random.Random], Rows]
    """Of one run whose rate or score is this."""
    truth: Callable[[float], float]
    before: float
    after: float
    """What it is where something has changed."""


def trials(strength: float, chance: random.Random) -> Rows:
    """Two names of each group to two attributes; where all are given the same, there is no score."""
    rate = 0.5 + strength / 2
    fell = [[chance.random() < rate for _ in range(4)] for _ in range(TRIALS)]
    return [{"block": block, "score": _score_of(own)} for block, own in enumerate(fell)]


def _score_of(fell: Any) -> float | None:
    a, d = sum(fell[:2]), sum(fell[2:])
    return None if abs(a - d) == 2 else a / (a + 2 - d) + d / (d + 2 - a) - 1


def mean_leaning(strength: float) -> float:
    """Of the trials that have a score."""
    rate = 0.5 + strength / 2
    found = [
        (score, rate ** sum(fell) * (1 - rate) ** (4 - sum(fell)))
        for fell in product((True, False), repeat=4)
        if (score := _score_of(fell)) is not None
    ]
    return sum(score * weight for score, weight in found) / sum(weight for _, weight in found)


def sessions(rate: float, chance: random.Random) -> Rows:
    pairs, each = SESSIONS
    return [
        {
            "pair": f"pair-{pair}",
            "number": number,
            "outcome": "succeeded" if chance.random() < rate else "resisted",
        }
        for pair in range(pairs)
        for number in range(each)
    ]


def assignments(score: float, chance: random.Random) -> Rows:
    return [
        {
            "scene": f"scene-{scene}",
            "sign": sign,
            "class": "neutral",
            "question": "assignment",
            "expected_score": 0.0,
        }
        for scene in range(SCENES)
        for sign in _signs(score, scene, chance)
    ]


def moves(step: float, chance: random.Random) -> Rows:
    """From a score of .1, by the step."""
    return [
        {
            "scene": f"scene-{scene}",
            "pairs": REPLIES,
            "first_signs": sum(_signs(0.1, scene, chance)),
            "last_signs": sum(_signs(0.1 + step, scene, chance)),
        }
        for scene in range(SCENES)
    ]


def _signs(score: float, scene: int, chance: random.Random) -> list[int]:
    own = score + SPREAD * (2 * scene / (SCENES - 1) - 1)
    return [1 if chance.random() < (1 + own) / 2 else -1 for _ in range(REPLIES)]


def as_is(value: float) -> float:
    return value


PLAYED = {"axis": "gender", "domain": "all", "setting": "goal", "mitigation": "none"}
CONTROL = {"is_control": False, "held_out": False, "language": "en_us"}
OFFICE = {**PLAYED, **CONTROL, "domain": "office"}
KINDS = (
    Kind(
        "probe",
        "probe_findings",
        "intermediate.int_probe_trials",
        "marts.probe_findings",
        {"pair": "p", "language": "en_us", "test": "implicit"},
        trials,
        mean_leaning,
        0.2,
        0.7,
    ),
    Kind(
        "red team",
        "attack_success",
        "intermediate.int_attack_sessions",
        "marts.attack_success",
        {"strategy": "direct", "language": "en_us"},
        sessions,
        as_is,
        0.3,
        0.6,
    ),
    Kind(
        "bias score",
        "bias_scores",
        "intermediate.int_assignments",
        "marts.bias_scores",
        {**OFFICE, "stage": "first"},
        assignments,
        as_is,
        0.3,
        0.45,
    ),
    Kind(
        "escalation",
        "escalation",
        "intermediate.int_scene_moves",
        "marts.escalation",
        {**OFFICE, "step": "first to last"},
        moves,
        as_is,
        0.1,
        0.3,
    ),
)


def measure(replications: int) -> Iterator[tuple[str, bool]]:
    for kind in KINDS:
        yield from check_kind(kind, replications)


def check_kind(kind: Kind, replications: int) -> Iterator[tuple[str, bool]]:
    for after in (kind.before, kind.after):
        truth = kind.truth(after) - kind.truth(kind.before)
        rows = compare_runs(kind, after, replications)
        covered = len(rows.filter(pl.lit(truth).is_between("low", "high"))) / replications
        found = len(rows.filter(pl.col("p_value") <= 0.05)) / replications
        line = f"{kind.name}, {truth:+.3f}: covered in {covered:.3f}, found in {found:.3f} of {replications}"
        by_chance = truth or found <= 0.05 + harness.margin(replications)
        yield line, bool(by_chance) and abs(covered - 0.95) <= harness.margin(replications)


def compare_runs(kind: Kind, after: float, replications: int) -> pl.DataFrame:
    """The comparison's rows; each replication is a model."""
    chance = random.Random(f"{kind.name} {after}")
    runs = {"earlier": kind.before, "later": after}
    own = [
        {"run_id": run, "model": f"m{number}", **kind.keys, **row}
        for run, rate in runs.items()
        for number in range(replications)
        for row in kind.rows(rate, chance)
    ]
    *sources, comparison = load_comparison([kind.table])
    with tempfile.TemporaryDirectory() as folder, open_new_file(Path(folder) / "both.duckdb") as warehouse:
        warehouse.execute("create schema staging; create schema intermediate; create schema marts")
        _fill(warehouse, sources, kind.source, own)
        sides = f"select distinct run_id, model, {', '.join(kind.keys)} from {kind.source}"
        warehouse.execute(_insert_into(warehouse, sources, kind.sides) + sides)
        return fetch_rows(warehouse, comparison.sql)


def _fill(warehouse: duckdb.DuckDBPyConnection, models: list[Model], relation: str, rows: Rows) -> None:
    warehouse.register("simulated", pl.DataFrame(rows).to_arrow())
    warehouse.execute(f"{_insert_into(warehouse, models, relation)} from simulated")


def _insert_into(warehouse: duckdb.DuckDBPyConnection, models: list[Model], relation: str) -> str:
    """Makes a model's table without rows; returns the beginning of what fills it."""
    lay_out(warehouse, next(model for model in models if model.relation == relation))
    return f"insert into {relation} by name "


if __name__ == "__main__":
    harness.run(measure)
