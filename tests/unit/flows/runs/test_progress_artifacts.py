"""Events of each model that listeners receive: counted at every case, logged when it is finished or stops."""

import logging
from unittest.mock import Mock, call

import pytest

from biasgrid.flows.runs.progress_artifacts import ModelProgress


@pytest.fixture
def progress() -> ModelProgress:
    progress = ModelProgress(logging.getLogger("progress"))
    progress.on_plan("R1", {"a/x": 4, "b/y": 1})
    return progress


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "progress")
    return caplog


def test_a_model_is_logged_once_when_its_last_case_is_finished(progress, log):
    for outcome in ("answered", "answered", "kept"):
        progress.on_case("a/x", outcome, 0.25)
    assert (progress.standings["a/x"].percent, log.messages) == (75.0, [])
    progress.on_case("a/x", "failed")
    assert log.messages == ["a/x: 4 of 4 cases: 2 answered, 1 kept, 1 failed, $0.75"]


def test_a_model_that_stops_is_logged_once_whichever_of_its_cells_reports_it(progress, log):
    progress.on_stop("b/y", "the key was rejected")
    progress.on_stop("b/y", "the key was rejected")
    assert [(record.levelname, record.message) for record in log.records] == [
        ("WARNING", "b/y is stopped: the key was rejected")
    ]
    assert str(progress.standings["b/y"]).endswith("; stopped: the key was rejected")


def test_an_earlier_listener_receives_everything():
    seen = Mock()
    progress = ModelProgress(logging.getLogger("progress"), seen)
    progress.on_plan("R1", {"a/x": 1})
    progress.on_case("a/x", "answered", None)
    progress.on_stop("a/x", "why")
    progress.on_wait("for slots")
    landed = call.on_case("a/x", "answered", None)
    planned, stopped = call.on_plan("R1", {"a/x": 1}), call.on_stop("a/x", "why")
    assert seen.mock_calls == [planned, landed, stopped, call.on_wait("for slots")]
