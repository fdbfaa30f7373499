"""inspect-ai: one task with a scorer, its defaults otherwise, the log written as it goes among them."""

import json
from pathlib import Path

from peers.recipe import Job, Launch, install_with_pip

NAME = "inspect-ai"
VERSION = "0.3.285"
TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


@task
def asked():
    return Task(dataset=json_dataset("prompts.jsonl"), solver=generate(), scorer=includes())
"""


def install(home: Path) -> None:
    install_with_pip(home, f"inspect-ai=={VERSION}", "openai")


def launch(home: Path, job: Job) -> Launch:
    (job.folder / "task.py").write_text(TASK)
    lines = [json.dumps({"input": prompt, "target": "No"}) for prompt in job.prompts]
    (job.folder / "prompts.jsonl").write_text("\n".join(lines))
    model = ["--model", "openai-api/loopback/m", "--max-connections", str(job.concurrency)]
    environment = {"LOOPBACK_BASE_URL": job.base_url, "LOOPBACK_API_KEY": "none"}
    return Launch([f"{home}/bin/inspect", "eval", "task.py", *model], job.folder, environment)
