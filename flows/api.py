"""biasgrid from Python: a scenario in one call, or verb by verb, and runs of the other kinds in one.

```python
from biasgrid.flows.api import Audit, Benchmark, Interaction, Probe, RedTeam

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
Audit("hiring.yaml", pairs=8).run().shifts
```

What goes wrong is an exception, one a kind, and no line of a log: `UserError`, an error in what was given, with
all that is wrong; of its subclasses `RunBusy`, another process writes the run, `StorageTrouble`, data cannot be
written, and `OldWarehouseStays`, the new warehouse did not pass its tests; and `RunInterrupted`, Ctrl-C or a
cancellation.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from inspect import Parameter, Signature
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.audit.kind import AUDIT
from biasgrid.flows.benchmark.kind import BENCHMARK
from biasgrid.flows.interaction.kind import INTERACTION
from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.probe.kind import PROBE
from biasgrid.flows.redteam.kind import RED_TEAM
from biasgrid.flows.runs.kinds import AnyKind
from biasgrid.flows.runs.options import keywords
from biasgrid.flows.runs.prepare import prepared_run, refuse_unnamed

if TYPE_CHECKING:
    from biasgrid.flows.audit.outcome import AuditOutcome
    from biasgrid.flows.benchmark.outcome import Outcome
    from biasgrid.flows.interaction.outcome import InteractionOutcome
    from biasgrid.flows.probe.outcome import ProbeOutcome
    from biasgrid.flows.redteam.outcome import AttackOutcome

T = TypeVar("T")
ReportFormat = Literal[
    "html", "csv", "langbite", "json", "pictures", "junit", "markdown", "model-card", "every-eval-ever", "evidence"
]
Source = Path | str | dict[str, Any]


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C, SIGTERM or a cancellation. What arrived is kept, and it can be resumed."""


STAGES = "biasgrid.flows.benchmark.stages_as_flows"


