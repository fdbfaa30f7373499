"""Reads LangBiTe's scenario JSON, in the format of its paper (section 2.3) and repository."""

import difflib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Rule
from biasgrid.catalogs.schema.requirements import ScenarioSettings

OWN_FORMATS = (".yaml", ".yml", ".jsonl")

SETTINGS = {"nTemplates": "templates", "nRetries": "retries", "temperature": "temperature", "tokens": "max_tokens"}
MODELS = ("aiModels", "llms")
SCENARIO_KEYS = {*SETTINGS, *MODELS, "useLLMEval", "timestamp", "requirements", "langbite"}
API_KEYS = {"config", "prompts"}
"""What LangBiTeForAPI takes: a scenario, and its library as a text."""


def is_scenario(value: Any) -> bool:
    """Whether a parsed file is LangBiTe's, with models and settings next to the requirements."""
    if not isinstance(value, dict) or "scenario" in value:
        return False
    return value.keys() >= API_KEYS or bool((SCENARIO_KEYS - {"requirements", "temperature"}) & value.keys())


def scenario(document: Document, judge: str | None) -> tuple[Document, tuple[str, ...]]:
    """LangBiTe's scenario in our form, and notices; `judge` is used if `useLLMEval` is set."""
    document = _without_wrapping(document)
    value: dict[str, Any] = document.value
    settings = {ours: value[theirs] for theirs, ours in SETTINGS.items() if value.get(theirs) is not None}
    models = next((key for key in MODELS if key in value), MODELS[0])
    settings["models"] = value.get(models, [])
    if "langbite" in value:
        settings["langbite"] = value["langbite"]
    notices = []
    if value.get("useLLMEval"):
        settings["judge"] = judge
        if judge is None:
            notices.append(
                "useLLMEval asks for a second opinion but no judge is named: name one in BIASGRID_JUDGE"
            )
    requirements, unknown, ignored = value.get("requirements"), {}, []
    if isinstance(requirements, list):
        requirements = [_requirement(entry) for entry in requirements]
    for key in value.keys() - SCENARIO_KEYS:
        if difflib.get_close_matches(key, SCENARIO_KEYS, cutoff=0.75):
            unknown[key] = value[key]  # a misspelt key: the schema reports it
        else:
            ignored.append(f"`{key}` is no key of LangBiTe's scenarios and is ignored")
    names: dict[Location, str] = {("scenario", ours): theirs for theirs, ours in SETTINGS.items()}
    names["scenario", "models"] = models
    lines = {own: document.lines[theirs,] for own, theirs in names.items() if (theirs,) in document.lines}
    ours = {"scenario": settings, "requirements": requirements, **unknown}
    document = replace(document, value=ours, lines={**document.lines, **lines}, names=names)
    return document, (*notices, *sorted(ignored))


def _without_wrapping(document: Document) -> Document:
    """The scenario within a file of LangBiTeForAPI, whose library is read from the same file."""
    value = document.value
    if not (value.keys() >= API_KEYS and isinstance(value["config"], dict)):
        return document
    lines = {location[1:]: line for location, line in document.lines.items() if location[:1] == ("config",)}
    return replace(document, value=value["config"], lines=lines)


STRICT = (
    "LangBiTe's own prompts, and its verdicts next to ours (`langbite: strict`); temperature and tokens are sent, "
    'which LangBiTe never does; for our framing write `"langbite": "adapted"` into the scenario: '
    "docs/guides/langbite.md"
)


def with_default(document: Document, templates: Iterable[Template]) -> tuple[Document, tuple[str, ...]]:
    """The scenario, strict unless it names another way where its library is a table of LangBiTe's."""
    settings = document.value.get("scenario")
    is_table = all(Path(template.file).suffix not in OWN_FORMATS for template in templates)
    if not isinstance(settings, dict) or "langbite" in settings or not is_table:
        return document, ()
    value = document.value | {"scenario": settings | {"langbite": "strict"}}
    return replace(document, value=value), (STRICT,)


def with_reading(catalog: Catalog, settings: ScenarioSettings) -> Catalog:
    """The catalog with its templates in LangBiTe's words, or read by its rule, if the scenario asks for it."""
    is_strict = settings.langbite == "strict"
    reading: Rule = "both" if is_strict and settings.reading == "meaning" else settings.reading
    if reading == "meaning":
        return catalog
    return replace(
        catalog,
        templates=tuple(
            template.model_copy(
                update={"oracle": template.oracle.model_copy(update={"reading": reading}), "is_strict": is_strict}
            )
            for template in catalog.templates
        ),
    )


def _requirement(value: Any) -> Any:
    """A requirement in our form, from lists of {language, entries} and inputs and reflections in any case."""
    if not isinstance(value, dict):
        return value
    converted = dict(value)
    communities = converted.get("communities")
    if isinstance(communities, list) and all(
        isinstance(entry, dict) and "language" in entry for entry in communities
    ):
        converted["communities"] = {entry["language"]: entry.get("entries", []) for entry in communities}
    for key in ("inputs", "reflections"):
        if isinstance(converted.get(key), list):
            converted[key] = [entry.lower() if isinstance(entry, str) else entry for entry in converted[key]]
    return converted
