"""What `doctor` says of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `note` tells of something that need not be wrong."""

    part: str
    state: State
    what: str
    remedy: str = ""
