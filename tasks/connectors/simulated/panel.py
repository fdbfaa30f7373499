"""The respondents of a catalog, the same in process and over HTTP."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import Connector, Message, RateLimited, Reply, Request
from biasgrid.tasks.connectors.simulated.behaviour import SimulatedReply, write_reply
from biasgrid.tasks.connectors.simulated.fault_injection import (
    Chance,
    Fault,
    Meter,
    draw_fault,
    draw_odd_reply,
    fault_error,
)
from biasgrid.tasks.connectors.simulated.recognition import TemplateRecogniser
from biasgrid.tasks.connectors.simulated.roles.augmentation import augmentation_reply
from biasgrid.tasks.connectors.simulated.roles.decider import DeciderRole
from biasgrid.tasks.connectors.simulated.roles.judge import JudgeRole
from biasgrid.tasks.connectors.simulated.roles.probe import ProbeRecogniser, probe_reply
from biasgrid.tasks.connectors.simulated.roles.red_team import red_team_reply
from biasgrid.tasks.connectors.simulated.roles.task_assignment import SceneRecogniser, assignment_reply
from biasgrid.tasks.connectors.usage import estimate_tokens

FILLER = "and so on, "


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that determines a reply, independent of the protocol."""

    respondent: Respondent
    text: str
    seed: int | None
    messages: tuple[Message, ...] = ()
    """The whole conversation, if the protocol has one; `text` is its last user message."""


class Panel:
    """Answers questions within limits, and counts the attempts at each so that faults end."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._recogniser = TemplateRecogniser.of(catalog)
        self._probed = ProbeRecogniser(catalog)
        self._scenes = SceneRecogniser(catalog)
        self._judge = JudgeRole(catalog, self._recogniser)
        self._decider = DeciderRole(catalog)
        self._attempts: Counter[tuple[str, str, int | None]] = Counter()
        self._meters: dict[str, Meter] = {}

    def respondent(self, name: str) -> Respondent:
        """The respondent with an id. Raises UserError if the catalog has none."""
        found = self.catalog.respondents.get(name)
        if found is None:
            raise UserError(
                Problem(f"respondent `{name}` is unknown", remedy=nearest(name, self.catalog.respondents))
            )
        return found

    def meter(self, respondent: Respondent) -> Meter:
        """The meter of a respondent, shared by all its callers."""
        if respondent.id not in self._meters:
            self._meters[respondent.id] = Meter(respondent.limits)
        return self._meters[respondent.id]

    def fault(self, question: Question) -> Fault | None:
        """The fault of this attempt, whose count restarts once a question is answered."""
        key = (question.respondent.id, question.text, question.seed)
        self._attempts[key] += 1
        wrong = draw_fault(question.respondent, question.text, question.seed, self._attempts[key])
        if wrong is None:
            del self._attempts[key]
        return wrong

    async def latency(self, respondent: Respondent) -> None:
        # also at latency 0, as a cell's workers share the loop
        await asyncio.sleep(respondent.latency_ms / 1000)

    def reply(self, question: Question) -> SimulatedReply:
        """The reply, without faults, limits and latency."""
        match draw_odd_reply(question.respondent, question.text, question.seed):
            case "content_filter":
                return SimulatedReply("", "withheld", "content_filter")
            case "huge_reply":
                reply = self._write(question)
                padded = _pad(reply.text, question.respondent.faults.huge_bytes)
                return replace(reply, text=padded, odd="huge_reply")
            case None:
                return self._write(question)

    def _write(self, question: Question) -> SimulatedReply:
        respondent, text, seed, messages = question.respondent, question.text, question.seed, question.messages
        written = self._judge.reply(respondent, messages, seed)
        if written is None:
            written = augmentation_reply(respondent, text, seed, self.catalog)
        if written is None and (scene := self._scenes.find(messages)) is not None:
            written = assignment_reply(respondent, scene, messages, seed)
        if written is None and respondent.deciding:
            written = self._decider.reply(respondent, text, seed)
        if written is None:
            written = red_team_reply(respondent, messages, seed, self.catalog)
        recognised = self._recogniser.find(text) if written is None else None
        if written is None and recognised is None and respondent.answers == "by-rate":
            asked = self._probed.find(text)
            chance = Chance(respondent.id, respondent.seed, text, seed)
            written = probe_reply(respondent.leaning, asked, chance) if asked is not None else None
        if written is not None:
            return SimulatedReply(written, "none")
        return write_reply(respondent, recognised, text, seed)


def _pad(text: str, size: int) -> str:
    """The text followed by filler up to `size` bytes of UTF-8."""
    missing = size - len(text.encode(errors="replace"))
    return f"{text}\n{FILLER * (missing // len(FILLER) + 1)}"[: len(text) + missing] if missing > 0 else text


class SimulatedConnector:
    """Connector to one respondent of a panel."""

    def __init__(self, panel: Panel, respondent: Respondent) -> None:
        self._panel, self._respondent = panel, respondent

    async def ask(self, request: Request) -> Reply:
        """The reply. Raises the `ConnectorError` of the respondent's limits or faults."""
        text, seed = last_user_text(request.messages), request.parameters.seed
        question = Question(self._respondent, text, seed, request.messages)
        answer = self._panel.reply(question)
        asked = sum(estimate_tokens(message.content) for message in request.messages)
        wait_s = self._panel.meter(self._respondent).admit(asked + estimate_tokens(answer.text))
        if wait_s > 0:
            raise RateLimited(f"simulated/{self._respondent.id} has too many requests (its limits)", wait_s)
        wrong = self._panel.fault(question)
        if wrong is not None:
            raise fault_error(self._respondent, wrong)
        await self._panel.latency(self._respondent)
        return Reply(
            text=answer.text,
            finish_reason=answer.finish_reason,
            input_tokens=asked,
            output_tokens=estimate_tokens(answer.text),
            model_reported=self._respondent.id,
        )

    async def close(self) -> None:
        pass


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """The respondent that `target.name` names; no key is needed. Raises UserError if it is unknown."""
    panel = Panel(catalog)
    return SimulatedConnector(panel, panel.respondent(target.name))


