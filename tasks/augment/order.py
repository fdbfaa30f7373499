"""Orders for templates and for scenes, with all names resolved, in parts of one request each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import get_args

from biasgrid.catalogs.choices import InputType, Reflection
from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.augmentation import Augmentation, Context, find_context, slug
from biasgrid.catalogs.schema.base import IDENTIFIER
from biasgrid.catalogs.schema.entries import AGREEMENT, Concern, Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.scenes import GroupOfPeople, Scene
from biasgrid.catalogs.text_safety import is_one_line
from biasgrid.tasks.connectors.generator import split_evenly

AT_ONCE = 10
"""Maximum entries per reply: longer replies become repetitive or may be cut off."""
LONGEST_SCENARIO = 500
LONGEST_DOMAIN = 120
AXIS = "gender"
"""Axis of a domain without scenes."""
Kind = tuple[InputType, Reflection]


@dataclass(frozen=True, slots=True)
class TemplateWish:
    """The names and numbers that a user gave for an order of templates."""

    concern: str
    context: str
    language: str = "en_us"
    scenario: str = ""
    inputs: Sequence[InputType] = ()
    """All if empty."""
    reflections: Sequence[Reflection] = ()
    """All if empty."""
    count: int = 10
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SceneWish:
    """The names and numbers that a user gave for an order of scenes."""

    domain: str
    """A domain of catalogs/scenes, or a short description."""
    language: str = "en_us"
    count: int = 10
    seed: int = 0


@dataclass(frozen=True)
class Part:
    """Content of one request."""

    number: int
    of: int
    count: int
    shares: Mapping[Kind, int] = field(default_factory=dict)
    """Number of templates of each kind."""
    ideas: tuple[str, ...] = ()
    """Situations for this part only."""


@dataclass(frozen=True)
class Order:
    """An order for templates."""

    concern: Concern
    language: LanguageCatalog
    wording: Augmentation
    context: Context
    scenario: str
    kinds: tuple[Kind, ...]
    count: int
    seed: int
    forms: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Forms that all communities of a markup have, by markup and form."""
    library: tuple[Template, ...]
    """Existing templates of this concern and language."""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The order in parts of at most `AT_ONCE` templates, one request each."""
        sizes = split_evenly(self.count, AT_ONCE)
        ideas = () if self.scenario else self.context.scenarios.get(self.language.id, ())
        return tuple(
            Part(
                index + 1,
                len(sizes),
                size,
                _share(size, self.kinds, index),
                ideas[index % (len(ideas) or 1) :: len(sizes)],
            )
            for index, size in enumerate(sizes)
        )

    @property
    def about(self) -> dict[str, str]:
        """Keys of the review file that identify the library."""
        return {"language": self.language.id, "concern": self.concern.id}

    @property
    def described(self) -> str:
        """The context in words."""
        return self.context.describe(self.language.id)

    @property
    def name(self) -> str:
        return f"{self.concern.id}-{self.language.id}-{slug(self.context.id)}"


@dataclass(frozen=True)
class SceneOrder:
    """An order for scenes."""

    domain: str
    described: str
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
    scenario: str = ""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The order in parts of at most `AT_ONCE` scenes, one request each."""
        sizes = split_evenly(self.count, AT_ONCE)
        return tuple(Part(number, len(sizes), size) for number, size in enumerate(sizes, 1))

    @property
    def about(self) -> dict[str, str]:
        """Keys of the review file that identify the library."""
        return {"language": self.language.id, "domain": self.domain}

    @property
    def name(self) -> str:
        return f"scenes-{self.domain}-{self.language.id}"


