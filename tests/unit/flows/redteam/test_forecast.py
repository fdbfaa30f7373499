"""A red team's forecast against what is then sent."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from biasgrid.catalogs.scenario.targets import ResolvedAttack, resolve_attack
from biasgrid.flows.forecast.confirmation import confirmation_question
from biasgrid.flows.redteam.forecast import AttackForecast, forecast, forecast_rest
from biasgrid.flows.redteam.prepare import plan_by_cell
from biasgrid.flows.redteam.sections import announce
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.redteam.land import verdicts
from biasgrid.tasks.redteam.task import AttackCell, attack_cell
from biasgrid.warehouse.storage.lake import Lake

RUN = "01M00000000000000000000001"


def resolved(model: str = "simulated/fair", asking: dict[str, Any] | None = None, **limits: Any) -> ResolvedAttack:
    parts = {"attacker": "simulated/attacker", "judge": "simulated/red-judge"}
    own = {**parts, "pairs": ["doctor-nurse"], "turns": 4, "backtracks": 2, **limits}
    return resolve_attack({"target": {"models": [model]}, "redteam": own, "asking": asking or {}})


async def play(asked: ResolvedAttack, lake: Lake, cells: int | None = None, *, judged: bool = True) -> None:
    """So many cells of a red team; `judged`: their sessions are over."""
    async with ModelPool(asked.catalog) as model_pool:
        for parties, sessions in list(plan_by_cell(RUN, asked))[:cells]:
            found = await attack_cell(lake, AttackCell(planned=sessions, parties=parties, retries=0), model_pool)
            if judged:
                rows = verdicts(found, RUN, parties.judge.target, datetime.now(UTC))
                lake.write("verdicts", RUN, sessions[0].cell_id, rows)


def sent(lake: Lake) -> Counter[str]:
    parts = {"subject": "target"}
    return Counter(parts.get(purpose, purpose) for purpose in lake.scan("responses", RUN).collect()["purpose"])


def requests_by_part(expected: AttackForecast, extent: str) -> dict[str, int]:
    return {part.part: getattr(part, extent).requests for part in expected.parts}


@pytest.mark.parametrize(("model", "is_resisted"), [("fair", True), ("attackable", False), ("refuser", False)])
async def test_the_sent_messages_are_between_least_and_most(tmp_path, model, is_resisted):
    """The fair one never gives in, nor declines: a crescendo has nothing to take back from it."""
    strategies = {"strategies": ["one_shot", "direct", "separated", "selection", "persona"]} if is_resisted else {}
    asked, lake = resolved(f"simulated/{model}", **strategies), Lake(tmp_path)
    expected = forecast(asked)
    await play(asked, lake)
    for part, count in sent(lake).items():
        assert requests_by_part(expected, "least")[part] <= count <= requests_by_part(expected, "most")[part]
    assert not is_resisted or sent(lake) == requests_by_part(expected, "resisted")


async def test_input_is_what_is_then_sent_but_for_how_long_replies_are(tmp_path):
    asked, lake = resolved(strategies=["one_shot", "implicit_separated"]), Lake(tmp_path)
    await play(asked, lake)
    tokens = int(lake.scan("responses", RUN).collect().filter(purpose="subject")["input_tokens"].sum())
    target = next(part for part in forecast(asked).parts if part.part == "target")
    assert tokens / 3 < target.resisted.input_tokens < 3 * tokens


async def test_what_is_left_is_of_open_sessions_and_without_what_was_answered(tmp_path):
    asked, lake = resolved(strategies=["one_shot", "direct"]), Lake(tmp_path)
    whole = requests_by_part(forecast(asked), "most")
    await play(asked, lake, 1)
    after_one = forecast_rest(asked, lake, RUN)
    assert after_one.sessions == 1
    assert requests_by_part(after_one, "most") == {"target": 4, "attacker": 12, "judge": 12}
    assert whole == {"target": 7, "attacker": 12, "judge": 21}
    await play(asked, lake, judged=False)
    assert requests_by_part(forecast_rest(asked, lake, RUN), "most") == {
        "target": 0,
        "attacker": 12 - 3,
        "judge": 12 - 4,
    }
    assert forecast_rest(asked, lake, RUN).least.requests == 0
    await play(asked, lake)
    assert forecast_rest(asked, lake, RUN).most.requests == 0


def test_a_model_in_several_parts_is_shown_in_each_and_counted_together(monkeypatch):
    asked = resolved("openai/gpt-4o-mini", attacker="openai/gpt-4o", judge="openai/gpt-4o")
    expected = forecast(asked)
    assert [(part.part, part.model) for part in expected.parts] == [
        ("target", "openai/gpt-4o-mini"),
        ("attacker", "openai/gpt-4o"),
        ("judge", "openai/gpt-4o"),
    ]
    for whole in (expected.least, expected.resisted, expected.most):
        assert set(whole.models) == {"openai/gpt-4o-mini", "openai/gpt-4o"}
    money = [(part.least.cost_usd, part.resisted.cost_usd, part.most.cost_usd) for part in expected.parts]
    assert all(least and resisted and most and least < resisted < most for least, resisted, most in money)
    assert expected.resisted.cost_usd == pytest.approx(sum(resisted or 0 for _, resisted, _ in money))
    assert expected.resisted.seconds > 10  # a conversation's parties wait for each other
    monkeypatch.setenv("BIASGRID_CONFIRM_USD", "0.01")
    assert "expected to cost about $" in (confirmation_question(expected.resisted, asked.settings) or "")


def test_an_unknown_price_stays_unknown(capsys):
    chatbot = {
        "url": "http://127.0.0.1:9/",
        "body": {"text": "{message}", "talk": "{session}"},
        "reply": "text",
        "remembers": "session",
    }
    parts = {"attacker": "simulated/attacker", "judge": "simulated/red-judge", "pairs": ["doctor-nurse"]}
    parts |= {"strategies": ["crescendo"]}
    asked = resolve_attack({"name": "bot", "target": {"endpoint": chatbot}, "redteam": {**parts, "sessions": 9}})
    expected = forecast(asked)
    assert expected.resisted.cost_usd is None
    assert (
        expected.by_cell[0]["most_messages"] == 9 * 10
    )  # nothing can be taken back from a chatbot that remembers
    announce(expected, asked)
    assert "the target: 9 to 90 requests, price unknown" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cap", "warning"),
    [
        (17, "note: `max_requests` of 17 is below the 18"),
        (50, "note: if no attack succeeds: `max_requests` of 50"),
    ],
)
def test_caps_that_bind_are_reported(capsys, cap, warning):
    asked = resolved(asking={"max_requests": cap})
    announce(forecast(asked), asked)
    assert warning in capsys.readouterr().err


def test_replies_of_other_runs_are_not_reused_and_that_is_reported(capsys):
    asked = resolved(asking={"reuse": "all"})
    announce(forecast(asked), asked)
    assert "note: `asking.reuse: all` is for probes" in capsys.readouterr().err
    assert not resolved().notices
