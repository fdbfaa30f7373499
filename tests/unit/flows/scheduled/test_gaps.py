"""What has no reply: by model and class of error, since the first failure after the last reply."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from biasgrid.flows.scheduled.gaps import Gap, read_gaps, shard_state
from biasgrid.warehouse.schemas import KEYS
from biasgrid.warehouse.storage.lake import Lake

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def land(lake: Lake, *rows: tuple[str, str, int, str | None]) -> None:
    """Cases (case, model) and what became of them after so many minutes."""
    cases = pl.DataFrame({"case_id": [f"c{n}" for n in range(4)], "model": ["a/x"] * 3 + ["a/y"]})
    names = [name for name in KEYS["cases"] if name not in cases.columns]
    own = {"sample": pl.lit(1), "run_id": pl.lit("R1"), "cell_id": pl.lit("one")}
    keys = dict.fromkeys(names, pl.lit("x")) | own
    lake.write("cases", "R1", "one", cases.with_columns(**keys))
    responses = [
        {"run_id": "R1", "case_id": case, "cell_id": "one", "model": model, "purpose": "subject"}
        | {"text": None if error else "Yes", "error_class": error, "error_message": f"`{model}`: why"}
        | {"received_at": NOON + timedelta(minutes=minutes), "response_id": f"{case}-{minutes}"}
        | {"request_key": case}
        for case, model, minutes, error in rows
    ]
    lake.write("responses", "R1", "one", pl.DataFrame(responses, infer_schema_length=None))


def test_gaps_count_cases_by_class_since_the_first_failure_after_the_last_reply(lake):
    land(
        lake,
        ("c1", "a/x", 1, "ServerFault"),
        ("c0", "a/x", 5, None),
        ("c1", "a/x", 7, "Disconnected"),
        ("c2", "a/x", 9, "ProviderAway"),
        ("c1", "a/x", 20, "ProviderAway"),
        ("c3", "a/y", 3, "KeyRejected"),
    )
    since = NOON + timedelta(minutes=7)
    assert read_gaps(lake, "R1", ["a/x"]) == [Gap("a/x", "away", 2, 3, since, "`a/x`: why")]
    assert str(read_gaps(lake, "R1")[0]) == "a/x: away × 2 of 3 since 2026-03-01 12:07 UTC (why)"
    assert [(gap.model, gap.word) for gap in read_gaps(lake, "R1")] == [("a/x", "away"), ("a/y", "key rejected")]


def test_what_was_never_sent_is_named_as_such(lake):
    land(lake, ("c0", "a/x", 1, None), ("c3", "a/y", 1, None))
    assert read_gaps(lake, "R1") == [Gap("a/x", "not asked", 2, 3, None, "")]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([], "Completed"),
        (["rejected", "away"], "Away"),
        (["throttled"], "Away"),
        (["quota"], "Stopped"),
        (["key rejected"], "Stopped"),
        (["no API"], "Stopped"),
        (["cap"], "OverCost"),
        (["rejected"], "Unanswered"),
        (["broken reply"], "Unanswered"),
    ],
)
def test_a_shard_is_completed_only_if_nothing_is_lacking(words, name):
    state = shard_state(["3 answered"], [Gap("a/x", word, 1, 3, NOON, "why") for word in words], "resume with: r")
    assert state.name == name
    assert ("resume with: r" in str(state.message)) == bool(words)
