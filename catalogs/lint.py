"""Everything that is wrong with a catalog, shipped, overlaid or foreign, at once: each with file and line.

errors      would let a placeholder reach a model, or mean something else than was written
warnings    weaken what a run can say
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from catalogs.catalog import Catalog, read_catalog
from catalogs.entry_rules import entry_mistakes
from catalogs.mistakes import Mistake, position
from catalogs.template_rules import template_mistakes, template_warnings

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    mistake: Mistake

    def __str__(self) -> str:
        place = f"{self.mistake.where}: " if self.mistake.where else ""
        remedy = f"\n    → {self.mistake.remedy}" if self.mistake.remedy else ""
        return f"{place}{self.severity}: {self.mistake.what}{remedy}"


@dataclass(frozen=True, slots=True)
class Lint:
    """What was found in a catalog, in the order of files and lines."""

    catalog: Catalog
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.errors

    @property
    def summary(self) -> str:
        """One line: how much was read and what was found."""
        templates = self.catalog.templates
        languages = len({template.language for template in templates})
        concerns = len({template.concern for template in templates})
        read = (
            f"{_counted(len(templates), 'template')} of {_counted(concerns, 'concern')} in "
            f"{_counted(languages, 'language')}"
        )
        return f"{read}: {_counted(self.errors, 'error')}, {_counted(self.warnings, 'warning')}"


def lint(library: str | Path = "shipped", overlay: Path | None = None) -> Lint:
    """Read every file and check what the schema cannot. Raises UserMistake where the library does not exist."""
    reading = read_catalog(library, overlay)
    errors = [*reading.mistakes, *entry_mistakes(reading), *template_mistakes(reading)]
    warnings = [*reading.stray, *template_warnings(reading)]
    return Lint(reading.catalog, (*_sorted("error", errors), *_sorted("warning", warnings)))


def _sorted(severity: Severity, mistakes: Iterable[Mistake]) -> list[Finding]:
    return [Finding(severity, mistake) for mistake in sorted(dict.fromkeys(mistakes), key=position)]


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
