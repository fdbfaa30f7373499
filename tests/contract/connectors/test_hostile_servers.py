"""Whatever a server sends, a request ends in bounded time, as the reply that was delivered or as one error."""

import asyncio
import gzip
import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import ConnectorError, Reply, TimedOut
from support.connectors import KEY, _target
from support.hostile_server import KNOWN, TEXT, Behaviour, Sound, chunked, hostile_server, http

pytestmark = pytest.mark.parametrize("provider", ["openai", "azure", "huggingface", "replicate", "http"])
SHORT_S, LONG_S = 1.0, 60.0
"""Time limits of requests that a server leaves hanging, and of all others, which a busy machine may delay."""


async def play(provider, behaviours, catalog, ask):
    """What became of one request for each behaviour, and how often each was sent."""
    async with hostile_server(behaviours) as server:
        found = {}
        for hangs, limit_s in ((True, SHORT_S), (False, LONG_S)):
            key = json.dumps({"SOME_API_KEY": KEY}) if provider == "http" else KEY
            target = _target(provider, server.url, limits=Limits(timeout_s=limit_s))
            connector = registry.connect(target, key, catalog)
            at_once = asyncio.Semaphore(8)
            names = [name for name, behaviour in behaviours.items() if behaviour.hangs == hangs]

            async def one(name, connector=connector, at_once=at_once):
                async with at_once:
                    while True:
                        try:
                            return await connector.ask(ask(f"behave-{name} Are they alike?"))
                        except ConnectorError as error:
                            # the server had closed the connection: what was not received is sent again
                            if any(asked == name for asked, _ in server.requests):
                                return error

            async with asyncio.timeout(2 * LONG_S):
                found |= zip(names, await asyncio.gather(*map(one, names)), strict=True)
            await connector.close()
        return found, Counter(name for name, _ in server.requests.elements())


def check(found, sent, behaviours):
    wrong = {}
    for name, outcome in found.items():
        behaviour = behaviours[name]
        if behaviour.delivers and not (isinstance(outcome, Reply) and (outcome.text, sent[name]) == (TEXT, 1)):
            wrong[name] = outcome, sent[name]
        if behaviour.delivers is False and isinstance(outcome, Reply):
            wrong[name] = outcome
        if behaviour.hangs and not isinstance(outcome, TimedOut):
            wrong[name] = outcome
        if isinstance(outcome, ConnectorError) and not 10 < len(str(outcome)) < 1000:
            wrong[name] = outcome
    assert not wrong, "\n".join(f"{name}: {why!r:.300}" for name, why in wrong.items())


async def test_every_known_behaviour_has_its_outcome(provider, catalog, ask):
    check(*await play(provider, KNOWN, catalog, ask), KNOWN)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SIDES = st.fixed_dictionaries({}, optional={"usage": VALUES, "model": VALUES, "finish": VALUES, "x": VALUES})
FRAMINGS = st.sampled_from(["length", "chunked", "close"])


@st.composite
def delivered(draw):
    """A sound reply with anything next to its text, in any framing and encoding, in pieces of any size."""
    side, framing, squeezed = draw(SIDES), draw(FRAMINGS), draw(st.booleans())
    size, pause = draw(st.integers(1, 400)), draw(st.sampled_from([0.0, 0.001]))

    def steps(sound: Sound):
        body = sound.body(**side)
        headers = {"Content_Encoding": "gzip"} if squeezed else {}
        sent = http(gzip.compress(body) if squeezed else body, framing=framing, **headers)
        return [step for at in range(0, len(sent), size) for step in (sent[at : at + size], pause)]

    return Behaviour(steps, delivers=True)


@st.composite
def broken(draw):
    """A response with any part wrong."""
    value, status = draw(VALUES), draw(st.sampled_from([200, 201, 204, 206, 302, 400, 404, 429, 500, 999]))
    headers = draw(st.dictionaries(st.sampled_from(HEADERS), st.sampled_from(HEADER_VALUES), max_size=3))
    noise, cut, framing = draw(st.binary(max_size=60)), draw(st.integers(0, 700)), draw(FRAMINGS)
    kind = draw(st.sampled_from(["document", "value", "noise", "chunks"]))

    def steps(sound: Sound):
        bodies = {
            "document": sound.body(value),
            "value": json.dumps(value).encode(),
            "noise": noise,
            "chunks": chunked(sound.body()) + noise,
        }
        sent = http(bodies[kind], status, framing, **headers)
        return [sent[:cut] + (noise if cut % 2 else b"") + sent[cut + cut % 5 :]]

    return Behaviour(steps)


HEADERS = (
    *("Content_Length", "Transfer_Encoding", "Content_Encoding", "Location", "Retry_After", "Set_Cookie"),
    "Connection",
)
HEADER_VALUES = (
    *("", "0", "-1", "12", "99999999999999999999", "chunked", "gzip, deflate", "br", "/v1", "\u00e9", "x=\x01; y"),
    "close",
)
MANY = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


# Threads of earlier servers may draw a random number meanwhile, which Hypothesis takes for its strategies' own.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
@MANY
@given(drawn=st.lists(delivered() | broken(), min_size=15, max_size=40))
def test_any_behaviour_has_one_outcome(provider, drawn, catalog, ask):
    behaviours = {f"r{number}": behaviour for number, behaviour in enumerate(drawn)}
    found, sent = asyncio.run(play(provider, behaviours, catalog, ask))
    certain = {name: one for name, one in behaviours.items() if one.delivers is not None}
    check({name: found[name] for name in certain}, sent, behaviours)
    assert all(isinstance(outcome, Reply | ConnectorError) for outcome in found.values())
