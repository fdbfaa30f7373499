"""Quoted texts are distinguished from instructions, and only the requested object is read."""

from __future__ import annotations

import pytest

from biasgrid.tasks.connectors.json_objects import NotAsAsked, delimiter, parse_object, quote_block


def test_a_text_cannot_hold_its_own_mark():
    once = delimiter("prompt", "reply")
    assert delimiter("prompt", f"reply {once}") != once
    assert delimiter("prompt", "reply") == once
    assert delimiter("ab", "c") != delimiter("a", "bc")


def test_what_is_quoted_stands_between_its_marks():
    assert quote_block("REPLY", "m", "as it came\n") == "<<<REPLY m\nas it came\n\nREPLY m>>>"


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', '```\n{"a": 1}\n```'])
def test_an_object_is_read_alone_or_in_a_fence(text):
    assert parse_object(text) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", '{"a": 1} indeed', '{"a": 1, "a": 2}', "{'a': 1}", "[" * 5000, '"' + "x" * 30_000 + '"'],
)
def test_nothing_else_is(text):
    with pytest.raises(NotAsAsked):
        parse_object(text)
