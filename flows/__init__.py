"""Wiring: Prefect flows over the four verbs, and the command line."""

from __future__ import annotations

import os

# Prefect reads these when it is first imported. Nothing is sent home; the recorder keeps up with runs of
# hundreds of tasks, which with its own defaults loses records when an ephemeral server shuts down.
for _name, _value in {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}.items():
    os.environ.setdefault(_name, _value)
