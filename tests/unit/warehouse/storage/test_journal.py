import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import orjson
import pytest

from biasgrid.warehouse.schema_check import SchemaMismatch
from biasgrid.warehouse.storage.journal import Journal, find_damaged_lines, recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock
from support.paths import ROOT

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def row(number: int, **more: object) -> dict[str, object]:
    return {"run_id": "R1", "response_id": f"r{number}", "request_key": f"k{number}", "cell_id": "cell", **more}


def ids(lake: Lake) -> list[str]:
    return sorted(lake.read("responses")["response_id"])


def test_what_is_appended_lands_as_parquet_and_the_journal_goes(lake):
    journal = Journal(lake, "R1", "cell")
    reply = row(1, text="Sí", received_at=NOW, cost_usd=0, messages=[{"role": "user", "content": "¿?"}])
    journal.append(reply)
    (path,) = journal.land()
    assert path.name.startswith("cell-")
    assert not journal.path.exists()
    landed = lake.read("responses").row(0, named=True)
    assert {name: landed[name] for name in reply} == reply


def test_a_cell_without_responses_lands_nothing(lake):
    assert Journal(lake, "R1", "cell").land() == []
    assert lake.files("responses") == []


def test_every_line_is_there_before_append_returns(lake):
    journal = Journal(lake, "R1", "cell")
    for number in range(3):
        journal.append(row(number))
        assert journal.path.read_bytes().count(b"\n") == number + 1
    journal.close()


def test_a_long_cell_lands_in_segments(lake):
    journal = Journal(lake, "R1", "cell", segment_rows=2)
    for number in range(5):
        journal.append(row(number))
    assert lake.files("responses", "R1") == []
    assert len(journal.land()) == 3
    assert ids(lake) == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    ("received", "kept"),
    [
        ("a\ud83d\ude00b", "a😀b"),
        ("lone \ud800 and \udfff", "lone \ufffd and \ufffd"),
        ("nul \0 here", "nul \0 here"),
        ("line\nbreak\u2028", "line\nbreak\u2028"),
        ("\ufeffmark", "\ufeffmark"),
        ("", ""),
    ],
)
def test_text_keeps_all_that_parquet_can_hold(lake, received, kept):
    journal = Journal(lake, "R1", "cell")
    journal.append(row(1, text=received, messages=[{"role": "user", "content": received}]))
    journal.land()
    assert lake.read("responses")["text"].to_list() == [kept]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"txet": "x"}, "`responses` has no column `txet`"),
        ({"attempts": "two"}, "`responses.attempts` cannot hold a str"),
        ({"input_tokens": 2**63}, "`responses.input_tokens`"),
        ({"request_key": None}, "`responses.request_key` is missing"),
    ],
)
def test_a_row_that_could_not_land_is_refused_when_it_is_appended(lake, more, named):
    journal = Journal(lake, "R1", "cell")
    with pytest.raises(SchemaMismatch) as caught:
        journal.append(row(1) | more)
    assert named in str(caught.value)
    assert not journal.path.exists()


def test_a_torn_last_line_is_dropped_and_the_rest_is_kept(lake):
    journal = Journal(lake, "R1", "cell")
    for number in range(3):
        journal.append(row(number, text="a long enough reply"))
    journal.close()
    with journal.path.open("r+b") as file:
        file.truncate(journal.path.stat().st_size - 9)
    assert recover(lake) == 2
    assert ids(lake) == ["r0", "r1"]
    assert not journal.path.exists()


def test_going_on_after_a_torn_line_spoils_no_other(lake):
    journal = Journal(lake, "R1", "cell")
    journal.append(row(1))
    journal.close()
    with journal.path.open("ab") as file:
        file.write(b'{"run_id": "R1", "respo')
    again = Journal(lake, "R1", "cell")
    again.append(row(2))
    again.land()
    assert ids(lake) == ["r1", "r2"]


def test_a_line_with_a_flipped_bit_is_named_and_its_neighbours_survive(lake):
    chance = random.Random(3)
    for number in range(150):
        run_id = f"R{number}"
        journal = Journal(lake, run_id, "cell")
        for own in range(4):
            messages = [{"role": "user", "content": "¿?"}] if own % 2 else None
            journal.append(row(own, text="reply", messages=messages) | {"run_id": run_id})
        journal.close()
        before = journal.path.read_bytes()
        data = bytearray(before)
        starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n"))]
        place = chance.choice([chance.randrange(len(data)), chance.choice(starts[:-1]), len(data) - 1])
        data[place] ^= 1 << chance.randrange(8)
        journal.path.write_bytes(data)
        recover(lake, run_id)
        struck = before[:place].count(b"\n")
        found = lake.read("responses", run_id)
        assert {*range(4)} - {int(own[1:]) for own in found["response_id"]} <= {struck}
        assert set(found["text"]) == {"reply"}
        named = find_damaged_lines(lake, run_id)
        assert bool(named) == (found.height < 4)
        assert all(f"run `{run_id}` was damaged" in str(problem) for problem in named)


