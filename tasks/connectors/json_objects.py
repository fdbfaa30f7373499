"""JSON from outside: HTTP bodies are read leniently, objects in model replies strictly and one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Never

import orjson

LONGEST_OBJECT: Final = 20_000
"""Characters; longer replies are rejected."""


class NotAsAsked(ValueError):
    """Why a reply is not the requested object."""


def delimiter(*texts: str) -> str:
    """A delimiter computed from all texts that it encloses, so that no text can contain its own."""
    parts = [f"{len(text)}\x1f{text}" for text in texts[:-1]] + [*texts[-1:]]
    return blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()


def quote_block(name: str, marked: str, text: str) -> str:
    return f"<<<{name} {marked}\n{text}\n{name} {marked}>>>"


def parse_object(text: str) -> dict[str, Any]:
    """The one JSON object in a reply, alone or in one fence, without duplicate keys. Raises NotAsAsked."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and "\n" in body:
        body = body[body.index("\n") : -3].strip()
    if len(body) > LONGEST_OBJECT:
        raise NotAsAsked("is too long to be the JSON asked for")
    try:
        found = json.loads(body, object_pairs_hook=_keys_once)
    except (ValueError, RecursionError) as error:
        raise NotAsAsked("is not the JSON asked for") from error
    if not isinstance(found, dict):
        raise NotAsAsked("is not a JSON object")
    return found


class Body(NamedTuple):
    """The document in a JSON body, and its bytes."""

    document: Mapping[str, Any]
    raw: bytes


MOST_VALUES: Final = 1_000_000
"""Values in a body of more than a megabyte: each takes up to a hundred bytes of memory."""


def parse_body(body: bytes) -> object:
    """The document in a JSON body, NaN as None. Raises ValueError if there is none, or if it holds too much."""
    if len(body) > 10**6 and sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError("too many values")
    # Unlike orjson, Python's own parser accepts NaN, the lone surrogate of a truncated emoji, a byte order mark,
    # and UTF-16.
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body, parse_constant=lambda _: None)
    except RecursionError:
        pass
    raise ValueError("nested too deep")


LONGEST_REPLY: Final = 400_000
MOST: Final = 200
"""Most objects, or attempts to read one, in a reply."""
_THOUGHTS: Final = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_ARRAY: Final = re.compile(r"\[\s*\{(?=\s*[\"}])")
"""Excludes `[{GENDER}]`, which may occur in prose."""
_NEXT: Final = re.compile(r"\{(?=\s*\")")
_RESUME: Final = re.compile(r"\}[\s,]*(?=\{\s*\")")


@dataclass(frozen=True, slots=True)
class RejectedText:
    """A rejected text of a model, with the reason."""

    text: str
    reason: str


def read_objects(reply: str) -> Iterator[dict[str, Any] | RejectedText]:
    """All objects in the reply's arrays, in order; `RejectedText` for each that is invalid JSON."""
    body = _THOUGHTS.sub("", reply, count=1)
    if len(body) > LONGEST_REPLY:
        yield RejectedText(f"{body[:1000]}…", f"the reply has more than {LONGEST_REPLY:,} characters")
        return
    place = _find_start(body)
    if place is None:
        yield RejectedText(body.strip(), "the reply holds no JSON array of objects")
        return
    for _ in range(MOST):
        found, place = _read_next(body, place)
        yield found
        if place is None:
            return
    yield RejectedText(body[place:], f"the reply goes on after {MOST} objects")


def _read_next(body: str, place: int) -> tuple[dict[str, Any] | RejectedText, int | None]:
    """The object that begins at `place`, and the start of the next one."""
    try:
        found, end = _DECODER.raw_decode(body, place)
    except (ValueError, RecursionError) as error:
        resumed = _RESUME.search(body, place + 1)
        text = body[place : resumed.start() + 1 if resumed else None].strip()
        return RejectedText(text, _reason(error, cut=resumed is None)), resumed.end() if resumed else None
    following = _NEXT.search(body, end)
    return found, following.start() if following else None


def _find_start(body: str) -> int | None:
    """Start of the first object in an array or, without an array, of the first object."""
    array = _ARRAY.search(body)
    if array is not None:
        return array.end() - 1
    found = _NEXT.search(body)
    brace = found.start() if found else body.find("{")
    return None if brace < 0 else brace


def _reason(error: ValueError | RecursionError, *, cut: bool) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return f"is no valid JSON{', or was cut off' if cut else ''}: {reason}"


def _keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError("a key stands twice")
    return keys


def _refuse_number(name: str) -> Never:
    raise ValueError(f"{name} is no number")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_keys_once, parse_constant=_refuse_number)
