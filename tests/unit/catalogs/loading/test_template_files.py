"""Template files of our own format: named oracles, twins written in place, paraphrases. Libraries of one template
a line.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog, read_catalog
from biasgrid.catalogs.loading.template_files import read_lines, template_line
from biasgrid.catalogs.schema.entries import Template

WrittenFile = Callable[[str, str], Path]
HEAD = "language: {language}\nconcern: sexism\ntemplates:\n"
ENTRY = "  - {{id: a, input: constrained, reflection: utopian, prompt: 'Is {{GENDER:person}} fit?', {more}}}\n"


@pytest.fixture
def read(written: WrittenFile) -> Callable[..., dict[str, Template]]:
    """The templates of a file with one entry, to which `more` is added, by id."""

    def load(more: str, language: str = "en_us") -> dict[str, Template]:
        path = written("mine.yaml", HEAD.format(language=language) + ENTRY.format(more=more))
        return {template.id: template for template in load_catalog(path).templates}

    return load


def test_a_named_oracle_means_what_the_language_of_the_file_expects(read):
    assert "No" in read("format: no_yes, oracle: denied")["a"].oracle.expected
    assert "De cap manera" in read("format: no_yes, oracle: denied", language="ca_es")["a"].oracle.expected


def test_an_unknown_oracle_is_reported_with_its_line_and_what_is_near(read):
    with pytest.raises(UserError) as wrong:
        read("oracle: denid")
    [mistake] = wrong.value.mistakes
    assert mistake.what == "oracle `denid` is unknown"
    assert mistake.where.endswith("mine.yaml:4")
    assert "`denied`" in mistake.remedy


BROKEN_LANGUAGES = {
    "id: de_de\nname: [German\n": "de_de.yaml:3: is not valid YAML",
    "id: de_de\n": "de_de.yaml:1: `name`",
}


@pytest.mark.parametrize("broken", BROKEN_LANGUAGES)
def test_a_broken_language_is_one_error_and_not_one_of_each_template(written, tmp_path, broken):
    entries = "".join(
        ENTRY.format(more="format: no_yes, oracle: denied").replace("a,", f"a{n},", 1) for n in (1, 2)
    )
    written("templates/de_de/sexism.yaml", HEAD.format(language="de_de") + entries)
    for check in (load_catalog, lambda **named: load_catalog(tmp_path / "templates", **named)):
        with pytest.raises(UserError, match="language `de_de` has no catalog") as missing:
            check(overlay=tmp_path)
        assert len(missing.value.mistakes) == 1
    written("languages/de_de.yaml", broken)
    with pytest.raises(UserError) as wrong:
        load_catalog(overlay=tmp_path)
    assert {"/languages/de_de.yaml" in mistake.where for mistake in wrong.value.mistakes} == {True}
    assert BROKEN_LANGUAGES[broken] in str(wrong.value)


def test_a_twin_written_in_place_is_a_template_of_its_own_that_asks_the_same(read):
    found = read("format: no_yes, oracle: denied, reverse_keyed: false, twin: {id: a-v, format: reason}")
    first, second = found["a"], found["a-v"]
    assert (first.twin, second.twin) == ("a-v", "a")
    assert (first.input, second.input) == ("constrained", "verbose")
    assert (first.format, second.format) == ("no_yes", "reason")
    assert (first.prompt, first.oracle, first.line) == (second.prompt, second.oracle, second.line)


def test_a_twin_may_be_judged_otherwise(read):
    found = read(
        "format: first_second_neither, oracle: neither, twin: {id: a-v, format: first_second, oracle: not_chosen}"
    )
    assert (found["a"].oracle.operation, found["a-v"].oracle.operation) == ("allEqualExpected", "different")


def test_what_is_wrong_in_an_oracle_written_out_is_reported_once_and_by_its_key(read):
    with pytest.raises(UserError) as wrong:
        read("oracle: {operation: allEqualExpected, expectd: ['No']}")
    reported = [(mistake.what, mistake.remedy) for mistake in wrong.value.mistakes]
    assert reported == [("template `a`: `oracle.expectd` is not a known key", "did you mean `expected`?")]


def test_a_paraphrase_with_other_markups_is_refused(read):
    with pytest.raises(UserError) as wrong:
        read("oracle: denied, paraphrases: ['Does {GENDER:person} do?', 'Does anybody do?']")
    [mistake] = wrong.value.mistakes
    assert mistake.what == "paraphrase 2 of template `a` has other markups than its prompt"
    assert mistake.remedy == "use `{GENDER}`, each in a form of your choice"


def test_every_stray_paraphrase_is_reported(read):
    with pytest.raises(UserError) as wrong:
        read("oracle: denied, paraphrases: ['Does anybody do?', 'Does {GENDER:person} do?', 'Does nobody do?']")
    assert [mistake.what.partition(" of ")[0] for mistake in wrong.value.mistakes] == [
        "paraphrase 1",
        "paraphrase 3",
    ]


@pytest.mark.parametrize(
    "paraphrases", ["['Is {GENDER:person} fit?']", "['Can {GENDER:person} do it?', 'Can {GENDER:person} do it?']"]
)
def test_a_wording_that_stands_twice_is_refused(read, paraphrases):
    with pytest.raises(UserError, match="say the same wording twice"):
        read(f"oracle: denied, paraphrases: {paraphrases}")


@pytest.mark.parametrize(
    ("oracle", "reason"),
    [
        ("{operation: choice, expected: [unknown]}", "at least two `choices`"),
        (
            "{operation: choice, expected: [unknown], "
            "choices: [{text: a, role: biased}, {text: b, role: counter}]}",
            "the role of one of its choices",
        ),
        ("{operation: associations}", "needs `words`"),
    ],
)
def test_an_oracle_that_nothing_could_pass_is_refused(read, oracle, reason):
    with pytest.raises(UserError, match=reason):
        read(f"oracle: {oracle}")


def test_numbers_are_not_compared_across_wordings(read):
    with pytest.raises(UserError, match="compares numbers, and has paraphrases"):
        read("format: score, oracle: score, paraphrases: ['How fit is {GENDER:person}?']")


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
