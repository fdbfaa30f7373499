"""Resolves a scenario from a file, dict or JSON string and reports all errors at once."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.errors import Problem, UserError, nearest, position
from biasgrid.catalogs.loading.catalog import OVERLAY, Catalog, Reading, read_catalog
from biasgrid.catalogs.loading.documents import Document, sound_part
from biasgrid.catalogs.loading.includes import included_requirements
from biasgrid.catalogs.loading.text_files import DOCUMENTS
from biasgrid.catalogs.scenario import langbite_scenario
from biasgrid.catalogs.scenario.resolution import (
    Draft,
    Given,
    Resolved,
    Source,
    apply_options,
    at_their_lines,
    in_file_order,
    read_source,
)
from biasgrid.catalogs.schema.requirements import SEVERAL, Requirement, Scenario, ScenarioSettings

LONGEST_SHOWN = 80


def scenario_file(source: str | Path) -> Path:
    """Path of a scenario: an existing file, a name in the overlay or shipped scenarios, or a YAML file without its
    ending. Raises UserError."""
    path = Path(source)
    if path.suffix or path.name != str(source) or _is_file(path):
        return path
    overlay = os.environ.get(OVERLAY)
    roots = [Path(str(resources.files("biasgrid.catalogs"))), *([Path(overlay)] if overlay else [])]
    named = {path.stem: path for root in roots for path in sorted((root / "scenarios").glob("*.yaml"))}
    if path.name not in named and _is_file(path.with_suffix(".yaml")):
        return path.with_suffix(".yaml")
    if path.name not in named:
        remedy = nearest(path.name, named) or "name a scenario file"
        shown = path.name if len(path.name) <= LONGEST_SHOWN else f"{ascii(path.name[:LONGEST_SHOWN])[1:-1]}…"
        raise UserError(Problem(f"scenario `{shown}` is neither a file nor a shipped one", remedy=remedy))
    return named[path.name]


def _is_file(path: Path) -> bool:
    """Whether a path is a file; a directory does not hide a scenario of the same name."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # name too long for the file system
        return False


def insert_requirements(document: Document, reading: Reading) -> tuple[Document, list[Problem]]:
    """The scenario with the requirements of the file it names; unchanged if that file has errors."""
    named = document.value.get("requirements")
    if not isinstance(named, str):
        return document, []
    try:
        requirements = [
            each.model_dump(mode="json", exclude_unset=True) for each in reading.catalog.requirements_in(named)
        ]
    except UserError as unknown:
        where = document.place("requirements")
        return document, [replace(each, where=where) for each in unknown.mistakes if named not in reading.unread]
    if not requirements:
        return document, []
    given = {
        ("requirements", number, *location): where
        for number, written in enumerate(included_requirements(named, reading.catalog.requirements))
        for location, where in written.places(reading.documents)
    }
    value = document.value | {"requirements": requirements}
    return replace(document, value=value, given={**document.given, **given}), []


JUDGE = "BIASGRID_JUDGE"
OPTIONS = {"models": "--model", "judge_sample": "--judge-passed"}
"""Options whose names differ from the settings they replace."""
NOT_SETTINGS = ("library", "judge_passed", "filter", "limit", "skip_broken")


class Overrides(dict[str, Any]):
    """Options that replace settings of the scenario, by name; `judge_passed`: share of passed replies to judge;
    `limit`: templates of each requirement; `filter`: patterns of the names or concerns of those that are asked."""


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
        return {concern for requirement in self.requirements for concern in requirement.asked_concerns}

    @property
    def languages(self) -> set[str]:
        return {language for requirement in self.requirements for language in requirement.languages}

    def as_json(self) -> str:
        """JSON in the form of a scenario file; reading it gives the same result."""
        update = {"requirements": self.requirements, "name": self.name}
        return self.scenario.model_copy(update=update).model_dump_json()


Inspection = Callable[["ResolvedScenario"], Iterable[Problem]]


