"""Estimates requests and cost of one model: a model under test, or the judge at most."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, sqrt

import polars as pl

from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.catalogs.schema.oracle import Oracle, judgeable_operations
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.flows.forecast.reply_estimates import Observed, expected_reply, is_local, most_tokens
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.usage import (
    OPENAI,
    count_prompts,
    count_text,
    counts_exactly,
    estimate_tokens,
    list_price,
)
from biasgrid.tasks.evaluate.judge import JUDGEMENT_TOKENS, judge_request


class AsJson:
    """A forecast that can be written as one JSON object."""

    __slots__ = ()

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of one model, their input and output tokens, and the total reply latency in seconds."""

    target: Target
    requests: int
    tokens: float
    waiting_s: float


Need = Callable[[Load, Limits], float]
NEEDS: Mapping[str, Need] = {
    "concurrency": lambda load, limits: load.waiting_s / limits.concurrency,
    "requests_per_minute": lambda load, limits: _minutes(load.requests, limits.requests_per_minute),
    "tokens_per_minute": lambda load, limits: _minutes(load.tokens, limits.tokens_per_minute),
}
"""Seconds that a load takes at each limit alone."""


def seconds(loads: Iterable[Load]) -> float:
    """Seconds at the slowest limit: models sharing a limit queue, others run in parallel."""
    shown: dict[tuple[str, str], float] = {}
    for load in loads:
        for limit, need in NEEDS.items():
            own = limit in load.target.own_limits
            scope = limit, load.target.model if own else load.target.provider
            shown[scope] = shown.get(scope, 0.0) + need(load, load.target.limits)
    return round(max(shown.values(), default=0.0), 1)


def _minutes(amount: float, per_minute: int | None) -> float:
    return 60 * amount / per_minute if per_minute else 0.0


@dataclass(frozen=True, slots=True)
class ModelForecast:
    """Forecast of one model, in US dollars at list price less the batch discount; None if the price is unknown."""

    requests: int
    input_tokens: int
    input_is_exact: bool
    """Whether input tokens are counted with the provider's tokenizer rather than estimated."""
    output_tokens: int
    most_output_tokens: int
    output_seen: int
    """Earlier replies from which output tokens are estimated; 0 if assumed."""
    cost_usd: float | None
    cost_most_usd: float | None
    batch: bool
    """Whether the provider's batch API is used, with replies within a day."""
    seconds: float
    """Time at the model's own limits; 0 in a batch."""

    def less(self, answered: int) -> ModelForecast:
        """Forecast of the requests that remain after so many replies."""
        return self.share(max(0, self.requests - answered) / max(self.requests, 1))

    def share(self, part: float) -> ModelForecast:
        """Forecast scaled to a share of its requests."""
        return replace(
            self,
            requests=round(part * self.requests),
            input_tokens=round(part * self.input_tokens),
            output_tokens=round(part * self.output_tokens),
            most_output_tokens=round(part * self.most_output_tokens),
            cost_usd=None if self.cost_usd is None else part * self.cost_usd,
            cost_most_usd=None if self.cost_most_usd is None else part * self.cost_most_usd,
            seconds=round(part * self.seconds, 1),
        )


