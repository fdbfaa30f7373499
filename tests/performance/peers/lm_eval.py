"""lm-eval: a task of its own over a local file, through its OpenAI-compatible chat model."""

import json
from pathlib import Path

from peers.recipe import Job, Launch, install_with_pip

NAME = "lm-eval"
VERSION = "0.4.13"
TASK = """\
task: asked
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{prompts}"}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{asked}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["<end>"], max_gen_toks: 60}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""


def install(home: Path) -> None:
    install_with_pip(home, f"lm-eval[api]=={VERSION}")


def launch(home: Path, job: Job) -> Launch:
    prompts = job.folder / "prompts.jsonl"
    prompts.write_text("\n".join(json.dumps({"asked": text, "answer": "No."}) for text in job.prompts))
    (job.folder / "asked.yaml").write_text(TASK.format(prompts=prompts))
    model = f"model=m,base_url={job.base_url}/chat/completions,num_concurrent={job.concurrency},max_retries=3"
    options = ["--tasks", "asked", "--include_path", str(job.folder), "--apply_chat_template"]
    command = [f"{home}/bin/lm_eval", "--model", "local-chat-completions", "--model_args", model, *options]
    offline = {"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return Launch(command, job.folder, offline | {"HF_HOME": str(job.folder / "home")})
