"""Files with their lines: what stands in them, and what is wrong with them, all at once."""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.documents import parse_document, read_document, validate
from biasgrid.catalogs.schema.entries import Community, Concern
from biasgrid.catalogs.schema.requirements import RequirementFile, Scenario


def mistakes(document_text: str, kind: type = Scenario, *, is_json: bool = False) -> list[str]:
    with pytest.raises(UserError) as caught:
        validate(kind, parse_document(document_text, "mine", is_json=is_json))
    return [str(mistake) for mistake in caught.value.mistakes]


@pytest.mark.parametrize(
    ("written_as", "read_as"),
    [
        ("No", "No"),
        ("yes", "yes"),
        ("off", "off"),
        ("true", True),
        ("12:30", "12:30"),
        ("2024-10-21", "2024-10-21"),
        ("010", 10),
        ("09", 9),
        ("1e3", 1000.0),
        ("0x1f", "0x1f"),
        ("~", None),
    ],
)
def test_words_stay_words_and_numbers_are_decimal(written_as, read_as):
    assert parse_document(f"value: {written_as}", "mine").value == {"value": read_as}


def test_every_value_knows_its_line_in_yaml_and_json():
    in_yaml = parse_document("a: 1\nb:\n  - x\n  - y: 2\n", "mine.yaml")
    in_json = parse_document('{"a": 1,\n\t"b":\n\t["x",\n\t{"y": 2}]}', "mine.json", is_json=True)
    assert [in_yaml.line(at) for at in [("a",), ("b",), ("b", 0), ("b", 1, "y")]] == [1, 2, 3, 4]
    assert [in_json.line(at) for at in [("a",), ("b",), ("b", 0), ("b", 1, "y")]] == [1, 2, 3, 4]


def test_a_value_that_is_not_there_has_the_line_of_what_holds_it():
    document = parse_document("a: 1\nb:\n  c: 2\n", "mine")
    assert document.place("b", "missing") == "mine:2"


def test_lines_are_known_next_to_escaped_pairs_of_surrogates():
    document = parse_document('{"a": "\\ud83d\\ude00",\n"b": 2}', "mine", is_json=True)
    assert document.value["a"] == "😀"
    assert document.line(("b",)) == 2


@pytest.mark.parametrize("is_json", [True, False])
def test_a_key_that_stands_twice_is_named_with_its_line(is_json):
    text = '{"a": {"b": 1,\n"b": 2},\n"c": 3, "c": 4}'
    with pytest.raises(UserError) as caught:
        parse_document(text, "mine", is_json=is_json)
    assert [mistake.where for mistake in caught.value.mistakes] == ["mine:2", "mine:3"]
    assert "`b` twice" in str(caught.value)
    assert "`c` twice" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_json", "line"),
    [
        ('{"a": 1,\n"b": }', True, 2),
        ("[" * 100_000, True, None),
        ("a: 1\nb: [1, 2\n", False, 3),
        ("a:\n\tb: 1\n", False, 2),
        ("? [a, b]\n: 1\n", False, 1),
        ("--- 1\n--- 2\n", False, 2),
        ("[" * 50_000, False, 1),
        ("[" * 50_000 + "]" * 50_000, False, 1),
        ("a: {b: [" * 40_000, False, 1),
        ("- " * 50_000, False, 1),
        ("\n".join(" " * depth + "a:" for depth in range(3000)), False, 101),
    ],
)
def test_what_cannot_be_parsed_is_one_mistake_with_its_line(text, is_json, line):
    with pytest.raises(UserError) as caught:
        parse_document(text, "mine", is_json=is_json)
    (mistake,) = caught.value.mistakes
    assert mistake.where == (f"mine:{line}" if line else "mine")
    assert "is not valid" in mistake.what
    assert mistake.remedy


@pytest.mark.parametrize("is_json", [True, False])
def test_values_nested_too_deep_are_a_mistake_before_recursion_ends(is_json):
    with pytest.raises(UserError, match="nested more than 100 deep"):
        parse_document("[" * 150 + "]" * 150, "mine", is_json=is_json)
    assert parse_document("[" * 90 + "]" * 90, "mine", is_json=is_json)


def test_aliases_that_multiply_are_a_mistake_before_memory_ends():
    levels = [f"{one}: &{one} [{', '.join([f'*{other}'] * 9)}]" for other, one in pairwise("abcdefghi")]
    with pytest.raises(UserError, match="repeats its anchors beyond measure"):
        parse_document("\n".join(["a: &a [x]", *levels]), "mine")


def test_an_anchor_within_itself_is_a_mistake_not_a_crash():
    with pytest.raises(UserError, match="within itself"):
        parse_document("a: &x [*x]", "mine")


@given(st.text(max_size=60))
def test_no_text_is_more_than_a_users_mistake(text):
    for is_json in (True, False):
        with suppress(UserError):
            parse_document(text, "mine", is_json=is_json)


def test_a_file_that_cannot_be_read_is_reported_with_the_reason(tmp_path):
    (tmp_path / "latin.yaml").write_bytes("name: año".encode("latin-1"))
    for name, reason in [("absent.yaml", "cannot be read"), (".", "cannot be read"), ("latin.yaml", "not UTF-8")]:
        with pytest.raises(UserError, match=reason):
            read_document(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("a.yaml", b"a: 1\nb: \x00\n", "a.yaml:2: is no text: it holds a NUL character"),
        ("a.yaml", b"PK\x03\x04\x00\x81", "is no text: it is an Excel workbook or a zip"),
        ("a.yaml", b"#" * 16_000_001, "is larger than 16 MB"),
        ("a.json", b" " * 16_000_001, "is larger than 16 MB"),
        ("a.yaml", "a: año".encode("utf-16")[:-1], "is not UTF-16 text"),
    ],
)
def test_a_file_that_is_no_text_or_too_large_is_reported_as_that(tmp_path, name, given, reason):
    (tmp_path / name).write_bytes(given)
    with pytest.raises(UserError, match=reason):
        read_document(tmp_path / name)


