"""One machine with a catalog, a lake and the deployments on a server, and who listens to its alarms."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import yaml

from biasgrid.warehouse.storage.lake import Lake
from support.flows import provider_at, requirement, write_yaml
from support.http_server import Answer, address_of, listening
from support.paths import ROOT


@dataclass(frozen=True)
class Asked:
    """What the nights of a site ask, of respondents behind one gateway."""

    models: Sequence[str]
    latency_ms: int
    at_once: int
    """Requests of each model."""
    templates: int = 4
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further ones of the deployment."""
    set_up: Sequence[str] = ()
    """Options of `python -m biasgrid.deployments`."""

    @property
    def scenario(self) -> dict[str, Any]:
        models = [f"gateway/{model}" for model in self.models]
        asked = requirement(name="sexism-alike", concern="sexism", communities="gender", tolerance=0.5)
        settings = {"models": models, "templates": self.templates, "seed": 7, "max_tokens": 60}
        return {"name": "drill", "scenario": settings, "requirements": [asked]}

    @property
    def respondents(self) -> list[dict[str, Any]]:
        common = {"description": "Fair.", "latency_ms": self.latency_ms, "concerns": {"sexism": {"default": 0.02}}}
        return [{"id": model, **common} for model in self.models]

    def catalog(self, port: int) -> dict[str, Any]:
        limits = {"limits": {"concurrency": self.at_once}}
        gateway = provider_at(f"http://127.0.0.1:{port}")
        return {"providers": {"gateway": gateway}, "models": {f"gateway/{one}": limits for one in self.models}}

    @property
    def declaration(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
        nightly = next(one for one in found["deployments"] if one["name"] == "nightly")
        nightly["schedules"] = []
        quick = {"expectations": False, "pictures": False}
        nightly["parameters"] |= {"scenario": self.scenario, **quick, **self.parameters}
        return found


@dataclass(frozen=True)
class Site:
    server: Any
    endpoint: Any
    machine: Any
    place: Path
    alarms: list[str]
    """Subjects, in the order of arrival."""

    @property
    def lake(self) -> Lake:
        return Lake(self.place / "lake")

    def states(self, flow_run_id: str) -> list[str]:
        return [one["name"] for one in self.server.ask(f"/flow_run_states/?flow_run_id={flow_run_id}")]


@contextmanager
def night_site(server: Any, make_machine: Any, endpoint: Any, place: Path, asked: Asked) -> Iterator[Site]:
    """Everything but workers."""
    alarms: list[str] = []

    def accept(_: BaseHTTPRequestHandler, body: bytes) -> Answer:
        alarms.append(json.loads(body)["subject"])
        return 204, {}, b""

    endpoint.serve(asked.respondents, place / "respondents")
    (place / "catalog").mkdir()
    write_yaml(place / "catalog" / "models.yaml", asked.catalog(endpoint.port))
    places = {"BIASGRID_DATA": str(place / "lake"), "BIASGRID_CATALOG": str(place / "catalog")}
    machine = make_machine("site", **places, **server.environment)
    with listening(accept) as webhook:
        machine.do("biasgrid.deployments", "--webhook-from", "ALARMS", *asked.set_up, ALARMS=address_of(webhook))
        declared = write_yaml(machine.folder / "prefect.yaml", asked.declaration)
        machine.do("prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(declared))
        yield Site(server, endpoint, machine, place, alarms)
