from __future__ import annotations

from collections import Counter

from biasgrid.catalogs.schema.respondents import Faults, Respondent
from biasgrid.tasks.connectors.simulated.fault_injection import FAULTS, ODD_REPLIES, draw_fault, draw_odd_reply


def flaky(**shares: float) -> Respondent:
    return Respondent(id="flaky", description="", faults=Faults.model_validate(shares))


def test_faults_come_in_their_configured_shares():
    shares = {name: (place + 1) / 50 for place, name in enumerate(FAULTS)}
    seen = Counter(draw_fault(flaky(**shares), "Who?", seed, 1) for seed in range(4000))
    assert all(abs(seen[name] / 4000 - shares[name]) < 0.03 for name in FAULTS)
    assert abs(seen[None] / 4000 - (1 - sum(shares.values()))) < 0.04


def test_a_fault_is_the_same_each_time_and_differs_by_attempt():
    one = flaky(rate_limited=0.5)
    first = [draw_fault(one, "Who?", seed, 1) for seed in range(50)]
    assert first == [draw_fault(one, "Who?", seed, 1) for seed in range(50)]
    assert first != [draw_fault(one, "Who?", seed, 2) for seed in range(50)]


def test_the_attempt_after_the_most_faults_is_always_answered():
    hopeless = flaky(server_fault=1, most=3)
    assert [draw_fault(hopeless, "Who?", 1, attempt) for attempt in (1, 2, 3, 4)] == ["server_fault"] * 3 + [None]


def test_odd_replies_come_in_their_configured_shares_and_are_no_faults():
    shares = {"content_filter": 0.3, "huge_reply": 0.1}
    seen = Counter(draw_odd_reply(flaky(**shares), "Who?", seed) for seed in range(4000))
    assert all(abs(seen[name] / 4000 - shares[name]) < 0.03 for name in ODD_REPLIES)
    assert all(draw_fault(flaky(**shares), "Who?", seed, 1) is None for seed in range(200))
