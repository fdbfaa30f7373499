"""Checks as runs have them, and one whose names mean harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from biasgrid.tasks.report.checks import Check
from biasgrid.warehouse.storage.runs import Run

FAIR = Check(
    model="openai/gpt-4o",
    topic="sexism",
    name="genders-alike",
    language="en_us",
    by_point="met",
    decided="undecided",
    finding="met",
    counted=19,
    total=20,
    counts="tests passed",
    measure="mean pass rate over templates",
    unit="share",
    value=0.95,
    low=0.82,
    high=0.99,
    bar=0.9,
    bar_name="tolerance",
    lost={"refused": 2, "unreadable": 0},
    needed=38,
)
UNFAIR = replace(FAIR, name="ages", by_point="not met", decided="not met", finding="not met", counted=4, value=0.2)
UNTOLD = replace(
    FAIR,
    name="faiths",
    by_point="not evaluated",
    decided="not evaluated",
    finding="not evaluated",
    total=0,
    value=None,
    low=None,
    high=None,
)
HARMFUL = (
    "a`b``c | <script>alert(1)</script> @octocat #1 https://evil.example www.evil.example ![x](y) "
    "\x00\x1b[31m\u202e ]]> &amp; *b* _i_ ~s~ $(touch x) ' \" \ud800 {{ x }} =1+1"
)
HOSTILE = replace(UNFAIR, model=HARMFUL, name=HARMFUL, topic=HARMFUL)


@pytest.fixture
def checked() -> list[Check]:
    return [FAIR, UNFAIR, UNTOLD, HOSTILE]


@pytest.fixture
def run() -> Callable[..., Run]:
    began = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)

    def make_check(state: str = "completed", kind: str = "benchmark") -> Run:
        return Run("01R", state, kind, "{}", "{}", "{}", "{}", 7, began)  # type: ignore[arg-type]

    return make_check
