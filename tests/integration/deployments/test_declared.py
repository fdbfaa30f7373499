"""What is declared, without a server: deployments, job templates and alarms fit together and to the flows."""

import inspect
import re
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.schemas.automations import AutomationCore

from biasgrid.catalogs.errors import UserError
from biasgrid.deployments.alarms import Route, load_automations
from biasgrid.deployments.work_pools import NIGHTS, SHARDS, PoolType, job_template
from biasgrid.flows.scheduled.causes import SEVERITIES

FOLDER = Path(str(files("biasgrid.deployments")))
FAILING = {"Regression", "Incomplete", "OverCost", "NotMet", "Undecided", "Broken"}
"""How a night may fail that raises its own alarm."""
OF_SHARDS = {"Away", "Stopped", "Unanswered"}
PUT_BACK = {"Interrupted", "Queued", "Skipped", "Late", "AwaitingConcurrencySlot", "Pending"}
BLOCK = "2b8f3f5a-7c55-4a4e-9a39-0b6b8f1b9a11"


def deployments() -> dict[str, dict[str, Any]]:
    text = (FOLDER / "prefect.yaml").read_text(encoding="utf-8")
    return {one["name"]: one for one in yaml.safe_load(text)["deployments"]}


def flow(deployment: dict[str, Any]) -> Any:
    module, _, name = deployment["entrypoint"].rpartition(".")
    return getattr(import_module(module), name)


def automations() -> dict[str, dict[str, Any]]:
    return {one["name"].removeprefix("biasgrid · "): one for one in load_automations({})}


def expected_events(automation: dict[str, Any]) -> set[str]:
    return {event.rpartition(".")[2] for event in automation["trigger"]["expect"]}


@pytest.mark.parametrize(
    ("name", "flow_name"),
    [
        ("nightly", "nightly"),
        ("on-demand", "benchmark"),
        ("probe", "probe"),
        ("redteam", "redteam"),
        ("finetune", "finetune"),
        ("interaction", "interaction"),
        ("shard", "shard"),
        ("rebuild-warehouse", "rebuild-warehouse"),
    ],
)
def test_an_entrypoint_is_a_flow_of_the_installed_package_and_takes_what_it_is_given(name, flow_name):
    deployment = deployments()[name]
    found = flow(deployment)
    assert found.name == flow_name
    accepted = inspect.signature(found.fn).parameters
    assert set(deployment.get("parameters", {})) <= set(accepted)
    assert deployment["description"].strip()


def test_nothing_is_fetched_before_a_run():
    declared_file = yaml.safe_load((FOLDER / "prefect.yaml").read_text(encoding="utf-8"))
    assert [declared_file[step] for step in ("build", "push", "pull")] == [[], [], []]


