"""The prompts of an audit: every document with the identities that it is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from biasgrid.catalogs.audit.identities import Signal
from biasgrid.catalogs.audit.masking import fill_slots
from biasgrid.catalogs.audit.pairing import Identity, spread_pairs
from biasgrid.catalogs.scenario.audit import ResolvedAudit
from biasgrid.catalogs.scenario.audit_documents import AuditDocument
from biasgrid.catalogs.schema.oracle import Oracle, Scale

KEY: Final = "score"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A document that is given an identity."""

    signal: Signal
    identity: Identity
    document: AuditDocument
    text: str


def list_prompts(resolved: ResolvedAudit) -> Iterator[Prompt]:
    """All prompts, signal by signal and group by group; each document has the same pairs in every group."""
    ending = ask_for_decision(resolved)
    for signal, identities in resolved.identities.items():
        pairs = list(dict.fromkeys(one.pair for one in identities))
        given = [*spread_pairs(len(resolved.documents), pairs, resolved.audit.pairs, resolved.file.asking.seed)]
        for identity in identities:
            for document, own in zip(resolved.documents, given, strict=True):
                if identity.pair in own:
                    text = _fill_prompt(resolved.audit.prompt, document, identity)
                    yield Prompt(signal, identity, document, f"{text}{ending}")


def ask_for_decision(resolved: ResolvedAudit) -> str:
    """The sentence that ends a prompt; empty where the prompt asks itself."""
    decision, answers = resolved.audit.decision, resolved.words.answers
    if not decision.ask:
        return ""
    places = {"low": f"{decision.low:g}", "high": f"{decision.high:g}"}
    text = answers.yes_no if decision.kind == "yes_no" else answers.score.format(**places)
    return f"\n\n{text}"


def _fill_prompt(prompt: str, document: AuditDocument, identity: Identity) -> str:
    """The document is put in last: what stands in it fills nothing."""
    before, _, after = prompt.partition("{document}")
    filled = (part.replace("{identity}", identity.line) for part in (before, after))
    return fill_slots(document.masked.text, identity.person).strip().join(filled).strip()


def decision_oracle(resolved: ResolvedAudit) -> Oracle:
    """How a reply becomes a decision."""
    decision = resolved.audit.decision
    if decision.kind == "yes_no":
        return Oracle(operation="equal", expected=(resolved.words.answers.yes,))
    scale = Scale.model_validate({"low": decision.low, "high": decision.high})
    return Oracle(operation="allSameValue", key=KEY, scale=scale)
