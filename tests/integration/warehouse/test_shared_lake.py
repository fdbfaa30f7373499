"""A lake on object storage, mirrored by machines: here, lakes with caches of their own."""

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.operations.backup import back_up, restore
from biasgrid.flows.operations.lake_verification import verify_lake
from biasgrid.flows.results.retention import forget
from biasgrid.tasks.generate.stored_plans import has_plan, read_plan, write_plan
from biasgrid.warehouse.build.build import build, connect, hold_build_lock, query
from biasgrid.warehouse.storage.compaction import compact_run
from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.journal import Journal, recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.objects import bucket, clouds, leases, uploader
from biasgrid.warehouse.storage.objects.leases import Lease, LeaseTaken
from biasgrid.warehouse.storage.objects.leases import Machine as MachineOf
from biasgrid.warehouse.storage.objects.mirror import SharedStorage
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock
from biasgrid.warehouse.storage.runs import all_runs
from biasgrid.warehouse.storage.tombstones import find_tombstones
from support.s3_server import on_all, on_azure, on_both

pytestmark = pytest.mark.drill

WHERE = "s3://lakes/team"
Machine = Callable[[str], Lake]


@pytest.fixture
def machine(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The lake as a machine of that name sees it."""

    def lake(name: str) -> Lake:
        monkeypatch.setenv("BIASGRID_CACHE", str(tmp_path / name))
        return Lake.open(s3.address)

    return lake


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is given up at once."""
    monkeypatch.setattr(bucket, "PATIENT", {"max_retries": 0})


def row(number: int, **more: object) -> dict[str, object]:
    fields = {"run_id": "R1", "response_id": f"r{number}", "request_key": f"k{number}", "case_id": f"c{number}"}
    return {**fields, "cell_id": "cell", "purpose": "subject", **more}


def event(number: int) -> pl.DataFrame:
    return pl.DataFrame([{"run_id": "R1", "event_id": str(number), "state": "running"}])


def ids(lake: Lake) -> list[str]:
    return sorted(lake.read("responses")["response_id"])


@on_all
def test_what_one_machine_writes_another_reads(machine, s3):
    here, there = machine("here"), machine("there")
    here.write("runs", "R1", "1", event(1))
    assert there.runs() == ["R1"]
    assert s3.names("team/lake") == ["team/lake/runs/run_id=R1/1.parquet"]
    assert here.root != there.root


@on_all
def test_what_another_machine_replaces_is_read_anew(machine):
    here, there = machine("here"), machine("there")
    here.write("runs", "R1", "1", event(1))
    assert there.read("runs")["event_id"].to_list() == ["1"]
    here.write("runs", "R1", "1", pl.concat([event(1), event(2)]))
    assert there.read("runs")["event_id"].to_list() == ["1", "2"]


def test_what_has_been_fetched_or_written_here_is_not_fetched_again(machine, s3):
    here, there = machine("here"), machine("there")
    here.write("runs", "R1", "1", event(1))
    there.read("runs")
    s3.requests.clear()
    here.read("runs")
    there.read("runs")
    assert [method for method, path in s3.requests if path.endswith(".parquet")] == []


@on_all
def test_what_was_deleted_from_the_bucket_goes_from_the_mirror(machine):
    here, there = machine("here"), machine("there")
    path = here.write("runs", "R1", "1", event(1))
    assert there.runs() == ["R1"]
    assert here.shared
    here.shared.bucket.remove(here.shared.name(path))
    assert there.runs() == []
    assert list(there.root.rglob("*.parquet")) == []


def test_two_addresses_or_servers_never_share_a_mirror(s3, monkeypatch):
    roots = {Lake.at(named).root for named in ("s3://lakes/a", "s3://lakes/b", "s3://lakes")}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert len(roots | {Lake.at("s3://lakes/a").root}) == 4


@on_both
def test_plans_and_the_warehouse_are_shared_too(machine):
    here, there = machine("here"), machine("there")
    write_plan(here, "p1", pl.DataFrame({"a": [1]}))
    here.write("runs", "R1", "1", event(1))
    build(here)
    assert has_plan(there, "p1")
    assert read_plan(there, "p1")["a"].to_list() == [1]
    assert query(there, "select run_id from staging.stg_runs")["run_id"].to_list() == ["R1"]


@on_both
def test_files_compacted_on_one_machine_are_read_and_replaced_on_another(machine, s3):
    here, there = machine("here"), machine("there")
    here.write("runs", "R1", "1", event(1).with_columns(state=pl.lit("completed")))
    for number in range(3):
        cell = f"cell-{number}"
        here.write("responses", "R1", cell, pl.DataFrame([row(number, cell_id=cell, provider="p", model="p/m")]))
    expected = ids(there)
    compact_run(here, "R1")
    assert ids(there) == ids(here) == expected
    build(here)
    assert len(s3.names("team/lake/responses")) == 1
    assert ids(there) == expected
    changed = pl.DataFrame([row(9, cell_id="cell-1", provider="p", model="p/m")])
    there.write("responses", "R1", "cell-1", changed)
    assert ids(there) == ids(here) == ["r0", "r2", "r9"]
    assert here.read("responses", "R1", "cell-1")["response_id"].to_list() == ["r9"]
    compact_run(here, "R1")
    build(there)
    assert len(s3.names("team/lake/responses")) == 1
    assert ids(there) == ids(here) == ["r0", "r2", "r9"]
    assert verify_lake(there).damage == []


def test_a_run_forgotten_on_one_machine_is_forgotten_on_all(machine, s3, tmp_path):
    here, there = machine("here"), machine("there")
    here.write("runs", "R1", "1", event(1).with_columns(state=pl.lit("completed")))
    here.write("responses", "R1", "all", pl.DataFrame([row(1, provider="p", model="p/m")]))
    assert ids(there) == ["r1"]
    there.journal_folder("R1").mkdir(parents=True)
    assert forget(here, all_runs(here), "retention", "marts") == []
    assert (ids(there), s3.names("team/lake/responses"), s3.names("team/journal")) == ([], [], [])
    assert find_tombstones(there)["R1"].removed[0]["rows"] == 1
    build(there, full=True)
    assert query(there, "select run_id from staging.stg_runs")["run_id"].to_list() == ["R1"]


def test_a_backup_of_shared_storage_has_the_replies_under_way(machine, tmp_path):
    here, there = machine("here"), machine("there")
    here.write("responses", "R1", "all", pl.DataFrame([row(1)]))
    with RunLock(here, "R1"):
        Journal(here, "R1", "cell").append(row(2))
    back_up(there, tmp_path / "backup")
    restored = Lake(tmp_path / "restored")
    restore(tmp_path / "backup", restored)
    recover(restored)
    assert ids(restored) == ["r1", "r2"]


@on_both
@pytest.mark.parametrize("sent", range(3))
def test_a_restore_into_an_empty_prefix_is_finished_after_a_kill(machine, tmp_path, monkeypatch, sent):
    folder, here, there, source = tmp_path / "backup", machine("here"), machine("there"), Lake(tmp_path / "source")
    source.write("runs", "R1", "1", event(1))
    source.write("responses", "R1", "all", pl.DataFrame([row(1)]))
    compact_run(source, "R1")
    Journal(source, "R1", "cell").append(row(2))
    back_up(source, folder)
    left, publish = [None] * sent, SharedStorage.publish

    def publish_some(self: SharedStorage, written: Path, path: Path) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        publish(self, written, path)

    with monkeypatch.context() as killed, suppress(KeyboardInterrupt):
        killed.setattr(SharedStorage, "publish", publish_some)
        restore(folder, here)
    restore(folder, here)
    recover(here)
    assert ids(there) == ids(here) == ["r1", "r2"]
    assert verify_lake(there).damage == []
    with pytest.raises(UserError, match="name an empty prefix"):
        restore(folder, there, force=True)


@on_both
@pytest.mark.drill
def test_an_open_warehouse_stays_while_a_new_one_is_published(machine):
    here, there = machine("here"), machine("there")
    here.write("runs", "R1", "1", event(1))
    build(here)
    runs = "select count(*) from staging.stg_runs"
    with connect(there) as session:
        here.write("runs", "R2", "1", event(1).with_columns(run_id=pl.lit("R2")))
        build(here)
        assert query(there, runs).item() == 2
        assert session.sql(runs).fetchall() == [(1,)]


@pytest.mark.usefixtures("impatient")
def test_a_file_that_cannot_be_sent_has_not_landed_anywhere(machine, s3):
    here = machine("here")
    s3.refuses = lambda method, path: "500 Failed" if method == "PUT" and path.endswith(".parquet") else None
    with pytest.raises(StorageTrouble, match=r"s3://lakes/team/lake/runs/run_id=R1/1\.parquet"):
        here.write("runs", "R1", "1", event(1))
    s3.refuses = lambda *_: None
    assert here.runs() == []
    assert [path for path in here.root.rglob("*") if path.is_file()] == []


@pytest.mark.usefixtures("impatient")
def test_an_upload_that_breaks_off_in_the_midst_never_shows(machine, s3, tmp_path):
    here = machine("here")
    assert here.shared
    (tmp_path / "large").write_bytes(os.urandom(12 * 2**20))
    here.shared.bucket.put_bytes(b"old", "biasgrid.duckdb")
    parts: list[str] = []

    def after_one(method: str, path: str) -> str | None:
        parts.extend([path] if method == "PUT" else [])
        return "500 Failed" if method == "PUT" and len(parts) > 1 else None

    s3.refuses = after_one
    with pytest.raises(StorageTrouble):
        here.shared.bucket.put(tmp_path / "large", "biasgrid.duckdb")
    assert len(parts) > 1
    s3.refuses = lambda *_: None
    assert here.shared.bucket.read("biasgrid.duckdb") == b"old"


@on_all
def test_a_journal_is_sent_in_segments_which_go_when_it_lands(machine, s3, monkeypatch):
    monkeypatch.setattr(uploader, "EVERY_S", 0.05)
    here = machine("here")
    with RunLock(here, "R1"):
        journal = Journal(here, "R1", "cell")
        journal.append(row(1))
        eventually(lambda: len(s3.names("team/journal/run_id=R1/cell/")) == 1)
        journal.append(row(2))
        eventually(lambda: len(s3.names("team/journal/run_id=R1/cell/")) == 2)
        journal.land()
        assert s3.names("team/journal") == []
    assert s3.names("team/locks") == []
    assert ids(machine("there")) == ["r1", "r2"]


def test_a_cell_that_lands_within_two_seconds_sends_no_segment(machine, s3):
    here = machine("here")
    with RunLock(here, "R1"):
        journal = Journal(here, "R1", "cell")
        journal.append(row(1))
        journal.land()
    assert [path for _, path in s3.requests if "/journal/" in path] == []


LOST = """
import os, sys, time
from biasgrid.warehouse.storage.objects import uploader
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.objects.leases import Lease
from biasgrid.warehouse.storage.objects.leases import Machine as MachineOf
from biasgrid.warehouse.storage.objects.mirror import SharedStorage
from biasgrid.warehouse.storage.run_lock import RunLock
uploader.EVERY_S = 0.1
lake = Lake.open(sys.argv[1])
RunLock(lake, "R1").__enter__()
journal = Journal(lake, "R1", "cell")
for number in (1, 2):
    journal.append(ROW | {"response_id": f"r{number}", "request_key": f"k{number}", "case_id": f"c{number}"})
while not lake.shared.bucket.list_objects("journal"):
    time.sleep(0.02)
uploader.EVERY_S = 60
time.sleep(0.3)
journal.append(ROW | {"response_id": "r3", "request_key": "k3", "case_id": "c3"})
os._exit(9)
"""


@pytest.fixture
def lost(machine: Machine, s3: Any) -> Lake:
    """The lake of a machine that went while it wrote run R1: r1 and r2 had been sent, r3 had not."""
    here = machine("lost")
    program = LOST.replace("ROW", repr({"run_id": "R1", "cell_id": "cell", "purpose": "subject"}))
    subprocess.run([sys.executable, "-c", program, s3.address], env=dict(os.environ), check=False)
    return here


@on_all
def test_what_a_lost_machine_had_sent_lands_from_another(lost, machine, s3):
    s3.age("team/locks/", 61)
    there = machine("there")
    assert recover(there) == 2
    assert ids(there) == ["r1", "r2"]
    assert (s3.names("team/journal"), s3.names("team/locks")) == ([], [])


@on_all
def test_what_it_had_not_sent_lands_when_it_is_back(lost, s3):
    assert recover(lost, "R1") == 3
    assert ids(lost) == ["r1", "r2", "r3"]
    assert s3.names("team/journal") == []


@on_all
def test_what_was_asked_again_meanwhile_is_not_doubled(lost, machine, s3):
    s3.age("team/locks/", 61)
    there = machine("there")
    with RunLock(there, "R1"):
        recover(there, "R1")
        journal = Journal(there, "R1", "cell")
        journal.append(row(3, response_id="again"))
        journal.land()
    assert recover(lost) == 0
    assert ids(lost) == ["again", "r1", "r2"]


@on_all
def test_a_run_is_written_by_one_machine_at_a_time(machine):
    here, there = machine("here"), machine("there")
    with RunLock(here, "R1"), RunLock(there, "R2"):
        with pytest.raises(RunBusy, match="ends after 60 s"):
            recover(there, "R1")
        assert recover(there) == 0
    with RunLock(there, "R1"):
        pass


@on_all
def test_a_lost_machine_keeps_a_run_for_a_minute(lost, machine, s3):
    there = machine("there")
    assert is_busy(RunLock(there, "R1"))
    s3.age("team/locks/", 61)
    with RunLock(there, "R1"):
        pass


@on_all
def test_a_machine_goes_on_at_once_where_its_own_process_was_killed(lost):
    with RunLock(lost, "R1"):
        pass


@pytest.mark.drill
@on_all
def test_parts_of_a_run_are_written_side_by_side_and_no_one_gets_the_whole(machine):
    parent, one, other = machine("parent"), machine("one"), machine("other")
    with RunLock(parent, "R1"):
        assert is_busy(RunLock(one, "R1", "a/model"))
    with RunLock(one, "R1", "a/model"), RunLock(other, "R1", "another/model"):
        assert is_busy(RunLock(other, "R1", "a/model"))
        assert is_busy(RunLock(parent, "R1"))


@on_both
def test_who_recovers_a_part_leaves_the_cells_of_others_alone(machine, s3, monkeypatch):
    here, there = machine("here"), machine("there")
    assert here.shared
    here.shared.bucket.put_bytes(b'{"run_id":"R1","response_id":"r1","request_key":"k1"}\n', segment("mine"))
    here.shared.bucket.put_bytes(b'{"run_id":"R1","response_id":"r2","request_key":"k2"}\n', segment("judge-mine"))
    here.shared.bucket.put_bytes(b'{"run_id":"R1","response_id":"r3","request_key":"k3"}\n', segment("another"))
    assert recover(there, "R1", part="a/model", cells=["mine"]) == 2
    assert s3.names("team/journal") == [f"team/{segment('another')}"]


def segment(cell_id: str) -> str:
    return f"journal/run_id=R1/{cell_id}/01.jsonl"


@pytest.mark.usefixtures("impatient")
def test_a_server_that_goes_stops_the_run_and_keeps_its_replies_here(machine, s3, monkeypatch):
    monkeypatch.setattr(uploader, "EVERY_S", 0.05)
    here = machine("here")
    with pytest.raises(StorageTrouble, match="biasgrid resume R1"), RunLock(here, "R1"):  # noqa: PT012
        s3.refuses = lambda *_: "500 Failed"
        ask_for_long(here)
    s3.refuses = lambda *_: None
    kept = recover(here, "R1")
    assert 0 < kept < 200
    assert len(ids(here)) == kept


@on_all
def test_a_machine_that_was_offline_notices_that_another_has_its_run(machine, s3, monkeypatch):
    here, there = machine("here"), machine("there")
    monkeypatch.setattr(uploader, "EVERY_S", 0.05)
    monkeypatch.setattr(uploader, "RENEWED_S", 3600.0)
    with pytest.raises(StorageTrouble, match="written by another machine"), RunLock(here, "R1"):  # noqa: PT012
        s3.age("team/locks/", 61)
        with RunLock(there, "R1"):
            monkeypatch.setattr(uploader, "RENEWED_S", 0.0)
            ask_for_long(here)


@on_both
@pytest.mark.drill
def test_machines_build_one_after_the_other(machine, monkeypatch):
    monkeypatch.setattr(leases, "PAUSE_S", 0.01)
    here, there = machine("here"), machine("there")
    waiting = threading.Thread(target=build, args=[there])
    with hold_build_lock(here):
        waiting.start()
        time.sleep(0.5)
        assert not here.has_database()
    waiting.join()
    assert here.has_database()


@on_all
def test_a_machine_that_was_offline_publishes_no_warehouse(machine, s3, monkeypatch):
    monkeypatch.setattr(leases, "RENEWED_S", 0.2)
    here = machine("here")
    here.database.write_bytes(b"older")
    with hold_build_lock(here) as turn:
        assert turn
        assert here.shared
        lease = Lease(here.shared.bucket, "warehouse", MachineOf("there"))

        def takes() -> bool:
            s3.age("team/locks/", 61)
            with suppress(LeaseTaken):
                lease.take()
                return True
            return False

        eventually(takes)
        eventually(lambda: lease.renew() and not turn.is_ours)
        with pytest.raises(StorageTrouble, match="another may have built a newer one"):
            turn.publish(here.database, here.database)
    assert s3.names("team/biasgrid.duckdb") == []
    lease.give_back()


def test_no_key_is_kept_with_a_lake(machine):
    here = machine("here")
    here.write("runs", "R1", "1", event(1))
    pickled = pickle.dumps(here)
    assert b"swordfish" not in pickled
    assert b"anna" not in pickled
    assert pickle.loads(pickled).runs() == ["R1"]
    files = [path for path in here.root.rglob("*") if path.is_file()]
    assert all(b"swordfish" not in path.read_bytes() for path in files)


def test_a_mirror_is_for_its_owner_alone(machine):
    assert machine("here").root.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9", "does not answer"),
        ("AWS_ENDPOINT_URL", "127.0.0.1:9000", "no address of a server"),
        ("AWS_ENDPOINT_URL", "http://anna:swordfish@127.0.0.1", "no address of a server"),
        ("AWS_SECRET_ACCESS_KEY", "", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_ACCESS_KEY_ID", "mallory", "access is denied"),
    ],
)
def test_storage_that_cannot_be_used_is_one_mistake(s3, monkeypatch, setting, value, expected):
    s3.knows = "anna"
    monkeypatch.setenv(setting, value)
    with pytest.raises(UserError, match=expected) as refused:
        Lake.open(WHERE)
    assert not isinstance(refused.value, StorageTrouble)
    assert "swordfish" not in str(refused.value)


