"""Everything that can be wrong is found here, before a run exists: nothing sent, nothing written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catalogs.mistakes import Mistake, UserMistake
from catalogs.scenario import Overrides, ResolvedScenario, Source, resolve
from catalogs.schema import Target
from tasks.connectors.keys import Secrets, missing_keys
from tasks.connectors.registry import connect
from tasks.generate.checks import check
from warehouse.lake import Lake

DATA = "BIASGRID_DATA"


def data_directory(named: str | Path | None = None) -> Path:
    """Where a lake lies: as named, else `BIASGRID_DATA`, else `data`."""
    return Path(named or os.environ.get(DATA) or "data")


@dataclass(frozen=True)
class Prepared:
    """A scenario that can run."""

    resolved: ResolvedScenario
    secrets: Secrets | None

    @property
    def targets(self) -> Mapping[str, Target]:
        return self.resolved.targets


def prepare(source: Source, overrides: Overrides | None = None, secrets: Secrets | None = None) -> Prepared:
    """Resolve a scenario, check its templates, models and keys. Raises UserMistake with all that is wrong."""
    resolved = resolve(source, overrides)
    mistakes = template_mistakes(resolved)
    asked = [*resolved.targets.values(), *([resolved.judge] if resolved.judge else [])]
    keyless = missing_keys(asked, secrets)
    mistakes += keyless
    if not keyless:
        mistakes += _unreachable(asked, resolved)
    if mistakes:
        raise UserMistake(dict.fromkeys(mistakes))
    return Prepared(resolved, secrets)


def template_mistakes(resolved: ResolvedScenario) -> list[Mistake]:
    return [
        mistake
        for requirement in resolved.requirements
        for language in requirement.languages
        for mistake in check(requirement, language, resolved.catalog)
    ]


def _unreachable(targets: list[Target], resolved: ResolvedScenario) -> list[Mistake]:
    """Models that no connector serves as they are described: a respondent or a replay file that is not there."""
    found: list[Mistake] = []
    for target in targets:
        if target.connector in ("simulated", "replay"):
            try:
                connect(target, None, resolved.catalog)
            except UserMistake as wrong:
                found.extend(wrong.mistakes)
    return found


def open_lake(data: str | Path | None) -> Lake:
    return Lake.open(data_directory(data))
