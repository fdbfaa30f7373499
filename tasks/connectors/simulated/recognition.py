"""Recognises the template of a message and the communities in its slots."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Community, Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.wording import SLOT, slot_of, slots, wordings
from biasgrid.tasks.connectors.simulated.repertoire import Repertoire


@dataclass(frozen=True, slots=True)
class FilledSlot:
    """The text of a slot, with the community's id if the catalog knows it."""

    literal: str
    community: str | None = None
    names: tuple[str, ...] = ()
    """All names of the community, its id first, for the keys of a respondent's rates."""


@dataclass(frozen=True)
class CommunityForms:
    """Communities of a markup by each of their forms in one language, lower case."""

    known: Mapping[str, tuple[Community, ...]]

    @cached_property
    def pattern(self) -> str:
        """Matches any known form, longest first; matches nothing if none is known."""
        longest_first = sorted(self.known, key=lambda form: (-len(form), form))
        return f"(?i:{'|'.join(map(re.escape, longest_first))})" if longest_first else r"(?!)"

    def same(self, literals: Iterable[str]) -> FilledSlot | None:
        """The community of all literals, None if they differ; words unknown to the catalog count as their own."""
        first, *others = dict.fromkeys(literals)
        for community in self.known.get(first.lower(), ()):
            if all(community in self.known.get(other.lower(), ()) for other in others):
                every = [name for language in community.forms for name in community.names(language)]
                return FilledSlot(first, community.id, tuple(dict.fromkeys([community.id, *every])))
        return FilledSlot(first) if all(other.lower() == first.lower() for other in others) else None


class KnownForms:
    """The forms of every markup and language of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._sets = tuple(catalog.communities.values())
        self._found: dict[tuple[str, str], CommunityForms] = {}

    def of(self, markup: str, language: str) -> CommunityForms:
        if (markup, language) not in self._found:
            self._found[markup, language] = self._read(markup, language)
        return self._found[markup, language]

    def _read(self, markup: str, language: str) -> CommunityForms:
        known: dict[str, list[Community]] = defaultdict(list)
        for community in (one for found in self._sets if found.markup == markup for one in found.communities):
            for form in dict.fromkeys(name.lower() for name in community.names(language)):
                known[form].append(community)
        return CommunityForms({form: tuple(communities) for form, communities in known.items()})


LONGEST = 120
"""Most characters of a community, so that a hostile message cannot cost quadratic time."""


class TemplatePattern:
    """The text of a template between its slots; `head` and `tail` are a cheap check before `fill`."""

    def __init__(self, text: str, language: str, known: KnownForms) -> None:
        self.text = text.strip()
        found = slots(self.text)
        self.order = tuple(slot.name for slot in found)
        self._forms = {slot.name: known.of(slot.markup, language) for slot in found}
        pieces = SLOT.split(self.text)[:: SLOT.groups + 1]
        self.head, self.tail = pieces[0], pieces[-1]
        self.places = len(pieces) - 1
        self.literal_length = sum(map(len, pieces))

    def fill(self, text: str) -> dict[str, FilledSlot] | None:
        """The words in each slot, in order; None if the text or a slot does not match."""
        if self.places == 1:
            return self._only(text[len(self.head) : len(text) - len(self.tail)])
        loose = self._match(self._loose, text)
        if loose is not None and count_unknown(loose) == 0:
            return loose
        # `a or b or c` splits in two ways, which known communities resolve
        strict = self._match(self._strict, text)
        return loose if strict is None else strict

    def _only(self, literal: str) -> dict[str, FilledSlot] | None:
        if not 0 < len(literal) <= LONGEST:
            return None
        filled = self._forms[self.order[0]].same([literal])
        return {self.order[0]: filled} if filled else None

    def _match(self, expression: re.Pattern[str], text: str) -> dict[str, FilledSlot] | None:
        found = expression.fullmatch(text)
        if found is None:
            return None
        literals: dict[str, list[str]] = defaultdict(list)
        for group, literal in found.groupdict().items():
            literals[group.rpartition("__")[0]].append(literal)
        filled = {name: self._forms[name].same(literals[name]) for name in self.order}
        whole = {name: one for name, one in filled.items() if one is not None}
        return whole if len(whole) == len(filled) else None

    @cached_property
    def _loose(self) -> re.Pattern[str]:
        return self._compile(lambda forms: rf".{{1,{LONGEST}}}?")

    @cached_property
    def _strict(self) -> re.Pattern[str]:
        return self._compile(lambda forms: forms.pattern)

    def _compile(self, expression: Callable[[CommunityForms], str]) -> re.Pattern[str]:
        groups: dict[str, str] = {}
        parts, end = [], 0
        for place in SLOT.finditer(self.text):
            parts.append(re.escape(self.text[end : place.start()]))
            parts.append(self._group(place, groups, expression))
            end = place.end()
        return re.compile("".join([*parts, re.escape(self.text[end:])]), re.DOTALL)

    def _group(
        self, place: re.Match[str], groups: dict[str, str], expression: Callable[[CommunityForms], str]
    ) -> str:
        if place[0] in groups:
            return f"(?P={groups[place[0]]})"
        name = slot_of(place).name
        groups[place[0]] = f"{name}__{len(groups)}"
        return f"(?P<{groups[place[0]]}>{expression(self._forms[name])})"


def count_unknown(filled: dict[str, FilledSlot]) -> int:
    """Number of slots with words unknown to the catalog."""
    return sum(one.community is None for one in filled.values())


REMEMBERED = 8192
CATALOGS = 4
"""Number of catalogs whose recognisers are cached."""


@dataclass(frozen=True, slots=True)
class RecognisedTemplate:
    """A template with its slots as filled by a message, in the order of an instance's communities."""

    template: Template
    language: LanguageCatalog
    communities: Mapping[str, FilledSlot]
    repertoire: Repertoire

    @property
    def first(self) -> FilledSlot | None:
        """The community that determines a respondent's rates; None if the template has no slot."""
        return next(iter(self.communities.values()), None)


