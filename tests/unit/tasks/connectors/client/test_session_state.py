"""Chatbots that remember: by cookies, by our session id or by theirs; in one process and over a kill."""

from __future__ import annotations

import asyncio
import errno
import stat
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.models import Target, endpoint_target
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import Answer, Message, Parameters, Request, Terminal
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.session_state import SessionFolder
from biasgrid.tasks.connectors.rows import to_request
from biasgrid.warehouse.storage.errors import StorageTrouble

REMEMBERING = ["cookie", "session", "given"]


@pytest.fixture(autouse=True)
def counting(chatbot):
    """Replies with the number of messages so far, and the first of them."""
    chatbot.reply = lambda history: f"{(len(history) + 1) // 2}: {history[0]['content']}"


def message(text: str, session: str | None = "s1") -> Request:
    return Request((Message("user", text),), Parameters(), text, session=session)


def model(chatbot: Any, remembers: str, **changes: Any) -> Target:
    return endpoint_target("bot", Endpoint(**(chatbot.endpoint(remembers) | changes)))


def reply_text(answer: Answer) -> str:
    assert answer.reply is not None, answer.error
    return answer.reply.text


@pytest.fixture
def open_pool(catalog, quick, tmp_path):
    """A process that asks: what is kept in a folder is all that another one knows of it."""

    def make():
        model_pool = ModelPool(catalog, backoff=quick)
        model_pool.keep_sessions(tmp_path / "sessions")
        return model_pool

    return make


@pytest.mark.parametrize("remembers", REMEMBERING)
async def test_a_session_is_one_conversation_and_others_are_others(chatbot, open_pool, remembers):
    target = model(chatbot, remembers)
    async with open_pool() as model_pool:
        first = await model_pool.answer(target, message("a"), 0)
        other = await model_pool.answer(target, message("b", "s2"), 0)
        alone = await model_pool.answer(target, message("c", None), 0)
        again = await model_pool.answer(target, message("d"), 0)
    assert [reply_text(each) for each in (first, other, alone, again)] == ["1: a", "1: b", "1: c", "2: a"]
    assert sorted(chatbot.conversations.values()) == [["a", "d"], ["b"], ["c"]]


@pytest.mark.parametrize("remembers", REMEMBERING)
async def test_a_conversation_goes_on_in_another_process(chatbot, open_pool, remembers):
    target = model(chatbot, remembers)
    async with open_pool() as model_pool:
        assert reply_text(await model_pool.answer(target, message("a"), 0)) == "1: a"
    async with open_pool() as model_pool:
        assert reply_text(await model_pool.answer(target, message("b"), 0)) == "2: a"
    assert list(chatbot.conversations.values()) == [["a", "b"]]


async def test_conversations_are_kept_in_a_folder_that_is_named_later(chatbot, catalog, quick, tmp_path):
    target = model(chatbot, "cookie")
    for number in (1, 2):
        async with ModelPool(catalog, backoff=quick) as model_pool:
            model_pool.prepare([target])
            model_pool.keep_sessions(tmp_path / "sessions" / "run")
            assert reply_text(await model_pool.answer(target, message("a"), 0)) == f"{number}: a"
    assert len([*(tmp_path / "sessions" / "run").iterdir()]) == 1


@pytest.mark.parametrize("remembers", REMEMBERING)
async def test_a_conversation_that_is_forgotten_begins_anew(chatbot, open_pool, remembers, tmp_path):
    target = model(chatbot, remembers)
    async with open_pool() as model_pool:
        await model_pool.answer(target, message("a"), 0)
        await model_pool.forget(target, "s1")
        again = await model_pool.answer(target, message("b"), 0)
        assert reply_text(again) == ("2: a" if remembers == "session" else "1: b")
        await model_pool.forget(target, "s1")
    assert not (tmp_path / "sessions").exists() or list((tmp_path / "sessions").iterdir()) == []


async def test_what_is_kept_is_for_its_owner_alone_and_names_no_one(chatbot, open_pool, tmp_path):
    async with open_pool() as model_pool:
        await model_pool.answer(model(chatbot, "cookie"), message("a"), 0)
    (kept,) = (tmp_path / "sessions").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "s1" not in kept.name


class FullDisk(SessionFolder):
    def _write(self, path: Path, state: bytes) -> None:
        raise OSError(errno.ENOSPC, "full")


async def test_a_reply_is_not_lost_where_its_conversation_cannot_be_kept(chatbot, catalog, tmp_path):
    connector = registry.connect(model(chatbot, "cookie"), None, catalog)
    connector.keep(FullDisk(tmp_path, "endpoint/bot"))
    assert (await connector.ask(message("a"))).text == "1: a"
    with pytest.raises(StorageTrouble, match=str(tmp_path)):
        await connector.ask(message("b"))
    assert len(chatbot.received) == 1
    await connector.close()


