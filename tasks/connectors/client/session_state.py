"""State of conversations with chatbots: cookies and the chatbot's id."""

from __future__ import annotations

import asyncio
import hashlib
import os
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from uuid import uuid4

import aiohttp
import orjson
import yarl

from biasgrid.tasks.connectors.api import SessionStore
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.errors import StorageTrouble, storing


class SessionFolder:
    """Stored conversations with one model, in files named by hashes of model and session."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model

    def load(self, session: str) -> bytes | None:
        try:
            return self._path(session).read_bytes()
        except FileNotFoundError:
            return None

    def save(self, session: str, state: bytes) -> None:
        """Saves the state of a session. Raises StorageTrouble if it cannot be written."""
        with storing(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self._path(session), state)

    def _write(self, path: Path, state: bytes) -> None:
        with replace_atomically(path) as partial:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(state)

    def forget(self, session: str) -> None:
        self._path(session).unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        name = hashlib.blake2b(f"{self._model}\n{session}".encode(), digest_size=16).hexdigest()
        return self._folder / f"{name}.json"


class Conversation:
    """One session; its `turn` allows one request at a time, as a chatbot's memory is ordered."""

    def __init__(self, session: str | None, state: bytes | None = None) -> None:
        self.session = session or uuid4().hex
        self.given: str | None = None
        self.is_open = False
        self.turn = asyncio.Lock()
        self._jar = aiohttp.CookieJar(unsafe=True)  # a chatbot's address may be an IP address
        self._cookies: dict[tuple[str, ...], tuple[str, str]] = {}
        if state:
            self._restore(orjson.loads(state))

    def cookie(self, url: yarl.URL) -> str:
        """The Cookie header of a request, empty for none."""
        return self._jar.filter_cookies(url).output(header="", sep=";").strip()

    def take_cookies(self, url: yarl.URL, cookies: SimpleCookie) -> None:
        """Stores the cookies that a reply from `url` sets."""
        self._jar.update_cookies(cookies, url)
        for name, cookie in cookies.items():
            at = str(url.with_query(None))
            key = (url.host or "", name, cookie["domain"], cookie["path"])
            self._cookies[key] = at, cookie.OutputString()

    def state(self) -> bytes | None:
        """The state for a later process; None if the session's name is enough."""
        if not (self.given or self.is_open or self._cookies):
            return None
        cookies = list(self._cookies.values())
        return orjson.dumps({"given": self.given, "is_open": self.is_open, "cookies": cookies})

    def _restore(self, state: dict[str, list[tuple[str, str]]]) -> None:
        self.given, self.is_open = str(state["given"] or "") or None, bool(state["is_open"])
        for url, text in state["cookies"]:
            try:
                self.take_cookies(yarl.URL(url), SimpleCookie(text))
            except CookieError:
                continue


class Conversations:
    """Conversations with one model: in memory, and in a store if there is one."""

    def __init__(self) -> None:
        self.store: SessionStore | None = None
        self._trouble: StorageTrouble | None = None
        self._known: dict[str, Conversation] = {}

    def of(self, session: str | None) -> Conversation:
        """The conversation of a session, a new one for None. Raises StorageTrouble if a save had failed."""
        if self._trouble is not None:
            raise self._trouble
        if session is None:
            return Conversation(None)
        if session not in self._known:
            state = self.store.load(session) if self.store else None
            self._known[session] = Conversation(session, state)
        return self._known[session]

    async def keep(self, conversation: Conversation, before: bytes | None) -> None:
        """Saves a changed conversation before its reply is returned; a failure is raised by the next `of`."""
        state = conversation.state()
        is_named = self._known.get(conversation.session) is conversation
        if self.store is not None and is_named and state is not None and state != before:
            try:
                await asyncio.to_thread(self.store.save, conversation.session, state)
            except StorageTrouble as trouble:
                self._trouble = trouble

    async def forget(self, session: str) -> None:
        self._known.pop(session, None)
        if self.store is not None:
            await asyncio.to_thread(self.store.forget, session)
