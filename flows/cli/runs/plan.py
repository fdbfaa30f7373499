"""What `plan` tells of a target file: of its probe, of its red team, or of both; and of an interaction file."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import typer

Found = TypeVar("Found")
SECTIONS = ("probe", "redteam")


def sections_of(path: Path) -> list[str]:
    """What a file asks that is no scenario. A target file with neither section would be probed as is usual; a file
    that cannot be read has nothing."""
    from biasgrid.catalogs.errors import UserError
    from biasgrid.catalogs.loading.documents import read_document

    try:
        found = read_document(path).value
    except UserError:
        return []
    if not isinstance(found, dict) or not {"target", "interaction"} & found.keys():
        return []
    if "interaction" in found:
        return ["interaction"]
    return [section for section in SECTIONS if section in found] or ["probe"]


def plan_sections(path: Path, sections: list[str], data: str | None, *, as_json: bool, **given: Any) -> None:
    """Nothing is sent, and no key is needed."""
    from biasgrid.flows.terminal.encoding import write_data

    plans = _all_or_mistakes([partial(PLANS[section], path, data, given) for section in sections])
    if not as_json:
        for _, show in plans:
            show()
        typer.echo("Nothing was sent.")
        return
    told = [text for text, _ in plans]
    both = dict(zip(sections, map(json.loads, told), strict=True))
    write_data(f"{told[0] if len(told) == 1 else json.dumps(both, ensure_ascii=False)}\n")


Plan = tuple[str, Callable[[], None]]
"""As JSON, and how it is shown."""


def _probe(target: Path, data: str | None, given: dict[str, Any]) -> Plan:
    from biasgrid.flows.probe.forecast import probe_forecast
    from biasgrid.flows.probe.forecast_view import show_probe_forecast
    from biasgrid.flows.probe.prepare import overrides, planned
    from biasgrid.flows.runs.prepare import earlier_lake

    expected = probe_forecast(planned(target, overrides(**given)), earlier_lake(data))
    return expected.as_json(), lambda: show_probe_forecast(expected)


def _redteam(target: Path, data: str | None, given: dict[str, Any]) -> Plan:
    from biasgrid.flows.redteam.forecast import attack_forecast
    from biasgrid.flows.redteam.forecast_view import show_attack_forecast
    from biasgrid.flows.redteam.prepare import overrides, unsent
    from biasgrid.flows.runs.prepare import earlier_lake

    resolved = unsent(target, overrides(**given))
    expected = attack_forecast(resolved, earlier_lake(data))
    return expected.as_json(), lambda: show_attack_forecast(expected, resolved)


def _interaction(path: Path, data: str | None, given: dict[str, Any]) -> Plan:
    from biasgrid.flows.interaction.forecast import interaction_forecast
    from biasgrid.flows.interaction.forecast_view import show_interaction_forecast
    from biasgrid.flows.interaction.prepare import overrides, unsent
    from biasgrid.flows.runs.prepare import earlier_lake

    expected = interaction_forecast(unsent(path, overrides(**given)), earlier_lake(data))
    return expected.as_json(), lambda: show_interaction_forecast(expected)


PLANS = {"probe": _probe, "redteam": _redteam, "interaction": _interaction}


def _all_or_mistakes(planning: list[Callable[[], Found]]) -> list[Found]:
    """Raises UserError with the mistakes of all of them."""
    from biasgrid.catalogs.errors import Problem, UserError

    found, mistakes = list[Found](), list[Problem]()
    for plan in planning:
        try:
            found.append(plan())
        except UserError as wrong:
            mistakes += wrong.mistakes
    if mistakes:
        raise UserError(list(dict.fromkeys(mistakes)))
    return found
