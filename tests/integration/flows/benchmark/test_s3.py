"""Drills: runs whose lake is on object storage, by processes that are machines of their own."""

from collections import Counter
from typing import Any

import orjson
import pytest

from biasgrid.warehouse.storage.lake import Lake
from support.processes import PATIENCE_S
from support.run_processes import wait_for_requests
from support.s3_server import on_both

pytestmark = pytest.mark.drill


@pytest.fixture
def machine(shell: Any, s3: Any) -> Any:
    """A shell with a mirror of its own: `machine(name)`."""

    def make(name: str) -> Any:
        mine = shell(name, place=s3.address)
        mine.environment["BIASGRID_CACHE"] = str(mine.folder / "mirrors")
        return mine

    return make


def sent_keys(s3: Any) -> set[str]:
    """The request keys of the replies that lie in the bucket, as Parquet or as segments of journals."""
    lake = Lake.at(s3.address)
    assert lake.shared
    segments = (lake.shared.bucket.read(name) for name in lake.shared.bucket.list_objects("journal"))
    lines = [orjson.loads(line) for segment in segments for line in segment.splitlines()]
    return {*lake.read("responses")["request_key"], *(row["request_key"] for row in lines)}


@on_both
def test_a_run_finds_the_same_there_as_on_a_disk(machine, shell, scenario_file):
    models = ["simulated/fair", "simulated/biased", "simulated/refuser"]
    path = scenario_file(models, templates=4)
    local, shared = shell("local"), machine("shared")
    codes = {mine.finish("run", path)[0] for mine in (local, shared)}
    assert len(codes) == 1
    assert shared.findings() == local.findings()

    code, out, err = machine("another").finish("sql", "select count(*) n from marts.pass_rates", "--format", "csv")
    assert (code, out.split()) == (0, ["n", str(len(models) * 2)]), err


@on_both
def test_a_run_goes_on_at_another_machine_after_the_first_is_lost(machine, s3, slow, asked):
    lost, there = machine("lost"), machine("there")
    lost.kill(slow, 120, "run", asked)
    before, arrived = Counter(slow.prompts()), sent_keys(s3)
    assert arrived
    code, _, err = there.finish("resume")
    assert (code, "is being written by another process" in err) == (2, True), err

    s3.age("team/locks/", 61)
    there.complete("resume")
    assert there.run().state == "completed"
    assert s3.names("team/journal") == s3.names("team/locks") == []
    prompts = there.prompts()
    again = Counter(slow.prompts()) - before
    assert not {prompts[key] for key in arrived} & set(again)
    replies = there.lake.read("responses")
    assert replies.height == replies["request_key"].n_unique() == len(prompts)


def test_a_server_that_goes_ends_the_run_and_no_reply_is_asked_for_twice(machine, s3, slow, asked):
    here = machine("here")
    process = here.start("run", asked)
    wait_for_requests(slow, 60, process)
    s3.refuses = lambda *_: "500 Failed"
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in out + err) == (3, False), err
    assert "s3://lakes/team/" in err
    assert "biasgrid resume" in err
    s3.refuses = lambda *_: None

    here.complete("resume")
    assert Counter(slow.prompts()).most_common(1)[0][1] == 1
    assert here.run().state == "completed"
