"""Estimates length and latency of replies from earlier ones in the lake, or from assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.target_file import STRATEGIES
from biasgrid.warehouse.storage.lake import Lake, read_again_if_compacted

REPLY_TOKENS = {"constrained": 10, "verbose": 200}
"""Assumed tokens of a reply; a constrained prompt requests a word, a number or a line of JSON."""
PROBE_TOKENS = {"implicit": 60, "explicit": 10, "decision": 40, "counterfactual": 15}
"""Assumed tokens by probe test: names with attributes, a scale step, two lines, a number."""
ATTACK_TOKENS: dict[str, int] = {**dict.fromkeys(STRATEGIES, 200), "one_shot": 80, "message": 80, "judgement": 120}
"""Assumed tokens in a red team: target replies per strategy, attacker messages and judge verdicts."""
INTERACTION_TOKENS = {"no_interaction": 80, "no_goal": 70, "goal": 70, "understanding": 40}
"""Assumed tokens by interaction setting: a line per task, or a few sentences."""
THINKING_TOKENS = 300
"""Assumed extra billed reasoning tokens for models without `max_tokens`."""
MOST_TOKENS = 1000
"""Assumed longest reply if nothing limits it."""
FIRST_TOKEN_S = 0.5
TOKENS_PER_SECOND = 60
"""Assumed output speed, combined with the latency of the first token."""
ENOUGH = 20
"""Minimum number of earlier replies of a model and input kind for an estimate."""

ASSUMED_TOKENS = REPLY_TOKENS | PROBE_TOKENS | ATTACK_TOKENS | INTERACTION_TOKENS
Observed = Mapping[tuple[str, str], "ExpectedReply"]
"""Expected replies by model and input."""
DECISION_TOKENS = 40
"""Of replies to prompts of any other kind: a decision, now and then with a reason."""


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """Expected reply of a model to one input kind, from `seen` earlier replies; 0 if assumed."""

    tokens: float
    seconds: float
    seen: int = 0


def expected_reply(target: Target, kind: str, max_tokens: int | None, observed: Observed) -> ExpectedReply:
    """Expected reply, capped at the model's token limit."""
    found = observed.get((target.model, kind))
    if found is not None:
        return found
    thinking = 0 if "max_tokens" in target.parameters else THINKING_TOKENS
    tokens = min(ASSUMED_TOKENS.get(kind, DECISION_TOKENS) + thinking, most_tokens(target, max_tokens))
    return ExpectedReply(tokens, 0.0 if is_local(target) else FIRST_TOKEN_S + tokens / TOKENS_PER_SECOND)


def most_tokens(target: Target, max_tokens: int | None) -> int:
    """Longest reply that `max_tokens` allows; `MOST_TOKENS` if the model receives no limit."""
    return max_tokens if max_tokens is not None and "max_tokens" in target.parameters else MOST_TOKENS


def is_local(target: Target) -> bool:
    """Whether the model replies in process, without network latency."""
    return target.connector in ("simulated", "replay")


def observed_replies(lake: Lake, targets: Iterable[Target], max_tokens: int | None) -> Observed:
    """Estimates from replies of all runs with the same `max_tokens`, if there are enough."""
    models = [target.model for target in targets]
    rows = read_again_if_compacted(lambda: _measure_replies(lake, models, max_tokens).collect())
    return {(model, kind): ExpectedReply(*measured) for model, kind, *measured in rows.iter_rows()}


def _measure_replies(lake: Lake, models: Sequence[str], max_tokens: int | None) -> pl.LazyFrame:
    """Columns model, input and the fields of `ExpectedReply`."""
    kinds = lake.scan("cells").select("run_id", "cell_id", "input").unique()
    bound = pl.col("parameters").str.json_path_match("$.max_tokens")
    replies = lake.scan("responses").filter(
        pl.col("model").is_in(models),
        pl.col("purpose") == "subject",
        pl.col("reused_from").is_null(),
        pl.col("output_tokens").is_not_null(),
        bound.is_null() if max_tokens is None else bound.is_null() | (bound == str(max_tokens)),
    )
    return (
        replies.join(kinds, on=["run_id", "cell_id"])
        .group_by("model", "input")
        .agg(
            pl.col("output_tokens").mean().alias("tokens"),
            (pl.col("latency_ms").median() / 1000).fill_null(0.0).alias("seconds"),
            pl.len().alias("seen"),
        )
        .filter(pl.col("seen") >= ENOUGH)
    )
