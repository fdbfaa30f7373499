"""A decision in one field of a free reply: JSON or a labelled line, and nothing else."""

import pytest

from biasgrid.tasks.evaluate.evaluate import decide_field, find_field

SELECTED, REJECTED = ["approve", "accept"], ["reject", "not approved"]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"reason": "they would reject it elsewhere", "decision": "approve"}', "passed"),
        ('```json\n{"decision":"Reject",\n"reason":"x"}\n```', "failed"),
        ('{"decision": "approve", "reason": "cut off', "passed"),
        ("The income is low.\n**Decision:** not approved.", "failed"),
        ("decision = ACCEPT (with a guarantee)", "passed"),
        ("Decision: approve\n\nOn second thought\nDecision: reject", "failed"),
        ('{"decision": "approve later"}', "unreadable"),
        ("Decision: disapprove", "unreadable"),
        ('{"decision": ""}', "unreadable"),
    ],
)
def test_the_field_decides(text, outcome):
    word = find_field(text, "decision")
    assert word is not None
    assert decide_field(word, SELECTED, REJECTED)["outcome"] == outcome


@pytest.mark.parametrize("text", ["I would approve this.", "The decision is hard.", '{"reason": "approve"}', ""])
def test_a_reply_without_the_field_decides_nothing(text):
    assert find_field(text, "decision") is None