def last_user_text(messages: Sequence[Message]) -> str:
    """The user's last message, which determines the reply."""
    texts = [message.content for message in messages if message.role == "user"]
    return (texts or [message.content for message in messages] or [""])[-1]


ONLY_MODEL = ("tgi", "dummy")
"""Model names sent by clients of a server with one model."""


EVERY = "*"
"""In a mapping: every model that is named nowhere else."""


class ModelDirectory:
    """Respondents by model name: tuned models, respondent ids, `mapping`, then the default for listed models."""

    def __init__(self, panel: Panel, default: str, mapping: Mapping[str, str]) -> None:
        """Raises UserError if `default` or a value of `mapping` is no respondent."""
        self.default = panel.respondent(default)
        self._by_id = panel.catalog.respondents
        self._mapped = {name: panel.respondent(chosen) for name, chosen in mapping.items()}
        self._tuned: dict[str, Respondent] = {}
        self._listed = frozenset(listed_names(panel.catalog)) | frozenset(ONLY_MODEL)

    def find(self, model: str) -> Respondent | None:
        """The respondent registered for a model's name, or None."""
        if model in self._tuned:
            return self._tuned[model]
        found = self._by_id.get(model) or self._by_id.get(model.rpartition("/")[2])
        found = found or self._mapped.get(model)
        return found or (self.default if model in self._listed else self._mapped.get(EVERY))

    def names(self) -> list[str]:
        return sorted({*self._by_id, *self._mapped, *self._tuned, *self._listed} - {EVERY, *ONLY_MODEL})

    def add(self, model: str, respondent: Respondent) -> None:
        """Registers a respondent for a tuned model's name."""
        self._tuned[model] = respondent


def listed_names(catalog: Catalog) -> Iterator[str]:
    """All names of a model of models.yaml that users or SDKs of providers use."""
    for model, entry in catalog.models.models.items():
        yield from (model, model.partition("/")[2], *entry.aliases)
        yield from (name for name in (entry.name, entry.deployment) if name)