async def test_our_own_session_ids_need_nothing_kept(chatbot, open_pool, tmp_path):
    async with open_pool() as model_pool:
        await model_pool.answer(model(chatbot, "session"), message("a"), 0)
    assert not (tmp_path / "sessions").exists()
    assert list(chatbot.conversations) == ["s1"]


async def test_without_a_folder_nothing_is_kept(chatbot, catalog, quick, tmp_path):
    async with ModelPool(catalog, backoff=quick) as model_pool:
        await model_pool.answer(model(chatbot, "cookie"), message("a"), 0)
        assert reply_text(await model_pool.answer(model(chatbot, "cookie"), message("b"), 0)) == "2: a"
    assert list(tmp_path.iterdir()) == []


async def test_a_conversation_is_opened_once_whatever_fails_after(chatbot, open_pool):
    chatbot.fails()
    async with open_pool() as model_pool:
        target = model(chatbot, "given")
        await model_pool.answer(target, message("a"), 0)
        chatbot.fails("500", "html")
        assert reply_text(await model_pool.answer(target, message("b"), 3)) == "2: a"
    assert [received.path for received in chatbot.received].count("/start") == 1


async def test_an_opening_that_fails_is_tried_again(chatbot, open_pool):
    chatbot.fails("500")
    async with open_pool() as model_pool:
        assert reply_text(await model_pool.answer(model(chatbot, "given"), message("a"), 1)) == "1: a"
    assert [received.path for received in chatbot.received] == ["/start", "/start", "/chat"]


async def test_an_id_that_the_first_reply_gives_is_sent_with_the_next(chatbot, open_pool):
    target = model(chatbot, "given", opening=None)
    async with open_pool() as model_pool:
        await model_pool.answer(target, message("a"), 0)
        assert reply_text(await model_pool.answer(target, message("b"), 0)) == "2: a"
    first, second = (received.json for received in chatbot.received)
    assert "session" not in first
    assert second["session"] == "#1"


async def test_an_id_that_is_not_where_it_should_be_is_reported(chatbot, open_pool):
    async with open_pool() as model_pool:
        answer = await model_pool.answer(model(chatbot, "given", session_from="conversation.id"), message("a"), 3)
    assert isinstance(answer.error, Terminal)
    assert "`session_from: conversation.id`" in str(answer.error)
    assert answer.attempts == 1


async def test_a_chatbot_without_memory_is_sent_what_was_stated_and_gets_no_cookie_back(chatbot, open_pool):
    target = model(chatbot, "none")
    async with open_pool() as model_pool:
        for text in ("a", "b"):
            await model_pool.answer(target, message(text), 0)
    assert [received.headers.get("cookie") for received in chatbot.received] == [None, None]
    assert sorted(chatbot.conversations.values()) == [["a"], ["b"]]


async def test_the_same_message_in_two_sessions_is_sent_twice(chatbot, open_pool):
    async with open_pool() as model_pool:
        model_pool.expect({"a": None})
        target = model(chatbot, "session")
        twins = [model_pool.answer(target, message("a", session), 0) for session in ("s1", "s2")]
        answers = await asyncio.gather(*twins)
    assert not any(answer.shared for answer in answers)
    assert sorted(chatbot.conversations) == ["s1", "s2"]


async def test_turns_of_a_session_reach_it_one_after_another(chatbot, open_pool):
    chatbot.delay_s = 0.01
    async with open_pool() as model_pool:
        target = model(chatbot, "cookie")
        await asyncio.gather(*(model_pool.answer(target, message(text), 0) for text in "abcd"))
    assert sorted(chatbot.conversations["#1"]) == ["a", "b", "c", "d"]
    assert len(chatbot.conversations) == 1


def test_a_case_belongs_to_the_session_that_it_names():
    case = {"messages": [{"role": "user", "content": "a"}], "parameters": "{}", "request_key": "k", "sample": 1}
    assert to_request(case).session is None
    assert to_request(case | {"session": "s1"}).session == "s1"


def test_a_folder_keeps_models_and_sessions_apart(tmp_path):
    one, other = SessionFolder(tmp_path, "endpoint/a"), SessionFolder(tmp_path, "endpoint/b")
    one.save("s", b"1")
    one.save("s", b"2")
    assert (one.load("s"), one.load("t"), other.load("s")) == (b"2", None, None)
    one.forget("s")
    one.forget("s")
    assert one.load("s") is None
