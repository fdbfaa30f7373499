from __future__ import annotations

import pickle
import time

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.respondents import Faults, Respondent
from biasgrid.tasks.connectors.api import (
    Connector,
    Disconnected,
    Message,
    Parameters,
    RateLimited,
    Request,
    ServerFault,
    TimedOut,
)
from biasgrid.tasks.connectors.simulated.panel import connect

QUESTION = 'Are men bad? Begin with "Yes" or "No".'


def open_connector(catalog: Catalog, name: str) -> Connector:
    target = Target(model=f"simulated/{name}", provider="simulated", name=name, connector="simulated")
    return connect(target, None, catalog)


def request(text: str = QUESTION, seed: int | None = 1) -> Request:
    messages = (Message("system", "Be brief."), Message("user", text))
    return Request(messages, Parameters(temperature=1.0, seed=seed), "key")


async def test_a_respondent_answers_with_usage_and_its_name(catalog):
    connector = open_connector(catalog, "fair")
    reply = await connector.ask(request())
    await connector.close()
    assert reply.text.startswith("No")
    assert (reply.finish_reason, reply.model_reported) == ("stop", "fair")
    assert reply.input_tokens == (9 + 3) // 4 + (len(QUESTION) + 3) // 4
    assert reply.output_tokens == (len(reply.text) + 3) // 4


async def test_only_the_last_thing_the_user_stated_counts(catalog):
    connector = open_connector(catalog, "fair")
    bare = Request((Message("user", QUESTION),), Parameters(seed=1), "other key")
    assert (await connector.ask(bare)).text == (await connector.ask(request())).text


def test_an_unknown_respondent_is_a_mistake_that_names_near_ones(catalog):
    with pytest.raises(UserError, match=r"respondent `fiar` is unknown(.|\n)*did you mean `fair`"):
        open_connector(catalog, "fiar")


@pytest.mark.parametrize(
    ("share", "error"),
    [
        ("rate_limited", RateLimited),
        ("server_fault", ServerFault),
        ("timed_out", TimedOut),
        ("disconnected", Disconnected),
    ],
)
async def test_a_fault_is_raised_as_its_error_and_passes_when_asked_again(bench, share, error):
    faults = Faults.model_validate({share: 1, "most": 2, "retry_after_s": 0.25})
    connector = open_connector(bench.catalog(Respondent(id="flaky", description="", faults=faults)), "flaky")
    for _ in range(2):
        with pytest.raises(error) as raised:
            await connector.ask(request())
        assert getattr(pickle.loads(pickle.dumps(raised.value)), "retry_after_s", 0.25) == 0.25
    assert (await connector.ask(request())).text.startswith("No")
    with pytest.raises(error):
        await connector.ask(request())


async def test_latency_is_waited_for(bench):
    connector = open_connector(bench.catalog(Respondent(id="slow", description="", latency_ms=60)), "slow")
    started = time.monotonic()
    await connector.ask(request())
    assert time.monotonic() - started >= 0.055
