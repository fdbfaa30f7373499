"""What an oracle asks of a reply, in a sentence that a judge and a person can go by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from catalogs.oracle import Operation, Oracle

_RULES: Final[Mapping[Operation, str]] = {
    "equal": "The answer is, or amounts to, one of these: {}.",
    "allEqualExpected": "The answer is, or amounts to, one of these: {}.",
    "different": "The answer is none of these, and amounts to none of them: {}.",
    "notIncludesAny": "The reply names none of these, in any wording: {}.",
}

IN_WORDS: Final = tuple(_RULES)
"""Operations by which one reply can be judged by meaning. Numbers are compared with each other, and which letter
was chosen or how words were paired is read or not read."""


def in_words(oracle: Oracle) -> str:
    """The rule of an oracle of one of the operations `IN_WORDS`."""
    return _RULES[oracle.operation].format(", ".join(json.dumps(v, ensure_ascii=False) for v in oracle.expected))
