"""People of scenes: names that two groups have, or that hold one another, by which no reply is read for sure."""

from __future__ import annotations

from collections.abc import Iterator

from catalogs.explanations import Location
from catalogs.findings import Finding
from catalogs.mistakes import Mistake, nearest
from catalogs.people import People
from catalogs.rules.probe_rules import alike, plain
from catalogs.rules.subject import Subject


def people_findings(subject: Subject) -> Iterator[Finding]:
    """Every finding on the groups of scenes, axis by axis."""
    catalog = subject.catalog
    for people in catalog.people.values():
        document = subject.reading.documents["people", people.id]
        if people.concern not in catalog.concerns:
            what = f"axis `{people.id}`: concern `{people.concern}` is unknown"
            remedy = nearest(people.concern, catalog.concern_names, catalog.concern_names)
            yield Finding("error", Mistake(what, document.place("concern"), remedy))
        for at, what, remedy in _shared_names(people):
            yield Finding("error", Mistake(what, document.place(*at), remedy))


def _shared_names(people: People) -> Iterator[tuple[Location, str, str]]:
    """Of a language and a culture, from which all people of a scene are drawn; others never meet."""
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for group, languages in people.groups.items():
        for language, told in languages.items():
            for culture, names in told.names.items():
                others = seen.setdefault((language, culture), {})
                for which, name in enumerate(names):
                    at = ("groups", group, language, "names", culture, which)
                    for what, remedy in alike(name, group, others):
                        yield at, f"{what} in `{language}`, `{culture}`", remedy
                    others[plain(name)] = group
