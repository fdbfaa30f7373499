"""Resolves a scenario from a file, dict or JSON string and reports all errors at once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.errors import Problem, UserError, nearest, position
from biasgrid.catalogs.loading.catalog import Catalog, Reading, read_catalog
from biasgrid.catalogs.loading.documents import Document, parse_document, read_document, validated
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.scenario import langbite_scenario
from biasgrid.catalogs.scenario.references import Resolved, at_their_lines, put_in_place, scenario_file
from biasgrid.catalogs.schema.entries import Requirement, Scenario, ScenarioSettings

JUDGE = "BIASGRID_JUDGE"
OPTIONS = {
    "models": "--model",
    "max_age": "--max-age",
    "max_cost": "--max-cost",
    "max_requests": "--max-requests",
    "judge_sample": "--judge-passed",
}
"""Options whose names differ from the settings they replace."""
NOT_SETTINGS = ("library", "models", "judge_passed")
Source = Path | str | Mapping[str, Any]


@dataclass(frozen=True)
class Overrides:
    """What the command line puts in place of the scenario's own settings; None leaves it as it is."""

    library: str | None = None
    models: Sequence[str] = ()
    samples: int | None = None
    seed: int | None = None
    reuse: str | None = None
    max_age: str | None = None
    max_cost: float | None = None
    max_requests: int | None = None
    batch: bool | None = None
    judge: str | None = None
    judge_passed: float | None = None
    """The share of passed replies that the judge hears."""

    @property
    def settings(self) -> dict[str, Any]:
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in NOT_SETTINGS}
        given = {key: value for key, value in named.items() if value is not None}
        return given | ({"models": list(self.models)} if self.models else {})


@dataclass(frozen=True)
class ResolvedScenario(Resolved):
    """A runnable scenario: concerns by id, models by full name, requirements included."""

    kind: ClassVar[str] = "benchmark"
    scenario: Scenario
    requirements: tuple[Requirement, ...]

    @property
    def settings(self) -> ScenarioSettings:
        return self.scenario.scenario

    @property
    def concerns(self) -> set[str]:
        return {requirement.concern for requirement in self.requirements}

    @property
    def languages(self) -> set[str]:
        return {language for requirement in self.requirements for language in requirement.languages}

    def as_json(self) -> str:
        """JSON in the form of a scenario file; reading it gives the same result."""
        told = self.scenario.model_copy(update={"requirements": self.requirements, "name": self.name})
        return told.model_dump_json()


Inspection = Callable[["ResolvedScenario"], Iterable[Problem]]


def resolve(
    source: Source, overrides: Overrides | None = None, inspect: Inspection = lambda _: ()
) -> ResolvedScenario:
    """The resolved scenario; raises UserError with all errors of file, library, names, and `inspect`."""
    overrides = overrides or Overrides()
    given, document, notices = _read(source, overrides.judge)
    document = _overridden(document, overrides)
    reading, mistakes = _read_catalog(document, overrides)
    catalog = reading.catalog
    document, unnamed = put_in_place(document, reading)
    mistakes += unnamed
    unknown = _unknown_names(document, catalog)
    try:
        scenario = validated(Scenario, document)
    except UserError as wrong:
        raise UserError(_once([*wrong.mistakes, *unknown, *mistakes])) from wrong
    if unknown:
        raise UserError(_once([*unknown, *mistakes]))
    resolved = _resolved(given, document, scenario, catalog, notices)
    mistakes += at_their_lines(inspect(resolved), document)
    if mistakes:
        raise UserError(_once(mistakes))
    return resolved


