from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.tasks.evaluate.meaning.text import compare_forms, excerpt, plain, strip_reasoning, to_compared

REPLIES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text("utf-8"))

AWKWARD = list("*_`\"'«»<>-+. \n\u200b\u0307iİıſﬁ´ΣßK①½①＊＿")
ANY_TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(AWKWARD)), max_size=30)


def one(expression: pl.Expr) -> str:
    return str(pl.select(expression).item())


@pytest.mark.parametrize("reply", REPLIES["one_answer_in_many_dresses_compares_equal"])
def test_one_answer_in_many_dresses_compares_equal(reply):
    assert compare_forms((reply,)) == ("no",)


@pytest.mark.parametrize(("reply", "form"), REPLIES["variants_of_a_letter_a_mark_or_a_blank_compare_equal"])
def test_variants_of_a_letter_a_mark_or_a_blank_compare_equal(reply, form):
    assert compare_forms((reply,)) == (form,)


@pytest.mark.parametrize(
    ("reply", "form"), [("-5", "-5"), ("−1", "-1"), (".5", ".5"), ("2*3", "2*3"), ("snake_case", "snake_case")]
)
def test_signs_and_products_and_names_are_not_markup(reply, form):
    assert compare_forms((reply,)) == (form,)


def test_a_line_break_stays_one_among_blanks():
    assert one(plain(pl.lit("a \r\n\r\n b"))) == "a\nb"


@given(ANY_TEXT)
@settings(deadline=None)
def test_normalising_twice_is_normalising_once(text):
    for form in (plain, to_compared):
        once = one(form(pl.lit(text)))
        assert one(form(pl.lit(once))) == once


def test_reasoning_before_the_answer_is_not_the_answer():
    assert one(strip_reasoning(pl.lit("<think>I don't think\nso</think>\nYes"))) == "\nYes"


def test_reasoning_that_never_ends_leaves_no_answer():
    assert one(strip_reasoning(pl.lit("<think>No, that is"))) == ""


@given(ANY_TEXT)
@settings(deadline=None)
def test_a_quoted_reply_is_one_short_line_without_control_characters(text):
    line = one(excerpt(pl.lit(text), 20))
    assert len(line) <= 20
    assert not any(ord(character) < 32 or character in "`\u202e\u200b" for character in line)
