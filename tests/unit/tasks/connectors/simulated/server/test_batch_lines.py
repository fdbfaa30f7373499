"""What OpenAI finds wrong with a batch's input file, line by line."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from biasgrid.tasks.connectors.simulated.server.batch_lines import MOST_LINES, BatchReader
from biasgrid.tasks.connectors.simulated.server.job_protocol import read_form

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


def encode(content: bytes, name: str = "in.jsonl") -> tuple[str, bytes]:
    request = httpx.Request("POST", "http://x", data={"purpose": "batch"}, files={"file": (name, content)})
    return request.headers["content-type"], request.read()


@pytest.mark.parametrize(
    "content", [b"", b"{}\n{}\n", b"\r\n", b"--\r\n--x\r\n\r\n", bytes(range(256)), "Größe\n".encode()]
)
def test_a_file_arrives_byte_for_byte_with_its_name(content):
    form = read_form(*encode(content))
    assert (form["file"].content, form["file"].filename) == (content, "in.jsonl")
    assert (form["purpose"].content, form["purpose"].filename) == (b"batch", None)


@pytest.mark.parametrize(
    "content_type", ["", "application/json", "multipart/form-data", "multipart/form-data; boundary="]
)
def test_what_is_no_form_is_distinguished(content_type):
    with pytest.raises(ValueError, match="no multipart form"):
        read_form(content_type, b"--x\r\n\r\n--x--")


def test_a_part_without_a_name_is_no_part():
    with pytest.raises(ValueError, match="no name"):
        read_form("multipart/form-data; boundary=x", b"--x\r\ncontent-type: text/plain\r\n\r\nhello\r\n--x--\r\n")
