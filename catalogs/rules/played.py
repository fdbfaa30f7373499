"""What keeps scenes from being played: errors of the check, in what a run would ask and nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from catalogs.catalog import Reading
from catalogs.mistakes import Mistake
from catalogs.rules.interaction_rules import interaction_findings
from catalogs.rules.people_rules import people_findings
from catalogs.rules.scene_rules import scene_findings
from catalogs.rules.subject import Subject

RULES = (people_findings, scene_findings, interaction_findings)


def unplayable(
    reading: Reading, domains: Collection[str], languages: Collection[str], protocol: str
) -> Iterator[Mistake]:
    """Each with file and line, of these domains and their axes, languages and protocol."""
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
