"""Checks a whole catalog, shipped, overlaid or foreign, and reports all findings with file and line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError, position
from biasgrid.catalogs.lint.entry_rules import entry_mistakes
from biasgrid.catalogs.lint.language.grammar_rules import grammar_findings
from biasgrid.catalogs.lint.language.language_rules import language_findings
from biasgrid.catalogs.lint.language.typography_rules import encoding_findings, typography_findings
from biasgrid.catalogs.lint.placeholders import markup_findings
from biasgrid.catalogs.lint.rules.interaction_rules import interaction_findings
from biasgrid.catalogs.lint.rules.library_rules import double_findings, library_findings
from biasgrid.catalogs.lint.rules.oracle_rules import oracle_findings, value_findings
from biasgrid.catalogs.lint.rules.probe_rules import probe_findings, probing_findings
from biasgrid.catalogs.lint.rules.scene_rules import people_findings, scene_findings, tuning_findings
from biasgrid.catalogs.lint.rules.template_rules import form_findings, key_findings, parallel_findings
from biasgrid.catalogs.lint.subject import Finding, Severity, Subject
from biasgrid.catalogs.loading.catalog import Catalog, Reading, read_catalog
from biasgrid.catalogs.schema.entries import LANGUAGE

__all__ = ["Finding", "Lint", "Severity", "lint"]

RULES: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    library_findings,
    markup_findings,
    form_findings,
    oracle_findings,
    value_findings,
    double_findings,
    key_findings,
    parallel_findings,
    language_findings,
    encoding_findings,
    typography_findings,
    grammar_findings,
    probe_findings,
    probing_findings,
    people_findings,
    scene_findings,
    tuning_findings,
    interaction_findings,
)
"""One per rule family, in the order of findings on the same line."""


@dataclass(frozen=True, slots=True)
class Lint:
    """Findings on a catalog: errors, then warnings, each by file and line."""

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
        """One line with the number of templates, concerns, languages, errors and warnings."""
        templates = self.catalog.templates
        languages = len({template.language for template in templates})
        concerns = len({template.concern for template in templates})
        read = (
            f"{_counted(len(templates), 'template')} of {_counted(concerns, 'concern')} in "
            f"{_counted(languages, 'language')}"
        )
        return f"{read}: {_counted(self.errors, 'error')}, {_counted(self.warnings, 'warning')}"

    def as_json(self) -> str:
        """JSON object with `templates`, `errors`, `warnings`, `findings` (file, line, severity, what, remedy)."""
        told = {
            "templates": len(self.catalog.templates),
            "errors": self.errors,
            "warnings": self.warnings,
            "findings": [finding.told() for finding in self.findings],
        }
        return json.dumps(told, ensure_ascii=False, indent=2)


def lint(library: str | Path = "shipped", overlay: Path | None = None, language: str | None = None) -> Lint:
    """Findings on all files; `language` is for tables without one in their name. Raises UserError."""
    _spelt_as_a_language(language)
    reading = read_catalog(library, overlay, language)
    found = dict.fromkeys(_all_findings(reading))
    ordered = sorted(found, key=lambda finding: (finding.severity, position(finding.mistake)))
    return Lint(reading.catalog, tuple(ordered))


def _spelt_as_a_language(language: str | None) -> None:
    if language is not None and not re.fullmatch(LANGUAGE, language):
        what = f"`{language}` is no language: it is named by language and region"
        raise UserError(Problem(what, "--language", "write it like `es_es`"))


def _all_findings(reading: Reading) -> Iterator[Finding]:
    for mistake in (*reading.mistakes, *entry_mistakes(reading)):
        yield Finding("error", mistake)
    for stray in reading.stray:
        yield Finding("warning", stray)
    subject = Subject(reading)
    for rule in RULES:
        yield from rule(subject)


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
