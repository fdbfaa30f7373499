"""Runs that report to one Prefect server share what a provider takes at once."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import pytest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_logger
from prefect.settings import PREFECT_API_URL, temporary_settings

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.flows.runs.lease_pools import LeaseLedger, lease_order
from biasgrid.flows.runs.leases import LEASE_S, hold_leases
from biasgrid.tasks.connectors.api import Message, Parameters, Reply, Request
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from support.processes import await_until

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]
ROUND_S = 0.1
IN_TROUBLE = "Prefect's concurrency limits cannot be used for now, what is held is kept"
SERIAL = count()
CONFLICT = b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass
class Endpoint:
    """A provider, as a connector: counts what is in flight, of each run and of all."""

    takes_s: float = 0.01
    now: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)

    def __call__(self, target: Target, key: str | None, catalog: Catalog) -> Endpoint:
        return self

    async def ask(self, request: Request) -> Reply:
        run = request.messages[0].content
        self._count(run, 1)
        await asyncio.sleep(self.takes_s)
        self._count(run, -1)
        return Reply("No")

    def _count(self, run: str, change: int) -> None:
        for name in (run, "all"):
            self.now[name] += change
            self.most[name] = max(self.most[name], self.now[name])

    async def close(self) -> None:
        pass


class Run:
    """One run's part of a process: a model pool, and requests until it has enough."""

    def __init__(self, name: str, endpoint: Endpoint, catalog: Catalog, target: Target) -> None:
        self.name, self.target = name, target
        self.model_pool = ModelPool(catalog, connect=endpoint)
        self.serial = count()
        self.holds = asyncio.Event()
        self.enough = asyncio.Event()

    async def send_requests(self, **rhythm: float) -> None:
        async with self.model_pool, hold_leases([self.target], self.model_pool, **{"round_s": ROUND_S, **rhythm}):
            self.holds.set()
            await asyncio.gather(*(self._worker() for _ in range(40)))

    async def _worker(self) -> None:
        while not self.enough.is_set():
            message = (Message("user", self.name),)
            request = Request(message, Parameters(), f"{self.name}-{next(self.serial)}")
            await self.model_pool.answer(self.target, request, 0)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture
def target() -> Target:
    """Of a provider that no other test knows, which takes four at once."""
    provider = f"provider{os.getpid()}-{next(SERIAL)}"
    return Target(
        model=f"{provider}/m", provider=provider, name="m", connector="own", limits=Limits(concurrency=4)
    )


@pytest.fixture
def run(catalog: Catalog, target: Target) -> Callable[..., Run]:
    return lambda name, endpoint, model=target: Run(name, endpoint, catalog, model)


@pytest.fixture
async def client() -> AsyncIterator[PrefectClient]:
    async with get_client() as opened:
        yield opened


@pytest.fixture
def log_messages() -> Iterator[list[str]]:
    """What is logged where no flow runs."""
    logger, messages = get_logger("biasgrid"), list[str]()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    listening = Listening()
    logger.addHandler(listening)
    level = logger.level
    logger.setLevel(logging.INFO)
    yield messages
    logger.setLevel(level)
    logger.removeHandler(listening)


def limit_of(target: Target) -> str:
    return f"biasgrid:{target.provider}"


async def operator_sets(client: PrefectClient, target: Target, **limit: Any) -> None:
    try:
        await client.update_global_concurrency_limit(limit_of(target), GlobalConcurrencyLimitUpdate(**limit))
    except ObjectNotFound:
        new = GlobalConcurrencyLimitCreate(name=limit_of(target), **limit)
        await client.create_global_concurrency_limit(new)


async def count_taken(client: PrefectClient, target: Target) -> int:
    return (await client.read_global_concurrency_limit_by_name(limit_of(target))).active_slots


