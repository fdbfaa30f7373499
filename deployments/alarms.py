"""Prefect automations: notifications, and handling of runs whose machine is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from uuid import UUID

import yaml
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import PrefectClient
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.scheduled.causes import BROKEN, SEVERITIES

OURS = ("custom-webhook", "biasgrid-alarms")
"""Type and name of the block that holds the webhook's address."""
NOTIFIES = "send-notification"
BY_SEVERITY = "biasgrid.alarm."
"""Prefix of the events that a night's own alarm emits, one for each severity."""
OBSOLETE = tuple(
    f"biasgrid · {name}"
    for name in (
        *(
            "a requirement got worse",
            "a requirement is not met",
            "a night is incomplete",
            "a night reached its cap",
        ),
    )
)
"""Automations of earlier releases, which would alarm twice."""
RENAMED = {
    "night · alarm": "alarms of nights",
    "night · broken off": "a night broke off",
    "night · late": "a night is late",
    "night · none has ended": "no night has ended",
    "run · broken off": "a run broke off",
    "run · lost": "a run is lost",
}
"""Names of automations, and what earlier releases called them."""
COMPARED = {"name", "description", "trigger", "actions"}
"""Fields of an automation that biasgrid sets; whether it is enabled is the operator's choice."""
SENT = {"subject": "{{subject}}", "body": "{{body}}", "text": "{{subject}}\n{{body}}"}
"""Body of the notification: most chat programs show `text`."""


@dataclass(frozen=True, slots=True)
class Route:
    """Who is notified of what."""

    block: str
    """Notification block, `type/name`."""
    severity: str = ""
    """Of the alarms; empty: all."""
    tag: str = ""
    """Of the deployment; empty: of all."""

    @classmethod
    def parse(cls, given: str) -> Route:
        """Of `[severity][@tag]=type/name`, or a block alone. Raises UserError."""
        what, sign, block = given.rpartition("=")
        severity, _, tag = what.partition("@")
        if (severity and severity not in SEVERITIES) or "/" not in block or (sign and not what):
            known = ", ".join(SEVERITIES)
            remedy = f"write `type/name`, `severity=type/name` or `severity@tag=type/name`; severities: {known}"
            raise UserError(Problem(f"`{given}` names no recipient", "--notify", remedy))
        return cls(block, severity, tag)

    @property
    def title(self) -> str:
        """What distinguishes its automations by name."""
        about = " ".join([*([self.severity] if self.severity else []), *([f"@{self.tag}"] if self.tag else [])])
        return f"{about or 'all'} → {self.block}"

    def narrow(self, automation: Mapping[str, Any]) -> dict[str, Any] | None:
        """The automation for this recipient alone; None if it concerns another severity or a tag it cannot see."""
        trigger = dict(automation["trigger"])
        expected = trigger["expect"]
        if all(event.startswith(BY_SEVERITY) for event in expected):
            trigger["expect"] = [event for event in expected if event.endswith(self.severity)]
        elif self.severity not in ("", BROKEN):
            return None
        if self.tag and trigger.get("posture") == "Proactive" and "match_related" not in trigger:
            return None  # it counts the nights of all deployments
        if self.tag:
            related = [trigger["match_related"]] if "match_related" in trigger else []
            own = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{self.tag}"}
            trigger["match_related"] = [*related, own]
        return {**automation, "name": f"{automation['name']} · {self.title}", "trigger": trigger}


def load_automations(seconds: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    """The automations of `automations/`; `seconds`: deadline by file name."""
    folder = files("biasgrid.deployments") / "automations"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        stem, _, kind = path.name.rpartition(".")
        if kind == "yaml":
            read = yaml.safe_load(path.read_text(encoding="utf-8"))
            for automation in read if isinstance(read, list) else [read]:
                if stem in seconds:
                    automation["trigger"]["within"] = seconds[stem]
                yield automation


def is_notice(automation: Mapping[str, Any]) -> bool:
    """Whether it sends a notification, and so needs a block with the recipient."""
    return any(action["type"] == NOTIFIES for action in automation["actions"])


async def set_up_alarm(client: PrefectClient, automation: Mapping[str, Any], block: UUID | None) -> str | None:
    """Creates or updates an automation; returns the change, or None."""
    actions = [
        {**action, "block_document_id": block} if action["type"] == NOTIFIES else action
        for action in automation["actions"]
    ]
    wanted = AutomationCore.model_validate({**automation, "actions": actions})
    read = client.read_automations_by_name
    found = await read(wanted.name) or await read(_former_name(wanted.name))
    if not found:
        await client.create_automation(wanted)
        return f"created automation {wanted.name}"
    if all(getattr(wanted, name) == getattr(found[0], name) for name in COMPARED):
        return None
    await client.update_automation(found[0].id, wanted.model_copy(update={"enabled": found[0].enabled}))
    return f"changed automation {wanted.name}"


def _former_name(name: str) -> str:
    ours = next((new for new in RENAMED if name.startswith(f"biasgrid · {new}")), None)
    return name.replace(ours, RENAMED[ours], 1) if ours else name


async def remove_obsolete(client: PrefectClient) -> list[str]:
    """Deletes automations of earlier releases; returns each change."""
    found = [one for name in OBSOLETE for one in await client.read_automations_by_name(name)]
    for one in found:
        await client.delete_automation(one.id)
    return [f"deleted automation {one.name}" for one in found]


def webhook_address(variable: str) -> str:
    """The address in an environment variable. Raises UserError, whose message shows no part of the value."""
    address = os.environ.get(variable, "")
    if not address.startswith(("http://", "https://")):
        what = f"the environment variable `{variable}` holds no address of a webhook"
        remedy = "name the variable, not the address: it begins with https://"
        raise UserError(Problem(what, "--webhook-from", remedy))
    return address


async def set_up_webhook(client: PrefectClient, url: str) -> str | None:
    """Stores a webhook's address as a secret; returns the change, or None."""
    block = CustomWebhookNotificationBlock(name="biasgrid", url="{{url}}", json_data=SENT, secrets={"url": url})
    before = await _document(client, *OURS)
    secrets = (before and before.data.get("secrets")) or {}
    if isinstance(secrets, Mapping) and secrets.get("url") == url:
        return None
    await block.asave(OURS[1], overwrite=True, client=client)
    return f"{'created' if before is None else 'changed'} block {'/'.join(OURS)}"


async def block_id(client: PrefectClient, named: str) -> UUID:
    """The id of a block `type/name`. Raises UserError if there is none."""
    found = await find_block(client, named)
    if found is None:
        what = f"there is no notification block `{named}` on the Prefect server"
        remedy = "see `prefect block ls`; the name is `type/name`, such as `slack-webhook/on-call`"
        raise UserError(Problem(what, "--notify", remedy))
    return found


async def find_block(client: PrefectClient, named: str) -> UUID | None:
    """The id of a block `type/name`, or None."""
    kind, _, name = named.partition("/")
    document = await _document(client, kind, name) if name else None
    return document and UUID(str(document.id))


async def _document(client: PrefectClient, kind: str, name: str) -> Any:
    try:
        return await client.read_block_document_by_name(name, kind)
    except ObjectNotFound:
        return None
