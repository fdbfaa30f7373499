"""Forms with files, as SDKs upload them (RFC 7578)."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import Message
from email.parser import BytesHeaderParser

HEADERS_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Part:
    content: bytes
    filename: str | None


def parts(content_type: str, body: bytes) -> dict[str, Part]:
    """By the name of the field. Raises ValueError where the body is no such form."""
    header = Message()
    header["content-type"] = content_type
    boundary = header.get_param("boundary")
    if header.get_content_type() != "multipart/form-data" or not isinstance(boundary, str) or not boundary:
        raise ValueError("no multipart form")
    # the first piece is a preamble, the last one what follows the closing boundary
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())[1:-1]
    return dict(_part(piece) for piece in pieces)


def _part(piece: bytes) -> tuple[str, Part]:
    head, found, content = piece.partition(HEADERS_END)
    said = BytesHeaderParser().parsebytes(head.lstrip() + HEADERS_END)
    name = said.get_param("name", header="content-disposition")
    if not found or not isinstance(name, str):
        raise ValueError("a part has no name")
    return name, Part(content, said.get_filename())
