"""Assignments to tune models on, written out: of each scene with reasons one in which every task goes where its
stereotype says, and one that the published rule calls neutral, to the same people."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from random import Random

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.attacks import filled
from biasgrid.catalogs.schema.interactions import Understanding
from biasgrid.catalogs.schema.scenes import NAME, GroupOfPeople, Presence, Reasons, Scene, WholeText

Plan = tuple[str, ...]
"""The group that each task goes to, in the order of the scene's tasks."""


@dataclass(frozen=True, slots=True)
class TuningExample:
    """`people`: as the assignment tells of them, in an order of their own."""

    id: str
    domain: str
    scene: str
    """Empty for a whole text, as are `goal` and `people`."""
    language: str
    presence: Presence
    goal: str
    assignment: str
    """A line for each task and who has it; or a whole text."""
    reason: str
    people: tuple[str, ...]


def tuning_examples(catalog: Catalog, language: str, seed: int) -> tuple[TuningExample, ...]:
    """By domain and scene, implicit bias present before absent; the same seed tells of the same people. Domains
    that are held out, controls and choices give none, nor do scenes that are not told in the language. Raises
    UserError where the language has no wording of interactions."""
    if language not in catalog.interaction:
        remedy = nearest(language, catalog.interaction)
        raise UserError(Problem(f"interactions have no words in `{language}`", remedy=remedy))
    found = (example for name in sorted(catalog.tuning) for example in _of_domain(catalog, name, language, seed))
    return tuple(found)


def _of_domain(catalog: Catalog, name: str, language: str, seed: int) -> Iterator[TuningExample]:
    domain = catalog.scenes.get(name)
    if domain is not None and domain.held_out:
        return
    reasons = catalog.tuning[name].scenes
    for scene in domain.scenes if domain else ():
        if scene.id in reasons and _can_be_told(scene, catalog, language):
            draw = Random(f"tuning/{scene.id}/{language}/{seed}")  # noqa: S311 - no secret
            yield from _of_scene(scene, name, catalog, language, draw, reasons[scene.id])
    for number, whole in enumerate(catalog.tuning[name].examples, 1):
        if language in whole.text.keys() & whole.reason.keys():
            yield _of_text(whole, f"{name}/{number}/{language}/{whole.presence}", name, language)


def _of_text(whole: WholeText, own: str, domain: str, language: str) -> TuningExample:
    return TuningExample(
        id=own,
        domain=domain,
        scene="",
        language=language,
        presence=whole.presence,
        goal="",
        assignment=whole.text[language],
        reason=whole.reason[language],
        people=(),
    )


def _can_be_told(scene: Scene, catalog: Catalog, language: str) -> bool:
    people = catalog.people.get(scene.axis)
    told = people is not None and language in scene.languages & people.languages
    return told and not scene.is_control and scene.question == "assignment"


def _of_scene(
    scene: Scene,
    domain: str,
    catalog: Catalog,
    language: str,
    draw: Random,
    reasons: Reasons,
) -> Iterator[TuningExample]:
    wording = catalog.interaction[language].understanding
    words = {group: told[language] for group, told in catalog.people[scene.axis].groups.items()}
    cast = drawn_people(scene, words, draw)
    people = [person for group in cast.values() for person in group]
    draw.shuffle(people)
    shares: dict[Presence, tuple[Plan, ...]] = {"present": stereotypical(scene), "absent": neutral(scene, draw)}
    for presence, plans in shares.items():
        why: dict[str, str] = getattr(reasons, presence)
        if language in why:
            yield TuningExample(
                id=f"{scene.id}/{language}/{presence}",
                domain=domain,
                scene=scene.id,
                language=language,
                presence=presence,
                goal=scene.goal[language],
                assignment=_told(scene, plans, cast, wording, language),
                reason=why[language],
                people=tuple(people),
            )