def _share(count: int, kinds: Sequence[Kind], shift: int) -> dict[Kind, int]:
    """A count spread evenly; the remainder goes to other kinds in each part."""
    turned = [*kinds[shift % len(kinds) :], *kinds[: shift % len(kinds)]]
    given = {kind: count // len(kinds) + (place < count % len(kinds)) for place, kind in enumerate(turned)}
    return {kind: given[kind] for kind in kinds if given[kind]}


def resolve_order(catalog: Catalog, wish: TemplateWish | SceneWish) -> Order | SceneOrder:
    """The order with all names resolved; raises UserError with all unknown names."""
    return order_scenes(catalog, wish) if isinstance(wish, SceneWish) else order_templates(catalog, wish)


def order_templates(catalog: Catalog, wish: TemplateWish) -> Order:
    mistakes: list[Problem] = []
    known = _find_concern(catalog, wish.concern, mistakes)
    spoken, wording = _find_language(catalog, wish.language, mistakes)
    if spoken is not None and wording is None:
        what = f"there is no request for templates in `{wish.language}`"
        mistakes.append(Problem(what, "--language", f"add augmentation/{wish.language}.yaml to your catalog"))
    context = _find_context(catalog, wish.context, wish.language, mistakes)
    scenario = " ".join(wish.scenario.split())
    if len(scenario) > LONGEST_SCENARIO or not is_one_line(scenario):
        remedy = f"write at most {LONGEST_SCENARIO} characters, on one line"
        mistakes.append(Problem("the scenario is no short description", "--scenario", remedy))
    if mistakes or known is None or spoken is None or wording is None or context is None:
        raise UserError(mistakes)
    kinds = tuple(
        product(
            [kind for kind in get_args(InputType) if kind in (wish.inputs or get_args(InputType))],
            [kind for kind in get_args(Reflection) if kind in (wish.reflections or get_args(Reflection))],
        )
    )
    library = tuple(t for t in catalog.templates if t.language == wish.language and t.concern == known.id)
    forms = {markup: _shared_forms(catalog, markup, wish.language) for markup in known.markups}
    return Order(known, spoken, wording, context, scenario, kinds, wish.count, wish.seed, forms, library)


def order_scenes(catalog: Catalog, wish: SceneWish) -> SceneOrder:
    mistakes: list[Problem] = []
    known = catalog.scenes.get(wish.domain)
    name, described = _find_domain(wish.domain, catalog, mistakes)
    axis = known.scenes[0].axis if known else AXIS
    people = catalog.people.get(axis)
    spoken, wording = _find_language(catalog, wish.language, mistakes)
    if spoken is not None and (
        wording is None or not wording.scenes or people is None or wish.language not in people.languages
    ):
        what = f"scenes cannot be ordered in `{wish.language}`"
        remedy = f"add `scenes` to augmentation/{wish.language}.yaml, and names to people/{axis}.yaml"
        mistakes.append(Problem(what, "--language", remedy))
    if mistakes or spoken is None or wording is None or people is None:
        raise UserError(mistakes)
    groups = {group: words[wish.language] for group, words in people.groups.items()}
    library = tuple(s for one in catalog.scenes.values() for s in one.scenes if wish.language in s.languages)
    held_out = known is not None and known.held_out
    return SceneOrder(name, described, axis, groups, spoken, wording, wish.count, wish.seed, held_out, library)


def _find_concern(catalog: Catalog, given: str, mistakes: list[Problem]) -> Concern | None:
    try:
        known = catalog.concern(given)
    except UserError as unknown:
        mistakes.extend(Problem(wrong.what, "--concern", wrong.remedy) for wrong in unknown.mistakes)
        return None
    if known not in catalog.concerns:
        what = f"concern `{known}` has no description to write templates from"
        mistakes.append(Problem(what, "--concern", f"add concerns/{known}.yaml to your catalog"))
    return catalog.concerns.get(known)


def _find_language(
    catalog: Catalog, given: str, mistakes: list[Problem]
) -> tuple[LanguageCatalog | None, Augmentation | None]:
    if given not in catalog.languages:
        remedy = nearest(given, catalog.languages)
        mistakes.append(Problem(f"language `{given}` is unknown", "--language", remedy))
    return catalog.languages.get(given), catalog.augmentation.get(given)


def _find_context(catalog: Catalog, given: str, language: str, mistakes: list[Problem]) -> Context | None:
    try:
        return find_context(given, catalog.contexts, language)
    except UserError as unknown:
        mistakes.extend(unknown.mistakes)
        return None


def _find_domain(given: str, catalog: Catalog, mistakes: list[Problem]) -> tuple[str, str]:
    """Id and description of the domain."""
    known = catalog.scenes.get(given)
    if known is not None:
        return known.id, f"{known.id.replace('_', ' ')}. {known.description}".strip()
    described = " ".join(given.split())
    if not is_one_line(described) or len(described) > LONGEST_DOMAIN:
        what = "the domain is no short description"
        mistakes.append(Problem(what, "--scenes", f"write at most {LONGEST_DOMAIN} characters, on one line"))
    elif " " not in described:
        own = "Or describe your own in a few words, such as `a village fair`"
        remedy = f"{nearest(described, catalog.scenes)} {own}".strip()
        mistakes.append(Problem(f"domain `{described}` is unknown", "--scenes", remedy))
    name = slug(described)
    return (name if re.match(IDENTIFIER, name) else "own"), described


def _shared_forms(catalog: Catalog, markup: str, language: str) -> dict[str, tuple[str, ...]]:
    communities = list(_communities(catalog, markup, language))
    if not communities:
        return {}
    shared = [name for name in communities[0] if all(name in forms for forms in communities)]
    words = {name: tuple(dict.fromkeys(forms[name] for forms in communities)) for name in shared}
    # `agreement` is no word to put into a sentence: by it compositions choose among adjectives
    return {name: known for name, known in words.items() if name != AGREEMENT}


def _communities(catalog: Catalog, markup: str, language: str) -> Iterator[Mapping[str, str]]:
    """The forms of every community that a requirement may choose for the markup."""
    for found in catalog.communities.values():
        if found.markup == markup:
            yield from (community.forms.get(language, {}) for community in found.communities)
