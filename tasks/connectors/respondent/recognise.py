"""From a message back to the template behind it and the communities in its slots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from catalogs.catalog import Catalog
from catalogs.schema import LanguageCatalog, Template
from catalogs.wording import wordings
from tasks.connectors.respondent.forms import Filled, KnownForms
from tasks.connectors.respondent.repertoire import Repertoire
from tasks.connectors.respondent.shape import Shape, unknown

REMEMBERED = 8192
CATALOGS = 4
"""For which recognisers are kept."""


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


class Recogniser:
    """Finds templates of the catalog in use: those that generate fills, imported libraries included."""

    def __init__(self, catalog: Catalog) -> None:
        known = KnownForms(catalog)
        self._whole: dict[str, _Entry] = {}
        self._heads: dict[int, dict[str, list[_Entry]]] = defaultdict(lambda: defaultdict(list))
        for position, template in enumerate(catalog.templates):
            language = catalog.languages.get(template.language)
            if language is None:  # what cannot be framed cannot be asked either
                continue
            for wording in wordings(template, language):
                asked = template.model_copy(update={"oracle": wording.oracle})
                self._index(_Entry(asked, language, Shape(wording.text, template.language, known), position))
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._find)

    @classmethod
    def of(cls, catalog: Catalog) -> Recogniser:
        """The same one for catalogs of the same entries: several models of a run, or several runs, share it."""
        known = (*catalog.templates, *catalog.languages.values(), *catalog.communities.values())
        key = tuple(map(id, known))
        _, made = _MADE.get(key) or (known, cls(catalog))
        _MADE[key] = known, made
        if len(_MADE) > CATALOGS:
            _MADE.pop(next(iter(_MADE)), None)
        return made

    def find(self, message: str) -> Recognised | None:
        """The template behind a message, or None: of several, the one whose slots hold known communities,
        then the one with the most text of its own, then the first of the library."""
        return self._remembered(message)

    def _index(self, entry: _Entry) -> None:
        if entry.shape.order:
            self._heads[len(entry.shape.head)][entry.shape.head].append(entry)
        else:
            self._whole.setdefault(entry.shape.text, entry)

    def _find(self, message: str) -> Recognised | None:
        text = message.strip()
        if text in self._whole:
            return self._whole[text].recognised({})
        filled = [(entry, entry.shape.fill(text)) for entry in self._candidates(text)]
        matches = [(entry, slots) for entry, slots in filled if slots is not None]
        best = min(matches, key=lambda match: match[0].rank(match[1]), default=None)
        return best[0].recognised(best[1]) if best else None

    def _candidates(self, text: str) -> Iterator[_Entry]:
        for length, heads in self._heads.items():
            for entry in heads.get(text[:length], ()):
                if text.endswith(entry.shape.tail):
                    yield entry


_MADE: dict[tuple[int, ...], tuple[tuple[object, ...], Recogniser]] = {}
"""By the identity of all entries that they go by, which stay as long as they do."""


class _Entry:
    """A template of the catalog, ready to be found."""

    def __init__(self, template: Template, language: LanguageCatalog, shape: Shape, position: int) -> None:
        self._template, self._language, self._position = template, language, position
        self.shape = shape

    def rank(self, filled: dict[str, Filled]) -> tuple[int, int, int]:
        return unknown(filled), -self.shape.literal_length, self._position

    def recognised(self, filled: dict[str, Filled]) -> Recognised:
        return Recognised(self._template, self._language, filled, self._repertoire)

    @cached_property
    def _repertoire(self) -> Repertoire:
        return Repertoire.of(self._template, self._language)
