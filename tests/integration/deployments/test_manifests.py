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


def load_manifests(folder: str) -> list[dict[str, Any]]:
    paths = sorted((FOLDER / folder).glob("*.yaml"))
    return [one for path in paths for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


MANIFESTS = load_manifests("kubernetes")
PODS = load_manifests("kubernetes/pods")
"One pod a shard, in place of processes within workers."


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for manifest in [*MANIFESTS, *PODS]:
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
    assert pod["automountServiceAccountToken"] is (name == "shard-pods")
    for container in pod["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert container["resources"]["limits"]["memory"]
        for variable in container.get("env", ()):
            named = variable["name"].removesuffix("_SECRET_NAME").removesuffix("_SECRET_KEY")
            names_a_secret = named != variable["name"]
            assert names_a_secret or not SECRET.search(named) or "secretKeyRef" in variable["valueFrom"]


def test_no_manifest_holds_a_secret():
    assert "Secret" not in {manifest["kind"] for manifest in MANIFESTS}
    settings = next(one for one in MANIFESTS if one["kind"] == "ConfigMap")["data"]
    assert [name for name in settings if SECRET.search(name)] == []


def find(manifests: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in manifests if one["kind"] == kind]


def test_every_image_is_the_one_of_this_version():
    for kustomization in [*find(MANIFESTS, "Kustomization"), *find(PODS, "Component")]:
        assert [image["newTag"] for image in kustomization["images"]] == [VERSION]
    for pool in ("docker", "kubernetes"):
        assert f'"default": "{OURS}"' in (FOLDER / "work-pools" / f"{pool}.json").read_text(encoding="utf-8")
    dockerfile = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert f"--tag {OURS}" in dockerfile
    assert f"--tag biasgrid-workers:{VERSION}" in dockerfile


def test_who_starts_pods_may_do_that_alone_and_sees_no_provider_s_key():
    (role,) = find(PODS, "Role")
    rights = {
        (resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]
    }
    assert {resource for resource, verb in rights if verb not in ("get", "list", "watch")} == {"jobs"}
    assert "secrets" not in {resource for resource, _ in rights}
    (worker,) = find(PODS, "Deployment")
    sources = [list(one) for one in worker["spec"]["template"]["spec"]["containers"][0]["envFrom"]]
    assert sources == [["configMapRef"]]


@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes/pods", "kubernetes/external-secrets"])
def test_a_kustomization_names_every_file_of_its_folder(folder):
    (entry,) = [one for one in load_manifests(folder) if one["kind"] in ("Kustomization", "Component")]
    files = {path.name for path in (FOLDER / folder).glob("*.yaml")}
    assert {*entry["resources"], "kustomization.yaml"} == files


def test_what_a_component_replaces_or_patches_exists():
    names = {(one["kind"], one["metadata"]["name"]) for one in MANIFESTS if "metadata" in one}
    patches = [yaml.safe_load(one["patch"]) for one in find(PODS, "Component")[0]["patches"]]
    assert {(one["kind"], one["metadata"]["name"]) for one in patches} <= names


def test_every_secret_that_a_manifest_reads_can_come_from_an_external_store():
    external = {one["spec"]["target"]["name"]: one["spec"] for one in external_secrets()}
    read = [variable["valueFrom"]["secretKeyRef"] for variable in variables() if "valueFrom" in variable]
    assert {one["name"] for one in read} == {"biasgrid-server"}
    assert {one["key"] for one in read} == {one["secretKey"] for one in external["biasgrid-server"]["data"]}
    assert external.keys() == {"biasgrid-server", "biasgrid-storage", "biasgrid-keys"}


def external_secrets() -> list[dict[str, Any]]:
    return find(load_manifests("kubernetes/external-secrets"), "ExternalSecret")


def variables() -> Iterator[dict[str, Any]]:
    for _, pod in pods():
        for container in pod["containers"]:
            yield from container.get("env", ())


def test_who_holds_slots_of_a_limit_outlives_the_server_s_pod_and_container():
    (home,) = [
        volume for name, pod in pods() if name == "server" for volume in pod["volumes"] if volume["name"] == "home"
    ]
    assert home["persistentVolumeClaim"]["claimName"] in [
        one["metadata"]["name"] for one in find(MANIFESTS, "PersistentVolumeClaim")
    ]
    assert COMPOSE["services"]["server"]["volumes"] == ["server-home:/home/biasgrid"]


def test_the_image_ends_as_no_one_in_particular_and_takes_packages_by_hash():
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    _, build, build_workers, system, workers, end = text.split("\nFROM ")
    assert (build.count("--require-hashes"), build_workers.count("--require-hashes")) == (2, 1)
    assert "USER 10001:10001" in system
    for stage in (system, workers, end):
        assert "pip install" not in stage
