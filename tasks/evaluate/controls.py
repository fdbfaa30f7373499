"""Controls of a run's judge: replies of known verdict, mixed with the run's own and marked in no way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.catalogs.schema.respondents import TRUTHS, Control, Truth
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.evaluate.judge import Opinion, judge_request
from biasgrid.warehouse.hashing import draw_places
from biasgrid.warehouse.schema_check import polars_schema

TABLE: Final = "controls"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ControlQuestion:
    """One reading of a control: one of its replies, with the verdicts offered in one of two orders."""

    control: Control
    language: str
    oracle: Oracle
    truth: Truth
    is_swapped: bool

    @property
    def name(self) -> str:
        return f"{self.control.id}/{self.truth}"

    @property
    def case_id(self) -> str:
        """Stands in responses where replies to the run's own prompts have their case."""
        return f"control/{self.language}/{self.name}{'/swapped' * self.is_swapped}"

    def request(self) -> tuple[Message, ...]:
        """Messages to the judge, as about any reply."""
        sent = [{"role": "user", "content": self.control.prompt}]
        return judge_request(sent, self.control.reply(self.truth), self.oracle, is_swapped=self.is_swapped)


def share_out(catalog: Catalog, cells: Mapping[str, str], seed: int) -> dict[str, tuple[ControlQuestion, ...]]:
    """Every control of each language, twice, over the cells (language by id) of a run: each process that evaluates
    some of them finds the same ones there."""
    shares: dict[str, tuple[ControlQuestion, ...]] = {}
    for language in sorted(set(cells.values())):
        own = sorted(cell_id for cell_id, spoken in cells.items() if spoken == language)
        drawn = shuffle(list(control_questions(catalog, language)), lambda question: question.case_id, seed)
        shares |= {cell_id: tuple(drawn[place :: len(own)]) for place, cell_id in enumerate(own)}
    return shares


def control_questions(catalog: Catalog, language: str) -> Iterator[ControlQuestion]:
    """Every control of a language in both orders; none where the catalog has no controls for it."""
    if language not in catalog.controls or language not in catalog.languages:
        return
    oracles = catalog.languages[language].oracles
    for control in catalog.controls[language].controls:
        rule = control.rule(oracles)
        for truth in TRUTHS:
            yield ControlQuestion(control, language, rule, truth, is_swapped=False)
            yield ControlQuestion(control, language, rule, truth, is_swapped=True)


def shuffle(items: Sequence[T], name: Callable[[T], str], seed: int) -> list[T]:
    """The items in an order drawn by the seed and their names."""
    places = draw_places(f"controls\x1f{seed}\x1f{name(item)}" for item in items)
    return [items[index] for index in places.arg_sort()]


def control_rows(
    sent: Sequence[tuple[ControlQuestion, str]],
    given: Mapping[str, Opinion],
    unit: Mapping[str, Any],
    at: datetime,
) -> pl.DataFrame:
    """One row of CONTROLS per question and its request key; `given` by case id, `unit` has the other columns."""
    return pl.DataFrame(
        [{**_as_row(question, given.get(question.case_id)), **unit, "request_key": key} for question, key in sent],
        schema=polars_schema(TABLE),
    ).with_columns(read_at=pl.lit(at))


def _as_row(question: ControlQuestion, opinion: Opinion | None) -> dict[str, Any]:
    return {
        "language": question.language,
        "control": question.name,
        "is_hard": question.control.hard,
        "is_swapped": question.is_swapped,
        "truth": question.truth,
        "state": opinion.state if opinion else "failed",
        "outcome": opinion.judgement.outcome if opinion else None,
        "reason": opinion.judgement.reason if opinion else "the judge gave no reply",
    }
