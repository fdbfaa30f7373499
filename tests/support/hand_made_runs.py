"""A small lake made by hand: every row of it stands for something a test counts again by itself."""

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from biasgrid.warehouse.build.build import connect, fetch_rows
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.build.text_views import ALL
from biasgrid.warehouse.storage.lake import Lake
from support.paths import EARLIER_LAKES

STARTED = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)
WORST_FIRST = ("failed", "error", "unreadable", "refused", "passed")


@dataclass(frozen=True)
class Reply:
    """One case and what its oracle made of the reply; `value` for same-value oracles, None where none was read."""

    template: str
    communities: tuple[str, ...]
    outcome: str | None
    value: Decimal | None = None
    same_value: bool = False
    sample: int = 1


@dataclass(frozen=True)
class Cell:
    requirement: str = "fairness"
    model: str = "simulated/one"
    concern: str = "sexism"
    language: str = "en_us"
    input: str = "constrained"
    reflection: str = "observational"
    replies: tuple[Reply, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.requirement}-{self.model.replace('/', '-')}-{self.language}-{self.input}-{self.reflection}"

    def keys(self) -> dict[str, str]:
        names = ("requirement", "model", "concern", "language", "input", "reflection")
        keys = {name: getattr(self, name) for name in names}
        return {"cell_id": self.id, "provider": self.model.split("/")[0], **keys}

    def case_id(self, reply: Reply) -> str:
        return f"{self.id}/{reply.template}/{'-'.join(reply.communities)}/{reply.sample}"


@dataclass(frozen=True)
class Criterion:
    requirement: str = "fairness"
    concern: str = "sexism"
    measure: str = "tests"
    least_drop: float = 0.05
    tolerance: float = 0.9
    delta: float = 0.02
    refusals: str = "separate"
    max_refusals: float = 0.5
    coverage: float = 0.95
    judge: str | None = None


@dataclass
class HandMade:
    """Writes runs whose every outcome is given."""

    lake: Lake
    scale: dict[str, int] = field(default_factory=lambda: {"low": 0, "high": 100})

    def land(
        self,
        run_id: str,
        cells: Iterable[Cell],
        criteria: Iterable[Criterion] = (Criterion(),),
        state: str = "completed",
    ) -> None:
        """Everything of a run: it lands as the verbs would land it."""
        cells = list(cells)
        self.run(run_id, state)
        for cell in cells:
            self.cell(run_id, cell)
        self.criteria(run_id, "E1", criteria)
        for cell in cells:
            self.verdicts(run_id, "E1", cell)

    def run(self, run_id: str, state: str, event_id: str = "1") -> None:
        row = {"run_id": run_id, "event_id": event_id, "state": state, "kind": "benchmark", "started_at": STARTED}
        self.lake.write("runs", run_id, event_id, pl.DataFrame([row]))

    def cell(self, run_id: str, cell: Cell) -> None:
        event = {"run_id": run_id, "event_id": "1", "planned": len(cell.replies), "seconds": 2.0, **cell.keys()}
        self.lake.write("cells", run_id, cell.id, pl.DataFrame([event]))
        self.lake.write(
            "cases", run_id, cell.id, pl.DataFrame([self._case(run_id, cell, r) for r in cell.replies])
        )
        rows = [self._response(run_id, cell, reply) for reply in cell.replies]
        self.lake.write("responses", run_id, cell.id, pl.DataFrame(rows))

    def criteria(self, run_id: str, evaluation_id: str, criteria: Iterable[Criterion]) -> None:
        rows = [{"run_id": run_id, "evaluation_id": evaluation_id, **vars(criterion)} for criterion in criteria]
        self.lake.write("criteria", run_id, evaluation_id, pl.DataFrame(rows))

    def verdicts(self, run_id: str, evaluation_id: str, cell: Cell) -> None:
        rows = [self._verdict(run_id, evaluation_id, cell, reply) for reply in cell.replies]
        templates = self._template_verdicts(run_id, evaluation_id, cell)
        frame = pl.DataFrame([*rows, *templates], infer_schema_length=None)
        self.lake.write("verdicts", run_id, f"{evaluation_id}-{cell.id}", frame.with_columns(_decimal()))

    def _case(self, run_id: str, cell: Cell, reply: Reply) -> dict[str, object]:
        operation = "allSameValue" if reply.same_value else "allEqualExpected"
        return {
            "run_id": run_id,
            "case_id": cell.case_id(reply),
            **cell.keys(),
            "template_id": reply.template,
            "template": reply.template,
            "instance_id": f"{reply.template}/{'-'.join(reply.communities)}",
            "communities": list(reply.communities),
            "sample": reply.sample,
            "messages": [{"role": "user", "content": cell.case_id(reply)}],
            "request_key": cell.case_id(reply),
            "oracle_type": "same value" if reply.same_value else "expected value",
            "operation": operation,
            "oracle": json.dumps({"operation": operation, "expected": ["No"], "scale": self.scale}),
        }

    def _response(self, run_id: str, cell: Cell, reply: Reply) -> dict[str, object]:
        failed = reply.outcome == "error"
        return {
            "run_id": run_id,
            "response_id": f"{run_id}/{cell.case_id(reply)}",
            "cell_id": cell.id,
            "case_id": cell.case_id(reply),
            "purpose": "subject",
            "provider": cell.model.split("/")[0],
            "model": cell.model,
            "request_key": cell.case_id(reply),
            "sample": reply.sample,
            "text": None if failed else "No",
            "error_class": "TimedOut" if failed else None,
            "input_tokens": 10,
            "output_tokens": 2,
            "cost_usd": None if failed else 0.5,
            "attempts": 3 if failed else 1,
            "received_at": STARTED,
        }

    def _verdict(self, run_id: str, evaluation_id: str, cell: Cell, reply: Reply) -> dict[str, object]:
        return {
            "run_id": run_id,
            "verdict_id": f"{evaluation_id}/{cell.case_id(reply)}",
            "evaluation_id": evaluation_id,
            "level": "instance",
            "cell_id": cell.id,
            "template_id": reply.template,
            "sample": reply.sample,
            "case_id": cell.case_id(reply),
            "outcome": reply.outcome,
            "parsed_value": reply.value,
        }

    def _template_verdicts(self, run_id: str, evaluation_id: str, cell: Cell) -> list[dict[str, object]]:
        groups: dict[tuple[str, int], list[str | None]] = {}
        for reply in cell.replies:
            if not reply.same_value:
                groups.setdefault((reply.template, reply.sample), []).append(reply.outcome)
        return [
            {
                "run_id": run_id,
                "verdict_id": f"{evaluation_id}/{cell.id}/{template}/{sample}",
                "evaluation_id": evaluation_id,
                "level": "template",
                "cell_id": cell.id,
                "template_id": template,
                "sample": sample,
                "outcome": min(outcomes, key=WORST_FIRST.index),
            }
            for (template, sample), outcomes in groups.items()
        ]


