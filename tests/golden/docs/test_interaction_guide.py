"""The files and queries of the guide to interactions are ones that run."""

import re

import pytest
from jsonschema import Draft202012Validator

from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.scenario.editor_schemas import json_schema
from biasgrid.catalogs.scenario.interaction import resolve_interaction
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from support.paths import ROOT

GUIDE = (ROOT / "docs" / "guides" / "interaction.md").read_text(encoding="utf-8")
FILES = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
QUERIES = re.findall(r"```sql\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("text", FILES, ids=["all kinds", "a tuned model"])
def test_an_example_is_an_interaction_file(text, tmp_path):
    value = parse_document(text, "agents.yaml").value
    assert list(Draft202012Validator(json_schema("interaction")).iter_errors(value)) == []


def test_the_first_example_names_what_the_catalog_has(tmp_path):
    path = tmp_path / "agents.yaml"
    path.write_text(FILES[0], encoding="utf-8")
    resolved = resolve_interaction(path)
    assert {domain.id for domain, _ in resolved.scenes} == {"office", "hospital", "family"}
    assert list(resolved.players) == ["simulated/conforming", "simulated/fair", "cast/mixed"]


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_has_an_answer(talked, sql):
    assert query(Lake(talked.data), sql).height
