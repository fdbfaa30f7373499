"""`import logs`: the samples of other tools' logs as a run of its own, with their scores as verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import orjson
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.logs.fields import FieldMap, as_messages, as_text, keep_sound
from biasgrid.catalogs.logs.files import Tree
from biasgrid.catalogs.logs.scores import NoVerdict, Passing, as_number
from biasgrid.catalogs.logs.settings import LogImport
from biasgrid.catalogs.logs.tools import Tool, find_tool, list_files, recognise
from biasgrid.catalogs.schema.oracle import RECORDED, Oracle
from biasgrid.flows.benchmark.kind import BENCHMARK
from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.catalog.log_rows import Row, land_cell, spool_cells
from biasgrid.flows.runs.criteria import Rules, write_criteria
from biasgrid.flows.runs.kinds import AnyKind
from biasgrid.warehouse.storage.compaction import compact_run
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock
from biasgrid.warehouse.storage.runs import Run, begin_run, record_planned

WITHHELD: Final = ("content_filter", "refusal", "safety")
"""Reasons of a provider to end a reply that are refusals."""
SETTINGS: Final = {"models", "coverage", "least_drop"}
"""What is known of how the prompts of a log were chosen and sent."""
UNEXPECTED: Final = (AttributeError, KeyError, IndexError, TypeError)
"""What reading a record of another shape raises."""
UNNAMED: Final = "logged"
"""The concern, and the provider, of samples that name none."""


@dataclass(frozen=True)
class Imported:
    """A run of imported samples, and what could not be read."""

    outcome: Outcome
    format: str
    samples: int
    files: int
    beyond: int = 0
    """Records left out since they have other scores alone."""
    broken: list[Problem] = field(default_factory=list)


def import_logs(lake: Lake, given: LogImport, files: Sequence[Path], *, skip_broken: bool = False) -> Imported:
    """Stores the samples as a completed run and adds it to the warehouse. Raises UserError before anything is
    stored."""
    paths = list_files(files)
    format_name = given.tool or recognise(*paths)
    reader = _Reader(find_tool(format_name), given)
    with TemporaryDirectory(prefix="biasgrid-") as folder:
        cells = spool_cells(reader.rows(paths), Path(folder))
        reader.refuse_problems(skip_broken=skip_broken)
        run = _begin(lake, given, reader, paths)
        with RunLock(lake, run.run_id):
            landed = [land_cell(lake, run.run_id, cell, run.started_at) for cell in cells]
            record_planned(lake, run.run_id, pl.concat(landed))
    return Imported(
        conclude(lake, run, BENCHMARK), format_name, reader.count, len(paths), reader.beyond, reader.broken
    )


def _begin(lake: Lake, given: LogImport, reader: _Reader, paths: Sequence[Path]) -> Run:
    """The run, with its criteria, recorded as under way."""
    name = given.name or (paths[0].stem if len(paths) == 1 else paths[0].parent.resolve().name)
    requirements = tuple(reader.requirements())
    scenario = given.scenario(tuple(sorted(reader.models)), requirements, name)
    document = scenario.model_dump(mode="json", include={"name": True, "requirements": True, "scenario": SETTINGS})
    document["imported"] = {"from": reader.tool.assessor, "files": [path.name for path in paths]}
    settings = given.model_dump_json(by_alias=True, exclude_defaults=True)
    run = begin_run(lake, settings, orjson.dumps(document).decode(), {}, scenario.scenario.seed)
    write_criteria(lake, run.run_id, run.run_id, Rules(scenario.scenario, requirements, {}))
    return run


def conclude(lake: Lake, run: Run, kind: AnyKind) -> Any:
    """The outcome of a run whose rows are stored: compacts it, builds the marts and records its end."""
    from biasgrid.warehouse.build.build import build

    run.record(lake, "aggregating")
    compact_run(lake, run.run_id)
    build(lake)
    found = kind.outcome(lake, run.run_id)
    run.record(lake, "incomplete" if found.incomplete else "completed")
    compact_run(lake, run.run_id)  # signs the event of its end, too
    if found.incomplete:  # which only the marts know: built once more with it
        build(lake)
    return found


@dataclass
class _Reader:
    """Turns the records of logs into rows, and collects what is wrong with them."""

    tool: Tool
    given: LogImport
    count: int = 0
    models: set[str] = field(default_factory=set)
    concerns: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Languages by concern and score."""
    names: set[str] = field(default_factory=set)
    """Of all scores."""
    broken: list[Problem] = field(default_factory=list)
    undecided: dict[str, tuple[Any, str]] = field(default_factory=dict)
    """By score: a value that neither passes nor fails, and where it stands."""
    first: Tree | None = None
    beyond: int = 0
    """Records that have other scores alone."""
    known: dict[Row, Row] = field(default_factory=dict)
    """Requirement, concern, model and language of samples, by what their records have."""
    fault: str | None = None
    """Why the first sample without a reply has none."""
    place: str = ""
    """Of the last record that was read."""

    def __post_init__(self) -> None:
        self.map = FieldMap(self.given.fields, self.tool.fields)
        self.passing = Passing.of(self.given.passes)
        self.several = len(self.given.scores) > 1
        self.listed = {one.concern for one in self.given.requirements}

    def rows(self, paths: Sequence[Path]) -> Iterator[Row]:
        """Raises UserError for records of another shape than the tool gives them."""
        try:
            yield from self._rows(paths)
        except UNEXPECTED as error:
            what = f"is not as {self.tool.assessor} writes it: {type(error).__name__}, {error}"
            remedy = "name the log as the tool wrote it, or its samples as JSON lines with `--from jsonl`"
            where = f"after {self.place}" if self.place else str(paths[0])
            raise UserError(Problem(what, where, remedy)) from error

    def _rows(self, paths: Sequence[Path]) -> Iterator[Row]:
        sound = keep_sound(self.tool.read(paths), self.broken)
        for where, tree, sample in self.map.samples(sound):
            self.first, self.place = self.first or tree, where
            self.count += 1
            for scored in self._scores(tree, sample):
                yield self._row(sample, scored, where)

    def _scores(self, tree: Tree, sample: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        """Name, value and reason of the scores that decide."""
        if "score" in self.given.fields or "score" in sample:
            yield "score", sample.get("score"), sample.get("reason")
            return
        found = self.tool.scores(tree)
        if not self.names.issuperset(found):
            self.names.update(found)
        asked = self.given.scores or tuple(found)[:1] or ("score",)
        if found and not found.keys() & set(asked) and sample.get("reply") is not None:
            self.count -= 1  # of another filter, in the logs of lm-eval
            self.beyond += 1
            return
        for name in [one for one in asked if one in found] or asked:
            value, reason = found.get(name, (None, None))
            yield name, value, sample.get("reason", reason)

    def _about(self, sample: Mapping[str, Any], score: str) -> Row:
        """Requirement, concern, model and language of a sample; the first columns of its row."""
        key = (sample.get("concern"), sample.get("model"), sample.get("language"), score)
        try:
            return self.known[key]
        except KeyError:
            about = self.known[key] = self._describe(*key)
        except TypeError:  # a value that is a list or an object
            about = self._describe(*key)
        return about

    def _describe(self, concern: Any, model: Any, language: Any, score: str) -> Row:
        concern = self.given.concern or _one_line(concern) or UNNAMED
        model = _one_line(model) or self.tool.assessor
        model = model if "/" in model else f"{UNNAMED}/{model}"
        language = _one_line(language) or self.given.language
        self.models.add(model)
        self.concerns.setdefault((concern, score), set()).add(language)
        return self.given.requirement_name(concern, score if self.several else None), concern, model, language

    def _row(self, sample: Mapping[str, Any], scored: tuple[str, Any, Any], where: str) -> Row:
        name, score, reason = scored
        get = sample.get
        messages = as_messages(get("prompt"))
        text, target, parameters = get("reply"), get("target"), get("parameters")
        outcome, why = self._outcome(sample, scored, where)
        return (
            *self._about(sample, name),
            messages[-1]["content"],
            orjson.dumps(messages).decode(),
            orjson.dumps(parameters).decode() if isinstance(parameters, dict) else "{}",
            _oracle(() if target is None else _list_targets(target)),
            self.tool.assessor if name == "score" else f"{self.tool.assessor}/{name}",
            None if text is None else as_text(text),
            None if text is not None else why,
            outcome,
            as_number(score),
            None if score is None else as_text(score),
            (None if reason is None else as_text(reason)) or why,
            *(None if (value := get(field)) is None else read(value) for field, read in FURTHER),
        )

    def _outcome(
        self, sample: Mapping[str, Any], scored: tuple[str, Any, Any], where: str
    ) -> tuple[str, str | None]:
        """The outcome of a sample, and why, where there is no reason of the score."""
        name, score, _ = scored
        if sample.get("reply") is None:
            why = as_text(sample.get("error")) or "the log has no reply"
            self.fault = self.fault or why
            return "error", why
        if score is None and str(sample.get("finish_reason")) in WITHHELD:
            return "refused", f"the provider ended it: {sample['finish_reason']}"
        try:
            outcome = self.passing.judge(score)
        except NoVerdict:
            self.undecided.setdefault(name, (score, where))
            return "unreadable", None
        return outcome, "the log has no score" if outcome == "unreadable" else None

    def refuse_problems(self, *, skip_broken: bool) -> None:
        """Raises UserError for what cannot be imported."""
        if self.broken and not skip_broken:
            more = "correct it, or import the rest with `--skip-broken`"
            raise UserError([Problem(one.what, one.where, more) for one in self.broken])
        if not self.count + self.beyond:
            raise UserError(Problem("the logs hold no sample", "FILE", "name logs with samples"))
        self.map.refuse_absent(self.first)
        self._refuse_scores()
        if lacking := self.listed - {concern for concern, _ in self.concerns}:
            known = nearest(min(lacking), {concern for concern, _ in self.concerns})
            raise UserError(Problem(f"no sample is about `{min(lacking)}`", "requirements", known))

    def _refuse_scores(self) -> None:
        named = self.names
        if self.fault and "reply" not in self.map.found:
            what = f"no sample has a reply; the first error is: {_one_line(self.fault)[:200]}"
            raise UserError(Problem(what, "FILE", "name a log with replies"))
        if absent := [name for name in self.given.scores if name not in named]:
            raise UserError(
                Problem(f"no sample has the score `{name}`", "--score", nearest(name, named)) for name in absent
            )
        if len(named) > 1 and not self.given.scores:
            listed = ", ".join(f"`{name}`" for name in sorted(named))
            what = f"the samples have {len(named)} scores: {listed}"
            raise UserError(
                Problem(what, "--score", "name the one that decides, or several for a requirement each")
            )
        if not named and "score" not in self.map.found:
            remedy = "name where it stands, with `--score-field`"
            raise UserError(Problem("no sample has a score", "--score-field", remedy))
        for name, (value, where) in self.undecided.items():
            what = f"`{name}` is `{_one_line(value)[:40]}`, which neither passes nor fails"
            raise UserError(Problem(what, where, "say which scores pass, such as `--passes '>= 0.5'`"))

    def requirements(self) -> Iterator[Any]:
        for (concern, name), languages in self.concerns.items():
            yield self.given.requirement(concern, name if self.several else None, tuple(sorted(languages)))


def _one_line(value: Any) -> str:
    return " ".join(as_text(value).split()) if value is not None else ""


def _count(value: Any) -> int | None:
    number = as_number(value)
    return None if number is None else int(number)


FURTHER: Final[tuple[tuple[str, Callable[[Any], Any]], ...]] = (
    ("item", lambda item: _one_line(item) or None),
    ("cluster", as_text),
    ("sample", _count),
    ("finish_reason", as_text),
    ("input_tokens", _count),
    ("output_tokens", _count),
    ("cost_usd", as_number),
    ("latency_ms", as_number),
    ("received_at", as_text),
)
"""Fields that are the last columns of a row, in their order, and how each is read."""


def _list_targets(target: Any) -> tuple[str, ...]:
    listed = target if isinstance(target, list) else [target]
    return tuple(text for one in listed if (text := as_text(one)))


@lru_cache(maxsize=65536)
def _oracle(expected: tuple[str, ...]) -> str:
    return Oracle(operation=RECORDED, expected=expected).model_dump_json()
