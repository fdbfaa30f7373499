"""What a Prefect server needs next to the deployments: work pools, alarms, limits of providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate
from prefect.exceptions import ObjectNotFound

from biasgrid.deployments.alarms import (
    OURS,
    block_id,
    find_block,
    is_notice,
    load_automations,
    set_up_alarm,
    set_up_webhook,
)
from biasgrid.deployments.work_pools import NIGHTS, SHARDS, PoolType, set_up_pool
from biasgrid.flows.rate_limits.pools import Pool


@dataclass(frozen=True, slots=True)
class Settings:
    """What differs from place to place."""

    pool_type: PoolType = "process"
    """Of the pool whose runs ask models."""
    nights_type: PoolType = "process"
    """Of the pool whose runs wait for them."""
    webhook_url: str | None = None
    """Where alarms are posted to, as JSON with `subject`, `body` and `text`; kept as a secret, in a block."""
    notification_block: str | None = None
    """In place of it, a notification block that exists, such as `slack-webhook/on-call`."""
    heartbeat_missed_s: float = 90.0
    """Seconds without a heartbeat after which a run counts as crashed; the job templates ask for one every 30, the
    shortest that Prefect has."""
    late_s: float = 900.0
    """Seconds after which a nightly run that has not begun counts as late."""
    provider_limits: Mapping[str, int] = field(default_factory=dict)
    """Requests that a provider takes at once, over all workers; the others' are those of `models.yaml`."""


async def set_up(settings: Settings | None = None, client: PrefectClient | None = None) -> list[str]:
    """Creates what is missing on the Prefect server and changes what differs; returns each change.
    Notifications are set up once a recipient is named. Raises UserError for a block
    that does not exist and a pool of another type."""
    settings = settings or Settings()
    if client is None:
        async with get_client() as opened:
            return await set_up(settings, opened)
    changes = [
        await set_up_pool(client, NIGHTS, settings.nights_type),
        await set_up_pool(client, SHARDS, settings.pool_type),
        *await _set_up_alarms(client, settings),
        *[await set_up_limit(client, *limit) for limit in settings.provider_limits.items()],
    ]
    return [change for change in changes if change]


async def _set_up_alarms(client: PrefectClient, settings: Settings) -> list[str | None]:
    changes = [await set_up_webhook(client, settings.webhook_url)] if settings.webhook_url else []
    block = await _recipient_block(client, settings)
    seconds = {"lost": settings.heartbeat_missed_s, "late": settings.late_s}
    wanted = [automation for automation in load_automations(seconds) if block or not is_notice(automation)]
    return changes + [await set_up_alarm(client, automation, block) for automation in wanted]


async def _recipient_block(client: PrefectClient, settings: Settings) -> UUID | None:
    """The block of the recipient: as named, else that of a webhook that was named earlier."""
    if settings.notification_block:
        return await block_id(client, settings.notification_block)
    return await find_block(client, "/".join(OURS))


async def set_up_limit(client: PrefectClient, provider: str, limit: int) -> str | None:
    """Limits the requests that a provider gets at once from all workers; returns the change, None for none."""
    name = Pool(provider, limit).name
    try:
        found = await client.read_global_concurrency_limit_by_name(name)
    except ObjectNotFound:
        await client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit))
        return f"created limit {name}: {limit}"
    if found.limit == limit:
        return None
    await client.update_global_concurrency_limit(name, GlobalConcurrencyLimitUpdate(limit=limit))
    return f"changed limit {name}: {found.limit} → {limit}"
