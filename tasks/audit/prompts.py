"""The prompts of an audit: every document with the identities that it is given, alone or in a shortlist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from biasgrid.catalogs.audit.audit_file import DOCUMENT, IDENTITY, Design, Variant
from biasgrid.catalogs.audit.identities import Signal
from biasgrid.catalogs.audit.masking import fill_slots
from biasgrid.catalogs.audit.pairing import Identity, shortlist_places, spread_pairs
from biasgrid.catalogs.scenario.audit import ResolvedAudit
from biasgrid.catalogs.scenario.audit_documents import AuditDocument
from biasgrid.catalogs.schema.oracle import Oracle, Scale

KEY: Final = "score"
RULE: Final = "---"
"""Ends each document of a shortlist."""


@dataclass(frozen=True, slots=True)
class Member:
    """A document that is given an identity."""

    identity: Identity
    document: AuditDocument


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked about one document, or about those of a shortlist in their order."""

    signal: Signal
    design: Design
    group: str
    """Of the identity; of a shortlist the group that is compared."""
    name: str
    """Of the document, or of the shortlist."""
    members: tuple[Member, ...]
    text: str


def list_prompts(resolved: ResolvedAudit) -> Iterator[Prompt]:
    """All prompts: design by design, signal by signal and group by group."""
    is_choice = resolved.audit.decision.kind == "choice"
    for variant in resolved.audit.designs:
        design: Design = variant if variant != "plain" else "shortlist" if is_choice else "solo"
        ending = end_prompt(resolved, variant)
        for signal, group, name, members in _shortlists(resolved) if is_choice else _alone(resolved):
            items = [_fill_item(resolved, one, place) for place, one in enumerate(members, start=1)]
            line = "" if is_choice else members[0].identity.line
            text = _fill_prompt(resolved.audit.prompt, "\n\n".join(items), line)
            yield Prompt(signal, design, group, name, members, f"{text}{ending}")


Listed = Iterator[tuple[Signal, str, str, tuple[Member, ...]]]


def _alone(resolved: ResolvedAudit) -> Listed:
    """Each document has the same pairs in every group."""
    for signal, identities in resolved.identities.items():
        pairs = list(dict.fromkeys(one.pair for one in identities))
        given = [*spread_pairs(len(resolved.documents), pairs, resolved.audit.pairs, resolved.file.asking.seed)]
        for identity in identities:
            for document, own in zip(resolved.documents, given, strict=True):
                if identity.pair in own:
                    yield signal, identity.group, document.id, (Member(identity, document),)


def _shortlists(resolved: ResolvedAudit) -> Listed:
    """Each shortlist as it is and with the groups exchanged, both in two orders."""
    audit, documents = resolved.audit, resolved.documents
    for signal, identities in resolved.identities.items():
        known = {(one.group, one.pair): one for one in identities}
        pairs = list(dict.fromkeys(one.pair for one in identities))
        for group in audit.groups:
            lists = shortlist_places(len(documents), pairs, audit.decision.of, resolved.file.asking.seed)
            for number, placed in enumerate(lists, start=1):
                for is_exchanged in (False, True):
                    members = tuple(
                        Member(
                            known[audit.reference if at % 2 == is_exchanged else group, pair], documents[document]
                        )
                        for at, (document, pair) in enumerate(placed)
                    )
                    yield signal, group, f"shortlist-{number}", members
                    yield signal, group, f"shortlist-{number}", members[::-1]


def end_prompt(resolved: ResolvedAudit, variant: Variant = "plain") -> str:
    """The pressure, and the sentence that asks for the decision; empty where the prompt asks itself."""
    decision, answers = resolved.audit.decision, resolved.words.answers
    pressure = f"\n\n{resolved.audit.pressure.strip()}" if variant == "pressed" else ""
    if not decision.asks:
        return pressure
    low, high = (1, decision.of) if decision.kind == "choice" else (decision.low, decision.high)
    sentence: str = getattr(answers.explained if variant == "explained" else answers, decision.kind)
    return f"{pressure}\n\n{sentence.replace('{low}', f'{low:g}').replace('{high}', f'{high:g}')}"


def _fill_item(resolved: ResolvedAudit, member: Member, place: int) -> str:
    """The document; in a shortlist below its number and, where the prompt has one, the line of its identity."""
    text = fill_slots(member.document.masked.text, member.identity.person).strip()
    if resolved.audit.decision.kind != "choice":
        return text
    head = resolved.words.answers.item.replace("{number}", str(place))
    line = [member.identity.line] if IDENTITY in resolved.audit.prompt else []
    return "\n\n".join([head, *line, text, RULE])


def _fill_prompt(prompt: str, document: str, line: str) -> str:
    """The document is put in last: what stands in it fills nothing."""
    before, _, after = prompt.partition(DOCUMENT)
    gone = IDENTITY if line else f"{IDENTITY}\n\n"  # in shortlists lines stand with their documents
    return document.join(part.replace(gone, line).replace(IDENTITY, line) for part in (before, after)).strip()


def decision_oracle(resolved: ResolvedAudit) -> Oracle:
    """How a reply becomes a decision."""
    decision = resolved.audit.decision
    if decision.kind == "field":
        return Oracle(operation="equal", key=decision.field, expected=decision.selected)
    if decision.kind == "yes_no":
        return Oracle(operation="equal", expected=(resolved.words.answers.yes,))
    low, high = (1, decision.of) if decision.kind == "choice" else (decision.low, decision.high)
    return Oracle(operation="allSameValue", key=KEY, scale=Scale.model_validate({"low": low, "high": high}))
