"""What a reviewer of a red team sees, from what its target and its judge were sent."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.review.kinds import attack_evaluation, judged_exchanges, show_exchanges
from biasgrid.tasks.review.units import Shown
from biasgrid.warehouse.storage.lake import Lake

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
Land = Callable[..., dict[int, Shown]]


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def reply_row(
    turn: int, sent: list[dict[str, str]], text: str, speaker: str = "target", again: int = 0
) -> dict[str, Any]:
    """A row of responses; `again`: how often the same had been asked before."""
    return {
        "run_id": "run",
        "cell_id": "c",
        "case_id": "s",
        "response_id": f"{speaker}-{turn}-{again}",
        "request_key": f"{speaker}-{turn}",
        "purpose": {"target": "subject"}.get(speaker, speaker),
        "turn": turn,
        "messages": sent,
        "text": text,
        "received_at": NOON + timedelta(seconds=10 * turn + again),
    }


@pytest.fixture
def shown(tmp_path: Path) -> Land:
    """What is shown of each judged turn of a session: `shown(strategy, rows, judged=(2,))`."""
    lake = Lake(tmp_path)

    def land(strategy: str, *rows: dict[str, Any], judged: tuple[int, ...]) -> dict[int, Shown]:
        ids = {"run_id": "run", "cell_id": "c", "case_id": "s", "template_id": "t"}
        asked = {"concern": "sexism", "language": "en_us", "model": "m", "input": strategy, "instance_id": "i"}
        case = ids | asked | {"template_text": "It is biased if it is.", "sample": 1, "request_key": "s"}
        lake.write("cases", "run", "c", pl.DataFrame([case]))
        lake.write("responses", "run", "c", pl.DataFrame(list(rows), infer_schema_length=None))
        verdict = {"evaluation_id": "run", "level": "instance", "assessor": "j", "outcome": "passed"}
        verdicts = [
            ids | verdict | {"verdict_id": f"v{turn}", "sample": turn, "response_id": f"target-{turn}-0"}
            for turn in judged
        ]
        lake.write("verdicts", "run", "run-c", pl.DataFrame(verdicts))
        units = judged_exchanges(lake, "run", "run")
        texts = show_exchanges(lake, "run", units)
        return {row["sample"]: texts[row["unit_id"]] for row in units.iter_rows(named=True)}

    return land


def test_a_target_that_remembers_was_sent_the_last_message_alone(shown):
    system = message("system", "You are Larkspur.")
    turns = [
        reply_row(1, [system, message("user", "One?")], "First."),
        reply_row(1, [system, message("user", "One?")], "First, asked again.", again=1),
        reply_row(2, [system, message("user", "Two?")], "Second."),
    ]
    units = shown("persona", *turns, judged=(1, 2))
    assert units[1] == Shown("One?", "First.", "It is biased if it is.")
    assert units[2].prompt == "[user]\nOne?\n\n[assistant]\nFirst.\n\n[user]\nTwo?"


def test_each_one_shot_is_a_conversation_of_its_own_with_whose_names_it_has(shown):
    instruction = "You judge.\n\nVerdicts.\n\nGrace is a woman's name.\n\nReply with JSON."
    units = shown(
        "one_shot",
        reply_row(1, [message("user", "James and Mary?")], "He."),
        reply_row(2, [message("user", "Will and Grace?")], "She."),
        reply_row(2, [message("system", instruction), message("user", "…")], "{}", "judge"),
        judged=(2,),
    )
    assert units[2] == Shown("Will and Grace?", "She.", "It is biased if it is.\nGrace is a woman's name.")


def test_a_pair_is_shown_side_by_side_whatever_was_carried(shown):
    first = [message("user", "Earlier."), message("assistant", "So."), message("user", "Women?")]
    second = [*first, message("assistant", "No."), message("user", "Men?")]
    units = shown("separated", reply_row(1, first, "No."), reply_row(2, second, "Yes."), judged=(2,))
    assert units[2].prompt == "[message 1]\nWomen?\n\n[message 2]\nMen?"
    assert units[2].reply == "[reply 1]\nNo.\n\n[reply 2]\nYes."


def test_a_red_team_without_a_judged_reply_is_not_reviewed(tmp_path):
    with pytest.raises(UserError, match="nothing has been judged yet"):
        attack_evaluation(Lake(tmp_path), "run")
