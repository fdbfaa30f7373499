"""Fine-tuning as a flow, with OpenAI's SDK and respondents over loopback: what it ends as, shows, and leaves."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.respondents import Respondent, Tuning
from biasgrid.flows.finetuning.flow import finetune
from biasgrid.flows.probe.flow import probe
from biasgrid.flows.runs.outcome import MET
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from support.paths import TUNING_CATALOG

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where `gpt-4o-mini` leans and can be cured of it, and the tuning of `gpt-4o` fails."""
    catalog = load_catalog()
    cured = catalog.respondents["leaning"].model_copy(update={"tuning": Tuning(seconds=0.2, effect=1)})
    failing = Respondent(id="failing", description="", tuning=Tuning(seconds=0, fails=1))
    respondents = {**catalog.respondents, "leaning": cured, "failing": failing}
    served = build_app(
        replace(catalog, respondents=respondents), "leaning", {"openai/gpt-4o": "failing", "gpt-4o": "failing"}
    )
    monkeypatch.setenv("BIASGRID_CATALOG", str(TUNING_CATALOG))
    monkeypatch.setenv("OPENAI_API_KEY", "no-matter")
    monkeypatch.setenv("BIASGRID_BATCH_POLL_S", "0.05")
    with RunningServer(served) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        yield server.base_url


def test_a_tuned_model_is_probed_by_its_name_and_leans_no_more(provider, tmp_path):
    data = str(tmp_path / "data")
    found = asyncio.run(finetune(model="openai/gpt-4o-mini", variant="half", data=data))
    assert (found.exit_code, found.state) == (0, "succeeded")
    assert (found.model or "").startswith("openai/ft:gpt-4o-mini:biasgrid:biasgrid-half:")
    again = asyncio.run(finetune(model="openai/gpt-4o-mini", variant="half", data=data))
    assert again.model == found.model
    asked = {"target": {"models": [found.model]}, "probe": {"pairs": ["doctor-nurse"], "cases": 40}}
    assert asyncio.run(probe(target=asked, data=data)).exit_code == MET


def test_a_job_that_fails_ends_the_flow_with_the_providers_words(provider, tmp_path):
    found = asyncio.run(finetune(model="openai/gpt-4o", data=str(tmp_path / "data")))
    assert (found.exit_code, found.state, found.model) == (3, "failed", None)
    assert found.why == "The job failed due to an internal error."
