"""How agents talk scenes over: rounds without words, and places that are missing or that nothing fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from catalogs.findings import Finding
from catalogs.interactions import InteractionWording, Protocol
from catalogs.mistakes import Mistake, nearest
from catalogs.rules.probing_rules import misplaced
from catalogs.rules.scene_rules import Found
from catalogs.rules.subject import Subject

Needed = dict[tuple[str, frozenset[str]], list[str]]
"""Rounds and the places that their words need, with the protocols that have them so."""


def interaction_findings(subject: Subject) -> Iterator[Finding]:
    """Every finding on the words of agents, language by language."""
    needed = _needed(subject.catalog.protocols)
    for wording in subject.catalog.interaction.values():
        document = subject.reading.documents["interaction", wording.id]
        for severity, at, what, remedy in (*_unread(subject, wording), *_found(wording, needed)):
            yield Finding(severity, Mistake(f"`{wording.id}`{what}", document.place(*at), remedy))


def _needed(protocols: Mapping[str, Protocol]) -> Needed:
    needed: Needed = {}
    for protocol in protocols.values():
        for name, places in protocol.places.items():
            needed.setdefault((name, places), []).append(f"`{protocol.id}`")
    return needed


def _unread(subject: Subject, wording: InteractionWording) -> Iterator[Found]:
    if wording.id not in subject.catalog.languages:
        what = ": replies cannot be read, since catalogs/languages does not have it"
        yield "error", ("id",), what, nearest(wording.id, subject.catalog.languages)


def _found(wording: InteractionWording, needed: Needed) -> Iterator[Found]:
    for (name, places), protocols in needed.items():
        whose = f"round `{name}` of protocol {', '.join(protocols)}"
        asked = wording.rounds.get(name)
        if asked is None:
            yield "error", ("rounds",), f" has no words for {whose}", f"add `{name}`, or take another protocol"
            continue
        for kind, text in (("assignment", asked.assignment), ("choice", asked.choice)):
            for what, remedy in misplaced(text, places):
                yield "error", ("rounds", name, kind), f", {whose}, {kind}: {what}", remedy
    for name in sorted(set(wording.rounds) - {round_ for round_, _ in needed}):
        what = f" has words for round `{name}`, which no protocol has: nobody reads them"
        yield "warning", ("rounds", name), what, "take them away, or write a protocol with that round"