def test_a_file_without_end_is_read_up_to_the_limit():
    with pytest.raises(UserError, match="/dev/zero: is larger than 256 MB"):
        read_document(Path("/dev/zero"))


def test_a_text_of_windows_is_read_as_others(tmp_path):
    (tmp_path / "a.yaml").write_bytes("a: año\r\nb: |\r\n  x\r\n".encode("utf-16"))
    assert read_document(tmp_path / "a.yaml").value == {"a": "año", "b": "x\n"}


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbfname: x\n")
    assert read_document(tmp_path / "bom.yaml").value == {"name": "x"}


def test_all_mistakes_of_a_file_are_named_by_requirement_with_line_and_remedy():
    reported = mistakes(
        """\
scenario:
  models: [simulated/fair]
  templates: 0
requirements:
  - name: equal
    concern: sexism
    languages: [english]
    tolerance: 1.5
    reflections: [observationl]
  - concern: racism
    languages: [en_us]
    tolerence: 0.9
"""
    )
    assert reported == [
        "mine:3: `scenario.templates` is `0`: must be at least 1\n"
        "    → correct the value: at most so many templates, per requirement or per cell, as `sampling` sets",
        "mine:7: requirement `equal`: entry 1 of `languages` is `english`, which is no language tag\n"
        "    → write language and country, such as `en_us`",
        "mine:8: requirement `equal`: `tolerance` is `1.5`: must be at most 1\n"
        "    → correct the value: least share of the measure that must pass",
        "mine:9: requirement `equal`: entry 1 of `reflections` is `observationl`: must be `observational` or "
        "`utopian`\n    → did you mean `observational`?",
        "mine:10: entry 2 of `requirements`: `name` is missing\n    → add it: unique in its scenario",
        "mine:12: entry 2 of `requirements`: `tolerence` is not a known key\n    → did you mean `tolerance`?",
    ]


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("", "the file is empty"),
        ("[1, 2]", "the file: must be a mapping"),
        ("scenario: 5\nrequirements: starter", "`scenario` is `5`: must be a mapping"),
        ("scenario: {models: []}\nrequirements: starter", "`scenario.models`: must hold at least 1"),
        ("scenario: {models: fair}\nrequirements: starter", "`scenario.models` is `fair`: must be a list"),
        ("scenario:\nrequirements: starter", "`scenario` is empty"),
        ("scenario: {models: [a/b], retries: many}\nrequirements: x", "`many`: must be a whole number"),
        ("scenario: {models: [a/b], temperature: hot}\nrequirements: x", "`hot`: must be a number"),
    ],
)
def test_values_of_another_kind_are_explained_in_words(given, reported):
    (mistake,) = mistakes(given)
    assert reported in mistake


def test_a_value_of_the_wrong_kind_in_a_choice_of_kinds_is_reported_once():
    requirement = "{name: a, concern: sexism, languages: [en_us], communities: {en_us: men}}"
    reported = mistakes(f"id: x\nrequirements:\n  - {requirement}", RequirementFile)
    assert [line.splitlines()[0] for line in reported] == [
        "mine:3: requirement `a`: `communities.en_us` is `men`: must be a list"
    ]


def test_communities_written_as_numbers_are_words():
    document = parse_document("id: age_20\nforms: {en_us: {plural: 20}}", "mine")
    assert validate(Community, document).forms["en_us"]["plural"] == "20"


def test_an_id_that_is_none_is_explained_by_an_example():
    (reported,) = mistakes("id: LGTBIQ+phobia\nname: x\ndescription: y", Concern)
    assert "which is no id" in reported
    assert "lower-case letters" in reported


@pytest.mark.parametrize(
    "value", ["!!int few", "!!float few", "!!bool few", "!!bool [a]", "!!timestamp few", "!!set [a]", "1" * 5000]
)
def test_a_value_that_is_not_of_its_tag_is_a_mistake_with_its_line(value):
    with pytest.raises(UserError, match=r"^mine:2: is not valid YAML"):
        parse_document(f"a: 1\nb: {value}\n", "mine")


def test_a_number_that_no_parser_could_read_is_a_mistake_in_json_too():
    with pytest.raises(UserError, match="a number has too many digits"):
        parse_document(f'{{"a": {"1" * 5000}}}', "mine", is_json=True)


def test_anchors_that_multiply_end_in_a_mistake_and_not_in_hours():
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(UserError, match="repeats its anchors beyond measure"):
        parse_document("\n".join(["a0: &a0 [x]", *rows]), "mine")


def test_an_anchor_that_is_used_again_is_read():
    document = parse_document("a: &twice [x, y]\nb: *twice\nc: *twice\n", "mine")
    assert document.value["c"] == ["x", "y"]


def test_a_brace_that_begins_a_text_is_to_be_quoted():
    with pytest.raises(UserError) as wrong:
        parse_document("a:\n  prompt: {GENDER:plural} do well.\n", "mine")
    assert wrong.value.mistakes[0].remedy == "put the text in quotes: without them a brace begins a mapping"
