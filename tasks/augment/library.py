"""The libraries that accepted entries go into: what they hold, their catalog check and their files."""

from __future__ import annotations

import re
import shutil
import tempfile
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.lint.check import lint
from biasgrid.catalogs.lint.rules.scene_rules import SCENE_RULE
from biasgrid.catalogs.lint.subject import Finding, Subject
from biasgrid.catalogs.loading.catalog import Catalog, read_catalog
from biasgrid.catalogs.loading.documents import Document, parse_document, validate
from biasgrid.catalogs.loading.template_files import read_templates
from biasgrid.catalogs.loading.text_files import read_text
from biasgrid.catalogs.schema.entries import Template, TemplateEntry
from biasgrid.catalogs.schema.scenes import Domain, Scene
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.catalogs.wording import SLOT
from biasgrid.tasks.augment.order import Order, SceneOrder
from biasgrid.tasks.augment.yaml_text import append_entries, comment, dump, list_entries

ACCEPTED = "-accepted"
"""Suffix of files and domains of accepted entries; the same name would hide the shipped domain."""
CANDIDATES = "candidates"
NEAR = 0.8
"""Smallest Jaccard similarity of words, with their counts, of two nearly identical questions."""
FEW_WORDS = 4
HEAD = "Written by models, reviewed and accepted by people; `source` has by whom and when."
Entry = Mapping[str, Any]


@dataclass(slots=True)
class Known:
    """The wordings of existing entries, normalised."""

    exact: dict[tuple[str, ...], str] = field(default_factory=dict)
    bags: list[tuple[Counter[str], str]] = field(default_factory=list)

    def add(self, name: str, *texts: str) -> None:
        for text in texts:
            words = plain_words(text)
            self.exact.setdefault(words, name)
            self.bags.append((Counter(words), name))

    def find_same(self, *texts: str) -> str | None:
        """The entry with the same words as one of the texts, or None."""
        return next((self.exact[words] for words in map(plain_words, texts) if words in self.exact), None)

    def find_near(self, *texts: str) -> str | None:
        """The entry most similar to one of the texts, if nearly the same."""
        share, name = max((self._closest(Counter(plain_words(text))) for text in texts), default=(0.0, ""))
        return name if share >= NEAR else None

    def _closest(self, words: Counter[str]) -> tuple[float, str]:
        if words.total() < FEW_WORDS:
            return 0.0, ""
        return max(((_jaccard(words, bag), name) for bag, name in self.bags), default=(0.0, ""))


def plain_words(text: str) -> tuple[str, ...]:
    """The words of a text without case, accents of typography and punctuation; a slot is a word, of any form."""
    open_slots = SLOT.sub(lambda slot: f" slot{slot['number']} ", text)
    folded = unicodedata.normalize("NFKC", open_slots).casefold()
    return tuple(re.findall(r"\w+", folded))


def _jaccard(one: Counter[str], other: Counter[str]) -> float:
    most = max(one.total(), other.total())
    if min(one.total(), other.total()) < NEAR * most:
        return 0.0
    shared = (one & other).total()
    return shared / (one.total() + other.total() - shared)


