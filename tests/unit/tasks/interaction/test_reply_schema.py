"""The form in which a model replies that takes a JSON Schema."""

from __future__ import annotations

import json

import pytest

from biasgrid.catalogs.schema.models import Limits, Prices, Target
from biasgrid.catalogs.schema.scenes import Question
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.interaction.converse import SCHEMAS


def party(structured: bool) -> Participant:
    prices, limits = Prices(input=1, output=1), Limits(concurrency=1)
    target = Target(
        model="own/a",
        provider="own",
        name="a",
        connector="own",
        prices=prices,
        limits=limits,
        structured=structured,
    )
    return Participant(target, "a", max_tokens=50)


@pytest.mark.parametrize("question", ["assignment", "choice"])
def test_a_model_writes_its_remarks_before_it_assigns(question: Question) -> None:
    schema = json.loads(party(structured=True).parameters(1, SCHEMAS[question]))["json_schema"]
    assert list(schema["properties"]) == schema["required"]
    assert schema["required"][0] == "remarks"


def test_a_model_that_takes_no_schema_is_sent_none() -> None:
    assert "json_schema" not in json.loads(party(structured=False).parameters(1, SCHEMAS["choice"]))
