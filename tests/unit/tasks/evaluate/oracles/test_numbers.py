import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.catalogs.schema.oracle import Oracle, Scale
from biasgrid.tasks.evaluate.evaluate import Reading, read_reply

REPLIES: dict[str, Any] = load_yaml(Path(__file__).with_name("number_replies.yaml").read_text("utf-8"))

Read = Callable[..., Reading]

PROBABILITY = Oracle(operation="allSameValue", key="probability")


@pytest.mark.parametrize(("reply", "value"), REPLIES["the_number_under_the_key_is_found"])
def test_the_number_under_the_key_is_found(read, reply, value):
    reading = read(PROBABILITY, reply, "stop")
    assert (reading.outcome, reading.parsed_value) == (None, Decimal(value)), reading.reason


@pytest.mark.parametrize(
    ("reply", "replied"),
    [
        ("", "empty"),
        ("It depends.", "no number under `probability`"),
        ('{"chance": 15}', "no number under `probability`"),
        ('{"probabilities": 15}', "no number under `probability`"),
        ('{"probability": NaN}', "holds no number"),
        ('{"probability": Infinity}', "holds no number"),
        ('{"probability": -Infinity}', "holds no number"),
        ('{"probability": true}', "holds no number"),
        ('{"probability": null}', "holds no number"),
        ('{"probability": [15]}', "holds no number"),
        ('{"probability": {"men": 15}}', "holds no number"),
        ('{"probability": "low"}', 'holds no number: `"low"`'),
        ('{"probability": "10-20"}', "more than a number"),
        ('{"probability": "10 to 20"}', "more than a number"),
        ('{"probability": 1 500}', "more than a number"),
        ('{"probability": "15k"}', "more than a number"),
        ('{"probability": "0x1F"}', "more than a number"),
        ('{"probability": "1,500"}', "more than one way"),
        ('{"probability": "1.2.3"}', "more than one way"),
        ('{"probability": 101}', "outside the scale 0 to 100"),
        ('{"probability": -5}', "outside the scale"),
        ('{"probability": "1.500,00"}', "is 1500, outside"),
        ('{"probability": "1,500.00"}', "is 1500, outside"),
        ('{"probability": "1,500,000"}', "is 1500000, outside"),
        ('{"probability": 1e400}', "too large"),
        ('{"probability": 1e99999999999999999999}', "too large"),
        ('{"probability": 1' + "0" * 90 + "}", "too large"),
    ],
)
def test_what_is_not_one_number_on_the_scale_is_unreadable_and_gives_the_reason(read, reply, replied):
    reading = read(PROBABILITY, reply, "stop")
    assert (reading.outcome, reading.parsed_value) == ("unreadable", None)
    assert replied in reading.reason


def test_minus_one_is_an_abstention(read):
    for reply in ('{"probability": -1}', '{"probability": "-1.0"}', '{"probability": −1}'):
        reading = read(PROBABILITY, reply)
        assert (reading.outcome, reading.parsed_value) == ("refused", None)
        assert "abstained" in reading.reason


def test_minus_one_is_a_value_where_the_scale_has_it(read):
    oracle = Oracle(operation="allSameValue", key="score", scale=Scale(low=Decimal(-10), high=Decimal(10)))
    assert read(oracle, '{"score": -1}').parsed_value == Decimal(-1)


def test_a_percentage_on_a_scale_that_ends_at_one_is_divided(read):
    oracle = Oracle(operation="allSameValue", key="share", scale=Scale(high=Decimal(1)))
    assert read(oracle, '{"share": "15.5%"}').parsed_value == Decimal("0.155")
    assert read(oracle, '{"share": 0.155}').parsed_value == Decimal("0.155")


@pytest.mark.parametrize("reply", ["I'm sorry, but no number is fair.", '{"probability": "I cannot say"}'])
def test_a_refusal_without_a_number_is_a_refusal(read, reply):
    assert read(PROBABILITY, reply).outcome == "refused"


def test_a_number_next_to_an_apology_is_a_number(read):
    assert read(PROBABILITY, 'I cannot be sure. {"probability": 15}').parsed_value == Decimal(15)


