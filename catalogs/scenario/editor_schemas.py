"""Generates JSON Schemas of all user-written files, for completion in editors."""

# `python -m biasgrid.catalogs.scenario.editor_schemas` writes them to `catalogs/json_schemas/`. A YAML file names
# one in its first line: `# yaml-language-server: $schema=<path>/scenario.json`.

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from biasgrid.catalogs.audit.audit_file import AuditFile
from biasgrid.catalogs.loading.catalog import FOLDERS
from biasgrid.catalogs.schema.entries import TemplateEntry, TemplateFile
from biasgrid.catalogs.schema.models import ModelsFile
from biasgrid.catalogs.schema.requirements import Scenario
from biasgrid.catalogs.schema.target_file import InteractionFile, TargetFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _TemplatesAsWritten(TemplateFile):
    templates: tuple[TemplateEntry, ...]  # type: ignore[assignment]


NAMES = {
    "concerns": "concern",
    "languages": "language",
    "respondents": "respondent",
    "contexts": "context",
    "probes": "probe",
    "endpoints": "endpoint",
    "interaction": "interaction_wording",
    "protocols": "protocol",
}
"""Schemas that are not called as their folder."""
SCHEMAS: dict[str, type[BaseModel]] = {
    **{NAMES.get(folder, folder): kind for folder, kind in FOLDERS.items()},
    "scenario": Scenario,
    "templates": _TemplatesAsWritten,
    "models": ModelsFile,
    "target": TargetFile,
    "interaction": InteractionFile,
    "audit": AuditFile,
}
"""By file name of the schema."""


class _AsWritten(GenerateJsonSchema):
    """JSON Schema of values before validation: a number is accepted for text, such as an age."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        text = super().str_schema(schema)
        return text if "pattern" in text else text | {"type": ["string", "number"]}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, by its name in SCHEMAS."""
    schema = SCHEMAS[name].model_json_schema(schema_generator=_AsWritten)
    return {"$schema": DIALECT, **schema, "title": f"biasgrid {name}"}


def as_text(name: str) -> str:
    """The schema in the text form of its file."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def write(folder: Path) -> list[Path]:
    """Writes every schema and returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.json" for name in SCHEMAS]
    for path in paths:
        path.write_text(as_text(path.stem), encoding="utf-8")
    return paths


def main() -> None:
    """Writes all schemas to their committed folder."""
    for path in write(Path(str(resources.files("biasgrid.catalogs") / "json_schemas"))):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
