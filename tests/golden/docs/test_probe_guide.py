"""The target files of the guide to probes are ones that run."""

import re

import pytest
from jsonschema import Draft202012Validator

from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.scenario.editor_schemas import json_schema
from biasgrid.catalogs.scenario.targets import resolve_probe
from support.paths import ROOT

GUIDE = ROOT / "docs" / "guides" / "probe.md"
FILES = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("text", FILES, ids=["a model", "three groups", "a chatbot"])
def test_an_example_is_a_target_file(text, tmp_path):
    path = tmp_path / "acme.yaml"
    path.write_text(text, encoding="utf-8")
    assert resolve_probe(path).targets
    value = parse_document(text, "acme.yaml").value
    assert list(Draft202012Validator(json_schema("target")).iter_errors(value)) == []