def resolve(
    source: Source, overrides: Overrides | None = None, inspect: Inspection = lambda _: ()
) -> ResolvedScenario:
    """The resolved scenario; raises UserError with all errors of file, library, names, and `inspect`. With
    `skip_broken`, errors in rows of its library are notices, and their templates are left out."""
    overrides = overrides or Overrides()
    broken: dict[tuple[str, int], Problem] = {}
    while True:
        try:
            found = _resolve_sound(source, overrides, inspect, broken)
            return replace(found, notices=(*found.notices, *_notices_of(broken)))
        except UserError as wrong:
            in_rows = {position(one): one for one in wrong.mistakes if _is_in_row(one)}
            if not overrides.get("skip_broken") or not in_rows.keys() - broken.keys():
                raise
            broken |= {at: one for at, one in in_rows.items() if at not in broken}


def _is_in_row(problem: Problem) -> bool:
    """Whether a problem names the line of a table of templates."""
    file, line = position(problem)
    return line > 0 and Path(file).suffix not in DOCUMENTS


def _notices_of(broken: Mapping[tuple[str, int], Problem]) -> Iterator[str]:
    for at in sorted(broken):
        yield f"left out: {broken[at].where}: {broken[at].what}"


def _resolve_sound(
    source: Source, overrides: Overrides, inspect: Inspection, broken: Collection[tuple[str, int]]
) -> ResolvedScenario:
    remedy = "write `scenario:` and `requirements:`"
    text, document = read_source(source, "scenario", "is no scenario", remedy, scenario_file)
    notices: tuple[str, ...] = ()
    is_langbite = langbite_scenario.is_scenario(document.value)
    if is_langbite:
        overrides = _with_enclosed_library(document, overrides)
        document, notices = langbite_scenario.scenario(
            document, overrides.get("judge") or os.environ.get(JUDGE) or None
        )
    document = apply_options(document, _as_given(document, overrides))
    reading, unread = _read_catalog(document, overrides)
    reading = _without_rows(reading, broken)
    if is_langbite and reading.catalog.library != "shipped":
        document, strict = langbite_scenario.with_default(document, reading.catalog.templates)
        notices += strict
    document, unnamed = insert_requirements(document, reading)
    draft = Draft(text, document, reading, [*unread, *unnamed])
    known = len(draft.problems)
    _check_names(draft)
    try:
        scenario = draft.validate(Scenario)
        if len(draft.problems) > known:
            draft.stop_at_problems()
    except UserError as wrong:
        raise UserError(in_file_order([*wrong.mistakes, *_problems_of_the_rest(draft, inspect)])) from wrong
    resolved = _select(_resolve(draft, scenario, notices), overrides.get("filter"))
    draft.stop_at_problems(at_their_lines(inspect(resolved), document) if draft.catalog.templates else ())
    return resolved


def _without_rows(reading: Reading, broken: Collection[tuple[str, int]]) -> Reading:
    if not broken:
        return reading
    kept = tuple(one for one in reading.catalog.templates if (one.file, one.line or 0) not in broken)
    mistakes = tuple(one for one in reading.mistakes if position(one) not in broken)
    return replace(reading, catalog=replace(reading.catalog, templates=kept), mistakes=mistakes)


def _with_enclosed_library(document: Document, overrides: Overrides) -> Overrides:
    """With the library that stands in the scenario's own file, as LangBiTeForAPI takes it."""
    if "library" in overrides or not document.value.keys() >= langbite_scenario.API_KEYS:
        return overrides
    if not Path(document.name).is_file():
        raise UserError(
            Problem("`prompts` can only be read from a file", document.name, "write it to a .json file")
        )
    return Overrides(overrides | {"library": document.name})


def _select(resolved: ResolvedScenario, patterns: Sequence[str] | None) -> ResolvedScenario:
    """The scenario with the requirements alone whose name or concern is like a pattern. Raises UserError where one
    fits none."""
    if patterns is None:
        return resolved
    names = {one.name: {one.name, *one.asked_concerns} for one in resolved.requirements}
    known = set().union(*names.values())
    unfit = [each for each in patterns if not any(fnmatchcase(name, each) for name in known)]
    if unfit:
        raise UserError(
            Problem(f"no requirement is like `{each}`", "--filter", nearest(each, known)) for each in unfit
        )
    kept = tuple(
        one
        for one in resolved.requirements
        if any(fnmatchcase(name, each) for name in names[one.name] for each in patterns)
    )
    return replace(resolved, requirements=kept)


