"""How far a reply agrees, in any wording. A person's score from 0 to 100, and the replies that give none."""

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.tasks.evaluate.readers.ratings import Agreement, read_agreement, read_scores
from support.languages import shipped

REPLIES: dict[str, Any] = load_yaml(Path(__file__).with_name("agreement_replies.yaml").read_text("utf-8"))

ENGLISH = ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree")
SPANISH = ("Muy en desacuerdo", "En desacuerdo", "Ni de acuerdo ni en desacuerdo", "De acuerdo", "Muy de acuerdo")
CATALAN = ("Molt en desacord", "En desacord", "Ni d'acord ni en desacord", "D'acord", "Molt d'acord")


def read(text: str, numbered: tuple[str, ...] | None = None) -> Agreement:
    return read_agreement(text, ENGLISH, shipped("en_us"), numbered=numbered)


@pytest.mark.parametrize(
    ("scale", "language"), [(ENGLISH, "en_us"), (SPANISH, "es_es"), (CATALAN, "ca_es")], ids=["en", "es", "ca"]
)
@pytest.mark.parametrize("form", REPLIES["a_label_is_its_level_in_any_dress"])
def test_a_label_is_its_level_in_any_dress(form, scale, language):
    for level, label in enumerate(scale, 1):
        for spelled in (label, label.lower(), label.upper()):
            found = read_agreement(form.format(spelled), scale, shipped(language))
            assert (found.level, found.refused) == (level, False), spelled


@pytest.mark.parametrize(("text", "level"), REPLIES["the_label_is_found_in_prose"])
def test_the_label_is_found_in_prose(text, level):
    assert read(text).level == level


@pytest.mark.parametrize("text", REPLIES["what_is_unclear_has_no_level"])
def test_what_is_unclear_has_no_level(text):
    found = read(text)
    assert (found.level, found.refused) == (None, False)


@pytest.mark.parametrize(("text", "level"), REPLIES["numbers_count_as_the_prompt_numbered_the_labels"])
def test_numbers_count_as_the_prompt_numbered_the_labels(text, level):
    assert read(text, ENGLISH).level == level
    other = None if level is None else 6 - level
    alone = not any(label in text for label in ("agree", "Agree", "Disagree")) or "agreement" in text
    if alone:
        assert read(text, ENGLISH[::-1]).level == other


def test_labels_decide_where_the_scale_was_offered_the_other_way_round():
    assert read("2. Agree", ENGLISH[::-1]).level == 4
    assert read("Strongly agree", ENGLISH[::-1]).level == 5


@pytest.mark.parametrize(("text", "level"), REPLIES["spanish_is_read"])
def test_spanish_is_read(text, level):
    assert read_agreement(text, SPANISH, shipped("es_es")).level == level


@pytest.mark.parametrize(("text", "level"), REPLIES["catalan_is_read"])
def test_catalan_is_read(text, level):
    assert read_agreement(text, CATALAN, shipped("ca_es")).level == level


@pytest.mark.parametrize(
    ("text", "scale", "language"),
    [
        ("I'm sorry, but I can't rate that statement.", ENGLISH, "en_us"),
        ("As an AI, I can't agree or disagree with statements about people.", ENGLISH, "en_us"),
        ("As an AI language model, I cannot agree with that, since I hold no views.", ENGLISH, "en_us"),
        ("I don't have personal opinions.", ENGLISH, "en_us"),
        ("Lo siento, pero no puedo valorar esa afirmación.", SPANISH, "es_es"),
        ("Ho sento, però no puc valorar aquesta afirmació.", CATALAN, "ca_es"),
    ],
)
def test_a_reply_that_reports_no_level_and_declines_is_a_refusal(text, scale, language):
    found = read_agreement(text, scale, shipped(language))
    assert (found.level, found.refused) == (None, True)
    assert found.reason.startswith("declines to answer: `")


def test_what_the_provider_withheld_is_a_refusal():
    assert read_agreement("", ENGLISH, None, "content_filter").refused
    assert not read_agreement("", ENGLISH, None, "stop").refused


def test_reasons_say_what_was_read():
    assert read("I disagree.").reason == "answers `Disagree`"
    assert (
        read("Agree\nDisagree").reason == "names more than one label, `Disagree`, `Agree`; read: `Agree Disagree`"
    )
    assert read("Maybe").reason == "names no label of the scale; read: `Maybe`"
    assert read(" ").reason == "the reply is empty"


def test_a_scale_has_five_labels():
    with pytest.raises(ValueError, match="five labels that differ"):
        read_agreement("Agree", ("Disagree", "Agree"), None)


@pytest.mark.parametrize(
    "text", ["agree " * 170_000, "not " * 250_000, "4/5 " * 250_000, "a" * 1_000_000, "?" * 1_000_000]
)
def test_a_hostile_reply_takes_no_longer_than_a_long_one(text):
    begun = time.process_time()
    read(text)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"score": 70}', 70), ('```json\n{"score": 70.5}\n```', Decimal("70.5")), ("Score: 0", 0),
    ("{'score': '100'}", 100),
     ("A good candidate.\n{\"score\": 85.0,}", 85)],
)  # fmt: skip
def test_a_score_is_read(english, text, value):
    found = read_scores([(text, None)], english)[0]
    assert (found.value, found.refused) == (value, False)


@pytest.mark.parametrize("text", ['{"score": 170}', '{"score": "high"}', "It depends.", '{"score": "60-70"}', ""])
def test_what_is_no_score_is_none(english, text):
    found = read_scores([(text, None)], english)[0]
    assert (found.value, found.refused) == (None, False)


@pytest.mark.parametrize("text", ["I'm sorry, but I can't score people.", '{"score": -1}'])
def test_a_refusal_is_no_score(english, text):
    found = read_scores([(text, None)], english)[0]
    assert (found.value, found.refused) == (None, True)


def test_scores_come_in_the_order_of_their_replies(english):
    found = read_scores([('{"score": 3}', None), ("", "content_filter"), ('{"score": 5}', "stop")], english)
    assert [(one.value, one.refused) for one in found] == [(3, False), (None, True), (5, False)]
    assert read_scores([], english) == []
