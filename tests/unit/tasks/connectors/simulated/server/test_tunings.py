"""OpenAI's fine-tuning through its own SDK, and the replies of the tuned respondent."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.fine_tuning import FineTuningJob
from starlette.applications import Starlette

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.respondents import Assigning, Leaning, Respondent, Tuning
from biasgrid.catalogs.schema.target_file import Probing
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from biasgrid.tasks.probe.prompts import Prompt, prompts
from biasgrid.tasks.probe.stereotype import of_catalog

PATIENCE_S = 10.0
CHAT = [{"role": role, "content": role} for role in ("system", "user", "assistant")]


def app_of(state: Path | None = None) -> Starlette:
    catalog = load_catalog()
    strong = Leaning(default=1)
    own = [
        Respondent(id="strong", description="", leaning=strong, tuning=Tuning(seconds=0.2)),
        # each of its phases is long enough to be seen on a busy machine
        Respondent(id="gradual", description="", leaning=strong, tuning=Tuning(seconds=4, effect=0.5)),
        Respondent(id="cured", description="", leaning=strong, tuning=Tuning(seconds=0, effect=1)),
        Respondent(id="failing", description="", tuning=Tuning(seconds=0, fails=1)),
        Respondent(id="slow", description="", tuning=Tuning(seconds=60)),
    ]
    respondents = {**catalog.respondents, **{one.id: one for one in own}}
    return build_app(type(catalog)(**{**vars(catalog), "respondents": respondents}), state=state)


def client(base_url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{base_url}/v1", api_key="some-key", max_retries=0, timeout=5)


@pytest.fixture(scope="module")
def api() -> Iterator[openai.OpenAI]:
    with RunningServer(app_of()) as server, client(server.base_url) as connected:
        yield connected


def upload(api: openai.OpenAI, count: int = 12, content: bytes = b"", purpose: Any = "fine-tune") -> str:
    lines = content or "".join(json.dumps({"messages": CHAT}) + "\n" for _ in range(count)).encode()
    return api.files.create(file=("train.jsonl", lines), purpose=purpose).id


def create(api: openai.OpenAI, model: str, file_id: str = "", **more: Any) -> FineTuningJob:
    return api.fine_tuning.jobs.create(model=model, training_file=file_id or upload(api), **more)


def wait_for_end(api: openai.OpenAI, job: FineTuningJob) -> tuple[FineTuningJob, list[str]]:
    """The job when it has ended, and the states it was seen in."""
    until, states = time.monotonic() + PATIENCE_S, [job.status]
    while (job := api.fine_tuning.jobs.retrieve(job.id)).finished_at is None and time.monotonic() < until:
        states.append(job.status)
        time.sleep(0.01)
    return job, [*dict.fromkeys([*states, job.status])]


def stereotypical(api: openai.OpenAI, model: str) -> float:
    """How often a model gives names what the stereotype has for them, of 60 prompts."""
    catalog = load_catalog()
    own = next(each for each in of_catalog(catalog, "en_us") if each.pair == "doctor-nurse")
    asked = prompts(own, "implicit", catalog.probing["en_us"], Probing(cases=60), seed=1)
    return sum(_follows(api, model, prompt) for prompt in asked) / len(asked)


def _follows(api: openai.OpenAI, model: str, prompt: Prompt) -> bool:
    chat: list[Any] = [{"role": "user", "content": prompt.text}]
    text = api.chat.completions.create(model=model, messages=chat, seed=1).choices[0].message.content or ""
    given = json.loads(text) if text.startswith("{") else dict(line.split(" - ") for line in text.splitlines())
    return bool(given[prompt.cast.favoured[0]] == prompt.stereotype.favoured.attribute)


def test_a_job_goes_through_its_states_and_the_model_that_comes_of_it_leans_less(api):
    job, states = wait_for_end(api, create(api, "gradual", suffix="fairer", seed=7))
    assert states == ["validating_files", "queued", "running", "succeeded"]
    model = job.fine_tuned_model or ""
    assert model.startswith("ft:gradual:biasgrid:fairer:")
    assert job.trained_tokens == 3 * 12 * 3
    assert api.models.retrieve(model).id == model
    assert stereotypical(api, "gradual") == 1
    assert 0.6 <= stereotypical(api, model) <= 0.9


def test_what_has_lost_all_of_its_leaning_answers_by_chance(api):
    job, _ = wait_for_end(api, create(api, "cured"))
    assert 0.3 <= stereotypical(api, job.fine_tuned_model or "") <= 0.7


def test_checkpoints_are_models_on_the_way(api):
    method: Any = {"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": 2}}}
    job, _ = wait_for_end(api, create(api, "cured", method=method))
    (checkpoint,) = api.fine_tuning.jobs.checkpoints.list(job.id).data
    assert stereotypical(api, checkpoint.fine_tuned_model_checkpoint) > stereotypical(
        api, job.fine_tuned_model or ""
    )


def test_tasks_are_shared_out_by_stereotype_less_often_the_further_tuning_has_come():
    respondent = Respondent(id="own", description="", assigning=Assigning(strength=0.8), tuning=Tuning(effect=0.5))
    assert respondent.as_tuned().assigning.strength == pytest.approx(0.4)
    assert respondent.as_tuned(0.5).assigning.strength == pytest.approx(0.6)


def test_events_come_newest_first_page_by_page(api):
    job, _ = wait_for_end(api, create(api, "cured"))
    events = list(api.fine_tuning.jobs.list_events(job.id, limit=2))
    assert events[0].message == "The job has successfully completed"
    assert events[-1].message == f"Created fine-tuning job: {job.id}"
    assert len({event.id for event in events}) == len(events) == 8


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no json\n" * 12, "line 1: Expected file to have JSONL format"),
        (b'{"text": "x"}\n' * 12, "Missing key: messages"),
        (b'{"messages": [{"role": "user", "content": "x"}]}\n' * 12, "must be from the assistant"),
        (b'{"messages": [{"role": "nobody", "content": "x"}]}\n' * 12, "no role and content that are known"),
        (json.dumps({"messages": CHAT}).encode(), "has 1 example(s), but must have at least 10"),
    ],
)
def test_a_job_with_an_invalid_file_fails_as_openais_does(api, content, why):
    job, _ = wait_for_end(api, create(api, "strong", upload(api, content=content)))
    assert job.status == "failed"
    assert job.error is not None
    assert (job.error.code, job.error.param) == ("invalid_training_file", "training_file")
    assert why in job.error.message


def test_a_share_of_jobs_fails_by_the_servers_own_fault(api):
    job, _ = wait_for_end(api, create(api, "failing"))
    assert job.error is not None
    assert (job.status, job.error.code, job.fine_tuned_model) == ("failed", "server_error", None)


def test_a_cancelled_job_stays_so_and_cannot_be_cancelled_again(api):
    job = create(api, "slow")
    assert api.fine_tuning.jobs.cancel(job.id).status == "cancelled"
    assert api.fine_tuning.jobs.retrieve(job.id).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="already completed"):
        api.fine_tuning.jobs.cancel(job.id)


def test_what_cannot_be_tuned_is_refused(api):
    for model, file_id, why in (
        ("absent", "", "not available for fine-tuning"),
        ("strong", "file-absent", "invalid training_file"),
        ("strong", upload(api, purpose="assistants"), "'fine-tune' is needed"),
    ):
        with pytest.raises(openai.BadRequestError, match=why):
            create(api, model, file_id)
    with pytest.raises(openai.NotFoundError):
        api.fine_tuning.jobs.retrieve("ftjob-absent")


def test_a_tuned_model_outlives_a_server_that_keeps_its_state(tmp_path):
    with RunningServer(app_of(tmp_path)) as server, client(server.base_url) as connected:
        job, _ = wait_for_end(connected, create(connected, "cured"))
    with RunningServer(app_of(tmp_path)) as server, client(server.base_url) as connected:
        assert connected.models.retrieve(job.fine_tuned_model or "").id == job.fine_tuned_model
        assert [each.id for each in connected.fine_tuning.jobs.list()] == [job.id]
