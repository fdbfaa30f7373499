"""Resolves a target file from disk, a dict or a JSON string and reports all errors at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.errors import Problem, UserError, nearest, position
from biasgrid.catalogs.loading.catalog import Catalog, read_catalog
from biasgrid.catalogs.loading.documents import Document, parse_document, read_document, validated
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.scenario.references import Resolved
from biasgrid.catalogs.schema.base import slug
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.catalogs.schema.models import Target, endpoint_target, patient
from biasgrid.catalogs.schema.target_file import Pair, TargetFile, drawn_pairs


def own_chatbot(name: str, endpoint: Endpoint, others: Container[str], where: str) -> Target:
    """The user's chatbot as model `endpoint/<name>`; raises UserError if one of `others` has that name."""
    own = endpoint_target(slug(name) or "chatbot", endpoint)
    if own.model in others:
        what = f"`{own.model}` is in `models`, and the file's own chatbot would be called so, too"
        raise UserError(Problem(what, where, "give the file another `name`"))
    return own


Source = Path | str | Mapping[str, Any]
Given = Mapping[tuple[str, str], tuple[str, Any]]
"""By section and key: option name and value that replace the file's own."""


@dataclass(frozen=True, kw_only=True)
class ResolvedTarget(Resolved):
    """A runnable target file."""

    file: TargetFile

    @property
    def settings(self) -> ScenarioSettings:
        judge = self.judge.model if self.judge else None
        return ScenarioSettings(models=tuple(self.targets), judge=judge, **self.file.asking.model_dump())

    @property
    def languages(self) -> set[str]:
        return set(self.file.target.languages)

    def as_json(self) -> str:
        told = self.file.model_copy(update={"name": self.name})
        return told.model_dump_json()


@dataclass(frozen=True, kw_only=True)
class ResolvedProbe(ResolvedTarget):
    """A resolved target for a probe."""

    kind: ClassVar[str] = "probe"
    generator: Target | None = None

    @property
    def pairs(self) -> list[Pair]:
        """Catalog pairs that the probe asks about, the same in each language."""
        probe, target = self.file.probe, self.file.target
        named = {"of_axes": probe.axes, "sectors": target.sectors, "languages": target.languages}
        return drawn_pairs(self.catalog.probes, probe.pairs, self.file.asking.seed, **named)

    @property
    def concerns(self) -> set[str]:
        return {axis.concern for axis, _ in self.pairs}

    @property
    def asked(self) -> list[Target]:
        return [*super().asked, *([self.generator] if self.generator else [])]


Inspection = Callable[[ResolvedProbe], Iterable[Problem]]


def resolve_probe(source: Source, given: Given | None = None, inspect: Inspection = lambda _: ()) -> ResolvedProbe:
    """The resolved target file; raises UserError with all errors of the file, its names, and `inspect`."""
    text, document = read_target(source, given or {})
    catalog, mistakes = _catalog()
    file = checked_file(document, catalog, mistakes)
    mistakes += _unknown_of_probe(document, file, catalog)
    _raise(mistakes)
    generator = patient(catalog.target(file.probe.generator)) if file.probe.generator else None
    resolved = ResolvedProbe(**common(text, document, file, catalog), judge=None, generator=generator)
    _raise([*inspect(resolved)])
    return resolved


def placed(sections: Mapping[str, tuple[str, str]], given: Mapping[str, Any]) -> Given:
    """Given options other than None by location in a target file; `sections` maps each to section and option."""
    named = {key: value for key, value in given.items() if value is not None}
    return {(sections[key][0], key): (sections[key][1], value) for key, value in named.items()}


def read_target(
    source: Source,
    given: Given,
    what: str = "target",
    remedy: str = "write `target:` with `models:` or an `endpoint:`",
) -> tuple[str, Document]:
    """The original text, and the document with command-line options applied."""
    if isinstance(source, Mapping):
        text = json.dumps(source, ensure_ascii=False, indent=2, default=str)
        document = parse_document(text, what, is_json=True)
    elif isinstance(source, str) and source.lstrip().startswith("{"):
        text, document = source, parse_document(source, what, is_json=True)
    else:
        document = read_document(Path(source))
        text = document.text
    if not isinstance(document.value, dict):
        told = "is empty" if document.value is None else f"describes no {what}"
        raise UserError(Problem(told, document.name, remedy))
    return text, _overridden(document, given)


