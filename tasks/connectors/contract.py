"""The contract of a connector, tested against it by a few real requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Final

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import (
    Connector,
    ConnectorBroken,
    ConnectorError,
    Message,
    Parameters,
    Reply,
    Request,
)
from biasgrid.tasks.connectors.client.connector_bugs import attribute_bugs, check_reply

MOST_REQUESTS: Final = 6
"""Requests that `check_contract` sends, at most."""
PROMPT: Final = "Reply with the word Yes and nothing else."
NONE_SET: Final = Parameters()
CLOSE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule of the contract, and what breaks it; None if it holds."""

    rule: str
    breach: str | None = None


async def check_contract(target: Target, key: str | None, connect: Callable[[], Connector]) -> list[Finding]:
    """The findings in the order of the tests, which end where no reply comes."""
    check = ContractCheck(target, key)
    try:
        with attribute_bugs(target, connect):
            connector = connect()
    except ConnectorBroken as broken:
        return [Finding("the factory makes a connector", str(broken))]
    missing = [name for name in ("ask", "close") if not callable(getattr(connector, name, None))]
    if missing:
        return [Finding("the factory makes a connector", f"it has no method `{missing[0]}`")]
    try:
        found = [await check.answers(connector, "a prompt is answered by a text", PROMPT)]
        if found[0].breach is None:
            found += [await check.takes_parameters(connector), await check.answers_at_once(connector)]
            found += [await check.rejects_text(connector), await check.is_cancelled(connector)]
    finally:
        closed = await check.closes(connector)
    return [*found, closed]


@dataclass(frozen=True, slots=True)
class ContractCheck:
    target: Target
    key: str | None

    async def answers(
        self, connector: Connector, rule: str, prompt: str, sampling: Parameters = NONE_SET
    ) -> Finding:
        """Whether a request brings a reply whose side fields can be used."""
        return self._judge(rule, await self._ask(connector, prompt, sampling))

    async def takes_parameters(self, connector: Connector) -> Finding:
        rule = "temperature, max_tokens and seed may be set"
        return await self.answers(connector, rule, PROMPT, Parameters(temperature=0.0, max_tokens=20, seed=7))

    async def answers_at_once(self, connector: Connector) -> Finding:
        rule = "two requests at once are both answered"
        both = await asyncio.gather(*(self._ask(connector, f"{PROMPT} ({number})") for number in (1, 2)))
        return next((found for each in both if (found := self._judge(rule, each)).breach), Finding(rule))

    async def rejects_text(self, connector: Connector) -> Finding:
        """Whether half an emoji is answered, or rejected by an error of the interface."""
        rule = "text that is no valid Unicode is answered or rejected"
        outcome = await self._ask(connector, f"{PROMPT} \ud83d")
        return Finding(rule, str(outcome) if isinstance(outcome, ConnectorBroken) else None)

    async def is_cancelled(self, connector: Connector) -> Finding:
        rule = "a request can be cancelled"
        asking = asyncio.create_task(self._ask(connector, PROMPT))
        await asyncio.sleep(0)
        asking.cancel()
        done, _ = await asyncio.wait([asking], timeout=CLOSE_S)
        if not done:
            return Finding(rule, f"it was still running {CLOSE_S:g} s later")
        outcome = None if asking.cancelled() else asking.result()
        return Finding(rule, str(outcome) if isinstance(outcome, ConnectorBroken) else None)

    async def closes(self, connector: Connector) -> Finding:
        rule = "it closes"
        try:
            with attribute_bugs(self.target, connector):
                async with asyncio.timeout(CLOSE_S):
                    await connector.close()
        except (ConnectorError, TimeoutError) as error:
            return Finding(rule, str(error) or f"it was still closing {CLOSE_S:g} s later")
        return Finding(rule)

    async def _ask(
        self, connector: Connector, prompt: str, sampling: Parameters = NONE_SET
    ) -> Reply | ConnectorError:
        request = Request((Message("user", prompt),), sampling, prompt)
        try:
            with attribute_bugs(self.target, connector):
                async with asyncio.timeout(self.target.limits.timeout_s):
                    reply: object = await connector.ask(request)
            return check_reply(self.target, connector, reply)
        except ConnectorError as error:
            return error
        except TimeoutError:
            return ConnectorError(f"no answer within {self.target.limits.timeout_s:g} s")
        except UserError as error:
            return ConnectorError(str(error))

    def _judge(self, rule: str, outcome: Reply | ConnectorError) -> Finding:
        if isinstance(outcome, Reply):
            return Finding(rule, self._find_flaw(outcome))
        if self.key and self.key in str(outcome):
            return Finding(rule, f"the message of its {type(outcome).__name__} holds the key")
        try:
            copy(outcome)  # made anew of its `args`, as in another process
        except TypeError:
            return Finding(rule, f"its {type(outcome).__name__} cannot be copied: give `args` all its data")
        return Finding(rule, f"{type(outcome).__name__}: {outcome}")

    def _find_flaw(self, reply: Reply) -> str | None:
        if self.key and self.key in reply.text:
            return "the reply's text holds the key"
        return reply.note
