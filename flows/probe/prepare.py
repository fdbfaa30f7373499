"""A probe before it runs, and what its stages ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.catalogs.schema.target_file import ProbeTest
from biasgrid.tasks.probe.cases import Asked
from biasgrid.tasks.probe.prompts import Prompt, prompts
from biasgrid.tasks.probe.stereotype import Stereotype, of_catalog

Followed = Collection[tuple[str, str, str]]
"""Of an implicit test: model, language and pair for which the explicit one follows."""


def catalogued(resolved: ResolvedProbe) -> list[Stereotype]:
    """The stereotypes of the catalog that a probe asks about, in each of its languages."""
    file = resolved.file
    wanted = [pair.id for _, pair in resolved.pairs]
    known = {
        (own.language, own.pair): own
        for language in file.target.languages
        for own in of_catalog(resolved.catalog, language)
    }
    keys = ((language, pair) for language in file.target.languages for pair in wanted)
    return [known[key] for key in keys if key in known]


def begun_with(resolved: ResolvedProbe) -> tuple[ProbeTest, ...]:
    """The tests that wait for no other: the explicit one follows an implicit one, where there is one."""
    tests = resolved.file.probe.tests
    waits = "explicit" in tests and "implicit" in tests and not resolved.file.probe.detailed
    return tuple(test for test in dict.fromkeys(tests) if not (test == "explicit" and waits))


def follows(resolved: ResolvedProbe) -> bool:
    """Whether an explicit test waits for what an implicit one finds."""
    return len(begun_with(resolved)) < len(dict.fromkeys(resolved.file.probe.tests))


def asked_of(resolved: ResolvedProbe) -> list[Asked]:
    system = resolved.file.target.system
    return [Asked(target, resolved.catalog, resolved, system) for target in resolved.targets.values()]


def asking(resolved: ResolvedProbe, stereotypes: Sequence[Stereotype], tests: Sequence[ProbeTest]) -> list[Prompt]:
    """The prompts of some tests, test by test."""
    probe, seed, wordings = resolved.file.probe, resolved.settings.seed, resolved.catalog.probing
    return [
        prompt
        for test in tests
        for own in stereotypes
        for prompt in prompts(own, test, wordings[own.language], probe, seed)
    ]


def following(
    resolved: ResolvedProbe, stereotypes: Sequence[Stereotype], found: Followed
) -> Iterator[tuple[Asked, list[Prompt]]]:
    """The explicit test of what an implicit one has found, model by model."""
    for asked in asked_of(resolved):
        own = [one for one in stereotypes if (asked.target.model, one.language, one.pair) in found]
        if own:
            yield asked, asking(resolved, own, ["explicit"])
