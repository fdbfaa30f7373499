"""Sets up a Prefect server for the deployments: work pools, alarms, concurrency limits of providers."""

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
from biasgrid.flows.runs.lease_pools import Pool


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that differ between installations."""

    pool_type: PoolType = "process"
    """Type of the pool whose runs send requests to models."""
    nights_type: PoolType = "process"
    """Type of the pool for nightly runs, which wait for those."""
    webhook_url: str | None = None
    """Webhook for notifications, as JSON with `subject`, `body` and `text`; stored as a secret block."""
    notification_block: str | None = None
    """An existing notification block, such as `slack-webhook/on-call`, used instead of the webhook."""
    heartbeat_missed_s: float = 90.0
    """Seconds without a heartbeat after which a run counts as crashed; job templates send one every 30 s,
    Prefect's minimum."""
    late_s: float = 900.0
    """Seconds after which a nightly run that has not begun counts as late."""
    provider_limits: Mapping[str, int] = field(default_factory=dict)
    """Concurrent requests per provider, over all workers; by default those of `models.yaml`."""


async def set_up(settings: Settings | None = None, client: PrefectClient | None = None) -> list[str]:
    """Creates or updates resources on the Prefect server and returns each change; notifications only if a
    recipient is named. Raises UserError for a missing block or a pool of another type."""
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
    """The recipient's block: as named, else that of an earlier webhook."""
    if settings.notification_block:
        return await block_id(client, settings.notification_block)
    return await find_block(client, "/".join(OURS))


async def set_up_limit(client: PrefectClient, provider: str, limit: int) -> str | None:
    """Limits concurrent requests to a provider over all workers; returns the change, or None."""
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
