"""Events of each model that listeners receive: counted at every case, logged when it is finished or stops."""

import logging
from unittest.mock import Mock, call

import pytest

from biasgrid.flows.runs.progress_artifacts import ModelProgress


@pytest.fixture
def progress() -> ModelProgress:
    progress = ModelProgress(logging.getLogger("progress"))
    progress.planned("R1", {"a/x": 4, "b/y": 1})
    return progress


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "progress")
    return caplog


def test_a_model_is_logged_once_when_its_last_case_is_finished(progress, log):
    for outcome in ("answered", "answered", "kept"):
        progress.landed("a/x", outcome, 0.25)
    assert (progress.standings["a/x"].percent, log.messages) == (75.0, [])
    progress.landed("a/x", "failed")
    assert log.messages == ["a/x: 4 of 4 cases: 2 answered, 1 kept, 1 failed, $0.75"]


def test_a_model_that_stops_is_logged_once_whichever_of_its_cells_reports_it(progress, log):
    progress.stopped("b/y", "the key was rejected")
    progress.stopped("b/y", "the key was rejected")
    assert [(record.levelname, record.message) for record in log.records] == [
        ("WARNING", "b/y is stopped: the key was rejected")
    ]
    assert str(progress.standings["b/y"]).endswith("; stopped: the key was rejected")


def test_an_earlier_listener_receives_everything():
    seen = Mock()
    progress = ModelProgress(logging.getLogger("progress"), seen)
    progress.planned("R1", {"a/x": 1})
    progress.landed("a/x", "answered", None)
    progress.stopped("a/x", "why")
    progress.waiting("for slots")
    landed = call.landed("a/x", "answered", None)
    planned, stopped = call.planned("R1", {"a/x": 1}), call.stopped("a/x", "why")
    assert seen.mock_calls == [planned, landed, stopped, call.waiting("for slots")]
