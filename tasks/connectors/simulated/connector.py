"""`simulated/<respondent>`: the respondents in process, for runs with no key and no network."""

from __future__ import annotations

from collections.abc import Sequence

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import Connector, Message, RateLimited, Reply, Request
from biasgrid.tasks.connectors.simulated.panel import Panel, Question, count_tokens
from biasgrid.tasks.connectors.simulated.server.faults import as_error


class SimulatedConnector:
    """One respondent of a panel."""

    def __init__(self, panel: Panel, respondent: Respondent) -> None:
        self._panel, self._respondent = panel, respondent

    async def ask(self, request: Request) -> Reply:
        """Raises the `ConnectorError` that the respondent's limits or faults bring about."""
        said, seed = last_said(request.messages), request.parameters.seed
        question = Question(self._respondent, said, seed, request.messages)
        answer = self._panel.reply(question)
        asked = sum(count_tokens(message.content) for message in request.messages)
        self._admit(asked + count_tokens(answer.text))
        wrong = self._panel.fault(question)
        if wrong is not None:
            raise as_error(self._respondent, wrong)
        await self._panel.latency(self._respondent)
        return Reply(
            text=answer.text,
            finish_reason=answer.finish_reason,
            input_tokens=asked,
            output_tokens=count_tokens(answer.text),
            model_reported=self._respondent.id,
        )

    async def close(self) -> None:
        pass

    def _admit(self, tokens: int) -> None:
        wait_s = self._panel.meter(self._respondent).admit(tokens)
        if wait_s > 0:
            raise RateLimited(f"simulated/{self._respondent.id} has too many requests (its limits)", wait_s)


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """The respondent that `target.name` names; no key is needed. Raises UserError where it is unknown."""
    panel = Panel(catalog)
    return SimulatedConnector(panel, panel.respondent(target.name))


def last_said(messages: Sequence[Message]) -> str:
    """What the user said last: the text that a reply depends on."""
    said = [message.content for message in messages if message.role == "user"]
    return (said or [message.content for message in messages] or [""])[-1]
