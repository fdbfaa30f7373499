"""JSON Schemas of every file a person writes, from the types that check it: editors complete with them.

`python -m catalogs.editor_schemas` writes them to `catalogs/json_schemas/`. A YAML file asks for one in its first
line: `# yaml-language-server: $schema=<path>/scenario.json`.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from catalogs.attacks import AttackWording
from catalogs.augmentation import Augmentation
from catalogs.contexts import Context
from catalogs.endpoints import NamedEndpoint
from catalogs.interaction_file import InteractionFile
from catalogs.interactions import InteractionWording, Protocol
from catalogs.models import ModelsFile
from catalogs.people import People
from catalogs.probes import ProbeAxis, ProbeWording
from catalogs.respondents import Respondent
from catalogs.scenes import Domain
from catalogs.schema import (
    CommunitySet,
    Concern,
    LanguageCatalog,
    RequirementFile,
    Scenario,
    TemplateEntry,
    TemplateFile,
)
from catalogs.target_file import TargetFile
from catalogs.tuning import Tuning

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _TemplatesAsWritten(TemplateFile):
    templates: tuple[TemplateEntry, ...]  # type: ignore[assignment]


SCHEMAS: dict[str, type[BaseModel]] = {
    "scenario": Scenario,
    "requirements": RequirementFile,
    "templates": _TemplatesAsWritten,
    "concern": Concern,
    "communities": CommunitySet,
    "language": LanguageCatalog,
    "models": ModelsFile,
    "respondent": Respondent,
    "context": Context,
    "augmentation": Augmentation,
    "probe": ProbeAxis,
    "probing": ProbeWording,
    "endpoint": NamedEndpoint,
    "attacks": AttackWording,
    "target": TargetFile,
    "people": People,
    "scenes": Domain,
    "tuning": Tuning,
    "interaction_wording": InteractionWording,
    "interaction": InteractionFile,
    "protocol": Protocol,
}
"""By the name of the file that holds the schema."""


class _AsWritten(GenerateJsonSchema):
    """A file's values before they are checked: a number may stand where text is meant, such as an age."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        told = super().str_schema(schema)
        return told if "pattern" in told else told | {"type": ["string", "number"]}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, by its name in SCHEMAS."""
    told = SCHEMAS[name].model_json_schema(schema_generator=_AsWritten)
    return {"$schema": DIALECT, **told, "title": f"biasgrid {name}"}


def as_text(name: str) -> str:
    """A schema as its file holds it."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def write(folder: Path) -> list[Path]:
    """Write every schema; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.json" for name in SCHEMAS]
    for path in paths:
        path.write_text(as_text(path.stem), encoding="utf-8")
    return paths


def main() -> None:
    """Write them where they are committed."""
    for path in write(Path(str(resources.files("catalogs") / "json_schemas"))):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
