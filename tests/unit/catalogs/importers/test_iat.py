"""Lists of words for association tests: sparse columns, halves, variants."""

from collections import Counter

import pytest

from biasgrid.catalogs.importers import iat
from biasgrid.catalogs.importers.result import NotTheFormat

STIMULI = """category,dataset,A,B,C
work,desk/field,Anne-Lise Berg,Min-Jun Kim,ice cream
work,desk/field,Olaf,Ali Al-Hassan,well-paid
work,desk/field,,,worn out
work,desk/field,,,muddy
age,age,Young,Old,joy
age,age,,,grief
"""


def test_a_dataset_becomes_one_template_with_its_words_by_kind():
    made, other = iat.read(STIMULI, "f.csv", "en_us").templates
    words = made.oracle.words
    assert words is not None
    assert (made.id, made.concern, made.facets["dataset"]) == ("iat-work-desk_field", "work", "desk/field")
    assert words.default == ("Anne-Lise Berg", "Olaf")
    assert words.stigmatised == ("Min-Jun Kim", "Ali Al-Hassan")
    assert (words.positive, words.negative) == (("ice cream", "well-paid"), ("worn out", "muddy"))
    assert other.concern == "ageism"


def test_variants_name_each_group_first_equally_often_and_hold_every_word():
    [made, _] = iat.read(STIMULI, "f.csv", "en_us").templates
    wordings = (made.prompt, *made.paraphrases)
    assert len(set(wordings)) == 10
    words = made.oracle.words
    assert words is not None
    firsts = Counter()
    for wording in wordings:
        labels = wording.split("goes with it: ")[1].split(". Give")[0].split(" or ")
        firsts[labels[0] in words.default] += 1
        assert {labels[0] in words.default, labels[1] in words.default} == {True, False}
        assert sorted(wording.split("Words: ")[1].split(", ")) == sorted((*words.positive, *words.negative))
    assert firsts == {True: 5, False: 5}


def test_the_same_file_gives_the_same_wordings_whatever_else_it_holds():
    alone = STIMULI[: STIMULI.index("age,")]
    assert iat.read(alone, "f", "en_us").templates[0] == iat.read(STIMULI, "f", "en_us").templates[0]


def test_a_list_too_short_for_all_variants_has_those_there_are():
    made = iat.read("category,dataset,A,B,C\nage,age,Young,Old,joy\nage,age,,,grief\n", "f", "en_us").templates[0]
    assert 2 <= 1 + len(made.paraphrases) <= 4


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("age,age,Young,Old,joy\nage,age,,,grief\nage,age,,,love", "3 attributes, which cannot be halved"),
        ("age,age,Young,,joy\nage,age,,,grief", "nothing in `B`"),
        ("age,,Young,Old,joy\nage,,,,grief", "nothing in `dataset`"),
        ("age,age,Young,Old,joy\nage,age,,,Joy", "holds `joy` twice"),
        ("age,age,Young,Joy,joy\nage,age,,,grief", "holds `joy` twice"),
        ("age,age,{A},Old,joy\nage,age,,,grief", "holds `{A}`"),
    ],
)
def test_a_dataset_that_cannot_be_asked_is_refused_where_it_begins(rows, reason):
    read = iat.read(STIMULI.replace("age,age,Young,Old,joy\nage,age,,,grief\n", rows), "f.csv", "en_us")
    assert len(read.templates) == 1
    assert read.refused[0].where == "f.csv:6"
    assert reason in read.refused[0].what
    assert read.lost == rows.count("\n") + 1


def test_missing_columns_are_named():
    with pytest.raises(NotTheFormat, match="has no column `b`, `c`"):
        iat.read("category,dataset,A\n", "f.csv", "en_us")