def test_nights_wait_in_a_pool_of_their_own_one_at_a_time_by_the_clock_of_a_place():
    nightly = deployments()["nightly"]
    (schedule,) = nightly["schedules"]
    assert CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"])
    assert nightly["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}
    pools = {name: one["work_pool"]["name"] for name, one in deployments().items()}
    assert {name for name, pool in pools.items() if pool == NIGHTS} == {"nightly", "rebuild-warehouse"}
    on_demand = {"on-demand", "probe", "redteam", "interaction", "finetune"}
    assert {name for name, pool in pools.items() if pool == SHARDS} == {"shard", *on_demand}
    assert set(pools.values()) == {NIGHTS, SHARDS}


@pytest.mark.parametrize("pool_type", get_args(PoolType))
def test_a_job_template_is_complete_and_asks_for_heartbeats(pool_type):
    template = job_template(pool_type)
    variables = template["variables"]["properties"]
    asked = set(re.findall(r"\{\{ (\w+) \}\}", yaml.safe_dump(template["job_configuration"])))
    assert asked == set(variables)
    assert variables["env"]["default"]["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert variables["env"]["default"]["PREFECT_PLUGINS_ENABLED"] == "true"


@pytest.mark.parametrize("pool_type", ["docker", "kubernetes"])
def test_runs_in_containers_have_no_rights_and_a_limit(pool_type):
    template = job_template(pool_type)
    if pool_type == "docker":
        assert template["job_configuration"]["privileged"] is False
        assert template["variables"]["properties"]["mem_limit"]["default"]
        return
    pod = template["job_configuration"]["job_manifest"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_every_severity_and_every_way_to_end_without_an_alarm_is_reported_to_someone():
    result = set().union(*(expected_events(one) for name, one in automations().items() if "lost" not in name))
    assert result >= {*SEVERITIES, "Failed", "Crashed", "TimedOut", "Cancelled"}
    assert not result & FAILING  # a night alarms once


@pytest.mark.parametrize("name", ["run · lost", "run · lost at its start"])
def test_a_run_that_ended_by_any_name_is_not_lost(name):
    ends = expected_events(automations()[name])
    assert ends >= FAILING | OF_SHARDS | PUT_BACK | {"Completed", "Failed", "Crashed", "Cancelled", "heartbeat"}


@pytest.mark.parametrize("name", automations())
def test_prefect_takes_an_automation_as_it_is_declared(name):
    automation = automations()[name]
    actions = [{"block_document_id": BLOCK, **action} for action in automation["actions"]]
    taken = AutomationCore.model_validate({**automation, "actions": actions})
    assert taken.description
    assert "{" not in taken.name


def test_what_is_late_and_what_is_lost_can_be_set_up_otherwise():
    seconds = {"late": 60, "lost": 120, "silent": 180}
    within = {one["name"]: one["trigger"].get("within") for one in load_automations(seconds)}
    assert within["biasgrid · night · none has ended"] == 180
    assert within["biasgrid · night · late"] == 60
    assert within["biasgrid · run · lost"] == within["biasgrid · run · lost at its start"] == 120


def test_who_begins_in_a_pool_of_ours_and_sends_no_heartbeat_is_lost():
    trigger = automations()["run · lost at its start"]["trigger"]
    pools = {"prefect.resource.role": "work-pool", "prefect.resource.name": [SHARDS, NIGHTS]}
    assert trigger["match_related"] == pools


@pytest.mark.parametrize(
    ("given", "automation", "expected"),
    [
        ("slack-webhook/a", "night · alarm", set(SEVERITIES)),
        ("worse=slack-webhook/a", "night · alarm", {"worse"}),
        ("worse=slack-webhook/a", "night · broken off", None),
        ("broken=slack-webhook/a", "night · broken off", {"Failed", "Crashed", "TimedOut", "Cancelled"}),
        ("broken@team=slack-webhook/a", "night · none has ended", None),
    ],
)
def test_a_recipient_gets_the_alarms_of_its_severity(given, automation, expected):
    narrowed = Route.parse(given).narrow(automations()[automation])
    assert (narrowed and expected_events(narrowed)) == expected


@pytest.mark.parametrize("name", ["night · alarm", "night · broken off", "night · late"])
def test_a_recipient_of_a_tag_gets_only_the_alarms_of_its_deployments(name):
    narrowed = Route.parse("broken@team-a=slack-webhook/a").narrow(automations()[name])
    assert narrowed is not None
    assert narrowed["name"] == f"biasgrid · {name} · broken @team-a → slack-webhook/a"
    related = narrowed["trigger"]["match_related"]
    assert related[-1] == {"prefect.resource.role": "tag", "prefect.resource.id": "prefect.tag.team-a"}
    actions = [{"block_document_id": BLOCK, **action} for action in narrowed["actions"]]
    assert AutomationCore.model_validate({**narrowed, "actions": actions})


@pytest.mark.parametrize("given", ["slack", "urgent=slack-webhook/a", "=slack-webhook/a"])
def test_a_recipient_that_is_none_is_refused(given):
    with pytest.raises(UserError, match="names no recipient"):
        Route.parse(given)
