"""Defines an order for scenes: number, domain, axis and language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.augmentation import Augmentation, slug
from biasgrid.catalogs.schema.entries import IDENTIFIER, LanguageCatalog
from biasgrid.catalogs.schema.scenes import Domain, GroupOfPeople, Scene
from biasgrid.catalogs.text_safety import is_one_line

AT_ONCE = 10
"""Maximum scenes per reply: more become repetitive."""
LONGEST_DOMAIN = 120
AXIS = "gender"
"""Axis of a domain without scenes."""
ACCEPTED = "-accepted"
"""Suffix of the domain of accepted scenes; the same name would hide the shipped domain."""


@dataclass(frozen=True)
class ScenePart:
    """Content of one request."""

    number: int
    of: int
    count: int


@dataclass(frozen=True)
class SceneOrder:
    """An order for scenes with all names resolved."""

    domain: str
    told: str
    """Description of the domain."""
    axis: str
    groups: Mapping[str, GroupOfPeople]
    """Groups of the axis, in the language."""
    language: LanguageCatalog
    wording: Augmentation
    count: int
    seed: int
    held_out: bool
    """Whether the domain is held out: such scenes test mitigation and are not used for tuning."""
    library: tuple[Scene, ...]
    """All scenes in the language."""

    @cached_property
    def parts(self) -> tuple[ScenePart, ...]:
        """The order in parts of at most `AT_ONCE` scenes, one request each."""
        number = -(-self.count // AT_ONCE)
        sizes = [self.count // number + (index < self.count % number) for index in range(number)]
        return tuple(ScenePart(index + 1, number, size) for index, size in enumerate(sizes))


def scene_order(catalog: Catalog, *, domain: str, language: str, count: int = 10, seed: int = 0) -> SceneOrder:
    """An order from the user's names, with a domain of catalogs/scenes or a short description; raises UserError
    with all unknown names."""
    mistakes: list[Problem] = []
    known = catalog.scenes.get(domain)
    name, told = _domain(domain, catalog, mistakes)
    axis = known.scenes[0].axis if known else AXIS
    people = catalog.people.get(axis)
    spoken, wording = catalog.languages.get(language), catalog.augmentation.get(language)
    if spoken is None:
        mistakes.append(
            Problem(f"language `{language}` is unknown", "--language", nearest(language, catalog.languages))
        )
    elif wording is None or not wording.scenes or people is None or language not in people.languages:
        what = f"scenes cannot be ordered in `{language}`"
        remedy = f"add `scenes` to augmentation/{language}.yaml, and names to people/{axis}.yaml"
        mistakes.append(Problem(what, "--language", remedy))
    if mistakes or spoken is None or wording is None or people is None:
        raise UserError(mistakes)
    groups = {group: words[language] for group, words in people.groups.items()}
    held = tuple(s for one in catalog.scenes.values() for s in one.scenes if language in s.languages)
    held_out = known is not None and known.held_out
    return SceneOrder(name, told, axis, groups, spoken, wording, count, seed, held_out, held)


def _domain(given: str, catalog: Catalog, mistakes: list[Problem]) -> tuple[str, str]:
    """Id and description of the domain."""
    known: Domain | None = catalog.scenes.get(given)
    if known is not None:
        return known.id, f"{known.id.replace('_', ' ')}. {known.description}".strip()
    told = " ".join(given.split())
    if not is_one_line(told) or len(told) > LONGEST_DOMAIN:
        what = "the domain is no short description"
        mistakes.append(Problem(what, "--scenes", f"write at most {LONGEST_DOMAIN} characters, on one line"))
    elif " " not in told:
        own = "Or describe your own in a few words, such as `a village fair`"
        remedy = f"{nearest(told, catalog.scenes)} {own}".strip()
        mistakes.append(Problem(f"domain `{told}` is unknown", "--scenes", remedy))
    name = slug(told)
    return (name if re.match(IDENTIFIER, name) else "own"), told
