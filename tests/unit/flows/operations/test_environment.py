"""Keys that a Prefect server may hold: if it does not answer, the error states so."""

import json
import socket
from uuid import UUID

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.operations.environment import secret_blocks
from support.http_server import address_of, listening


def look_up(address: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setenv("PREFECT_API_URL", address)
    read = secret_blocks()
    assert read is not None
    with temporary_settings({PREFECT_API_URL: address}):
        return read("openai-api-key")


BLOCK = {
    "id": str(UUID(int=1)),
    "name": "openai-api-key",
    "data": {"value": "sk-1"},
    "block_schema_id": str(UUID(int=2)),
    "block_type_id": str(UUID(int=3)),
    "block_document_references": {},
    "block_schema": {
        "id": str(UUID(int=2)),
        "checksum": "sha256:",
        "fields": {},
        "block_type_id": str(UUID(int=3)),
    },
}


def look_up_at(status: int, body: object, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The key that a server gives for a block of this content."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    with listening(lambda _request, _body: (status, {"Content-Type": "application/json"}, text)) as server:
        return look_up(f"{address_of(server)}/api", monkeypatch)


@pytest.mark.parametrize("key", ["sk-1", "12345", "true", ""])
def test_a_key_is_read_as_it_was_saved(key, monkeypatch):
    assert look_up_at(200, BLOCK | {"data": {"value": key}}, monkeypatch) == key


@pytest.mark.parametrize(
    ("status", "body", "reported"),
    [
        (401, {}, "does not let us look for the key `openai-api-key`"),
        (500, {"detail": "no"}, r"cannot read the key `openai-api-key` \(HTTP 500\)"),
        *(
            (200, body, "block `openai-api-key` holds no text")
            for body in (
                b"\x80\x04K\x01.",
                b"",
                {},
                BLOCK | {"data": {}},
                BLOCK | {"data": {"value": {"a": 1}}},
                BLOCK | {"data": {"value": None}},
                BLOCK | {"data": ["value"]},
            )
        ),
    ],
)
def test_a_server_that_gives_no_key_is_a_mistake(status, body, reported, monkeypatch):
    with pytest.raises(UserError, match=reported):
        look_up_at(status, body, monkeypatch)


def test_a_server_that_does_not_answer_is_a_mistake(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(UserError, match="that may hold the key `openai-api-key` does not answer"):
        look_up(f"http://127.0.0.1:{port}/api", monkeypatch)
