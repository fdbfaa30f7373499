"""A person's score from 0 to 100, and the replies that give none."""

from decimal import Decimal

import pytest

from biasgrid.tasks.evaluate.readers.ratings import read_scores


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
