"""Checks the wording of interactions: rounds without words, and missing or unknown placeholders."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.rules.probe_rules import misplaced
from biasgrid.catalogs.lint.rules.scene_rules import Found, people_findings, scene_findings
from biasgrid.catalogs.lint.subject import Finding, Subject
from biasgrid.catalogs.loading.catalog import Reading
from biasgrid.catalogs.schema.interactions import InteractionWording, Protocol

Needed = dict[tuple[str, frozenset[str]], list[str]]
"""Rounds and the placeholders that their words need, with the protocols that use them."""


def interaction_findings(subject: Subject) -> Iterator[Finding]:
    """All findings on the words of agents, by language."""
    needed = _needed(subject.catalog.protocols)
    for wording in subject.catalog.interaction.values():
        document = subject.reading.documents["interaction", wording.id]
        for severity, at, what, remedy in (*_unread(subject, wording), *_found(wording, needed)):
            yield Finding(severity, Problem(f"`{wording.id}`{what}", document.place(*at), remedy))


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


RULES = (people_findings, scene_findings, interaction_findings)


def unplayable(
    reading: Reading, domains: Collection[str], languages: Collection[str], protocol: str
) -> Iterator[Problem]:
    """Errors with file and line for these domains and their axes, languages and protocol."""
    known = reading.catalog
    asked = {name: domain for name, domain in known.scenes.items() if name in domains}
    axes = {scene.axis for domain in asked.values() for scene in domain.scenes}
    catalog = replace(
        known,
        scenes=asked,
        people={name: people for name, people in known.people.items() if name in axes},
        interaction={name: words for name, words in known.interaction.items() if name in languages},
        protocols={protocol: known.protocols[protocol]},
    )
    subject = Subject(replace(reading, catalog=catalog))
    yield from (finding.mistake for rule in RULES for finding in rule(subject) if finding.severity == "error")