@pytest.mark.parametrize(
    "junk",
    [
        b"[" * 50_000,
        b'{"a": 1e300, "rows": -1}\n',
        b"\x80\x04\x95\n.",
        b"\0" * 100,
        b"PAR1" * 9 + b"\n" + b"PAR1",
        '{"a"}'.encode("utf-16"),
    ],
)
def test_a_file_in_a_journals_place_is_named_and_kept(lake, junk):
    journal = Journal(lake, "R1", "cell")
    journal.append(row(1))
    journal.close()
    journal.path.write_bytes(junk)
    assert recover(lake) == 0
    assert len(find_damaged_lines(lake)) == 1
    (kept,) = journal.path.parent.glob("*.damaged")
    assert kept.read_bytes().splitlines() == junk.splitlines()


def test_lines_without_checksums_are_read(lake):
    journal = Journal(lake, "R1", "cell")
    journal.path.parent.mkdir(parents=True)
    journal.path.write_bytes(orjson.dumps(row(1, text="old")) + b"\n")
    journal.append(row(2, text="new"))
    journal.land()
    assert sorted(lake.read("responses")["text"]) == ["new", "old"]


def test_a_kill_between_landing_and_unlinking_leaves_no_double(lake):
    journal = Journal(lake, "R1", "cell")
    journal.append(row(1))
    journal.append(row(2))
    journal.close()
    lines = journal.path.read_bytes()
    journal.land()
    journal.path.write_bytes(lines + lines)
    assert recover(lake, "R1") == 0
    assert ids(lake) == ["r1", "r2"]
    assert not journal.path.exists()


def test_recovering_removes_what_killed_writers_left(lake):
    journal = Journal(lake, "R1", "cell")
    journal.append(row(1))
    journal.land()
    partial = lake.folder("responses", "R1") / ".01ABC.partial"
    partial.write_bytes(b"half a file")
    assert lake.read("responses").height == 1
    Journal(lake, "R1", "other").append(row(2))
    assert recover(lake) == 1
    assert not partial.exists()


def test_recovering_a_lake_without_journals_does_nothing(lake):
    assert recover(lake) == 0
    assert not lake.root.joinpath("lake").exists()


WRITER = """
import sys
from pathlib import Path
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.run_lock import RunLock
from biasgrid.warehouse.storage.lake import Lake

lake = Lake(Path(sys.argv[1]))
with RunLock(lake, "R1", *sys.argv[2:]):
    journal = Journal(lake, "R1", "cell")
    for number in range(10**9):
        journal.append({
            "run_id": "R1", "response_id": f"r{number}", "request_key": f"k{number}", "text": "No. " * 40
        })
        if number % 100 == 0:
            print(number, flush=True)
"""


RECOVERER = """
import sys
from pathlib import Path
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake

recover(Lake(Path(sys.argv[1])), "R1")
"""


def writer(lake: Lake, *part: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(lake.root), *part], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    return process


def test_a_killed_writer_loses_nothing_that_it_had_appended(lake):
    with writer(lake) as process:
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)
        assert process.stdout is not None
        printed = process.stdout.read().split()
    rescued = recover(lake, "R1")
    assert rescued > int((printed or ["0"])[-1])
    numbers = sorted(int(response_id[1:]) for response_id in ids(lake))
    assert numbers == list(range(rescued))


def test_a_run_that_another_process_writes_is_left_alone(lake):
    with writer(lake) as process:
        try:
            with pytest.raises(RunBusy, match="R1"):
                recover(lake, "R1")
            with pytest.raises(RunBusy), RunLock(lake, "R1"):
                pass
            assert recover(lake) == 0
            assert lake.journal_folder("R1").joinpath("cell.jsonl").exists()
        finally:
            process.kill()
    assert recover(lake) > 0


def test_parts_of_a_run_are_written_side_by_side_and_none_writes_the_whole_meanwhile(lake):
    with writer(lake, "one") as process:
        try:
            with RunLock(lake, "R1", "another"):
                pass
            with pytest.raises(RunBusy), RunLock(lake, "R1", "one"):
                pass
            with pytest.raises(RunBusy), RunLock(lake, "R1"):
                pass
        finally:
            process.kill()
    with RunLock(lake, "R1"):
        pass


def test_no_part_begins_while_another_process_writes_the_whole_run(lake, monkeypatch):
    monkeypatch.setattr("biasgrid.warehouse.storage.run_lock.BEGINNING_S", 0.1)
    with writer(lake) as process:
        try:
            with pytest.raises(RunBusy), RunLock(lake, "R1", "one"):
                pass
        finally:
            process.kill()


def test_going_on_with_a_part_lands_its_own_cells_alone(lake):
    for cell, number in (("own", 1), ("other", 2)):
        left_over = Journal(lake, "R1", cell)
        left_over.append(row(number))
        left_over.close()
    partial = lake.folder("responses", "R1") / ".of-another-process.partial"
    partial.parent.mkdir(parents=True)
    partial.touch()
    assert recover(lake, "R1", part="one", cells=["own"]) == 1
    assert ids(lake) == ["r1"]
    assert lake.journal_folder("R1").joinpath("other.jsonl").exists()
    assert partial.exists()


def test_who_writes_a_run_can_recover_it_and_keeps_its_lock(lake):
    left_over = Journal(lake, "R1", "cell")
    left_over.append(row(1))
    left_over.close()
    with RunLock(lake, "R1"):
        assert recover(lake, "R1") == 1
        refused = subprocess.run(
            [sys.executable, "-c", RECOVERER, str(lake.root)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert "RunBusy" in refused.stderr
