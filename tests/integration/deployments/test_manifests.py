"""Compose file, manifests and image: pinned, without rights, and without a secret in them."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from support.paths import ROOT

FOLDER = ROOT / "deployments"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
SECRET = re.compile(r"PASSWORD|SECRET|AUTH_STRING|ACCESS_KEY|ENCRYPTION_KEY|API_KEY|TOKEN|ALARMS_URL")
OURS = f"biasgrid:{VERSION}"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS = [
    manifest
    for path in sorted((FOLDER / "kubernetes").glob("*.yaml"))
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for manifest in MANIFESTS:
        if manifest["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield manifest["metadata"]["name"], manifest["spec"]["template"]["spec"]


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_a_service_names_a_version_and_its_secrets_come_from_outside(service):
    declared = COMPOSE["services"][service]
    assert re.search(r":v?\d+\.\d+", declared["image"])
    assert declared["image"] == OURS or not declared["image"].startswith("biasgrid")
    for name, value in declared.get("environment", {}).items():
        assert not SECRET.search(name) or value.startswith("${"), name
    assert declared["restart"] in ("unless-stopped", "on-failure")


def test_what_stays_up_is_looked_after():
    staying = {name for name, one in COMPOSE["services"].items() if one["restart"] == "unless-stopped"}
    assert {name for name in staying if "healthcheck" in COMPOSE["services"][name]} == staying
    assert {"nights", "shards"} <= staying
    assert COMPOSE["services"]["shards"]["deploy"]["replicas"] == 2


def test_only_this_machine_reaches_the_server():
    ports = [port for one in COMPOSE["services"].values() for port in one.get("ports", ())]
    assert ports == ["127.0.0.1:4200:4200"]


@pytest.mark.parametrize(("name", "pod"), list(pods()))
def test_a_pod_has_no_rights_a_request_and_a_limit(name, pod):
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert container["resources"]["limits"]["memory"]
        for variable in container.get("env", ()):
            assert not SECRET.search(variable["name"]) or "secretKeyRef" in variable["valueFrom"]


def test_no_manifest_holds_a_secret():
    assert "Secret" not in {manifest["kind"] for manifest in MANIFESTS}
    settings = next(one for one in MANIFESTS if one["kind"] == "ConfigMap")["data"]
    assert [name for name in settings if SECRET.search(name)] == []


def test_every_image_is_the_one_of_this_version():
    (kustomization,) = [one for one in MANIFESTS if one["kind"] == "Kustomization"]
    assert [image["newTag"] for image in kustomization["images"]] == [VERSION]
    for pool in ("docker", "kubernetes"):
        assert f'"default": "{OURS}"' in (FOLDER / "work-pools" / f"{pool}.json").read_text(encoding="utf-8")
    assert f"--tag {OURS}" in (FOLDER / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_ends_as_no_one_in_particular_and_takes_packages_by_hash():
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    _, build, end = text.split("\nFROM ")
    assert build.count("--require-hashes") == 2
    assert "USER 10001:10001" in end
    assert "pip install" not in end
