"""The JSON in a reply: read whatever stands around it, refused piece by piece where it is broken."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.tasks.connectors.json_objects import LONGEST_REPLY, MOST, RejectedText, read_objects

TWO = '[{"a": 1}, {"a": 2}]'


def read(reply: str) -> tuple[list[object], list[RejectedText]]:
    found = list(read_objects(reply))
    return [one for one in found if isinstance(one, dict)], [one for one in found if isinstance(one, RejectedText)]


@pytest.mark.parametrize(
    "reply",
    [
        TWO,
        f"```json\n{TWO}\n```",
        f"Sure! Here are [two] of them:\n\n{TWO}\n\nTell me if {{you}} need more.",
        f'<think>Maybe [{{"a": 9}}]?</think>\n{TWO}',
        f'{{"templates": {TWO}}}',
        '[{"a": 1}]\n\nand\n\n[{"a": 2}]',
        '[\n{"a": 1}\n{"a": 2}\n]',
        '{"a": 1}\n{"a": 2}',
        '[{"a": 1}, {"a": 2},]',
        "\ufeff" + TWO,
        f"As you asked, [{{GENDER:plural}}] stands for a group.\n{TWO}",
        'With {GENDER}, here they are. {"a": 1}\n\nAnd another one:\n\n{"a": 2}',
        '[{"a": 1}, null, {"a": 2}]',
    ],
    ids=range(13),
)
def test_objects_are_found_whatever_stands_around_them(reply):
    assert read(reply) == ([{"a": 1}, {"a": 2}], [])


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "holds no JSON array"),
        ("I'm sorry, but I can't help with that.", "holds no JSON array"),
        ("[]", "holds no JSON array"),
        ('["a", "b"]', "holds no JSON array"),
        ("null", "holds no JSON array"),
        ("{'a': 1}", "is no valid JSON"),
        ('[{"a": 1', "or was cut off"),
        ('[{"a": "half a sen', "or was cut off"),
        ('[{"a": NaN}]', "NaN is no number"),
        ('[{"a": 1, "a": 2}]', "a key stands twice"),
        ('[{"a": "line\nbreak"}]', "Invalid control character"),
        ('[{"a": ' + "[" * 100_000, "is nested too deeply"),
        ("[{" * 50_000, "is no valid JSON"),
        ("x" * (LONGEST_REPLY + 1), "has more than"),
    ],
    ids=range(14),
)
def test_a_reply_without_objects_is_refused_with_the_reason(reply, why):
    found, refused = read(reply)
    assert found == []
    assert why in refused[0].reason


def test_a_broken_object_costs_itself_alone():
    found, (refused,) = read('[{"a": 1}, {"a": oops}, {"a": 3}, {"a": 4}]')
    assert found == [{"a": 1}, {"a": 3}, {"a": 4}]
    assert refused.text == '{"a": oops}'


def test_what_came_before_a_cut_is_kept():
    found, (refused,) = read('[{"a": 1}, {"a": 2}, {"a": "thr')
    assert found == [{"a": 1}, {"a": 2}]
    assert refused.text == '{"a": "thr'


def test_more_objects_than_anybody_orders_are_not_read():
    found, (refused,) = read(json.dumps([{"a": 1}] * (MOST + 5)))
    assert len(found) == MOST
    assert "goes on" in refused.reason


@pytest.mark.parametrize(
    "reply", ["}{" * 150_000, "[ " * 150_000, "} " * 150_000, '{"' * 100_000, "}   ,   " * 40_000]
)
def test_hostile_replies_are_read_to_their_end_without_a_crash(reply):
    list(read_objects(reply))


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='[]{}",:\\ab1\n ', max_size=80))
def test_any_text_is_read_without_an_error(reply):
    for found in read_objects(reply):
        assert isinstance(found, dict | RejectedText)
