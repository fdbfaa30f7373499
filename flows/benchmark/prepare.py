"""Resolves and checks a scenario before a run or a reevaluation, without importing Prefect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.scenario.resolution import Source
from biasgrid.catalogs.scenario.scenario import Inspection, Overrides, ResolvedScenario, resolve
from biasgrid.catalogs.schema.requirements import Requirement
from biasgrid.flows.runs.prepare import Prepared, batching_mistakes, batching_notices
from biasgrid.tasks.evaluate.current_oracles import find_changes, judged_otherwise, rules
from biasgrid.tasks.generate.requirement_checks import check_requirement
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

SHOWN = 10
"""Maximum number of templates in an error message."""


def resolve_scenario(source: Source, settings: Mapping[str, Any], inspect: Inspection) -> ResolvedScenario:
    """As `resolve`, with notices for models that cannot be batched although batches are requested."""
    found = resolve(source, Overrides(settings), inspect)
    notices = batching_notices(found.targets.values(), found.settings)
    return replace(found, notices=(*found.notices, *notices))


def scenario_problems(resolved: ResolvedScenario) -> list[Problem]:
    """Problems of a scenario's templates and batches."""
    return [*template_mistakes(resolved), *batching_mistakes(resolved.targets.values(), resolved.settings)]


def template_mistakes(resolved: ResolvedScenario) -> list[Problem]:
    """The problems of requirements and their templates; those that ask alike once, if sound."""
    found: list[Problem] = []
    sound: set[tuple[str, str]] = set()
    for requirement in resolved.requirements:
        asked = requirement.model_dump_json(exclude=NOT_ASKED)
        for language in requirement.languages:
            if (asked, language) in sound:
                continue
            mistakes = check_requirement(requirement, language, resolved.catalog)
            found += mistakes
            if not mistakes:
                sound.add((asked, language))
    return found


NOT_ASKED = {"name", "rationale", "measure", "tolerance", "delta", "refusals", "max_refusals", "languages"}
"""What a requirement states about its replies and not about its prompts."""


def fit_to_run(prepared: Prepared[ResolvedScenario], lake: Lake, run: Run) -> Prepared[ResolvedScenario]:
    """A scenario's rules for what the run has asked; raises UserError for all misfits."""
    fitting = replace(prepared, resolved=fit_requirements(prepared.resolved, run))
    refuse_other_oracles(lake, run, rules(fitting.resolved.catalog))
    return fitting


def fit_requirements(resolved: ResolvedScenario, run: Run) -> ResolvedScenario:
    """Scenario rules applied to the run's requests and models; raises UserError if requirements differ."""
    asked = {requirement.name: requirement for requirement in resolve(run.scenario_resolved).requirements}
    named = {requirement.name: requirement for requirement in resolved.requirements}
    mistakes = [mistake for name in named for mistake in _misfit(named[name], asked, run)]
    if mistakes:
        raise UserError(mistakes)
    return replace(resolved, requirements=tuple(named.get(name, asked[name]) for name in asked))


def _misfit(wanted: Requirement, asked: Mapping[str, Requirement], run: Run) -> Iterable[Problem]:
    where = f"run {run.run_id}"
    if wanted.name not in asked:
        remedy = nearest(wanted.name, asked) or "leave it out, or query it with `biasgrid run`"
        yield Problem(f"requirement `{wanted.name}` was not asked", where, remedy)
    elif {*wanted.asked_concerns} != {*asked[wanted.name].asked_concerns}:
        about, now = (", ".join(one.asked_concerns) for one in (asked[wanted.name], wanted))
        what = f"requirement `{wanted.name}` was asked about {about}, not {now}"
        yield Problem(what, where, "give it another name, and query it with `biasgrid run`")


def refuse_other_oracles(lake: Lake, run: Run, now: pl.DataFrame) -> None:
    """Raises UserError if the oracle of a template has changed in more than its values."""
    other = [
        row
        for row in find_changes(lake.read("cases", run.run_id), now).iter_rows(named=True)
        if judged_otherwise(row["oracle"], row["rule"])
    ]
    if other:
        names = ", ".join(dict.fromkeys(f"`{row['template']}`" for row in other[:SHOWN]))
        more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
        what = f"the oracles of {names}{more} compare in another way now: other operation, scale or orders"
        raise UserError(Problem(what, f"run {run.run_id}", "ask them again with `biasgrid run`"))
