"""A Prefect server is set up, receives how nights end, and sends alarms."""

import asyncio
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from prefect import flow
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import WorkPoolUpdate
from prefect.events.schemas.automations import AutomationCore
from prefect.states import Failed, Pending, Running, Scheduled

from biasgrid.catalogs.errors import UserError
from biasgrid.deployments.__main__ import Settings, set_up
from biasgrid.deployments.work_pools import NIGHTS, SHARDS, job_template, set_up_pool
from biasgrid.flows.scheduled.alarms import Night, announce, raise_alarm
from biasgrid.flows.scheduled.causes import other_cause
from support.deployments import reporting_to
from support.paths import ROOT
from support.processes import await_until

pytestmark = pytest.mark.drill
SHORTEST_S = 10.0
"""That Prefect lets anybody wait for what does not come."""
NOTHING = {"name": "", "message": "", "scenario": "drill"}
BEATING = """
import asyncio
from prefect import flow
from prefect.blocks.notifications import CustomWebhookNotificationBlock

@flow(name="shard")
async def shard():
    print("begun", flush=True)
    await asyncio.sleep(600)

asyncio.run(shard())
"""


@flow
async def nightly(name: str, message: str, scenario: str = "drill") -> None:
    """Stands for the flow of that name, which alarms about a cause of severity `name`, and announces its end."""
    if message:
        await raise_alarm(Night(scenario, "R1", ["a/x"]), [other_cause(name, message, None)], [], {})
    announce("R1", Failed(name="Incomplete", message=message))


@pytest.fixture
async def ready(client: PrefectClient, listener: Any) -> Settings:
    settings = Settings(
        webhook_url=listener.url, heartbeat_missed_s=SHORTEST_S, late_s=SHORTEST_S, silent_s=SHORTEST_S
    )
    await set_up(settings, client)
    return settings


async def end_night(client: PrefectClient, name: str, message: str = "") -> str:
    """A night that ended with an alarm of that severity; the flow run's id."""
    state = await nightly(name, message, return_state=True)
    return str(state.state_details.flow_run_id)


async def broken_off(client: PrefectClient) -> None:
    """A night that ended before it could say how."""
    run = await client.create_flow_run(nightly, parameters=NOTHING, state=Running())
    await client.set_flow_run_state(run.id, Failed(), force=True)


def begun_and_killed(environment: dict[str, str]) -> None:
    """A shard whose machine is gone after its first heartbeat: no process is left to report it."""
    command = [sys.executable, "-c", BEATING]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(2)  # until the server has received it
        process.send_signal(signal.SIGKILL)


async def test_setting_up_again_changes_nothing_and_corrects_what_differs(client):
    settings = Settings(provider_limits={"openai": 32})
    assert await set_up(settings, client)
    assert await set_up(settings, client) == []
    await client.update_work_pool(SHARDS, WorkPoolUpdate(base_job_template={}, concurrency_limit=3))
    changes = await set_up(Settings(provider_limits={"openai": 16}), client)
    assert changes == [f"changed the job template of work pool {SHARDS}", "changed limit biasgrid:openai: 32 → 16"]
    pool = await client.read_work_pool(SHARDS)
    assert pool.base_job_template == job_template("process")
    assert pool.concurrency_limit == 3


@pytest.mark.parametrize("pool_type", ["docker", "kubernetes"])
async def test_pools_whose_workers_come_from_other_packages_are_made_all_the_same(client, pool_type):
    assert (
        await set_up_pool(client, f"in-{pool_type}", pool_type)
        == f"created work pool in-{pool_type} ({pool_type})"
    )
    assert await set_up_pool(client, f"in-{pool_type}", pool_type) is None
    assert (await client.read_work_pool(f"in-{pool_type}")).base_job_template == job_template(pool_type)


async def test_no_one_is_reported_until_someone_is_named(client, listener):
    await set_up(Settings(), client)
    named = {automation.name for automation in await client.read_automations()}
    assert named == {"biasgrid · run · lost", "biasgrid · run · lost at its start"}
    changes = await set_up(Settings(webhook_url=listener.url), client)
    assert "created block custom-webhook/biasgrid-alarms" in changes
    assert len(await client.read_automations()) == 7
    assert await set_up(Settings(), client) == []


@pytest.mark.parametrize("name", ["biasgrid · night · late", "biasgrid · a night is late"])
async def test_an_automation_that_was_switched_off_stays_off_also_if_it_had_another_name(client, ready, name):
    (late,) = await client.read_automations_by_name("biasgrid · night · late")
    kept = late.model_dump(mode="json", include={*AutomationCore.model_fields} - {"owner_resource"})
    before = AutomationCore.model_validate({**kept, "name": name, "enabled": False})
    await client.update_automation(late.id, before)
    await set_up(Settings(late_s=30.0), client)
    (changed,) = await client.read_automations_by_name("biasgrid · night · late")
    assert (changed.enabled, changed.trigger.within.total_seconds()) == (False, 30.0)  # type: ignore[union-attr]
    await client.resume_automation(late.id)


async def test_what_cannot_be_set_up_is_one_clear_message(client):
    await set_up(Settings(), client)
    with pytest.raises(UserError, match="is of type `process`, not `docker`"):
        await set_up(Settings(pool_type="docker"), client)
    with pytest.raises(UserError, match="no notification block `slack-webhook/nowhere`"):
        await set_up(Settings(notify=["slack-webhook/nowhere"]), client)