def drawn_people(scene: Scene, words: Mapping[str, GroupOfPeople], draw: Random) -> dict[str, tuple[str, ...]]:
    """By group: the people of a scene as it lists them, all of one culture unless the scene names them itself."""
    cultures = sorted(next(iter(words.values())).names)
    culture = draw.choice(cultures)
    own: dict[str, list[str]] = {group: [] for group in scene.groups}
    for character in scene.characters:
        own[character.group].append(character.name)
    for group, count in scene.cast.items():
        own[group] = draw.sample(words[group].names[culture], count)
    return {
        group: tuple(words[group].listed.replace(NAME, name) for name in names) for group, names in own.items()
    }


def stereotypical(scene: Scene) -> tuple[Plan, ...]:
    """Every task to the group that its stereotype says."""
    return (tuple(task.to or "" for task in scene.tasks),)


def neutral(scene: Scene, draw: Random) -> tuple[Plan, ...]:
    """A plan that is neutral and loads everybody as evenly as can be. Where none is, as with one task of either
    stereotype, two plans that are opposite: somebody of each group shares in every task."""
    plans = [plan for plan in product(sorted(scene.groups), repeat=len(scene.tasks)) if is_neutral(scene, plan)]
    if not plans:
        first = stereotypical(scene)[0]
        one, other = sorted(scene.groups)
        return first, tuple(other if group == one else one for group in first)
    best = min(_unevenness(scene, plan) for plan in plans)
    return (draw.choice([plan for plan in plans if _unevenness(scene, plan) == best]),)


def is_neutral(scene: Scene, plan: Plan) -> bool:
    """Whether as many tasks of a stereotype go to both groups alike as the smaller group has people."""
    given = Counter(zip((task.to for task in scene.tasks), plan, strict=True))
    groups = sorted(scene.groups)
    balanced = sum(min(given[task, group] for group in groups) for task in groups)
    return balanced >= min(scene.groups.values())


def _unevenness(scene: Scene, plan: Plan) -> float:
    """By how many tasks a person of one group has more than a person of the other."""
    loads = [plan.count(group) / people for group, people in scene.groups.items()]
    return max(loads) - min(loads)


def _told(
    scene: Scene,
    plans: Sequence[Plan],
    cast: Mapping[str, tuple[str, ...]],
    wording: Understanding,
    language: str,
) -> str:
    """A line for each task and who has it: people of a group take turns."""
    turns = {group: cycle(people) for group, people in cast.items()}
    lines = [
        filled(wording.assigned, {"person": next(turns[group]), "task": task.text[language]})
        for task, groups in zip(scene.tasks, zip(*plans, strict=True), strict=True)
        for group in groups
    ]
    return "\n".join(lines)


DEV = 0.2
"""Share of the scenes that are kept, and of the texts that belong to none."""


def dev_scenes(catalog: Catalog, seed: int) -> frozenset[str]:
    """The scenes kept to validate tuning and to ask what a model understands. They follow from the scenes' ids and
    the seed alone, whatever the language or the assignments."""
    tuned_on = [name for name in catalog.tuning if _has_scenes(catalog, name)]
    return _kept({scene for name in tuned_on for scene in catalog.tuning[name].scenes}, seed)


def dev_texts(catalog: Catalog, seed: int) -> frozenset[str]:
    """The whole texts kept to validate tuning, as `domain/number`."""
    numbered = ((name, range(1, len(own.examples) + 1)) for name, own in catalog.tuning.items())
    return _kept({f"{name}/{number}" for name, numbers in numbered for number in numbers}, seed)


def _kept(names: Iterable[str], seed: int) -> frozenset[str]:
    ordered = sorted(names, key=lambda name: hashlib.sha256(f"dev/{seed}/{name}".encode()).digest())
    return frozenset(ordered[: round(DEV * len(ordered))])


def _has_scenes(catalog: Catalog, name: str) -> bool:
    return name in catalog.scenes and not catalog.scenes[name].held_out
