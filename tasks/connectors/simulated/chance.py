"""Chance that is the same on every machine: draws are hashes, not a generator's state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Option = TypeVar("Option")


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone, and on each of them."""
    # JSON keeps ("a", "bc") and ("ab", "c") apart, and escapes what UTF-8 cannot hold
    digest = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


@dataclass(frozen=True, slots=True)
class Chance:
    """The draws behind one reply: independent by purpose, fixed by respondent, message and seed."""

    respondent: str
    respondent_seed: int
    message: str
    seed: int | None

    def uniform(self, purpose: str) -> float:
        return uniform(self.respondent, self.respondent_seed, self.message, self.seed, purpose)

    def pick(self, purpose: str, options: Sequence[Option]) -> Option:
        """One of the options, each as likely. Raises IndexError where there is none."""
        return options[int(self.uniform(purpose) * len(options))]
