"""A run that goes on knows what it has sent and spent, what was lost on its way included."""

from __future__ import annotations

from typing import Any

import pytest

from biasgrid.tasks.connectors.api import RateLimited, ServerFault, TimedOut
from biasgrid.tasks.connectors.client.run_budget import RunBudget, most_usd
from biasgrid.tasks.connectors.rows import to_request
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.tasks.prompt.run_costs import read_run_costs

RUN = "01M00000000000000000000001"


def unlucky_of(cases: Any) -> Any:
    """Three of them, others in between."""
    return cases.gather_every(cases.height // 3).head(3)


@pytest.fixture
def asked(lake: Any, planned: Any, target: Any, open_pool: Any, model: Any) -> Any:
    """The cases that were asked, after a pass in which some of them met an error."""

    async def run(error: type[Exception], run_budget: RunBudget, retries: int = 0) -> Any:
        cases = planned()
        unlucky = set(unlucky_of(cases)["request_key"])
        own = model(lambda request: error("no") if request.request_key in unlucky else "No")
        async with open_pool(own, run_budget=run_budget) as open_board:
            await prompt_cell(lake, cases, target, open_board, retries=retries)
        return cases

    return run


@pytest.mark.parametrize("retries", [0, 2])
async def test_what_timed_out_is_charged_on_resume_as_it_was_before(asked, lake, target, retries):
    run_budget = RunBudget(max_cost=100.0)
    cases = await asked(TimedOut, run_budget, retries)
    before = read_run_costs(lake, RUN, {target.model: target})
    lost = sum(most_usd(to_request(case), target) for case in unlucky_of(cases).iter_rows(named=True))
    known = (cases.height - 3) * 20e-6  # ten tokens at a dollar and two at five dollars a million
    assert before.cost_usd == pytest.approx(known + (1 + retries) * lost)
    assert before.cost_usd == pytest.approx(run_budget.cost)
    assert before.requests == run_budget.sent == cases.height + 3 * retries
    assert before.longest == {target.model: 2}


@pytest.mark.parametrize("fault", [ServerFault, RateLimited])
async def test_what_was_refused_costs_nothing(asked, lake, target, fault):
    run_budget = RunBudget(max_cost=100.0)
    await asked(fault, run_budget)
    assert read_run_costs(lake, RUN, {target.model: target}).cost_usd == pytest.approx(run_budget.cost)


async def test_without_a_price_nothing_is_charged(asked, lake, target):
    await asked(TimedOut, RunBudget())
    cheap = target.model_copy(update={"prices": None})
    known = read_run_costs(lake, RUN, {}).cost_usd
    assert read_run_costs(lake, RUN, {cheap.model: cheap}).cost_usd == known
