"""biasgrid from Python: a scenario in one call, or verb by verb, and a probe, a red team or an interaction in one.

```python
from biasgrid.flows.api import Benchmark, Interaction, Probe, RedTeam

outcome = Benchmark("scenario.yaml").run()

benchmark = Benchmark({"scenario": {...}, "requirements": [...]}, data="nightly")
benchmark.generate()
benchmark.prompt()
benchmark.evaluate()
paths = benchmark.report("langbite", out="reports")

found = Probe({"target": {"models": ["openai/gpt-4o-mini"]}}, pairs=12).run()
found.biased
RedTeam("target.yaml", strategies=["crescendo"]).run().exit_code
Interaction(models=["openai/gpt-4o-mini"], scenes=12).run().bias_scores
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.scenario import Source
from biasgrid.catalogs.schema.attacks import StrategyName
from biasgrid.catalogs.schema.entries import Reuse
from biasgrid.catalogs.schema.interaction_file import Mitigation, Setting
from biasgrid.catalogs.schema.target_file import ProbeTest
from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.benchmark.stages_as_flows import aggregate_run, evaluate_run, generate_run, prompt_run
from biasgrid.flows.interaction.flow import interaction as interaction_flow
from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.flows.probe.flow import probe
from biasgrid.flows.probe.outcome import ProbeOutcome
from biasgrid.flows.redteam.flow import redteam
from biasgrid.flows.redteam.outcome import AttackOutcome
from biasgrid.flows.results.report import write_report
from biasgrid.flows.runs.outcome import Outcome

T = TypeVar("T")
Outcome_co = TypeVar("Outcome_co", covariant=True)


class Benchmark:
    """A scenario (path, dict or JSON string, LangBiTe's included) and where its data goes.

    Every method blocks, also inside a notebook's event loop. Raises UserError with all that is wrong.
    """

    def __init__(
        self,
        scenario: Source,
        *,
        data: str | Path | None = None,
        library: str | Path | None = None,
        models: Sequence[str] = (),
        samples: int | None = None,
        seed: int | None = None,
        reuse: Reuse | None = None,
        max_age: str | None = None,
        max_cost: float | None = None,
        max_requests: int | None = None,
        batch: bool | None = None,
    ) -> None:
        self._data = str(data) if data is not None else None
        self._asked: dict[str, Any] = {
            "scenario": scenario if isinstance(scenario, dict) else str(scenario),
            "library": str(library) if library is not None else None,
            "models": list(models) or None,
            "data": self._data,
            "samples": samples,
            "seed": seed,
            "reuse": reuse,
            "max_age": max_age,
            "max_cost": max_cost,
            "max_requests": max_requests,
            "batch": batch,
        }
        self._run_id: str | None = None
        self.outcome: Outcome | None = None
        """What the run found, once it has been aggregated."""

    @property
    def run_id(self) -> str:
        """The id of the run under way. Raises UserError before `generate` or `run`."""
        if self._run_id is None:
            raise UserError(Problem("no run has begun", remedy="call `generate()` or `run()` first"))
        return self._run_id

    def run(self) -> Outcome:
        """The whole job: generate, prompt, evaluate, aggregate."""
        self.outcome = _blocking(benchmark(**self._asked))
        self._run_id = self.outcome.run_id
        return self.outcome

    def generate(self) -> str:
        """Begin a run and land its cases; returns its id."""
        self._run_id = _blocking(generate_run(**self._asked))
        self.outcome = None
        return self._run_id

    def prompt(self) -> None:
        """Ask every case that has no reply yet."""
        _blocking(prompt_run(self.run_id, self._data))

    def evaluate(self) -> Outcome:
        """Judge every reply and aggregate."""
        _blocking(evaluate_run(self.run_id, self._data))
        self.outcome = _blocking(aggregate_run(self.run_id, self._data))
        return self.outcome

    def report(
        self, kind: Literal["csv", "langbite", "json"] = "csv", out: str | Path | None = None
    ) -> list[Path]:
        """Write the reports of the run into `out`, `reports/<run id>` by default; returns the files."""
        return write_report(self.run_id, kind, Path(out) if out else None, self._data)


class _Assessment(Generic[Outcome_co]):
    """A file (path, dict or JSON string), what is given beside it in place of its own, and the flow that runs it.

    `run` blocks, also inside a notebook's event loop. Raises UserError with all that is wrong.
    """

    def __init__(self, flow: Callable[..., Coroutine[Any, Any, Outcome_co]], **asked: Any) -> None:
        self._flow = flow
        self._asked = {name: _plain(value) for name, value in asked.items()}

    def run(self) -> Outcome_co:
        """All of it, and what was found."""
        return _blocking(self._flow(**self._asked))


def _plain(value: object) -> object:
    """As flows take it: paths as text, several as a list, and the `()` of who names none as None."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return None if value == () else list(value)
    return value


class Probe(_Assessment[ProbeOutcome]):
    """A target file that is probed for stereotypes."""

    def __init__(
        self,
        target: Source,
        *,
        data: str | Path | None = None,
        models: Sequence[str] = (),
        pairs: int | Sequence[str] | None = None,
        tests: Sequence[ProbeTest] = (),
        cases: int | None = None,
        detailed: bool | None = None,
        continue_on_refusal: bool | None = None,
        seed: int | None = None,
        max_cost: float | None = None,
        max_requests: int | None = None,
    ) -> None:
        super().__init__(
            probe,
            target=target,
            data=data,
            models=models,
            pairs=pairs,
            tests=tests,
            cases=cases,
            detailed=detailed,
            continue_on_refusal=continue_on_refusal,
            seed=seed,
            max_cost=max_cost,
            max_requests=max_requests,
        )


class RedTeam(_Assessment[AttackOutcome]):
    """A target file that is attacked."""

    def __init__(
        self,
        target: Source,
        *,
        data: str | Path | None = None,
        models: Sequence[str] = (),
        strategies: Sequence[StrategyName] = (),
        attacker: str | None = None,
        judge: str | None = None,
        pairs: int | Sequence[str] | None = None,
        sessions: int | None = None,
        turns: int | None = None,
        seed: int | None = None,
        max_cost: float | None = None,
        max_requests: int | None = None,
    ) -> None:
        super().__init__(
            redteam,
            target=target,
            data=data,
            models=models,
            strategies=strategies,
            attacker=attacker,
            judge=judge,
            pairs=pairs,
            sessions=sessions,
            turns=turns,
            seed=seed,
            max_cost=max_cost,
            max_requests=max_requests,
        )


class Interaction(_Assessment[InteractionOutcome]):
    """An interaction file whose models share out the tasks of scenes; without one, `models` alone."""

    def __init__(
        self,
        interaction: Source | None = None,
        *,
        data: str | Path | None = None,
        models: Sequence[str] = (),
        domains: Sequence[str] = (),
        axes: Sequence[str] = (),
        scenes: int | Sequence[str] | None = None,
        settings: Sequence[Setting] = (),
        mitigations: Sequence[Mitigation] = (),
        languages: Sequence[str] = (),
        runs: int | None = None,
        protocol: str | None = None,
        seed: int | None = None,
        max_cost: float | None = None,
        max_requests: int | None = None,
    ) -> None:
        super().__init__(
            interaction_flow,
            interaction=interaction,
            data=data,
            models=models,
            domains=domains,
            axes=axes,
            scenes=scenes,
            settings=settings,
            mitigations=mitigations,
            languages=languages,
            runs=runs,
            protocol=protocol,
            seed=seed,
            max_cost=max_cost,
            max_requests=max_requests,
        )


def _blocking(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
