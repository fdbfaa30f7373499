"""Reviewable replies of a benchmark: those that an oracle read and a person can judge by a written rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.oracle import Oracle, describe_rule, judgeable_operations
from biasgrid.warehouse.hashing import hash_texts
from biasgrid.warehouse.storage.assessments import UNIT, add_rule_keys
from biasgrid.warehouse.storage.lake import Lake

OUTCOMES: Final = ("passed", "failed", "refused", "unreadable")
"""Outcomes that a person may choose."""
_ASKED: Final = ["cell_id", "template", "language", "wording", "template_text"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A reply for a reviewer, without its model and other verdicts."""

    prompt: str
    reply: str
    rule: str


def newest_evaluation(lake: Lake, run_id: str) -> str:
    """The evaluation whose verdicts count; raises UserError for a run without verdicts."""
    recorded = [str(evaluation_id) for evaluation_id in lake.read("criteria", run_id)["evaluation_id"]]
    if not recorded or not lake.files("verdicts", run_id, f"{max(recorded)}-*"):
        raise nothing_judged(lake, run_id)
    return max(recorded)


def nothing_judged(lake: Lake, run_id: str) -> UserError:
    what = f"nothing has been judged yet in run `{run_id}`"
    return UserError(Problem(what, lake.named, f"go on with it: `biasgrid resume {run_id}`"))


def reviewable(lake: Lake, run_id: str, evaluation_id: str) -> pl.DataFrame:
    """One row per reply: `unit_id`, its keys, this evaluation's `oracle` with its `rule_key`, and the oracle's
    outcome as `stratum`."""
    changed = lake.read("rules", run_id, f"{evaluation_id}-*").select(*_ASKED, "rule").unique(_ASKED)
    ruled = _cases(lake, run_id).join(changed, on=_ASKED, how="left", maintain_order="left", nulls_equal=True)
    cases = ruled.with_columns(oracle=pl.coalesce("rule", "oracle")).drop("rule")
    judged = _by_oracles(lake, run_id, evaluation_id)
    return with_unit_ids(
        add_rule_keys(cases.join(judged, on=["cell_id", "case_id"], maintain_order="left")), run_id
    )


def with_unit_ids(units: pl.DataFrame, run_id: str) -> pl.DataFrame:
    """`units` with their `run_id` and `unit_id`."""
    ids = units.select(pl.concat_str(pl.lit(run_id), *UNIT, separator="\x1f")).to_series()
    # a letter first: a spreadsheet takes digits with an e among them for a number
    return units.with_columns(run_id=pl.lit(run_id), unit_id="r" + hash_texts(ids).str.slice(0, 15))


def show_units(lake: Lake, run_id: str, units: pl.DataFrame) -> dict[str, Shown]:
    """Prompt, reply and rule of each of these `reviewable` units, by id."""
    cells = units["cell_id"].unique().to_list()
    asked = lake.scan("cases", run_id).filter(pl.col("cell_id").is_in(cells))
    sent = asked.select("cell_id", "case_id", "messages").unique(["cell_id", "case_id"])
    wanted = pl.col("response_id").is_in(units["response_id"].implode())
    replies = lake.scan("responses", run_id).filter(wanted).select("response_id", "text").unique("response_id")
    rows = units.lazy().join(sent, on=["cell_id", "case_id"]).join(replies, on="response_id").collect()
    return {row["unit_id"]: _show(row) for row in rows.iter_rows(named=True)}


def _show(row: Mapping[str, Any]) -> Shown:
    rule = describe_rule(Oracle.model_validate_json(row["oracle"]))
    return Shown(as_prompt(row["messages"] or ()), row["text"] or "", rule)


def as_prompt(messages: Iterable[Mapping[str, str]]) -> str:
    """The prompt, with speakers if it has several messages."""
    spoken = list(messages)
    if len(spoken) == 1:
        return spoken[0]["content"]
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in spoken)


def _cases(lake: Lake, run_id: str) -> pl.DataFrame:
    asked = lake.scan("cases", run_id).filter(pl.col("operation").is_in(judgeable_operations()))
    columns = ("case_id", "template_id", "sample", "concern", "model", *_ASKED, "oracle")
    return asked.select(columns).unique(["cell_id", "case_id"], maintain_order=True).collect()


def _by_oracles(lake: Lake, run_id: str, evaluation_id: str) -> pl.DataFrame:
    """The oracles' own verdicts, without later ones of judges or people, so that a sample stays the same."""
    own = (pl.col("level") == "instance") & pl.col("supersedes").is_null() & pl.col("outcome").is_in(OUTCOMES)
    verdicts = lake.scan("verdicts", run_id, f"{evaluation_id}-*").filter(
        own & pl.col("response_id").is_not_null()
    )
    found = verdicts.select("cell_id", "case_id", "response_id", stratum="outcome")
    return found.unique(["cell_id", "case_id"]).collect()
