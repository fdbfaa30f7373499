"""What a Prefect server must know beside the deployments: work pools, alarms, limits of providers.

`python -m deployments.setting_up` does it; doing it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from prefect.client.orchestration import PrefectClient

PoolType = Literal["process", "docker", "kubernetes"]
NIGHTS, SHARDS = "biasgrid-nights", "biasgrid"
"""Work pools: of nights, which mostly wait, and of what asks models; so that waiting takes no asker's place."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What differs from place to place."""

    pool_type: PoolType = "process"
    webhook_url: str | None = None
    """Where alarms are posted to, as JSON with `subject`, `body` and `text`: kept as a secret in a block of ours."""
    notification_block: str | None = None
    """In place of it, a notification block that exists, such as `slack-webhook/on-call`."""
    heartbeat_missed_s: float = 90.0
    """Without a heartbeat for so long a run counts as crashed: three of the shortest interval that Prefect has."""
    late_s: float = 900.0
    """A night that has not begun so long after its time is late."""
    provider_limits: Mapping[str, int] | None = None
    """Requests that a provider takes at once, over all workers."""


async def set_up(settings: Settings | None = None, client: PrefectClient | None = None) -> list[str]:
    """Creates what is missing on the Prefect server, changes what differs, and tells each; empty where all was
    as it should be. Raises UserMistake where a named block does not exist."""
    raise NotImplementedError
