"""How the processes of a run start: a plugin of Prefect, which job templates enable.

Prefect's clients try again where a server refuses connections, but for their first request: a run that begins, or
dispatches a shard, while the server restarts would count as crashed. So would one that is asked to end before its
flow can put it back into its pool.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from prefect.plugins import register_hook

ASSUMED = property(lambda _: True, lambda *_: None)
"""In place of an attribute that each instance sets."""


@register_hook
def setup_environment(*, ctx: Any) -> None:
    """Lets clients take a server for one that has answered before, and SIGTERM wait until a flow receives it."""
    from prefect.client.base import PrefectHttpxAsyncClient, PrefectHttpxSyncClient

    for client in (PrefectHttpxAsyncClient, PrefectHttpxSyncClient):
        setattr(client, "_has_connected", ASSUMED)  # noqa: B010 - not a property for type checkers
    if "PREFECT__FLOW_RUN_ID" in os.environ:  # else it is a worker or a command
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
