"""Resolves an interaction file and reports all errors at once."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.rules.scene_rules import unplayable
from biasgrid.catalogs.loading.catalog import Catalog, read_catalog
from biasgrid.catalogs.scenario.resolution import (
    Draft,
    Given,
    ResolvedFile,
    Source,
    apply_options,
    read_source,
    without_keys,
)
from biasgrid.catalogs.schema.interactions import Protocol
from biasgrid.catalogs.schema.models import Target, bases_of
from biasgrid.catalogs.schema.scenes import Domain, Scene
from biasgrid.catalogs.schema.target_file import CAST, TALKING, InteractionFile

SECTION = "interaction"
SceneOf = tuple[Domain, Scene]


@dataclass(frozen=True, kw_only=True)
class ResolvedInteraction(ResolvedFile):
    """A resolved interaction of models that discuss scenes."""

    kind: ClassVar[str] = "interaction"
    file: InteractionFile
    players: Mapping[str, tuple[Target, ...]]
    """By model or cast: the models that play a scene's people in turn."""

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


def resolve_interaction(
    source: Source,
    given: Given | None = None,
    inspect: Callable[[ResolvedInteraction], Iterable[Problem]] = lambda _: (),
) -> ResolvedInteraction:
    """The resolved interaction file; raises UserError with all errors of the file, its names, and `inspect`."""
    given = given or {}
    remedy = "write `interaction:` with `models:`"
    text, document = read_source(source, SECTION, "describes no interaction", remedy)
    document = apply_options(document, given)
    if (SECTION, "models") in given:  # given models play alone, without the file's own casts and tuned models
        own = [key for key in ("casts", "tuned") if (SECTION, key) not in given]
        document = without_keys(document, SECTION, own)
    draft = Draft(text, document, read_catalog())
    _check_models(draft)
    file = draft.validate(InteractionFile)
    _check_names(draft, file)
    draft.stop_at_problems()
    resolved = _resolve(draft, file)
    own_file = resolved.file.interaction
    if not resolved.scenes and set(own_file.settings) & {"no_interaction", *TALKING}:
        what = "no scene fits the domains, axes and languages"
        draft.problems.append(Problem(what, "interaction.domains, interaction.axes", "name other ones, or none"))
    domains = {domain.id for domain, _ in resolved.scenes}
    broken = unplayable(draft.reading, domains, own_file.languages, own_file.protocol)
    draft.stop_at_problems([*broken, *inspect(resolved)])
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
    in_turn = filter(None, chain.from_iterable(zip_longest(*shuffled.values())))
    chosen = {scene.id for _, scene in [*in_turn][: own.scenes]}
    return tuple(found for found in fitting if found[1].id in chosen)


def every_scene(catalog: Catalog) -> Iterator[SceneOf]:
    """All scenes in catalog order."""
    for domain in catalog.scenes.values():
        for scene in domain.scenes:
            yield domain, scene


def _fits(domain: Domain, scene: Scene, file: InteractionFile) -> bool:
    own = file.interaction
    if not scene.is_confirmed:
        return False
    if isinstance(own.scenes, tuple):
        return scene.id in own.scenes
    wanted = domain.id in own.domains if own.domains else not (domain.held_out or domain.by_name)
    return wanted and (not own.axes or scene.axis in own.axes) and scene.languages >= set(own.languages)


def _resolve(draft: Draft, file: InteractionFile) -> ResolvedInteraction:
    own, find = file.interaction, draft.catalog.target
    alone = {target.model: (target,) for target in map(find, own.models)}
    players = alone | {f"{CAST}/{name}": tuple(map(find, models)) for name, models in own.casts.items()}
    named = {find(model).model: find(base).model for model, base in own.tuned.items()}
    tuned = {model: base for model in alone for base in bases_of(model)[::-1] if base in alone} | named
    interaction = own.model_copy(update={"models": tuple(alone), "tuned": tuned})
    return ResolvedInteraction(
        name=file.name or Path(draft.document.name).stem,
        given=draft.text,
        catalog=draft.catalog,
        targets={target.model: target for targets in players.values() for target in targets},
        judge=None,
        file=file.model_copy(update={"interaction": interaction}),
        players=players,
        notices=tuple(_list_unconfirmed(draft.catalog)),
    )


def _list_unconfirmed(catalog: Catalog) -> Iterator[str]:
    """A notice of the scenes that are left out."""
    left_out = [scene.id for _, scene in every_scene(catalog) if not scene.is_confirmed]
    if left_out:
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        yield f"left out, as genders or labels in them are not confirmed: {', '.join(left_out[:3])}{more}"


def _check_models(draft: Draft) -> None:
    own = draft.section(SECTION)
    if not own:
        return
    if not own.get("models") and not own.get("casts"):
        remedy = "list one in `interaction.models`, or give `--model`; `simulated/conforming` needs no key"
        draft.add("no model is named", remedy, SECTION, "models")
    draft.check_models(own.get("models"), SECTION, "models")
    for name, cast in _pairs(own.get("casts")):
        draft.check_models(cast, SECTION, "casts", name)
    for model, base in _pairs(own.get("tuned")):
        draft.check_model(model, SECTION, "tuned", model)
        draft.check_model(base, SECTION, "tuned", model)


def _pairs(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _check_names(draft: Draft, file: InteractionFile) -> None:
    """Adds errors of unknown domains, axes, scenes, languages and protocol, and of unused tuned models."""
    own, catalog = file.interaction, draft.catalog
    scenes = [scene.id for _, scene in every_scene(catalog)]
    for what, names, known in (
        ("domain", own.domains, catalog.scenes),
        ("axis", own.axes, catalog.people),
        ("scene", own.scenes, scenes),
        ("language", own.languages, catalog.interaction),
    ):
        key = "axes" if what == "axis" else f"{what}s"
        draft.check_names(f"{what} {{}} is unknown to interactions", names, [*known], SECTION, key)
    if own.protocol not in catalog.protocols:
        near = nearest(own.protocol, catalog.protocols)
        draft.add(f"protocol `{own.protocol}` is unknown", near, SECTION, "protocol")
    playing = {catalog.aliases.get(model.lower(), model) for model in own.models}
    for model, base in own.tuned.items():
        for name in (model, base):
            if catalog.aliases.get(name.lower(), name) not in playing:
                what = f"`{name}` takes no part: what tuning changed cannot be measured"
                draft.add(what, "list both models in `models`", SECTION, "tuned", model)
