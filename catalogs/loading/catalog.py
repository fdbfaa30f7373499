"""Loads the shipped YAML and the overlay in `BIASGRID_CATALOG` into one checked, frozen `Catalog`."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from biasgrid.catalogs.audit.identities import Identities
from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.includes import check_includes, complete_sets, included_requirements, unread_names
from biasgrid.catalogs.loading.libraries import read_library, spellings, unknown_concerns
from biasgrid.catalogs.loading.reader import Reader
from biasgrid.catalogs.loading.template_files import NO_CATALOG, unknown_rules
from biasgrid.catalogs.schema.attacks import AttackWording
from biasgrid.catalogs.schema.augmentation import Augmentation, Context
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.endpoints import NamedEndpoint
from biasgrid.catalogs.schema.entries import CommunitySet, Concern, Template
from biasgrid.catalogs.schema.interactions import InteractionWording, Protocol
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.models import (
    HTTP,
    Limits,
    ModelEntry,
    ModelsFile,
    Prices,
    Provider,
    Target,
    bases_of,
    endpoint_target,
)
from biasgrid.catalogs.schema.probes import ProbeAxis, ProbeWording
from biasgrid.catalogs.schema.requirements import Requirement, RequirementFile
from biasgrid.catalogs.schema.respondents import Controls, Respondent
from biasgrid.catalogs.schema.scenes import Domain, People, Tuning

OVERLAY = "BIASGRID_CATALOG"
OF_SCENES = ("people", "scenes", "tuning", "interaction", "protocols")
"""Folders that interactions alone need, two fifths of the reading time."""


@dataclass(frozen=True)
class Catalog:
    """All content that runs can use; its templates are those of the selected library."""

    concerns: Mapping[str, Concern]
    communities: Mapping[str, CommunitySet]
    languages: Mapping[str, LanguageCatalog]
    requirements: Mapping[str, RequirementFile]
    respondents: Mapping[str, Respondent]
    models: ModelsFile
    templates: tuple[Template, ...]
    hashes: Mapping[str, str]
    """SHA-256 of every file read, by file name."""
    library: str = "shipped"
    """`shipped`, or the absolute path of the library in use."""
    contexts: Mapping[str, Context] = field(default_factory=dict)
    augmentation: Mapping[str, Augmentation] = field(default_factory=dict)
    """By language: the prompts with which a model generates templates."""
    probes: Mapping[str, ProbeAxis] = field(default_factory=dict)
    """By axis: the groups and stereotypes of bias probes."""
    probing: Mapping[str, ProbeWording] = field(default_factory=dict)
    """By language: the wording of probe questions."""
    endpoints: Mapping[str, NamedEndpoint] = field(default_factory=dict)
    """Chatbots reached over HTTP."""
    attacks: Mapping[str, AttackWording] = field(default_factory=dict)
    """By language: the wording of red-team attacks."""
    people: Mapping[str, People] = field(default_factory=dict)
    """By axis: the people who appear in scenes."""
    scenes: Mapping[str, Domain] = field(default_factory=dict)
    """By domain."""
    tuning: Mapping[str, Tuning] = field(default_factory=dict)
    """By domain: assignments for fine-tuning models."""
    interaction: Mapping[str, InteractionWording] = field(default_factory=dict)
    """By language: the wording of agents' discussions of scenes."""
    protocols: Mapping[str, Protocol] = field(default_factory=dict)
    controls: Mapping[str, Controls] = field(default_factory=dict)
    """By language: replies of known verdict, which measure a judge."""
    identities: Mapping[str, Identities] = field(default_factory=dict)
    """By language: whom documents of audits are made to be about."""
    overlay: str = ""
    """Directory of overlay files; empty if there is none."""

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Every name of a model in lower case, mapped to its `provider/model`."""
        names = {model.lower(): model for model in self.models.models}
        return names | {
            alias.lower(): model for model, entry in self.models.models.items() for alias in entry.aliases
        }

    @cached_property
    def concern_names(self) -> dict[str, str]:
        """Every spelling of a concern in lower case, mapped to its id; includes the library's own concerns."""
        return {template.concern: template.concern for template in self.templates} | spellings(self.concerns)

    def requirements_in(self, name: str) -> tuple[Requirement, ...]:
        """Requirements of a file and of its included files; raises UserError if it does not exist."""
        if name not in self.requirements:
            raise UserError(Problem(f"requirements `{name}` are unknown", remedy=nearest(name, self.requirements)))
        return tuple(written.requirement for written in included_requirements(name, self.requirements))

    def concern(self, name: str) -> str:
        """Concern id for an id, name or alias, case-insensitive; raises UserError if it is unknown."""
        found = self.concern_names.get(name.strip().lower())
        if found is None:
            remedy = nearest(name, self.concern_names, self.concern_names)
            raise UserError(Problem(f"concern `{name}` is unknown", remedy=remedy))
        return found

    def target(self, model: str) -> Target:
        """A model with its connection settings; raises UserError if the model or its provider is unknown."""
        full = self._full_name(model)
        prefix, _, rest = full.partition("/")
        provider = self.models.providers.get(prefix)
        if provider is None or not rest:
            raise _unknown_model(model, self._similar_models(model) or _how_to_add(model))
        if provider.connector == HTTP:
            return self._endpoint(model, rest)
        entry = self._entry(model, full, provider)
        name = entry.name or rest
        if provider.connector == "simulated" and name not in self.respondents:
            known = nearest(name, self.respondents) or f"`{'`, `'.join(sorted(self.respondents))}`"
            raise _unknown_model(model, f"a simulated model is a respondent: {known}")
        address = _address(provider)
        return Target(
            model=full,
            provider=prefix,
            name=name,
            connector=provider.connector,
            base_url=address or provider.base_url,
            deployment=entry.deployment,
            api_version=provider.api_version,
            key_env=provider.key_env,
            prices=entry.prices or (Prices(input=0, output=0) if provider.connector in FREE else None),
            limits=_limits(provider, entry),
            own_limits=_own_limits(provider, entry),
            batch=provider.batch,
            tunes=provider.tunes,
            parameters=provider.parameters if entry.parameters is None else entry.parameters,
            structured=provider.structured if entry.structured is None else entry.structured,
        )

    def _full_name(self, model: str) -> str:
        """The `provider/model` of an alias, or of a respondent that is named alone."""
        if model in self.respondents:
            return f"{self._simulated}/{model}"
        return self.aliases.get(model.lower(), model)

    @cached_property
    def _simulated(self) -> str:
        """The provider of the respondents; empty if there is none."""
        return next((name for name, one in self.models.providers.items() if one.connector == "simulated"), "")

    def _similar_models(self, model: str) -> str:
        """A remedy with models of a similar name, whose provider may be missing; empty if there are none."""
        full = [*self.aliases.values(), *(f"{name}/…" for name in self.models.providers)]
        bare = {name.partition("/")[2]: name for name in self.aliases.values()}
        bare |= {name: f"{self._simulated}/{name}" for name in self.respondents}
        known = {name: name for name in full} | ({} if "/" in model else bare | dict(self.aliases))
        return f"did you mean `{bare[model]}`?" if model in bare else nearest(model, known, known)

    def _endpoint(self, model: str, name: str) -> Target:
        if name not in self.endpoints:
            how = f"describe it in `endpoints/{name}.yaml` of a directory that {OVERLAY} names"
            near = nearest(name, self.endpoints)
            raise _unknown_model(model, f"{near} Or {how}" if near else how)
        return endpoint_target(name, self.endpoints[name].bare())

    def _entry(self, given: str, model: str, provider: Provider) -> ModelEntry:
        entry = self.models.models.get(model)
        if entry is None and (bases := bases_of(model)):
            listed = next((base for base in bases if base in self.models.models), bases[-1])
            return self._entry(given, listed, provider).as_tuned()
        if entry is None and provider.models == "listed":
            prefix = model.partition("/")[0]
            near = nearest(model, [name for name in self.models.models if name.startswith(f"{prefix}/")])
            raise _unknown_model(given, " Or ".join(filter(None, (near, _how_to_add(model)))))
        return entry or ModelEntry()