@on_all
def test_a_bucket_that_is_not_there_is_a_mistake(s3):
    with pytest.raises(UserError, match=r"there is no such (bucket|container)"):
        Lake.open(s3.address.replace("lakes", "another"))


@pytest.mark.parametrize("s3", [on_azure], indirect=True)
@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("AZURE_STORAGE_ACCOUNT_KEY", "c3dvcmRmaXNo", "access is denied"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "swordfish!", "keys or settings of the environment are invalid"),
        ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9/anna", "does not answer"),
    ],
)
def test_a_container_that_cannot_be_used_is_one_mistake(s3, monkeypatch, setting, value, expected):
    monkeypatch.setenv(setting, value)
    with pytest.raises(UserError, match=expected) as refused:
        Lake.open(s3.address)
    assert value not in str(refused.value) or setting.endswith("ENDPOINT")


@pytest.mark.parametrize(
    ("address", "environment", "expected"),
    [
        ("az://lakes/team", {}, "no keys for Azure Blob Storage: `AZURE_STORAGE_ACCOUNT_NAME` not set"),
        (
            "az://lakes/team",
            {"AZURE_STORAGE_ACCOUNT_NAME": "anna", "AZURE_STORAGE_ENDPOINT": "http://127.0.0.1:9/anna"},
            "no keys for Azure Blob Storage: `AZURE_STORAGE_ACCOUNT_KEY` not set",
        ),
        ("gs://lakes/team", {"STORAGE_EMULATOR_HOST": "http://127.0.0.1:9"}, "the server does not answer"),
        ("gs://lakes/team", {"STORAGE_EMULATOR_HOST": "127.0.0.1:9"}, "no address of a server"),
        (
            "gs://lakes/team",
            {"GOOGLE_SERVICE_ACCOUNT": "/nowhere/anna.json"},
            "settings of the environment are invalid",
        ),
    ],
)
def test_clouds_without_keys_or_servers_are_one_mistake(monkeypatch, address, environment, expected):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=expected):
        Lake.open(address)


