"""The one loader: shipped YAML, overlaid by the directory `BIASGRID_CATALOG`, checked into a frozen `Catalog`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TypeVar

from catalogs.documents import Document, parse_document, read_text, validated
from catalogs.libraries import read_library, read_templates
from catalogs.mistakes import Mistake, UserMistake, nearest
from catalogs.schema import (
    CommunitySet,
    Concern,
    Frozen,
    LanguageCatalog,
    ModelEntry,
    ModelsFile,
    Prices,
    RequirementFile,
    Respondent,
    Target,
    Template,
)

OVERLAY = "BIASGRID_CATALOG"
Entry = TypeVar("Entry", bound=Frozen)


@dataclass(frozen=True)
class Catalog:
    """Everything a run can ask, of whom. Its templates are those of the library in use."""

    concerns: Mapping[str, Concern]
    communities: Mapping[str, CommunitySet]
    languages: Mapping[str, LanguageCatalog]
    requirements: Mapping[str, RequirementFile]
    respondents: Mapping[str, Respondent]
    models: ModelsFile
    templates: tuple[Template, ...]
    hashes: Mapping[str, str]
    """SHA-256 of every file read, by its name."""
    library: str = "shipped"
    """`shipped`, or the absolute path of the library in use."""

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Every name of a model, lower case, to its `provider/model`."""
        names = {model.lower(): model for model in self.models.models}
        return names | {
            alias.lower(): model for model, entry in self.models.models.items() for alias in entry.aliases
        }

    @cached_property
    def concern_names(self) -> dict[str, str]:
        """Every spelling of a concern, lower case, to its id; a library's own concerns among them."""
        names = {template.concern: template.concern for template in self.templates}
        for concern in self.concerns.values():
            names |= {name.lower(): concern.id for name in (concern.id, concern.name, *concern.aliases)}
        return names

    def concern(self, name: str) -> str:
        """The id of a concern by id, name or alias, without regard to case. Raises UserMistake."""
        found = self.concern_names.get(name.strip().lower())
        if found is None:
            raise UserMistake(Mistake(f"concern `{name}` is unknown", remedy=nearest(name, self.concern_names)))
        return found

    def target(self, model: str) -> Target:
        """A model with what is needed to reach it. Raises UserMistake where it, or its provider, is unknown."""
        full = self.aliases.get(model.lower(), model)
        prefix, _, rest = full.partition("/")
        provider = self.models.providers.get(prefix)
        if provider is None or not rest:
            known = [*self.aliases.values(), *(f"{name}/…" for name in self.models.providers)]
            raise UserMistake(
                Mistake(f"model `{model}` is unknown", remedy=nearest(model, known) or _how_to_add(model))
            )
        entry = self.models.models.get(full)
        if entry is None:
            if provider.models == "listed":
                near = nearest(full, [name for name in self.models.models if name.startswith(prefix)])
                raise UserMistake(Mistake(f"model `{model}` is unknown", remedy=f"{near}; or {_how_to_add(full)}"))
            entry = ModelEntry()
        address = os.environ.get(provider.base_url_env, "") if provider.base_url_env else ""
        return Target(
            model=full,
            provider=prefix,
            name=entry.name or rest,
            connector=provider.connector,
            base_url=address or provider.base_url,
            deployment=entry.deployment,
            api_version=provider.api_version,
            key_env=provider.key_env,
            prices=entry.prices or (Prices(input=0, output=0) if provider.connector in FREE else None),
            limits=entry.limits or provider.limits,
            parameters=entry.parameters,
        )


FREE = ("simulated", "replay")


def _how_to_add(model: str) -> str:
    return f"name it under `models:` as `{model}` in models.yaml of a directory that {OVERLAY} names"


def load_catalog(
    library: str | Path = "shipped", overlay: Path | None = None, language: str | None = None
) -> Catalog:
    """Read and check every file. `library` is `shipped` or a path of templates in our format or LangBiTe's;
    `language` is what a file is in whose name does not say. Raises UserMistake with all mistakes found."""
    named = overlay or (Path(os.environ[OVERLAY]) if os.environ.get(OVERLAY) else None)
    if named is not None and not named.is_dir():
        raise UserMistake(Mistake(f"`{named}` is no directory", OVERLAY, "name a directory, or unset it"))
    return _load(str(library), named, language)


def _load(library: str, overlay: Path | None, language: str | None) -> Catalog:
    reader = _Reader(overlay)
    concerns = reader.entries("concerns", Concern)
    communities = reader.entries("communities", CommunitySet)
    languages = reader.entries("languages", LanguageCatalog)
    requirements = reader.entries("requirements", RequirementFile)
    respondents = reader.entries("respondents", Respondent)
    models = reader.models()
    if library == "shipped":
        templates = reader.templates()
        hashes: dict[str, str] = {}
    else:
        aliases = {n.lower(): c.id for c in concerns.values() for n in (c.id, c.name, *c.aliases)}
        templates, hashes, mistakes = read_library(Path(library), aliases, language)
        reader.mistakes.extend(mistakes)
    if reader.mistakes:
        raise UserMistake(reader.mistakes)
    return Catalog(
        concerns,
        communities,
        languages,
        requirements,
        respondents,
        models,
        templates,
        reader.hashes | hashes,
        library if library == "shipped" else str(Path(library).resolve()),
    )


class _Reader:
    """Reads the shipped files, then the overlay's, and collects every mistake on the way."""

    def __init__(self, overlay: Path | None) -> None:
        shipped = Path(str(resources.files("catalogs")))
        self.roots = [(shipped, "catalogs/")] + ([(overlay, f"{overlay}/")] if overlay else [])
        self.hashes: dict[str, str] = {}
        self.mistakes: list[Mistake] = []

    def documents(self, folder: str) -> Iterator[Document]:
        for root, label in self.roots:
            for path in sorted((root / folder).rglob("*.yaml")) if (root / folder).is_dir() else ():
                yield from self._document(path, label + path.relative_to(root).as_posix())

    def _document(self, path: Path, name: str) -> Iterator[Document]:
        try:
            text = read_text(path)
            self.hashes[name] = hashlib.sha256(text.encode()).hexdigest()
            yield parse_document(text, name)
        except UserMistake as found:
            self.mistakes.extend(found.mistakes)

    def entries(self, folder: str, kind: type[Entry]) -> dict[str, Entry]:
        """The entries of a folder by id; an overlay's replaces the shipped one of the same id."""
        found: dict[str, Entry] = {}
        for document in self.documents(folder):
            try:
                entry = validated(kind, document)
                found[str(entry.id)] = entry  # type: ignore[attr-defined]
            except UserMistake as wrong:
                self.mistakes.extend(wrong.mistakes)
        return found

    def models(self) -> ModelsFile:
        merged = ModelsFile()
        for root, label in self.roots:
            if not (root / "models.yaml").is_file():
                continue
            for document in self._document(root / "models.yaml", f"{label}models.yaml"):
                try:
                    read = validated(ModelsFile, document)
                    merged = ModelsFile(
                        providers=merged.providers | read.providers, models=merged.models | read.models
                    )
                except UserMistake as wrong:
                    self.mistakes.extend(wrong.mistakes)
        return merged

    def templates(self) -> tuple[Template, ...]:
        found: dict[tuple[str, str], Template] = {}
        for document in self.documents("templates"):
            try:
                read = read_templates(document)
            except UserMistake as wrong:
                self.mistakes.extend(wrong.mistakes)
                continue
            found |= {(template.language, template.id): template for template in read}
        return tuple(found.values())
