from __future__ import annotations

import httpx
import pytest

from biasgrid.tasks.connectors.simulated.server.job_protocol import read_form


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
