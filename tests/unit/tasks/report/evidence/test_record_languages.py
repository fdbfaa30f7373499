"""The record has each language of the pages, with the same content."""

import json
import re
import zipfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from biasgrid.flows.results.report import write_report
from biasgrid.tasks.report.evidence.verify import verify
from biasgrid.tasks.report.evidence.write import write_evidence
from biasgrid.tasks.report.languages import LANGUAGES, words
from biasgrid.warehouse.storage.lake import Lake

BLANK = re.compile(r"\{\w+\}")
PAGES = ("record.html", "coverage.md", "coverage.json")
CELL = re.compile(r"<td[^>]*><bdi>(.*?)</bdi></td>")
TAG = re.compile(r"<style>.*?</style>|<[^>]+>", re.DOTALL)


def texts_of(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name).decode() for name in (*PAGES, "manifest.json")}


def record_text(page: str) -> str:
    """What a reader sees of a page, on one line."""
    return " ".join(unescape(TAG.sub(" ", page)).replace("\\", "").split())


def left_over(page: str) -> set[str]:
    """Of the English texts of two words and more, those that stand on a page in Spanish."""
    english, own, seen = words("record", "en_us"), words("record", "es_es"), record_text(page)
    parts = {part.strip() for key, text in english.items() if text != own[key] for part in BLANK.split(text)}
    return {part for part in parts if re.search(r"\w\w \w\w", part) and part in seen}


def numbers(page: str) -> list[list[str]]:
    """Of every cell of a run's tables, as English writes them."""
    signs = str.maketrans({",": ".", ".": ",", "\u00a0": None})
    spanish = '<html lang="es">' in page
    cells = (cell.translate(signs) if spanish else cell for cell in CELL.findall(page.partition('id="limits"')[0]))
    return [found for cell in cells if (found := re.findall(r"[+−]?\d(?:[\d,.]*\d)?%?", cell))]


@pytest.fixture(scope="session")
def spanish(landed: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = write_evidence(landed, "R1", tmp_path_factory.mktemp("spanish"), language="es_es")
    return path


def test_the_record_is_in_spanish_with_the_numbers_of_the_english_one(written, spanish):
    own, english = texts_of(spanish), texts_of(written)
    for page in ("record.html", "coverage.md"):
        assert left_over(english[page])
        assert left_over(own[page]) == set()
    assert numbers(own["record.html"]) == numbers(english["record.html"])
    assert "artículo 10, apartado 2, letras f) y g)" in own["record.html"]
    assert "MEASURE 2.11" in own["record.html"]
    assert "No constituyen una auditoría de sesgos a efectos de la Ley Local 144" in own["record.html"]


def test_for_programs_names_are_the_same_and_only_what_people_read_is_in_the_language(written, spanish):
    own, english = (json.loads(texts_of(path)["coverage.json"]) for path in (spanish, written))
    for content in (own, english):
        for name in ("language", "limits", "points"):
            content.pop(name)
        content["selection"].pop("note")
        content["cells"] = [{**cell, "reason": bool(cell["reason"])} for cell in content["cells"]]
    assert own == english


def test_the_language_is_part_of_the_manifest_and_the_bundle_the_same_bytes_again(
    landed, written, spanish, tmp_path
):
    assert json.loads(texts_of(spanish)["manifest.json"])["language"] == "es_es"
    assert json.loads(texts_of(written)["manifest.json"])["language"] == "en_us"
    assert verify(spanish).is_intact
    (again,) = write_evidence(landed, "R1", tmp_path, language="es_es")
    assert (again.name, again.read_bytes()) == ("R1.es_es.evidence.zip", spanish.read_bytes())


@pytest.mark.drill
@pytest.mark.parametrize("kind", ["probed", "attacked", "talked"])
def test_bundles_of_other_kinds_are_in_spanish_with_the_same_numbers(kind, request, tmp_path):
    run: Any = request.getfixturevalue(kind)
    content = {}
    for language in LANGUAGES:
        (path,) = write_report(run.run_id, "evidence", tmp_path, run.data, language=language)
        content[language] = texts_of(path)
    assert left_over(content["es_es"]["record.html"]) == left_over(content["es_es"]["coverage.md"]) == set()
    assert sorted(numbers(content["es_es"]["record.html"])) == sorted(numbers(content["en_us"]["record.html"]))
    with zipfile.ZipFile(path) as opened:
        assert '<html lang="es">' in opened.read("report/report.html").decode()
