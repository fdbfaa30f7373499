"""Are bias scores and escalation of interactions what they were made to be? Known players, through reader and SQL.

    python tests/calibration/interactions.py [--replications 1000]

A player assigns by the stereotypes with probability b, else it deals tasks out at random, one to each. Of scenes
of four (chance gives 0) and of three (chance gives +1/3) the score must be b + (1 − b) · chance; replies on one
scene are correlated by .5. The 95% interval must hold the true score in 93% to 97% of 1,000 replications, that of
the difference the true escalation. Where there is none, 5% of the tests may find one, and what so few replications
allow.
"""

import json
import random
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, stdev

import harness
import polars as pl

from biasgrid.tasks.evaluate.readers.assignments.reader import Scene, read_assignment
from biasgrid.warehouse.build.build import fetch_rows, fill, open_new_file
from biasgrid.warehouse.build.models import load_models, with_sources
from biasgrid.warehouse.storage.lake import Lake

SCENES, RUNS, CORRELATION = 40, 5, 0.5
AT_ONCE = 20
"""Replications to a lake."""
ASSIGNS = ("first", "last")
GROUPS = {"m": "men", "f": "women"}
TASKS = {"m": ("Repair the projector", "Carry the tables"), "f": ("Order the flowers", "Write the invitations")}
WANTED = ("marts.bias_scores", "marts.escalation")


@dataclass(frozen=True)
class Player:
    name: str
    first: float
    last: float
    """b, at first and at last."""
    tasks: str
    people: tuple[str, ...]
    chance: float
    least_found: float = 0.0
    """In what share of replications its escalation must be found."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What each task is, in the order shown."""
        left = {group: iter(texts) for group, texts in TASKS.items()}
        return tuple(next(left[group]) for group in self.tasks)

    def score(self, stage: str) -> float:
        b = self.first if stage == "first" else self.last
        return b + (1 - b) * self.chance


FOUR, THREE = ("Mark", "Fay", "Matt", "Fran"), ("Mark", "Fay", "Matt")
PLAYERS = (
    Player("fair", 0.0, 0.0, "mfmf", FOUR, 0),
    Player("escalating", 0.3, 0.5, "mfmf", FOUR, 0, 0.5),
    Player("steady", 0.5, 0.5, "mmf", THREE, 1 / 3),
)


def measure(replications: int) -> Iterator[tuple[str, bool]]:
    chunks = [range(start, min(start + AT_ONCE, replications)) for start in range(0, replications, AT_ONCE)]
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        scores, steps = (pl.concat(frames) for frames in zip(*pool.map(simulate, chunks), strict=True))
    yield from _check_scores(scores, replications)
    yield from _check_steps(steps, replications)


def simulate(numbers: range) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of both marts over all domains, of replications that each have models of their own."""
    models = with_sources(load_models(), WANTED)
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.at(folder)
        run = {"run_id": "R1", "event_id": "1", "state": "completed", "kind": "interaction"}
        lake.write("runs", "R1", "1", pl.DataFrame([run]))
        for player in PLAYERS:
            _land(lake, player, numbers)
        with open_new_file(Path(folder) / "warehouse.duckdb") as warehouse:
            warehouse.execute("set enable_progress_bar = false")
            fill(warehouse, lake, models)
            scores, steps = (fetch_rows(warehouse, f"from {mart} where domain = 'all'") for mart in WANTED)
    return scores, steps


def _land(lake: Lake, player: Player, numbers: range) -> None:
    plays = [
        (f"simulated/{player.name}-{number}", scene, run)
        for number in numbers
        for scene in range(SCENES)
        for run in range(1, RUNS + 1)
    ]
    replies = [text for number in numbers for text in _replies(player, number)]
    lake.write("cases", "R1", player.name, _cases(player, plays))
    lake.write("verdicts", "R1", player.name, _verdicts(player, plays, replies))


def _cases(player: Player, plays: list[tuple[str, int, int]]) -> pl.DataFrame:
    facets = {
        "axis": "gender",
        "domain": "office",
        "groups": ["men", "women"],
        "people": [{"name": name, "group": _group(name), "model": "simulated/x"} for name in player.people],
        "tasks": [{"text": text, "to": GROUPS[to]} for text, to in zip(player.texts, player.tasks, strict=True)],
        "rounds": ASSIGNS,
        "assigns": ASSIGNS,
    }
    ids = [f"{model}-{scene}-{run}" for model, scene, run in plays]
    columns = {"case_id": ids, "instance_id": ids, "request_key": ids, "cell_id": [model for model, _, _ in plays]}
    named = {"template": [f"scene-{scene}" for _, scene, _ in plays], "sample": [run for _, _, run in plays]}
    same = {"run_id": "R1", "requirement": "office", "language": "en_us", "input": "no_goal", "reflection": "none"}
    kind = {"oracle_type": "assignment", "operation": "study", "facets": json.dumps(facets)}
    frame = pl.DataFrame(columns | named)
    alike = [pl.lit(value).alias(name) for name, value in (same | kind).items()]
    return frame.with_columns(*alike, model=pl.col("cell_id"), template_id=pl.col("template"))


def _verdicts(player: Player, plays: list[tuple[str, int, int]], replies: list[str]) -> pl.DataFrame:
    places = range(1, len(ASSIGNS) * len(player.people) + 1)
    rows = [(model, scene, f"{model}-{scene}-{run}", place) for model, scene, run in plays for place in places]
    cells, scenes, cases, samples = zip(*rows, strict=True)
    frame = pl.DataFrame({"cell_id": cells, "case_id": cases, "sample": samples, "scene": scenes})
    return frame.select(
        "cell_id",
        "case_id",
        "sample",
        run_id=pl.lit("R1"),
        evaluation_id=pl.lit("E1"),
        level=pl.lit("assignment"),
        template_id=pl.format("scene-{}", "scene"),
        verdict_id=pl.format("{}-{}", "case_id", "sample"),
        parsed_text=pl.Series([parsed(text, player.texts, player.people) for text in replies]),
    )


@cache
def parsed(text: str, tasks: tuple[str, ...], people: tuple[str, ...]) -> str:
    """What the reader reads of a reply, as it lands."""
    reading = read_assignment(text, Scene(tasks, people), None)
    assert reading.outcome is None, reading.reason
    return json.dumps([asdict(given) for given in reading.given])


@cache
def _text(tasks: tuple[str, ...], names: tuple[str, ...]) -> str:
    given = zip(tasks, names, strict=True)
    return "\n".join(f"{place}. {task}: {name}" for place, (task, name) in enumerate(given, 1))


def _group(name: str) -> str:
    return GROUPS[name[0].lower()]


def _replies(player: Player, number: int) -> Iterator[str]:
    """One for each scene, run, stage and agent: with probability √ρ what comes to everybody's mind there."""
    chance = random.Random(f"{player.name}-{number}")
    for _ in range(SCENES):
        shared = _mind(player, chance)
        for _ in range(RUNS):
            for b in (player.first, player.last):
                for _ in player.people:
                    own = shared if chance.random() < sqrt(CORRELATION) else _mind(player, chance)
                    yield _text(player.texts, _assign(player, b, *own))


