"""Reads the shipped files, then those of the overlay, and collects all errors."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.documents import Document, parse_document, validate
from biasgrid.catalogs.loading.template_files import read_templates
from biasgrid.catalogs.loading.text_files import read_text
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.models import ModelsFile

SHIPPED = "catalogs/"
"""Prefix of the names of shipped files."""
Entry = TypeVar("Entry", bound=Frozen)
YAML_SUFFIXES = (".yaml", ".yml")


class Reader:
    """Reads files and collects errors, SHA-256 of each file, and the source of each entry and model."""

    def __init__(self, overlay: Path | None) -> None:
        shipped = Path(str(resources.files("biasgrid.catalogs")))
        self.roots = [(shipped, SHIPPED)] + ([(overlay, f"{overlay}/")] if overlay else [])
        self.hashes: dict[str, str] = {}
        self.mistakes: list[Problem] = []
        self.documents: dict[tuple[str, str], Document] = {}

    def entries(self, folder: str, kind: type[Entry]) -> dict[str, Entry]:
        """Entries of a folder by id; an overlay entry replaces the shipped one with the same id."""
        found: dict[str, Entry] = {}
        for root, label in self.roots:
            here: dict[str, Document] = {}
            for document in self._documents(root, label, folder):
                entry = self._validate(kind, document)
                if entry is None:
                    continue
                name = str(entry.id)  # type: ignore[attr-defined]
                if name in here:
                    self._twice(f"id `{name}`", document.place("id"), here[name].name)
                here[name] = self.documents[folder, name] = document
                found[name] = entry
        return found

    def models(self) -> ModelsFile:
        """Contents of models.yaml; overlay entries replace shipped ones with the same name."""
        merged = ModelsFile()
        for root, label in self.roots:
            if not (root / "models.yaml").is_file():
                continue
            for document in self._document(root / "models.yaml", f"{label}models.yaml"):
                read = self._validate(ModelsFile, document)
                if read is not None:
                    merged = ModelsFile(
                        providers=merged.providers | read.providers, models=merged.models | read.models
                    )
                    self.documents |= {("models", name): document for name in (*read.models, *read.providers)}
        return merged

    def templates(self, languages: Mapping[str, LanguageCatalog]) -> tuple[Template, ...]:
        """Templates of all languages; the overlay's replaces the shipped one with the same language and id."""
        found: dict[tuple[str, str], Template] = {}
        for root, label in self.roots:
            here: dict[tuple[str, str], Template] = {}
            for document in self._documents(root, label, "templates"):
                templates, mistakes = self._templates_of(document, languages)
                self.mistakes.extend(mistakes)
                for template in templates:
                    key = (template.language, template.id)
                    if key in here:
                        self._twice(
                            f"template `{template.id}`", f"{template.file}:{template.line}", here[key].file
                        )
                    here[key] = template
            found = {key: _without_twin(template, here) for key, template in found.items()} | here
        return tuple(found.values())

    def stray_folders(self, folders: Iterable[str]) -> Iterator[Problem]:
        """Unused folders of an overlay, such as `template`."""
        known = (*folders, "templates", "scenarios")
        for root, label in self.roots[1:]:
            for folder in sorted(path for path in root.iterdir() if path.is_dir() and path.name not in known):
                if any(folder.rglob("*.yaml")):
                    what = f"folder `{folder.name}` is no part of a catalog: nothing in it is read"
                    yield Problem(what, label + folder.name, nearest(folder.name, known))

    def _documents(self, root: Path, label: str, folder: str) -> Iterator[Document]:
        found = (path for path in (root / folder).rglob("*") if path.suffix in YAML_SUFFIXES)
        for path in sorted(found):
            yield from self._document(path, label + path.relative_to(root).as_posix())

    def _document(self, path: Path, name: str) -> Iterator[Document]:
        try:
            text = read_text(path)
            self.hashes[name] = hashlib.sha256(text.encode()).hexdigest()
            yield _shipped(text, name) if name.startswith(SHIPPED) else parse_document(text, name)
        except UserError as found:
            self.mistakes.extend(found.mistakes)

    def _templates_of(
        self, document: Document, languages: Mapping[str, LanguageCatalog]
    ) -> tuple[tuple[Template, ...], list[Problem]]:
        """Templates of a shipped file, cached per process unless an overlay changes the language's words."""
        own = [name for name in languages if not self.documents["languages", name].name.startswith(SHIPPED)]
        if own or not document.name.startswith(SHIPPED):
            return read_templates(document, languages)
        key = (document.name, document.text, tuple(languages))
        if key not in _TEMPLATES:
            _TEMPLATES[key] = read_templates(document, languages)
        return _TEMPLATES[key]

    def _validate(self, kind: type[Entry], document: Document) -> Entry | None:
        try:
            if document.name.startswith(SHIPPED):
                found: Entry = _shipped_entry(kind, document.text, document.name)
                return found
            return validate(kind, document)
        except UserError as wrong:
            self.mistakes.extend(wrong.mistakes)
            return None

    def _twice(self, what: str, where: str, first: str) -> None:
        self.mistakes.append(Problem(f"{what} stands in {first} too", where, "give each its own id"))


_TEMPLATES: dict[tuple[str, str, tuple[str, ...]], tuple[tuple[Template, ...], list[Problem]]] = {}
"""Cache of shipped template files, by name, text and known languages; read-only."""


@cache
def _shipped_entry(kind: type[Entry], text: str, name: str) -> Entry:
    """A shipped entry, validated once per process; raises as `validated` does on each call."""
    return validate(kind, _shipped(text, name))


@cache
def _shipped(text: str, name: str) -> Document:
    """A shipped document, parsed once per process (three quarters of the loading time); read-only."""
    return parse_document(text, name)


def _without_twin(template: Template, overlaid: Mapping[tuple[str, str], Template]) -> Template:
    """The template, without its twin if an overlay replaces the twin's question."""
    other = overlaid.get((template.language, template.twin or ""))
    return template.model_copy(update={"twin": None}) if other and other.twin != template.id else template
