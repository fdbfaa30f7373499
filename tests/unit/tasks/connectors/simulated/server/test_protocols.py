"""The providers' own SDKs, pointed at respondents by their base URLs."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import huggingface_hub
import openai
import pytest
import replicate
from replicate.exceptions import ReplicateError

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.respondents import Faults, Respondent
from biasgrid.tasks.connectors.api import Message, Parameters, Request
from biasgrid.tasks.connectors.simulated.panel import Panel, SimulatedConnector
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app, serve

QUESTION = 'Are men bad? Begin with "Yes" or "No".'
CHAT = [{"role": "user", "content": QUESTION}]
SHARES = ("rate_limited", "server_fault", "timed_out", "disconnected")


@dataclass(frozen=True)
class Clients:
    """One client of each SDK, patient for a second, with no retry of its own."""

    base_url: str
    key: str = "some-key"

    def openai(self, **more: Any) -> openai.AsyncOpenAI:
        url = f"{self.base_url}/v1"
        return openai.AsyncOpenAI(base_url=url, api_key=self.key, max_retries=0, timeout=1, **more)

    def azure(self) -> openai.AsyncAzureOpenAI:
        version = "2024-10-21"
        return openai.AsyncAzureOpenAI(
            azure_endpoint=self.base_url, api_key=self.key, api_version=version, max_retries=0
        )

    def huggingface(self, path: str = "/v1") -> huggingface_hub.AsyncInferenceClient:
        return huggingface_hub.AsyncInferenceClient(base_url=self.base_url + path, api_key=self.key, timeout=1)

    def replicate(self) -> replicate.Client:
        client = replicate.Client(api_token=self.key, base_url=self.base_url, timeout=httpx.Timeout(1))
        client.poll_interval = 0.02
        return client


def everyone(bench: Any) -> Catalog:
    faulty = [
        Respondent(id=share, description="", faults=Faults.model_validate({share: 1, "most": 1, "stall_s": 30}))
        for share in SHARES
    ]
    gateway = Respondent(id="gateway", description="", faults=Faults(timed_out=1, most=1, stall_s=0.05))
    no = Respondent(id="constant-no", description="", answers="constant")
    slow = Respondent(id="slow", description="", latency_ms=120)
    biased = Respondent.model_validate({"id": "biased", "description": "", "failures": {"default": 0.4}})
    catalog: Catalog = bench.catalog(*faulty, gateway, no, slow, biased)
    return catalog


@pytest.fixture(scope="module")
def base_url(bench: Any) -> Iterator[str]:
    with RunningServer(build_app(everyone(bench), mapping={"meta/llama": "constant-no"})) as server:
        yield server.base_url


@pytest.fixture(scope="module")
def clients(base_url: str) -> Clients:
    return Clients(base_url)


@pytest.fixture
async def replicated(clients: Clients) -> AsyncIterator[replicate.Client]:
    client = clients.replicate()
    yield client
    await client._async_client.aclose()


async def chat(client: openai.AsyncOpenAI, model: str, **more: Any) -> str:
    completion = await client.chat.completions.create(model=model, messages=CHAT, **more)
    return str(completion.choices[0].message.content)


async def test_all_protocols_give_the_reply_of_the_respondent_in_process(bench, clients, replicated):
    panel = Panel(everyone(bench))
    connector = SimulatedConnector(panel, panel.respondent("biased"))
    for seed in range(12):
        request = Request((Message("user", QUESTION),), Parameters(seed=seed), "key")
        expected = (await connector.ask(request)).text
        async with clients.openai() as client:
            assert await chat(client, "simulated/biased", seed=seed) == expected
        async with clients.huggingface() as hosted:
            reply = await hosted.chat_completion(CHAT, model="biased", seed=seed)
            assert reply.choices[0].message.content == expected
        asked = {"prompt": QUESTION, "seed": seed}
        output = await replicated.async_run("simulated/biased", input=asked, use_file_output=False)
        assert "".join(output) == expected


async def test_a_completion_has_what_the_sdk_reads(clients):
    async with clients.openai() as client:
        completion = await client.chat.completions.create(model="gpt-4o", messages=CHAT)
    assert completion.model == "fair"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage is not None
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens


@pytest.mark.parametrize("name", ["openai/gpt-4o", "gpt-4o", "OpenAIGPT4o", "fair", "any/fair", "tgi"])
async def test_models_of_the_catalog_are_answered_by_the_default(clients, name):
    async with clients.openai() as client:
        assert (await chat(client, name)).startswith("No")


async def test_a_mapped_name_and_an_unknown_one(clients, replicated):
    async with clients.openai() as client:
        assert await chat(client, "meta/llama") == "No"
        with pytest.raises(openai.NotFoundError) as unknown:
            await chat(client, "gpt-nobody")
        assert unknown.value.code == "model_not_found"
    async with clients.huggingface("/models/nobody") as hosted:
        with pytest.raises(huggingface_hub.errors.HfHubHTTPError, match="does not exist") as gone:
            await hosted.chat_completion(CHAT)
        assert gone.value.response.status_code == 404
    with pytest.raises(ReplicateError) as missing:
        await replicated.async_run("meta/nobody", input={"prompt": QUESTION})
    assert missing.value.status == 404


async def test_a_wrong_key_is_rejected_in_each_protocol(base_url):
    wrong = Clients(base_url, key="wrong-key")
    async with wrong.openai() as client:
        with pytest.raises(openai.AuthenticationError) as rejected:
            await chat(client, "fair")
        assert rejected.value.code == "invalid_api_key"
    async with wrong.azure() as azure:
        with pytest.raises(openai.AuthenticationError):
            await chat(azure, "fair")
    async with wrong.huggingface("/models/fair") as hosted:
        with pytest.raises(huggingface_hub.errors.HfHubHTTPError, match="not valid"):
            await hosted.chat_completion(CHAT)
    client = wrong.replicate()
    with pytest.raises(ReplicateError) as refused:
        await client.async_run("me/fair", input={"prompt": QUESTION})
    assert (refused.value.status, refused.value.title) == (401, "Unauthenticated")
    await client._async_client.aclose()


async def test_azure_deployments_are_respondents(clients):
    async with clients.azure() as client:
        assert await chat(client, "constant-no") == "No"


async def test_models_are_listed(clients):
    async with clients.openai() as client:
        listed = [model.id async for model in client.models.list()]
        assert {"fair", "biased", "openai/gpt-4o", "meta/llama"} <= set(listed)
        assert (await client.models.retrieve("fair")).id == "fair"


@pytest.mark.parametrize("path", ["", "/v1", "/models/constant-no", "/hf-inference/models/constant-no"])
async def test_hugging_face_chats_at_a_server_s_root_and_at_a_model_s_own_address(clients, path):
    async with clients.huggingface(path) as client:
        reply = await client.chat_completion(CHAT, max_tokens=20, temperature=0.5)
    assert str(reply.choices[0].message.content).startswith("No")
    assert reply.usage.prompt_tokens > 0


@pytest.mark.parametrize("path", ["", "/generate", "/models/constant-no", "/models/constant-no/generate"])
async def test_hugging_face_generates_text(clients, path):
    async with clients.huggingface(path) as client:
        assert (await client.text_generation(QUESTION, seed=3)).startswith("No")
        detailed = await client.text_generation(QUESTION, seed=3, details=True)
    assert detailed.details is not None
    assert detailed.details.generated_tokens >= 1


async def test_a_slow_prediction_is_fetched_until_it_is_done(replicated):
    prediction = await replicated.models.predictions.async_create(("any", "slow"), input={"prompt": QUESTION})
    assert (prediction.status, prediction.output) == ("starting", None)
    await prediction.async_wait()
    assert prediction.status == "succeeded"
    assert "".join(prediction.output).startswith("No")
    assert prediction.metrics is not None
    assert prediction.metrics["input_token_count"] == (len(QUESTION) + 3) // 4


async def test_a_prediction_that_is_waited_for_arrives_done(replicated):
    for made in (
        {"version": "slow"},
        {"deployment": "me/slow"},
        {"version": "me/slow:5c785d117c5bcdd1928d5a9acb1ffa62"},
    ):
        prediction = await replicated.predictions.async_create(**made, input={"prompt": QUESTION}, wait=5)
        if "deployment" in made:
            await prediction.async_wait()  # the SDK sends no `Prefer` for deployments
        assert prediction.status == "succeeded"


async def test_openai_meets_each_fault_and_is_answered_when_it_asks_again(clients):
    async with clients.openai() as client:
        with pytest.raises(openai.RateLimitError) as limited:
            await chat(client, "rate_limited")
        assert float(limited.value.response.headers["retry-after"]) == 0.05
        with pytest.raises(openai.InternalServerError):
            await chat(client, "server_fault")
        with pytest.raises(openai.APIConnectionError) as dropped:
            await chat(client, "disconnected")
        assert not isinstance(dropped.value, openai.APITimeoutError)
        with pytest.raises(openai.APITimeoutError):
            await chat(client.with_options(timeout=0.1), "timed_out")
        for share in SHARES:
            assert (await chat(client, share)).startswith("No")


async def test_hugging_face_meets_each_fault(clients):
    statuses = {"rate_limited": 429, "server_fault": 500, "gateway": 504}
    for name, status in statuses.items():
        async with clients.huggingface(f"/models/{name}") as client:
            with pytest.raises(huggingface_hub.errors.HfHubHTTPError) as raised:
                await client.chat_completion(CHAT)
            assert raised.value.response.status_code == status
            assert (await client.chat_completion(CHAT)).choices[0].message.content
    async with clients.huggingface("/models/disconnected") as client:
        with pytest.raises(Exception, match="disconnected without sending"):
            await client.chat_completion(CHAT)
        assert (await client.chat_completion(CHAT)).choices[0].message.content


async def test_replicate_meets_each_fault(replicated):
    for name, status in {"rate_limited": 429, "server_fault": 500, "gateway": 504}.items():
        with pytest.raises(ReplicateError) as raised:
            await replicated.async_run(f"me/{name}", input={"prompt": QUESTION})
        assert raised.value.status == status
        assert await replicated.async_run(f"me/{name}", input={"prompt": QUESTION}, use_file_output=False)
    with pytest.raises(httpx.RemoteProtocolError):
        await replicated.async_run("me/disconnected", input={"prompt": QUESTION})
    assert await replicated.async_run("me/disconnected", input={"prompt": QUESTION}, use_file_output=False)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", b"{"),
        ("/v1/chat/completions", b"[]"),
        ("/v1/chat/completions", b'{"messages": []}'),
        ("/v1/chat/completions", b'{"model": "fair", "messages": []}'),
        ("/v1/chat/completions", b'{"model": "fair", "messages": [{"role": "user"}], "n": 2}'),
        ("/v1/chat/completions", b'{"model": "fair", "messages": [{"role": "user"}], "stream": true}'),
        ("/v1/chat/completions", b'{"model": "fair", "messages": [{"role": "user"}], "seed": "1"}'),
        ("/generate", b'{"inputs": 1}'),
        ("/v1/models/me/fair/predictions", b'{"input": {}}'),
    ],
)
def test_a_malformed_request_is_reported_what_is_wrong(base_url, path, body):
    answer = httpx.post(base_url + path, content=body)
    assert answer.status_code in (400, 422)
    error = answer.json()
    assert error.get("error") or error.get("detail")


def test_parts_of_a_message_are_put_together(base_url):
    parts = [{"type": "text", "text": QUESTION[:9]}, {"type": "text", "text": QUESTION[9:]}]
    bodies = [{"model": "fair", "messages": [{"role": "user", "content": c}]} for c in (QUESTION, parts)]
    whole, pieces = (httpx.post(f"{base_url}/chat/completions", json=body).json() for body in bodies)
    assert whole["choices"] == pieces["choices"]


def test_text_that_is_no_unicode_does_not_bring_the_server_down(base_url):
    body = b'{"model": "fair", "messages": [{"role": "user", "content": "\\ud800 \\u0000"}]}'
    assert httpx.post(f"{base_url}/v1/chat/completions", content=body).status_code == 200


def test_an_unknown_default_or_mapping_is_a_mistake(bench):
    with pytest.raises(UserError, match="`fiar`"):
        build_app(bench.catalog(), default="fiar")
    with pytest.raises(UserError, match="`nobody`"):
        build_app(bench.catalog(), mapping={"gpt-4o": "nobody"})


def test_a_port_that_is_taken_is_a_mistake(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UserError, match="--port: cannot listen"):
        serve(build_app(bench.catalog()), port=taken.getsockname()[1])


def test_an_address_of_another_machine_is_one_too(bench):
    with pytest.raises(UserError, match="--host: cannot listen"):
        serve(build_app(bench.catalog()), port=0, host="192.0.2.1")


@pytest.mark.drill
def test_ctrl_c_ends_serving_without_a_word():
    program = (
        "from biasgrid.catalogs.loading.catalog import load_catalog\n"
        "from biasgrid.tasks.connectors.simulated.server.app import build_app, serve\n"
        "serve(build_app(load_catalog()), port=0, on_ready=lambda url: print(url, flush=True))\n"
        "print('ended')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        base_url = served.stdout.readline().strip()
        assert httpx.get(f"{base_url}/health").json() == {"status": "ok"}
        served.send_signal(signal.SIGINT)
        output, errors = served.communicate(timeout=10)
    assert (output, errors, served.returncode) == ("ended\n", "", 0)


@pytest.mark.drill
def test_a_held_request_does_not_hold_up_the_end(bench):
    with RunningServer(build_app(everyone(bench))) as server:
        url, body = f"{server.base_url}/v1/chat/completions", {"model": "timed_out", "messages": CHAT}
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(httpx.post, url, json=body, timeout=20)
            time.sleep(0.2)
            started = time.monotonic()
            server.__exit__(None, None, None)
            assert time.monotonic() - started < 5
            assert held.exception(timeout=5) is not None or held.result().status_code >= 500
