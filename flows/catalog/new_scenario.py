"""`biasgrid init`: a commented scenario that runs, from five answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent, wrap
from typing import Any, Final

import yaml

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.catalogs.schema.requirements import Requirement
from biasgrid.flows.benchmark.prepare import scenario_problems
from biasgrid.warehouse.storage.export_files import write_text

OFFERED: Final = "starter"
"""The file whose requirement of a concern is written."""
HEAD: Final = """\
# A scenario: which models must meet which requirements.
# What it would send, free of charge: biasgrid plan {name}
# Run it: biasgrid run {name}

scenario:
  # `biasgrid list models` has more, such as openai/gpt-4o-mini
  models: [{models}]
  # at most, of each requirement; 38 are the fewest that can prove 90%
  templates: {templates}
  # or `cell`: `templates` counts those of each input × reflection
  sampling: requirement
  # how often each prompt is sent
  samples: 1
  # chooses the templates
  seed: 7
  temperature: 1.0
  max_tokens: 60

# `concern`: biasgrid list concerns; `communities`: biasgrid list communities
# `measure`: what the rate is a share of, `tests` or `replies`; `tolerance`: the least rate
# `delta`: the greatest spread between communities, as a share of the scale
requirements:
"""
REQUIREMENT: Final = """\
  - name: {name}
    rationale: >-
{rationale}
    concern: {concern}
    languages: [{languages}]
    measure: {measure}
    tolerance: {tolerance:g}
    delta: {delta:g}
    communities: {communities}
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a new scenario is about."""

    models: Sequence[str]
    concerns: Sequence[str]
    languages: Sequence[str]
    tolerance: float
    templates: int


def offered_concerns() -> list[str]:
    """Concerns that a new scenario may have."""
    return [one.concern for one in load_catalog().requirements_in(OFFERED)]


def write_scenario(path: Path, wish: Wish, *, force: bool = False) -> Path:
    """Writes the scenario. Raises UserError with all that is wrong with it, or if the file exists."""
    if path.exists() and not force:
        raise UserError(Problem(f"`{path}` exists", "FILE", "name another file, or add `--force`"))
    text = scenario_text(path.name, wish)
    resolve(yaml.safe_load(text), inspect=scenario_problems)
    return write_text(path, text)


def scenario_text(name: str, wish: Wish) -> str:
    """The scenario as YAML. Raises UserError for concerns that have no ready-made requirement."""
    models = ", ".join(map(quote_name, wish.models))
    head = HEAD.format(name=name, models=models, templates=wish.templates)
    return head + "\n".join(_requirement(one, wish) for one in _find_requirements(wish.concerns, load_catalog()))


def _find_requirements(concerns: Iterable[str], catalog: Catalog) -> Iterator[Requirement]:
    offered = {one.concern: one for one in catalog.requirements_in(OFFERED)}
    for name in dict.fromkeys(concerns):
        concern = catalog.concern(name)
        if concern not in offered:
            remedy = nearest(concern, offered)
            raise UserError(Problem(f"`{concern}` has no ready-made requirement", "--concern", remedy))
        yield offered[concern]


def _requirement(one: Requirement, wish: Wish) -> str:
    fields: dict[str, Any] = {name: getattr(one, name) for name in ("name", "concern", "measure", "delta")}
    return REQUIREMENT.format(
        **fields,
        rationale=indent("\n".join(wrap(one.rationale, 100)), " " * 6),
        languages=", ".join(map(quote_name, wish.languages)),
        communities=one.communities,
        tolerance=wish.tolerance,
    )


def quote_name(text: str) -> str:
    """As YAML has it: names of models may hold any sign."""
    return text if text.replace("/", "").replace("-", "").replace("_", "").isalnum() else json.dumps(text)