def _once(mistakes: list[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(mistakes), key=position)


def _read(source: Source, judge: str | None = None) -> tuple[str, Document, tuple[str, ...]]:
    """The original text, the document in our form, and notices."""
    if isinstance(source, Mapping):
        text = _as_text(source)
        document = parse_document(text, "scenario", is_json=True)
    elif isinstance(source, str) and source.lstrip().startswith("{"):
        text, document = source, parse_document(source, "scenario", is_json=True)
    else:
        document = read_document(scenario_file(source))
        text = document.text
    if not isinstance(document.value, dict):
        what = "is empty" if document.value is None else "is no scenario"
        raise UserError(Problem(what, document.name, "write `scenario:` and `requirements:`"))
    if langbite_scenario.is_scenario(document.value):
        document, notices = langbite_scenario.scenario(document, judge or os.environ.get(JUDGE) or None)
        return text, document, notices
    return text, document, ()


def _as_text(source: Mapping[str, Any]) -> str:
    try:
        return json.dumps(source, ensure_ascii=False, indent=2, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        what = f"cannot be written as JSON: {error}"
        raise UserError(Problem(what, "scenario", "build it of dicts, lists, texts and numbers")) from error


def _overridden(document: Document, overrides: Overrides) -> Document:
    settings = document.value.get("scenario")
    if not isinstance(settings, dict):
        return document
    wanted = overrides.settings
    if overrides.judge_passed is not None:
        sample = settings.get("judge_sample")
        given_sample = sample if isinstance(sample, dict) else {}
        wanted |= {"judge_sample": given_sample | {"passed": overrides.judge_passed}}
    if not wanted:
        return document
    given: dict[Location, str] = {("scenario", name): OPTIONS.get(name, f"--{name}") for name in wanted}
    return replace(document, value=document.value | {"scenario": settings | wanted}, given=given)


def _read_catalog(document: Document, overrides: Overrides) -> tuple[Reading, list[Problem]]:
    """The catalog with the scenario's library; if that has errors, its readable part."""
    library = _own_library(document) if overrides.library is None else overrides.library
    found: list[Problem] = []
    if not library.strip():
        where = document.place("scenario", "library") if overrides.library is None else "--library"
        found.append(Problem("`library` is empty", where, "name a file or directory of templates, or `shipped`"))
        library = "shipped"
    try:
        reading = read_catalog(library, language=_only_language(document), scenes=False)
    except UserError as absent:
        if library == "shipped":
            raise
        found += absent.mistakes
        reading = read_catalog(scenes=False)
    return reading, [*found, *reading.mistakes]


def _own_library(document: Document) -> str:
    """Library of the scenario; a path in a file is relative to that file."""
    settings = document.value.get("scenario")
    named = settings.get("library") if isinstance(settings, dict) else None
    if not isinstance(named, str) or named == "shipped":
        return "shipped"
    from_file = Path(document.name).is_file() and named.strip()
    return str(Path(document.name).parent / named) if from_file else named


def _only_language(document: Document) -> str | None:
    requirements = document.value.get("requirements")
    entries = requirements if isinstance(requirements, list) else []
    asked = [entry.get("languages") for entry in entries if isinstance(entry, dict)]
    spoken = {str(tag) for languages in asked if isinstance(languages, list) for tag in languages}
    return spoken.pop() if len(spoken) == 1 else None


def _unknown_names(document: Document, catalog: Catalog) -> list[Problem]:
    """Errors of unknown models, unknown concerns and duplicate requirement names, from the raw file."""
    # the raw file, so that schema errors do not hide them
    found: list[Problem] = []
    settings = document.value.get("scenario")
    if isinstance(settings, dict):
        models = settings.get("models")
        for index, model in enumerate(models if isinstance(models, list) else []):
            found += _tried(catalog.target, model, document.place("scenario", "models", index))
        found += _tried(catalog.target, settings.get("judge"), document.place("scenario", "judge"))
    seen: set[str] = set()
    requirements = document.value.get("requirements")
    for index, entry in enumerate(requirements if isinstance(requirements, list) else []):
        if not isinstance(entry, dict):
            continue
        found += _tried(catalog.concern, entry.get("concern"), document.place("requirements", index, "concern"))
        found += _unknown_set(
            entry.get("communities"), document.place("requirements", index, "communities"), catalog
        )
        found += _unnamed(entry, document.place("requirements", index, "communities"))
        name = str(entry.get("name", ""))
        if name in seen and ("requirements", index) not in document.given:
            where = document.place("requirements", index, "name")
            found.append(
                Problem(f"requirement `{name}` stands twice", where, "give each requirement its own name")
            )
        seen.add(name)
    return found


def _unnamed(entry: dict[str, Any], where: str) -> list[Problem]:
    """Errors of languages for which a requirement names no communities although it does for others."""
    communities, languages = entry.get("communities"), entry.get("languages")
    if not isinstance(communities, dict) or not isinstance(languages, list):
        return []
    remedy = "add them, or leave `communities` out to ask about the catalog's"
    return [
        Problem(f"`communities` names none in `{language}`", where, remedy)
        for language in languages
        if isinstance(language, str) and language not in communities
    ]


def _unknown_set(name: Any, where: str, catalog: Catalog) -> list[Problem]:
    if not isinstance(name, str) or name in catalog.communities:
        return []
    return [Problem(f"community set `{name}` is unknown", where, nearest(name, catalog.communities))]


def _tried(check: Any, name: Any, where: str) -> list[Problem]:
    if not isinstance(name, str):
        return []
    try:
        check(name)
    except UserError as wrong:
        return [Problem(mistake.what, where, mistake.remedy) for mistake in wrong.mistakes]
    return []


def _resolved(
    given: str, document: Document, scenario: Scenario, catalog: Catalog, notices: tuple[str, ...]
) -> ResolvedScenario:
    settings = scenario.scenario
    targets = {target.model: target for target in map(catalog.target, settings.models)}
    judge = catalog.target(settings.judge) if settings.judge else None
    if judge and judge.model in targets and not settings.judge_may_be_subject:
        raise UserError(
            Problem(
                f"judge `{judge.model}` is under test itself",
                document.place("scenario", "judge"),
                "name another judge, or set `judge_may_be_subject: true`",
            )
        )
    requirements = tuple(
        requirement.model_copy(update={"concern": catalog.concern(requirement.concern)})
        for requirement in scenario.requirements
        if isinstance(requirement, Requirement)
    )
    told = settings.model_copy(
        update={"models": tuple(targets), "judge": judge.model if judge else None, "library": catalog.library}
    )
    name = scenario.name or Path(document.name).stem
    return ResolvedScenario(
        name=name,
        given=given,
        scenario=scenario.model_copy(update={"scenario": told}),
        requirements=requirements,
        catalog=catalog,
        targets=targets,
        judge=judge,
        notices=notices,
    )
