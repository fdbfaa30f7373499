"""Flipped bits in every kind of file: whatever they change is named."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid.flows.operations.lake_verification import verify_lake
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.storage.compaction import compact_run
from biasgrid.warehouse.storage.journal import Journal, find_damaged_lines, recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import FILE
from biasgrid.warehouse.storage.runs import all_runs

FLIPS = int(os.environ.get("BIASGRID_FLIPS", "40"))
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


class Shown:
    """What a user sees of a data directory: marts, rows with texts, a trace."""

    def __init__(self, biasgrid: Callable[..., object], lake: Lake) -> None:
        self.biasgrid, self.lake = biasgrid, lake
        self.verdict = lake.read("verdicts")["verdict_id"][0]

    def all(self) -> list[object]:
        at = ("--data", self.lake.root)
        marts = " union all ".join(
            f"select '{name}' as mart, bit_xor(hash(r)) as h from {name} r" for name in SHOWN
        )
        return [
            self.biasgrid("sql", f"select mart, h from ({marts}) order by mart", "--format", "csv", *at),
            self.biasgrid("sql", "from staging.stg_verdicts order by all", "--format", "csv", *at),
            self.biasgrid("trace", self.verdict, "--format", "json", *at),
        ]


def kinds_of_files(lake: Lake) -> dict[str, list[Path]]:
    """Those that commands read; plans have a seal, and a run that finds it broken plans again."""
    found: dict[str, list[Path]] = {}
    for path in sorted(path for path in lake.root.rglob("*") if path.is_file()):
        if not {"locks", "plans"} & {*path.parts}:
            found.setdefault(f"{path.relative_to(lake.root).parts[:2]}{path.suffix}", []).append(path)
    return found


@pytest.mark.drill
def test_every_flipped_bit_that_changes_what_is_shown_is_named(biasgrid, lake):
    chance = random.Random(20)
    (run,) = all_runs(lake)
    compact_run(lake, run.run_id)
    run.record(lake, "completed")
    build(lake)
    own = Shown(biasgrid, lake)
    expected = own.all()
    assert all(shown.code == 0 for shown in expected), expected
    kinds, missed = kinds_of_files(lake), []
    for number in range(FLIPS):
        kind = chance.choice(sorted(kinds))
        path = chance.choice(kinds[kind])
        database = lake.database.read_bytes()
        before = flip(path, chance)
        if path == lake.database:
            shown = own.all()
        else:
            built = biasgrid("warehouse", "build", "--full", "--data", lake.root)
            shown = own.all() if built.code == 0 else [built]
        for one, right in zip(shown, expected, strict=False):
            if "Traceback" in one.err or one.code not in (0, 2, 3) or (one.code == 0 and one.out != right.out):
                missed.append((number, kind, path.name, one.code, one.err[-800:]))
        path.write_bytes(before)
        lake.database.write_bytes(database)
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
