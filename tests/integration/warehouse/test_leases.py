"""Leases on object storage: one machine holds one at a time, whether or not the server has conditional puts."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.objects import leases
from biasgrid.warehouse.storage.objects.leases import Lease, LeaseTaken, Machine
from support.s3_server import on_azure

pytestmark = pytest.mark.drill

Taker = Callable[..., Lease]


@pytest.fixture
def lease(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taker:
    """`lease(machine, subject)`: a lease that is not yet taken."""

    def make(machine: str, subject: str = "run-R1") -> Lease:
        monkeypatch.setenv("BIASGRID_CACHE", str(tmp_path / machine))
        shared = Lake.open(s3.address).shared
        assert shared
        return Lease(shared.bucket, subject, Machine(machine))

    return make


def take(wanted: Lease) -> bool:
    try:
        wanted.take()
    except LeaseTaken:
        return False
    return True


@pytest.mark.parametrize(
    ("s3", "requests"),
    [
        ("_s3", {"PUT": 1}),
        ("_google", {"PUT": 1}),
        ("refused", {"PUT": 1, "GET": 1}),
        ("ignored", {"PUT": 1, "GET": 1}),
    ],
    indirect=["s3"],
)
def test_a_renewal_is_one_request_if_the_server_obeys_conditions(lease, s3, requests):
    held = lease("here")
    held.take()
    s3.requests.clear()
    assert held.renew()
    assert Counter(method for method, _ in s3.requests) == requests
    held.give_back()
    assert s3.names() == []


@pytest.mark.parametrize("s3", ["_s3", "_google", on_azure], indirect=True)
@pytest.mark.parametrize("is_expired", [False, True])
def test_of_machines_that_take_a_lease_at_once_one_gets_it(lease, s3, is_expired):
    if is_expired:
        lease("lost").take()
        s3.age("team/locks/", 61)
    wanted = [lease(f"machine-{number}") for number in range(6)]
    with ThreadPoolExecutor(len(wanted)) as threads:
        taken = list(threads.map(take, wanted))
    assert taken.count(True) == 1
    assert [one.renew() for one in wanted] == taken


@pytest.mark.parametrize("s3", ["refused", "ignored"], indirect=True)
def test_machines_that_give_way_never_hold_a_lease_together(lease, s3, monkeypatch):
    monkeypatch.setattr(leases, "TRIES", 2)
    wanted = [lease(f"machine-{number}") for number in range(4)]
    with ThreadPoolExecutor(len(wanted)) as threads:
        assert list(threads.map(take, wanted)).count(True) <= 1


@pytest.mark.parametrize("s3", ["_s3", "_google", on_azure], indirect=True)
@pytest.mark.parametrize(
    ("held", "wanted"), [("run-R1", "run-R1"), ("run-R1", "run-R1+part"), ("run-R1+part", "run-R1")]
)
def test_a_machine_whose_lease_another_took_over_can_neither_renew_nor_remove_it(lease, s3, held, wanted):
    suspended, there = lease("suspended", held), lease("there", wanted)
    suspended.take()
    assert not take(there)
    s3.age("team/locks/", 61)
    there.take()
    assert not suspended.renew()
    suspended.give_back()
    assert there.renew()


def test_a_renewal_whose_answer_was_lost_counts(lease, s3, monkeypatch):
    held, answer, lost = lease("here"), s3._answers, []
    held.take()

    def lose(environ: Any, start: Any) -> Any:
        answered = answer(environ, start if lost else lambda *_: None)
        if not lost:
            lost.append(list(answered))
            start("500 Failed", [("Content-Length", "0")])
            return [b""]
        return answered

    monkeypatch.setattr(s3, "_answers", lose)
    assert held.renew()
    assert lost
    assert held.renew()


def test_leases_of_machines_that_list_and_of_machines_that_set_conditions_exclude_each_other(lease, s3):
    listing, conditional = lease("listing"), lease("conditional")
    listing.bucket._is_conditional = False
    for held, wanted in ((listing, conditional), (conditional, listing)):
        held.take()
        assert not take(wanted)
        held.give_back()
