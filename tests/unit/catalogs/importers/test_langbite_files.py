"""LangBiTe's files written as ours: read again, they are the same."""

import json

import pytest

from biasgrid.catalogs.importers import langbite
from biasgrid.catalogs.importers.result import NotTheFormat
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.langbite import COLUMNS

ODD = ("No: never", "1e5", "010", "null", 'a "b" #c', "– ¿qué?", "a\\nb")
AT = {"library", "file", "line"}


def library(*values: str) -> str:
    rows = ["\t".join(COLUMNS)]
    for number, value in enumerate(values, 1):
        prediction = json.dumps({"operation": "equal", "expected_value": [value]})
        cells = (str(number), "Sexism", "constrained", "utopian", value, f"Is {{GENDER}} {value}?", value)
        rows.append("\t".join((*cells, "expected value", prediction)))
    return "\n".join(rows) + "\n"


def test_what_is_written_reads_as_the_same_templates(tmp_path):
    read = langbite.read(library(*(value.replace("\\n", "\n")[:20] for value in ODD[:-1])), "p_en_us.csv", "en_us")
    assert read.refused == ()
    for name, text in langbite.template_files(read.templates).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    again = load_catalog(tmp_path).templates
    assert [one.model_dump(exclude=AT) for one in again] == [one.model_dump(exclude=AT) for one in read.templates]


def test_a_row_that_cannot_be_read_is_refused_and_the_rest_is_kept():
    text = library("No", "Yes").replace("utopian\tYes", "dystopian\tYes")
    read = langbite.read(text, "p_en_us.csv", "en_us")
    assert (read.rows, read.lost, len(read.templates)) == (2, 1, 1)
    assert read.refused[0].where == "p_en_us.csv:3"


def test_a_scenario_becomes_our_keys():
    given = {"nTemplates": 5, "aiModels": ["OpenAIGPT4o"], "requirements": [{"name": "R", "concern": "Sexism"}]}
    read = langbite.read(json.dumps(given), "input.json", "en_us")
    assert read.scenario is not None
    assert read.scenario["scenario"] == {"templates": 5, "models": ["OpenAIGPT4o"]}


@pytest.mark.parametrize("text", ["a\tb\n", '{"a": 1}'])
def test_another_file_is_reported_at_once(text):
    with pytest.raises(NotTheFormat):
        langbite.read(text, "f", "en_us")
