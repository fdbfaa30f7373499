"""A catalog of sixteen scenes to tune on, respondents that can be tuned, and a gateway before them."""

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.interactions import Understanding
from biasgrid.catalogs.schema.respondents import Leaning, Respondent, Tuning
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from biasgrid.warehouse.storage.lake import Lake
from support.gateway import Before, Step, answers, loses_the_answer, no_one
from support.paths import TUNING_CATALOG

UNDERSTANDING = Understanding(
    system="You tell whether an assignment shows implicit bias.",
    assigned="To {task}: {person}.",
    question="{goal}\n{assignment}\nIs implicit bias present, and why?",
    answer={"present": "Implicit bias: present. {reason}", "absent": "Implicit bias: absent. {reason}"},
)


@pytest.fixture(scope="session")
def workshop() -> Catalog:
    catalog = load_catalog(overlay=TUNING_CATALOG)
    scenes = {name: catalog.scenes[name] for name in ("workshop", "fair")}
    leaning = catalog.respondents["leaning"]
    tuned = (
        leaning.model_copy(update={"tuning": Tuning(seconds=0.15)}),
        Respondent(id="failing", description="", tuning=Tuning(seconds=0.05, fails=1)),
        Respondent(id="slow", description="", tuning=Tuning(seconds=30)),
        Respondent(
            id="partly", description="", leaning=Leaning(default=0.5), tuning=Tuning(seconds=0, effect=0.4)
        ),
    )
    respondents = {**catalog.respondents, **{one.id: one for one in tuned}}
    tuning = {"workshop": catalog.tuning["workshop"]}
    fields = {"understanding": UNDERSTANDING}
    words = {language: own.model_copy(update=fields) for language, own in catalog.interaction.items()}
    return replace(catalog, scenes=scenes, tuning=tuning, respondents=respondents, interaction=words)


@dataclass
class Gateway(Before):
    """Before the respondents."""

    app: ASGIApp
    url: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    created: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[tuple[str, str], deque[Step]] = field(default_factory=dict)

    def then(self, method: str, path: str, *steps: Step) -> None:
        """What happens to the next calls of a method whose path ends so."""
        self.steps.setdefault((method, path), deque()).extend(steps)

    def count(self, method: str, path: str) -> int:
        return self.calls.count((method, path))

    def meet(self, request: Request, body: bytes) -> Step | None:
        call = (request.method, request.url.path.removeprefix("/v1").removeprefix("/openai"))
        self.calls.append(call)
        if call == ("POST", "/fine_tuning/jobs"):
            self.created.append(json.loads(body))
        waiting = self.steps.get(call)
        return waiting.popleft() if waiting else None


def never_answers() -> Step:
    """Does what was asked for, and stays silent until no client listens."""

    async def step(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, no_one)
        await asyncio.sleep(0.5)
        await answers(502)(app, scope, receive, send)

    return step


class Steps:
    """What a gateway may do, as a fixture: test modules cannot import from a conftest."""

    answers = staticmethod(answers)
    loses_the_answer = staticmethod(loses_the_answer)
    never_answers = staticmethod(never_answers)


@pytest.fixture(scope="session")
def steps() -> type[Steps]:
    return Steps


@pytest.fixture
def gateway(workshop: Catalog) -> Iterator[Gateway]:
    before = Gateway(build_app(workshop))
    with RunningServer(before) as server:  # type: ignore[arg-type]
        before.url = server.base_url
        yield before


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "data")
