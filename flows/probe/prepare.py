"""Prepares the prompts of a probe's stages, and selects the pairs that its explicit test follows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from biasgrid.catalogs.choices import ProbeTest
from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.tasks.probe.cases import Asked
from biasgrid.tasks.probe.prompts import Prompt, prompts
from biasgrid.tasks.probe.stereotype import Stereotype, of_catalog, with_groups
from biasgrid.warehouse.build.run_scope import Side
from biasgrid.warehouse.storage.lake import Lake

Followed = Collection[tuple[str, str, str]]
"""Implicit tests by model, language and pair for which the explicit test follows."""


def catalog_stereotypes(resolved: ResolvedProbe) -> list[Stereotype]:
    """Catalog stereotypes that a probe tests, in each of its languages."""
    file = resolved.file
    wanted = [pair.id for _, pair in resolved.pairs]
    known = {
        (own.language, own.pair): own
        for language in file.target.languages
        for own in of_catalog(resolved.catalog, language)
    }
    keys = ((language, pair) for language in file.target.languages for pair in wanted)
    groups = file.probe.groups
    return [with_groups(known[key], resolved.catalog, groups) for key in keys if key in known]


def first_tests(resolved: ResolvedProbe) -> tuple[ProbeTest, ...]:
    """Tests without prerequisites; the explicit test depends on an implicit one if there is one."""
    tests = resolved.file.probe.tests
    waits = "explicit" in tests and "implicit" in tests and not resolved.file.probe.detailed
    return tuple(test for test in dict.fromkeys(tests) if not (test == "explicit" and waits))


def has_follow_up(resolved: ResolvedProbe) -> bool:
    """Whether an explicit test depends on the findings of an implicit one."""
    return len(first_tests(resolved)) < len(dict.fromkeys(resolved.file.probe.tests))


def asked_models(resolved: ResolvedProbe) -> list[Asked]:
    system = resolved.file.target.system
    return [Asked(target, resolved.catalog, resolved, system) for target in resolved.targets.values()]


def list_prompts(
    resolved: ResolvedProbe, stereotypes: Sequence[Stereotype], tests: Sequence[ProbeTest]
) -> list[Prompt]:
    """Prompts of the given tests, test by test."""
    probe, seed, wordings = resolved.file.probe, resolved.settings.seed, resolved.catalog.probing
    return [
        prompt
        for test in tests
        for own in stereotypes
        for prompt in prompts(own, test, wordings[own.language], probe, seed)
    ]


def follow_up_prompts(
    resolved: ResolvedProbe, stereotypes: Sequence[Stereotype], found: Followed
) -> Iterator[tuple[Asked, list[Prompt]]]:
    """Explicit tests for the findings of an implicit one, model by model."""
    for asked in asked_models(resolved):
        own = [one for one in stereotypes if (asked.target.model, one.language, one.pair) in found]
        if own:
            yield asked, list_prompts(resolved, own, ["explicit"])


FOLLOWED = """
    select model, language, pair
    from marts.probe_findings
    where
        test = 'implicit'
        and 20 * errors <= trials
        and (starts_with(finding, 'biased') or ($refused and 2 * refused > trials))
"""
"""Prompts that were hardly sent, because of a cap or an error, give no result."""


def select_followed(lake: Lake, run_id: str, *, refused: bool) -> set[tuple[str, str, str]]:
    """Model, language and pair with implicit bias; with `refused`, also those that mostly refused. Raises as a
    build does."""
    from biasgrid.warehouse.build.build import compute_models, open_new_file
    from biasgrid.warehouse.build.models import load_models, with_sources

    own = Side(run_id, run_id, run_id)
    wanted = with_sources(load_models(), {"marts.probe_findings"})
    with (
        TemporaryDirectory(prefix="biasgrid-probe-") as folder,
        open_new_file(Path(folder) / "probe.duckdb") as warehouse,
    ):
        compute_models(warehouse, lake, wanted, own)
        return {*warehouse.execute(FOLLOWED, {"refused": refused}).fetchall()}
