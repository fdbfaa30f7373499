"""Resolves an interaction file and reports all errors at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.errors import Problem, UserError, nearest, position
from biasgrid.catalogs.lint.rules.interaction_rules import unplayable
from biasgrid.catalogs.loading.catalog import Catalog, Reading, read_catalog
from biasgrid.catalogs.loading.documents import Document, validated
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.scenario.references import Resolved
from biasgrid.catalogs.scenario.targets import Given, Source, read_target, unknown_model
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.catalogs.schema.interaction_file import CAST, TALKING, InteractionFile
from biasgrid.catalogs.schema.interactions import Protocol
from biasgrid.catalogs.schema.models import Target, bases_of
from biasgrid.catalogs.schema.scenes import Domain, Scene

SECTION = "interaction"
SceneOf = tuple[Domain, Scene]


@dataclass(frozen=True, kw_only=True)
class ResolvedInteraction(Resolved):
    """A resolved interaction of models that discuss scenes."""

    kind: ClassVar[str] = "interaction"
    file: InteractionFile
    players: Mapping[str, tuple[Target, ...]]
    """By model or cast: the models that play a scene's people in turn."""

    @property
    def settings(self) -> ScenarioSettings:
        return ScenarioSettings(models=tuple(self.targets), **self.file.asking.model_dump())

    @property
    def protocol(self) -> Protocol:
        return self.catalog.protocols[self.file.interaction.protocol]

    @cached_property
    def scenes(self) -> tuple[SceneOf, ...]:
        """The scenes to be played, the same in each language."""
        return drawn_scenes(self.file, self.catalog)

    @property
    def concerns(self) -> set[str]:
        return {self.catalog.people[scene.axis].concern for _, scene in self.scenes}

    @property
    def languages(self) -> set[str]:
        return set(self.file.interaction.languages)

    def as_json(self) -> str:
        return self.file.model_copy(update={"name": self.name}).model_dump_json()


Inspection = Callable[[ResolvedInteraction], Iterable[Problem]]


def resolve_interaction(
    source: Source, given: Given | None = None, inspect: Inspection = lambda _: ()
) -> ResolvedInteraction:
    """The resolved interaction file; raises UserError with all errors of the file, its names, and `inspect`."""
    text, document = read_target(source, given or {}, "interaction", "write `interaction:` with `models:`")
    document = _models_alone(document, given or {})
    reading = read_catalog()
    mistakes = [*reading.mistakes, *_unknown_models(document, reading.catalog)]
    try:
        file = validated(InteractionFile, document)
    except UserError as wrong:
        raise UserError(_once([*wrong.mistakes, *mistakes])) from wrong
    _raise([*mistakes, *_unknown(document, file, reading.catalog)])
    resolved = _resolved(text, document, file, reading.catalog)
    _raise([*_nothing(resolved), *_unplayable(resolved, reading), *inspect(resolved)])
    return resolved


def drawn_scenes(file: InteractionFile, catalog: Catalog) -> tuple[SceneOf, ...]:
    """Scenes selected by a file; a number of scenes is drawn from the domains in turn."""
    own = file.interaction
    fitting = [(domain, scene) for domain, scene in every_scene(catalog) if _fits(domain, scene, file)]
    if not isinstance(own.scenes, int) or own.scenes >= len(fitting):
        return tuple(fitting)
    chance = random.Random(f"scenes:{file.asking.seed}")  # noqa: S311 - a draw that anybody can repeat
    shuffled: dict[str, list[SceneOf]] = {}
    for domain, scene in fitting:
        shuffled.setdefault(domain.id, []).append((domain, scene))
    for scenes in shuffled.values():
        chance.shuffle(scenes)
    chosen = {scene.id for _, scene in _in_turn(shuffled)[: own.scenes]}
    return tuple(found for found in fitting if found[1].id in chosen)


def _in_turn(by_domain: Mapping[str, list[SceneOf]]) -> list[SceneOf]:
    longest = max(map(len, by_domain.values()))
    return [scenes[turn] for turn in range(longest) for scenes in by_domain.values() if turn < len(scenes)]


def every_scene(catalog: Catalog) -> Iterator[SceneOf]:
    """All scenes in catalog order."""
    for domain in catalog.scenes.values():
        for scene in domain.scenes:
            yield domain, scene


def _fits(domain: Domain, scene: Scene, file: InteractionFile) -> bool:
    own = file.interaction
    if isinstance(own.scenes, tuple):
        return scene.id in own.scenes
    wanted = domain.id in own.domains if own.domains else not (domain.held_out or domain.by_name)
    return wanted and (not own.axes or scene.axis in own.axes) and scene.languages >= set(own.languages)