def test_the_keys_of_a_profile_are_used(s3, monkeypatch, tmp_path):
    s3.knows = "anna"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with pytest.raises(UserError, match="the profile `work` has no keys of its own"):
        Lake.open(WHERE)
    keys = "aws_access_key_id = anna\naws_secret_access_key = swordfish\n"
    (tmp_path / "credentials").write_text(f"[work]\n{keys}")
    assert not Lake.open(WHERE).exists


def test_a_bucket_that_cannot_be_written_can_be_read(machine, s3):
    machine("here").write("runs", "R1", "1", event(1))
    s3.refuses = lambda method, _: "403 Forbidden" if method == "PUT" else None
    with pytest.raises(UserError, match="cannot be written: access is denied"):
        machine("there")
    assert Lake.at(WHERE).runs() == ["R1"]


@pytest.mark.drill
def test_a_moment_without_the_server_is_waited_out(machine, s3):
    here = machine("here")
    failures = iter(["503 Slow Down", "503 Slow Down"])
    s3.refuses = lambda method, _: next(failures, None) if method == "PUT" else None
    here.write("runs", "R1", "1", event(1))
    assert here.runs() == ["R1"]


@pytest.mark.parametrize(
    ("method", "request_of"),
    [
        ("PUT", lambda storage, _: storage.send(b"new", "object")),
        ("PUT", lambda storage, version: storage.put_if(b"new", "object", version)),
        ("GET", lambda storage, _: storage.list_objects("")),
        ("GET", lambda storage, _: storage.read("object")),
        ("HEAD", lambda storage, _: storage.find_object("object")),
        ("POST", lambda storage, _: storage.remove_all("") or not storage.list_objects("")),
    ],
)
def test_a_request_that_is_answered_late_is_repeated(machine, s3, monkeypatch, method, request_of):
    monkeypatch.setitem(clouds.CLIENT, "read_timeout", timedelta(seconds=0.3))
    shared, late = machine("here").shared, []
    assert shared
    version = shared.bucket.put_bytes(b"old", "object").version

    def delay(asked: str, _path: str) -> None:
        if asked == method and not late:
            late.append(asked)
            time.sleep(0.6)

    s3.refuses = delay
    assert request_of(shared.bucket, version) is not False
    assert late


def is_busy(lock: RunLock) -> bool:
    try:
        with lock:
            return False
    except RunBusy:
        return True


def ask_for_long(lake: Lake) -> None:
    """A reply each hundredth of a second, for two seconds."""
    journal = Journal(lake, "R1", "cell")
    try:
        for number in range(200):
            journal.append(row(number))
            time.sleep(0.01)
    finally:
        journal.close()


def eventually(happens: Callable[[], bool]) -> None:
    for _ in range(500):
        if happens():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def test_the_same_address_is_one_storage_in_a_process(s3):
    assert Lake.at(WHERE).shared is Lake.at(f"{WHERE}/").shared