@dataclass(frozen=True, slots=True)
class Checked:
    """Findings of the catalog check in one entry, each a line of text."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TemplateLibrary:
    """The templates of a concern in a language."""

    name: str
    """The concern."""
    language: str
    held: tuple[Template, ...]
    kind: ClassVar[str] = "template"
    schema: ClassVar[type[BaseModel]] = TemplateEntry

    def texts(self, entry: Entry) -> tuple[str, ...]:
        return (str(entry["prompt"]), *map(str, entry.get("paraphrases") or ()))

    def known_texts(self) -> Known:
        found = Known()
        for template in self.held:
            found.add(template.id, template.prompt, *template.paraphrases)
        return found

    def ids(self, catalog: Catalog) -> list[str]:
        return [template.id for template in catalog.templates]

    def path(self, overlay: Path) -> Path:
        """The file of a catalog for accepted templates."""
        return overlay / "templates" / self.language / f"{self.name}{ACCEPTED}.yaml"

    def file_text(self, entries: Sequence[Entry], head: str = HEAD, name: str = "") -> str:
        """A whole file of these entries; `head` is the text of its comment."""
        about = dump({"language": self.language, "concern": self.name})
        return f"{comment(head)}{about}\ntemplates:\n{list_entries(entries)}\n"

    def find_errors(
        self, folder: Path, entries: Sequence[Entry], overlay: Path | None
    ) -> tuple[Path, list[Finding]]:
        """A new file of the entries in a folder, and the findings of the catalog check on it."""
        path = folder / f"{CANDIDATES}.yaml"
        path.write_text(self.file_text(entries, ""), encoding="utf-8")
        return path, list(lint(path, overlay).findings)

    def refuse_unreadable(self, document: Document, catalog: Catalog) -> None:
        """Raises UserError if the file is invalid or holds other templates."""
        found, mistakes = read_templates(document, catalog.languages)
        own = (self.language, self.name)
        if mistakes or any((template.language, template.concern) != own for template in found):
            what = f"holds templates of another concern or language than `{self.name}`, `{self.language}`"
            raise UserError(mistakes or Problem(what, document.name, "move them to a file of their own"))


@dataclass(frozen=True)
class SceneLibrary:
    """The scenes of a domain in a language."""

    name: str
    """The domain."""
    language: str
    held: tuple[Scene, ...]
    """All scenes in the language."""
    held_out: bool
    kind: ClassVar[str] = "scene"
    schema: ClassVar[type[BaseModel]] = Scene

    def texts(self, entry: Entry) -> tuple[str, ...]:
        """Goal and tasks as one text, since scenes with one goal may differ in their tasks."""
        texts = [entry["goal"], *(task["text"] for task in entry["tasks"])]
        return (" ".join(next(iter(text.values())) for text in texts),)

    def known_texts(self) -> Known:
        found = Known()
        for scene in self.held:
            texts = [scene.goal, *(task.text for task in scene.tasks)]
            found.add(scene.id, " ".join(text[self.language] for text in texts))
        return found

    def ids(self, catalog: Catalog) -> list[str]:
        return [scene.id for domain in catalog.scenes.values() for scene in domain.scenes]

    def path(self, overlay: Path) -> Path:
        """The file of a catalog for accepted scenes."""
        return overlay / "scenes" / f"{self.name}{ACCEPTED}.yaml"

    def file_text(self, entries: Sequence[Entry], head: str = HEAD, name: str = "") -> str:
        """A whole file of these entries as a domain, by default of accepted scenes."""
        domain = name or f"{self.name}{ACCEPTED}"
        about: dict[str, Any] = {"id": domain, "description": f"Scenes of {domain.removesuffix(ACCEPTED)}."}
        if self.held_out:
            about["held_out"] = True
        return f"{comment(head)}{dump(about)}\nscenes:\n{list_entries(entries)}\n"

    def find_errors(
        self, folder: Path, entries: Sequence[Entry], overlay: Path | None
    ) -> tuple[Path, list[Finding]]:
        """The entries as a domain of their own over the catalog and its overlay, and the findings on them."""
        root = folder / "catalog"
        if overlay is not None:
            shutil.copytree(overlay, root)
        path = root / "scenes" / f"{CANDIDATES}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.file_text(entries, name=CANDIDATES), encoding="utf-8")
        reading = read_catalog(overlay=root)
        return path, [*(Finding("error", one) for one in reading.mistakes), *Subject(reading).apply([SCENE_RULE])]

    def refuse_unreadable(self, document: Document, catalog: Catalog) -> None:
        """Raises UserError if the file is invalid."""
        validate(Domain, document)


Library = TemplateLibrary | SceneLibrary


def library_of_order(order: Order | SceneOrder) -> Library:
    """The library that the entries of an order are compared with."""
    if isinstance(order, SceneOrder):
        return SceneLibrary(order.domain, order.language.id, order.library, order.held_out)
    return TemplateLibrary(order.concern.id, order.language.id, order.library)


def check_entries(library: Library, entries: Sequence[Entry], overlay: Path | None = None) -> tuple[Checked, ...]:
    """The findings of the catalog check in each entry, in order, without those on a file as a whole."""
    if not entries:
        return ()
    with tempfile.TemporaryDirectory(prefix="biasgrid-") as folder:
        path, found = library.find_errors(Path(folder), entries, overlay)
        return _by_entry(found, parse_document(path.read_text(encoding="utf-8"), str(path)), f"{library.kind}s")


def _by_entry(found: Iterable[Finding], document: Document, key: str) -> tuple[Checked, ...]:
    """The findings on a file by the entry of its list in which they stand."""
    count = len(document.value[key])
    starts = [document.line((key, index)) or 0 for index in range(count)]
    texts: list[dict[str, list[str]]] = [{"error": [], "warning": []} for _ in range(count)]
    own_path = re.compile(rf" ?\(?{re.escape(str(Path(document.name)))}(?::\d+)?\)?")
    for finding in found:
        file, _, line = finding.mistake.where.rpartition(":")
        index = bisect_right(starts, int(line)) - 1 if file == document.name and line.isdecimal() else -1
        if index >= 0:
            remedy = f" ({finding.mistake.remedy})" if finding.mistake.remedy else ""
            text = own_path.sub("", finding.mistake.what)
            texts[index][finding.severity].append(excerpt(f"{text}{remedy}", 600))
    return tuple(Checked(*(tuple(dict.fromkeys(each[kind])) for kind in ("error", "warning"))) for each in texts)


def with_entries(library: Library, path: Path, entries: Sequence[Entry], catalog: Catalog) -> str:
    """The file's text with the entries appended and its comments unchanged; raises UserError if they cannot be
    added."""
    text = append_entries(path, read_text(path), entries, f"{library.kind}s") if path.exists() else None
    whole = text or library.file_text(entries)
    library.refuse_unreadable(parse_document(whole, str(path)), catalog)
    return whole