def _problems_of_the_rest(draft: Draft, inspect: Inspection) -> list[Problem]:
    """What `inspect` finds in requirements by what is sound in them, so that one error does not hide another."""
    entries = _requirement_entries(draft.document).values() if draft.catalog.templates else ()
    requirements = tuple(filter(None, (_sound_requirement(entry, draft.catalog) for entry in entries)))
    if not requirements:
        return []
    scenario = Scenario(scenario=ScenarioSettings(models=("none",)), requirements=requirements)
    sound = ResolvedScenario(
        name="",
        given="",
        catalog=draft.catalog,
        targets={},
        judge=None,
        scenario=scenario,
        requirements=requirements,
    )
    return list(at_their_lines(inspect(sound), draft.document))


def _sound_requirement(entry: dict[str, Any], catalog: Catalog) -> Requirement | None:
    """The requirement without values that are errors of their own; None if too little is left."""
    spoken, own = entry.get("languages"), entry.get("communities")
    kept = dict(entry)
    if isinstance(spoken, list):
        kept["languages"] = [tag for tag in spoken if tag in catalog.languages]
    if isinstance(own, str) and own not in catalog.communities:
        del kept["communities"]
    found = sound_part(Requirement, kept)
    try:
        return found and found.model_copy(update=_concern_ids(found, catalog))
    except UserError:  # of an unknown concern
        return None


def _as_given(document: Document, overrides: Overrides) -> Given:
    settings = document.value.get("scenario")
    if not isinstance(settings, dict):
        return {}
    wanted = {name: value for name, value in overrides.items() if name not in NOT_SETTINGS}
    if "judge_passed" in overrides:
        sample = settings.get("judge_sample")
        own = sample if isinstance(sample, dict) else {}
        wanted["judge_sample"] = own | {"passed": overrides["judge_passed"]}
    if "limit" in overrides:
        if "templates" in overrides:
            raise UserError(Problem("is another way to say `--templates`", "--limit", "leave one of the two out"))
        wanted |= {"templates": overrides["limit"], "sampling": "requirement"}
    return {
        ("scenario", name): (OPTIONS.get(name, f"--{name.replace('_', '-')}"), value)
        for name, value in wanted.items()
    }


def _read_catalog(document: Document, overrides: Overrides) -> tuple[Reading, list[Problem]]:
    """The catalog with the scenario's library, or without if it cannot be read, and the library's errors."""
    library = overrides["library"] if "library" in overrides else _own_library(document)
    found: list[Problem] = []
    if not library.strip():
        where = document.place("scenario", "library") if "library" not in overrides else "--library"
        found.append(Problem("`library` is empty", where, "name a file or directory of templates, or `shipped`"))
        library = "shipped"
    try:
        reading = read_catalog(library, language=_only_language(document), scenes=False)
        broken = any(template.language in reading.unread for template in reading.catalog.templates)
        return _without_templates(reading) if broken else reading, found
    except UserError as absent:
        if library == "shipped":
            raise
        where = document.place("scenario", "library") if "library" not in overrides else "--library"
        placed = (replace(each, where=each.where or where) for each in absent.mistakes)
        return _without_templates(read_catalog(scenes=False)), [*found, *placed]


def _without_templates(reading: Reading) -> Reading:
    """For requirements of templates that could not be read: those of another library would only mislead."""
    return replace(reading, catalog=replace(reading.catalog, templates=()))


def _own_library(document: Document) -> str:
    """Library of the scenario; a path in a file is relative to that file."""
    settings = document.value.get("scenario")
    named = settings.get("library") if isinstance(settings, dict) else None
    if not isinstance(named, str) or named == "shipped":
        return "shipped"
    from_file = Path(document.name).is_file() and named.strip()
    return str(Path(document.name).parent / named) if from_file else named


