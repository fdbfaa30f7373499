"""Documents × identities as cases, one cell per model, signal and group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import orjson
import polars as pl

from biasgrid.catalogs.scenario.audit import ResolvedAudit
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.audit.prompts import Prompt, decision_oracle, list_prompts
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.connectors.rows import request_key, request_text
from biasgrid.warehouse.hashing import content_hash

READING: Final = "audit"
"""Oracle type of cases whose replies are decisions."""


@dataclass(frozen=True)
class Asked:
    """A model that is asked all prompts, and what its cases share."""

    run_id: str
    target: Target
    resolved: ResolvedAudit

    @cached_property
    def _party(self) -> Participant:
        return Participant.of(self.target, self.resolved.settings, self.resolved.catalog)

    @cached_property
    def _oracle(self) -> str:
        return decision_oracle(self.resolved).model_dump_json()

    @cached_property
    def _parameters(self) -> list[str]:
        """Parameters of each repeat, which has its own seed."""
        return [self._party.parameters(repeat) for repeat in range(1, self.resolved.audit.repeats + 1)]

    def cases(self, prompt: Prompt) -> Iterator[dict[str, Any]]:
        """One case per repeat."""
        resolved, audit = self.resolved, self.resolved.audit
        kind = (self.target.model, audit.language, prompt.signal, prompt.design)
        cell = (prompt.group, *resolved.concerns, *kind)
        texts = [member.document.masked.text for member in prompt.members]
        messages = [{"role": "user", "content": prompt.text}]
        if audit.system:
            messages.insert(0, {"role": "system", "content": audit.system})
        instance = content_hash("audit", *map(str, _list_members(prompt)), prompt.text)
        facets = {
            "axis": resolved.axis,
            "reference": audit.reference,
            "decision": "yes_no" if audit.decision.kind == "field" else audit.decision.kind,
            "members": _list_members(prompt),
        }
        if audit.decision.kind == "field":
            facets["rejected"] = list(audit.decision.rejected)
        for repeat, sent in enumerate(self._parameters, start=1):
            key = request_key(self._party.fingerprint, sent, repeat, request_text(messages))
            yield {
                "run_id": self.run_id,
                "cell_id": content_hash("audit", *cell),
                "case_id": content_hash("audit", *cell, instance, key),
                "requirement": prompt.group,
                "concern": cell[1],
                "provider": self.target.provider,
                "model": self.target.model,
                "language": audit.language,
                "input": prompt.signal,
                "reflection": prompt.design,
                "template_id": content_hash("document", *texts),
                "template": prompt.name,
                "template_text": "\n\n".join(texts),
                "facets": orjson.dumps(facets).decode(),
                "wording": 1,
                "instance_id": instance,
                "communities": sorted({member.identity.group for member in prompt.members}),
                "sample": repeat,
                "messages": messages,
                "parameters": sent,
                "request_key": key,
                "oracle_type": READING,
                "operation": decision_oracle(resolved).operation,
                "oracle": self._oracle,
            }


def _list_members(prompt: Prompt) -> list[dict[str, Any]]:
    """The documents of a prompt in their order, each with its identity."""
    return [
        {
            "place": place,
            "document_id": content_hash("document", member.document.masked.text),
            "document": member.document.id,
            "identity_group": member.identity.group,
            "pair": member.identity.pair,
            "identity": member.identity.shown,
        }
        for place, member in enumerate(prompt.members, start=1)
    ]


def plan_cases(run_id: str, resolved: ResolvedAudit) -> Iterator[pl.DataFrame]:
    """The cases of each cell."""
    prompts = list(list_prompts(resolved))
    for target in resolved.targets.values():
        asked = Asked(run_id, target, resolved)
        cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for prompt in prompts:
            cells.setdefault((prompt.design, prompt.signal, prompt.group), []).extend(asked.cases(prompt))
        yield from (pl.DataFrame(rows, infer_schema_length=None) for rows in cells.values())
