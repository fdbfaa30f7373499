"""Keys are found in each place; if there is none, every place searched is named. Quoted texts are distinguished
from instructions, and only the requested object is read. Names under which Prefect keeps what it shows of a
model.
"""

from __future__ import annotations

import re

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.connectors.json_objects import NotAsAsked, delimiter, parse_object, quote_block
from biasgrid.tasks.connectors.keys import find_key, missing_keys
from biasgrid.tasks.connectors.task import artifact_key


@pytest.fixture
def ours(target, monkeypatch):
    for name in ("FIRST_API_KEY", "SECOND_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return target("openai", "", key_env=("FIRST_API_KEY", "SECOND_API_KEY"))


def test_variables_are_searched_in_order(ours, monkeypatch):
    monkeypatch.setenv("SECOND_API_KEY", "second")
    assert find_key(ours) == "second"
    monkeypatch.setenv("FIRST_API_KEY", "first")
    assert find_key(ours) == "first"


def test_the_environment_wins_over_stored_secrets(ours, monkeypatch):
    monkeypatch.setenv("SECOND_API_KEY", "from-environment")
    assert find_key(ours, {"first-api-key": "stored"}.get) == "from-environment"


def test_a_stored_secret_is_found_by_its_name(ours):
    assert find_key(ours, {"second-api-key": "stored"}.get) == "stored"


def test_a_model_that_needs_no_key_has_none(target):
    assert find_key(target("openai", "", key_env=())) is None


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_key_is_a_missing_one(ours, monkeypatch, blank):
    monkeypatch.setenv("FIRST_API_KEY", blank)
    with pytest.raises(UserError, match="no key"):
        find_key(ours)


def test_a_missing_key_names_every_place_searched(ours):
    with pytest.raises(UserError) as caught:
        find_key(ours, lambda name: None)
    for place in ("`FIRST_API_KEY`", "`SECOND_API_KEY`", "`first-api-key`", "`second-api-key`", ours.model):
        assert place in str(caught.value)


def test_a_line_break_at_the_end_is_no_part_of_a_key(ours, monkeypatch):
    monkeypatch.setenv("FIRST_API_KEY", "secret-1\n")
    assert find_key(ours) == "secret-1"


@pytest.mark.parametrize("broken", ["sec ret", "sec\nret", "secrét"])
def test_a_key_that_no_header_can_hold_is_a_mistake_that_does_not_show_it(ours, monkeypatch, broken):
    monkeypatch.setenv("FIRST_API_KEY", broken)
    with pytest.raises(UserError) as caught:
        find_key(ours)
    assert "FIRST_API_KEY" in str(caught.value)
    assert broken not in str(caught.value) + repr(caught.value)


def test_all_missing_keys_are_found_at_once_and_each_named_once(ours, target, monkeypatch):
    monkeypatch.delenv("OTHER_API_KEY", raising=False)
    twin = ours.model_copy(update={"model": "openai/another"})
    other = target("replicate", "", key_env=("OTHER_API_KEY",))
    free = target("openai", "", key_env=())
    first, second = (str(mistake) for mistake in missing_keys([ours, other, twin, free]))
    assert ours.model in first
    assert "openai/another" in first
    assert "OTHER_API_KEY" in second


def test_found_keys_leave_no_mistake(ours, monkeypatch):
    monkeypatch.setenv("FIRST_API_KEY", "k")
    assert missing_keys([ours]) == []


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


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("openai/gpt-4o", "progress-openai-gpt-4o"),
        ("huggingface/mistralai/Mistral-7B_v0.3", "progress-huggingface-mistralai-mistral-7b-v0-3"),
        ("gateway/weird_*name*|x", "progress-gateway-weird-name-x"),
    ],
)
def test_a_key_reads_as_the_model_does(model, key):
    assert artifact_key("progress", model) == key


def test_names_that_a_key_cannot_distinguish_have_keys_of_their_own():
    keys = {artifact_key("progress", model) for model in ("gateway/模型", "gateway/模型二", "模型")}
    assert len(keys) == 3
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key) for key in keys)
