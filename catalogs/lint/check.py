"""Checks a whole catalog, shipped, overlaid or foreign, and reports all findings with file and line."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError, position
from biasgrid.catalogs.lint.language.grammar_rules import GRAMMAR_RULES
from biasgrid.catalogs.lint.language.language_rules import LANGUAGE_RULE
from biasgrid.catalogs.lint.language.typography_rules import TYPOGRAPHY_RULES
from biasgrid.catalogs.lint.rules.entry_rules import ENTRY_RULES
from biasgrid.catalogs.lint.rules.library_rules import LIBRARY_RULE, REPETITION_RULE
from biasgrid.catalogs.lint.rules.oracle_rules import ORACLE_RULES
from biasgrid.catalogs.lint.rules.placeholders import MARKUP_RULE
from biasgrid.catalogs.lint.rules.probe_rules import PROBE_RULES
from biasgrid.catalogs.lint.rules.scene_rules import INTERACTION_RULE, SCENE_RULES
from biasgrid.catalogs.lint.rules.template_rules import FORM_RULES, SHARE_RULES
from biasgrid.catalogs.lint.subject import Finding, Severity, Subject
from biasgrid.catalogs.loading.catalog import Catalog, Reading, read_catalog
from biasgrid.catalogs.schema.base import LANGUAGE

__all__ = ["Finding", "Lint", "Severity", "lint"]

RULES = (
    *ENTRY_RULES,
    LIBRARY_RULE,
    MARKUP_RULE,
    *FORM_RULES,
    *ORACLE_RULES,
    REPETITION_RULE,
    *SHARE_RULES,
    LANGUAGE_RULE,
    *TYPOGRAPHY_RULES,
    *GRAMMAR_RULES,
    *PROBE_RULES,
    *SCENE_RULES,
    INTERACTION_RULE,
)
"""In the order of findings on the same line."""


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
        concerns = _counted_noun(len({template.concern for template in templates}), "concern")
        languages = _counted_noun(len({template.language for template in templates}), "language")
        read = f"{_counted_noun(len(templates), 'template')} of {concerns} in {languages}"
        return f"{read}: {_counted_noun(self.errors, 'error')}, {_counted_noun(self.warnings, 'warning')}"

    def as_json(self) -> str:
        """JSON object with `templates`, `errors`, `warnings`, `findings` (file, line, severity, what, remedy)."""
        content = {
            "templates": len(self.catalog.templates),
            "errors": self.errors,
            "warnings": self.warnings,
            "findings": [finding.as_json() for finding in self.findings],
        }
        return json.dumps(content, ensure_ascii=False, indent=2)


def lint(library: str | Path = "shipped", overlay: Path | None = None, language: str | None = None) -> Lint:
    """Findings on all files; `language` is for tables without one in their name. Raises UserError."""
    if language is not None and not re.fullmatch(LANGUAGE, language):
        what = f"`{language}` is no language: it is named by language and region"
        raise UserError(Problem(what, "--language", "write it like `es_es`"))
    reading = read_catalog(library, overlay, language)
    found = dict.fromkeys(_all_findings(reading))
    ordered = sorted(found, key=lambda finding: (finding.severity, position(finding.mistake)))
    return Lint(reading.catalog, tuple(ordered))


def _all_findings(reading: Reading) -> Iterator[Finding]:
    yield from (Finding("error", mistake) for mistake in reading.mistakes)
    yield from (Finding("warning", stray) for stray in reading.stray)
    # the oracles that templates name are unknown while their language cannot be read
    sound = tuple(each for each in reading.catalog.templates if each.language not in reading.unread)
    yield from Subject(replace(reading, catalog=replace(reading.catalog, templates=sound))).apply(RULES)


def _counted_noun(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
