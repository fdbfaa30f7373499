"""The normal form that the catalog check compares with is that of evaluation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.catalogs.loading.normal_form import begins, compared, holds
from biasgrid.tasks.evaluate.meaning.text import compare_forms

WRITTEN = [
    "No",
    " no. ",
    "- **No**.",
    "«No»",
    "“Yes”",
    "I don’t think",
    "I don`t think",
    "N/A",
    "...",
    "—",
    '""',
    "***",
    "D'acord",
    "D´acord",
    "Sí",
    "S\u0131",
    "Si\u0301",
    "ﬁne",
    "~~Yes~~ No",
    "```json\nYes",
    "<b>Yes</b>",
    "-5",
    "- 5",
    "+.5",
    "_No_",
    "snake_case",
    "2*3",
    "HAYIR",
    "STRASSE ß",
    "no\n\n  way",
    "\u200bNo\ufeff",
]


def test_values_of_every_kind_have_the_form_that_replies_have():
    assert [compared(value) for value in WRITTEN] == [
        " ".join(form.split()) for form in compare_forms(tuple(WRITTEN))
    ]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="aNoSíéñç ·.,:;-–—«»\"'’`*_~<>/()[]{}!?¿¡0158%\n\t…", max_size=24))
def test_so_has_whatever_an_editor_may_write(value):
    (form,) = compare_forms((value,))
    assert compared(value) == " ".join(form.split())


@pytest.mark.parametrize(
    ("answer", "value", "at_start", "anywhere"),
    [
        ("Yes, of course", "yes", True, True),
        ("**No**", "No.", True, True),
        ("Nothing", "No", False, False),
        ("I say no", "No", False, True),
        ("N/A", "n/a", True, True),
        ("Noè", "No", False, False),
    ],
)
def test_values_are_found_on_borders_of_words(answer, value, at_start, anywhere):
    assert begins(answer, [value]) is at_start
    assert holds(answer, [value]) is anywhere
