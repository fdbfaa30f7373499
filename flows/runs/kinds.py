"""The kinds of run: what each supplies, and the registry by which everything else finds it.

A kind's own file, `flows/<kind>/kind.py`, is read when the kind is first used, and the rest of its folder when it
runs: a benchmark never loads the red team.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from biasgrid.catalogs.choices import Gate
from biasgrid.catalogs.errors import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from biasgrid.catalogs.scenario.resolution import Resolved
    from biasgrid.flows.forecast.totals import Forecast
    from biasgrid.flows.runs.options import RunOptions
    from biasgrid.flows.runs.prepare import Prepared
    from biasgrid.tasks.connectors.client.run_budget import Planned
    from biasgrid.tasks.connectors.keys import Secrets
    from biasgrid.tasks.report.model import Section
    from biasgrid.warehouse.storage.lake import Lake

REGISTRY: Final[Mapping[str, str]] = {
    "benchmark": "biasgrid.flows.benchmark.kind:BENCHMARK",
    "probe": "biasgrid.flows.probe.kind:PROBE",
    "redteam": "biasgrid.flows.redteam.kind:RED_TEAM",
    "interaction": "biasgrid.flows.interaction.kind:INTERACTION",
    "audit": "biasgrid.flows.audit.kind:AUDIT",
}
"""Module of each run kind, by its name in the lake."""
AUGMENTING: Final = frozenset({"augmentation", "contexts"})
"""Catalog folders that no run reads."""
Source = Any
"""A path, the content of a file as a dict, or as JSON."""


class Ending(Protocol):
    """Outcome of a run; as text, its one-line summary."""

    @property
    def run_id(self) -> str: ...

    @property
    def incomplete(self) -> bool: ...

    @property
    def warning(self) -> str:
        """Summary of an incomplete run with its most frequent failure."""
        ...

    def exit_code_by(self, gate: Gate) -> int: ...


class Expected(Protocol):
    """Forecast of a run."""

    def as_json(self) -> str: ...

    @property
    def likely(self) -> Forecast:
        """What a person is asked to agree to."""
        ...

    @property
    def planned(self) -> Mapping[str, Planned]:
        """What each model may be sent, by which the caps are shared out."""
        ...


@dataclass(frozen=True, slots=True)
class Review:
    """How people review the replies of a kind of run."""

    replies: str
    """Its `biasgrid.tasks.review.kinds.Kind`."""
    rule: str
    """Meaning of each verdict."""
    keys: str
    """Keys of the verdicts."""
    agreement: str
    """The function that shows how far reviewers, oracle and judge agree."""
    has_decisions: bool = False
    """Whether a decision takes the place of a verdict."""


R = TypeVar("R", bound="Resolved")
F = TypeVar("F", bound=Expected)
E = TypeVar("E", bound=Ending)


class RunKind(ABC, Generic[R, F, E]):
    """One kind of run, from a file and options to what it found.

    Its folder has `forecast` with `forecast` and `forecast_rest`, `outcome` with `read_outcome`, `sections` with
    `show_forecast`, `announce`, `sections` and `page`, and `flow` with its flow.
    """

    name: ClassVar[str]
    """In the lake, and of its folder and flow."""
    command: ClassVar[str]
    source: ClassVar[str]
    """The option that names its file."""
    keys: ClassVar[frozenset[str]]
    """Those that only its file has."""
    called: ClassVar[str]
    """Its file, with an article."""
    blank: ClassVar[Mapping[str, Any] | None] = None
    """Stands for a file where models alone are named; None where a file is needed."""
    parameters: ClassVar[str]
    """Of its flow, in the order of its form."""
    options: ClassVar[type[RunOptions]]
    words: ClassVar[str]
    """The options of its command, in the order of its help."""
    help: ClassVar[str]
    """Of its command."""
    resolver: ClassVar[str]
    """The function that resolves its file."""
    reader: ClassVar[str] = ""
    """The function that reads stored replies again; empty where a judge judges them again."""
    trace: ClassVar[str] = ""
    """The function that traces an id of it, of kinds other than benchmarks."""
    labels: ClassVar[Mapping[str, str]] = {"requirement": "pair"}
    """Labels of ids in a trace, where they differ from the columns."""
    comparison: ClassVar[str] = "biasgrid.flows.compare.other_kinds"
    """The module with `summary` and `sections` of a comparison of two runs."""
    review: ClassVar[Review | None] = None
    """None where people review none of its replies."""
    formats: ClassVar[tuple[str, ...]] = ()
    """Formats of reports that other kinds lack."""
    lacks: ClassVar[tuple[str, ...]] = ()
    """Formats of reports that all other kinds have."""
    folders: ClassVar[tuple[str, ...]]
    """Catalog folders that its runs read and those of some other kind do not."""
    has_documents: ClassVar[bool] = False
    """Whether its prompts hold documents of people, so that bundles hold hashes in their place."""
    table: ClassVar[tuple[str, str]] = ("", "")
    """Key and content of the artifact with its findings, the `records` of its sections."""
    pages: ClassVar[tuple[str, str]]
    """The function that writes its HTML pages, and the first of them."""
    pages_alone: ClassVar[Mapping[str, Any]] = {}
    """Arguments of that function that leave out what other runs contribute."""

    @property
    def flow(self) -> str:
        return f"biasgrid.flows.{self.name}.flow:{self.name}"

    def reads(self, file: str) -> bool:
        """Whether its runs go by a catalog file, of that recorded name."""
        above = _folders_of_some() & {*file.split("/")[:-1]}
        return not above or bool(above & {*self.folders})

    def part(self, name: str) -> Any:
        """`module:function` of this kind's folder, imported at its first use."""
        return resolve_name(f"biasgrid.flows.{self.name}.{name}")

    def resolve(self, source: Source, given: RunOptions, inspect: Callable[[R], Iterable[Problem]]) -> R:
        """Raises UserError with all that is wrong with the file, and what `inspect` finds."""
        found: R = resolve_name(self.resolver)(source, given.in_file, inspect)
        return found

    @abstractmethod
    def problems(self, resolved: R) -> Iterable[Problem]:
        """What keeps a resolved file from running, besides keys and caps."""

    def forecast(self, resolved: R, lake: Lake | None, *, brief: bool = False) -> F:
        """Of all that a run would send; a `lake` shows reply lengths, `brief` loads no tokenizer."""
        found: F = self.part("forecast:forecast")(resolved, lake, brief=brief)
        return found

    def forecast_rest(self, resolved: R, lake: Lake, run_id: str) -> F:
        """Forecast of the requests of a run that have no reply yet."""
        found: F = self.part("forecast:forecast_rest")(resolved, lake, run_id)
        return found

    def is_upper_bound(self, expected: F, resolved: R, lake: Lake | None) -> bool:
        """Whether less than `expected` may be sent."""
        return False

    def show_forecast(self, expected: F, resolved: R) -> None:
        self.part("sections:show_forecast")(expected, resolved)

    def announce(self, expected: F, resolved: R, *, is_resumed: bool, at_most: bool) -> None:
        """Prints the forecast before a run begins."""
        self.part("sections:announce")(expected, resolved, is_resumed=is_resumed, at_most=at_most)

    def check_gate(self, expected: F, gate: Gate, *, yes: bool) -> None:
        """Raises UserError if the gate cannot go by what a run will find, unless `yes`."""

    def settle(self, lake: Lake, run_id: str) -> None:
        """Stores what is known only once all cells are evaluated, before the marts are built."""

    def outcome(self, lake: Lake, run_id: str, *, is_checked: bool = False) -> E:
        """What a run found, from the marts. Raises UserError where no warehouse has been built."""
        found: E = self.part("outcome:read_outcome")(lake, run_id)
        return found

    async def publish(self, lake: Lake, found: E, name: str) -> None:
        """Creates the artifacts of a finished run: a table of findings and a summary page."""
        from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

        from biasgrid.flows.terminal.markdown import plain
        from biasgrid.tasks.connectors.task import artifact_key
        from biasgrid.tasks.report.answer import answer

        (key, content), run = self.table, f"run {found.run_id}"
        records = self.part("sections:records")(found)
        await acreate_table_artifact(records, artifact_key(key, name), f"{plain(name)}: {content} of {run}")
        page = [*map(plain, answer(lake, found.run_id).sentences()), self.part("sections:page")(found, name)]
        key, content = artifact_key(f"{self.name}-summary", name), f"{plain(name)}: summary of {run}"
        await acreate_markdown_artifact("\n\n".join(page), key, content)

    def sections(self, found: E) -> Iterable[Section]:
        """What a run found, for any renderer."""
        sections: Iterable[Section] = self.part("sections:sections")(found)
        return sections

    def show(self, found: E) -> None:
        """Prints what a run found."""
        from biasgrid.flows.terminal.tables import show_sections

        show_sections(self.sections(found))

    def show_stored(self, found: E) -> None:
        """Prints what a run of the lake found."""
        self.show(found)

    def prepare(
        self, source: Source, given: RunOptions | None = None, secrets: Secrets | None = None
    ) -> Prepared[R]:
        """A file that can run, its models, keys and caps checked. Raises UserError with all that is wrong."""
        from biasgrid.flows.runs.prepare import Prepared
        from biasgrid.tasks.connectors.keys import missing_keys, missing_recordings

        def inspect(resolved: R) -> Iterable[Problem]:
            found = [*missing_keys(resolved.asked, secrets), *missing_recordings(resolved.asked)]
            return [*found, *self._problems(resolved)]

        return Prepared(self.resolve(source, given or self.options(), inspect), secrets)

    def unsent(self, source: Source, given: RunOptions | None = None) -> R:
        """As `prepare`, where this process sends nothing: keys are not looked for."""
        return self.resolve(source, given or self.options(), self._problems)

    def _problems(self, resolved: R) -> Iterable[Problem]:
        from biasgrid.flows.runs.prepare import cap_problems

        return [*cap_problems(resolved.asked, resolved.settings), *self.problems(resolved)]