class _Run:
    """A file (path, dict or JSON string), the options that replace its own, and the flow that runs it."""

    kind: ClassVar[AnyKind]
    __signature__: ClassVar[Signature]

    def __init__(self, *source: Any, **options: Any) -> None:
        given = self.__signature__.bind(*source, **options)
        self._asked: dict[str, Any] = {name: _plain(value) for name, value in given.arguments.items()}

    def __init_subclass__(
        cls, kind: AnyKind | None = None, options: str = "", source: Any = Parameter.empty, **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        if kind:
            first = Parameter(kind.source, Parameter.POSITIONAL_OR_KEYWORD, default=source, annotation=Source)
            cls.kind, cls.__signature__ = kind, keywords(kind.options, options, [first])

    def _run(self) -> Any:
        given = self.kind.options(**self._asked)
        source = getattr(given, self.kind.source) or (self.kind.blank if given.models else None)
        # before Prefect starts, which logs how a flow fails
        prepared = self.kind.prepare(refuse_unnamed(source), given, secret_blocks())
        token = prepared_run.set(prepared)
        try:
            return _run_to_end(resolve_name(self.kind.flow)(**self._asked))
        finally:
            prepared_run.reset(token)


class Benchmark(
    _Run, kind=BENCHMARK, options="data library models samples seed reuse max_age max_cost max_requests batch *"
):
    """A scenario (path, dict or JSON string, LangBiTe's included) and where its data goes.

    Every method blocks, also inside a notebook's event loop. Raises UserError with all that is wrong.
    """

    def __init__(self, *source: Any, **options: Any) -> None:
        super().__init__(*source, **options)
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
        found: Outcome = self._run()
        self.outcome, self._run_id = found, found.run_id
        return found

    def generate(self) -> str:
        """Begin a run and land its cases; returns its id."""
        run_id: str = _run_to_end(_stage("generate", **self._asked))
        self._run_id, self.outcome = run_id, None
        return run_id

    def prompt(self) -> None:
        """Ask every case that has no reply yet."""
        _run_to_end(_stage("prompt", run_id=self.run_id, data=self._data))

    def evaluate(self) -> Outcome:
        """Judge every reply and aggregate."""
        _run_to_end(_stage("evaluate", run_id=self.run_id, data=self._data))
        found: Outcome = _run_to_end(_stage("aggregate", run_id=self.run_id, data=self._data))
        self.outcome = found
        return found

    def report(self, kind: ReportFormat = "csv", out: str | Path | None = None) -> list[Path]:
        """Write the reports of the run into `out`, `reports/<run id>` by default; returns the files."""
        from biasgrid.flows.results.report import write_report

        return write_report(self.run_id, kind, Path(out) if out else None, self._data)

    @property
    def _data(self) -> str | None:
        data: str | None = self._asked.get("data")
        return data


class Probe(
    _Run,
    kind=PROBE,
    options="data models pairs groups tests cases detailed continue_on_refusal seed max_cost max_requests",
):
    """A target file that is probed for stereotypes."""

    def run(self) -> ProbeOutcome:
        """All of it, blocking; returns what was found. Raises UserError with all that is wrong."""
        return cast("ProbeOutcome", self._run())


class RedTeam(
    _Run,
    kind=RED_TEAM,
    options="data models strategies attacker judge pairs sessions turns seed max_cost max_requests",
):
    """A target file that is attacked."""

    def run(self) -> AttackOutcome:
        """All of it, blocking; returns what was found. Raises UserError with all that is wrong."""
        return cast("AttackOutcome", self._run())


class Interaction(
    _Run,
    kind=INTERACTION,
    source=None,
    options="data models domains axes scenes settings mitigations languages runs protocol seed max_cost "
    "max_requests",
):
    """An interaction file whose models share out the tasks of scenes; without one, `models` alone."""

    def run(self) -> InteractionOutcome:
        """All of it, blocking; returns what was found. Raises UserError with all that is wrong."""
        return cast("InteractionOutcome", self._run())


class Audit(
    _Run, kind=AUDIT, options="data models pairs repeats margin seed reuse max_age max_cost max_requests batch"
):
    """An audit file: whether a system decides differently about the same documents with other identities."""

    def run(self) -> AuditOutcome:
        """All of it, blocking; returns what was found. Raises UserError with all that is wrong."""
        return cast("AuditOutcome", self._run())


def _plain(value: object) -> object:
    """As flows take it: paths as text, several as a list, and an empty `()` as None."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value) or None if isinstance(value, tuple) else list(value)
    return value


def _stage(verb: str, **given: Any) -> Coroutine[Any, Any, Any]:
    begun: Coroutine[Any, Any, Any] = resolve_name(f"{STAGES}:{verb}_run")(**given)
    return begun


def _run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """In an event loop that runs, in a thread with its context, so that a flow within a flow is a subflow. Raises
    RunInterrupted."""
    from prefect.exceptions import TerminationSignal

    try:
        with quiet_logs():
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                return asyncio.run(work)
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(copy_context().run, asyncio.run, work).result()
    except (KeyboardInterrupt, asyncio.CancelledError, TerminationSignal) as stop:
        raise RunInterrupted("interrupted; what arrived is kept: go on with `biasgrid resume`") from stop


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Prefect's logs stay off the terminal, unless a flow of the caller shows its own there."""
    from prefect.context import FlowRunContext
    from prefect.logging.configuration import setup_logging
    from prefect.logging.handlers import PrefectConsoleHandler

    if FlowRunContext.get():
        yield
        return
    setup_logging()
    names = [None, *(name for name in logging.root.manager.loggerDict if name.startswith("prefect"))]
    found = {handler for name in names for handler in logging.getLogger(name).handlers}
    levels = {each: each.level for each in found if isinstance(each, PrefectConsoleHandler)}
    _set_levels(dict.fromkeys(levels, logging.CRITICAL + 1))
    try:
        yield
    finally:
        atexit.register(_set_levels, dict.fromkeys(levels, logging.CRITICAL + 1))  # the server's end is logged
        _set_levels(levels)


def _set_levels(levels: Mapping[Any, int]) -> None:
    for handler, level in levels.items():
        handler.setLevel(level)
