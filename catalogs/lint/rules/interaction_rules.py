"""Checks the wording of interactions: rounds without words, and missing or unknown placeholders."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.rules.probe_rules import check_places
from biasgrid.catalogs.lint.rules.scene_rules import PEOPLE_RULE, SCENE_RULE
from biasgrid.catalogs.lint.subject import Found, Rule, Subject, error, warn
from biasgrid.catalogs.loading.catalog import Reading
from biasgrid.catalogs.schema.interactions import InteractionWording, Protocol

Needed = dict[tuple[str, frozenset[str]], list[str]]
"""Rounds and the placeholders that their words need, with the protocols that use them."""


def _wording(wording: InteractionWording, subject: Subject) -> Iterator[Found]:
    languages = subject.catalog.languages
    if wording.id not in languages:
        what = f"`{wording.id}`: replies cannot be read, since catalogs/languages does not have it"
        yield error(what, nearest(wording.id, languages), "id")
    needed = _needed_words(subject.catalog.protocols)
    for (name, places), protocols in needed.items():
        whose = f"round `{name}` of protocol {', '.join(protocols)}"
        asked = wording.rounds.get(name)
        if asked is None:
            what = f"`{wording.id}` has no words for {whose}"
            yield error(what, f"add `{name}`, or take another protocol", "rounds")
            continue
        for kind, text in (("assignment", asked.assignment), ("choice", asked.choice)):
            for found in check_places(text, places):
                yield found.within(f"`{wording.id}`, {whose}, {kind}: ", "rounds", name, kind)
    for name in sorted(set(wording.rounds) - {round_ for round_, _ in needed}):
        what = f"`{wording.id}` has words for round `{name}`, which no protocol has: they are not used"
        yield warn(what, "take them away, or write a protocol with that round", "rounds", name)


def _needed_words(protocols: Mapping[str, Protocol]) -> Needed:
    needed: Needed = {}
    for protocol in protocols.values():
        for name, places in protocol.places.items():
            needed.setdefault((name, places), []).append(f"`{protocol.id}`")
    return needed


INTERACTION_RULE = Rule("interaction", _wording)


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
    found = Subject(replace(reading, catalog=catalog)).apply((PEOPLE_RULE, SCENE_RULE, INTERACTION_RULE))
    yield from (finding.mistake for finding in found if finding.severity == "error")
