"""A probe's forecast against what is then asked."""

from typing import Any

from biasgrid.catalogs.scenario.targets import ResolvedProbe, resolve_probe
from biasgrid.flows.probe.forecast import forecast, forecast_rest
from biasgrid.flows.probe.prepare import asked_models, catalog_stereotypes, first_tests, list_prompts
from biasgrid.flows.probe.sections import announce
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.probe.cases import land_cases
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.warehouse.storage.lake import Lake


def resolved(models: tuple[str, ...] = ("simulated/fair",), **sections: Any) -> ResolvedProbe:
    probe = {"pairs": ["doctor-nurse"], "cases": 8, "statements": 2, **sections.pop("probe", {})}
    return resolve_probe({"target": {"models": list(models)}, "probe": probe, **sections})


async def test_it_counts_what_is_then_asked(tmp_path):
    asked, lake = resolved(), Lake(tmp_path)
    expected = forecast(asked)
    assert (expected.sure.requests, expected.whole.requests, expected.conditional) == (8, 8 + 3 * 2, 6)
    cells = land_cases(
        lake, "a", list_prompts(asked, catalog_stereotypes(asked), first_tests(asked)), asked_models(asked)
    )
    assert int(cells["planned"].sum()) == expected.sure.instances
    async with ModelPool(asked.catalog) as model_pool:
        for cell in cells["cell_id"]:
            cases = lake.read("cases", "a", cell)
            await prompt_cell(lake, cases, asked.targets["simulated/fair"], model_pool, retries=0)
    left = forecast_rest(asked, lake, "a")
    assert (left.sure.requests, left.whole.requests) == (0, 6)
    assert expected.sure.input_tokens == lake.read("responses", "a")["input_tokens"].sum()


def test_what_is_asked_again_is_another_request_and_detailed_asks_for_sure():
    """Of eight ways to ask a statement, each comes twice in sixteen."""
    expected = forecast(resolved(probe={"detailed": True, "statements": 16}))
    assert (expected.sure.requests, expected.conditional) == (8 + 3 * 16, 0)


def test_caps_below_the_least_are_reported(monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "no-matter")
    asked = resolved(("openai/gpt-4o-mini",), asking={"max_requests": 7})
    announce(forecast(asked), asked)
    printed = capsys.readouterr().err
    assert printed.startswith("openai/gpt-4o-mini: 14 prompts, about $")
    assert "`max_requests` of 7 is below the 8 requests" in printed
