"""What workers of the types Docker and Kubernetes make of our job templates: the packages of their image, without
an engine or a cluster."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from biasgrid.deployments.work_pools import job_template
from support.paths import ROOT

pytestmark = pytest.mark.drill
PREPARE = """
import asyncio, json, sys, uuid
from prefect.client.schemas.objects import FlowRun
template, variables, kind = json.load(sys.stdin)
if kind == "docker":
    from prefect_docker.worker import DockerWorkerJobConfiguration as Configuration
else:
    from prefect_kubernetes.worker import KubernetesWorkerJobConfiguration as Configuration
prepared = asyncio.run(Configuration.from_template_and_values(template, variables))
prepared.prepare_for_flow_run(FlowRun(id=uuid.UUID(int=7), flow_id=uuid.UUID(int=8), name="a shard"))
print(json.dumps(prepared.model_dump(mode="json")))
"""

RUNS_ONE = "python -P -m biasgrid.deployments.worker --job"
"""Runs the flow run that its environment names, and passes a SIGTERM to it."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that the image of workers has more than this environment, by their hashes."""
    here = {canonicalize_name(one.name) for one in distributions()}
    entries = re.split(r"\n(?=\w)", (ROOT / "requirements-workers.lock").read_text(encoding="utf-8"))
    more = [entry for entry in entries if canonicalize_name(entry.partition("==")[0]) not in here]
    folder = tmp_path_factory.mktemp("workers")
    (folder / "more.lock").write_text("\n".join(more), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    where = ["--target", str(folder / "packages"), "--requirement", str(folder / "more.lock")]
    subprocess.run([*command, *where], check=True, timeout=300)
    return folder / "packages"


def prepare(packages: Path, kind: str, **variables: object) -> dict:
    """What a worker gives its engine for one run."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(packages),
        "PREFECT_API_URL": "http://server:4200/api",
        "OPENAI_API_KEY": "a key of the worker",
    }
    given = json.dumps([job_template(kind), variables, kind])  # type: ignore[arg-type]
    command = [sys.executable, "-c", PREPARE]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "a key of the worker" not in done.stdout
    return json.loads(done.stdout)


def test_a_shard_becomes_a_job_with_its_settings_secrets_and_limits(packages):
    given = prepare(packages, "kubernetes", memory_limit="3Gi", env={"BIASGRID_DATA": "s3://mine/lake"})
    assert given["namespace"] == "biasgrid"
    pod = given["job_manifest"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert variables["BIASGRID_DATA"] == "s3://mine/lake"
    assert variables["PREFECT_API_URL"] == "http://server:4200/api"
    assert container["args"] == RUNS_ONE.split()
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "3Gi"}}
    assert [next(iter(one)) for one in container["envFrom"]] == ["configMapRef", "secretRef", "secretRef"]
    assert pod["metadata"]["labels"]["biasgrid.dev/reports"] == "true"
    assert "{{" not in json.dumps(given["job_manifest"])


def test_an_evicted_pod_gives_its_shard_back(packages):
    given = prepare(packages, "kubernetes")
    (container,) = given["job_manifest"]["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert variables["PREFECT_FLOW_RUN_EXECUTE_SIGTERM_BEHAVIOR"] == "reschedule"
    assert given["job_manifest"]["spec"]["backoffLimit"] == 0


def test_a_shard_becomes_a_container_with_the_lake_and_a_limit(packages):
    given = prepare(packages, "docker", mem_limit="3g")
    assert given["image"].startswith("biasgrid:")
    assert given["volumes"] == ["biasgrid-lake:/lake"]
    assert (given["mem_limit"], given["privileged"], given["networks"]) == ("3g", False, ["biasgrid"])
    assert given["env"]["BIASGRID_DATA"] == "/lake"
    assert given["command"] == RUNS_ONE
    assert "{{" not in json.dumps(given)
