"""Work pools: one for nightly runs, which wait, and one for runs that send requests to models."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.exceptions import ObjectNotFound

from biasgrid.catalogs.errors import Problem, UserError

PoolType = Literal["process", "docker", "kubernetes"]
NIGHTS, SHARDS = "biasgrid-nights", "biasgrid"
"""Two pools, so that a waiting nightly run takes no slot of its shards."""
MEANINGS = {
    NIGHTS: "Nights, which wait for their shards, and the warehouse's rebuilding.",
    SHARDS: "What asks models: shards of nights, and benchmarks on demand.",
}


def job_template(pool_type: PoolType) -> dict[str, Any]:
    """How a worker of that type starts a run, and which settings a deployment may override."""
    text = (files("biasgrid.deployments") / "work-pools" / f"{pool_type}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


async def set_up_pool(client: PrefectClient, name: str, pool_type: PoolType) -> str | None:
    """Creates a pool or updates its job template; returns the change, or None. Keeps an operator's limits and
    pauses. Raises UserError if the name belongs to a pool of another type."""
    wanted = job_template(pool_type)
    try:
        pool = await client.read_work_pool(name)
    except ObjectNotFound:
        new = WorkPoolCreate(name=name, type=pool_type, base_job_template=wanted, description=MEANINGS.get(name))
        await client.create_work_pool(new)
        return f"created work pool {name} ({pool_type})"
    if pool.type != pool_type:
        what = f"work pool `{name}` is of type `{pool.type}`, not `{pool_type}`"
        delete = f"delete the pool (`prefect work-pool delete {name}`) and deploy again"
        raise UserError(Problem(what, "the Prefect server", f"name `--pools {pool.type}`, or {delete}"))
    if pool.base_job_template == wanted:
        return None
    await client.update_work_pool(name, WorkPoolUpdate(base_job_template=wanted))
    return f"changed the job template of work pool {name}"
