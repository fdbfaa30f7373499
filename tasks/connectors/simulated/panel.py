"""The respondents of a catalog, ready to be asked: in process and over HTTP the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.behaviour import SimulatedReply, reply
from biasgrid.tasks.connectors.simulated.chance import Chance
from biasgrid.tasks.connectors.simulated.recognise import Recogniser
from biasgrid.tasks.connectors.simulated.roles.assigning import assigned
from biasgrid.tasks.connectors.simulated.roles.attacking import attacked
from biasgrid.tasks.connectors.simulated.roles.generator import generated
from biasgrid.tasks.connectors.simulated.roles.leaning import leaning_reply
from biasgrid.tasks.connectors.simulated.roles.probed import ProbeRecogniser
from biasgrid.tasks.connectors.simulated.roles.proposer import proposed
from biasgrid.tasks.connectors.simulated.roles.staged import SceneRecogniser
from biasgrid.tasks.connectors.simulated.server.faults import Fault, fault, odd_reply
from biasgrid.tasks.connectors.simulated.server.limits import Meter

FILLER = "and so on, "


@dataclass(frozen=True, slots=True)
class Question:
    """All that a reply depends on, whatever protocol it came by."""

    respondent: Respondent
    text: str
    seed: int | None
    messages: tuple[Message, ...] = ()
    """The whole conversation, where the protocol has one; `text` is what was said last."""


class Panel:
    """Answers questions and counts the attempts at each, so that a fault passes when it is asked again. Holds the
    respondents to their limits."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._recogniser = Recogniser.of(catalog)
        self._probed = ProbeRecogniser(catalog)
        self._scenes = SceneRecogniser(catalog)
        self._attempts: Counter[tuple[str, str, int | None]] = Counter()
        self._meters: dict[str, Meter] = {}

    def respondent(self, name: str) -> Respondent:
        """Raises UserError where the catalog has none of that id."""
        found = self.catalog.respondents.get(name)
        if found is None:
            raise UserError(
                Problem(f"respondent `{name}` is unknown", remedy=nearest(name, self.catalog.respondents))
            )
        return found

    def meter(self, respondent: Respondent) -> Meter:
        """The same one for all who ask this respondent."""
        if respondent.id not in self._meters:
            self._meters[respondent.id] = Meter(respondent.limits)
        return self._meters[respondent.id]

    def fault(self, question: Question) -> Fault | None:
        """What goes wrong this time. The count starts anew once a question is answered."""
        key = (question.respondent.id, question.text, question.seed)
        self._attempts[key] += 1
        wrong = fault(question.respondent, question.text, question.seed, self._attempts[key])
        if wrong is None:
            del self._attempts[key]
        return wrong

    async def latency(self, respondent: Respondent) -> None:
        # even at no latency: a cell's workers share the loop
        await asyncio.sleep(respondent.latency_ms / 1000)

    def reply(self, question: Question) -> SimulatedReply:
        """The reply at once, whatever the faults and the limits."""
        match odd_reply(question.respondent, question.text, question.seed):
            case "content_filter":
                return SimulatedReply("", "withheld", "content_filter")
            case "huge_reply":
                said = self._said(question)
                return replace(
                    said, text=_padded(said.text, question.respondent.faults.huge_bytes), odd="huge_reply"
                )
            case None:
                return self._said(question)

    def _said(self, question: Question) -> SimulatedReply:
        for write in (generated, proposed):
            written = write(question.respondent, question.text, question.seed, self.catalog)
            if written is not None:
                return SimulatedReply(written, "none")
        staged = self._scenes.find(question.messages)
        shared = assigned(question.respondent, staged, question.messages, question.seed) if staged else None
        if shared is not None:
            return SimulatedReply(shared, "none")
        played = attacked(question.respondent, question.messages, question.seed, self.catalog)
        if played is not None:
            return SimulatedReply(played, "none")
        recognised = self._recogniser.find(question.text)
        if recognised is None and question.respondent.answers == "by-rate":
            probed = self._probed.find(question.text)
            if probed is not None:
                chance = Chance(question.respondent.id, question.respondent.seed, question.text, question.seed)
                return SimulatedReply(leaning_reply(question.respondent.leaning, probed, chance), "none")
        return reply(question.respondent, recognised, question.text, question.seed)


def _padded(text: str, size: int) -> str:
    """The text and then filler up to `size` bytes of UTF-8."""
    missing = size - len(text.encode(errors="replace"))
    return f"{text}\n{FILLER * (missing // len(FILLER) + 1)}"[: len(text) + missing] if missing > 0 else text


def count_tokens(text: str) -> int:
    """An estimate: four characters a token, at least one."""
    return max(1, -(-len(text) // 4))
