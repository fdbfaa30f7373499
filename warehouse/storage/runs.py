"""Records each run: its scenario, the hashes of its inputs, and its states as events: the newest
counts."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from itertools import groupby, pairwise, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal

import orjson
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.schema.requirements import SEVERAL
from biasgrid.warehouse.event_ids import EVENT_IDS
from biasgrid.warehouse.schemas import BENCHMARK, CELL_KEYS, EVENTS
from biasgrid.warehouse.storage.lake import Lake, newest, scan_files
from biasgrid.warehouse.storage.tombstones import find_tombstones, refuse_forgotten

_DATED = re.compile(r"(?:all~)?([0-9A-HJKMNP-TV-Z]{26})")
"""Name of a file of events: the id of its event, or when it was made of earlier files."""
CELL = [name for name, _ in CELL_KEYS]


def count_planned(cases: pl.DataFrame) -> pl.DataFrame:
    """CELL_KEYS and the number of cases, `planned`, of each cell."""
    keys = [key for key in CELL if key != "concern"]
    counted = cases.group_by(keys, maintain_order=True).agg(
        shared_concern(), pl.len().cast(pl.Int64).alias("planned")
    )
    return counted.select(*CELL, "planned")


def shared_concern() -> pl.Expr:
    """The concern that rows have in common, `several` where there is none."""
    concern = pl.col("concern")
    return pl.when(concern.n_unique() > 1).then(pl.lit(SEVERAL)).otherwise(concern.first()).alias("concern")


def land_by_cell(lake: Lake, cases: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """As `land_cells`; cases of a cell must be consecutive."""
    by_cell = groupby(cases, key=itemgetter("cell_id"))
    return land_cells(lake, (pl.DataFrame(list(own), infer_schema_length=None) for _, own in by_cell))


def land_cells(lake: Lake, cells: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Writes one file of cases per cell, idempotently; returns the cells as CELL_KEYS and `planned`."""
    planned: list[tuple[Any, ...]] = []
    for cell in cells:
        lake.write("cases", cell["run_id"][0], cell["cell_id"][0], cell)
        planned += count_planned(cell).iter_rows()
    return cells_frame(planned)


