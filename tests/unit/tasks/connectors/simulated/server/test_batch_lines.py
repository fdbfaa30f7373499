"""What OpenAI finds wrong with a batch's input file, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from biasgrid.tasks.connectors.simulated.server.batch_lines import MOST_LINES, BatchReader

ENDPOINT = "/v1/chat/completions"


def line(custom_id: str, **changed: Any) -> bytes:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body} | changed).encode()


def flaws(*lines: bytes) -> list[tuple[str, int | None]]:
    _, found = BatchReader(ENDPOINT, lambda model: model.startswith("gpt")).read(b"\n".join(lines))
    return [(flaw.code, flaw.line) for flaw in found]


def test_a_sound_file_has_its_requests_in_order_and_one_model():
    reader = BatchReader(ENDPOINT, lambda model: True)
    lines, found = reader.read(line("a") + b"\n\n" + line("b") + b"\n")
    assert ([one.custom_id for one in lines], found, reader.model) == (["a", "b"], [], "gpt-4o")
    assert lines[0].body["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize("text", [b"{", b"[]", b"7", b"\xff\xfe", b"[" * 100_000])
def test_a_line_that_is_no_json_object_is_named_by_its_number(text):
    assert flaws(line("a"), text, line("b")) == [("invalid_json_line", 2)]


def test_every_flaw_is_reported_at_once():
    assert flaws(
        line("a"),
        line("a"),
        line("b", url="/v1/embeddings"),
        line("c", method="GET"),
        line("d", body={"model": "llama"}),
        line("e", body={"model": "gpt-5"}),
        line("f", body={}),
        line("g", body=7),
        line(""),
        b'{"custom_id": "h"}',
    ) == [
        ("duplicate_custom_id", 2),
        ("url_mismatch", 3),
        ("invalid_method", 4),
        ("model_not_found", 5),
        ("model_mismatch", 6),
        ("missing_required_parameter", 7),
        ("missing_required_parameter", 8),
        ("invalid_custom_id", 9),
        ("missing_required_parameter", 10),
    ]


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_requests_is_empty(content):
    assert flaws(content) == [("empty_file", None)]


def test_a_file_with_too_many_requests_is_read_no_further():
    assert flaws(*[b"{"] * (MOST_LINES + 1)) == [("too_many_tasks", None)]
