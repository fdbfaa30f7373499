"""Random histories: a warehouse to which changes were added equals one that is built from the whole lake."""

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build import increments
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.kept_rows import FREE_TEXTS, keep_rows
from biasgrid.warehouse.build.models import UndeclaredRelation, load_models
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.compaction import compact_run
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.tombstones import Tombstone, find_tombstones, remove_replies
from support.hand_made_runs import contents

PASS_RATES = "from marts.pass_rates"
OUTCOMES = ("passed", "passed", "passed", "failed", "refused", "unreadable", "error")


@dataclass
class History:
    """Changes a lake at random, as runs, evaluations, reviews and people do."""

    made: Any
    chance: random.Random
    other_kinds: list[Any]
    cell: Callable[..., Any]
    criterion: Any
    reply_makers: Any
    cells: dict[str, list[Any]] = field(default_factory=dict)
    """Of each benchmark."""
    evaluations: int = 1

    @property
    def lake(self) -> Lake:
        lake: Lake = self.made.lake
        return lake

    def change(self) -> None:
        ways = [self.run, self.run, self.run_other_kind]
        of_runs = [self.resume, self.judge_again, self.overrule, self.land_twice, self.move_away, self.forget]
        ways += [*of_runs, self.compact, self.end] if self.cells else []
        self.chance.choice(ways)()

    def run(self) -> None:
        run_id = f"R{self.chance.randrange(10_000):04}"
        self.cells[run_id] = [self._cell(number) for number in range(self.chance.randint(1, 3))]
        self.made.land(run_id, self.cells[run_id], state=self.chance.choice(["completed", "incomplete", "failed"]))

    def run_other_kind(self) -> None:
        source, run_id = self.chance.choice(self.other_kinds), f"K{self.chance.randrange(10_000):04}"
        for table in TABLES:
            rows = Lake(source.data).read(table, source.run_id)
            if rows.height:
                self.lake.write(table, run_id, "all", rows.with_columns(run_id=pl.lit(run_id)))

    def resume(self) -> None:
        run_id = self._benchmark()
        added = self._cell(10 + len(self.cells[run_id]))
        self.cells[run_id].append(added)
        self.made.run(run_id, "completed", f"{len(self.cells[run_id]):03}")
        self.made.cell(run_id, added)
        self.judge_again(run_id)

    def judge_again(self, run_id: str | None = None) -> None:
        run_id = run_id or self._benchmark()
        self.evaluations += 1
        self.made.criteria(run_id, f"E{self.evaluations:03}", [self._criterion()])
        for cell in self.cells[run_id]:
            self.made.verdicts(run_id, f"E{self.evaluations:03}", cell)

    def overrule(self) -> None:
        """A person's verdict takes the place of the oracle's."""
        run_id = self._benchmark()
        verdicts = self.lake.read("verdicts", run_id)
        newest = verdicts.filter(level="instance", evaluation_id=verdicts["evaluation_id"].max())
        row = newest.filter(pl.col("outcome").is_not_null()).sort("verdict_id").head(1)
        if row.height:
            new = pl.format("{}-{}", "verdict_id", pl.lit(self.evaluations)).alias("verdict_id")
            changed = {"supersedes": pl.col("verdict_id"), "outcome": pl.lit("failed")}
            name = f"review-{self.chance.randrange(10_000)}"
            self.lake.write("verdicts", run_id, name, row.with_columns(new, **changed))

    def land_twice(self) -> None:
        run_id, table = self._benchmark(), self.chance.choice(["cases", "responses"])
        path = self.lake.files(table, run_id)[-1]
        shutil.copyfile(path, path.with_name(f"{path.stem}-again.parquet"))

    def forget(self) -> None:
        """Also of another kind; its files may be removed later."""
        build(self.lake)
        others = query(self.lake, "select run_id from staging.stg_runs where kind <> 'benchmark'")["run_id"]
        run_id = self.chance.choice(sorted([*self.cells, *others]))
        self.cells.pop(run_id, None)
        if run_id not in find_tombstones(self.lake):
            keep_rows(self.lake, run_id)
            Tombstone.of(self.lake, run_id, "retention").write(self.lake)
        if self.chance.random() < 0.7:
            remove_replies(self.lake, run_id)

    def move_away(self) -> None:
        run_id = self._benchmark()
        del self.cells[run_id]
        for folder in (self.lake.root / "lake").glob(f"*/run_id={run_id}"):
            shutil.rmtree(folder)

    def compact(self) -> None:
        compact_run(self.lake, self._benchmark())

    def end(self) -> None:
        """A run is recorded as ended after the build that it ends with, and then compacted."""
        run_id = self._benchmark()
        self.record(run_id, "aggregating")
        build(self.lake)
        self.record(run_id, self.chance.choice(["completed", "incomplete"]))
        if self.chance.random() < 0.5:
            compact_run(self.lake, run_id)

    def record(self, run_id: str, state: Any) -> None:
        events = self.lake.read("runs", run_id)
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=events.height)
        event_id = f"9{events.height:025}"
        row = events.tail(1).with_columns(event_id=pl.lit(event_id), state=pl.lit(state), recorded_at=pl.lit(at))
        self.lake.write("runs", run_id, event_id, row)

    def _benchmark(self) -> str:
        return self.chance.choice(sorted(self.cells))

    def _criterion(self) -> Any:
        measure, tolerance = self.chance.choice(["tests", "replies"]), self.chance.choice([0.5, 0.9])
        return self.criterion(measure=measure, tolerance=tolerance)

    def _cell(self, number: int) -> Any:
        expected, numbers = self.reply_makers
        replies = [
            reply
            for template in range(self.chance.randint(1, 4))
            for reply in expected(f"t{template}", *self.chance.choices(OUTCOMES, k=2))
        ]
        return self.cell(replies + numbers("n", 50, self.chance.randint(40, 60)), model=f"simulated/m{number}")