def cells_frame(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows as of `count_planned`, which may be none."""
    return pl.DataFrame(list(rows), {**dict.fromkeys(CELL, pl.String), "planned": pl.Int64}, orient="row")


def record_planned(lake: Lake, run_id: str, cells: pl.DataFrame) -> None:
    """Stores one event per cell of a run with its number of cases."""
    event_id = EVENT_IDS.make()
    events = cells.with_columns(
        pl.lit(run_id).alias("run_id"),
        pl.lit(event_id).alias("event_id"),
        pl.lit(datetime.now(UTC)).alias("recorded_at"),
        pl.lit("planned").alias("state"),
    )
    lake.write("cells", run_id, f"planned-{event_id}", events)


def planned_cells(lake: Lake, run_id: str) -> pl.DataFrame:
    """The cells of a run whose cases are stored, in planned order."""
    events = lake.read("cells", run_id, "planned-*")
    EVENT_IDS.note(events["event_id"].unique())
    return events.unique("cell_id", keep="last", maintain_order=True).select(*CELL, "planned")


def split_cells(lake: Lake, run_id: str, cell_ids: Sequence[str], most: int) -> list[list[str]]:
    """Neighbouring cells of at most `most` cases in all, or single ones of more."""
    if len(cell_ids) < 2:
        return [[*cell_ids]] if cell_ids else []
    planned = lake.scan("cases", run_id, cell_ids).select("cell_id").collect()
    cases = dict(planned["cell_id"].value_counts().iter_rows())
    parts: list[list[str]] = [[]]
    size = 0
    for cell_id in cell_ids:
        own = cases.get(cell_id, 0)
        if parts[-1] and size + own > most:
            parts.append([])
            size = 0
        parts[-1].append(cell_id)
        size += own
    return parts


State = Literal["planning", "running", "aggregating", "completed", "incomplete", "failed", "interrupted"]
UNFINISHED = ("planning", "running", "aggregating", "failed", "interrupted", "incomplete")
UNDER_WAY = ("planning", "running", "aggregating")
PACKAGES = ("biasgrid", "prefect", "duckdb", "pyarrow", "polars", "openai", "huggingface_hub", "replicate")


@dataclass(frozen=True, slots=True)
class Run:
    """One run in its newest recorded state."""

    run_id: str
    state: State
    kind: str
    scenario_given: str
    scenario_resolved: str
    catalog_hashes: str
    versions: str
    seed: int
    started_at: datetime
    ended_at: datetime | None = None

    @property
    def of_kind(self) -> str:
        """The kind with its article, such as `an interaction`."""
        return _with_article(self.kind)

    @property
    def is_imported(self) -> bool:
        """Whether its replies and verdicts are from logs of other tools: nothing of it can be asked again."""
        return bool(orjson.loads(self.scenario_resolved or "{}").get("imported"))

    def record(self, lake: Lake, state: State) -> Run:
        """Stores an event with the new state and returns the updated run."""
        now = datetime.now(UTC)
        ended = None if state in UNDER_WAY else now
        run = replace(self, state=state, ended_at=ended)
        event_id = EVENT_IDS.make()
        fields = {name: getattr(run, name) for name in Run.__slots__}
        row = pl.DataFrame([{**fields, "event_id": event_id, "recorded_at": now}])
        lake.write("runs", run.run_id, event_id, row)
        return run


def refuse_imported(run: Run, what: str) -> None:
    """Raises UserError if the replies and verdicts of a run were imported from logs."""
    if run.is_imported:
        text = f"run `{run.run_id}` was imported from logs: there is no model to ask and no oracle to judge by"
        raise UserError(Problem(text, what, "import the logs again, with other scores or another tolerance"))


def begin_run(
    lake: Lake, given: str, resolved: str, hashes: Mapping[str, str], seed: int, kind: str = BENCHMARK
) -> Run:
    """A new run, recorded as planning."""
    EVENT_IDS.note(lake.runs())
    run = Run(
        run_id=EVENT_IDS.make(),
        state="planning",
        kind=kind,
        scenario_given=given,
        scenario_resolved=resolved,
        catalog_hashes=as_json(hashes),
        versions=as_json(versions()),
        seed=seed,
        started_at=datetime.now(UTC),
    )
    return run.record(lake, "planning")


def refuse_other_kinds(run: Run, what: str, *kinds: str) -> None:
    """Raises UserError if the run's kind is not one of `kinds`, which `what` requires."""
    if run.kind not in kinds:
        message = f"run `{run.run_id}` is {run.of_kind}, and that kind has no {what}"
        fitting = " or ".join(map(_with_article, kinds))
        raise UserError(Problem(message, remedy=f"name {fitting}: `biasgrid runs` lists them"))


def _with_article(kind: str) -> str:
    words = {"redteam": "red team"}.get(kind, kind)
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def as_json(values: Mapping[str, str]) -> str:
    """JSON form in which runs and evaluations record hashes and versions."""
    return orjson.dumps(dict(values), option=orjson.OPT_SORT_KEYS).decode()


def versions() -> dict[str, str]:
    """Installed versions of Python and of packages that can influence results."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}


def all_runs(lake: Lake) -> list[Run]:
    """All runs, oldest first."""
    events = scan_files("runs", _find_newest(lake.files("runs"))).collect()
    EVENT_IDS.note(events["event_id"])
    rows = newest(events, EVENTS["runs"]).sort("run_id").select(Run.__slots__)
    return [Run(**row) for row in rows.iter_rows(named=True)]


def _find_newest(files: Sequence[Path]) -> list[Path]:
    """Of each run the last file by the ULID in its name, which the newest event is in, and files of other names: a
    year of nights has thousands of files."""
    dated = {file: found[1] for file in files if (found := _DATED.fullmatch(file.stem))}
    last = {file.parent: file for file in sorted(dated, key=lambda file: dated[file])}
    return [file for file in files if file not in dated or last[file.parent] == file]


def find_run(lake: Lake, run_id: str | None, states: tuple[str, ...] | None = None, needs: str = "") -> Run:
    """The run with that id, or the newest in one of `states`. Raises UserError if there is none, or if it was
    forgotten and its replies are needed: `needs` is what for.

    An id may be shortened to a prefix or suffix that only one run has.
    """
    found = _find_run(lake, run_id, states, bool(needs))
    if needs:
        refuse_forgotten(lake, found.run_id, needs)
    return found


SHOWN: Final = 3
"""Runs that a message names at most, the newest of them."""
SHORT: Final = 8
"""Characters of an id: only runs that start within a second of each other share them."""


def short_ids(runs: Iterable[Run]) -> dict[str, str]:
    """The beginning of each run's id that only it has, by id."""
    ids = sorted(run.run_id for run in runs)
    shared = [_count_shared(*pair) for pair in pairwise(ids)]
    longest = zip([0, *shared], [*shared, 0], strict=True)
    return {one: one[: max(SHORT, 1 + max(both))] for one, both in zip(ids, longest, strict=False)}


def _count_shared(one: str, other: str) -> int:
    """Characters that two beginnings have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def short_id(lake: Lake, run: Run) -> str:
    """The beginning of a run's id that no other run has."""
    return short_ids(all_runs(lake))[run.run_id]


def _ends(run_id: str, length: int) -> tuple[str, str]:
    """Beginning and end of an id, as long as what was typed."""
    return run_id[:length], run_id[-length:]


def _find_run(lake: Lake, run_id: str | None, states: tuple[str, ...] | None, has_replies: bool) -> Run:
    runs = all_runs(lake)
    if run_id is None:
        forgotten = find_tombstones(lake) if has_replies else {}
        fitting = [run for run in runs if (states is None or run.state in states) and run.run_id not in forgotten]
        if fitting:
            return fitting[-1]
        what = "there is no unfinished run" if states else "there is no run yet"
        raise UserError(Problem(f"{what} in `{lake.named}`", remedy="start one with `biasgrid run SCENARIO`"))
    if not run_id.strip():
        remedy = "name one of `biasgrid runs`, or leave it out"
        raise UserError(Problem(f"`{run_id}` names no run", "RUN", remedy))
    wanted = run_id.upper()
    found = [run for run in runs if run.run_id.startswith(wanted) or run.run_id.endswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(f"`{run.run_id}`" for run in found[-SHOWN:])
        remedy = f"name more of it, as `biasgrid runs` lists them: {some}"
        raise UserError(Problem(f"run `{run_id}` may be any of {len(found)} runs", lake.named, remedy))
    near = {part: run.run_id for run in runs for part in _ends(run.run_id, len(wanted))}
    remedy = nearest(run_id, near, near) or "see `biasgrid runs`"
    raise UserError(Problem(f"run `{run_id}` is unknown", lake.named, remedy))