def _models_alone(document: Document, given: Given) -> Document:
    """The file without its own casts and tuned models if the command line gives models."""
    own = document.value.get(SECTION)
    if (SECTION, "models") not in given or not isinstance(own, dict):
        return document
    kept = {key: value for key, value in own.items() if key not in ("casts", "tuned") or (SECTION, key) in given}
    return replace(document, value={**document.value, SECTION: kept})


def _resolved(text: str, document: Document, file: InteractionFile, catalog: Catalog) -> ResolvedInteraction:
    own = file.interaction
    alone = {target.model: (target,) for target in map(catalog.target, own.models)}
    mixed = {f"{CAST}/{name}": tuple(map(catalog.target, models)) for name, models in own.casts.items()}
    players = alone | mixed
    named = {catalog.target(model).model: catalog.target(base).model for model, base in own.tuned.items()}
    tuned = {model: base for model in alone for base in bases_of(model)[::-1] if base in alone} | named
    told = own.model_copy(update={"models": tuple(alone), "tuned": tuned})
    return ResolvedInteraction(
        name=file.name or Path(document.name).stem,
        given=text,
        catalog=catalog,
        targets={target.model: target for targets in players.values() for target in targets},
        judge=None,
        file=file.model_copy(update={"interaction": told}),
        players=players,
    )


def _unknown_models(document: Document, catalog: Catalog) -> Iterator[Problem]:
    own = document.value.get(SECTION)
    if not isinstance(own, dict):
        return
    models, casts, tuned = own.get("models"), own.get("casts"), own.get("tuned")
    if not models and not casts:
        remedy = "list one in `interaction.models`, or give `--model`; `simulated/conforming` needs no key"
        yield Problem("no model is named", document.place(SECTION, "models"), remedy)
    named: list[tuple[Location, Any]] = [((SECTION, "models"), models)]
    named += [((SECTION, "casts", name), cast) for name, cast in _pairs(casts)]
    for where, listed in named:
        for index, model in enumerate(listed if isinstance(listed, list | tuple) else ()):
            if isinstance(model, str):
                yield from unknown_model(model, document.place(*where, index), catalog)
    for model, base in _pairs(tuned):
        for name in (model, base):
            if isinstance(name, str):
                yield from unknown_model(name, document.place(SECTION, "tuned", model), catalog)


def _pairs(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _unknown(document: Document, file: InteractionFile, catalog: Catalog) -> Iterator[Problem]:
    """Errors of unknown domains, axes, scenes, languages and protocol, and of unused tuned models."""
    own = file.interaction
    scenes = [scene.id for _, scene in every_scene(catalog)]
    listed: list[tuple[str, str, Iterable[str], Iterable[str]]] = [
        ("domain", "domains", own.domains, catalog.scenes),
        ("axis", "axes", own.axes, catalog.people),
        ("scene", "scenes", own.scenes if isinstance(own.scenes, tuple) else (), scenes),
        ("language", "languages", own.languages, catalog.interaction),
    ]
    for what, key, names, known in listed:
        for index, name in enumerate(names):
            if name not in known:
                told = f"{what} `{name}` is unknown to interactions"
                yield Problem(told, document.place(SECTION, key, index), nearest(name, known))
    if own.protocol not in catalog.protocols:
        near = nearest(own.protocol, catalog.protocols)
        yield Problem(f"protocol `{own.protocol}` is unknown", document.place(SECTION, "protocol"), near)
    playing = {catalog.aliases.get(model.lower(), model) for model in own.models}
    for model, base in own.tuned.items():
        for name in (model, base):
            if catalog.aliases.get(name.lower(), name) not in playing:
                what = f"`{name}` takes no part: what tuning changed cannot be told"
                yield Problem(what, document.place(SECTION, "tuned", model), "list both models in `models`")


def _nothing(resolved: ResolvedInteraction) -> Iterator[Problem]:
    own = resolved.file.interaction
    if not resolved.scenes and set(own.settings) & {"no_interaction", *TALKING}:
        what = "no scene fits the domains, axes and languages"
        yield Problem(what, "interaction.domains, interaction.axes", "name other ones, or none")


def _unplayable(resolved: ResolvedInteraction, reading: Reading) -> Iterator[Problem]:
    own = resolved.file.interaction
    yield from unplayable(reading, {domain.id for domain, _ in resolved.scenes}, own.languages, own.protocol)


def _raise(mistakes: Iterable[Problem]) -> None:
    found = _once(mistakes)
    if found:
        raise UserError(found)


def _once(mistakes: Iterable[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(mistakes), key=position)
