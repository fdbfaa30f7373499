"""Everybody who draws with one seed sees the same sample, and what is rare is in it."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.review.sample import Draw, draw_sample, share_out

MANY = {("one", "passed"): 400, ("one", "failed"): 10, ("two", "passed"): 300, ("two", "refused"): 90}


def test_the_same_seed_draws_the_same_in_the_same_order(units):
    replies = units(MANY)
    first = draw_sample(replies, Draw(seed=7, size=40))
    assert draw_sample(replies.sample(fraction=1, shuffle=True, seed=1), Draw(seed=7, size=40)).equals(first)
    assert set(draw_sample(replies, Draw(seed=8, size=40))["unit_id"]) != set(first["unit_id"])


def test_each_model_and_outcome_gives_about_as_many_as_it_has(units):
    sample = draw_sample(units(MANY), Draw(size=100))
    counts = {(model, outcome): n for model, outcome, n in sample.group_by("model", "stratum").len().iter_rows()}
    assert counts == {("one", "failed"): 10, ("two", "refused"): 30, ("two", "passed"): 30, ("one", "passed"): 30}


def test_its_probabilities_weigh_the_sample_back_to_all_replies(units):
    sample = draw_sample(units(MANY), Draw(size=100))
    assert (1 / sample["probability"]).sum() == pytest.approx(800)
    failed = sample.filter(pl.col("stratum") == "failed")
    assert set(failed["probability"]) == {1.0}


def test_a_larger_sample_holds_the_smaller_one(units):
    replies = units(MANY)
    small, large = (set(draw_sample(replies, Draw(size=size))["unit_id"]) for size in (40, 120))
    assert small < large


def test_the_order_reveals_neither_model_nor_outcome(units):
    sample = draw_sample(units({("one", "passed"): 200, ("one", "failed"): 200}), Draw(size=200))
    first_half = sample.head(100).filter(pl.col("stratum") == "failed").height
    assert first_half == pytest.approx(50, abs=20)


def test_a_sample_larger_than_all_is_all(units):
    sample = draw_sample(units(MANY), Draw(size=5000))
    assert sample.height == 800
    assert set(sample["probability"]) == {1.0}


def test_filters_narrow_it_and_an_unknown_one_names_the_nearest(units):
    assert set(draw_sample(units(MANY), Draw(model="two"))["model"]) == {"two"}
    with pytest.raises(UserError, match="sexism"):
        draw_sample(units(MANY), Draw(concern="sexsim"))


@given(st.lists(st.integers(1, 500), min_size=1, max_size=12), st.integers(1, 800))
def test_what_is_shared_out_is_what_there_is(sizes, size):
    rising = sorted(sizes)
    taken = share_out(rising, size)
    assert sum(taken) == min(size, sum(rising))
    assert all(0 <= part <= most for part, most in zip(taken, rising, strict=True))
    assert taken == sorted(taken)


@pytest.mark.parametrize("draw", [Draw(), Draw(3, 12, "sexism", "es_es", "openai/gpt-4o")])
def test_a_draw_is_read_back_from_its_token(draw):
    assert Draw.of_token(draw.as_token()) == draw


@pytest.mark.parametrize("token", ["", "s", "7/100", "s[]", "sW10", "seyJzZWVkIjogIjMifQ", "x" * 5000, "sé"])
def test_what_is_no_token_is_no_draw(token):
    assert Draw.of_token(token) is None
