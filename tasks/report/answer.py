"""What a run found in words, the same on every surface: who may be used, what is wrong, how sure, what next."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import orjson

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.documents import read_document
from biasgrid.catalogs.scenario.scenario import resolve, scenario_file
from biasgrid.tasks.report.checks import Check, by_model, headline_checks
from biasgrid.tasks.report.figures import MOST_TEMPLATES, format_measure
from biasgrid.tasks.report.verdicts import VERDICTS, WORST_FIRST, State
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run, short_id

NAMED: Final = 3
"""Models, requirements and groups that a sentence names."""


@dataclass(frozen=True, slots=True)
class Words:
    """How the checks of a kind of run are counted and failed."""

    check: str
    fails: str
    meets: str
    worst: str
    caution: str = ""
    """What every surface shows besides."""


NO_STATUTE: Final = "It is no audit under Local Law 144 or any statute."
WORDS: Final[Mapping[str, Words]] = {
    "benchmark": Words("requirement", "fails", "meets", "worst on"),
    "probe": Words("test", "shows bias in", "stays below the bound in", "most in"),
    "redteam": Words("strategy", "is led into bias by", "stays below the bound against", "most by"),
    "interaction": Words("setting", "shows bias in", "stays below the bound in", "most in"),
    "audit": Words("comparison", "decides differently in", "stays within the margin in", "most for", NO_STATUTE),
}
"""By kind of run."""


@dataclass(frozen=True)
class ModelAnswer:
    """What a run found of a model."""

    model: str
    checks: Sequence[Check]
    words: Words

    @cached_property
    def counts(self) -> Counter[State]:
        return Counter(check.decided for check in self.checks)

    @property
    def is_examined(self) -> bool:
        return set(self.counts) != {"not evaluated"}

    @cached_property
    def state(self) -> State:
        """Of its checks the one that decides."""
        return next(state for state in WORST_FIRST if self.counts[state])

    @property
    def verdict(self) -> str:
        """In two or three words, such as `fails 6 of 8`."""
        word, count, all_of = VERDICTS[self.state].word, self.counts[self.state], len(self.checks)
        if self.state == "not met":
            word = "fails" if self.words.fails == "fails" else "bias in"
            return f"{word} {count} of {all_of}"
        if self.state == "met":
            return f"meets all {all_of}" if all_of > 1 else "meets it"
        return word if self.state == "not evaluated" and count == all_of else f"{word} ({count})"

    @cached_property
    def ordered(self) -> list[Check]:
        """Checks with a number, those first that decide, the farthest from what they are held against first."""
        rated = [check for check in self.checks if check.value is not None]
        return sorted(rated, key=lambda check: (WORST_FIRST.index(check.decided), -_gap(check), check.name))

    @property
    def refused(self) -> float | None:
        """Share of its replies."""
        known = [check for check in self.checks if check.refused is not None]
        replies = sum(check.replies for check in known)
        return sum((check.refused or 0) * check.replies for check in known) / replies if replies else None

    @property
    def support(self) -> tuple[Any, ...]:
        """Sort key: best supported first, what was not examined last."""
        share_met = self.counts["met"] / len(self.checks)
        return VERDICTS[self.state].rank if self.is_examined else 9, self.counts["not met"], -share_met, self.model


def _gap(check: Check) -> float:
    """How far on the wrong side its number is, of what it is held against."""
    value, bar = check.value or 0.0, check.bar or 0.0
    return bar - value if check.bar_name == "tolerance" else abs(value - bar)


@dataclass(frozen=True)
class Answer:
    """What a run found, in words."""

    run: Run
    name: str
    models: Sequence[ModelAnswer]
    """Best supported first; what was not examined last."""
    requests: int
    cost_usd: float | None
    harmed: Mapping[str, Sequence[tuple[str, float]]]
    """By model the communities that fare worse, with the difference of their pass rate."""
    short: str
    """The run's id as far as it is its own."""
    source: str | None = None
    """The name by which `biasgrid run` finds the scenario from here; None where its file is elsewhere."""
    available: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Templates that the library has, by requirement and language; empty where it is not known."""

    @property
    def words(self) -> Words:
        return WORDS[self.run.kind]

    @property
    def head(self) -> str:
        """Which run it is, in one line."""
        models = f"{len(self.models)} model{'s' * (len(self.models) != 1)}"
        cost = "" if self.cost_usd is None else _format_cost(self.cost_usd)
        parts = (self.name, f"run {self.short}", f"{self.run.started_at:%-d %b %Y}", models)
        return " · ".join(part for part in (*parts, f"{self.requests:,} replies", cost) if part)

    def sentences(self, most: int = NAMED) -> list[str]:
        """Who meets what, who fails worst on what, what is not proven, who gave no answer; `most` models of each
        are described."""
        described = (*self._describe_unproven(most), *self._describe_failing(most), *self._describe_silent())
        caution = [self.words.caution] if self.words.caution else []
        return [*self._incomplete(), self.first, *described, *caution]

    @property
    def first(self) -> str:
        """The answer in one sentence."""
        meeting = [one.model for one in self.models if one.state == "met"]
        if not self.models:
            return "Nothing was judged."
        if meeting:
            verb = self.words.meets if len(meeting) == 1 else _plural_verb(self.words.meets)
            return f"{list_names(meeting)} {verb} {self._all}."
        if self.run.kind == BENCHMARK:
            who = self.models[0].model if len(self.models) == 1 else "No model"
            return f"{who} is{' not' * (len(self.models) == 1)} shown to meet {self._all}."
        biased = sum(one.state == "not met" for one in self.models)
        if biased:
            return (
                "Bias is shown." if len(self.models) == 1 else f"{biased} of {len(self.models)} models show bias."
            )
        return "No bias is shown, and that is no proof: what was found may be chance either way."

    @property
    def _all(self) -> str:
        meeting = [one for one in self.models if one.state == "met"]
        count = max(len(one.checks) for one in meeting or self.models)
        return f"the {self.words.check}" if count == 1 else f"all {count} {_plural(self.words.check)}"

    def _incomplete(self) -> Iterator[str]:
        if self.run.state != "completed":
            yield f"The run is {self.run.state}: what it lacks may hide a failure."

    def _describe_failing(self, most: int) -> Iterator[str]:
        failing = [one for one in self.models if one.state == "not met"]
        for one in failing[:most]:
            worst = [f"{check.name} ({format_measure(check.value, check.unit)})" for check in one.ordered[:2]]
            listed = " and ".join(worst[: one.counts["not met"]])
            of = f"{one.counts['not met']} of {len(one.checks)} {_plural(self.words.check)}"
            of = f"its {self.words.check}" if len(one.checks) == 1 else of
            yield f"{one.model} {self.words.fails} {of}, {self.words.worst} {listed}.{self._harm(one.model)}"
        if (more := len(failing) - most) > 0:
            yield f"{more} more {'fails' if more == 1 else 'fail'} at least one."

    def _harm(self, model: str) -> str:
        worse = self.harmed.get(model, ())
        groups = [f"{name} (−{abs(round(100 * by))} points)" for name, by in worse[:NAMED]]
        return f" Its replies about {_and(groups)} pass less often than about others." if groups else ""

    def _describe_unproven(self, most: int) -> Iterator[str]:
        unsure = [one for one in self.models if one.state == "undecided"]
        for one in unsure[:most]:
            yield _explain_unproven(one, self.words)
        if (more := len(unsure) - most) > 0:
            yield f"{more} more {'is' if more == 1 else 'are'} not proven."
        if self.settling:
            yield f"`templates: {self.settling}` would settle what is not proven, if the rates stay as they are."
        lacking = {check.name: check for check in self._unsettled if not self._is_in_library(check)}
        if lacking:
            counts = ((name, self._library_size(check), check.needed) for name, check in lacking.items())
            own = (f"{name} ({held} of {needed} templates)" for name, held, needed in counts)
            yield f"This library cannot settle {list_names([*own])}: name a `library` with more templates."

    def _describe_silent(self) -> Iterator[str]:
        silent = [one for one in self.models if not one.is_examined]
        if silent:
            refused = all((one.refused or 0) > 0.5 for one in silent)
            what = "declined most questions" if refused else "gave no answer that counts"
            names, them = list_names([one.model for one in silent]), "it" if len(silent) == 1 else "them"
            yield f"{names} {what}: nothing is known of {them}."

    @cached_property
    def settling(self) -> int | None:
        """The `templates:` that would settle what is not proven; None where that is no matter of templates."""
        asked = _scenario_settings(self.run).get("templates")
        short = [
            (check.needed or 0) / (check.templates or 1) for check in self._unsettled if self._is_in_library(check)
        ]
        return math.ceil(asked * max(short)) if asked and short else None

    @property
    def _unsettled(self) -> list[Check]:
        """Checks that more templates would decide."""
        checks = (check for one in self.models for check in one.checks if check.decided == "undecided")
        return [check for check in checks if check.templates and 0 < (check.needed or 0) <= MOST_TEMPLATES]

    def _library_size(self, check: Check) -> int | None:
        return self.available.get((check.name, check.language))

    def _is_in_library(self, check: Check) -> bool:
        held = self._library_size(check)
        return held is None or (check.needed or 0) <= held

    def next_steps(self, place: str = "") -> list[str]:
        """Commands to copy; `place` is the option that names the data, if it is needed."""
        resume = [] if self.run.state == "completed" else [f"biasgrid resume {self.short}"]
        examined = [one.model for one in self.models if one.is_examined][:2]
        both = shlex.join(["biasgrid", "compare", self.short, "--models", *examined])
        steps = [
            *resume,
            f"biasgrid show {self.short} --all",
            f"biasgrid report {self.short} --open",
            *([both] if len(examined) == 2 and self.run.kind == BENCHMARK else []),
            *([self._settle(self.source, self.settling)] if self.settling and self.source else []),
        ]
        return [f"{step}{place}" for step in steps]

    def _settle(self, source: str, templates: int) -> str:
        """The command that asks as much as would settle it: of few models that are not proven, else of all."""
        named = [one.model for one in self.models if one.state == "undecided"]
        is_few = len(named) <= NAMED and len(named) < len(self.models)
        unsure = [word for model in named if is_few for word in ("--model", model)]
        flag = "--limit" if _scenario_settings(self.run).get("sampling") == "requirement" else "--templates"
        return shlex.join(["biasgrid", "run", source, *unsure, flag, str(templates)])


def _format_cost(usd: float) -> str:
    return "free" if not usd else f"US$ {usd:,.2g}" if usd < 0.1 else f"US$ {usd:,.2f}"


def _scenario_settings(run: Run) -> dict[str, Any]:
    """The settings of a scenario; empty for other kinds."""
    return orjson.loads(run.scenario_resolved or "{}").get("scenario") or {}


def _explain_unproven(one: ModelAnswer, words: Words) -> str:
    """That nothing fails, and why that is no proof yet."""
    unsure = [check for check in one.ordered if check.decided == "undecided"]
    if words.fails != "fails":
        lack = one.counts["not evaluated"]
        among = f"{len(one.checks) - lack} of {len(one.checks)}" if lack else len(one.checks)
        return f"{one.model} shows no bias in {among} {_plural(words.check)}, which is no proof."
    if not unsure:
        return f"{one.model} has too few replies to be judged."
    worst = min(unsure, key=lambda check: (check.low is None, check.low))
    if all(check.value == 1 for check in one.ordered):
        lead = "passes everything"
    else:
        lead = f"meets {one.counts['met']} of {len(one.checks)} and fails none"
    interval = f"{worst.interval}; {format_measure(worst.bar, 'share')} required"
    if worst.needed and worst.needed > MOST_TEMPLATES:
        return f"{one.model} {lead}; {worst.name} is too near the tolerance to settle ({interval})."
    few = f"{worst.templates:,} templates" if worst.templates else "what was judged"
    of = "" if len(one.checks) == 1 else f" of {len(unsure)} {_plural(words.check) if unsure[1:] else words.check}"
    return f"{one.model} {lead}, but {few} are too few to be sure{of} ({interval})."


def list_names(names: Sequence[str]) -> str:
    """Some names, and how many more."""
    more = len(names) - NAMED
    return _and(names) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def _plural_verb(verb: str) -> str:
    first, space, rest = verb.partition(" ")
    return f"{first.removesuffix('s')}{space}{rest}"


def answer(lake: Lake, run_id: str | None = None) -> Answer:
    """What a run found; raises UserError if no warehouse has been built or there is no such run."""
    run = find_run(lake, run_id)
    run = replace(run, kind=run.kind or BENCHMARK)
    models = rank_models(headline_checks(lake, run), run.kind)
    costs = query(lake, COSTS, [run.run_id]).to_dicts()[0]
    is_unsure = run.kind == BENCHMARK and any(one.counts["undecided"] for one in models)
    return Answer(
        run,
        _name(run),
        models,
        costs["requests"] or 0,
        costs["cost_usd"],
        _group_harmed(query(lake, HARMED, [run.run_id]).iter_rows()) if run.kind == BENCHMARK else {},
        short_id(lake, run),
        _find_source(run) if is_unsure else None,
        _count_library(run) if is_unsure else {},
    )


def _find_source(run: Run) -> str | None:
    with suppress(UserError):
        if read_document(scenario_file(_name(run))).text == run.scenario_given:
            return _name(run)
    return None


def _count_library(run: Run) -> dict[tuple[str, str], int]:
    with suppress(UserError):
        resolved = resolve(run.scenario_resolved)
        return {
            (requirement.name, language): requirement.count_clusters(resolved.catalog.templates, language)
            for requirement in resolved.requirements
            for language in requirement.languages
        }
    return {}


def rank_models(found: Sequence[Check], kind: str) -> list[ModelAnswer]:
    """What was found of each model, best supported first; what was not examined last."""
    models = [ModelAnswer(model, own, WORDS[kind]) for model, own in by_model(found)]
    return sorted(models, key=lambda one: one.support)


def _group_harmed(rows: Iterable[tuple[str, str, float]]) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for model, community, difference in rows:
        found.setdefault(model, []).append((community, difference))
    return found


def _name(run: Run) -> str:
    """The scenario's, or the kind of run."""
    named = orjson.loads(run.scenario_resolved or "{}").get("name") if run.kind == BENCHMARK else None
    return str(named or run.kind)


COSTS: Final = """
    select
        sum(requests)::bigint as requests,
        if(sum(requests_without_price) > 0, null, sum(cost_usd)) as cost_usd
    from marts.costs
    where run_id = ?
"""
HARMED: Final = """
    select model, community, min(difference) as difference
    from marts.community_contrasts
    where run_id = ? and measure = 'pass rate' and finding = 'lower'
    group by model, community
    order by model, difference, community
"""
"""Communities about which a model passes less than about others, by a test of the run's family."""
