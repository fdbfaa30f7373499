"""Converts LangBiTe's template libraries and scenarios into files of our own for editing."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from biasgrid.catalogs.errors import Problem, position
from biasgrid.catalogs.importers.result import Imported, NotTheFormat, with_columns
from biasgrid.catalogs.lint.rules.placeholders import MARKUP_RULE
from biasgrid.catalogs.lint.subject import Subject
from biasgrid.catalogs.loading import langbite
from biasgrid.catalogs.loading.catalog import Reading, load_catalog
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.loading.libraries import spellings
from biasgrid.catalogs.loading.tables import read_table
from biasgrid.catalogs.scenario.langbite_scenario import API_KEYS, is_scenario, scenario
from biasgrid.catalogs.scenario.scenario import JUDGE
from biasgrid.catalogs.schema.entries import Template

PLACED: Final = {"language", "concern", "library", "file", "line"}
"""Fields written once per file, or describing the source of a template."""


def read(text: str, file: str, language: str) -> Imported:
    """Content of a library (tab-separated), a scenario (JSON) or both (JSON of LangBiTeForAPI); raises
    NotTheFormat if it is none."""
    if not text.lstrip().startswith("{"):
        return _library(text, file, language)
    asked = _scenario(text, file)
    if not parse_document(text, file, is_json=True).value.keys() >= API_KEYS:
        return asked
    table, spoken = langbite.as_table(text, file)
    held = _library(table, file, spoken or language)
    return replace(held, rows=held.rows + asked.rows, scenario=asked.scenario, notices=asked.notices)


def _library(text: str, file: str, language: str) -> Imported:
    with_columns(read_table(text, file), langbite.COLUMNS, "LangBiTe's library")
    catalog = load_catalog()
    templates, mistakes = langbite.read_library_table(text, Path(file), spellings(catalog.concerns), language)
    read = Reading(replace(catalog, templates=templates, library=file), (), {})
    unfilled = [each.mistake for each in Subject(read).apply([MARKUP_RULE]) if each.severity == "error"]
    mistakes += dict.fromkeys(unfilled)
    lines = {position(mistake) for mistake in mistakes}
    sound = tuple(template for template in templates if (template.file, template.line) not in lines)
    return Imported(file, len(sound) + len(lines), sound, refused=tuple(mistakes), lost=len(lines))


def _scenario(text: str, file: str) -> Imported:
    document = parse_document(text, file, is_json=True)
    if not is_scenario(document.value):
        remedy = "LangBiTe's scenario names `aiModels` and `requirements`"
        raise NotTheFormat(Problem("is no scenario of LangBiTe's", file, remedy))
    ours, notices = scenario(document, os.environ.get(JUDGE) or None)
    rows = len(ours.value.get("requirements") or [])
    return Imported(file, rows, scenario=ours.value, notices=notices)


def template_files(templates: tuple[Template, ...]) -> dict[str, str]:
    """Our YAML by file name, `<language>/<concern>.yaml`; reading it gives the same templates."""
    files: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for template in templates:
        entry = template.model_dump(mode="json", exclude_defaults=True, exclude=PLACED)
        files.setdefault((template.language, template.concern), []).append(entry)
    return {
        f"{language}/{concern}.yaml": as_yaml({"language": language, "concern": concern, "templates": entries})
        for (language, concern), entries in files.items()
    }


_NUMBER: Final = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$")


class _Dumper(yaml.SafeDumper):
    """Quotes texts that our loader would parse as numbers although older YAML would not."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


def as_yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)
