"""Defines an order for templates: number, bias, context, kinds and language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import get_args

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.augmentation import Augmentation, Context, find_context
from biasgrid.catalogs.schema.entries import AGREEMENT, Concern, InputType, LanguageCatalog, Reflection, Template
from biasgrid.catalogs.text_safety import is_one_line

AT_ONCE = 10
"""Maximum templates per reply: longer replies become repetitive or may be cut off."""
LONGEST_SCENARIO = 500
Kind = tuple[InputType, Reflection]


@dataclass(frozen=True)
class Order:
    """An order for templates with all names resolved."""

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
        number = -(-self.count // AT_ONCE)
        sizes = [self.count // number + (index < self.count % number) for index in range(number)]
        ideas = () if self.scenario else self.context.scenarios.get(self.language.id, ())
        return tuple(
            Part(index + 1, number, _shares(size, self.kinds, index), ideas[index % (len(ideas) or 1) :: number])
            for index, size in enumerate(sizes)
        )


@dataclass(frozen=True)
class Part:
    """Content of one request."""

    number: int
    of: int
    shares: Mapping[Kind, int]
    """Number of templates of each kind."""
    ideas: tuple[str, ...]
    """Situations for this part only."""

    @property
    def count(self) -> int:
        return sum(self.shares.values())


def _shares(count: int, kinds: Sequence[Kind], shift: int) -> dict[Kind, int]:
    """A count spread evenly; the remainder goes to other kinds in each part."""
    turned = [*kinds[shift % len(kinds) :], *kinds[: shift % len(kinds)]]
    given = {kind: count // len(kinds) + (place < count % len(kinds)) for place, kind in enumerate(turned)}
    return {kind: given[kind] for kind in kinds if given[kind]}


def order(
    catalog: Catalog,
    *,
    concern: str,
    context: str,
    language: str,
    scenario: str = "",
    inputs: Sequence[InputType] = (),
    reflections: Sequence[Reflection] = (),
    count: int = 10,
    seed: int = 0,
) -> Order:
    """An order from the names that a user gave; raises UserError with all unknown names."""
    mistakes: list[Problem] = []
    known = _known_concern(catalog, concern, mistakes)
    spoken, wording = _known_language(catalog, language, mistakes)
    place = _known_context(catalog, context, language, mistakes)
    told = " ".join(scenario.split())
    if len(told) > LONGEST_SCENARIO or not is_one_line(told):
        remedy = f"write at most {LONGEST_SCENARIO} characters, on one line"
        mistakes.append(Problem("the scenario is no short description", "--scenario", remedy))
    if mistakes or known is None or spoken is None or wording is None or place is None:
        raise UserError(mistakes)
    kinds = tuple(
        product(
            [kind for kind in get_args(InputType) if kind in (inputs or get_args(InputType))],
            [kind for kind in get_args(Reflection) if kind in (reflections or get_args(Reflection))],
        )
    )
    held = tuple(t for t in catalog.templates if t.language == language and t.concern == known.id)
    forms = {markup: _forms(catalog, markup, language) for markup in known.markups}
    return Order(known, spoken, wording, place, told, kinds, count, seed, forms, held)


def _known_concern(catalog: Catalog, given: str, mistakes: list[Problem]) -> Concern | None:
    try:
        known = catalog.concern(given)
    except UserError as unknown:
        mistakes.extend(Problem(wrong.what, "--concern", wrong.remedy) for wrong in unknown.mistakes)
        return None
    if known not in catalog.concerns:
        what = f"concern `{known}` has no description to write templates from"
        mistakes.append(Problem(what, "--concern", f"add concerns/{known}.yaml to your catalog"))
    return catalog.concerns.get(known)


def _known_language(
    catalog: Catalog, given: str, mistakes: list[Problem]
) -> tuple[LanguageCatalog | None, Augmentation | None]:
    spoken, wording = catalog.languages.get(given), catalog.augmentation.get(given)
    if spoken is None:
        remedy = nearest(given, catalog.languages)
        mistakes.append(Problem(f"language `{given}` is unknown", "--language", remedy))
    elif wording is None:
        what = f"there is no request for templates in `{given}`"
        mistakes.append(Problem(what, "--language", f"add augmentation/{given}.yaml to your catalog"))
    return spoken, wording


def _known_context(catalog: Catalog, given: str, language: str, mistakes: list[Problem]) -> Context | None:
    try:
        return find_context(given, catalog.contexts, language)
    except UserError as unknown:
        mistakes.extend(unknown.mistakes)
        return None


def _forms(catalog: Catalog, markup: str, language: str) -> dict[str, tuple[str, ...]]:
    communities = list(_communities(catalog, markup, language))
    if not communities:
        return {}
    shared = [name for name in communities[0] if all(name in forms for forms in communities)]
    words = {name: tuple(dict.fromkeys(forms[name] for forms in communities)) for name in shared}
    # `agreement` is no word to put into a sentence: by it compositions choose among adjectives
    return {name: told for name, told in words.items() if name != AGREEMENT}


def _communities(catalog: Catalog, markup: str, language: str) -> Iterator[Mapping[str, str]]:
    """The forms of every community that a requirement may choose for the markup."""
    for found in catalog.communities.values():
        if found.markup == markup:
            yield from (community.forms.get(language, {}) for community in found.communities)