@dataclass(slots=True)
class Amounts:
    """Sums over requests of one model, without retries."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: float = 0.0
    most_output_tokens: int = 0
    waiting_s: float = 0.0
    seen: int = 0
    """Earlier replies from which `output_tokens` are estimated."""

    def load(self, target: Target, *, batch: bool = False) -> Load:
        """Their load on rate limits; none in batches and for models that reply in process."""
        held_up = not batch and not is_local(target)
        tokens = self.input_tokens + self.output_tokens
        return Load(target, self.requests * held_up, tokens * held_up, self.waiting_s * held_up)

    def forecast(
        self, target: Target, *, seconds: float, batch: bool = False, is_exact: bool = False
    ) -> ModelForecast:
        sent, requests = self.input_tokens, self.requests
        most = self.most_output_tokens
        return ModelForecast(
            requests=requests,
            input_tokens=sent,
            input_is_exact=is_exact,
            output_tokens=round(self.output_tokens),
            most_output_tokens=most,
            output_seen=self.seen,
            cost_usd=cost_usd(target, sent, self.output_tokens, requests, batch=batch),
            cost_most_usd=cost_usd(target, sent, most, requests, batch=batch),
            batch=batch,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class JudgeForecast:
    """Upper bound of judge requests: controls, and replies that an oracle may fail, or a sample of them."""

    model: str
    most_requests: int
    requests_if_all_pass: int
    """Controls, and the approximate size of the sample of passed replies."""
    control_requests: int
    """Those about replies of known verdict, which measure the judge."""
    most_input_tokens: int
    most_output_tokens: int
    cost_most_usd: float | None


def model_forecast(
    target: Target, sent: pl.DataFrame, settings: ScenarioSettings, observed: Observed
) -> tuple[ModelForecast, Load]:
    """Forecast and rate-limit load of a model; `sent` has `input` and `tokens`, one row per distinct prompt."""
    kinds = dict(sent.group_by("input").len().iter_rows())
    replies = {kind: expected_reply(target, kind, settings.max_tokens, observed) for kind in kinds}
    samples = settings.samples
    written = round(samples * sum(kinds[kind] * reply.tokens for kind, reply in replies.items()))
    amounts = Amounts(
        requests=samples * sent.height,
        input_tokens=samples * int(sent["tokens"].sum()),
        output_tokens=written,
        most_output_tokens=max(written, samples * sent.height * most_tokens(target, settings.max_tokens)),
        waiting_s=samples * sum(kinds[kind] * reply.seconds for kind, reply in replies.items()),
        seen=sum(reply.seen for reply in replies.values()),
    )
    batch = settings.batch and target.has_batch_api
    load = amounts.load(target, batch=batch)
    exact = counts_exactly(target)
    return amounts.forecast(target, seconds=seconds([load]), batch=batch, is_exact=exact), load


def judge_forecast(
    judge: Target,
    asked: pl.DataFrame,
    targets: list[Target],
    settings: ScenarioSettings,
    controls: Sequence[Sequence[Message]] = (),
) -> JudgeForecast:
    """Forecast at the larger of the judge's two shares; `asked`: `tokens` and `oracle`, one row per instance;
    `controls`: the requests about replies of known verdict."""
    doubted = asked.filter(pl.col("operation").is_in(judgeable_operations()))
    each = settings.samples * doubted.height
    rules = doubted.group_by("oracle").agg(pl.len(), pl.col("tokens").sum())
    quoted = sum(count * _around(judge, oracle) + tokens for oracle, count, tokens in rules.iter_rows())
    replies = sum(most_tokens(target, settings.max_tokens) for target in targets)
    sent = settings.samples * (len(targets) * quoted + doubted.height * replies)
    sample, every = settings.judge_sample, each * len(targets)
    most = most_drawn(every, max(sample.passed, sample.failed))
    sent = ceil(sent * most / max(every, 1)) + sum(map(_tokens, controls))
    most += len(controls)
    received = most * JUDGEMENT_TOKENS
    if_all_pass = round(every * sample.passed) + len(controls)
    cost = cost_usd(judge, sent, received, most)
    return JudgeForecast(judge.model, most, if_all_pass, len(controls), sent, received, cost)


def most_drawn(replies: int, share: float) -> int:
    """Upper bound of the size of an independent random sample of that share."""
    spread = sqrt(replies * share * (1 - share))
    return min(replies, ceil(replies * share + 3 * spread))


def _around(judge: Target, oracle: str) -> int:
    """Tokens of a judge prompt besides the quoted prompt and reply."""
    return _tokens(judge_request([{"role": "user", "content": ""}], "", Oracle.model_validate_json(oracle)))


def _tokens(messages: Sequence[Message]) -> int:
    return sum(count_text(message.content) for message in messages)


def cost_usd(target: Target, sent: int, received: float, requests: int, *, batch: bool = False) -> float | None:
    """Cost at the target's prices; None if it has none."""
    prices = target.prices
    if prices is None:
        return None
    share = 1 - target.batch.discount if batch and target.batch else 1.0
    return share * list_price(prices, sent, received, requests)


def is_tokenized(target: Target, *, brief: bool = False) -> bool:
    """Whether OpenAI's tokenizer is used; if `brief`, only when cost or a limit needs it."""
    is_needed = target.prices is not None or target.limits.tokens_per_minute is not None
    return target.connector in OPENAI and (is_needed or not brief)


def prompt_tokens(sent: pl.DataFrame, *, tokenized: bool) -> pl.DataFrame:
    """`sent` with `tokens` of each `text` as the only user message: OpenAI's count, or an estimate."""
    texts = sent["text"].to_list()
    tokens = count_prompts(texts) if tokenized else [estimate_tokens(text) for text in texts]
    return sent.with_columns(pl.Series("tokens", tokens, dtype=pl.Int64))
