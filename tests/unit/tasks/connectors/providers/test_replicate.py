"""What only Replicate has: versions, predictions that go on after the first answer, output in pieces."""

import asyncio
import time

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import (
    Message,
    ModelUnknown,
    Parameters,
    RateLimited,
    ReplyMisplaced,
    Request,
    RequestRejected,
    ServerFault,
)


async def test_a_model_is_asked_by_owner_and_name(server, reach, ask):
    await reach("replicate", name="meta/llama").ask(ask())
    assert server.received[0].path == "/v1/models/meta/llama/predictions"


async def test_a_version_is_asked_for_by_its_id(server, reach, ask):
    await reach("replicate", name="meta/llama:abc123").ask(ask())
    assert server.received[0].path == "/v1/predictions"
    assert server.received[0].body["version"] == "abc123"


@pytest.mark.parametrize("name", ["llama", "meta/", "meta/llama:", "a/b/c", "meta/lla ma"])
def test_a_name_that_is_no_reference_is_a_mistake(name, catalog, target):
    with pytest.raises(UserError, match="owner/name"):
        registry.connect(target("replicate", "http://127.0.0.1:1", name=name), "k", catalog)


async def test_the_token_limit_goes_under_both_names(server, reach, ask):
    await reach("replicate").ask(ask(max_tokens=60))
    inputs = server.received[0].body["input"]
    assert inputs["max_tokens"] == inputs["max_new_tokens"] == 60


async def test_several_messages_become_one_prompt(server, reach):
    talk = (Message("system", "Be brief."), Message("user", "So?"))
    await reach("replicate").ask(Request(talk, Parameters(), "k"))
    assert server.received[0].body["input"]["prompt"] == "system: Be brief.\n\nuser: So?\n\nassistant:"


async def test_the_server_is_asked_to_wait_within_what_it_admits(server, reach, ask):
    for timeout_s in (0.5, 20, 600):
        await reach("replicate", limits=Limits(timeout_s=timeout_s)).ask(ask())
    assert [received.headers["prefer"] for received in server.received] == ["wait=1", "wait=20", "wait=60"]


async def test_a_prediction_is_polled_until_it_has_ended(server, reach, ask):
    unfinished = {"status": "processing", "output": ["Y"]}
    server.then(server.predicts({"status": "starting"}, unfinished, {"output": ["Y", "e", "s\n", ""]}))
    started = time.perf_counter()
    reply = await reach("replicate").ask(ask())
    assert reply.text == "Yes\n"
    assert server.polls == 2
    assert time.perf_counter() - started < 0.9  # the SDK's own loop sleeps half a second each time


async def test_a_poll_that_fails_is_sent_again_and_not_the_prediction(server, reach, ask):
    server.then(server.predicts({"status": "starting"}, {"output": "Yes"}), server.fails(502), server.drops())
    assert (await reach("replicate").ask(ask())).text == "Yes"
    assert (len(server.received), server.polls, server.cancelled) == (1, 3, [])


async def test_a_prediction_whose_polls_all_fail_is_cancelled(server, reach, refusal):
    server.then(server.predicts({"status": "starting"}), *[server.fails(503)] * 4)
    assert type(await refusal(reach("replicate"))) is ServerFault
    assert (len(server.received), server.polls, server.cancelled) == (1, 4, ["p1"])


async def test_a_poll_is_not_held_up_by_a_wait_for_hours(server, reach, refusal):
    server.then(server.predicts({"status": "starting"}), server.fails(429, headers={"Retry-After": "7200"}))
    assert type(await refusal(reach("replicate"))) is RateLimited
    assert (server.polls, server.cancelled) == (1, ["p1"])


async def test_a_prediction_that_no_one_waits_for_any_more_is_cancelled(server, reach, ask):
    server.then(server.predicts({"status": "starting"}), server.stalls())
    asking = asyncio.create_task(reach("replicate").ask(ask()))
    await server.polled.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert server.cancelled == ["p1"]


async def test_output_may_be_one_text(server, reach, ask):
    server.then(server.predicts({"output": " No.\n"}))
    assert (await reach("replicate").ask(ask())).text == " No.\n"


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        ({"status": "failed", "error": "CUDA out of memory"}, ServerFault),
        ({"status": "failed", "error": "the prompt is too long"}, RequestRejected),
        ({"status": "canceled"}, ServerFault),
        ({"status": "unheard of"}, ServerFault),
        ({"output": None}, ReplyMisplaced),
        ({"output": {"a": 1}}, ReplyMisplaced),
        ({"output": ["a", 1]}, ReplyMisplaced),
    ],
)
async def test_a_prediction_without_text_is_an_error(server, reach, refusal, stage, kind):
    server.then(server.predicts(stage))
    assert type(await refusal(reach("replicate"))) is kind


async def test_a_flagged_prediction_is_a_withheld_reply(server, reach, ask):
    server.then(server.predicts({"status": "failed", "error": "the input was flagged as sensitive (E005)"}))
    reply = await reach("replicate").ask(ask())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


async def test_an_unknown_model_states_what_to_write(server, reach, refusal):
    server.then(server.fails(404))
    error = await refusal(reach("replicate"))
    assert type(error) is ModelUnknown
    assert "name" in str(error)