class TemplateRecogniser:
    """Finds templates of the catalog: those that generate fills, including imported libraries."""

    def __init__(self, catalog: Catalog) -> None:
        known = KnownForms(catalog)
        self._whole: dict[str, _Entry] = {}
        self._heads: dict[int, dict[str, list[_Entry]]] = defaultdict(lambda: defaultdict(list))
        for position, template in enumerate(catalog.templates):
            language = catalog.languages.get(template.language)
            if language is None:  # a template without a language cannot be asked
                continue
            for wording in wordings(template, language):
                asked = template.model_copy(update={"oracle": wording.oracle})
                self._index(
                    _Entry(asked, language, TemplatePattern(wording.text, template.language, known), position)
                )
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._find)

    @classmethod
    def of(cls, catalog: Catalog) -> TemplateRecogniser:
        """The recogniser of a catalog, shared by catalogs with the same entries, for several models or runs."""
        known = (*catalog.templates, *catalog.languages.values(), *catalog.communities.values())
        key = tuple(map(id, known))
        _, made = _SHARED.get(key) or (known, cls(catalog))
        _SHARED[key] = known, made
        if len(_SHARED) > CATALOGS:
            _SHARED.pop(next(iter(_SHARED)), None)
        return made

    def find(self, message: str) -> RecognisedTemplate | None:
        """The template of a message, or None; with known communities first, then the longest, then the first."""
        return self._remembered(message)

    def _index(self, entry: _Entry) -> None:
        if entry.shape.order:
            self._heads[len(entry.shape.head)][entry.shape.head].append(entry)
        else:
            self._whole.setdefault(entry.shape.text, entry)

    def _find(self, message: str) -> RecognisedTemplate | None:
        text = message.strip()
        if text in self._whole:
            return self._whole[text].recognise({})
        filled = [(entry, entry.shape.fill(text)) for entry in self._candidates(text)]
        matches = [(entry, slots) for entry, slots in filled if slots is not None]
        best = min(matches, key=lambda match: match[0].rank(match[1]), default=None)
        return best[0].recognise(best[1]) if best else None

    def _candidates(self, text: str) -> Iterator[_Entry]:
        for length, heads in self._heads.items():
            for entry in heads.get(text[:length], ()):
                if text.endswith(entry.shape.tail):
                    yield entry


_SHARED: dict[tuple[int, ...], tuple[tuple[object, ...], TemplateRecogniser]] = {}
"""Recognisers by the ids of their entries, which are kept alive next to them."""


class _Entry:
    """A template of the catalog, prepared for matching."""

    def __init__(
        self, template: Template, language: LanguageCatalog, shape: TemplatePattern, position: int
    ) -> None:
        self._template, self._language, self._position = template, language, position
        self._repertoire: Repertoire | None = None
        self.shape = shape

    def rank(self, filled: dict[str, FilledSlot]) -> tuple[int, int, int]:
        return count_unknown(filled), -self.shape.literal_length, self._position

    def recognise(self, filled: dict[str, FilledSlot]) -> RecognisedTemplate:
        self._repertoire = self._repertoire or Repertoire.of(self._template, self._language)
        return RecognisedTemplate(self._template, self._language, filled, self._repertoire)