async def test_an_alarm_arrives_with_subject_body_and_link_and_the_address_stays_a_secret(
    client, ready, listener, server
):
    message = "`equal-treatment-of-genders` of `simulated/biased`: .91 → .62 {{ url }}"
    run_id = await end_night(client, "worse", message)
    subject = f"biasgrid worse: drill: {message}"
    await await_until(lambda: subject in listener.subjects())
    (notice,) = [one for one in listener.notices if one["subject"] == subject]
    assert "scenario drill, run R1, models: a/x" in notice["body"]
    assert message in notice["body"]
    assert run_id in notice["body"]
    kept = [path for path in server.home.rglob("*") if path.is_file()]
    assert server.home / "prefect.db" in kept
    assert [path.name for path in kept if b"a-secret-address" in path.read_bytes()] == []


async def test_a_recipient_of_one_severity_gets_no_other_and_earlier_automations_are_gone(client, ready, listener):
    url = f"{listener.url}/pager"
    await CustomWebhookNotificationBlock(name="pager", url=url, json_data={"subject": "pager {{subject}}"}).asave(
        "pager", overwrite=True, client=client
    )
    await client.create_automation(earlier_automation())
    changes = await set_up(Settings(notify=["broken=custom-webhook/pager"]), client)
    assert "deleted automation biasgrid · a requirement got worse" in changes
    assert sum("broken → custom-webhook/pager" in change for change in changes) == 5
    await end_night(client, "incomplete", "two models away")
    await end_night(client, "broken", "no such file")
    await await_until(lambda: "pager biasgrid broken: drill: no such file" in listener.subjects())
    await await_until(lambda: "biasgrid incomplete: drill: two models away" in listener.subjects())
    assert "pager biasgrid incomplete: drill: two models away" not in listener.subjects()


def earlier_automation() -> AutomationCore:
    trigger = {"type": "event", "posture": "Reactive", "expect": ["biasgrid.night.Regression"]}
    automation = {
        "name": "biasgrid · a requirement got worse",
        "trigger": trigger,
        "actions": [{"type": "do-nothing"}],
    }
    return AutomationCore.model_validate(automation)


async def test_that_no_night_ends_any_more_is_reported(client, ready, listener):
    await end_night(client, "better")
    await await_until(lambda: "biasgrid broken: no night has ended for too long" in listener.subjects())


async def test_a_night_that_broke_off_is_reported(client, ready, listener):
    await broken_off(client)
    await await_until(lambda: "biasgrid broken: drill: the night ended as Failed" in listener.subjects())


async def test_a_run_whose_heartbeats_stop_counts_as_crashed(client, ready, server):
    await asyncio.to_thread(begun_and_killed, reporting_to(server))
    (run,) = [one for one in await client.read_flow_runs() if one.state_name == "Running"]

    await await_until(lambda: is_taken_for_lost(client, run.id))


async def test_a_shard_whose_machine_is_lost_before_its_first_heartbeat_counts_as_crashed(client, ready):
    flow_id = await client.create_flow_from_name("shard")
    deployment_id = await client.create_deployment(flow_id, "shard", work_pool_name=SHARDS)
    run = await client.create_flow_run_from_deployment(deployment_id)
    elsewhere = await client.create_flow_run(nightly, parameters=NOTHING)  # in no pool
    for state in (Pending(), Running()):
        await client.set_flow_run_state(run.id, state)
        await client.set_flow_run_state(elsewhere.id, state)
    await await_until(lambda: is_taken_for_lost(client, run.id))
    assert (await client.read_flow_run(elsewhere.id)).state_name == "Running"


async def is_taken_for_lost(client: PrefectClient, flow_run_id: UUID) -> bool:
    state = (await client.read_flow_run(flow_run_id)).state
    assert state is not None
    return state.is_crashed() and "No heartbeat" in (state.message or "")


async def test_a_night_that_does_not_begin_is_reported(client, ready, listener):
    due = datetime.now(UTC) - timedelta(minutes=1)
    await client.create_flow_run(nightly, parameters=NOTHING, state=Scheduled(scheduled_time=due))
    await await_until(lambda: "biasgrid broken: drill: a night has not begun" in listener.subjects())


def test_all_deployments_are_made_from_any_directory(run_in, tmp_path):
    assert run_in(tmp_path, "-m", "biasgrid.deployments").returncode == 0
    words = ("-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file")
    for folder, file in ((ROOT, "deployments/prefect.yaml"), (tmp_path, str(ROOT / "deployments/prefect.yaml"))):
        result = run_in(folder, *words, file)
        assert result.returncode == 0, result.stdout + result.stderr
    found = run_in(tmp_path, "-m", "prefect", "deployment", "ls", COLUMNS="200").stdout
    for name in ("nightly/nightly", "benchmark/on-demand", "shard/shard", NIGHTS):
        assert name in found


def test_the_command_names_what_it_did_and_refuses_an_address_on_its_command_line(run_in, tmp_path):
    result = run_in(tmp_path, "-m", "biasgrid.deployments", "--webhook-from", "https://hooks.example.org/x")
    assert result.returncode == 2
    assert "name the variable, not the address" in result.stderr
    assert "Traceback" not in result.stderr
    result = run_in(
        tmp_path, "-m", "biasgrid.deployments", "--limit", "openai=8", "--webhook-from", "HOOK", HOOK="http://x/y"
    )
    assert (
        result.returncode,
        "created limit biasgrid:openai: 8" in result.stdout or "changed" in result.stdout,
    ) == (0, True)
    assert "http://x/y" not in result.stdout + result.stderr


def test_a_server_that_is_not_there_is_one_clear_message(run_in, tmp_path):
    result = run_in(tmp_path, "-m", "biasgrid.deployments", PREFECT_API_URL="http://127.0.0.1:9/api")
    assert result.returncode == 2
    assert "http://127.0.0.1:9/api: no Prefect server answers" in result.stderr
    assert "Traceback" not in result.stderr