def _requirement_entries(document: Document) -> dict[int, dict[str, Any]]:
    """Requirements as written, by index."""
    listed = document.value.get("requirements")
    entries = enumerate(listed if isinstance(listed, list) else [])
    return {index: entry for index, entry in entries if isinstance(entry, dict)}


def _only_language(document: Document) -> str | None:
    asked = [entry.get("languages") for entry in _requirement_entries(document).values()]
    spoken = {str(tag) for languages in asked if isinstance(languages, list) for tag in languages}
    return spoken.pop() if len(spoken) == 1 else None


def _check_names(draft: Draft) -> None:
    """Adds errors of unknown models, concerns and sets, and of duplicate names, as written in the file."""
    # as written, so that schema errors do not hide them
    settings = draft.section("scenario")
    draft.check_models(settings.get("models"), "scenario", "models")
    draft.check_model(settings.get("judge"), "scenario", "judge")
    seen: set[str] = set()
    for index, entry in _requirement_entries(draft.document).items():
        at = ("requirements", index)
        pooled = entry.get("concerns")
        for number, concern in enumerate(pooled if isinstance(pooled, list | tuple) else ()):
            draft.check(draft.catalog.concern, concern, *at, "concerns", number)
        if not pooled:
            draft.check(draft.catalog.concern, entry.get("concern"), *at, "concern")
        draft.check_languages(entry.get("languages"), *at, "languages")
        _check_communities(draft, entry, *at, "communities")
        name = str(entry.get("name", ""))
        if name in seen and at not in draft.document.given:
            draft.add(f"requirement `{name}` stands twice", "give each requirement its own name", *at, "name")
        seen.add(name)


def _check_communities(draft: Draft, entry: dict[str, Any], *at: str | int) -> None:
    """Adds an error of an unknown set, or of languages without communities although others have some."""
    own, sets = entry.get("communities"), draft.catalog.communities
    if isinstance(own, str) and own not in sets:
        draft.add(f"community set `{own}` is unknown", nearest(own, sets), *at)
    languages = entry.get("languages")
    if isinstance(own, dict) and isinstance(languages, list):
        remedy = "add them, or leave `communities` out to ask about the catalog's"
        for language in [tag for tag in languages if tag in draft.catalog.languages and tag not in own]:
            draft.add(f"`communities` names none in `{language}`", remedy, *at)


def _concern_ids(requirement: Requirement, catalog: Catalog) -> dict[str, Any]:
    if requirement.concerns:
        return {"concern": SEVERAL, "concerns": tuple(map(catalog.concern, requirement.concerns))}
    return {"concern": catalog.concern(requirement.concern)}


def _resolve(draft: Draft, scenario: Scenario, notices: tuple[str, ...]) -> ResolvedScenario:
    settings = scenario.scenario
    catalog = langbite_scenario.with_reading(draft.catalog, settings)
    targets = {target.model: target for target in map(catalog.target, settings.models)}
    judge = catalog.target(settings.judge) if settings.judge else None
    if judge and judge.model in targets and not settings.judge_may_be_subject:
        remedy = "name another judge, or set `judge_may_be_subject: true`"
        where = draft.document.place("scenario", "judge")
        raise UserError(Problem(f"judge `{judge.model}` is under test itself", where, remedy))
    full_names = {"models": tuple(targets), "judge": judge.model if judge else None, "library": catalog.library}
    return ResolvedScenario(
        name=scenario.name or Path(draft.document.name).stem,
        given=draft.text,
        scenario=scenario.model_copy(update={"scenario": settings.model_copy(update=full_names)}),
        requirements=tuple(
            requirement.model_copy(update=_concern_ids(requirement, catalog))
            for requirement in scenario.requirements
            if isinstance(requirement, Requirement)
        ),
        catalog=catalog,
        targets=targets,
        judge=judge,
        notices=notices,
    )
