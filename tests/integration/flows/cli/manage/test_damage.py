"""Flipped bits and replaced files of every kind: whatever they change is named, and nothing is executed."""

import os
import pickle
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest

from biasgrid.flows.operations.lake_verification import verify_lake
from biasgrid.flows.results.retention import forget
from biasgrid.tasks.generate.stored_plans import has_plan, plan_path, read_plan, write_plan
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.storage.compaction import compact_run
from biasgrid.warehouse.storage.journal import Journal, find_damaged_lines, recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import FILE
from biasgrid.warehouse.storage.runs import all_runs
from support.flows import Canary

pytestmark = pytest.mark.drill

FLIPS = int(os.environ.get("BIASGRID_FLIPS", "14"))
SHOWN = [model.relation for model in load_models() if model.schema == "marts"]


@pytest.fixture
def at(lake: Lake) -> tuple[str, str]:
    return "--data", str(lake.root)


def flip(path: Path, chance: random.Random) -> bytes:
    """Flips one bit of a file; returns what it was."""
    before = path.read_bytes()
    data = bytearray(before)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return before


def replace(path: Path, chance: random.Random) -> bytes:
    """Puts something else in a file's place; returns what it was."""
    before = path.read_bytes()
    others = [other for other in path.parent.iterdir() if other.is_file() and other != path]
    contents = [
        b"",
        before[: len(before) // 2],
        before + before,
        b"[" * 50_000,
        b'{"a": 1e300, "rows": -1}\n',
        pickle.dumps(Canary(executed(path))),
        *(other.read_bytes() for other in others[:1]),
    ]
    path.write_bytes(chance.choice([content for content in contents if content != before]))
    return before


def executed(path: Path) -> Path:
    """The file that a pickle in the place of `path` leaves where it is loaded."""
    return Path(f"{path}.executed")


def show_all(biasgrid: Callable[..., object], lake: Lake, verdict: str) -> list[object]:
    """What a user sees of a data directory: marts, rows with texts, a trace."""
    at = ("--data", lake.root)
    marts = " union all ".join(f"select '{name}' as mart, bit_xor(hash(r)) as h from {name} r" for name in SHOWN)
    return [
        biasgrid("sql", f"select mart, h from ({marts}) order by mart", "--format", "csv", *at),
        biasgrid("sql", "from staging.stg_verdicts order by all", "--format", "csv", *at),
        biasgrid("trace", verdict, "--format", "json", *at),
    ]


def land(lake: Lake) -> None:
    """As files are while a run is written."""


def sign(lake: Lake) -> None:
    (run,) = all_runs(lake)
    compact_run(lake, run.run_id)
    run.record(lake, "completed")


def forget_all(lake: Lake) -> None:
    forget(lake, all_runs(lake), "retention", "evidence")


def kinds_of_files(lake: Lake) -> dict[str, list[Path]]:
    """Also of a journal that has not landed."""
    journal = Journal(lake, "R9", "c")
    for number in range(9):
        reply = {"run_id": "R9", "cell_id": "c", "request_key": "k", "text": "kept"}
        journal.append(reply | {"response_id": f"r{number}"})
    journal.close()
    found: dict[str, list[Path]] = {}
    for path in sorted(path for path in lake.root.rglob("*") if path.is_file()):
        if "locks" not in path.parts:
            found.setdefault(f"{path.relative_to(lake.root).parts[:2]}{path.suffix}", []).append(path)
    return found


def find_missed(shown: Iterable[object], expected: Iterable[object]) -> list[object]:
    """Commands that end with a traceback, or with other output and no message."""
    return [
        one
        for one, right in zip(shown, expected, strict=False)
        if "Traceback" in one.err or one.code not in (0, 2, 3) or (one.code == 0 and one.out != right.out)
    ]


def is_named(built: object, lake: Lake) -> bool:
    """Whether the replies of the journal have landed, or the loss is named."""
    return lake.read("responses", "R9").height == 9 or "journal of cell `c` of run `R9` was damaged" in " ".join(
        built.err.split()
    )


@pytest.mark.parametrize("damage", [flip, replace])
@pytest.mark.parametrize("state", [land, sign, forget_all])
def test_damage_that_changes_what_is_shown_is_named(biasgrid, lake, tmp_path, state, damage):
    chance, verdict = random.Random(20), lake.read("verdicts")["verdict_id"][0]
    state(lake)
    build(lake)
    plan = pl.DataFrame({"text": ["Are they?"] * 9})
    write_plan(lake, "p", plan)
    expected = show_all(biasgrid, lake, verdict)
    assert {shown.code for shown in expected[:2]} == {0}, expected
    kinds, missed = kinds_of_files(lake), []
    assert len(kinds) > 8
    shutil.copytree(lake.root, tmp_path / "whole")
    for number in range(FLIPS):
        kind = chance.choice(sorted(kinds))
        path = chance.choice(kinds[kind])
        before = damage(path, chance)
        is_cut = path.suffix == ".jsonl" and before.startswith(path.read_bytes())  # as a kill leaves a journal
        if path == plan_path(lake, "p"):
            wrong = [path] if has_plan(lake, "p") and not read_plan(lake, "p").equals(plan) else []
        elif path == lake.database:
            wrong = find_missed(show_all(biasgrid, lake, verdict), expected)
        else:
            built = biasgrid("warehouse", "build", "--full", "--data", lake.root)
            own = [built] if built.code else show_all(biasgrid, lake, verdict)
            unnamed = built.code == 0 and not is_cut and not is_named(built, lake)
            wrong = find_missed(own, expected if built.code == 0 else [built]) + [path] * unnamed
        wrong += [executed(path)] * executed(path).exists()
        missed += [(number, kind, path.name, one) for one in wrong]
        shutil.rmtree(lake.root)
        shutil.copytree(tmp_path / "whole", lake.root)
    assert missed == []


def test_a_damaged_file_is_named_by_each_command_that_reads_it(biasgrid, lake, at):
    (run,) = all_runs(lake)
    compact_run(lake, run.run_id)
    build(lake)
    (path,) = lake.files("responses")
    flip(path, random.Random(1))
    for words in (
        ["warehouse", "verify"],
        ["warehouse", "build", "--full"],
        ["trace", run.run_id],
        ["sql", "from staging.stg_responses"],
        ["report", "--format", "html", "--out", lake.root / "pages"],
        ["warehouse", "check"],
    ):
        given = biasgrid(*words, *at)
        assert given.code == 3, (words, given)
        assert "the lake is damaged" in given.err
        for part in (path.name, run.run_id, "rows)"):
            assert part in given.err, (words, given)


def test_a_sound_directory_verifies(biasgrid, lake, at):
    given = biasgrid("warehouse", "verify", *at)
    assert (given.code, "restored" in given.out) == (0, False), given
    (run,) = all_runs(lake)
    compact_run(lake, run.run_id)
    build(lake)
    assert biasgrid("warehouse", "verify", *at).code == 0


def test_a_missing_file_is_named(biasgrid, lake, at):
    (run,) = all_runs(lake)
    compact_run(lake, run.run_id)
    build(lake)
    lake.files("verdicts")[0].unlink()
    for words in (["warehouse", "verify"], ["warehouse", "build"]):
        given = biasgrid(*words, *at)
        assert given.code == 3
        assert f"a file of `verdicts` of run `{run.run_id}` is missing" in given.err.replace("\n", " ")


def test_what_can_be_made_again_is_restored(biasgrid, lake, at):
    (run,) = all_runs(lake)
    compact_run(lake, run.run_id)
    build(lake)
    findings = query(lake, "from marts.requirement_findings order by all")
    manifest = lake.manifest_folder(run.run_id) / FILE
    manifest.write_bytes(manifest.read_bytes().replace(b"0", b"1", 1))
    data = bytearray(lake.database.read_bytes())
    for place in range(20_000, len(data), 20_000):
        data[place] ^= 1
    lake.database.write_bytes(data)
    given = biasgrid("warehouse", "verify", *at)
    assert given.code == 0, given
    assert given.out.count("restored:") == 2
    assert query(lake, "from marts.requirement_findings order by all").equals(findings)
    assert biasgrid("warehouse", "verify", *at).out.count("restored:") == 0


def test_a_damaged_file_whose_journal_is_still_there_lands_again(lake):
    reply = {"run_id": "R9", "cell_id": "c", "request_key": "k", "text": "kept"}
    journal = Journal(lake, "R9", "c")
    for number in range(3):
        journal.append(reply | {"response_id": f"r{number}"})
    lines = journal.path.read_bytes()
    (path,) = journal.land()
    flip(path, random.Random(2))
    journal.path.write_bytes(lines)
    found = verify_lake(lake)
    assert found.damage == []
    assert len(found.restored) == 2
    assert lake.read("responses", "R9")["text"].to_list() == ["kept"] * 3


def test_damaged_lines_of_a_journal_are_listed(biasgrid, lake, at):
    journal = Journal(lake, "R9", "c")
    for number in range(3):
        journal.append({"run_id": "R9", "cell_id": "c", "request_key": "k", "response_id": f"r{number}"})
    journal.close()
    journal.path.write_bytes(journal.path.read_bytes().replace(b"r1", b"r7"))
    assert recover(lake) == 2
    assert len(find_damaged_lines(lake)) == 1
    given = biasgrid("warehouse", "verify", *at)
    assert given.code == 3
    assert "journal of cell `c` of run `R9` was damaged: 1 line" in given.err.replace("\n", " ")
