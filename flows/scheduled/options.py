"""Options of the nightly job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from biasgrid.catalogs.choices import AGE, NightGate, duration_s
from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.benchmark.kind import BenchmarkOptions
from biasgrid.flows.runs.options import RunOptions, option, replace_option

By = Literal["block", "model", "provider"]
CatchUp = Literal["latest", "all", "none"]
DEPLOYMENT = "shard/shard"
"""Where shards are handed in: its work pool gives them to workers."""
PARAMETERS = (
    "scenario models gate max_cost max_requests samples seed reuse max_age batch library * expectations "
    "pictures shard_by takeovers deadline confirm catch_up bound data run_id deployment"
)


@dataclass(frozen=True, kw_only=True)
class NightOptions(BenchmarkOptions):
    """What a nightly run may be given."""

    scenario: str | dict[str, Any] | None = replace_option(
        BenchmarkOptions,
        "scenario",
        doc="the name of one that comes along (`starter`, `full`, …), the path of a scenario file that every "
        "worker reads (YAML, or LangBiTe's JSON), or its content as JSON",
    )
    gate: NightGate = option(  # type: ignore[assignment]
        "regression",
        "--gate",
        "What fails a night: a regression alone, or what is not met, too.",
        "what fails a complete night: a `regression` alone, or also what is not met, by `point` rates or "
        "`decided` by intervals",
    )
    max_cost: float | None = replace_option(
        RunOptions,
        "max_cost",
        doc="US dollars that the night may spend, shared out by what its shards are expected to cost; None: "
        "the scenario's cap, or none",
    )
    max_requests: int | None = replace_option(
        RunOptions,
        "max_requests",
        doc="requests that the night may send, shared out by what its shards plan; None: the scenario's cap, or "
        "none",
    )
    library: str | None = replace_option(
        BenchmarkOptions,
        "library",
        doc="templates in place of the shipped ones: a path that every worker reads, LangBiTe's format included",
    )
    expectations: bool = replace_option(RunOptions, "expectations", default=True)
    shard_by: By = option(
        "block",
        doc="blocks of cells that take five to ten minutes (`block`), or one shard per `model` or `provider`",
    )
    takeovers: int = option(2, doc="how often a shard that was lost is handed out again")
    deadline: str = option(
        "4h",
        "--deadline",
        "How long after its begin a night asks providers again that are away, such as `6h`.",
        "how long after its begin a night asks providers again that are away, such as `6h`; `0s`: not at all",
    )
    confirm: bool = option(
        True,
        "--confirm/--no-confirm",
        "Ask once more what became worse, and alarm only if it is worse again.",
        "asks once more what became worse, in a run of its own and within the night's caps; only what is worse "
        "again alarms",
    )
    catch_up: CatchUp = option(
        "latest",
        "--catch-up",
        "Which nights are made up for that were missed: the latest alone, all in their order, or none.",
        "which nights run that could not begin at their time: the `latest` alone, `all` in their order, or `none`",
    )
    bound: float = option(
        2.0,
        "--bound",
        "Alarm if a night costs or takes so many times as much as usual; 0: never.",
        "alarms if a night costs or takes more than so many times the median of the last nights of the same "
        "scenario; 0: never",
        min=0,
    )
    data: str | None = replace_option(
        RunOptions,
        "data",
        doc="place of lake and warehouse, the same for every worker; None: `BIASGRID_DATA`, or `data`",
    )
    run_id: str | None = option(
        None,
        doc="resumes this unfinished run, as it was planned: of all the others only caps, gate and what "
        "shards go by count",
    )
    deployment: str = option(DEPLOYMENT, doc="takes the shards")


def read_deadline(text: str) -> float:
    """Seconds of a deadline. Raises UserError if it is no duration."""
    if not re.fullmatch(AGE, text):
        raise UserError(Problem(f"`{text}` is no duration", "deadline", "write one such as `6h` or `90m`"))
    return duration_s(text)
