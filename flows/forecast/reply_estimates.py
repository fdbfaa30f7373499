"""How long the replies will be and how soon they come: as earlier ones in the lake were, else as is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.target_file import STRATEGIES

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake

REPLY_TOKENS = {"constrained": 10, "verbose": 200}
"""Assumed: a constrained prompt asks for a word, a number or a line of JSON."""
PROBE_TOKENS = {"implicit": 60, "explicit": 10, "decision": 40, "counterfactual": 15}
"""Assumed, by a probe's tests: each person's name with an attribute, a step of a scale, two lines, a number."""
ATTACK_TOKENS: dict[str, int] = {**dict.fromkeys(STRATEGIES, 200), "one_shot": 80, "message": 80, "judgement": 120}
"""Assumed, of a red team: what a target replies to each strategy, what the attacker writes and the judge says."""
INTERACTION_TOKENS = {"no_interaction": 80, "no_goal": 70, "goal": 70, "understanding": 40}
"""Assumed, by an interaction's settings: a line for each task, or a few sentences."""
THINKING_TOKENS = 300
"""Assumed beside the reply for models that take no `max_tokens`: they think before they answer, and it is paid."""
MOST_TOKENS = 1000
"""Taken as the longest reply where nothing bounds it."""
FIRST_TOKEN_S = 0.5
TOKENS_PER_SECOND = 60
"""Assumed, together with the first token's: how soon a reply is complete."""
ENOUGH = 20
"""Earlier replies of a model and kind of input from which its next ones are told."""

ASSUMED_TOKENS = REPLY_TOKENS | PROBE_TOKENS | ATTACK_TOKENS | INTERACTION_TOKENS
Observed = Mapping[tuple[str, str], "ExpectedReply"]
"""By model and input."""


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """Of one model to one kind of input; `seen` earlier replies stand behind it, none where it is assumed."""

    tokens: float
    seconds: float
    seen: int = 0


def expected_reply(target: Target, kind: str, max_tokens: int | None, observed: Observed) -> ExpectedReply:
    """Never more tokens than the model may write."""
    found = observed.get((target.model, kind))
    if found is not None:
        return found
    thinking = 0 if "max_tokens" in target.parameters else THINKING_TOKENS
    tokens = min(ASSUMED_TOKENS[kind] + thinking, most_tokens(target, max_tokens))
    return ExpectedReply(tokens, 0.0 if is_local(target) else FIRST_TOKEN_S + tokens / TOKENS_PER_SECOND)


def most_tokens(target: Target, max_tokens: int | None) -> int:
    """The longest reply that `max_tokens` allows; `MOST_TOKENS` where the model is sent none."""
    return max_tokens if max_tokens is not None and "max_tokens" in target.parameters else MOST_TOKENS


def is_local(target: Target) -> bool:
    """Answered in process: nothing is waited for."""
    return target.connector in ("simulated", "replay")


def observed_replies(lake: Lake, targets: Iterable[Target], max_tokens: int | None) -> Observed:
    """From the replies of all runs to requests with the same `max_tokens`, where there are enough."""
    asked = [target.model for target in targets]
    kinds = lake.scan("cells").select("run_id", "cell_id", "input").unique()
    bound = pl.col("parameters").str.json_path_match("$.max_tokens")
    replies = lake.scan("responses").filter(
        pl.col("model").is_in(asked),
        pl.col("purpose") == "subject",
        pl.col("reused_from").is_null(),
        pl.col("output_tokens").is_not_null(),
        bound.is_null() if max_tokens is None else bound.is_null() | (bound == str(max_tokens)),
    )
    rows = (
        replies.join(kinds, on=["run_id", "cell_id"])
        .group_by("model", "input")
        .agg(
            pl.col("output_tokens").mean().alias("tokens"),
            (pl.col("latency_ms").median() / 1000).fill_null(0.0).alias("seconds"),
            pl.len().alias("seen"),
        )
        .filter(pl.col("seen") >= ENOUGH)
        .collect()
    )
    return {(model, kind): ExpectedReply(*measured) for model, kind, *measured in rows.iter_rows()}
