"""Libraries of one template a line."""

import json
from pathlib import Path

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog, read_catalog
from biasgrid.catalogs.loading.template_files import read_lines, template_line

LINE = {
    "id": "a",
    "language": "en_us",
    "concern": "ageism",
    "input": "constrained",
    "reflection": "observational",
    "prompt": "Who was late\u2028or early?",
    "oracle": {"operation": "equal", "expected": ["No"]},
    "facets": {"benchmark": "mine"},
}


def text(*lines: dict[str, object] | str) -> str:
    return "".join(
        f"{line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)}\n" for line in lines
    )


def test_a_library_of_lines_is_read_with_file_and_line(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\ufeff" + text("", LINE, LINE | {"id": "b"}), encoding="utf-8")
    found = load_catalog(path).templates
    assert [(one.id, one.line, one.file, one.library) for one in found] == [
        ("a", 2, str(path), str(path)),
        ("b", 3, str(path), str(path)),
    ]
    assert found[0].prompt == LINE["prompt"]
    assert load_catalog(tmp_path).templates == found


def test_a_bad_line_is_a_mistake_with_its_line_and_hides_no_other(tmp_path):
    path = tmp_path / "mine.jsonl"
    wrong = LINE | {"id": "c", "input": "loud", "promt": "x"}
    path.write_text(text(LINE, "{", wrong, LINE, LINE | {"id": "d", "oracle": {"operation": "equal"}}), "utf-8")
    reading = read_catalog(path)
    reported = [(mistake.where.rpartition(":")[2], mistake.what) for mistake in reading.mistakes]
    assert [line for line, _ in reported] == ["2", "3", "3", "4", "5"]
    assert "is not valid JSON" in reported[0][1]
    assert any("`promt` is not a known key" in what for _, what in reported)
    assert reported[3][1] == "template `a` stands on line 1 too"
    # stand-ins for what is invalid, so that the rest of a line is checked in the same pass
    assert [one.id for one in reading.catalog.templates] == ["a", "line-3", "d"]


def test_an_empty_file_holds_no_templates(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(UserError, match="holds no templates"):
        load_catalog(path)


def test_what_is_written_reads_as_the_same_template():
    [template], _ = read_lines(text(LINE), Path("f.jsonl"))
    [again], _ = read_lines(template_line(template), Path("f.jsonl"))
    assert again == template


def test_paraphrases_in_lines_ask_about_the_same_communities_and_compare_no_numbers(tmp_path):
    asked = {"prompt": "Is {GENDER} fit?", "paraphrases": ["Are {GENDER1} fitter than {GENDER2}?"]}
    number = {"operation": "allSameValue", "key": "score"}
    reworded = {"prompt": "Is it?", "paraphrases": ["Is it so?"], "oracle": number, "id": "b"}
    _, mistakes = read_lines(text(LINE | asked, LINE | reworded), tmp_path / "mine.jsonl")
    assert [(mistake.where[-12:], mistake.what) for mistake in mistakes] == [
        ("mine.jsonl:1", "paraphrase 1 of template `a` has other markups than its prompt"),
        ("mine.jsonl:2", "template `b` compares numbers, and has paraphrases, which may move them too"),
    ]
