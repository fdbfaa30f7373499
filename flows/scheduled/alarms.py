"""One alarm a night, with everything that its reader needs; the signal that a night ended well."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import httpx
from prefect import get_run_logger
from prefect.artifacts import Artifact, acreate_table_artifact
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.exceptions import PrefectException

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.runs.driver import emit_alarm, run_resource
from biasgrid.flows.scheduled.causes import BETTER, SEVERITIES, Cause, new_causes
from biasgrid.flows.terminal.markdown import cell
from biasgrid.tasks.connectors.keys import secret_name
from biasgrid.tasks.connectors.task import artifact_key

EVENT = "biasgrid.night."
"""Prefix of the names of a night's events."""
PING = "BIASGRID_PING_URL"
"""Address that is called after each night that ends well; else the Secret block `biasgrid-ping-url`."""
PING_S = 10.0
NAMED = 20
"""Maximum number of causes in a body."""
TITLES: Final[Mapping[str, str]] = {BETTER: "better again"}

Known = dict[str, dict[str, Any]]
"""Records of causes that were reported and are not over, by key."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What is sent."""

    severity: str
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Night:
    """What an alarm names of its night."""

    scenario: str
    run_id: str
    models: Sequence[str] = ()
    commands: Sequence[str] = ()
    series: str = ""
    """Under which the nights of a scenario remember causes, also if it could not be read; empty: its name."""

    def __str__(self) -> str:
        models = ", ".join(self.models)
        run = f", run {self.run_id}" if self.run_id else ""
        return f"scenario {self.scenario}{run}{f', models: {models}' if models else ''}"


def decide_alarm(
    night: Night, found: Sequence[Cause], over: Sequence[Mapping[str, Any]], known: Known
) -> tuple[Alarm | None, Known]:
    """The alarm about new causes and those that are over, None without either; and what is known from now on."""
    new = list(new_causes(found, known))
    gone = {record["key"] for record in over}
    lasting = {key: record for key, record in known.items() if key not in gone}
    after = {**lasting, **{cause.key: cause.as_record() for cause in new}}
    if not new and not over:
        return None, after
    about: dict[str, list[str]] = {severity: [] for severity in SEVERITIES}
    lines: dict[str, list[str]] = {severity: [] for severity in SEVERITIES}
    for cause in new:
        about[cause.severity].append(cause.about)
        lines[cause.severity].append(cause.line)
    about[BETTER] = [record["about"] for record in over]
    lines[BETTER] = [f"{record['about']} (since {record['since']})" for record in over]
    severity = next(one for one in SEVERITIES if about[one])
    first, *rest = about[severity]
    more = f" and {len(rest)} more" if rest else ""
    subject = f"biasgrid {TITLES.get(severity, severity)}: {night.scenario}: {first}{more}"
    known_before = {cause.key for cause in found} - {cause.key for cause in new}
    still = [f"{lasting[key]['about']} since {lasting[key]['since']}" for key in lasting if key in known_before]
    return Alarm(severity, subject, _body(night, lines, still)), after


def _body(night: Night, lines: Mapping[str, Sequence[str]], still: Sequence[str]) -> str:
    titles = {severity: TITLES.get(severity, severity) for severity in SEVERITIES}
    parts = [(titles[severity], lines[severity]) for severity in SEVERITIES]
    parts.append(("as reported before", still))
    text = [str(night)]
    for title, rows in parts:
        if rows:
            more = [f"- and {len(rows) - NAMED} more"] if len(rows) > NAMED else []
            text += ["", title, *[f"- {row}" for row in rows[:NAMED]], *more]
    return "\n".join([*text, "", *night.commands] if night.commands else text)


async def known_causes(night: Night) -> Known:
    """What the nights of a scenario have alarmed about so far; empty where the server knows of none."""
    found = None
    with suppress(httpx.HTTPError, PrefectException):
        found = await Artifact.aget(_key(night))
    rows = json.loads(str(found.data)) if found is not None and found.data else []
    return {row["key"]: row for row in rows}


async def keep_known(night: Night, known: Known) -> None:
    """Stores what was alarmed about, as an artifact that people see too."""
    about = "What was alarmed about and is not over: reported once"
    await acreate_table_artifact([*known.values()], _key(night), f"{cell(night.scenario)}: {about}")


def _key(night: Night) -> str:
    return artifact_key("alarms", night.series or night.scenario)


async def raise_alarm(
    night: Night, found: Sequence[Cause], over: Sequence[Mapping[str, Any]], known: Known
) -> None:
    """Sends the alarm of a night, if it has one, as the event `biasgrid.alarm.<severity>`."""
    alarm, after = decide_alarm(night, found, over, known)
    if after != known:
        with suppress(httpx.HTTPError, PrefectException):  # at worst it is reported twice
            await keep_known(night, after)
    if alarm is None:
        return
    get_run_logger().warning("alarm: %s\n%s", alarm.subject, alarm.body)
    emit_alarm(night.run_id, alarm.severity, alarm.subject, alarm.body)


def announce(run_id: str, state: State[Any]) -> None:
    """Emits how a night ended, such as `biasgrid.night.Regression`, for users' own automations."""
    # Prefect holds back its own event of a state for a quarter of an hour if a run was scheduled less than five
    # minutes before it began: it waits for the event of scheduling, and the server's scheduler sends none
    payload = {"run_id": run_id, "state": state.name, "message": state.message}
    emit_event(f"{EVENT}{state.name}", run_resource(run_id), payload=payload)


async def ping_well() -> None:
    """Calls the dead man's switch, if there is one. A failure is logged, without the address."""
    secrets = secret_blocks()
    try:
        address = os.environ.get(PING) or await asyncio.to_thread(lambda: secrets and secrets(secret_name(PING)))
        if address:
            await asyncio.to_thread(_get, address)
    except (UserError, OSError, ValueError) as error:
        get_run_logger().warning("the dead man's switch in %s was not reached: %s", PING, type(error).__name__)


def _get(address: str) -> None:
    if not address.startswith(("http://", "https://")):
        raise UserError(Problem("the address does not begin with https://", PING))
    with urllib.request.urlopen(address, timeout=PING_S):  # noqa: S310 - http(s), as checked
        pass
