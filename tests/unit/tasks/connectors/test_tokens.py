from __future__ import annotations

import os
import subprocess
import sys

import pytest

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.panel import estimate_tokens as reported_by_respondents
from biasgrid.tasks.connectors.usage import (
    count_chat,
    count_prompts,
    count_text,
    counts_exactly,
    estimate_tokens,
    is_exact,
)

OFFLINE = """
import socket, sys
def refuse(*_, **__):
    raise AssertionError("the network was asked")
socket.socket.connect = socket.getaddrinfo = refuse
from biasgrid.tasks.connectors.usage import count_text
sys.stdout.write(str(count_text("tiktoken is great!")))
"""


def target(connector: str, name: str) -> Target:
    return Target(model=f"{connector}/{name}", provider=connector, name=name, connector=connector)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("tiktoken is great!", 6), ("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7), ("お誕生日おめでとう", 8)],
)
def test_texts_count_as_openai_publishes(text, tokens):
    assert count_text(text) == tokens
    assert count_prompts([text, text]) == [7 + tokens] * 2


def test_a_chat_counts_as_openai_s_reference_shows_its_usage():
    system, user = Message("system", "You are a helpful assistant."), Message("user", "Hello!")
    assert count_chat([system, user]) == 19
    assert count_chat([user]) == 9


def test_marks_of_a_chat_are_counted_as_the_text_they_are():
    assert count_text("<|endoftext|>") > 1


@pytest.mark.parametrize("text", [" " * 1_000_000, "a" * 1_000_000, "\u200b" * 300_000, "\ud800 half a pair", ""])
def test_no_text_is_too_long_or_too_odd(text):
    assert 0 <= count_text(text) <= 3 * len(text)


@pytest.mark.parametrize(
    "model", ["gpt-4o", "openai/gpt-4o-mini", "azure/gpt-4.1", "openai/o3-mini", "gpt-5-nano"]
)
def test_models_of_the_shipped_vocabulary_are_exact(model):
    assert is_exact(model)


@pytest.mark.parametrize("model", ["gpt-4", "openai/gpt-3.5-turbo", "vllm/llama", "gpt-oss-20b", "my-deployment"])
def test_models_of_other_vocabularies_are_estimates(model):
    assert not is_exact(model)


def test_a_prompt_counts_as_a_chat_of_one_message():
    assert count_prompts(["Hello!"]) == [9] == [count_chat([Message("user", "Hello!")])]
    assert count_prompts([]) == []


def test_only_known_tokenizers_count_exactly():
    assert counts_exactly(target("openai", "gpt-4o"))
    assert counts_exactly(target("simulated", "unbiased"))
    assert not counts_exactly(target("openai", "gpt-4"))
    assert not counts_exactly(target("replicate", "org/gpt-4o"))


@pytest.mark.parametrize("text", ["", "a", "abcd", "abcde", "¿Sí o no?" * 100])
def test_simulated_respondents_report_what_is_estimated(text):
    assert estimate_tokens(text) == reported_by_respondents(text)


def test_nothing_is_fetched_and_a_cache_of_one_s_own_is_left_alone(tmp_path):
    own = {**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)}
    asked = subprocess.run([sys.executable, "-c", OFFLINE], env=own, capture_output=True, text=True)
    assert (asked.stdout, asked.stderr) == ("6", "")
    assert not list(tmp_path.iterdir())
