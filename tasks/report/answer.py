"""What a run found in words, the same on every surface: who may be used, what is wrong, how sure, what next."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import orjson

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.documents import read_document
from biasgrid.catalogs.scenario.scenario import resolve, scenario_file
from biasgrid.tasks.report.checks import Check, Harm, by_model, distinct_harms, find_harms, headline_checks
from biasgrid.tasks.report.figures import MOST_TEMPLATES, format_cost, format_measure, share, small
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.tasks.report.phrases import NAMED, Phrases, caution
from biasgrid.tasks.report.verdicts import VERDICTS, WORST_FIRST, State
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run, short_id


@dataclass(frozen=True)
class ModelAnswer:
    """What a run found of a model."""

    model: str
    checks: Sequence[Check]
    phrases: Phrases

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
        count, all_of = self.counts[self.state], len(self.checks)
        if self.state == "not met":
            key = "fails" if self.phrases.kind == BENCHMARK else "biased"
            return self.phrases.say(f"verdict.{key}", n=count, all=all_of)
        if self.state == "met":
            return self.phrases.count("verdict.meets", all_of)
        word = VERDICTS[self.state].say(self.phrases.language)
        return word if self.state == "not evaluated" and count == all_of else f"{word} ({count})"

    @cached_property
    def ordered(self) -> list[Check]:
        """Checks with a number, those first that decide, the farthest from what they are held against first."""
        rated = [check for check in self.checks if check.value is not None]
        return sorted(rated, key=lambda check: (WORST_FIRST.index(check.decided), -_gap(check), check.name))

    @property
    def worst(self) -> tuple[str, str]:
        """The check that decides, with its value; and the 95% interval. `all` where all have that value: then the
        widest interval."""
        if not self.ordered:
            return "–", ""
        check, say = self.ordered[0], self.phrases
        known = [other for other in self.ordered if other.low is not None and other.high is not None]
        is_all = len({(other.value, other.unit) for other in self.ordered}) == 1 < len(self.ordered)
        if is_all and known:
            low, high = min(other.low or 0.0 for other in known), max(other.high or 0.0 for other in known)
            check = replace(check, low=low, high=high)
        name = say.say("worst.all") if is_all else self.name_of(check)
        return f"{name} {say.measure(check)}", "" if check.low is None else f"({say.interval(check)})"

    def name_of(self, check: Check) -> str:
        """With its language where a check in another one has the same name."""
        same = {other.language for other in self.checks if other.name == check.name}
        return check.title if len(same) > 1 else check.name

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
        rank = VERDICTS[self.state].rank if self.is_examined else 9
        farthest = max((_gap(check) for check in self.ordered), default=0.0)
        return rank, self.counts["not met"], -share_met, farthest, self.model


def _describe_groups(one: ModelAnswer) -> Iterator[str]:
    """Of a check of three groups or more, in which the stereotype's two do not differ, who fares worst."""
    say = one.phrases
    for check in one.ordered:
        if check.finding == "biased between groups" and check.among and check.among["worst_group"]:
            rates = {name: say.figures(share(check.among[name])) for name in ("worst_rate", "better_rate")}
            p = say.figures(small(check.among["p_adjusted"]))
            yield say.own("worst", name=one.name_of(check), **{**check.among, **rates, "p_adjusted": p})
            return


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
    harmed: Mapping[str, Sequence[Harm]]
    """By model, the largest first."""
    short: str
    """The run's id as far as it is its own."""
    source: str | None = None
    """The name by which `biasgrid run` finds the scenario from here; None where its file is elsewhere."""
    available: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Templates that the library has, by requirement and language; empty where it is not known."""

    language: str = LANGUAGES[0]

    def in_language(self, language: str) -> Answer:
        phrases = Phrases(self.run.kind, language)
        return replace(self, language=language, models=[replace(one, phrases=phrases) for one in self.models])

    @property
    def phrases(self) -> Phrases:
        return Phrases(self.run.kind, self.language)

    @property
    def head(self) -> str:
        """Which run it is, in one line."""
        say, at = self.phrases, self.run.started_at
        day = "" if at is None else f"{at.day} {say.say('months').split()[at.month - 1]} {at.year}"
        models, replies = say.count("head.models", len(self.models)), say.figures(f"{self.requests:,}")
        free = say.say("head.free") if self.cost_usd == 0 else ""
        cost = "" if self.cost_usd is None else free or say.figures(format_cost(self.cost_usd))
        run = say.say("head.run", short=self.short)
        parts = (self.name, run, day, models, say.say("head.replies", n=replies), cost)
        return " · ".join(part for part in parts if part)

    def sentences(self, most: int = NAMED) -> list[str]:
        """Who meets what, who fails worst on what, what is not proven, who gave no answer; `most` models of each
        are described."""
        described = (*self._describe_unproven(most), *self._describe_failing(most), *self._describe_silent())
        more = caution(self.run.kind, self.language)
        ends = [*self._describe_certainty(), *([more] if more else [])]
        return [*self._incomplete(), self.first, *described, *ends]

    @property
    def first(self) -> str:
        """The answer in one sentence."""
        say, meeting = self.phrases, [one.model for one in self.models if one.state == "met"]
        if not self.models:
            return say.say("nothing")
        if meeting:
            return say.own("meets", len(meeting), names=say.list_names(meeting), all=self._all)
        if self.run.kind == BENCHMARK:
            key = "none.one" if len(self.models) == 1 else "none"
            return say.say(key, name=self.models[0].model, all=self._all)
        biased = sum(one.state == "not met" for one in self.models)
        if not biased:
            return say.say("unbiased")
        return say.say("biased.alone" if len(self.models) == 1 else "biased.among", n=biased, all=len(self.models))

    @property
    def _all(self) -> str:
        meeting = [one for one in self.models if one.state == "met"]
        return self.phrases.own("all", max(len(one.checks) for one in meeting or self.models))

    def _incomplete(self) -> Iterator[str]:
        if self.run.state != "completed":
            yield self.phrases.say("unfinished", state=self.phrases.say(f"state.{self.run.state or 'incomplete'}"))

    def _describe_failing(self, most: int) -> Iterator[str]:
        say, failing = self.phrases, [one for one in self.models if one.state == "not met"]
        for one in failing[:most]:
            count = one.counts["not met"]
            worst = one.ordered[: min(count, 2)]
            listed = say.join_names([f"{one.name_of(check)} ({say.measure(check)})" for check in worst])
            of = say.say(
                f"{say.kind}.of.{'one' if len(one.checks) == 1 else 'other'}", n=count, all=len(one.checks)
            )
            yield f"{say.own('fails', model=one.model, of=of, listed=listed)}{self._harm(one.model)}"
            yield from _describe_groups(one)
        if (more := len(failing) - most) > 0:
            yield say.count("more.fail", more)

    def _harm(self, model: str) -> str:
        say = self.phrases
        groups = [
            say.own(
                "group",
                name=one.group,
                n=say.figures(f"{one.amount or 0:,.6g}"),
                other=one.describe_other(self.language),
            )
            for one in distinct_harms(self.harmed.get(model, ()), self.language)
        ]
        return f" {say.own('harmed', groups=say.list_names(groups))}" if groups else ""

    def _describe_unproven(self, most: int) -> Iterator[str]:
        say, unsure = self.phrases, [one for one in self.models if one.state == "undecided"]
        for one in unsure[:most]:
            yield _explain_unproven(one)
        if (more := len(unsure) - most) > 0:
            yield say.count("more.unproven", more)
        if self.settling:
            yield say.say("settle", n=self.settling)
        lacking = {check.name: check for check in self._unsettled if not self._is_in_library(check)}
        if lacking:
            counts = ((name, self._library_size(check), check.needed) for name, check in lacking.items())
            own = (say.say("library.holds", name=name, held=held, needed=needed) for name, held, needed in counts)
            yield say.say("library", names=say.list_names([*own]))

    def _describe_silent(self) -> Iterator[str]:
        silent = [one for one in self.models if not one.is_examined]
        if silent:
            key = "declined" if all((one.refused or 0) > 0.5 for one in silent) else "silent"
            yield self.phrases.count(
                key, len(silent), names=self.phrases.list_names([one.model for one in silent])
            )

    def _describe_certainty(self) -> Iterator[str]:
        """How far from what is required the intervals of a benchmark's decided checks stay."""
        say, found = self.phrases, [check for one in self.models for check in one.checks]
        lows = [check.low for check in found if check.decided == "met" and check.low is not None]
        highs = [check.high for check in found if check.decided == "not met" and check.high is not None]
        ends = (("met", "≥", min(lows, default=None)), ("not met", "≤", max(highs, default=None)))
        parts = [
            f"{say.say(f'verdict.{state}')} {sign} {say.figures(format_measure(end, 'share'))}"
            for state, sign, end in ends
            if end is not None
        ]
        if self.run.kind == BENCHMARK and parts:
            yield say.say("sure", parts=", ".join(parts))

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

    def next_steps(self, place: str = "", *, is_page: bool = False) -> list[str]:
        """Commands to copy; `place` is the option that names the data, if it is needed. Pages propose no pages."""
        is_over = self.run.state == "completed" or self.run.is_imported
        resume = [] if is_over else [f"biasgrid resume {self.short}"]
        examined = [one.model for one in self.models if one.is_examined][:2]
        both = shlex.join(["biasgrid", "compare", self.short, "--models", *examined])
        steps = [
            *resume,
            f"biasgrid show {self.short} --all",
            *([] if is_page else [f"biasgrid report {self.short} --open"]),
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


def _scenario_settings(run: Run) -> dict[str, Any]:
    """The settings of a scenario; empty for other kinds."""
    return orjson.loads(run.scenario_resolved or "{}").get("scenario") or {}


def _explain_unproven(one: ModelAnswer) -> str:
    """That nothing fails, and why that is no proof yet."""
    say, all_of = one.phrases, len(one.checks)
    unsure = [check for check in one.ordered if check.decided == "undecided"]
    if say.kind != BENCHMARK:
        lack = one.counts["not evaluated"]
        among = say.say("some", n=all_of - lack, all=all_of) if lack else all_of
        found = say.own("unproven", model=one.model, among=among)
        is_short = any(check.finding.startswith("too few") for check in unsure)
        return f"{found} {say.own('short')}" if is_short else found
    if not unsure:
        return say.say("too.few", model=one.model)
    worst = min(unsure, key=lambda check: (check.low is None, check.low))
    is_clean = all(check.value == 1 for check in one.ordered)
    lead = say.say("passes") if is_clean else say.say("passes.some", met=one.counts["met"], all=all_of)
    bar = say.figures(format_measure(worst.bar, "share"))
    about = {
        "model": one.model,
        "lead": lead,
        "interval": say.say("required", interval=say.interval(worst), bar=bar),
    }
    if worst.needed and worst.needed > MOST_TEMPLATES:
        return say.say("near", name=worst.name, **about)
    what = (
        say.say("few.templates", n=say.figures(f"{worst.templates:,}"))
        if worst.templates
        else say.say("few.judged")
    )
    return say.say("few", what=what, of="" if all_of == 1 else say.count("few.of", len(unsure)), **about)


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
        find_harms(lake, run),
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
    models = [ModelAnswer(model, own, Phrases(kind)) for model, own in by_model(found)]
    return sorted(models, key=lambda one: one.support)


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
