"""promptfoo: one test with one assertion per prompt, uncached, its telemetry and update check off."""

import json
import subprocess
from pathlib import Path

from peers.recipe import Job, Launch

NAME = "promptfoo"
VERSION = "0.121"


def install(home: Path) -> None:
    home.mkdir(parents=True)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(home), f"promptfoo@{VERSION}"]
    subprocess.run(npm, check=True, stdout=subprocess.DEVNULL)


def launch(home: Path, job: Job) -> Launch:
    provider = {"id": "openai:chat:m", "config": {"apiBaseUrl": job.base_url, "apiKey": "none"}}
    asserted = [{"type": "icontains", "value": "no"}]
    tests = [{"vars": {"asked": prompt}, "assert": asserted} for prompt in job.prompts]
    config = {"prompts": ["{{asked}}"], "providers": [provider], "tests": tests}
    (job.folder / "config.json").write_text(json.dumps(config))
    options = ["--no-cache", "--max-concurrency", str(job.concurrency), "--output", "results.json"]
    command = [f"{home}/node_modules/.bin/promptfoo", "eval", "--config", "config.json", *options]
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
    return Launch(command, job.folder, quiet | {"PROMPTFOO_CONFIG_DIR": str(job.folder / "home")})
