"""Reads LangBiTe's scenario JSON, in the format of its paper (section 2.3) and repository."""

import difflib
from dataclasses import replace
from typing import Any

from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.pydantic_errors import Location

SETTINGS = {"nTemplates": "templates", "nRetries": "retries", "temperature": "temperature", "tokens": "max_tokens"}
MODELS = ("aiModels", "llms")
SCENARIO_KEYS = {*SETTINGS, *MODELS, "useLLMEval", "timestamp", "requirements"}


def is_scenario(value: Any) -> bool:
    """Whether a parsed file is LangBiTe's, with models and settings next to the requirements."""
    if not isinstance(value, dict) or "scenario" in value:
        return False
    return bool((SCENARIO_KEYS - {"requirements", "temperature"}) & value.keys())


def scenario(document: Document, judge: str | None) -> tuple[Document, tuple[str, ...]]:
    """LangBiTe's scenario in our form, and notices; `judge` is used if `useLLMEval` is set."""
    value: dict[str, Any] = document.value
    settings = {ours: value[theirs] for theirs, ours in SETTINGS.items() if value.get(theirs) is not None}
    models = next((key for key in MODELS if key in value), MODELS[0])
    settings["models"] = value.get(models, [])
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
