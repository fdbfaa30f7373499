"""Keys that stand in a file as they are, where only the name of an environment variable should."""

from __future__ import annotations

import re

from biasgrid.catalogs.scenario.endpoint_placeholders import PLACEHOLDER, VARIABLE

NAMED = re.compile(
    r"authorization|^cookie$|(?:^|[-_.]|access|auth|api|client|bearer)(?:token|secret|password|credentials?)$"
    r"|(?:access|auth|api|client|subscription|secret)[-_.]?key$|^x-.*key$",
    re.IGNORECASE,
)
"""What is called so holds a secret."""
SCHEME = re.compile(r"^\s*(?:bearer|basic|token|apikey|key)\b", re.IGNORECASE)
SHAPED = re.compile(
    r"^\s*(?:[Bb]earer|[Bb]asic)\s+\S|(?<!\w)(?:sk|rk|pk|hf|r8|gh[pousr]|xox[abp])[-_][\w-]{6,}|eyJ[\w-]{10,}\."
)
"""What looks like a secret whatever it is called: credentials with a scheme, vendors' keys, JSON web tokens."""
RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}")
SHORT = 6
"""Fewer characters are no secret."""


def is_secret(name: str, value: str) -> bool:
    """Whether a value, apart from what is filled in later, looks like a key or a password."""
    literal = VARIABLE.sub("", PLACEHOLDER.sub("", value))
    if SHAPED.search(literal) or RANDOM.search(literal):
        return True
    return bool(NAMED.search(name)) and len(SCHEME.sub("", literal).strip()) >= SHORT
