"""A probe before it runs, and what its stages ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.scenario.targets import Given, ResolvedProbe, Source, placed, resolve_probe
from biasgrid.catalogs.schema.target_file import ProbeTest
from biasgrid.flows.rate_limits.caps import cap_mistakes
from biasgrid.flows.runs.prepare import Ready
from biasgrid.tasks.connectors.keys import Secrets, missing_keys
from biasgrid.tasks.probe.cases import Asked
from biasgrid.tasks.probe.prompts import Prompt, prompts
from biasgrid.tasks.probe.stereotype import Stereotype, of_catalog

Followed = Collection[tuple[str, str, str]]
"""Of an implicit test: model, language and pair for which the explicit one follows."""


@dataclass(frozen=True)
class PreparedProbe(Ready):
    """A probe that can run."""

    resolved: ResolvedProbe


SECTIONS = {
    "models": ("target", "--model"),
    "languages": ("target", "--language"),
    "pairs": ("probe", "--pairs"),
    "axes": ("probe", "--axis"),
    "tests": ("probe", "--test"),
    "cases": ("probe", "--cases"),
    "detailed": ("probe", "--detailed"),
    "continue_on_refusal": ("probe", "--continue-on-refusal"),
    "generator": ("probe", "--generator"),
    "seed": ("asking", "--seed"),
    "reuse": ("asking", "--reuse"),
    "max_age": ("asking", "--max-age"),
    "max_cost": ("asking", "--max-cost"),
    "max_requests": ("asking", "--max-requests"),
}
"""Where a target file has what may be given beside it, and by which option."""


def overrides(**given: Any) -> Given:
    """What was given, None aside, by its place in a target file."""
    return placed(SECTIONS, given)


def prepare_probe(source: Source, given: Given | None = None, secrets: Secrets | None = None) -> PreparedProbe:
    """Resolve a target file, check its models, keys and pairs. Raises UserError with all that is wrong."""

    def inspect(resolved: ResolvedProbe) -> Iterator[Problem]:
        yield from missing_keys(resolved.asked, secrets)
        yield from _unaskable(resolved)

    return PreparedProbe(resolve_probe(source, given, inspect), secrets)


def planned(source: Source, given: Given | None = None) -> ResolvedProbe:
    """As `prepare_probe`, where nothing is sent: keys are not looked for."""
    return resolve_probe(source, given, _unaskable)


def _unaskable(resolved: ResolvedProbe) -> Iterator[Problem]:
    yield from cap_mistakes(resolved.asked, resolved.settings)
    if not catalogued(resolved):
        what = "no attribute pair fits the target's axes and sectors"
        yield Problem(what, "probe.axes, target.sectors", "name other ones, or none")


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
