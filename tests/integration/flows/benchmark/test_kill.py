"""Drills: runs that are killed, interrupted or left alone, as processes of their own."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from biasgrid.warehouse.storage.runs import all_runs
from support.prefect_server import prefect_server
from support.processes import PATIENCE_S, kill_group, wait_until
from support.run_processes import wait_for_requests

pytestmark = pytest.mark.drill

AT_ONCE = 8


def test_a_kill_while_a_run_is_planned_leaves_a_run_that_can_go_on(shell, slow, asked):
    mine = shell("planning")
    process = mine.start("run", asked)
    while not all_runs(mine.lake):
        assert process.poll() is None, process.communicate()
    kill_group(process)
    assert (mine.run().state, slow.bodies) == ("planning", [])
    assert " killed " in mine.finish("runs")[1]
    code, out, _ = mine.finish("show")
    begun = f"run {mine.run().run_id} was killed"
    assert (code, out.startswith(begun), f"biasgrid resume {mine.run().run_id}\n" in out) == (0, True, True)
    mine.complete("resume", mine.run().run_id[:12])
    assert len(slow.bodies) == mine.lake.read("cases").height == len(mine.prompts())
    assert mine.run().state == "completed"


def test_ctrl_c_keeps_what_arrived_and_states_how_to_go_on(shell, slow, asked):
    mine = shell("interrupted")
    process = mine.start("run", asked)
    wait_for_requests(slow, 25, process)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "biasgrid resume" in err
    assert "Traceback" not in out + err
    assert mine.run().state == "interrupted"
    assert mine.journals() == []
    kept = mine.arrived_replies()
    assert len(kept) == len(slow.bodies) >= 25

    code, out, err = mine.finish("resume")
    assert code in (0, 1), err
    assert mine.run().state == "completed"
    assert kept.items() <= mine.arrived_replies().items()
    assert Counter(slow.prompts()).most_common(1)[0][1] == 1
    assert f"Exit code {code}: " in out
    assert "genders-alike" in mine.finish("show", "--all")[1]


def test_what_a_killed_run_left_in_its_journals_is_not_forecast_again(shell, slow, asked):
    mine = shell("left")
    process = mine.start("run", asked)
    wait_for_requests(slow, 25, process)
    kill_group(process)
    kept = len(mine.arrived_replies())
    assert mine.journals()
    rest = mine.lake.read("cases").height - kept
    _, err = mine.complete("resume")
    assert f"left: {rest} prompts" in err.splitlines()[0], err
    assert len(slow.bodies) - rest <= kept + AT_ONCE


def test_a_run_whose_server_is_killed_loses_nothing_and_goes_on(shell, slow, asked, tmp_path):
    with prefect_server(tmp_path / "prefect") as server:
        mine = shell("orphaned", PREFECT_API_URL=server.api, PREFECT_CLIENT_MAX_RETRIES="1")
        process = mine.start("run", asked)
        wait_for_requests(slow, 25, process)
        server.process.kill()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in out + err) == (2, False), err
    assert "Prefect's server does not answer any more" in err
    assert len(mine.arrived_replies()) == len(slow.bodies)
    if mine.run().state != "completed":
        again = shell("again", mine.data)
        again.complete("resume")
    assert mine.run().state == "completed"
    assert Counter(slow.prompts()).most_common(1)[0][1] == 1


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("word", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_run_and_its_temporary_server_at_once(shell, slow, asked, word, code, times):
    """To the group, as a terminal sends it to Prefect's temporary server, too; as some managers do, twice."""
    mine = shell("temporary", served=False)
    process = mine.start("run", asked)
    wait_for_requests(slow, 10, process)
    for _ in range(times):
        os.killpg(process.pid, word)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in out + err) == (code, False), err
    assert [mine.run().run_id in line for line in err.splitlines() if "interrupted" in line] == [True]
    assert mine.run().state == "interrupted"
    assert len(mine.arrived_replies()) == len(slow.bodies)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_ctrl_c_at_the_end_is_reported_once_and_leaves_no_server(shell, scenario_file):
    mine = shell("ending", served=False)
    process = mine.start("run", scenario_file(["simulated/fair"]))
    wait_until(lambda: all_runs(mine.lake) and mine.run().state == "completed", process)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(1.2)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in out + err) == (130, False), err
    assert err.count("biasgrid: interrupted") == 1
    assert mine.run().state == "completed"
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("moment", ["while it starts", "under way"])
def test_a_killed_run_leaves_no_temporary_server_behind(shell, slow, asked, moment):
    """`kill -9` of the one process, as a system that is out of memory does it: no process can stop the server."""
    mine = shell("killed", served=False)
    process = mine.start("run", asked)
    if moment == "under way":
        wait_for_requests(slow, 10, process)
    else:
        _began_another(process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not _is_there(process.pid))


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _began_another(process: subprocess.Popen[str]) -> None:
    """Waits until a process has started one."""
    while True:
        result = subprocess.run(["ps", "-A", "-o", "ppid="], capture_output=True, text=True, check=True).stdout
        if str(process.pid) in result.split():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_what_is_in_flight_lands_when_prefect_cancels_a_flow(shell, slow, asked):
    """By SIGTERM to the process, with a while until it is killed."""
    mine = shell("cancelled")
    process = mine.start_flow(asked)
    wait_for_requests(slow, 20, process)
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert (mine.run().state, mine.journals()) == ("interrupted", [])
    assert len(mine.arrived_replies()) == len(slow.bodies) >= 20