class TargetKind(RunKind[R, F, E]):
    """A kind of run whose file describes a target: a model or a chatbot."""

    source = "target"
    keys = frozenset({"target"})
    called = "a target file"
    blank: ClassVar = {"target": {}}


AnyKind = RunKind[Any, Any, Any]


@cache
def find_kind(name: str) -> AnyKind:
    """The kind of that name. Raises KeyError for others."""
    found: AnyKind = resolve_name(REGISTRY[name])
    return found


def all_kinds() -> list[AnyKind]:
    return [find_kind(name) for name in REGISTRY]


@cache
def _folders_of_some() -> frozenset[str]:
    return AUGMENTING.union(*(kind.folders for kind in all_kinds()))


def kinds_of_file(keys: Iterable[str]) -> list[AnyKind]:
    """The kinds that take a file with these keys; none where it is not recognised."""
    named = frozenset(keys)
    return [kind for kind in all_kinds() if kind.keys & named]


def refuse_other_files(path: Path | None, wanted: AnyKind) -> None:
    """Raises UserError for a file that has the keys of another kind and none of those wanted."""
    from biasgrid.catalogs.errors import UserError

    keys = top_keys(path) if path else frozenset[str]()
    if wanted.keys & keys or not (found := kinds_of_file(keys)):
        return
    others = [kind for kind in found if kind.called == found[0].called]
    commands = " or ".join(f"`biasgrid {kind.command} {path}`" for kind in others)
    raise UserError(Problem(f"is {others[0].called}, and {wanted.called} is wanted", str(path), f"try {commands}"))


def top_keys(path: Path) -> frozenset[str]:
    """The top-level keys of a file; none where it cannot be read."""
    from biasgrid.catalogs.errors import UserError
    from biasgrid.catalogs.loading.documents import read_document

    try:
        value = read_document(path).value
    except UserError:
        return frozenset()
    return frozenset(map(str, value)) if isinstance(value, dict) else frozenset()
