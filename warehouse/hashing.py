"""Content hashes: the same scenario, catalog and seed give the same ids on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import orjson
import polars as pl


def content_hash(*parts: object) -> str:
    """Hexadecimal 128-bit BLAKE2b hash of the parts as JSON with sorted keys."""
    text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def hash_texts(texts: Iterable[str]) -> pl.Series:
    """The hash of each text. Polars has no hash that is stable across versions."""
    blake2b = hashlib.blake2b
    return pl.Series([blake2b(text.encode(), digest_size=16).hexdigest() for text in texts], dtype=pl.String)


def draw_places(texts: Iterable[str]) -> pl.Series:
    """A reproducible pseudo-random number in [0, 1) for each text: values below a share form a sample of that
    share."""
    return pl.Series([int(text[:13], 16) / 16**13 for text in hash_texts(texts)], dtype=pl.Float64)