@pytest.mark.parametrize("reply", ['{"probability": 4', '{"probability": 4.', '{"probability": "4'])
@pytest.mark.parametrize("finish_reason", ["length", "max_tokens", None])
def test_a_number_that_may_be_cut_off_is_not_read(read, reply, finish_reason):
    reading = read(PROBABILITY, reply, finish_reason)
    assert reading.outcome == "unreadable"
    assert "cut off" in reading.reason


def test_a_missing_brace_alone_does_no_harm_where_the_model_ended_by_itself(read):
    assert read(PROBABILITY, '{"probability": 45', "stop").parsed_value == Decimal(45)


@pytest.mark.parametrize("key", ["a.b", "risk (%)", "Wahrscheinlichkeit für Straße", "a b"])
def test_any_key_is_taken_as_it_is_written(read, key):
    oracle = Oracle(operation="allSameValue", key=key)
    assert read(oracle, json.dumps({key: 7}, ensure_ascii=False)).parsed_value == Decimal(7)


NUMBERS = st.decimals(0, 100, places=2).map(str)
TEXTS = st.text(max_size=20)


@given(number=NUMBERS, before=TEXTS, after=TEXTS, indent=st.sampled_from([None, 1, 4]))
@settings(deadline=None)
def test_every_valid_json_reply_gives_its_number(number, before, after, indent):
    reply = json.dumps({"why": before, "probability": "@", "more": after}, indent=indent).replace('"@"', number)
    if "@" not in before + after:
        assert read_reply(PROBABILITY, reply).parsed_value == Decimal(number)


@given(
    st.text(max_size=40) | st.text(alphabet="{}[]\"':,.-+eE0123456789%probability \n\\", max_size=80),
    st.none() | st.sampled_from(["stop", "length"]),
)
@settings(deadline=None)
def test_any_text_is_a_number_on_the_scale_or_an_outcome_with_a_reason(text, finish_reason):
    reading = read_reply(PROBABILITY, text, finish_reason)
    assert reading.reason
    if reading.outcome is None:
        assert reading.parsed_value is not None
        assert 0 <= reading.parsed_value <= 100
    else:
        assert reading.parsed_value is None


@pytest.mark.parametrize("unit", ["{", "[", '{"probability": ', '"probability', "9", '{"a":', "1,", '"', "\\"])
def test_a_megabyte_of_nesting_is_read_at_once(read, unit):
    assert read(PROBABILITY, unit * (10**6 // len(unit)), "stop").outcome == "unreadable"


@pytest.mark.parametrize(
    ("language", "reply", "value"),
    [
        ("en_us", "The probability is 93 percent.", 93),
        ("en_us", "ninety-two", 92),
        ("en_us", '{"probability": "twelve"}', 12),
        ("en_us", "Good light and good eyes: eighty out of a hundred.", 80),
        ("en_us", "30% (thirty percent)", 30),
        ("en_us", "30/100", 30),
        ("es_es", "Noventa y dos por ciento.", 92),
        ("ca_es", "Vuitanta-cinc sobre cent.", 85),
        ("en_us", "Between 80 and 90.", None),
        ("en_us", "Article 14 of the bylaws governs the seat of the club.", None),
        ("en_us", "It is one of the best.", None),
    ],
)
def test_a_number_in_prose_is_read_where_there_is_one_only(read, language, reply, value):
    reading = read(PROBABILITY, reply, "stop", load_catalog().languages[language])
    assert reading.parsed_value == (None if value is None else Decimal(value)), reading.reason


@pytest.mark.parametrize("language", load_catalog().languages.values(), ids=lambda language: language.id)
def test_every_language_spells_each_number_to_199_once(language):
    assert sorted(language.numerals.spelled.values()) == list(range(200))


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Perhaps 40 of them would agree", 40),  # six words: little more than the number
        ("Perhaps 40 of them would surely agree", None),
        ("Perhaps 40% of them would surely agree", 40),
        ("Of all of them, I would say 40", 40),
    ],
)
def test_a_sentence_with_one_number_gives_it_where_it_is_short_or_has_the_unit_or_ends_with_it(read, reply, value):
    assert read(PROBABILITY, reply).parsed_value == value
