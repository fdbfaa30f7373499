"""Random draws that are equal on every machine, as they are hashes instead of a generator's state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Option = TypeVar("Option")


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on all parts and on nothing else."""
    # JSON distinguishes ("a", "bc") from ("ab", "c"), and escapes text that is invalid in UTF-8
    digest = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


@dataclass(frozen=True, slots=True)
class Chance:
    """Random draws for one reply: independent by purpose, fixed by respondent, message and seed."""

    respondent: str
    respondent_seed: int
    message: str
    seed: int | None

    def uniform(self, purpose: str) -> float:
        return uniform(self.respondent, self.respondent_seed, self.message, self.seed, purpose)

    def pick(self, purpose: str, options: Sequence[Option]) -> Option:
        """One of the options with equal probability. Raises IndexError if there is none."""
        return options[int(self.uniform(purpose) * len(options))]
