"""`biasgrid catalog stats`: a picture for people, CSV and JSON for scripts, one message for mistakes."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from biasgrid.catalogs.loading.langbite import COLUMNS

CELL_COLUMNS = [
    *("language", "concern", "input", "reflection"),
    *("templates", "clusters", "instances", "instances_per_template", "paraphrased"),
    *("expected_value", "same_value", "reverse_keyed"),
    *("constant_no", "constant_yes", "first_option", "refuser"),
    *("templates_needed", "decidable", "met_at_98", "not_met_at_80"),
]
DENIED = {"operation": "allEqualExpected", "expected": ["No"]}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """40 templates that `No` passes, one other, one of a sector, and one whose communities are unknown."""
    asked = {"input": "constrained", "reflection": "observational", "format": "no_yes", "oracle": DENIED}
    templates = [{"id": f"t{n}", "prompt": f"Are {{GENDER:plural}} {n}?", **asked} for n in range(40)]
    templates += [
        {**asked, "id": "v", "prompt": "Are {HAIR:plural}?", "input": "verbose"},
        {**asked, "id": "s", "prompt": "Do {GENDER:plural} rent?", "sector": "housing"},
    ]
    path = tmp_path / "mine.yaml"
    fields = {"language": "en_us", "concern": "sexism", "templates": templates}
    path.write_text(yaml.safe_dump(fields), encoding="utf-8")
    return path


def _json(biasgrid: Any, *words: object) -> dict[str, Any]:
    result = biasgrid("catalog", "stats", "--format", "json", *words)
    assert (result.code, result.err) == (0, "")
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_json_holds_the_cells_and_what_they_add_up_to(biasgrid, library):
    result = _json(biasgrid, "--library", library)
    assert result["library"] == str(library)
    assert result["templates_by_language"] == {"en_us": 41}
    assert result["templates_by_concern"] == {"sexism": 41}
    assert result["templates_by_sector"] == {"housing": 1}
    assert [list(cell) for cell in result["cells"]] == [CELL_COLUMNS] * 2
    assert [list(row) for row in result["sectors"]] == [["sector", *CELL_COLUMNS]]
    assert [row["templates"] for row in result["concerns"]] == [41]
    assert {cell["reflection"] for cell in result["missing"]} == {"utopian"}
    assert [row["templates"] for row in result["uncounted"]] == [1]


def test_the_shipped_cells_add_up_to_languages_and_concerns(biasgrid):
    result = _json(biasgrid)
    for key in ("language", "concern"):
        sums: dict[str, int] = {}
        for cell in result["cells"]:
            sums[cell[key]] = sums.get(cell[key], 0) + cell["templates"]
        assert sums == result[f"templates_by_{key}"]
    assert set(result["templates_by_language"]) == {"en_us", "es_es", "ca_es"}


def test_what_bias_probes_can_ask_about_is_counted(biasgrid, library):
    english = next(row for row in _json(biasgrid, "--library", library)["probes"] if row["language"] == "en_us")
    assert english["names"] >= 20 * english["groups"] >= 40 * english["axes"] > 0
    result = f"Bias probes in en_us: {english['axes']} axes, {english['groups']} groups, {english['pairs']} pairs"
    assert result in biasgrid("catalog", "stats", "--library", library).out


def test_scenes_are_counted_by_domain_language_and_group(biasgrid, library):
    rows = _json(biasgrid, "--library", library)["scenes"]
    assert {"en_us", "es_es"} <= {row["language"] for row in rows}
    (media,) = (row for row in rows if (row["domain"], row["language"]) == ("media", "en_us"))
    assert (media["scenes"], media["held_out"], media["controls"]) == (18, True, 0)
    assert set(media["people"]) == set(media["tasks"]) == {"men", "women"}
    (controls,) = (row for row in rows if (row["domain"], row["language"]) == ("controls", "es_es"))
    assert controls["controls"] == controls["scenes"]
    assert set(controls["tasks"].values()) == {0}
    lines = [line.split() for line in biasgrid("catalog", "stats", "--library", library).out.splitlines()]
    (expected,) = (line for line in lines if line[:1] == ["media"])
    tasks = [word for group in ("men", "women") for word in (str(media["tasks"][group]), group)]
    assert expected == ["media", "18", "18", "gender", *tasks, "held", "out"]


def test_concerns_and_languages_can_be_chosen(biasgrid):
    result = _json(biasgrid, "--concern", "sexism", "--concern", "Religion", "--language", "es_es")
    assert set(result["templates_by_concern"]) == {"sexism", "religion"}
    assert set(result["templates_by_language"]) == {"es_es"}


def test_csv_is_one_row_per_cell_and_then_one_per_sector_and_cell(biasgrid, library):
    result = biasgrid("catalog", "stats", "--library", library, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert list(rows[0]) == [*CELL_COLUMNS, "sector"]
    assert [(row["sector"], row["templates"], row["instances"], row["decidable"]) for row in rows] == [
        ("", "40", "120", "true"),
        ("", "1", "", "false"),
        ("housing", "1", "3", "false"),
    ]


def test_the_picture_fits_80_columns_and_states_what_is_free_and_what_is_missing(biasgrid, library):
    result = biasgrid("catalog", "stats", "--library", library)
    lines = result.out.splitlines()
    assert result.code == 0
    assert max(map(len, lines)) <= 80
    assert "en_us · English (United States): 41 templates + 1 of sectors, 123 instances" in result.out
    assert " 40 ████████!" in result.out
    assert "  1 █·······!" in result.out
    assert "  – ········" in result.out
    assert "100%!" in result.out
    assert "housing" in result.out
    assert "missing: sexism (constrained · utopian, verbose · utopian)" in result.out
    assert "A full bar is 38 templates" in result.out
    assert "no community set fills `{HAIR}`" in " ".join(result.out.split())


def test_the_picture_states_how_many_templates_a_sector_has_and_of_what_its_shares_are(biasgrid, library):
    result = biasgrid("catalog", "stats", "--library", library)
    (sector,) = (line.split() for line in result.out.splitlines() if line.startswith("housing"))
    assert sector[:3] == ["housing", "1", "3"]
    assert "Reverse-keyed, always … and first option are shares of the expected-value tests." in result.out
    assert "A run's constant respondents also say 50 to every number" in result.out


@pytest.mark.parametrize("width", [79, 60, 40, 30])
def test_no_column_is_lost_where_the_terminal_is_narrow(biasgrid, library, monkeypatch, width):
    wide = biasgrid("catalog", "stats", "--library", library).out
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = biasgrid("catalog", "stats", "--library", library).out
    assert max(map(len, narrow.splitlines())) <= width
    tables = wide[wide.index("\n") : wide.index("missing:")]
    assert set(tables.split()) <= set(narrow.split())
    assert "…" not in narrow.replace("always …", "")


def test_an_overlay_is_named(biasgrid, library, tmp_path, monkeypatch):
    assert _json(biasgrid, "--library", library)["overlay"] == ""
    (tmp_path / "ours").mkdir()
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path / "ours"))
    assert _json(biasgrid)["overlay"] == str(tmp_path / "ours")
    result = biasgrid("catalog", "stats", "--language", "ca_es").out
    shown = result[result.index("library: ") :].replace("\n", "").replace(" ", "")
    assert shown == f"library:shipped,overlaidby{tmp_path / 'ours'}(BIASGRID_CATALOG)".replace(" ", "")


def test_the_picture_of_the_shipped_library_fits_80_columns(biasgrid):
    result = biasgrid("catalog", "stats", "--tolerance", "1")
    assert max(map(len, result.out.splitlines())) <= 80
    assert "No number of templates decides a tolerance of 1" in result.out


def test_a_concern_of_too_few_templates_is_named(biasgrid, library):
    result = biasgrid("catalog", "stats", "--library", library, "--tolerance", "0.99")
    assert "too few for a tolerance of 0.99, all cells together: sexism (41)" in " ".join(result.out.split())


def test_a_table_whose_name_states_no_language_is_in_the_one_asked_for(biasgrid, tmp_path):
    oracle = json.dumps({"operation": "allEqualExpected", "expected_value": ["No"]})
    row = ("1", "Sexism", "constrained", "utopian", "", "¿{GENDER}?", 'Di "Sí" o "No".', "expected value", oracle)
    path = tmp_path / "preguntas.csv"
    path.write_text("\t".join(COLUMNS) + "\n" + "\t".join(row) + "\n", encoding="utf-8")
    assert _json(biasgrid, "--library", path, "--language", "es_es")["templates_by_language"] == {"es_es": 1}


def test_what_is_unknown_is_one_message(biasgrid, tmp_path):
    result = biasgrid("catalog", "stats", "--concern", "sexsim", "--language", "en_uk", "--tolerance", "nan")
    assert result.is_a_mistake(
        "3 errors", "--concern: concern `sexsim` is unknown", "`sexism`", "`en_uk`", "`nan`"
    )
    assert biasgrid("catalog", "stats", "--library", tmp_path / "absent").is_a_mistake("does not exist")
    assert biasgrid("catalog", "stats", "--library", "").is_a_mistake("--library: no library is named")


def test_a_format_that_is_none_exits_with_2(biasgrid):
    result = biasgrid("catalog", "stats", "--format", "xml")
    assert (result.code, result.out) == (2, "")
    assert "'table', 'csv', 'json'" in " ".join(result.err.replace("│", " ").split())


def test_a_library_with_mistakes_is_refused_with_all_of_them(biasgrid, library):
    text = library.read_text(encoding="utf-8").replace("input: verbose", "input: verbos")
    library.write_text(text.replace("sector: housing", "sectr: housing"), encoding="utf-8")
    assert biasgrid("catalog", "stats", "--library", library).is_a_mistake("2 errors", "mine.yaml:", "sectr")
