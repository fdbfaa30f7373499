"""Audits in batches, against rate limits and from earlier replies: the same decisions, and nothing sent twice."""

from typing import Any

import pytest

from biasgrid.flows.api import Audit
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from support.audits import write_audit

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]

DECIDED = "select document, pair, identity_group, points from intermediate.int_audit_decisions where run_id = ?"
DECIDING = {"deciding": {"gaps": {"women": -20}}}
PROMPTS = 8 * 4 * 2


def decisions(lake: Lake, run_id: str) -> list[tuple[Any, ...]]:
    return sorted(query(lake, DECIDED, [run_id]).iter_rows())


def test_an_audit_in_batches_decides_as_one_by_one_at_half_the_price(gateway, tmp_path, monkeypatch):
    monkeypatch.setenv("BIASGRID_BATCH_POLL_S", "0.05")
    prices = {"gateway/batched": {"prices": {"input": 1.0, "output": 1.0}}}
    server = gateway("batched", {"batch": {}}, prices, batch_s=0.2, **DECIDING)
    asked = write_audit(tmp_path, 8, models=["gateway/batched"], pairs=4)
    lake = Lake.at(tmp_path / "data")
    alone = Audit(asked, data=tmp_path / "data").run()
    batched = Audit(asked, data=tmp_path / "data", batch=True).run()
    assert sum(entry.batch is not None for entry in server.journal.entries) == PROMPTS
    assert not batched.incomplete
    assert decisions(lake, batched.run_id) == decisions(lake, alone.run_id)
    one, other = query(lake, "select cost_usd from marts.runs order by run_id").to_series()
    assert other == pytest.approx(one / 2)


def test_rate_limits_are_kept_to_and_every_document_is_decided_about(gateway, tmp_path):
    limits = {"requests_per_minute": 600, "burst_s": 1, "stated": False}
    server = gateway("limited", {"limits": {"concurrency": 8}}, limits=limits, **DECIDING)
    asked = write_audit(tmp_path, 8, models=["gateway/limited"], pairs=4)
    found = Audit(asked, data=tmp_path / "data").run()
    assert not found.incomplete
    [rate, _] = found.rates
    assert rate["decided"] == PROMPTS / 2
    assert PROMPTS < len(server.bodies) < 2 * PROMPTS


def test_replies_of_an_earlier_audit_stand_in_where_the_file_lets_them(gateway, tmp_path):
    server = gateway("again", **DECIDING)
    asked = write_audit(tmp_path, 8, models=["gateway/again"], pairs=4)
    lake = Lake.at(tmp_path / "data")
    first = Audit(asked, data=tmp_path / "data").run()
    assert len(server.bodies) == PROMPTS
    again = Audit(asked, data=tmp_path / "data", reuse="all").run()
    assert len(server.bodies) == PROMPTS
    assert decisions(lake, again.run_id) == decisions(lake, first.run_id)
    Audit(
        write_audit(tmp_path / "more", 9, models=["gateway/again"], pairs=4), data=tmp_path / "data", reuse="all"
    ).run()
    assert PROMPTS < len(server.bodies) < 2 * PROMPTS
