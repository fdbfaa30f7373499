"""`run`, `plan`, `resume`, `evaluate`, and the command of every kind of run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.benchmark.kind import BENCHMARK, AgainOptions, BenchmarkOptions
from biasgrid.flows.cli.running import confirm_or_exit, early_server, remove_new_directories, run_with_progress
from biasgrid.flows.runs.kinds import AnyKind, all_kinds, find_kind, kinds_of_file, refuse_other_files, top_keys
from biasgrid.flows.runs.options import Options, RunOptions, command, option

if TYPE_CHECKING:
    from biasgrid.flows.runs.prepare import Prepared
    from biasgrid.warehouse.storage.lake import Lake
    from biasgrid.warehouse.storage.runs import Run

T = TypeVar("T")
READ_AGAIN = "biasgrid.flows.runs.reparse:read_again"
JUDGE_AGAIN = "biasgrid.flows.benchmark.stages_as_flows:evaluate_again"


def command_of(kind: AnyKind) -> Callable[..., None]:
    """The command that starts a run of this kind."""

    def start(given: RunOptions) -> None:
        _start(kind, given)

    start.__name__, start.__doc__ = kind.command, kind.help
    required = {} if kind.blank else {kind.source: ...}
    return command(kind.options, kind.words, **required)(start)


def _start(kind: AnyKind, given: RunOptions) -> None:
    from biasgrid.flows.operations.environment import secret_blocks
    from biasgrid.flows.runs.prepare import earlier_lake, open_lake

    named = getattr(given, kind.source)
    path = Path(named) if named else None
    if path is None and not given.models:
        remedy = f"name {kind.called}, or a model by `--model`"
        raise UserError(Problem("nothing is named", remedy=remedy))
    with early_server():
        refuse_other_files(path, kind)
        prepared = kind.prepare(path or kind.blank, given, secret_blocks())
        earlier = earlier_lake(given.data)
        with remove_new_directories(given.data):
            lake = open_lake(given.data)
            _agree(kind, prepared, earlier, given)
        parameters = given.pick(*kind.parameters.split()) | {kind.source: named or kind.blank}
        finish(kind, prepared, given, kind.flow, **parameters | {"data": lake.named})


def _agree(
    kind: AnyKind, prepared: Prepared[Any], lake: Lake | None, given: RunOptions, run_id: str | None = None
) -> None:
    """Prints what is to be sent and, where that is much, asks. Ends the command where the answer is no."""
    resolved = prepared.resolved
    if run_id and lake:
        expected, at_most = kind.forecast_rest(resolved, lake, run_id), False
    else:
        expected = kind.forecast(resolved, lake, brief=True)
        at_most = kind.is_upper_bound(expected, resolved, lake)
    kind.check_gate(expected, given.gate, yes=given.yes)
    kind.announce(expected, resolved, is_resumed=run_id is not None, at_most=at_most)
    confirm_or_exit(expected.likely, resolved.settings, yes=given.yes, at_most=at_most)


def finish(kind: AnyKind, prepared: Prepared[Any], given: RunOptions, flow: str, **parameters: Any) -> NoReturn:
    """Run a flow (`module:name`) with progress on the terminal, show what it found and exit as it ended."""
    from biasgrid.flows.results.show import show_first_screen
    from biasgrid.warehouse.storage.lake import Lake

    found = run_with_progress(prepared, flow, **parameters)
    show_first_screen(Lake.at(parameters["data"]), kind, found, given.gate)
    raise typer.Exit(found.exit_code_by(given.gate))


@command(BenchmarkOptions, "run:run_id data max_cost max_requests patience expectations gate yes")
def resume(given: BenchmarkOptions) -> None:
    """Go on with an unfinished run: what has landed is kept, only what is missing is asked. Caps may be raised.

    Example: `biasgrid resume --max-cost 5`
    """
    from biasgrid.flows.operations.environment import secret_blocks
    from biasgrid.flows.runs.prepare import existing_lake
    from biasgrid.flows.runs.run_state import describe_changed_files
    from biasgrid.warehouse.storage.journal import recover
    from biasgrid.warehouse.storage.run_lock import RunLock
    from biasgrid.warehouse.storage.runs import UNFINISHED, find_run, refuse_imported

    with early_server():
        lake = existing_lake(given.data)
        run = find_run(lake, given.run_id, None if given.run_id else UNFINISHED, needs="rest to ask")
        refuse_imported(run, "resume")
        kind = find_kind(run.kind)
        caps = given.pick("max_cost", "max_requests", "patience")
        prepared = kind.prepare(run.scenario_resolved, kind.options(**caps), secret_blocks())
        with RunLock(lake, run.run_id):
            recover(lake, run.run_id)  # what has arrived, also on another machine, is not forecast
        if changed := describe_changed_files(run, prepared.resolved.catalog.hashes):
            typer.echo(changed, err=True)
        _agree(kind, prepared, lake, given, run.run_id)
        parameters = caps | {"run_id": run.run_id, "data": lake.named, "expectations": given.expectations}
        finish(kind, prepared, given, kind.flow, **parameters)


@command(
    AgainOptions, "run:run_id scenario library judge judge_passed max_cost max_requests expectations gate data"
)
def evaluate(given: AgainOptions) -> None:
    """Judge the stored replies of a run again: by changed oracles, tolerances or another judge.

    No model under test is asked. Earlier evaluations stay in the lake; the newest one counts in the marts.
    Replies of a probe or an interaction are read again, by the catalog as it is now. Exit codes as of `run`,
    `probe` or `interact`.

    Example: `biasgrid evaluate --judge openai/gpt-4o-mini`
    """
    from biasgrid.flows.benchmark.prepare import fit_to_run
    from biasgrid.flows.operations.environment import secret_blocks
    from biasgrid.flows.runs.prepare import lake_to_change
    from biasgrid.warehouse.storage.runs import find_run, refuse_imported, refuse_other_kinds

    changes = given.pick("library", "judge", "judge_passed", "max_cost", "max_requests", "scenario")
    with early_server():
        lake = lake_to_change(given.data)
        run = find_run(lake, given.run_id, needs="later evaluation")
        refuse_imported(run, "evaluate")
        read_again = [kind.name for kind in all_kinds() if kind.reader]
        refuse_other_kinds(run, "later evaluation", BENCHMARK.name, *read_again)
        kind = find_kind(run.kind)
        parameters = {"run_id": run.run_id, "data": lake.named, "expectations": given.expectations}
        if run.kind in read_again:
            _refuse_changes(run, changes)
            prepared = kind.prepare(run.scenario_resolved, secrets=secret_blocks())
            finish(kind, prepared, given, READ_AGAIN, **parameters)
        prepared = BENCHMARK.prepare(given.scenario or run.scenario_resolved, given, secret_blocks())
        prepared = fit_to_run(prepared, lake, run)
        finish(kind, prepared, given, JUDGE_AGAIN, **changes | parameters)


def _refuse_changes(run: Run, changes: Iterable[str]) -> None:
    """Raises UserError for options of judging, where nothing is judged."""
    named = [f"--{name.replace('_', '-')}" for name in changes]
    if named:
        what = f"run `{run.run_id}` is no benchmark: its replies are read and not judged"
        raise UserError(Problem(what, ", ".join(named), f"leave {'it' if len(named) == 1 else 'them'} out"))


PLANNED = ("library", "models", "filter", "limit", "templates", "samples", "seed", "batch")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(BenchmarkOptions):
    """What `plan` may be given."""

    format: Literal["table", "json"] = option("table", "--format", "How to show it.")


@command(
    PlanOptions, "scenario library models filter limit templates data samples seed batch format", scenario=...
)
def plan(given: PlanOptions) -> None:
    """Show the grid, prompts, tokens, money and time of a scenario, of a target file's probe and red team, or
    of an interaction file. Sends nothing and needs no key.

    Where earlier runs lie in the data directory, the length of replies is estimated from theirs.

    Example: `biasgrid plan my-scenario.yaml --model openai/gpt-4o-mini`
    """
    from biasgrid.flows.runs.prepare import earlier_lake
    from biasgrid.flows.terminal.encoding import write_data

    path = Path(str(given.scenario))
    kinds = planned_kinds(path)
    if kinds != [BENCHMARK]:
        scenarios_alone = ("library", "filter", "limit", "templates", "samples", "batch")
        _refuse_for_targets({f"--{name}": getattr(given, name) for name in scenarios_alone})
    own = given.pick(*({"models", "seed"} if kinds != [BENCHMARK] else PLANNED))
    lake = earlier_lake(given.data)
    resolved = _all_or_mistakes([partial(kind.unsent, path, kind.options(**own)) for kind in kinds])
    for kind, one in zip(kinds, resolved, strict=True):
        if kind == BENCHMARK:
            for notice in one.notices:
                typer.echo(f"note: {notice}", err=True)
    expected = [kind.forecast(one, lake) for kind, one in zip(kinds, resolved, strict=True)]
    if given.format == "json":
        texts = [each.as_json() for each in expected]
        both = {kind.name: json.loads(text) for kind, text in zip(kinds, texts, strict=True)}
        write_data(f"{texts[0] if len(texts) == 1 else json.dumps(both, ensure_ascii=False)}\n")
        return
    for kind, one, each in zip(kinds, resolved, expected, strict=True):
        kind.show_forecast(each, one)
    if kinds != [BENCHMARK]:
        typer.echo("Nothing was sent.")


def planned_kinds(path: Path) -> list[AnyKind]:
    """The kinds of run that a file asks for: of a target file those whose section it has, else the first."""
    keys = top_keys(path)
    taking = [kind for kind in kinds_of_file(keys) if kind != BENCHMARK]
    asked = [kind for kind in taking if kind.name in keys]
    return asked or taking[:1] or [BENCHMARK]


def _refuse_for_targets(given: Mapping[str, object]) -> None:
    for flag, value in given.items():
        if value is not None:
            what = "is for scenarios: a target or an interaction is queried as its file states"
            raise UserError(Problem(what, flag, "leave it out"))


def _all_or_mistakes(works: list[Callable[[], T]]) -> list[T]:
    """Raises UserError with the mistakes of all of them."""
    found, mistakes = list[T](), list[Problem]()
    for work in works:
        try:
            found.append(work())
        except UserError as wrong:
            mistakes += wrong.mistakes
    if mistakes:
        raise UserError(list(dict.fromkeys(mistakes)))
    return found


@dataclass(frozen=True, kw_only=True)
class PrepareOptions(Options):
    """What `prepare` may be given."""

    audit: str | None = option(None, "", "An audit file.", cli=Path, show_default=False)
    every: bool = option(False, "--all", "All documents with their slots, not the first alone.")


@command(PrepareOptions, "audit every", audit=...)
def prepare(given: PrepareOptions) -> None:
    """Show what an audit replaces in its documents, and the first prompt of each group. Sends nothing.

    A document whose identity stays visible is refused, with its line and the reason.

    Example: `biasgrid prepare applications.yaml`
    """
    from biasgrid.flows.audit.kind import AUDIT
    from biasgrid.flows.audit.sections import preview_sections
    from biasgrid.flows.terminal.tables import show_sections

    path = Path(str(given.audit))
    refuse_other_files(path, AUDIT)
    show_sections(preview_sections(AUDIT.unsent(path), every=given.every))
    typer.echo("Nothing was sent.")
