"""Names under which Prefect keeps what it shows of a model."""

import re

import pytest

from biasgrid.tasks.connectors.task import artifact_key


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("openai/gpt-4o", "progress-openai-gpt-4o"),
        ("huggingface/mistralai/Mistral-7B_v0.3", "progress-huggingface-mistralai-mistral-7b-v0-3"),
        ("gateway/weird_*name*|x", "progress-gateway-weird-name-x"),
    ],
)
def test_a_key_reads_as_the_model_does(model, key):
    assert artifact_key("progress", model) == key


def test_names_that_a_key_cannot_distinguish_have_keys_of_their_own():
    keys = {artifact_key("progress", model) for model in ("gateway/模型", "gateway/模型二", "模型")}
    assert len(keys) == 3
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key) for key in keys)