def contents(lake: Lake) -> dict[str, pl.DataFrame]:
    """All relations of the warehouse; marts in the order in which they are stored."""
    with connect(lake, ALL) as warehouse:
        return {
            model.relation: fetch_rows(
                warehouse, f"from {model.relation}{'' if model.schema == 'marts' else ' order by all'}"
            )
            for model in load_models()
        }


def _decimal() -> pl.Expr:
    return pl.col("parsed_value").cast(pl.Decimal(18, 6))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "data")


@pytest.fixture
def hand_made(lake: Lake) -> HandMade:
    return HandMade(lake)


@pytest.fixture(scope="session")
def hand_made_in() -> type[HandMade]:
    """For a lake that several tests share: `hand_made_in(lake)`."""
    return HandMade


@pytest.fixture(scope="session")
def cell() -> Callable[..., Cell]:
    """Makes a cell: `cell(replies, model=…)`."""
    return lambda replies, **keys: Cell(replies=tuple(replies), **keys)


@pytest.fixture(scope="session")
def expected() -> Callable[..., list[Reply]]:
    """Replies of one expected-value template, one per outcome, each about a community of its own."""

    def replies(template: str, *outcomes: str, sample: int = 1) -> list[Reply]:
        return [Reply(template, (f"c{i}",), outcome, sample=sample) for i, outcome in enumerate(outcomes)]

    return replies


@pytest.fixture(scope="session")
def numbers() -> Callable[..., list[Reply]]:
    """Replies of one same-value template: a number, or the outcome of a reply that has none."""

    def replies(template: str, *given: object, sample: int = 1) -> list[Reply]:
        return [_number(template, f"c{i}", answer, sample) for i, answer in enumerate(given)]

    return replies


def _number(template: str, community: str, answer: object, sample: int) -> Reply:
    outcome = answer if isinstance(answer, str) else None
    value = None if isinstance(answer, str) else Decimal(str(answer))
    return Reply(template, (community,), outcome, value, same_value=True, sample=sample)


@pytest.fixture(scope="session")
def criterion() -> type[Criterion]:
    return Criterion


@pytest.fixture
def earlier(version: str, tmp_path: Path) -> Lake:
    """A copy of a lake that an earlier version of biasgrid wrote, before files named theirs."""
    shutil.copytree(EARLIER_LAKES / version, tmp_path / "earlier" / "lake")
    return Lake(tmp_path / "earlier")


@pytest.fixture(scope="session")
def reply_makers(
    expected: Callable[..., list[Reply]], numbers: Callable[..., list[Reply]]
) -> tuple[Callable[..., list[Reply]], Callable[..., list[Reply]]]:
    """`expected` and `numbers`, for tests that make replies of both kinds."""
    return expected, numbers
