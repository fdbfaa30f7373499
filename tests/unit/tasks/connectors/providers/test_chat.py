"""What only the chat-completion protocol has: finish reasons, codes in errors, two names for one parameter."""

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import Message, ModelUnknown, Parameters, QuotaSpent, Request, RequestRejected
from biasgrid.tasks.evaluate.evaluate import read_reply

chat = pytest.mark.parametrize("provider", ["openai", "azure", "huggingface"])


@chat
async def test_a_filtered_reply_is_a_reply_with_its_reason(provider, server, reach, ask):
    body = b'{"choices": [{"finish_reason": "content_filter", "message": {"role": "assistant", "content": null}}]}'
    server.then(server.sends(body))
    reply = await reach(provider).ask(ask())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


@chat
async def test_json_under_a_wrong_label_is_still_read(provider, server, reach, ask):
    body = b'{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "No"}}]}'
    server.then(server.sends(body, "text/plain"))
    assert (await reach(provider).ask(ask())).text == "No"


@chat
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, "insufficient_quota", QuotaSpent),
        (400, "context_length_exceeded", RequestRejected),
        (400, "model_not_supported", ModelUnknown),
        (404, "DeploymentNotFound", ModelUnknown),
    ],
)
async def test_what_a_body_states_is_more_exact_than_its_status(
    provider, server, reach, status, code, kind, refusal
):
    server.then(server.fails(status, code=code))
    assert type(await refusal(reach(provider))) is kind


@chat
@pytest.mark.parametrize(
    ("status", "code"), [(400, "content_filter"), (403, "content_filter"), (400, "content_policy_violation")]
)
async def test_a_filtered_prompt_is_a_refusal_and_not_an_error(provider, server, reach, ask, status, code):
    server.then(server.fails(status, code=code))
    reply = await reach(provider).ask(ask())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
    assert len(server.received) == 1
    oracle = Oracle(operation="equal", expected=("no",))
    assert read_reply(oracle, reply.text, reply.finish_reason).outcome == "refused"


async def test_a_prompt_that_is_filtered_under_the_newer_name_is_a_refusal_too(server, reach, ask):
    rejection = "Use 'max_completion_tokens' instead of 'max_tokens'."
    server.then(server.fails(400, message=rejection), server.fails(400, code="content_filter"))
    assert (await reach("openai").ask(ask(max_tokens=60))).finish_reason == "content_filter"


@chat
async def test_a_number_that_is_none_among_log_probabilities_spoils_no_reply(provider, server, reach, ask):
    message = b'"message": {"role": "assistant", "content": "No"}'
    likely = b'"logprobs": {"content": [{"token": "No", "logprob": NaN, "top_logprobs": []}]}'
    body = b'{"choices": [{"finish_reason": "stop", ' + likely + b", " + message + b"}]}"
    server.then(server.sends(body))
    assert (await reach(provider).ask(ask())).text == "No"
    assert len(server.received) == 1


async def test_every_message_is_sent_with_its_role(server, reach):
    talk = (
        Message("system", "Be brief."),
        Message("user", "Hi"),
        Message("assistant", "Hi!"),
        Message("user", "So?"),
    )
    await reach("openai").ask(Request(talk, Parameters(), "k"))
    assert [(m["role"], m["content"]) for m in server.received[0].body["messages"]] == [
        (message.role, message.content) for message in talk
    ]


async def test_a_server_without_a_key_is_reached(server, reach, ask, catalog, target):
    connector = registry.connect(target("openai", server.url, key_env=()), None, catalog)
    assert (await connector.ask(ask())).text == "Yes"
    await connector.close()


async def test_a_foreign_server_never_gets_the_key_of_the_environment(server, ask, catalog, target, monkeypatch):
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "HF_TOKEN", "REPLICATE_API_TOKEN"):
        monkeypatch.setenv(name, "hf_from_the_environment")
    for provider in ("openai", "azure", "huggingface", "replicate"):
        connector = registry.connect(target(provider, server.url, key_env=()), None, catalog)
        await connector.ask(ask())
        await connector.close()
    assert "from_the_environment" not in str(server.received)


async def test_the_newer_name_of_max_tokens_is_learnt_once(server, reach, ask):
    rejection = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    server.then(server.fails(400, code="unsupported_parameter", message=rejection))
    connector = reach("openai")
    assert (await connector.ask(ask(max_tokens=60))).text == "Yes"
    await connector.ask(ask(max_tokens=60))
    sent = [{name for name in received.body if name.startswith("max")} for received in server.received]
    assert sent == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


async def test_any_other_rejection_is_not_sent_again(server, reach, ask, refusal):
    server.then(server.fails(400, message="max_tokens is too large"))
    assert type(await refusal(reach("openai"))) is RequestRejected
    assert len(server.received) == 1


async def test_azure_names_its_deployment_and_version(server, reach, ask):
    await reach("azure", deployment="our-gpt").ask(ask())
    assert server.received[0].path == "/openai/deployments/our-gpt/chat/completions?api-version=2024-10-21"


def test_azure_needs_an_api_version(catalog, target):
    with pytest.raises(UserError, match="api_version"):
        registry.connect(target("azure", "http://127.0.0.1:1", api_version=None), "k", catalog)


@pytest.mark.parametrize("provider", ["openai", "azure", "huggingface", "replicate"])
@pytest.mark.parametrize(
    "url",
    [
        "http://somebody:s3cret@host.example/v1",
        "https://s3cret@host.example/v1",
        "http://somebody:s3/cr@et@host.example/v1",
        "somebody:s3cret@host.example/v1",
        "ftp://somebody:s3cret@host.example/v1",
        "http://somebody:s3cret@host.example:port/v1",
    ],
)
def test_an_address_with_a_password_is_a_mistake_that_does_not_show_it(provider, url, catalog, target):
    with pytest.raises(UserError) as refused:
        registry.connect(target(provider, "", base_url=url), "hf_k", catalog)
    shown = str(refused.value) + repr(refused.value)
    assert "host.example" in shown
    assert not any(part in shown for part in ("somebody", "s3", "cr@et"))


def test_an_at_sign_in_a_path_is_no_password(catalog, target):
    registry.connect(target("openai", "", base_url="https://host.example/@cf/v1"), "k", catalog)


@pytest.mark.parametrize("provider", ["openai", "azure", "huggingface", "replicate"])
def test_an_address_without_http_is_a_mistake(provider, catalog, target):
    with pytest.raises(UserError, match="localhost:8000"):
        registry.connect(target(provider, "", base_url="localhost:8000"), "k", catalog)


def test_a_hosted_hugging_face_model_needs_their_token(catalog, target):
    with pytest.raises(UserError, match="hf_"):
        registry.connect(target("huggingface", "", base_url=None), "sk-of-another-provider", catalog)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_a_text_generation_inference_server_is_reached_with_or_without_v1(server, reach, ask, suffix):
    await reach("huggingface", base_url=f"{server.url}{suffix}").ask(ask())
    assert server.received[0].path == "/v1/chat/completions"


async def test_a_dedicated_endpoint_is_named_as_deployment(server, reach, ask):
    await reach("huggingface", base_url=None, deployment=f"{server.url}/ours").ask(ask())
    assert server.received[0].path == "/ours/v1/chat/completions"