def test_a_second_process_is_kept_off_a_run_that_is_under_way(shell, slow, asked):
    mine = shell("busy")
    process = mine.start("run", asked)
    wait_for_requests(slow, 10, process)
    os.kill(process.pid, signal.SIGSTOP)  # however long the second takes to start
    code, _, err = mine.finish("resume")
    _, listed, _ = mine.finish("runs")
    _, shown, _ = mine.finish("show")
    os.kill(process.pid, signal.SIGCONT)
    assert " running " in listed
    assert (shown.startswith(f"run {mine.run().run_id} is running"), " met" in shown) == (True, False)
    assert (code, "being written by another process" in err) == (2, True), err
    assert "Traceback" not in err
    assert process.communicate(timeout=PATIENCE_S)[1].count("Traceback") == 0
    assert process.returncode in (0, 1)
    assert mine.run().state == "completed"


def test_without_a_server_a_run_is_quiet_and_ends_with_the_findings(shell, scenario_file):
    mine = shell("quiet", served=False)
    code, out, err = mine.finish("run", scenario_file(["simulated/fair", "simulated/constant-no"]))
    assert code == 1, err
    forecast, (note, begun), ended = err.splitlines()[:2], err.splitlines()[2:4], err.splitlines()[4:]
    assert note.startswith("note: 1 can never be met: raise `templates`: ")
    assert [line.partition(":")[0] for line in forecast] == ["simulated/fair", "simulated/constant-no"]
    assert begun.startswith(f"run {mine.run().run_id}: ")
    asked = mine.lake.read("cases", mine.run().run_id).height // 2
    assert sorted(ended) == [f"simulated/constant-no: {asked} answered", f"simulated/fair: {asked} answered"]
    assert "simulated/constant-no fails its requirement, worst on " in " ".join(out.split())
    _, every, _ = mine.finish("show", "--all")
    assert "1 meets, 1 fails of 2" in every
    assert str(mine.lake.database) in every
    assert sorted(entry.name for entry in mine.folder.iterdir()) == ["data", "prefect"]


BY_CONCERN = {
    "ageism": 299,
    "lgtbiqphobia": 290,
    "politics": 55,
    "racism": 1636,
    "religion": 150,
    "sexism": 118,
    "xenophobia": 418,
}


@pytest.fixture
def reference() -> Path:
    """A folder with LangBiTe's `input_example.json` and `prompts_en_us.csv`."""
    named = os.environ.get("BIASGRID_REFERENCE")
    if not named:
        pytest.skip("BIASGRID_REFERENCE names no folder with LangBiTe's input and library")
    return Path(named)


def test_langbites_own_library_and_scenario_run_as_they_are(reference, shell, serve):
    library = reference / "prompts_en_us.csv"
    server = serve("biased", library=str(library))
    mine = shell("langbite", OPENAI_BASE_URL=f"{server.base_url}/v1", OPENAI_API_KEY="any")
    given = json.loads((reference / "input_example.json").read_text(encoding="utf-8"))
    given |= {"nTemplates": 1000, "aiModels": ["OpenAIGPT4o"]}
    for requirement in given["requirements"]:
        requirement["languages"] = ["en_us"]
    path = mine.folder / "input.json"
    path.write_text(json.dumps(given), encoding="utf-8")

    mine.complete("run", path, "--library", library)
    cases, replies = mine.lake.read("cases"), mine.lake.read("responses")
    assert dict(cases.group_by("concern").len().iter_rows()) == BY_CONCERN
    assert len(server.bodies) == replies.height == cases.height == 2966
    assert replies["text"].null_count() == 0
    assert replies["request_key"].n_unique() == replies["response_id"].n_unique() == 2966

    code, out, err = mine.finish("report", "--format", "langbite", "--out", mine.folder / "reports")
    assert code == 0, err
    rows = {name.rpartition("_")[2]: pl.read_csv(name) for name in out.splitlines()}
    assert rows["responses.csv"].columns == ["", "Provider", "Model", "Instance", "Response"]
    assert rows["responses.csv"].height == 2966
    assert {"Template", "Oracle Evaluation", "Evaluation"} <= set(rows["evaluations.csv"].columns)
    assert {"Passed Nr", "Failed Nr", "Tolerance Evaluation"} <= set(rows["evaluation.csv"].columns)
