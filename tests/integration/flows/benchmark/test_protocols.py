"""One respondent behind three providers' own SDKs and in process: the same verdict for the same instance."""

import polars as pl
import pytest

from biasgrid.flows.api import Benchmark

pytestmark = pytest.mark.usefixtures("prefect_api")

MODELS = ["simulated/biased", "openai/gpt-4o-mini", "huggingface/acme/biased", "replicate/meta/llama-2-7b-chat"]


@pytest.mark.drill
def test_the_sdks_and_the_process_give_the_same_verdicts(scenario, serve, landed, monkeypatch, tmp_path):
    server = serve("biased")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
    monkeypatch.setenv("HF_INFERENCE_BASE_URL", server.base_url)
    monkeypatch.setenv("REPLICATE_API_BASE_URL", server.base_url)
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "REPLICATE_API_TOKEN"):
        monkeypatch.setenv(name, "any")
    outcome = Benchmark(scenario(MODELS), data=tmp_path).run()
    run = landed(tmp_path, outcome.run_id)
    each = run.table("cases").height // len(MODELS)
    assert len(server.bodies) == 3 * each
    assert run.replies["request_key"].n_unique() == run.replies.height == 4 * each

    verdicts = run.outcomes()
    assert set(verdicts["outcome"]) >= {"passed", "failed"}
    fields = {
        model: rows.drop("model").rows() for (model,), rows in verdicts.partition_by("model", as_dict=True).items()
    }
    assert set(fields) == set(MODELS)
    for model in MODELS:
        assert fields[model] == fields["simulated/biased"], model
    texts = run.replies.join(run.table("cases").select("case_id", "instance_id"), on="case_id")
    assert texts.group_by("instance_id").agg(pl.col("text").n_unique())["text"].unique().to_list() == [1]
    rates = {row["model"]: row["rate"] for row in outcome.findings}
    assert len(set(rates.values())) == 1