FOLDERS: dict[str, type[Frozen]] = {
    folder: get_args(kind)[1]
    for folder, kind in get_type_hints(Catalog).items()
    if get_origin(kind) is Mapping and folder != "hashes"
}
"""Catalog folders with one entry per file: the mappings of `Catalog`."""
FREE = ("simulated", "replay", "transformers")
"""Connectors that run in this process: no cost and no shared concurrency slots."""
RATES = ("requests_per_minute", "tokens_per_minute")


def _address(provider: Provider) -> str:
    """Base URL that the environment names; raises UserError if it is none."""
    address = os.environ.get(provider.base_url_env, "").strip() if provider.base_url_env else ""
    if address and not _is_address(address):
        what = f"{provider.base_url_env} is `{address}`, which is no address"
        raise UserError(Problem(what, remedy="write it like `https://host/v1` or `http://host:8000/v1`"))
    return address


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in text
    except ValueError:  # of a port that is none
        return False


def _limits(provider: Provider, entry: ModelEntry) -> Limits:
    """Limits of the model, or those of its provider if the model sets none."""
    own = entry.limits.model_dump(exclude_unset=True) if entry.limits else {}
    return provider.limits.model_copy(update=own)


def _own_limits(provider: Provider, entry: ModelEntry) -> tuple[str, ...]:
    own = entry.limits.model_fields_set if entry.limits else frozenset()
    return tuple(sorted({*own, *(RATES if provider.limits_per == "model" else ())}))