@asynccontextmanager
async def under_way(*tasks: asyncio.Task[None]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Between:
    """Stands before a Prefect server, and answers with an error where `fails` is true."""

    api: str
    fails: Callable[[bytes], bool]
    asked: list[bytes] = field(default_factory=list)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        async with await asyncio.start_server(self._answer, "127.0.0.1", 0) as server:
            yield "http://{}:{}/api".format(*server.sockets[0].getsockname())

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b""
        fails = self.fails(head)
        self.asked.append(head)
        writer.write(CONFLICT if fails else await self._passed_on(head, body))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _passed_on(self, head: bytes, body: bytes) -> bytes:
        address = httpx.URL(self.api)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(head.replace(b"keep-alive", b"close") + body)
        reply = await reader.read()
        writer.close()
        await writer.wait_closed()
        return reply


async def start_two(run: Any, endpoint: Endpoint) -> tuple[Any, Any, asyncio.Task[Any], asyncio.Task[Any]]:
    """Two runs, the second once the first holds slots, and the tasks in which they send."""
    first, second = run("first", endpoint), run("second", endpoint)
    ahead = asyncio.create_task(first.send_requests())
    await first.holds.wait()
    return first, second, ahead, asyncio.create_task(second.send_requests())


async def test_runs_together_never_exceed_the_limit_and_one_grows_when_the_other_ends(run, target, client):
    await operator_sets(client, target, limit=6)
    endpoint = Endpoint()
    first, second, ahead, behind = await start_two(run, endpoint)
    async with under_way(ahead, behind):
        await second.holds.wait()
        await await_until(lambda: endpoint.most["all"] == 6)
        assert (endpoint.most["first"], endpoint.most["second"], await count_taken(client, target)) == (4, 2, 6)
        first.enough.set()
        await ahead
        await await_until(lambda: endpoint.now["second"] == 4)
        second.enough.set()
        await behind
    assert endpoint.most["all"] == 6
    assert await count_taken(client, target) == 0


async def test_who_finds_no_slot_waits_for_one_and_states_so(run, target, client, log_messages):
    endpoint = Endpoint()
    first, _, ahead, behind = await start_two(run, endpoint)
    async with under_way(ahead, behind):
        await await_until(lambda: log_messages)
        assert endpoint.most["second"] == 0
        first.enough.set()
        await await_until(lambda: endpoint.now["second"] == 4)
    waiting = f"waiting for a slot of the concurrency limit `{limit_of(target)}`: all 4 are taken by other runs"
    assert log_messages.count(waiting) == 1
    assert await count_taken(client, target) == 0


async def test_who_waits_gets_a_share_of_what_others_hold_and_the_limit_is_never_exceeded(run, target, client):
    endpoint = Endpoint(takes_s=0.3)
    names = ("first", "second", "third")
    runs = [run(name, endpoint) for name in names]
    tasks = []
    async with AsyncExitStack() as stack:
        for one in runs:  # the first has all four, and each of the others waits
            tasks.append(asyncio.create_task(one.send_requests(renew_s=ROUND_S)))
            await stack.enter_async_context(under_way(tasks[-1]))
            await one.holds.wait()
        await await_until(lambda: sorted(endpoint.now[name] for name in names) == [1, 1, 2])
        runs[0].enough.set()
        await tasks[0]
        await await_until(lambda: endpoint.now["second"] + endpoint.now["third"] == 4)
    assert endpoint.most["all"] == 4
    assert await count_taken(client, target) == 0
    line = await client.read_global_concurrency_limit_by_name(f"biasgrid-waiting:{target.provider}")
    assert line.active_slots == 0


async def test_the_number_that_an_operator_sets_holds_also_while_runs_are_under_way(run, target, client):
    endpoint = Endpoint()
    own = run("own", endpoint)
    task = asyncio.create_task(own.send_requests(renew_s=ROUND_S))
    async with under_way(task):
        await await_until(lambda: endpoint.now["own"] == 4)
        await operator_sets(client, target, limit=2)
        await await_until(lambda: endpoint.now["own"] == 2)
        await operator_sets(client, target, limit=0)
        await await_until(lambda: endpoint.now["own"] == 0)
        await operator_sets(client, target, limit=3)
        await await_until(lambda: endpoint.now["own"] == 3)
        await operator_sets(client, target, limit=8)
        await await_until(lambda: endpoint.now["own"] == 4)
    assert await count_taken(client, target) == 0


async def test_runs_under_way_share_what_an_operator_leaves_them(run, target, client):
    await operator_sets(client, target, limit=8)
    endpoint = Endpoint()
    names = ("first", "second")
    tasks = [asyncio.create_task(run(name, endpoint).send_requests(renew_s=ROUND_S)) for name in names]
    async with under_way(*tasks):
        await await_until(lambda: [endpoint.now[name] for name in names] == [4, 4])
        await operator_sets(client, target, limit=4)
        await await_until(lambda: [endpoint.now[name] for name in names] == [2, 2])
        tasks[0].cancel()
        await await_until(lambda: endpoint.now["second"] == 4)
    assert await count_taken(client, target) == 0


async def test_a_limit_that_is_not_active_lets_everything_through(run, target, client):
    await operator_sets(client, target, limit=1, active=False)
    endpoint = Endpoint()
    task = asyncio.create_task(run("own", endpoint).send_requests())
    async with under_way(task):
        await await_until(lambda: endpoint.now["own"] == 4)


@pytest.mark.parametrize("end", ["error", "cancellation"])
async def test_slots_come_back_however_a_run_ends(run, target, client, end):
    own = run("own", Endpoint())

    async def break_off() -> None:
        async with hold_leases([target], own.model_pool):
            own.holds.set()
            if end == "error":
                raise OSError
            await asyncio.Event().wait()

    task = asyncio.create_task(break_off())
    await own.holds.wait()
    task.cancel() if end == "cancellation" else None
    with pytest.raises((OSError, asyncio.CancelledError)):
        await task
    assert await count_taken(client, target) == 0


async def test_slots_that_the_server_does_not_take_back_at_first_are_given_back_again(
    run, target, client, prefect_api
):
    release = b"/decrement-with-lease"
    between = Between(
        prefect_api, lambda head: release in head and not any(release in had for had in between.asked)
    )
    async with between.listening() as url:
        with temporary_settings({PREFECT_API_URL: url}):
            async with hold_leases([target], run("own", Endpoint()).model_pool) as (pool,):
                assert await count_taken(client, target) == 4
                leases = len(pool.leases)
    assert sum(release in head for head in between.asked) == leases + 1
    assert await count_taken(client, target) == 0


async def test_a_lease_that_the_server_forgot_is_leased_again(run, target, client):
    noted = RecordingPool(run("own", Endpoint()).model_pool)
    async with hold_leases([target], noted, round_s=ROUND_S, renew_s=ROUND_S) as (pool,):
        forgotten = next(iter(pool.leases))
        await client.release_concurrency_slots_with_lease(forgotten)
        await await_until(lambda: pool.leased == 4 and forgotten not in pool.leases)
        assert await count_taken(client, target) == 4
    assert set(noted.granted) == {4}
    assert await count_taken(client, target) == 0


async def test_a_server_in_trouble_ends_no_run_and_is_reported_once(run, target, log_messages):
    endpoint = Endpoint()
    own = run("own", endpoint)
    between = Between("", fails=lambda head: True)
    async with between.listening() as url:
        with temporary_settings({PREFECT_API_URL: url}):
            task = asyncio.create_task(own.send_requests())
        async with under_way(task):
            await await_until(lambda: endpoint.now["own"] == 4 and len(between.asked) > 3)
            own.enough.set()
            await task
    assert log_messages == [f"{IN_TROUBLE}: PrefectHTTPStatusError"]


async def test_a_server_out_of_reach_ends_no_run(run, target, log_messages):
    endpoint = Endpoint()
    own = run("own", endpoint)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{deaf.getsockname()[1]}/api"}):
            task = asyncio.create_task(own.send_requests())
        async with under_way(task):
            await await_until(lambda: endpoint.now["own"] == 4)
            own.enough.set()
            await task
    (message,) = log_messages  # how it was out of reach is the machine's to say
    assert message.startswith(IN_TROUBLE)


async def test_without_a_server_of_its_own_standing_nothing_is_shared(run, target):
    log_messages = RecordingPool(run("own", Endpoint()).model_pool)
    with temporary_settings({PREFECT_API_URL: None}):
        async with hold_leases([target], log_messages):
            assert log_messages.granted == []


def test_a_model_of_its_own_concurrency_has_a_limit_of_its_own_and_free_ones_have_none(target):
    own = target.model_copy(
        update={"model": "hub/org/m", "own_limits": ("concurrency",), "limits": Limits(concurrency=2)}
    )
    free = [target.model_copy(update={"connector": name, "provider": name}) for name in ("simulated", "replay")]
    found = [(pool.name, pool.scope, pool.need) for pool in lease_order([target, *free, own, target])]
    assert found == [("biasgrid:hub:org:m", "hub/org/m", 2), (limit_of(target), target.provider, 4)]


HOLDER = """
import asyncio, sys
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.flows.runs.lease_pools import LeaseLedger
from biasgrid.flows.runs.leases import hold_leases
from pathlib import Path
from biasgrid.tasks.connectors.client.model_pool import ModelPool
target = Target.model_validate_json(sys.argv[1])
async def main():
    async with hold_leases([target], ModelPool(load_catalog()), LeaseLedger(Path(sys.argv[2]))):
        print("holds", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


async def killed_holder(target: Target, client: PrefectClient, ledger: LeaseLedger) -> None:
    command = (sys.executable, "-c", HOLDER, target.model_dump_json(), str(ledger.path))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"holds\n"
    assert await count_taken(client, target) == 4
    process.kill()
    await process.wait()
    assert await count_taken(client, target) == 4


async def test_what_a_killed_process_held_is_free_again_in_time(target, client, tmp_path):
    await killed_holder(target, client, LeaseLedger(tmp_path / "leases.txt"))
    await await_until(lambda: taken_again(client, target, 0))


async def test_who_goes_on_after_a_kill_has_its_slots_at_once(target, client, catalog, tmp_path):
    ledger = LeaseLedger(tmp_path / "leases.txt")
    await killed_holder(target, client, ledger)
    begun = time.monotonic()
    async with hold_leases([target], ModelPool(catalog), ledger) as held:
        assert time.monotonic() - begun < LEASE_S / 2
        assert [pool.leased for pool in held] == [4]
        assert await count_taken(client, target) == 4
        assert {*ledger.left_behind()} == {lease for pool in held for lease in pool.leases}
    assert await count_taken(client, target) == 0
    assert ledger.left_behind() == []
    assert not ledger.path.exists()


async def test_slots_of_a_limit_that_was_closed_when_a_run_ended_come_back_when_it_is_opened(run, target, client):
    endpoint = Endpoint()
    async with under_way(asyncio.create_task(run("own", endpoint).send_requests(renew_s=ROUND_S))):
        await await_until(lambda: endpoint.now["own"] == 4)
        await operator_sets(client, target, limit=0)
        await await_until(lambda: endpoint.now["own"] == 0)
    assert await count_taken(client, target) == 4  # Prefect takes nothing back
    await operator_sets(client, target, limit=4)
    await await_until(lambda: taken_again(client, target, 0))


@dataclass
class RecordingPool:
    """A board that notes what it is granted."""

    model_pool: ModelPool
    granted: list[int] = field(default_factory=list)

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        self.granted.append(slots)
        self.model_pool.grant(name, slots, total)

    def count_taken(self, name: str) -> int:
        return self.model_pool.count_taken(name)


async def taken_again(client: PrefectClient, target: Target, slots: int) -> bool:
    return await count_taken(client, target) == slots
