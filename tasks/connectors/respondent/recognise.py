"""From a message back to the template behind it and the communities in its slots."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from catalogs.catalog import Catalog
from catalogs.schema import Community, LanguageCatalog, Template
from catalogs.wording import SLOT, pattern, slots
from tasks.connectors.respondent.repertoire import Repertoire

REMEMBERED = 8192
ANYTHING = r".{1,120}?"  # bounded: a hostile message must not cost quadratic time


@dataclass(frozen=True, slots=True)
class Filled:
    """What a slot holds: the text as sent and, where the catalog knows it, the community's id."""

    literal: str
    community: str | None = None
    names: tuple[str, ...] = ()
    """Every name of the community, its id first: what a respondent's rates may be keyed by."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A template with its slots as a message fills them, in the order of an instance's communities."""

    template: Template
    language: LanguageCatalog
    communities: Mapping[str, Filled]
    repertoire: Repertoire

    @property
    def first(self) -> Filled | None:
        """The community that a respondent's rates go by; None where the template has no slot."""
        return next(iter(self.communities.values()), None)


KnownForms = Mapping[str, Filled]  # by literal, without regard to case


class Recogniser:
    """Finds templates of the catalog in use: those that generate fills, imported libraries included."""

    def __init__(self, catalog: Catalog) -> None:
        forms = _Forms(catalog)
        self._whole: dict[str, _Known] = {}
        self._heads: dict[int, dict[str, list[_Known]]] = defaultdict(lambda: defaultdict(list))
        for position, template in enumerate(catalog.templates):
            known = _Known(template, catalog.languages[template.language], forms, position)
            self._index(known)
        self.find = lru_cache(maxsize=REMEMBERED)(self._find)

    def _index(self, known: _Known) -> None:
        if known.order:
            self._heads[len(known.head)][known.head].append(known)
        else:
            self._whole.setdefault(known.text, known)

    def _find(self, message: str) -> Recognised | None:
        """The template behind a message, or None: of several, the one whose slots hold known communities,
        then the one with the most text of its own, then the first of the library."""
        text = message.strip()
        whole = self._whole.get(text)
        if whole is not None:
            return whole.recognised({})
        matches = [match for known in self._candidates(text) if (match := known.match(text)) is not None]
        best = min(matches, key=lambda match: match.rank, default=None)
        return best.known.recognised(best.filled) if best else None

    def _candidates(self, text: str) -> Iterator[_Known]:
        for length, heads in self._heads.items():
            for known in heads.get(text[:length], ()):
                if text.endswith(known.tail):
                    yield known


@dataclass(frozen=True, slots=True)
class _Match:
    known: _Known
    filled: dict[str, Filled]

    @property
    def rank(self) -> tuple[int, int, int]:
        unknown = sum(not filled.names for filled in self.filled.values())
        return unknown, -self.known.literal_length, self.known.position


class _Known:
    """A template of the catalog, ready to be matched."""

    def __init__(self, template: Template, language: LanguageCatalog, forms: _Forms, position: int) -> None:
        self.template, self.language, self.position = template, language, position
        self.text = pattern(template, language).strip()
        self.order = tuple(slot.name for slot in slots(self.text))
        self.forms = {slot.name: forms.of(slot.markup, template.language) for slot in slots(self.text)}
        pieces = SLOT.split(self.text)[:: SLOT.groups + 1]
        self.head, self.tail = pieces[0], pieces[-1]
        self.literal_length = sum(map(len, pieces))

    @cached_property
    def repertoire(self) -> Repertoire:
        return Repertoire.of(self.template, self.language)

    @cached_property
    def expressions(self) -> tuple[re.Pattern[str], ...]:
        """First with known communities in every slot, then with any text: `a or b or c` splits in two ways."""
        return self._compiled(known_only=True), self._compiled(known_only=False)

    def match(self, text: str) -> _Match | None:
        for expression in self.expressions:
            found = expression.fullmatch(text)
            filled = self._filled(found) if found else None
            if filled is not None:
                return _Match(self, filled)
        return None

    def recognised(self, filled: dict[str, Filled]) -> Recognised:
        return Recognised(self.template, self.language, filled, self.repertoire)

    def _compiled(self, known_only: bool) -> re.Pattern[str]:
        groups: dict[str, str] = {}
        parts, end = [], 0
        for slot in SLOT.finditer(self.text):
            parts.append(re.escape(self.text[end : slot.start()]))
            parts.append(self._place(slot, groups, known_only))
            end = slot.end()
        return re.compile("".join([*parts, re.escape(self.text[end:])]), re.DOTALL)

    def _place(self, slot: re.Match[str], groups: dict[str, str], known_only: bool) -> str:
        if slot[0] in groups:
            return f"(?P={groups[slot[0]]})"
        name = f"{slot['markup']}{int(slot['number'] or 0) or ''}"
        groups[slot[0]] = f"{name}__{len(groups)}"
        known = self.forms[name].pattern if known_only else ANYTHING
        return f"(?P<{groups[slot[0]]}>{known})"

    def _filled(self, found: re.Match[str]) -> dict[str, Filled] | None:
        literals: dict[str, list[str]] = defaultdict(list)
        for group, literal in found.groupdict().items():
            literals[group.rpartition("__")[0]].append(literal)
        filled = {name: self.forms[name].same(literals[name]) for name in self.order}
        return None if None in filled.values() else {n: f for n, f in filled.items() if f is not None}


@dataclass(frozen=True, slots=True)
class _FormsOfMarkup:
    """The forms of a markup's communities in one language."""

    known: KnownForms

    @property
    def pattern(self) -> str:
        longest_first = sorted(self.known, key=lambda literal: (-len(literal), literal))
        choices = "|".join(re.escape(literal) for literal in longest_first)
        return f"(?i:{choices})" if choices else r"(?!)"

    def same(self, literals: Iterable[str]) -> Filled | None:
        """The community that all of the literals are forms of, None where they are not of one."""
        distinct = list(dict.fromkeys(literals))
        found = [self.known.get(literal.lower(), Filled(literal)) for literal in distinct]
        one = len({literal.lower() for literal in distinct}) == 1
        shared = set.intersection(*(set(filled.names) for filled in found))
        if not one and not shared:
            return None
        return Filled(distinct[0], found[0].community, found[0].names)


class _Forms:
    def __init__(self, catalog: Catalog) -> None:
        self._sets = catalog.communities.values()
        self.of = lru_cache(maxsize=None)(self._of)

    def _of(self, markup: str, language: str) -> _FormsOfMarkup:
        known: dict[str, Filled] = {}
        for community in self._communities(markup):
            for literal in community.forms.get(language, {}).values():
                known.setdefault(literal.lower(), Filled(literal, community.id, _names(community)))
        return _FormsOfMarkup(known)

    def _communities(self, markup: str) -> Iterator[Community]:
        for communities in self._sets:
            if communities.markup == markup:
                yield from communities.communities


def _names(community: Community) -> tuple[str, ...]:
    literals = [literal for forms in community.forms.values() for literal in forms.values()]
    return tuple(dict.fromkeys([community.id, *literals]))
