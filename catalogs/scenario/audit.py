"""Resolves an audit file, its documents and identities, and reports all errors at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.audit.audit_file import ALL, IDENTITY, AuditFile, Auditing
from biasgrid.catalogs.audit.identities import Identities, Signal
from biasgrid.catalogs.audit.pairing import Identity, count_identities, draw_identities
from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.loading.catalog import Catalog, read_catalog
from biasgrid.catalogs.scenario.audit_documents import AuditDocument, read_documents
from biasgrid.catalogs.scenario.resolution import (
    Draft,
    Given,
    Resolved,
    Source,
    apply_options,
    read_source,
    without_keys,
)
from biasgrid.catalogs.schema.base import slug
from biasgrid.catalogs.schema.models import Target, endpoint_target
from biasgrid.catalogs.schema.requirements import ScenarioSettings

SECTION = "audit"


@dataclass(frozen=True, kw_only=True)
class ResolvedAudit(Resolved):
    """A runnable audit."""

    kind: ClassVar[str] = "audit"
    file: AuditFile
    documents: tuple[AuditDocument, ...]

    @property
    def audit(self) -> Auditing:
        return self.file.audit

    @cached_property
    def words(self) -> Identities:
        return _identities_of(self.catalog, self.audit)

    @property
    def settings(self) -> ScenarioSettings:
        return ScenarioSettings(models=tuple(self.targets), **self.file.asking.model_dump())

    @property
    def groups(self) -> tuple[str, ...]:
        """Those whose identities documents are given, the reference first."""
        return _groups_of(self.audit)

    @property
    def axis(self) -> str:
        return self.words.groups[self.groups[0]].axis

    @property
    def concerns(self) -> set[str]:
        return {self.words.groups[self.groups[0]].concern}

    @property
    def languages(self) -> set[str]:
        return {self.audit.language}

    @cached_property
    def identities(self) -> Mapping[Signal, list[Identity]]:
        """Identities by signal, matched between groups."""
        return {
            signal: draw_identities(self.words, signal, self.groups, self.audit.pairs, self.file.asking.seed)
            for signal in self.audit.signals
        }

    def as_json(self) -> str:
        return self.file.model_copy(update={"name": self.name}).model_dump_json(by_alias=True)


def _groups_of(audit: Auditing) -> tuple[str, ...]:
    return audit.groups if audit.reference == ALL else (audit.reference, *audit.groups)


def _identities_of(catalog: Catalog, audit: Auditing) -> Identities:
    return catalog.identities[audit.language].with_intersections(_groups_of(audit))


def resolve_audit(
    source: Source,
    given: Given | None = None,
    inspect: Callable[[ResolvedAudit], Iterable[Problem]] = lambda _: (),
) -> ResolvedAudit:
    """The resolved audit; raises UserError with all errors of the file, its documents, names and `inspect`."""
    remedy = "write `audit:` with `models:`, `documents:`, `reference:` and `groups:`"
    text, document = read_source(source, SECTION, "describes no audit", remedy)
    document = apply_options(document, given or {})
    if (SECTION, "models") in (given or {}):
        document = without_keys(document, SECTION, ("endpoint",))
    draft = Draft(text, document, read_catalog(scenes=False))
    if draft.section(SECTION):
        draft.check_tested(SECTION, "a service")
    file = draft.validate(AuditFile)
    words = _check_groups(draft, file.audit)
    root = Path(source).absolute().parent if isinstance(source, Path) else Path.cwd()
    if isinstance(source, str) and not source.lstrip().startswith("{"):
        root = Path(source).absolute().parent
    documents, problems = read_documents(file.audit.documents, root, words)
    problems += _undifferent(file.audit, documents)
    draft.stop_at_problems(problems)
    resolved = _resolve(draft, file, root, documents)
    draft.stop_at_problems(inspect(resolved))
    return resolved


def _check_groups(draft: Draft, audit: Auditing) -> Identities:
    known = draft.catalog.identities
    if audit.language not in known:
        draft.add(
            f"no identities are known in `{audit.language}`", nearest(audit.language, known), SECTION, "language"
        )
        draft.stop_at_problems()
    words = _identities_of(draft.catalog, audit)
    unknown = "group {} has no identities"
    draft.check_names(unknown, audit.groups, words.groups, SECTION, "groups")
    first = _groups_of(audit)[0]
    if first not in words.groups:
        if first == audit.reference:
            draft.add(f"group `{first}` has no identities", nearest(first, words.groups), SECTION, "reference")
        draft.stop_at_problems()
    for problem, at in _find_unmatched(audit, words):
        draft.add(problem, f"name groups of axis `{words.groups[first].axis}`", SECTION, at)
    for what, remedy in _too_few(audit, words):
        draft.add(what, remedy, SECTION, "signals")
    return words


def _find_unmatched(audit: Auditing, words: Identities) -> Iterator[tuple[str, str]]:
    first = _groups_of(audit)[0]
    axis = words.groups[first].axis
    for group in audit.groups:
        if group in words.groups and words.groups[group].axis != axis:
            yield f"`{group}` and `{first}` differ in more than `{axis}`", "groups"


def _too_few(audit: Auditing, words: Identities) -> Iterator[tuple[str, str]]:
    for signal in audit.signals:
        for group in (own for own in _groups_of(audit) if own in words.groups):
            if signal not in words.signals_of(group):
                yield (
                    f"`{signal}` do not show `{group}`",
                    "leave the signal out, or add it to a file of identities",
                )
            elif (count := count_identities(words, signal, group)) < audit.pairs:
                remedy = f"set `pairs: {count}`, or add identities"
                yield f"`{group}` has {count} identities by `{signal}`, fewer than `pairs: {audit.pairs}`", remedy
        if signal != "names" and IDENTITY not in audit.prompt:
            yield f"`{signal}` are shown nowhere: `prompt` has no `{IDENTITY}`", "add it to the prompt"


def _undifferent(audit: Auditing, documents: list[AuditDocument]) -> Iterator[Problem]:
    """Documents that would be the same for everybody."""
    if IDENTITY not in audit.prompt:
        for one in documents:
            if not one.masked.has_slots and one.masked.text.strip():
                remedy = "add `{identity}` to the prompt, or the slot `{name}` to the document"
                yield Problem("would be the same for every identity", one.place, remedy)


def _resolve(draft: Draft, file: AuditFile, root: Path, documents: list[AuditDocument]) -> ResolvedAudit:
    name = file.name or Path(draft.document.name).stem
    targets: dict[str, Target] = {one.model: one for one in map(draft.catalog.target, file.audit.models)}
    if file.audit.endpoint is not None:
        own = endpoint_target(slug(name) or "service", file.audit.endpoint)
        targets[own.model] = own
    placed = file.audit.documents.model_copy(update={"path": root / file.audit.documents.path})
    changed: dict[str, Any] = {"documents": placed}
    if file.audit.models:
        changed["models"] = tuple(draft.catalog.target(model).model for model in file.audit.models)
    return ResolvedAudit(
        name=name,
        given=draft.text,
        catalog=draft.catalog,
        targets=targets,
        judge=None,
        file=file.model_copy(update={"audit": file.audit.model_copy(update=changed)}),
        documents=tuple(documents),
    )