@pytest.fixture
def history(
    hand_made: Any, cell: Any, criterion: Any, reply_makers: Any, probed: Any, talked: Any, attacked: Any
) -> Callable[[int], History]:
    def begin(seed: int) -> History:
        return History(hand_made, random.Random(seed), [probed, talked, attacked], cell, criterion, reply_makers)

    return begin


def differences(lake: Lake) -> list[str]:
    added = contents(lake)
    build(lake, full=True)
    whole = contents(lake)
    return [relation for relation, rows in whole.items() if not rows.equals(added[relation])]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.drill) for seed in (1, 2))])
def test_what_is_added_equals_what_is_built_whole(history, seed):
    own = history(seed)
    for _ in range(5):
        own.change()
        build(own.lake)
    assert differences(own.lake) == []


@pytest.mark.drill
@pytest.mark.parametrize("seed", range(100, 160))
def test_whatever_happened_what_is_added_equals_what_is_built_whole(history, seed):
    own = history(seed)
    for _ in range(own.chance.randint(2, 5)):
        for _ in range(own.chance.randint(1, 6)):
            own.change()
        build(own.lake)
    assert differences(own.lake) == []


def test_rows_of_forgotten_runs_stay_except_for_prompts_and_replies(history):
    own = history(11)
    for way in (own.run, own.run, own.run_other_kind, own.overrule):
        way()
    build(own.lake)
    before = contents(own.lake)
    for run_id in own.lake.runs():
        keep_rows(own.lake, run_id)
        Tombstone.of(own.lake, run_id, "retention").write(own.lake)
    build(own.lake)
    after = contents(own.lake)
    for run_id in own.lake.runs():
        remove_replies(own.lake, run_id)
    build(own.lake)
    assert differences(own.lake) == []
    for model in load_models():
        blanked = before[model.relation].with_columns(
            pl.lit(None, pl.String).alias(name) for name in FREE_TEXTS if name in model.about.columns
        )
        expected = blanked if model.is_kept else blanked.clear()
        assert after[model.relation].sort(pl.all()).equals(expected.sort(pl.all())), model.relation


def test_a_build_without_changes_leaves_the_file_as_it_is(history):
    own = history(7)
    own.run()
    build(own.lake)
    before = own.lake.database.stat()
    build(own.lake)
    assert own.lake.database.stat().st_ino == before.st_ino
    build(own.lake, full=True)
    assert own.lake.database.stat().st_ino != before.st_ino


def test_a_run_that_only_ended_is_not_computed_again(history):
    own = history(7)
    own.run()
    (run_id,) = own.cells
    own.record(run_id, "aggregating")
    compact_run(own.lake, run_id)
    build(own.lake)
    before = own.lake.database.stat()
    own.record(run_id, "completed")
    compact_run(own.lake, run_id)
    build(own.lake)
    assert own.lake.database.stat().st_ino == before.st_ino
    assert differences(own.lake) == []
    own.record(run_id, "incomplete")
    build(own.lake)
    assert query(own.lake, "select state from staging.stg_runs").rows() == [("incomplete",)]
    assert differences(own.lake) == []


def test_a_damaged_file_is_built_anew(history):
    own = history(7)
    own.run()
    build(own.lake)
    expected = contents(own.lake)
    own.lake.database.write_bytes(b"no database")
    build(own.lake)
    assert all(rows.equals(expected[relation]) for relation, rows in contents(own.lake).items())


def test_files_of_runs_that_have_not_changed_are_not_read(history):
    own = history(7)
    own.run()
    build(own.lake)
    (first,), before = own.cells, query(own.lake, PASS_RATES)
    for path in own.lake.files("verdicts", first):
        times = path.stat()
        data = path.read_bytes()
        path.write_bytes(data[:4] + b"\0" * 400 + data[404:])
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    own.run()
    build(own.lake)
    after = query(own.lake, PASS_RATES)
    assert after.filter(run_id=first).equals(before)
    assert after["run_id"].n_unique() == 2


def test_another_release_computes_all_runs_again(history, monkeypatch):
    own = history(7)
    own.run()
    own.run()
    build(own.lake)
    monkeypatch.setattr(increments, "SCHEMA_VERSION", 0)
    for table in TABLES:
        shutil.rmtree(own.lake.folder(table, min(own.cells)), ignore_errors=True)
    before = own.lake.database.stat().st_ino
    build(own.lake)
    assert own.lake.database.stat().st_ino != before
    assert query(own.lake, PASS_RATES)["run_id"].unique().to_list() == [max(own.cells)]


@pytest.mark.parametrize(
    ("name", "sql", "scope"),
    [
        ("marts/a", "select run_id, 1 as a from marts.b", "run"),
        ("marts/b", "select run_id, 1 as a from lake.runs", "history"),
    ],
)
def test_a_model_that_reads_what_its_scope_does_not_have_is_named(tmp_path, name, sql, scope):
    (tmp_path / "marts").mkdir()
    other = "marts/b" if name == "marts/a" else "marts/a"
    about = (
        "{{description: d, scope: {}, grain: [a], columns: {{run_id: {{description: d}}, a: {{description: d}}}}}}"
    )
    (tmp_path / f"{name}.sql").write_text(sql)
    (tmp_path / f"{name}.yml").write_text(about.format(scope))
    (tmp_path / f"{other}.sql").write_text("select 'R' as run_id, 1 as a")
    (tmp_path / f"{other}.yml").write_text(about.format("history" if scope == "run" else "run"))
    with pytest.raises(UndeclaredRelation, match=rf"{name}.sql: its scope is `{scope}`"):
        load_models(tmp_path)