def _overridden(document: Document, given: Given) -> Document:
    """The file with the command line's values; given models also replace its own chatbot."""
    value, options = dict(document.value), dict[Location, str]()
    for (section, key), (option, wanted) in given.items():
        own = value.get(section)
        if own is None or isinstance(own, dict):
            value[section] = (own or {}) | {key: wanted}
            options[section, key] = option
    described = value.get("target")
    if ("target", "models") in given and isinstance(described, dict):
        value["target"] = {key: own for key, own in described.items() if key != "endpoint"}
    return replace(document, value=value, given={**document.given, **options})


def _catalog() -> tuple[Catalog, list[Problem]]:
    reading = read_catalog(scenes=False)
    return reading.catalog, list(reading.mistakes)


def checked_file(document: Document, catalog: Catalog, mistakes: list[Problem]) -> TargetFile:
    """The validated file with known models; raises UserError with its errors and those found before."""
    unknown = _unknown_models(document, catalog)
    try:
        return validated(TargetFile, document)
    except UserError as wrong:
        raise UserError(_once([*wrong.mistakes, *unknown, *mistakes])) from wrong
    finally:
        mistakes += unknown


def common(text: str, document: Document, file: TargetFile, catalog: Catalog) -> dict[str, Any]:
    """Fields common to all kinds of resolved targets."""
    name = file.name or Path(document.name).stem
    targets = {target.model: target for target in map(catalog.target, file.target.models)}
    described = file.target.model_copy(update={"models": tuple(targets)})
    if file.target.endpoint is not None:
        own = own_chatbot(name, file.target.endpoint, targets, document.place("target", "endpoint"))
        targets[own.model] = own
    return {
        "name": name,
        "given": text,
        "catalog": catalog,
        "targets": targets,
        "file": file.model_copy(update={"target": described}),
    }


def _unknown_models(document: Document, catalog: Catalog) -> list[Problem]:
    described = document.value.get("target")
    models = described.get("models") if isinstance(described, dict) else None
    if not models and isinstance(described, dict) and described.get("endpoint") is not None:
        return []
    if not models:
        remedy = "list one in `target.models`, describe a chatbot in `target.endpoint`, or give `--model`"
        return [Problem("no model is named", document.place("target", "models"), remedy)]
    named = models if isinstance(models, list) else []
    return [
        mistake
        for index, model in enumerate(named)
        if isinstance(model, str)
        for mistake in unknown_model(model, document.place("target", "models", index), catalog)
    ]


def unknown_model(model: str, where: str, catalog: Catalog) -> list[Problem]:
    """Errors of a model's name; empty if it is known."""
    try:
        catalog.target(model)
    except UserError as wrong:
        return [Problem(mistake.what, where, mistake.remedy) for mistake in wrong.mistakes]
    return []


def _unknown_of_probe(document: Document, file: TargetFile, catalog: Catalog) -> list[Problem]:
    """Errors of unknown pairs, axes, sectors, languages and generator."""
    probe, pairs = file.probe, {pair.id: pair for axis in catalog.probes.values() for pair in axis.pairs}
    sectors = {sector for pair in pairs.values() for sector in pair.sectors}
    named = probe.pairs if isinstance(probe.pairs, tuple) else ()
    listed: list[tuple[str, Location, Iterable[str], Iterable[str]]] = [
        ("axis", ("probe", "axes"), probe.axes, catalog.probes),
        ("attribute pair", ("probe", "pairs"), named, pairs),
        ("sector", ("target", "sectors"), file.target.sectors, sectors),
        ("language", ("target", "languages"), file.target.languages, catalog.probing),
    ]
    found = [
        Problem(f"{what} `{name}` is unknown to the probe", document.place(*where, index), nearest(name, known))
        for what, where, names, known in listed
        for index, name in enumerate(names)
        if name not in known
    ]
    return [*found, *_unusable_generator(document, file, catalog)]


def _unusable_generator(document: Document, file: TargetFile, catalog: Catalog) -> Iterator[Problem]:
    probe, where = file.probe, document.place("probe", "generator")
    if probe.generator is None:
        return
    yield from unknown_model(probe.generator, where, catalog)
    if not isinstance(probe.pairs, int):
        what = "a generator proposes pairs, and `pairs` names them: nothing is left to propose"
        yield Problem(what, where, "write how many `pairs`, or leave `generator` out")
    for index, language in enumerate(file.target.languages):
        wording = catalog.probing.get(language)
        if wording is not None and wording.loader is None:
            what = f"no generator can be asked in `{language}`: probing/{language}.yaml has no `loader`"
            yield Problem(what, document.place("target", "languages", index), "add it, or leave `generator` out")


def _raise(mistakes: list[Problem]) -> None:
    if mistakes:
        raise UserError(_once(mistakes))


def _once(mistakes: list[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(mistakes), key=position)
