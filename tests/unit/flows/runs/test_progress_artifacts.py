"""What those who watch are told of each model: counted at every case, said when it is through or stops."""

import logging
from typing import Any

import pytest

from biasgrid.flows.runs.progress_artifacts import ModelProgress


class Seen:
    """Somebody else who watches."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def planned(self, run_id: str, requests: dict[str, int]) -> None:
        self.told.append((run_id, requests))

    def landed(self, model: str, outcome: str, cost_usd: float | None) -> None:
        self.told.append((model, outcome, cost_usd))

    def stopped(self, model: str, why: str) -> None:
        self.told.append((model, why))

    def waiting(self, why: str) -> None:
        self.told.append(why)


@pytest.fixture
def progress() -> ModelProgress:
    progress = ModelProgress(logging.getLogger("progress"))
    progress.planned("R1", {"a/x": 4, "b/y": 1})
    return progress


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "progress")
    return caplog


def test_a_model_is_told_of_once_when_its_last_case_is_through(progress, said):
    for outcome in ("answered", "answered", "kept"):
        progress.landed("a/x", outcome, 0.25)
    assert (progress.standings["a/x"].percent, said.messages) == (75.0, [])
    progress.landed("a/x", "failed")
    assert said.messages == ["a/x: 4 of 4 cases: 2 answered, 1 kept, 1 failed, $0.75"]


def test_a_model_that_stops_is_told_of_once_whichever_of_its_cells_says_so(progress, said):
    progress.stopped("b/y", "the key was rejected")
    progress.stopped("b/y", "the key was rejected")
    assert [(record.levelname, record.message) for record in said.records] == [
        ("WARNING", "b/y is stopped: the key was rejected")
    ]
    assert str(progress.standings["b/y"]).endswith("; stopped: the key was rejected")


def test_who_watched_before_hears_everything():
    seen = Seen()
    progress = ModelProgress(logging.getLogger("progress"), seen)
    progress.planned("R1", {"a/x": 1})
    progress.landed("a/x", "answered", None)
    progress.stopped("a/x", "why")
    progress.waiting("for slots")
    assert seen.told == [("R1", {"a/x": 1}), ("a/x", "answered", None), ("a/x", "why"), "for slots"]
