"""Generates tuning assignments: per scene with reasons, a stereotypical and a neutral one."""

# Held-out domains, controls, choices and scenes not written in the language give no examples.

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from random import Random

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.interactions import Understanding
from biasgrid.catalogs.schema.scenes import NAME, GroupOfPeople, Presence, Reasons, Scene

Plan = tuple[str, ...]
"""Group of each task, in the order of the scene's tasks."""


@dataclass(frozen=True, slots=True)
class TuningExample:
    """An assignment; `people` are in their order of appearance in the assignment."""

    id: str
    domain: str
    scene: str
    """Empty for a whole text, as are `goal` and `people`."""
    language: str
    presence: Presence
    goal: str
    assignment: str
    """One line per task and its person, or a whole text."""
    reason: str
    people: tuple[str, ...]


def tuning_examples(catalog: Catalog, language: str, seed: int) -> tuple[TuningExample, ...]:
    """Examples by domain and scene, biased first, reproducible by seed; raises UserError without a wording."""
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
        if scene.id in reasons and _is_usable(scene, catalog, language):
            draw = Random(f"tuning/{scene.id}/{language}/{seed}")  # noqa: S311 - no secret
            yield from _of_scene(scene, name, catalog, language, draw, reasons[scene.id])
    for number, whole in enumerate(catalog.tuning[name].examples, 1):
        if language in whole.text.keys() & whole.reason.keys():
            yield TuningExample(
                id=f"{name}/{number}/{language}/{whole.presence}",
                domain=name,
                scene="",
                language=language,
                presence=whole.presence,
                goal="",
                assignment=whole.text[language],
                reason=whole.reason[language],
                people=(),
            )


def _is_usable(scene: Scene, catalog: Catalog, language: str) -> bool:
    people = catalog.people.get(scene.axis)
    written = people is not None and language in scene.languages & people.languages
    return written and not scene.is_control and scene.question == "assignment"


def _of_scene(
    scene: Scene, domain: str, catalog: Catalog, language: str, draw: Random, reasons: Reasons
) -> Iterator[TuningExample]:
    wording = catalog.interaction[language].understanding
    words = {group: words[language] for group, words in catalog.people[scene.axis].groups.items()}
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
                assignment=_assignment_text(scene, plans, cast, wording, language),
                reason=why[language],
                people=tuple(people),
            )


def drawn_people(scene: Scene, words: Mapping[str, GroupOfPeople], draw: Random) -> dict[str, tuple[str, ...]]:
    """By group: people of a scene as listed, from one culture unless the scene names them."""
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
    """The plan with every task assigned to its stereotyped group."""
    return (tuple(task.to or "" for task in scene.tasks),)


def neutral(scene: Scene, draw: Random) -> tuple[Plan, ...]:
    """The most even neutral plan; if there is none, two opposite plans, so that both groups share every task."""
    plans = [plan for plan in product(sorted(scene.groups), repeat=len(scene.tasks)) if is_neutral(scene, plan)]
    if not plans:
        first = stereotypical(scene)[0]
        one, other = sorted(scene.groups)
        return first, tuple(other if group == one else one for group in first)
    best = min(_unevenness(scene, plan) for plan in plans)
    return (draw.choice([plan for plan in plans if _unevenness(scene, plan) == best]),)


def is_neutral(scene: Scene, plan: Plan) -> bool:
    """Whether each group has equally many tasks of a stereotype as the smaller group has people."""
    given = Counter(zip((task.to for task in scene.tasks), plan, strict=True))
    groups = sorted(scene.groups)
    balanced = sum(min(given[task, group] for group in groups) for task in groups)
    return balanced >= min(scene.groups.values())


def _unevenness(scene: Scene, plan: Plan) -> float:
    """Difference in tasks per person between the groups."""
    loads = [plan.count(group) / people for group, people in scene.groups.items()]
    return max(loads) - min(loads)


def _assignment_text(
    scene: Scene, plans: Sequence[Plan], cast: Mapping[str, tuple[str, ...]], wording: Understanding, language: str
) -> str:
    """One line per task and person; people of a group take turns."""
    turns = {group: cycle(people) for group, people in cast.items()}
    lines = [
        fill_placeholders(wording.assigned, {"person": next(turns[group]), "task": task.text[language]})
        for task, groups in zip(scene.tasks, zip(*plans, strict=True), strict=True)
        for group in groups
    ]
    return "\n".join(lines)


DEV = 0.2
"""Share of scenes, and of texts without a scene, kept for validation."""


def dev_scenes(catalog: Catalog, seed: int) -> frozenset[str]:
    """Scenes kept to validate tuning and test understanding; they depend only on scene ids and the seed."""
    tuned_on = [name for name in catalog.tuning if name in catalog.scenes and not catalog.scenes[name].held_out]
    return _choose_dev({scene for name in tuned_on for scene in catalog.tuning[name].scenes}, seed)


def dev_texts(catalog: Catalog, seed: int) -> frozenset[str]:
    """Whole texts kept to validate tuning, as `domain/number`."""
    numbered = ((name, range(1, len(own.examples) + 1)) for name, own in catalog.tuning.items())
    return _choose_dev({f"{name}/{number}" for name, numbers in numbered for number in numbers}, seed)


def _choose_dev(names: Iterable[str], seed: int) -> frozenset[str]:
    ordered = sorted(names, key=lambda name: hashlib.sha256(f"dev/{seed}/{name}".encode()).digest())
    return frozenset(ordered[: round(DEV * len(ordered))])
