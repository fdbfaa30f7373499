"""Text of others within a message, and the JSON object that a model was told to reply with.

What is quoted stands between marks that it cannot contain; what comes back is read strictly or not at all.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final

LONGEST_OBJECT: Final = 20_000
"""Characters; a longer reply is no such object."""


class NotAsAsked(ValueError):
    """Why a reply is not the object that was asked for."""


def mark(*texts: str) -> str:
    """A delimiter that depends on all it encloses: a text that held its own mark would have another."""
    parts = [f"{len(text)}\x1f{text}" for text in texts[:-1]] + [*texts[-1:]]
    return blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()


def quoted(name: str, marked: str, text: str) -> str:
    return f"<<<{name} {marked}\n{text}\n{name} {marked}>>>"


def object_said(text: str) -> dict[str, Any]:
    """The one JSON object that a reply is, alone or in one fence, with every key once. Raises NotAsAsked."""
    body = _unfenced(text.strip())
    if len(body) > LONGEST_OBJECT:
        raise NotAsAsked("is too long to be the JSON asked for")
    try:
        said = json.loads(body, object_pairs_hook=_keys_once)
    except (ValueError, RecursionError) as error:
        raise NotAsAsked("is not the JSON asked for") from error
    if not isinstance(said, dict):
        raise NotAsAsked("is not a JSON object")
    return said


def _unfenced(text: str) -> str:
    if not (text.startswith("```") and text.endswith("```") and "\n" in text):
        return text
    return text[text.index("\n") : -3].strip()