def _unknown_model(model: str, remedy: str) -> UserError:
    return UserError(Problem(f"model `{model}` is unknown", remedy=remedy))


def _how_to_add(model: str) -> str:
    if not model.strip():
        return "write `provider/model`, such as `openai/gpt-4o-mini` or `simulated/fair`"
    if "://" in model:
        return f"describe the address in `endpoints/NAME.yaml` of a directory that {OVERLAY} names"
    return f"name it under `models:` as `{model}` in models.yaml of a directory that {OVERLAY} names"


@dataclass(frozen=True)
class Reading:
    """The readable part of a catalog, all errors in the rest, and the source file of each entry."""

    catalog: Catalog
    mistakes: tuple[Problem, ...]
    documents: Mapping[tuple[str, str], Document]
    """By folder and id; for models and providers by `models` and name."""
    stray: tuple[Problem, ...] = ()
    """Overlay folders that are not read."""
    unread: frozenset[str] = frozenset()
    """Names and ids of files of requirements and languages that contain errors."""


def load_catalog(
    library: str | Path = "shipped", overlay: Path | None = None, language: str | None = None
) -> Catalog:
    """The checked catalog; `language` is for tables without one in their name; raises UserError."""
    reading = read_catalog(library, overlay, language)
    if reading.mistakes:
        raise UserError(reading.mistakes)
    return reading.catalog


def read_catalog(
    library: str | Path = "shipped",
    overlay: Path | None = None,
    language: str | None = None,
    *,
    scenes: bool = True,
) -> Reading:
    """As `load_catalog`, but keeps what is readable. Raises UserError if the library or overlay does not exist."""
    named = overlay or (Path(os.environ[OVERLAY]) if os.environ.get(OVERLAY) else None)
    if named is not None and not named.is_dir():
        raise UserError(Problem(f"`{named}` is no directory", OVERLAY, "name a directory, or unset it"))
    reader = Reader(named)
    entries: dict[str, Any] = {
        folder: reader.entries(folder, kind)
        for folder, kind in FOLDERS.items()
        if scenes or folder not in OF_SCENES
    }
    entries["communities"], uncomposed = complete_sets(entries["communities"], reader.documents)
    unread = unread_names(reader.mistakes)
    spoken = {name: each for name, each in entries["languages"].items() if name not in unread}
    templates, hashes, mistakes = _templates(str(library), reader, entries["concerns"], spoken, language)
    catalog = Catalog(
        **entries,
        models=reader.models(),
        templates=templates,
        library="shipped" if library == "shipped" else str(Path(library).resolve()),
        hashes=reader.hashes | hashes,  # complete only after all files are read
        overlay=str(named or ""),
    )
    loose = [*uncomposed, *check_includes(catalog.requirements, reader.documents, unread)]
    loose += unknown_rules(catalog.controls, spoken, reader.documents)
    mistakes = [*_without_repeats([*reader.mistakes, *loose, *mistakes], unread)]
    return Reading(catalog, tuple(mistakes), reader.documents, tuple(reader.stray_folders(FOLDERS)), unread)


def _without_repeats(mistakes: Iterable[Problem], unread: Collection[str]) -> Iterator[Problem]:
    """One error for each language without a catalog, and none if the language's own file has errors."""
    seen = {NO_CATALOG.format(language) for language in unread}
    for mistake in mistakes:
        if mistake.what not in seen:
            yield mistake
        if mistake.what.endswith(NO_CATALOG.partition("{}")[2]):
            seen.add(mistake.what)


def _templates(
    library: str,
    reader: Reader,
    concerns: Mapping[str, Concern],
    languages: Mapping[str, LanguageCatalog],
    language: str | None,
) -> tuple[tuple[Template, ...], dict[str, str], list[Problem]]:
    if library == "shipped":
        found = reader.templates(languages)
        return found, {}, list(unknown_concerns(found, concerns))
    return read_library(Path(library), spellings(concerns), languages, language)
