"""What an HTTP body holds, as lenient as the providers are: they send halves of emoji, and NaN."""

from __future__ import annotations

import json

import orjson


def loads(body: bytes) -> object:
    """The document in a JSON body; NaN is None. Raises ValueError where it holds none."""
    return read(body)[0]


def read(body: bytes) -> tuple[object, bytes]:
    """The document and the body, without NaN: an SDK recurses over that for ever.

    orjson is fast but strict: it takes neither NaN nor the lone surrogate of an emoji that was cut by a limit
    on tokens. Python's own parser takes both. Raises ValueError where the body holds no JSON.
    """
    try:
        return orjson.loads(body), body
    except orjson.JSONDecodeError:
        pass
    try:
        document = json.loads(body.decode(), parse_constant=lambda _: None)
        return document, json.dumps(document).encode()
    except RecursionError:
        pass
    raise ValueError("nested too deep")
