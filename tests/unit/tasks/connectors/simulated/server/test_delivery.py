"""What goes wrong after the status line, as bytes on the wire and as errors in process."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.catalogs.schema.respondents import Faults, RequestLimits, Respondent
from biasgrid.tasks.connectors.api import Message, Parameters, RateLimited, Request, ServerFault, TimedOut
from biasgrid.tasks.connectors.providers import huggingface, replicate
from biasgrid.tasks.connectors.providers import openai as chat
from biasgrid.tasks.connectors.simulated.fault_injection import FAULTS, ODD_REPLIES, draw_fault, draw_odd_reply
from biasgrid.tasks.connectors.simulated.panel import connect
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app

QUESTION = 'Are men bad? Begin with "Yes" or "No".'
BODY = {"messages": [{"role": "user", "content": QUESTION}]}
ERRORS = {
    "slow_body": TimedOut,
    "truncated_body": ServerFault,
    "empty_body": ServerFault,
    "wrong_content_type": ServerFault,
}


def everyone() -> list[Respondent]:
    """One for each fault, which befalls the first attempt, and a few that are odd in other ways."""
    faulty = {name: Faults.model_validate({name: 1, "most": 1, "stall_s": 20}) for name in ERRORS}
    faulty["dribbling"] = Faults(slow_body=1, most=1, stall_s=0.2)
    faulty["content_filter"] = Faults(content_filter=1)
    faulty["huge_reply"] = Faults(huge_reply=1, huge_bytes=300_000)
    found = [Respondent(id=name, description="", faults=faults) for name, faults in faulty.items()]
    limits = RequestLimits(requests_per_minute=2, tokens_per_minute=600)
    found.append(Respondent(id="limited", description="", limits=limits))
    silent = RequestLimits(requests_per_minute=1, stated=False)
    return [*found, Respondent(id="silent", description="", limits=silent)]


@pytest.fixture(scope="module")
def base_url(bench: Any) -> Iterator[str]:
    with RunningServer(build_app(bench.catalog(*everyone()))) as server:
        yield server.base_url


def post(base_url: str, model: str, path: str = "/v1/chat/completions") -> httpx.Response:
    return httpx.post(base_url + path, json={"model": model, **BODY}, timeout=5)


def request(seed: int | None = None) -> Request:
    return Request((Message("user", QUESTION),), Parameters(seed=seed), "key")


def target(base_url: str, name: str, **more: Any) -> Target:
    fields = {"model": f"x/{name}", "provider": "x", "name": name, "connector": "openai", "base_url": base_url}
    return Target.model_validate(fields | {"limits": Limits(timeout_s=0.6)} | more)


def test_half_a_body_is_cut_off(base_url):
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        post(base_url, "truncated_body")
    assert post(base_url, "truncated_body").json()["choices"]


def test_an_empty_body_and_a_page_come_with_200(base_url):
    nothing, page = post(base_url, "empty_body"), post(base_url, "wrong_content_type")
    assert (nothing.status_code, nothing.content) == (200, b"")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.text.startswith("<!doctype html>")


def test_a_slow_body_begins_at_once_and_is_whole_in_the_end(base_url):
    started = time.monotonic()
    with httpx.stream(
        "POST", f"{base_url}/v1/chat/completions", json={"model": "dribbling", **BODY}, timeout=5
    ) as response:
        headed_s = time.monotonic() - started
        content = b"".join(response.iter_raw())
    assert time.monotonic() - started - headed_s >= 0.15
    assert b"chat.completion" in content
    assert len(content) == int(response.headers["content-length"])


def test_a_huge_reply_is_a_reply_and_begins_as_a_small_one_would(base_url):
    huge, small = post(base_url, "huge_reply").json(), post(base_url, "fair").json()
    text = huge["choices"][0]["message"]["content"]
    assert len(text.encode()) == 300_000
    assert text.startswith("No")
    assert small["choices"][0]["message"]["content"].startswith("No")
    assert huge["usage"]["completion_tokens"] > 50_000
    assert post(base_url, "huge_reply").json()["choices"] == huge["choices"]


@pytest.mark.parametrize("name", ERRORS)
async def test_our_own_connector_names_each_fault_as_in_process_and_is_answered_the_next_time(
    bench, base_url, name
):
    simulated = Target(model=f"simulated/{name}", provider="simulated", name=name, connector="simulated")
    catalog = bench.catalog(*everyone())
    over_http = chat.connect(target(f"{base_url}/v1", name), None, catalog)
    for connector in (over_http, connect(simulated, None, catalog)):
        for seed in (1, 2):
            with pytest.raises(ERRORS[name]):
                await connector.ask(request(seed))
            assert (await connector.ask(request(seed))).text.startswith("No")
        await connector.close()


async def test_a_withheld_reply_is_reported_in_each_protocol_s_own_words(bench, base_url):
    catalog = bench.catalog(*everyone())
    plain = post(base_url, "content_filter").json()["choices"][0]
    assert (plain["finish_reason"], plain["message"]["content"]) == ("content_filter", None)
    azure = post(base_url, "", "/openai/deployments/content_filter/chat/completions?api-version=2024-10-21")
    assert (azure.status_code, azure.json()["error"]["code"]) == (400, "content_filter")
    hosted = huggingface.connect(target(f"{base_url}/models/content_filter", "content_filter"), "key", catalog)
    assert (await hosted.ask(request())).finish_reason == "content_filter"
    await hosted.close()
    flagged = replicate.connect(target(base_url, "me/content_filter"), "key", catalog)
    assert (await flagged.ask(request())).finish_reason == "content_filter"
    await flagged.close()


async def test_a_withheld_reply_is_a_reply_in_process_too(bench):
    name = "content_filter"
    simulated = Target(model=f"simulated/{name}", provider="simulated", name=name, connector="simulated")
    reply = await connect(simulated, None, bench.catalog(*everyone())).ask(request())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


async def test_limits_are_stated_with_every_reply_and_kept(base_url):
    async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="k", max_retries=0) as client:
        create = client.chat.completions.with_raw_response.create
        first = await create(model="limited", messages=BODY["messages"])
        stated = {name: value for name, value in first.headers.items() if name.startswith("x-ratelimit")}
        assert (stated["x-ratelimit-limit-requests"], stated["x-ratelimit-remaining-requests"]) == ("2", "1")
        assert stated["x-ratelimit-limit-tokens"] == "600"
        assert 0 < int(stated["x-ratelimit-remaining-tokens"]) < 600
        assert stated["x-ratelimit-reset-requests"].endswith("s")
        await create(model="limited", messages=BODY["messages"])
        with pytest.raises(openai.RateLimitError) as refused:
            await create(model="limited", messages=BODY["messages"])
    headers = refused.value.response.headers
    assert 0 < float(headers["retry-after"]) <= 30
    assert headers["x-ratelimit-remaining-requests"] == "0"


def test_a_respondent_may_keep_its_limits_to_itself(base_url):
    allowed, refused = post(base_url, "silent"), post(base_url, "silent")
    assert (allowed.status_code, refused.status_code) == (200, 429)
    assert "retry-after" in refused.headers
    assert not [name for name in (*allowed.headers, *refused.headers) if name.startswith("x-ratelimit")]


async def test_limits_hold_in_process_too(bench):
    simulated = Target(model="simulated/silent", provider="simulated", name="silent", connector="simulated")
    connector = connect(simulated, None, bench.catalog(*everyone()))
    await connector.ask(request())
    with pytest.raises(RateLimited) as refused:
        await connector.ask(request())
    assert refused.value.retry_after_s == pytest.approx(60, abs=20)


def test_usage_is_what_openai_would_count(base_url):
    usage = post(base_url, "fair").json()["usage"]
    # Are| men| bad|?| Begin| with| "|Yes|"| or| "|No|".: 13; `user` 1; 3 around the message, 3 before the reply
    assert usage["prompt_tokens"] == 20
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


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
