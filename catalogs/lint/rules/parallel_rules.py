"""Languages that differ: templates that one of them lacks, and the same id that asks another thing.

A sector set may be in one language only, and rows of foreign tables are numbered, not named: neither is compared
where it is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.lint.findings import Finding, warning
from biasgrid.catalogs.lint.subject import Subject
from biasgrid.catalogs.scenario.wording import slots
from biasgrid.catalogs.schema.entries import Template

SHOWN = 6
"""Ids that one line names."""


def parallel_findings(subject: Subject) -> Iterator[Finding]:
    """One line per language and concern for what is missing, one per template that differs."""
    by_id: dict[str, dict[str, Template]] = defaultdict(dict)
    for template in subject.own:
        by_id[template.id][template.language] = template
    tongues = {template.language for template in subject.own}
    if len(tongues) > 1:
        languages = sorted(tongues, key=lambda tag: (tag != "en_us", tag))
        yield from _missing(by_id, languages)
        yield from _differing(by_id, languages)


def _missing(by_id: Mapping[str, Mapping[str, Template]], languages: list[str]) -> Iterator[Finding]:
    lacking: dict[tuple[str, str], list[Template]] = defaultdict(list)
    for versions in by_id.values():
        known = next(iter(versions.values()))
        for language in languages if known.sector is None else ():
            if language not in versions:
                lacking[language, known.concern].append(known)
    for (language, concern), templates in lacking.items():
        ids = ", ".join(f"`{template.id}`" for template in templates[:SHOWN])
        more = f" and {len(templates) - SHOWN} more" if len(templates) > SHOWN else ""
        what = f"`{concern}` lacks in `{language}` what it has in `{templates[0].language}`: {ids}{more}"
        yield Finding("warning", Problem(what, _where(templates[0]), "write them there too, with the same ids"))


def _where(template: Template) -> str:
    return f"{template.file}:{template.line}" if template.line else template.file


def _differing(by_id: Mapping[str, Mapping[str, Template]], languages: list[str]) -> Iterator[Finding]:
    for versions in by_id.values():
        spoken = [versions[language] for language in languages if language in versions]
        for other in spoken[1:]:
            differences = _differences(other, spoken[0])
            if differences:
                what = f"differs between `{other.language}` and `{spoken[0].language}`: {'; '.join(differences)}"
                yield warning(other, what, "ask the same in every language, or give it an id of its own")


def _differences(one: Template, other: Template) -> list[str]:
    ours, theirs = _structure(one), _structure(other)
    return [f"{name} {ours[name]}, not {theirs[name]}" for name in ours if ours[name] != theirs[name]]


def _structure(template: Template) -> dict[str, str]:
    """What is the same in every language."""
    named = " ".join(slot.name for slot in slots(template.prompt))
    return {
        "concern": template.concern,
        "input": template.input,
        "reflection": template.reflection,
        "operation": template.oracle.operation,
        "key": template.oracle.key or "none",
        "reverse-keyed": "yes" if template.reverse_keyed else "no",
        "twin": template.twin or "none",
        "paraphrases": str(len(template.paraphrases)),
        "markups": named or "none",
        "sector": template.sector or "none",
    }
