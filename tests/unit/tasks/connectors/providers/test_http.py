"""A chatbot behind HTTP: what is sent to it, what is read of its replies, and what its failures are."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.models import endpoint_target
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import (
    BrokenReply,
    Disconnected,
    KeyRejected,
    Message,
    ModelUnknown,
    NotConnected,
    Parameters,
    RateLimited,
    ReplyMisplaced,
    Request,
    ServerFault,
    TimedOut,
    WebPage,
)
from biasgrid.tasks.connectors.client.error_mapping import ReplyTooLong
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.keys import find_key, missing_keys
from biasgrid.tasks.connectors.rows import fingerprint
from biasgrid.tasks.connectors.usage import cost_usd

HOSTILE = "“é” \"'; <b>&\n{session} ${HOME} \\ %41+/?#"


@pytest.fixture
async def bot(catalog):
    """Connects to an endpoint; closes it afterwards."""
    made = []

    def connect(described: dict[str, Any], **changes: Any):
        target = endpoint_target("bot", Endpoint(**(described | changes)))
        made.append(registry.connect(target, find_key(target), catalog))
        return made[-1]

    yield connect
    for connector in made:
        await connector.close()


async def test_a_chatbot_is_asked_and_its_reply_found(chatbot, bot, ask):
    reply = await bot(chatbot.endpoint()).ask(ask("¿Quién?"))
    assert reply.text == "You said: ¿Quién?"
    assert chatbot.received[0].json == {"message": "¿Quién?"}


async def test_what_is_filled_into_json_stays_a_value(chatbot, bot, ask):
    body = {"message": "{message}", "note": "said: {message}.", "{{message}}": ["{{message}}", 5, True]}
    await bot(chatbot.endpoint(), body=body).ask(ask(HOSTILE))
    received = chatbot.received[0].json
    assert received["message"] == HOSTILE
    assert received["note"] == f"said: {HOSTILE}."
    assert received["{{message}}"] == ["{message}", 5, True]


async def test_what_is_filled_into_a_form_is_escaped(chatbot, bot, ask):
    form = {"content_type": "application/x-www-form-urlencoded"}
    connector = bot(chatbot.endpoint(), body={"message": "{message}", "lang": "es"}, **form)
    assert (await connector.ask(ask(HOSTILE))).text == f"You said: {HOSTILE}"
    connector = bot(chatbot.endpoint(), body="lang=es&message={message}", **form)
    assert (await connector.ask(ask(HOSTILE))).text == f"You said: {HOSTILE}"


async def test_what_is_filled_into_an_address_is_percent_encoded(chatbot, bot, ask):
    described = {"method": "GET", "url": f"{chatbot.url}/plain/ü?message={{message}}&x=1"}
    assert (await bot(described).ask(ask(HOSTILE))).text == f"You said: {HOSTILE}"
    assert "%20" in chatbot.received[0].path
    assert "content-type" not in chatbot.received[0].headers


async def test_what_is_filled_into_a_text_goes_as_it_is_and_into_xml_escaped(chatbot, bot, ask):
    await bot({"url": f"{chatbot.url}/plain", "body": "Q: {message}"}).ask(ask(HOSTILE))
    xml = {"url": f"{chatbot.url}/plain", "body": "<q>{message}</q>", "content_type": "application/xml"}
    await bot(xml).ask(ask('<b> & "c"'))
    assert [received.body for received in chatbot.received] == [
        f"Q: {HOSTILE}",
        "<q>&lt;b&gt; &amp; &quot;c&quot;</q>",
    ]


async def test_a_history_is_sent_as_a_list_and_what_came_before_by_itself(chatbot, bot):
    talk = tuple(Message(role, text) for role, text in (("user", "a"), ("assistant", "b"), ("user", "c")))
    described = chatbot.endpoint("none") | {"body": {"history": "{history}", "e": "{earlier}", "m": "{message}"}}
    await bot(described).ask(Request(talk, Parameters(), "k"))
    received = chatbot.received[0].json
    assert [turn["content"] for turn in received["history"]] == ["a", "b", "c"]
    assert [turn["role"] for turn in received["e"]] == ["user", "assistant"]
    assert received["m"] == "c"


async def test_a_system_message_goes_where_the_file_states_and_is_left_out_where_there_is_none(chatbot, bot, ask):
    connector = bot(chatbot.endpoint(), body={"message": "{message}", "instructions": "{system}"})
    await connector.ask(Request((Message("system", "Be brief."), Message("user", "a")), Parameters(), "k"))
    await connector.ask(ask("b"))
    first, second = (received.json for received in chatbot.received)
    assert first == {"message": "a", "instructions": "Be brief."}
    assert second == {"message": "b"}


async def test_a_chatbots_own_names_for_turns_are_used(chatbot, bot):
    talk = tuple(Message(role, text) for role, text in (("user", "a"), ("assistant", "b"), ("user", "c")))
    described = chatbot.endpoint() | {"body": {"message": "{message}", "turns": "{earlier}"}}
    turns = {"role": "author", "content": "text", "assistant": "bot"}
    await bot(described, turns=turns).ask(Request(talk, Parameters(), "k"))
    assert chatbot.received[0].json["turns"] == [{"author": "user", "text": "a"}, {"author": "bot", "text": "b"}]


async def test_a_chatbot_that_needs_an_id_but_is_to_forget_gets_a_new_one_each_time(chatbot, bot, ask):
    connector = bot(chatbot.endpoint("session"), remembers="none")
    for _ in range(2):
        await connector.ask(replace(ask(), session="s1"))
    ids = [received.json["session"] for received in chatbot.received]
    assert len({"s1", *ids}) == 3


async def test_what_a_chatbot_echoes_of_a_key_is_in_no_error(server, bot, refusal, monkeypatch):
    monkeypatch.setenv("MY_BOT_KEY", "qX7vT2mK9wLp4RzN")
    monkeypatch.setenv("MY_TENANT", "a")
    headers = {"Authorization": "Bearer ${MY_BOT_KEY}", "X-Tenant": "${MY_TENANT}"}
    server.then(server.sends(b'{"error": "no such key: qX7vT2mK9wLp4RzN, says a."}'))
    described = {"url": server.url + "/x", "body": {"m": "{message}"}, "headers": headers, "reply": "text"}
    shown = str(await refusal(bot(described)))
    assert "says a." in shown
    assert "qX7vT" not in shown


async def test_a_key_that_a_chatbot_repeats_never_lands_and_other_words_do(server, bot, ask, monkeypatch):
    monkeypatch.setenv("MY_BOT_KEY", "qX7vT2mK9wLp4RzN")
    monkeypatch.setenv("MY_TENANT", "customers-of-ours")
    headers = {"Authorization": "Bearer ${MY_BOT_KEY}", "X-Tenant": "${MY_TENANT}"}
    server.then(server.sends(b'{"text": "heard: Bearer qX7vT2mK9wLp4RzN of customers-of-ours"}'))
    described = {"url": server.url + "/x", "body": {"m": "{message}"}, "headers": headers, "reply": "text"}
    assert (await bot(described).ask(ask())).text == "heard: Bearer [key] of customers-of-ours"


async def test_a_parameter_that_is_not_set_is_left_out(chatbot, bot, ask):
    body = {"message": "{message}", "options": {"t": "{temperature}", "seed": "{seed}"}}
    await bot(chatbot.endpoint(), body=body).ask(ask(temperature=0.0))
    assert chatbot.received[0].json["options"] == {"t": 0.0}


async def test_several_messages_of_a_reply_are_joined_and_none_is_an_empty_reply(server, bot, ask):
    described = {"url": server.url + "/rest", "body": {"message": "{message}"}, "reply": "[*].text"}
    server.then(server.sends(b'[{"text": "Hello."}, {"text": "Yes."}]'), server.sends(b"[]"))
    assert (await bot(described).ask(ask())).text == "Hello.\nYes."
    assert (await bot(described).ask(ask())).text == ""


async def test_without_a_path_the_body_is_the_text_in_its_own_charset(server, bot, ask):
    described = {"url": server.url + "/rest", "body": {"message": "{message}"}}

    async def labelled(received):
        return web.Response(
            body="Sí.\n".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"}
        )

    server.then(labelled)
    assert (await bot(described).ask(ask())).text == "Sí.\n"


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("html", WebPage),
        ("empty", BrokenReply),
        ("500", ServerFault),
        ("shape", ReplyMisplaced),
        ("429", RateLimited),
        ("drop", Disconnected),
        ("401", KeyRejected),
        ("404", ModelUnknown),
    ],
)
async def test_each_failure_is_an_error_of_its_kind(chatbot, bot, refusal, kind, error):
    chatbot.fails(kind)
    assert type(await refusal(bot(chatbot.endpoint()))) is error


async def test_errors_say_what_to_look_at(chatbot, bot, refusal, key):
    connector = bot(chatbot.endpoint(), headers={"Authorization": "Bearer ${SOME_API_KEY}"})
    chatbot.fails("401", "404")
    assert "check `SOME_API_KEY`" in str(await refusal(connector))
    assert "check the `url` of the endpoint's file" in str(await refusal(connector))


async def test_a_page_in_place_of_a_text_reply_is_the_servers_fault(chatbot, bot, refusal):
    chatbot.fails("html")
    assert type(await refusal(bot({"url": f"{chatbot.url}/plain", "body": "{message}"}))) is WebPage


async def test_a_misplaced_reply_names_the_path_and_quotes_what_came_without_escapes(server, bot, refusal):
    described = {"url": server.url + "/x", "body": {"m": "{message}"}, "reply": "data[0].text"}
    server.then(server.sends('{"data": [], "why": "red\u202e"}'.encode()))
    shown = str(await refusal(bot(described)))
    assert "`reply: data[0].text`, from `0` on" in shown
    assert '"why"' in shown
    assert "\u202e" not in shown


async def test_a_chatbot_that_is_down_is_named_without_what_its_address_asks_for(chatbot, bot, refusal):
    described = chatbot.endpoint() | {"url": f"{chatbot.url}/chat?tenant=ours"}
    connector = bot(described)
    chatbot.stop()
    error = await refusal(connector)
    assert type(error) is NotConnected
    assert f"{chatbot.url}/chat broke" in str(error)
    assert "tenant" not in str(error)


async def test_a_slow_chatbot_is_timed_out(chatbot, bot, refusal):
    chatbot.delay_s = 0.3
    assert type(await refusal(bot(chatbot.endpoint(), timeout_s=0.05))) is TimedOut


async def test_a_body_without_end_is_cut_off(server, bot, refusal):
    async def endless(received):
        response = web.StreamResponse()
        await response.prepare(received.web)
        for _ in range(40):
            await response.write(b" " * 1_000_000)
        return response

    server.then(endless)
    error = await refusal(bot({"url": server.url + "/x", "body": {"m": "{message}"}, "reply": "a"}))
    assert type(error) is ReplyTooLong  # a second request would bring as many
    assert "16 MB" in str(error)


async def test_credentials_are_not_sent_to_another_host(chatbot, server, bot, refusal, key):
    async def elsewhere(received):
        return web.Response(status=307, headers={"Location": f"{chatbot.url}/chat?{key}"})

    server.then(elsewhere)
    headers = {"Authorization": "Bearer ${SOME_API_KEY}"}
    error = await refusal(bot({"url": server.url + "/x", "body": {"message": "{message}"}, "headers": headers}))
    assert type(error) is ModelUnknown
    assert "nothing is sent to another host" in str(error)
    assert key not in str(error)
    assert chatbot.received == []


async def test_a_redirect_on_the_same_host_is_followed_with_the_message(server, bot, ask):
    async def moved(received):
        return web.Response(status=308, headers={"Location": "/v1/other/"})

    server.then(moved)
    path = "choices[0].message.content"
    reply = await bot({"url": server.url + "/x", "body": {"message": "{message}"}, "reply": path}).ask(ask("a"))
    assert reply.text == "Yes"
    assert [(received.path, received.body) for received in server.received] == [
        ("/x", {"message": "a"}),
        ("/v1/other/", {"message": "a"}),
    ]


async def test_redirects_without_end_are_reported(server, bot, refusal):
    async def moved(received):
        return web.Response(status=307, headers={"Location": "/x"})

    server.then(*[moved] * 6)
    assert "without end" in str(await refusal(bot({"url": server.url + "/x", "body": {"message": "{message}"}})))


async def test_a_failing_chatbot_is_asked_again_and_answers(chatbot, catalog, quick, ask):
    chatbot.fails("html", "500", "429", "drop")
    target = endpoint_target("bot", Endpoint(**chatbot.endpoint()))
    async with ModelPool(catalog, backoff=quick) as model_pool:
        answer = await model_pool.answer(target, ask("a"), retries=4)
    assert answer.reply is not None
    assert (answer.reply.text, answer.attempts) == ("You said: a", 5)


async def test_a_wrong_path_is_not_asked_again_and_stops_the_model_after_a_while(chatbot, catalog, quick, ask):
    target = endpoint_target("bot", Endpoint(**(chatbot.endpoint() | {"reply": "text"})))
    async with ModelPool(catalog, backoff=quick) as model_pool:
        answers = [await model_pool.answer(target, ask(str(n)), retries=4) for n in range(12)]
    assert answers[0].attempts == 1
    assert len(chatbot.received) == 10


def test_variables_that_are_not_set_are_found_before_the_first_call(monkeypatch):
    monkeypatch.delenv("MY_BOT_KEY", raising=False)
    monkeypatch.setenv("MY_TENANT", "ours")
    headers = {"Authorization": "Bearer ${MY_BOT_KEY}", "X-Tenant": "${MY_TENANT}"}
    described = Endpoint(url="http://b.example", body={"m": "{message}"}, headers=headers)
    target = endpoint_target("bot", described)
    (missing,) = missing_keys([target], lambda name: None)
    for shown in (
        "`${MY_BOT_KEY}`",
        "header `Authorization`",
        "`endpoint/bot`",
        "Prefect Secret block `my-bot-key`",
    ):
        assert shown in missing.what
    with pytest.raises(UserError, match="MY_BOT_KEY"):
        find_key(target)
    found = find_key(target, {"my-bot-key": "stored"}.get)
    assert json.loads(found or "") == {"MY_BOT_KEY": "stored", "MY_TENANT": "ours"}


async def test_what_a_variable_holds_is_sent_as_it_is(chatbot, bot, ask, monkeypatch):
    monkeypatch.setenv("MY_BOT_KEY", "a {session} ${HOME}")
    await bot(chatbot.endpoint(), headers={"Authorization": "Bearer ${MY_BOT_KEY}"}).ask(ask())
    assert chatbot.received[0].headers["authorization"] == "Bearer a {session} ${HOME}"


def test_replies_are_distinguished_by_how_a_chatbot_is_asked_not_by_its_limits(catalog):
    def printed(**changes: Any) -> str:
        described = {"url": "http://b.example", "body": {"m": "{message}"}} | changes
        return fingerprint(endpoint_target("bot", Endpoint(**described)), catalog)

    assert printed() == printed(concurrency=9, timeout_s=3, usd_per_request=1, requests_per_minute=2)
    others = [
        printed(body={"q": "{message}"}),
        printed(reply="a.b"),
        printed(headers={"Authorization": "${A}"}),
        printed(headers={"Authorization": "${B}"}),
        printed(remembers="cookie"),
        printed(opening={"url": "http://b.example/start"}),
    ]
    assert len({printed(), *others}) == 7


async def test_a_request_costs_its_price(chatbot, catalog, ask):
    target = endpoint_target("bot", Endpoint(**(chatbot.endpoint() | {"usd_per_request": 0.25})))
    async with ModelPool(catalog) as model_pool:
        answer = await model_pool.answer(target, ask(), retries=0)
    assert answer.reply is not None
    assert cost_usd(answer.reply, target.prices) == 0.25