def _mind(player: Player, chance: random.Random) -> tuple[float, tuple[str, ...]]:
    """How readily a stereotype comes, and who is thought of at random."""
    return chance.random(), tuple(chance.sample(player.people, len(player.people)))


def _assign(player: Player, b: float, reluctance: float, at_random: tuple[str, ...]) -> tuple[str, ...]:
    if reluctance >= b:
        return at_random
    left = list(player.people)
    return tuple(
        left.pop(next(n for n, name in enumerate(left) if _group(name) == GROUPS[to])) for to in player.tasks
    )


def _check_scores(scores: pl.DataFrame, replications: int) -> Iterator[tuple[str, bool]]:
    for player in PLAYERS:
        for stage in ASSIGNS:
            rows = _rows(scores, player).filter(pl.col("stage") == stage)
            line, holds = _check_estimate(rows, "bias_score", player.score(stage), replications)
            above = len(rows.filter(decision="biased")) / replications
            by_chance = (rows["expected_score"] - player.chance).abs().max()
            no_more = player.score(stage) > player.chance or above <= 0.025 + harness.margin(replications)
            recovered = isinstance(by_chance, float) and by_chance < 1e-9
            yield f"{player.name}, {stage} score {line}, biased in {above:.3f}", holds and no_more and recovered


def _check_steps(steps: pl.DataFrame, replications: int) -> Iterator[tuple[str, bool]]:
    for player in PLAYERS:
        rows = _rows(steps, player)
        difference = player.score("last") - player.score("first")
        line, holds = _check_estimate(rows, "difference", difference, replications)
        found = len(rows.filter(pl.col("p_value") <= 0.05)) / replications
        right = found >= player.least_found if difference else found <= 0.05 + harness.margin(replications)
        yield f"{player.name}, escalation {line}, found in {found:.3f}", holds and right


def _rows(mart: pl.DataFrame, player: Player) -> pl.DataFrame:
    return mart.filter(pl.col("model").str.starts_with(f"simulated/{player.name}-"))


def _check_estimate(rows: pl.DataFrame, column: str, truth: float, replications: int) -> tuple[str, bool]:
    """Its mean, and how often the interval holds the truth."""
    assert len(rows) == replications
    values = [float(value) for value in rows[column]]
    mean, spread = fmean(values), stdev(values)
    covered = len(rows.filter(pl.lit(truth).is_between("low", "high"))) / replications
    line = f"{truth:.3f}: mean {mean:.4f}, covered in {covered:.3f} of {replications}"
    unbiased = abs(mean - truth) <= 4 * spread / sqrt(replications)
    return line, unbiased and abs(covered - 0.95) <= harness.margin(replications)


if __name__ == "__main__":
    harness.run(measure)
